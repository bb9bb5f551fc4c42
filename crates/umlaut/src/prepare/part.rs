//! `FILE.part`: what there is of a file that is not whole yet, and `FILE.part.json`: where it came from.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use umlaut_model::directory::write_whole;

use super::output::cannot_write;

const PART: &str = ".part";
const ORIGIN: &str = ".json";

/// The part of a file.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Answers that it was put together from, roughly.
    pieces: u32,
    origin: Origin,
}

/// Where a part came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Origin {
    /// The address.
    pub(crate) source: String,
    /// What the server calls this version of the file: a strong `ETag`, or its `Last-Modified`.
    pub(crate) version: Option<String>,
    /// The size of the whole file, where the server told it.
    pub(crate) total: Option<u64>,
}

impl Part {
    /// The part of the file `path` as an earlier call left it, or an empty one.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = with_ending(path, PART);
        let opened = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = opened.map_err(|error| cannot_write(&path, error))?;
        let bytes = file.metadata().map_err(|error| cannot_write(&path, error))?.len();
        // An origin that cannot be read is none: the download begins anew.
        let origin = fs::read(with_ending(&path, ORIGIN)).ok();
        let origin = origin.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        // What an earlier call left counts as pieces: nothing is known of how it came about.
        let pieces = if bytes > 0 { 2 } else { 0 };
        Ok(Self { path, file, bytes, pieces, origin })
    }

    /// The file of the part.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How much of the file is there.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where it came from.
    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether it was not made in one go.
    pub(crate) fn is_in_pieces(&self) -> bool {
        self.pieces > 1
    }

    /// Begins a piece, which comes from `origin`.
    pub(crate) fn begin(&mut self, origin: Origin) -> Result<()> {
        self.pieces += 1;
        if self.origin != origin {
            write_whole(&with_ending(&self.path, ORIGIN), &serde_json::to_vec(&origin)?)?;
            self.origin = origin;
        }
        Ok(())
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.file.set_len(0).map_err(|error| cannot_write(&self.path, error))?;
        (self.bytes, self.pieces, self.origin) = (0, 0, Origin::default());
        remove(&with_ending(&self.path, ORIGIN))
    }

    /// Adds bytes at the end.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        // A full disk takes some of the bytes: the size is asked for, not counted.
        self.bytes = match &written {
            Ok(()) => self.bytes + bytes.len() as u64,
            Err(_) => self.file.metadata().map_or(self.bytes, |metadata| metadata.len()),
        };
        written.map_err(|error| cannot_write(&self.path, error))
    }

    /// Gives the whole file its name.
    pub(crate) fn finish(self, path: &Path) -> Result<()> {
        let renamed = self.file.sync_all().and_then(|()| fs::rename(&self.path, path));
        renamed.map_err(|error| cannot_write(path, error))?;
        Self::sweep(path)
    }

    /// Leaves nothing behind.
    pub(crate) fn discard(self) -> Result<()> {
        remove(&self.path)?;
        remove_origin(&self.path)
    }

    /// Removes what a call that was stopped may have left beside the whole file `path`.
    pub(crate) fn sweep(path: &Path) -> Result<()> {
        let part = with_ending(path, PART);
        remove(&part)?;
        remove_origin(&part)
    }
}

fn remove_origin(part: &Path) -> Result<()> {
    let origin = with_ending(part, ORIGIN);
    remove(&origin)?;
    // As it is called while it is written.
    remove(&with_ending(&origin, PART))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_write(path, error)),
        _ => Ok(()),
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
