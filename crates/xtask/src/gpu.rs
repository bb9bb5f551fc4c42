//! `cargo xtask gpu`: one of NVIDIA's devices, held against the processor and measured by `umlaut device`.
//!
//! Nothing is built here: a machine with such a device need not have a compiler.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::Verdict;
use crate::workspace::Workspace;

/// Transformer-base, whose updates are timed.
const RECIPE: &str = "recipes/wmt14-base-rope";
const BUILD: &str = "CUDARC_CUDA_VERSION=13000 cargo build --release --package umlaut --features cuda";

/// Lets `program`, or the release build of `umlaut`, print its table, which is kept in the build folder.
///
/// # Errors
/// When there is no such program, or one line that says why it could not use the device.
pub(crate) fn run(workspace: &Workspace, program: Option<&Path>) -> Result<Verdict> {
    let target = workspace.metadata()?.target_directory;
    let built = target.join("release/umlaut");
    measure(workspace.root(), program.unwrap_or(&built), &target.join("gpu.md"))
}

fn measure(root: &Path, program: &Path, table: &Path) -> Result<Verdict> {
    ensure!(program.is_file(), "{} is missing: {BUILD}", program.display());
    let mut command = Command::new(program.canonicalize()?);
    command.args(["device", RECIPE, "--device", "cuda"]).current_dir(root).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let verdict = match output.status.code() {
        Some(0) => Verdict::Good,
        Some(1) => Verdict::Faulty,
        _ => bail!("{}", said.trim().trim_start_matches("umlaut: ")),
    };
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{said}");
    let draft = table.with_extension("md.part");
    fs::write(&draft, &output.stdout)
        .and_then(|()| fs::rename(&draft, table))
        .with_context(|| format!("cannot write {}", table.display()))?;
    println!("gpu: {} is written", table.display());
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_program_one_line_says_how_to_build_it() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("umlaut");
        let error = measure(folder.path(), &missing, &folder.path().join("gpu.md")).unwrap_err().to_string();
        assert!(error.contains("--features cuda") && !error.contains('\n'), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_table_is_kept_whether_or_not_the_device_is_right_and_nothing_where_there_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (program, table) = (folder.path().join("umlaut"), folder.path().join("gpu.md"));
        let with = |exit: i32| {
            let _ = fs::remove_file(&table);
            fs::write(&program, format!("#!/bin/sh\necho \"| $* |\"\necho umlaut: no device >&2\nexit {exit}\n"))
                .unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            measure(folder.path(), &program, &table)
        };
        assert_eq!(with(0).unwrap(), Verdict::Good);
        assert_eq!(fs::read_to_string(&table).unwrap(), "| device recipes/wmt14-base-rope --device cuda |\n");
        assert_eq!(with(1).unwrap(), Verdict::Faulty);
        assert!(table.exists());
        assert_eq!(with(2).unwrap_err().to_string(), "no device");
        assert!(!table.exists());
    }
}
