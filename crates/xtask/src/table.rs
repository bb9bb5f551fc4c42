//! `cargo xtask table`: the README's figures, and reaching them again by `umlaut table`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use umlaut_ledger::readme::{self, FILE};

use crate::Verdict;
use crate::workspace::Workspace;

/// Writes the README's table.
///
/// # Errors
/// When ledger, test sets or README cannot be read or the README not written.
pub(crate) fn write(workspace: &Workspace) -> Result<Verdict> {
    let (readme, current) = readme::is_and_should_be(workspace.root())?;
    if readme == current {
        println!("table: {FILE} is current");
        return Ok(Verdict::Good);
    }
    let path = workspace.root().join(FILE);
    let draft = path.with_extension("md.part");
    fs::write(&draft, current)
        .and_then(|()| fs::rename(&draft, &path))
        .with_context(|| format!("cannot write {FILE}"))?;
    println!("table: {FILE} is written");
    Ok(Verdict::Good)
}

/// Verifies that the README is current, and with `data` that the figures can be reached again.
///
/// # Errors
/// When something cannot be read, built or run.
pub(crate) fn check(workspace: &Workspace, data: Option<&Path>) -> Result<Verdict> {
    let mut verdict = Verdict::Good;
    if readme::is_current(workspace.root())? {
        println!("table: {FILE} is current");
    } else {
        println!("table: {FILE} is not current: run `cargo xtask table`");
        verdict = Verdict::Faulty;
    }
    match data {
        Some(data) if reach(workspace, data)? == Verdict::Faulty => Ok(Verdict::Faulty),
        Some(_) => Ok(verdict),
        None => {
            println!("table: nothing scored again: name the test sets' directory by --data DIR or UMLAUT_DATA");
            Ok(verdict)
        }
    }
}

/// Lets `umlaut table` translate and score every row that can be reached, into the build folder.
fn reach(workspace: &Workspace, data: &Path) -> Result<Verdict> {
    // The program runs in the root; the user stands elsewhere, perhaps.
    let data = data.canonicalize().with_context(|| format!("cannot find {}", data.display()))?;
    let output = workspace.metadata()?.target_directory.join("table");
    if output.exists() {
        fs::remove_dir_all(&output).with_context(|| format!("cannot replace {}", output.display()))?;
    }
    let program = workspace.build_release(&["--locked", "--package", "umlaut"])?.join("umlaut");
    let mut command = std::process::Command::new(program);
    command.current_dir(workspace.root()).arg("table").arg("--data").arg(data).arg("-o").arg(output);
    let status = command.status().context("cannot start umlaut")?;
    match status.code() {
        Some(0) => Ok(Verdict::Good),
        Some(1) => Ok(Verdict::Faulty),
        _ => anyhow::bail!("umlaut table failed ({status})"),
    }
}
