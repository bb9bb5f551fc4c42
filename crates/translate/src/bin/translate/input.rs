//! Where lines come from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A source of lines.
pub(crate) struct Input {
    /// The file's name; `None` for standard input.
    pub(crate) name: Option<String>,
    pub(crate) reader: Box<dyn BufRead>,
    /// Whether somebody types.
    pub(crate) is_terminal: bool,
}

impl Input {
    /// Opens all files, so that one that is missing is noticed before work begins. No file means standard input.
    pub(crate) fn open_all(paths: &[PathBuf]) -> anyhow::Result<Vec<Self>> {
        if paths.is_empty() { Ok(vec![Self::stdin()]) } else { paths.iter().map(|path| Self::open(path)).collect() }
    }

    fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::stdin());
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        Ok(Self { name: Some(name), is_terminal: file.is_terminal(), reader: Box::new(BufReader::new(file)) })
    }

    fn stdin() -> Self {
        let stdin = io::stdin();
        Self { name: None, is_terminal: stdin.is_terminal(), reader: Box::new(stdin.lock()) }
    }
}
