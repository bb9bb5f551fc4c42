//! Files that appear under their names only when they are whole, with their checksums.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use umlaut_model::directory::write_whole;

use umlaut_ledger::checksum;

/// A finished file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    /// Its path in the folder of the data set.
    pub(crate) file: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its checksum.
    pub(crate) sha256: String,
}

impl Output {
    /// Writes bytes as a whole file.
    pub(crate) fn write(folder: &Path, file: &str, bytes: &[u8]) -> Result<Self> {
        let path = folder.join(file);
        write_whole(&path, bytes).map_err(|error| match error {
            umlaut_model::ModelError::Io { source, .. } => cannot_write(&path, source),
            other => other.into(),
        })?;
        Ok(Self { file: file.to_owned(), bytes: bytes.len() as u64, sha256: checksum::of_bytes(bytes) })
    }

    /// Whether the file is there as it was finished.
    pub(crate) fn is_intact(&self, folder: &Path) -> bool {
        let path = folder.join(&self.file);
        let has_size = fs::metadata(&path).is_ok_and(|metadata| metadata.len() == self.bytes);
        has_size && checksum::of_file(&path).is_ok_and(|sum| sum == self.sha256)
    }
}

/// A file on its way to its name.
#[derive(Debug)]
pub(crate) struct WholeFile {
    folder: PathBuf,
    file: String,
    part: PathBuf,
    writer: BufWriter<File>,
    sum: Sha256,
    bytes: u64,
    is_finished: bool,
}

impl WholeFile {
    pub(crate) fn create(folder: &Path, file: &str) -> Result<Self> {
        let part = folder.join(format!("{file}.part"));
        let writer = File::create(&part).map_err(|error| cannot_write(&part, error))?;
        Ok(Self {
            folder: folder.to_owned(),
            file: file.to_owned(),
            part,
            writer: BufWriter::with_capacity(1 << 18, writer),
            sum: Sha256::new(),
            bytes: 0,
            is_finished: false,
        })
    }

    /// Writes a line and its end.
    pub(crate) fn write_line(&mut self, line: &str) -> Result<()> {
        for bytes in [line.as_bytes(), b"\n"] {
            self.writer.write_all(bytes).map_err(|error| cannot_write(&self.part, error))?;
            self.sum.update(bytes);
            self.bytes += bytes.len() as u64;
        }
        Ok(())
    }

    /// Gives the file its name once it is on the disk.
    pub(crate) fn finish(mut self) -> Result<Output> {
        let attempt = self.writer.flush().and_then(|()| self.writer.get_ref().sync_all());
        let attempt = attempt.and_then(|()| fs::rename(&self.part, self.folder.join(&self.file)));
        attempt.map_err(|error| cannot_write(&self.part, error))?;
        self.is_finished = true;
        let sha256 = checksum::hex(&self.sum.finalize_reset());
        Ok(Output { file: std::mem::take(&mut self.file), bytes: self.bytes, sha256 })
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // The error that matters is the one that led here.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// The error of a file that could not be written, with what to do where the disk is full.
pub(crate) fn cannot_write(path: &Path, error: io::Error) -> Error {
    let is_full = is_full(&error);
    let advice = if is_full { ": no room is left; make some and call again, what is finished stays" } else { "" };
    Error::new(error).context(format!("cannot write {}{advice}", path.display()))
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole_and_leaves_no_part() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = WholeFile::create(dir.path(), "a.en").unwrap();
        file.write_line("One.").unwrap();
        assert!(!dir.path().join("a.en").exists());
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut file = WholeFile::create(dir.path(), "a.en").unwrap();
        file.write_line("One.").unwrap();
        let output = file.finish().unwrap();
        assert_eq!(fs::read(dir.path().join("a.en")).unwrap(), b"One.\n");
        assert_eq!((output.bytes, &output.sha256), (5, &checksum::of_bytes(b"One.\n")));
        assert!(output.is_intact(dir.path()));
        fs::write(dir.path().join("a.en"), "One!\n").unwrap();
        assert!(!output.is_intact(dir.path()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_says_what_to_do() {
        let error = cannot_write(Path::new("a.en"), io::ErrorKind::StorageFull.into());
        assert!(format!("{error:#}").contains("a.en: no room is left; make some and call again"), "{error:#}");
        let error = cannot_write(Path::new("a.en"), io::ErrorKind::PermissionDenied.into());
        assert!(!format!("{error:#}").contains("room"), "{error:#}");
    }
}
