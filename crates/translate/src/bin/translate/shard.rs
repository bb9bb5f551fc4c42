//! One of N parts of a file, for as many machines: which lines it has, and what its files are called.
//!
//! A shard has the lines that begin in the K-th of N equal stretches of the file's bytes. So it is found with two seeks,
//! every line is in one shard, and shards of a large file are about equally long.

pub(crate) mod checksum;
pub(crate) mod inspection;
pub(crate) mod join;
pub(crate) mod manifest;
pub(crate) mod work;

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Shard `number`, from 1, of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) number: u64,
    pub(crate) count: u64,
}

impl Shard {
    /// The bytes of its lines in a file.
    pub(crate) fn range(self, file: &mut (impl Read + Seek)) -> io::Result<Range<u64>> {
        let size = file.seek(SeekFrom::End(0))?;
        let mut boundary = |stretches: u64| {
            let target = u128::from(size) * u128::from(stretches) / u128::from(self.count);
            line_from(file, target as u64)
        };
        Ok(boundary(self.number - 1)?..boundary(self.number)?)
    }

    /// Its translation in a folder of shards.
    pub(crate) fn output(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.txt", self.stem()))
    }

    /// What is known of it there.
    pub(crate) fn manifest(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.stem()))
    }

    /// Names sort as numbers do.
    fn stem(self) -> String {
        let width = self.count.to_string().len();
        format!("shard-{:0width$}-of-{}", self.number, self.count)
    }

    /// The shard whose manifest has this name.
    fn of_manifest(name: &str) -> Option<Self> {
        let (number, count) = name.strip_prefix("shard-")?.strip_suffix(".json")?.split_once("-of-")?;
        format!("{number}/{count}").parse().ok()
    }
}

/// Where the first line begins that begins at `target` or later; the end of the file if none does.
fn line_from(file: &mut (impl Read + Seek), target: u64) -> io::Result<u64> {
    if target == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(target - 1))?;
    let skipped = BufReader::new(file).skip_until(b'\n')?;
    Ok(target - 1 + skipped as u64)
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            _ => Err("a shard is K/N with K from 1 to N, such as 3/8".into()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;
    use std::io::Cursor;

    #[test]
    fn every_line_is_in_one_shard_and_none_is_cut() {
        let texts = ["", "\n", "a", "a\n", "a\nb\n\nccc\nd", "\n\n\nlonger than all others together\n\n", "ä\nöö\nü\n"];
        for text in texts {
            for count in 1..=12 {
                let mut end = 0;
                for number in 1..=count {
                    let range = Shard { number, count }.range(&mut Cursor::new(text)).unwrap();
                    assert_eq!(range.start, end, "shard {number}/{count} of {text:?}");
                    let starts_a_line =
                        end == 0 || end == text.len() as u64 || text.as_bytes()[end as usize - 1] == b'\n';
                    assert!(starts_a_line, "shard {number}/{count} of {text:?}");
                    end = range.end;
                }
                assert_eq!(end, text.len() as u64);
            }
        }
    }

    #[test]
    fn shards_of_short_lines_are_about_equal() {
        let text = "word word\n".repeat(1000);
        for number in 1..=7 {
            let range = Shard { number, count: 7 }.range(&mut Cursor::new(&text)).unwrap();
            assert!((range.end - range.start).abs_diff(10_000 / 7) <= 10);
        }
    }

    #[test]
    fn a_shard_is_written_as_a_fraction_from_one() {
        assert_eq!("3/8".parse(), Ok(Shard { number: 3, count: 8 }));
        for text in ["0/8", "9/8", "3", "3/", "/8", "3/0", "-1/8", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        let shard = Shard { number: 3, count: 120 };
        assert_eq!(shard.stem(), "shard-003-of-120");
        assert_eq!(Shard::of_manifest("shard-003-of-120.json"), Some(shard));
    }
}
