//! Where an archive may be had: the addresses of the description, and mirrors that the user names before them.

use std::fmt;
use std::path::PathBuf;

use super::description::Archive;

/// A place that may have a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Over HTTP or HTTPS.
    Web(String),
    /// On a disk of this machine.
    Disk(PathBuf),
}

impl Source {
    /// An address: `http://`, `https://`, `file://` or a path.
    fn parse(address: &str) -> Self {
        match address.strip_prefix("file://") {
            Some(path) => Self::Disk(path.into()),
            None if address.contains("://") => Self::Web(address.to_owned()),
            None => Self::Disk(address.into()),
        }
    }

    /// The places of an archive in the order in which they are tried: below each mirror, then where it is published.
    pub(crate) fn of(archive: &Archive, mirrors: &[String]) -> Vec<Self> {
        let below = mirrors.iter().map(|prefix| format!("{}/{}", prefix.trim_end_matches('/'), archive.file));
        below.chain(archive.urls.iter().cloned()).map(|address| Self::parse(&address)).collect()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Web(url) => f.write_str(url),
            Self::Disk(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_come_first_and_may_be_folders() {
        let urls = vec!["http://a.example/deep/dev.tgz".to_owned()];
        let archive = Archive { file: "dev.tgz".to_owned(), urls, bytes: None, sha256: None };
        let mirrors = ["https://m.example/x/", "file:///media/stick", "down loads"].map(str::to_owned);
        let found: Vec<String> = Source::of(&archive, &mirrors).iter().map(ToString::to_string).collect();
        let expected = [
            "https://m.example/x/dev.tgz",
            "/media/stick/dev.tgz",
            "down loads/dev.tgz",
            "http://a.example/deep/dev.tgz",
        ];
        assert_eq!(found, expected);
        assert_eq!(Source::of(&archive, &mirrors)[2], Source::Disk("down loads/dev.tgz".into()));
    }
}
