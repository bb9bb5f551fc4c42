//! Where lines come from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

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

    /// Opens one file of lines, or standard input for none, and the file of their given translations.
    pub(crate) fn open_pair(sources: &[PathBuf], targets: &Path) -> anyhow::Result<[Self; 2]> {
        ensure!(sources.len() <= 1, "--score takes one file of lines, found {}", sources.len());
        let is_stdin = |path: &Path| path == Path::new("-");
        let reads_stdin = sources.first().is_none_or(|path| is_stdin(path));
        ensure!(
            !(reads_stdin && is_stdin(targets)),
            "standard input cannot be the lines and their translations at once"
        );
        let sources = sources.first().map_or_else(|| Ok(Self::stdin()), |path| Self::open(path));
        Ok([sources?, Self::open(targets)?])
    }

    /// What to call it in a message.
    pub(crate) fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| "standard input".to_owned())
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
