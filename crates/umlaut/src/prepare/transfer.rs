//! One attempt at getting what is missing of a file.

use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use super::http::{Client, Response};
use super::part::{Origin, Part};
use super::progress::{Progress, Unit, Voice};
use super::source::Source;
use anyhow::{Context, Error, anyhow};

const BUFFER_BYTES: usize = 1 << 16;

/// Why an attempt did not bring the whole file.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The same source may do better the next time.
    Again(Error),
    /// Another source is needed.
    Elsewhere(Error),
    /// No source helps: this machine is at fault.
    Here(Error),
}

/// What is known of a file beforehand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    /// Its name, for messages.
    pub(crate) file: &'a str,
    /// Its size.
    pub(crate) bytes: Option<u64>,
    /// Its checksum.
    pub(crate) sha256: Option<&'a str>,
}

/// Makes attempts.
pub(crate) struct Transfer {
    client: Client,
    voice: Voice,
}

impl Transfer {
    /// A server that is silent for `timeout` has failed.
    pub(crate) fn new(timeout: Duration, voice: Voice) -> Self {
        Self { client: Client::new(timeout), voice }
    }

    /// Adds to the part what is missing. What comes from the web goes on where the part ends, if it is certain that it is
    /// the same file: by the server's word for its version, or by a checksum that is known beforehand.
    pub(crate) fn attempt(&self, source: &Source, part: &mut Part, expected: &Expected<'_>) -> Result<(), Failure> {
        if is_whole(part, expected) {
            return Ok(());
        }
        match source {
            Source::Disk(path) => {
                let file = File::open(path).with_context(|| path.display().to_string()).map_err(Failure::Elsewhere)?;
                let size = file.metadata().map_err(|error| Failure::Elsewhere(error.into()))?.len();
                part.clear().map_err(Failure::Here)?;
                part.begin(Origin::default()).map_err(Failure::Here)?;
                // A disk that cannot be read now cannot be read in a minute.
                self.fill(file, part, Some(size), expected).map_err(|failure| match failure {
                    Failure::Again(error) => Failure::Elsewhere(error),
                    other => other,
                })
            }
            Source::Web(url) => self.add_from_web(url, part, expected),
        }
    }

    fn add_from_web(&self, url: &str, part: &mut Part, expected: &Expected<'_>) -> Result<(), Failure> {
        let is_same_source = part.origin().source == url;
        let version = part.origin().version.clone().filter(|_| is_same_source);
        if version.is_none() && expected.sha256.is_none() && part.bytes() > 0 {
            part.clear().map_err(Failure::Here)?;
        }
        let range = format!("bytes={}-", part.bytes());
        let mut headers = Vec::new();
        if part.bytes() > 0 {
            headers.push(("Range", range.as_str()));
            headers.extend(version.as_deref().map(|version| ("If-Range", version)));
        }
        let response = self.client.get(url, &headers).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => Failure::Elsewhere(error.into()),
            _ => Failure::Again(error.into()),
        })?;
        let found = version_of(&response);
        let total = match response.status {
            206 => {
                let range = response.header("Content-Range").and_then(parse_range);
                let has_changed = version.is_some() && found.is_some() && version != found;
                match range.filter(|(start, _)| *start == part.bytes() && !has_changed) {
                    Some((_, total)) => total,
                    None => return Err(start_over(part, "the file is another than before")),
                }
            }
            200 => {
                part.clear().map_err(Failure::Here)?;
                response.header("Content-Length").and_then(|length| length.parse().ok())
            }
            416 => return Err(start_over(part, "the file is shorter than what was here of it")),
            code @ (408 | 425 | 429 | 500..) => return Err(Failure::Again(anyhow!("the server answers {code}"))),
            code => return Err(Failure::Elsewhere(anyhow!("the server answers {code}"))),
        };
        if let (Some(total), Some(bytes)) = (total, expected.bytes)
            && total != bytes
        {
            return Err(Failure::Elsewhere(anyhow!("it has {total} bytes there, {bytes} are expected")));
        }
        part.begin(Origin { source: url.to_owned(), version: found, total }).map_err(Failure::Here)?;
        self.fill(response.body, part, total, expected)
    }

    /// Reads to the end.
    fn fill(
        &self,
        mut reader: impl Read,
        part: &mut Part,
        total: Option<u64>,
        expected: &Expected<'_>,
    ) -> Result<(), Failure> {
        let total = total.or(expected.bytes);
        let mut progress = Progress::new(self.voice, expected.file, Unit::Bytes, total, part.bytes());
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let length = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Failure::Again(Error::new(error).context(cut(part, total)))),
            };
            part.push(&buffer[..length]).map_err(Failure::Here)?;
            progress.advance(length as u64);
            if total.is_some_and(|total| part.bytes() > total) {
                part.clear().map_err(Failure::Here)?;
                return Err(Failure::Elsewhere(anyhow!("it is longer than it should be")));
            }
        }
        if total.is_some_and(|total| part.bytes() < total) {
            return Err(Failure::Again(anyhow!(cut(part, total))));
        }
        Ok(())
    }
}

/// Whether nothing is missing: a call was stopped between the last byte and the checksum.
fn is_whole(part: &Part, expected: &Expected<'_>) -> bool {
    let total = expected.bytes.or(part.origin().total);
    part.bytes() > 0 && total == Some(part.bytes())
}

fn cut(part: &Part, total: Option<u64>) -> String {
    let of = total.map_or(String::new(), |total| format!(" of {total}"));
    format!("cut off after {}{of} bytes", part.bytes())
}

/// A part that cannot be gone on with is dropped, and the next attempt asks for everything.
fn start_over(part: &mut Part, reason: &str) -> Failure {
    match part.clear() {
        Ok(()) => Failure::Again(anyhow!("{reason}; beginning anew")),
        Err(error) => Failure::Here(error),
    }
}

/// What a server calls the present version of a file, if that tells it from every other.
fn version_of(response: &Response) -> Option<String> {
    let strong = response.header("ETag").filter(|tag| !tag.starts_with("W/"));
    strong.or_else(|| response.header("Last-Modified")).map(str::to_owned)
}

/// `bytes 100-199/200` or `/*`: the first byte, and the size of the whole.
fn parse_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = value.trim().strip_prefix("bytes")?.trim().split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.trim().parse().ok()?, total.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_tells_where_it_begins_and_the_size_of_the_whole() {
        assert_eq!(parse_range("bytes 100-199/200"), Some((100, Some(200))));
        assert_eq!(parse_range("bytes 100-199/*"), Some((100, None)));
        assert_eq!(parse_range("bytes */200"), None);
        assert_eq!(parse_range("pages 1-2/3"), None);
    }
}
