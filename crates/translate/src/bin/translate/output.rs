//! Where translations go.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::SystemTime;

use anyhow::Context;

/// Standard output, or a file that appears when it is whole.
pub(crate) enum Output {
    /// Standard output, or something that is no ordinary file, such as `/dev/null`: written as it comes.
    Direct(BufWriter<Box<dyn Write>>),
    /// An ordinary file.
    Whole { part: BufWriter<File>, part_path: PathBuf, path: PathBuf },
}

impl Output {
    /// Standard output for `None`.
    pub(crate) fn create(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self::Direct(BufWriter::new(Box::new(io::stdout().lock()))));
        };
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => Ok(Self::Direct(BufWriter::new(Box::new(create(path)?)))),
            existing => {
                // A link stays a link to the new file.
                let path = existing.and_then(|_| fs::canonicalize(path)).unwrap_or_else(|_| path.to_owned());
                let part_path = beside(&path, ".part");
                Ok(Self::Whole { part: BufWriter::new(create(&part_path)?), part_path, path })
            }
        }
    }

    /// A file of a folder in which several processes may write the same file at once: each works under a name of its
    /// own, and the last to finish wins.
    pub(crate) fn create_among_others(path: PathBuf) -> anyhow::Result<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let part_path = beside(&path, &format!(".{}-{}.part", process::id(), now.as_nanos()));
        Ok(Self::Whole { part: BufWriter::new(create(&part_path)?), part_path, path })
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.flush().context("cannot write the translation")?;
        if let Self::Whole { part, part_path, path } = self {
            let complete = part.get_ref().sync_all().and_then(|()| fs::rename(&part_path, &path));
            complete.with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// After a failure: leaves nothing behind.
    pub(crate) fn discard(self) {
        if let Self::Whole { part_path, .. } = self {
            // The failure before it is what matters.
            let _ = fs::remove_file(part_path);
        }
    }

    /// After a failure: the file with what was translated so far, if there is any.
    pub(crate) fn abandon(mut self) -> Option<PathBuf> {
        let is_flushed = self.flush().is_ok();
        let Self::Whole { part, part_path, .. } = self else { return None };
        let is_empty = part.get_ref().metadata().is_ok_and(|metadata| metadata.len() == 0);
        if is_empty && is_flushed && fs::remove_file(&part_path).is_ok() { None } else { Some(part_path) }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(writer) => writer.write(bytes),
            Self::Whole { part, .. } => part.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(writer) => writer.flush(),
            Self::Whole { part, .. } => part.flush(),
        }
    }
}

fn create(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// A longer name in the same folder, so that renaming is one step.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
