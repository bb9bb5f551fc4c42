//! SHA-256 checksums, of files and in lists as `sha256sum` writes them.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::LedgerError;

/// The checksum of everything `reader` yields: 64 lower-case hexadecimal digits.
///
/// # Errors
/// When reading fails.
pub fn of_reader(mut reader: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            length => hasher.update(&buffer[..length]),
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// The checksum of `bytes`.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// The checksum of a file's bytes.
///
/// # Errors
/// When it cannot be read.
pub fn of_file(path: &Path) -> Result<String, LedgerError> {
    let sum = File::open(path).and_then(of_reader);
    sum.map_err(|source| LedgerError::Read { path: path.to_owned(), source })
}

/// The checksum of the list that `sha256sum` writes of `files`, in the order given: `CHECKSUM  NAME` a line.
#[must_use]
pub fn of_list(files: &[(String, String)]) -> String {
    let lines: Vec<String> = files.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    of_bytes(lines.concat().as_bytes())
}

/// Whether `text` has a checksum's form.
#[must_use]
pub fn is_well_formed(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The entries `(file name, checksum)` of a list written by `sha256sum`.
///
/// # Errors
/// The first line that is not `CHECKSUM  NAME`.
pub fn parse_list(list: &str) -> Result<Vec<(String, String)>, String> {
    list.lines().filter(|line| !line.trim().is_empty()).map(parse_line).collect()
}

fn parse_line(line: &str) -> Result<(String, String), String> {
    match line.split_once(char::is_whitespace) {
        Some((sum, name)) if is_well_formed(sum) => {
            Ok((name.trim_start_matches([' ', '*']).to_owned(), sum.to_owned()))
        }
        _ => Err(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_checksum_of_abc_is_the_one_in_the_standard() {
        assert_eq!(of_reader(&b"abc"[..]).unwrap(), ABC);
        assert_eq!(of_bytes(b"abc"), ABC);
    }

    #[test]
    fn a_list_names_its_files() {
        let list = format!("{ABC}  joint.model\n{ABC} *other.model\n");
        let expected = vec![("joint.model".to_owned(), ABC.to_owned()), ("other.model".to_owned(), ABC.to_owned())];
        assert_eq!(parse_list(&list).unwrap(), expected);
    }

    #[test]
    fn the_checksum_of_a_list_is_that_of_its_text() {
        let list = format!("{ABC}  a\n{ABC}  b\n");
        let files = parse_list(&list).unwrap();
        assert_eq!(of_list(&files), of_bytes(list.as_bytes()));
    }

    #[test]
    fn a_line_without_a_checksum_is_refused() {
        assert_eq!(parse_list("joint.model\n"), Err("joint.model".to_owned()));
        assert_eq!(parse_list("ABC  joint.model"), Err("ABC  joint.model".to_owned()));
    }
}
