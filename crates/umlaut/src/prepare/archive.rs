//! Members of a gzipped tar file, read as streams: nothing but what is asked for is looked at, and nothing is unpacked.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::bufread::MultiGzDecoder;

const BUFFER_BYTES: usize = 1 << 18;
/// Members that are named when one is missing.
const NAMED: usize = 12;

/// Hands the content of one member to `read`.
pub(crate) fn with_member<T>(
    archive: &Path,
    member: &str,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T>,
) -> Result<T> {
    let broken = || format!("{} cannot be read; delete it and call again", archive.display());
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    let stream = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file));
    let mut tar = tar::Archive::new(stream);
    let mut others = Vec::new();
    for entry in tar.entries().with_context(broken)? {
        let entry = entry.with_context(broken)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let is_file = entry.header().entry_type().is_file();
        if is_file && name.strip_prefix("./").unwrap_or(&name) == member {
            let mut reader = BufReader::with_capacity(BUFFER_BYTES, entry);
            return read(&mut reader).with_context(|| format!("{}, {member}", archive.display()));
        }
        others.extend(is_file.then_some(name));
    }
    let more = if others.len() > NAMED { ", ..." } else { "" };
    others.truncate(NAMED);
    bail!("{} has no member {member}; it has {}{more}", archive.display(), others.join(", "))
}
