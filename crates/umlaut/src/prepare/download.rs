//! Archives: from the first source that gives the whole file with the right checksum.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail, ensure};

use super::description::Archive;
use super::output::{Output, cannot_write};
use super::part::Part;
use super::progress::Voice;
use super::source::Source;
use super::transfer::{Expected, Failure, Transfer};
use umlaut_ledger::checksum;

/// The checksums of what was downloaded, as `sha256sum --check` reads them.
const SUMS: &str = "SHA256SUMS";
/// The pause after the first failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How to download.
#[derive(Clone, Debug)]
pub(crate) struct DownloadOptions {
    /// Addresses or folders below which archives are looked for first.
    pub(crate) mirrors: Vec<String>,
    /// Failures in a row after which a source is given up.
    pub(crate) retries: u32,
    /// How long a server may be silent.
    pub(crate) timeout: Duration,
}

/// The folder of the archives.
pub(crate) struct Downloader {
    folder: PathBuf,
    options: DownloadOptions,
    transfer: Transfer,
    voice: Voice,
    /// By name.
    sums: BTreeMap<String, String>,
}

impl Downloader {
    pub(crate) fn open(folder: &Path, options: &DownloadOptions, voice: Voice) -> Result<Self> {
        let transfer = Transfer::new(options.timeout, voice);
        let sums = read_sums(&folder.join(SUMS))?;
        Ok(Self { folder: folder.to_owned(), options: options.clone(), transfer, voice, sums })
    }

    /// The checksum of an archive: that of its description, or what the first download found.
    pub(crate) fn sum<'a>(&'a self, archive: &'a Archive) -> Option<&'a str> {
        archive.sha256.as_deref().or_else(|| self.sums.get(&archive.file).map(String::as_str))
    }

    /// Where an archive is once it is there.
    pub(crate) fn path(&self, archive: &Archive) -> PathBuf {
        self.folder.join(&archive.file)
    }

    /// Makes sure that an archive is there, whole and with its checksum.
    pub(crate) fn fetch(&mut self, archive: &Archive) -> Result<()> {
        let path = self.path(archive);
        let known = self.sum(archive).map(str::to_owned);
        let expected = Expected { file: &archive.file, bytes: archive.bytes, sha256: known.as_deref() };
        if path.exists() {
            match check(&path, &expected) {
                Ok(sum) => {
                    Part::sweep(&path)?;
                    return self.remember(archive, sum);
                }
                Err(error) => set_aside(&path, &error, self.voice)?,
            }
        }
        let sum = self.download(archive, &path, &expected)?;
        if expected.sha256.is_none() {
            let file = self.folder.join(SUMS);
            let (file, name) = (file.display(), &archive.file);
            self.voice.say(format_args!("{name}: no checksum was known; its SHA-256 {sum} is now in {file}"));
        }
        self.remember(archive, sum)
    }

    /// Tries one source after the other.
    fn download(&self, archive: &Archive, path: &Path, expected: &Expected<'_>) -> Result<String> {
        let mut part = Part::open(path)?;
        let mut reasons = String::new();
        for source in Source::of(archive, &self.options.mirrors) {
            // Once more where what came in several pieces has another checksum: they may not belong together.
            for _ in 0..2 {
                let found = self.try_source(&source, &mut part, expected)?;
                let found = found.and_then(|()| check(part.path(), expected));
                let error = match found {
                    Ok(sum) => {
                        self.voice.say(format_args!("{}: {} bytes from {source}", archive.file, part.bytes()));
                        part.finish(path)?;
                        return Ok(sum);
                    }
                    Err(error) => error,
                };
                let is_wrong = error.is::<WrongFile>();
                let note = if is_wrong { "; it was not kept" } else { "" };
                self.voice.say(format_args!("{source}: {error:#}{note}"));
                let _ = write!(reasons, "\n  {source}: {error:#}{note}");
                let is_in_pieces = part.is_in_pieces();
                if is_wrong {
                    part.discard()?;
                    part = Part::open(path)?;
                }
                if !(is_wrong && is_in_pieces) {
                    break;
                }
            }
        }
        if part.bytes() == 0 {
            part.discard()?;
        }
        let folder = self.folder.display();
        bail!(
            "cannot download {}:{reasons}\nname a --mirror that has it, or put the file into {folder} by hand, and call \
             again; what is finished stays",
            archive.file
        )
    }

    /// Attempts until the file is whole or the source has failed too often in a row; progress starts the count anew. The
    /// outer error is this machine's, the inner one the source's.
    fn try_source(&self, source: &Source, part: &mut Part, expected: &Expected<'_>) -> Result<Result<()>> {
        let (mut failures, mut farthest) = (0, part.bytes());
        loop {
            let error = match self.transfer.attempt(source, part, expected) {
                Ok(()) => return Ok(Ok(())),
                Err(Failure::Here(error)) => return Err(error),
                Err(Failure::Elsewhere(error)) => return Ok(Err(error)),
                Err(Failure::Again(error)) => error,
            };
            if part.bytes() > farthest {
                (failures, farthest) = (0, part.bytes());
            }
            failures += 1;
            if failures > self.options.retries {
                return Ok(Err(error.context(format!("given up after {failures} failures in a row"))));
            }
            let pause = FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST_PAUSE);
            let (file, seconds, retries) = (expected.file, pause.as_secs_f64(), self.options.retries);
            self.voice.say(format_args!(
                "{file}: {error:#}; trying again in {seconds} s ({failures} of {retries}, {source})"
            ));
            sleep(pause);
        }
    }

    fn remember(&mut self, archive: &Archive, sum: String) -> Result<()> {
        if self.sums.get(&archive.file) != Some(&sum) {
            self.sums.insert(archive.file.clone(), sum);
            let lines = self.sums.iter().map(|(file, sum)| format!("{sum}  {file}\n"));
            Output::write(&self.folder, SUMS, lines.collect::<String>().as_bytes())?;
        }
        Ok(())
    }
}

/// A file that is not the one that is described.
#[derive(Debug)]
struct WrongFile(String);

impl std::fmt::Display for WrongFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongFile {}

/// The checksum of a whole file, if it is the expected one.
fn check(path: &Path, expected: &Expected<'_>) -> Result<String> {
    let size = fs::metadata(path).with_context(|| path.display().to_string())?.len();
    if let Some(bytes) = expected.bytes
        && size != bytes
    {
        return Err(wrong(format!("{} has {size} bytes, {bytes} are expected", expected.file)));
    }
    let sum = checksum::of_file(path)?;
    match expected.sha256 {
        Some(wanted) if wanted != sum => {
            Err(wrong(format!("{} has SHA-256 {sum}, expected is {wanted}", expected.file)))
        }
        _ => Ok(sum),
    }
}

fn wrong(message: String) -> Error {
    Error::new(WrongFile(message))
}

/// Renames an archive that is not the one that is described, since it may be the user's own.
fn set_aside(path: &Path, error: &Error, voice: Voice) -> Result<()> {
    let aside = path.with_extension("wrong");
    voice.warn(format_args!("{error:#}: it is now called {}", aside.display()));
    fs::rename(path, &aside).map_err(|error| cannot_write(&aside, error))
}

fn read_sums(path: &Path) -> Result<BTreeMap<String, String>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let entry = |line: &str| {
        let (sum, file) = line.split_once("  ").unwrap_or((line, ""));
        ensure!(checksum::is_well_formed(sum) && !file.is_empty(), "{}: not `SHA-256  FILE`: {line}", path.display());
        Ok((file.to_owned(), sum.to_owned()))
    };
    text.lines().map(entry).collect()
}
