//! `cargo xtask tidy`: what a reader would trust and neither compiler nor clippy checks.

use std::fmt;
use std::path::Path;

use anyhow::Result;

use crate::Verdict;
use crate::workspace::Workspace;

mod arrow;
mod lexer;
mod record;
mod source;
mod tree;

/// Something to put right.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    /// A file, with a line where one is meant, or a package.
    place: String,
    message: String,
}

impl Fault {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    fn in_file(file: &Path, message: impl Into<String>) -> Self {
        Self::new(file.display().to_string(), message)
    }

    fn at_line(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::new(format!("{}:{line}", file.display()), message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

/// Prints every fault of the checkout.
///
/// # Errors
/// When a file cannot be read or cargo not be asked.
pub(crate) fn run(workspace: &Workspace) -> Result<Verdict> {
    let files = workspace.files()?;
    let mut faults = arrow::faults(&workspace.metadata()?.packages);
    faults.extend(tree::faults(workspace.root(), &files)?);
    faults.extend(source::faults(workspace.root(), &files)?);
    faults.extend(record::faults(workspace.root(), &files)?);
    for fault in &faults {
        println!("tidy: {fault}");
    }
    println!("tidy: {} files, {} faults", files.len(), faults.len());
    Ok(if faults.is_empty() { Verdict::Good } else { Verdict::Faulty })
}
