//! `cargo xtask golden`: the scripts behind the golden fixtures, run again.
//!
//! A script is a Python program (`__main__`) somewhere in `crates/*/tests/` that writes its fixtures beside itself. The
//! words `pip install ...` in its docstring name what it needs; each folder of scripts gets a virtual environment of its
//! own, made fresh.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use umlaut_ledger::checksum;

use crate::Verdict;
use crate::workspace::Workspace;

/// Checksums of files, by path from the root.
type Snapshot = BTreeMap<PathBuf, String>;

/// Runs every script, or those of one crate, and prints the fixtures that came out different.
///
/// # Errors
/// When Python is missing, a requirement cannot be installed or a script fails.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>) -> Result<Verdict> {
    let before = snapshot(workspace, only)?;
    let environments = workspace.metadata()?.target_directory.join("golden");
    for (folder, scripts) in scripts(workspace.root(), before.keys())? {
        let requirements = scripts.values().flat_map(|text| requirements(text));
        let python = environment(&environments.join(slug(folder)), requirements)?;
        for script in scripts.keys() {
            println!("golden: {}", folder.join(script).display());
            call(Command::new(&python).arg(script).current_dir(workspace.root().join(folder)))?;
        }
    }
    Ok(report(&changes(&before, &snapshot(workspace, only)?)))
}

/// The checksum of every file in a crate's `tests`.
fn snapshot(workspace: &Workspace, only: Option<&str>) -> Result<Snapshot> {
    let files = workspace.files()?.into_iter();
    let fixtures = files.filter(|file| crate_tested_by(file).is_some_and(|name| only.is_none_or(|only| name == only)));
    fixtures.map(|file| Ok((file.clone(), checksum::of_file(&workspace.root().join(&file))?))).collect()
}

/// The folder of `crates/` in whose `tests` a file lies.
fn crate_tested_by(file: &Path) -> Option<&OsStr> {
    let folders: Vec<_> = file.iter().take(3).collect();
    match folders[..] {
        [first, name, third] if first == "crates" && third == "tests" => Some(name),
        _ => None,
    }
}

/// The programs among `files`: by folder, by name, with their text.
fn scripts<'a>(
    root: &Path,
    files: impl Iterator<Item = &'a PathBuf>,
) -> Result<BTreeMap<&'a Path, BTreeMap<&'a OsStr, String>>> {
    let mut scripts: BTreeMap<&Path, BTreeMap<&OsStr, String>> = BTreeMap::new();
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "py")) {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {}", file.display()))?;
        if let (true, Some(folder), Some(name)) = (is_program(&text), file.parent(), file.file_name()) {
            scripts.entry(folder).or_default().insert(name, text);
        }
    }
    Ok(scripts)
}

/// What the words `pip install ...` of a script name, up to the end of the line or of the command.
fn requirements(script: &str) -> impl Iterator<Item = &str> {
    let named = script.lines().find_map(|line| line.split_once("pip install ")).map_or("", |(_, named)| named);
    named.split_whitespace().take_while(|word| *word != "&&")
}

/// Whether a Python file is to be run: modules that a script imports say neither.
fn is_program(text: &str) -> bool {
    text.contains("__main__") || requirements(text).next().is_some()
}

fn slug(folder: &Path) -> String {
    folder.iter().map(|name| name.to_string_lossy()).collect::<Vec<_>>().join("-")
}

/// A fresh environment at `place` with what is required; returns its Python.
fn environment<'a>(place: &Path, requirements: impl Iterator<Item = &'a str>) -> Result<PathBuf> {
    if place.exists() {
        fs::remove_dir_all(place).with_context(|| format!("cannot remove {}", place.display()))?;
    }
    call(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    let python = place.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let requirements: BTreeSet<&str> = requirements.collect();
    if !requirements.is_empty() {
        call(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(requirements))?;
    }
    Ok(python)
}

fn call(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn changes(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut changes = Vec::new();
    for (file, sum) in after {
        match before.get(file) {
            None => changes.push(format!("new      {}", file.display())),
            Some(old) if old != sum => changes.push(format!("changed  {}", file.display())),
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|file| !after.contains_key(*file));
    changes.extend(gone.map(|file| format!("gone     {}", file.display())));
    changes
}

fn report(changes: &[String]) -> Verdict {
    if changes.is_empty() {
        println!("golden: every fixture came out as it was");
        return Verdict::Good;
    }
    println!("golden: {} fixtures came out different; look at them before committing", changes.len());
    for change in changes {
        println!("  {change}");
    }
    Verdict::Faulty
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot_of(files: &[(&str, &str)]) -> Snapshot {
        files.iter().map(|(file, sum)| (file.into(), (*sum).to_owned())).collect()
    }

    #[test]
    fn a_fixture_lies_in_the_tests_of_its_crate() {
        assert_eq!(crate_tested_by(Path::new("crates/model/tests/golden/forward.json")), Some(OsStr::new("model")));
        assert_eq!(crate_tested_by(Path::new("crates/model/src/forward.rs")), None);
        assert_eq!(crate_tested_by(Path::new("eval/tests/forward.json")), None);
    }

    #[test]
    fn a_script_is_a_program_and_not_a_module() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("make.py"), "if __name__ == '__main__':\n").unwrap();
        fs::write(root.path().join("module.py"), "import math\n").unwrap();
        fs::write(root.path().join("data.json"), "__main__").unwrap();
        let files = ["data.json", "make.py", "module.py"].map(PathBuf::from);
        let scripts = scripts(root.path(), files.iter()).unwrap();
        assert!(scripts[Path::new("")].keys().eq([OsStr::new("make.py")].iter()));
    }

    #[test]
    fn requirements_are_named_in_the_docstring() {
        let script = "\"\"\"Writes.\n\n    pip install torch==2.9.1 numpy\n    python make.py\n\"\"\"\n";
        assert_eq!(requirements(script).collect::<Vec<_>>(), ["torch==2.9.1", "numpy"]);
        let script = "    python -m pip install six && python make.py\n";
        assert_eq!(requirements(script).collect::<Vec<_>>(), ["six"]);
        assert_eq!(requirements("import math\n").count(), 0);
    }

    #[test]
    fn new_changed_and_gone_fixtures_are_named() {
        let before = snapshot_of(&[("kept", "1"), ("edited", "1"), ("removed", "1")]);
        let after = snapshot_of(&[("kept", "1"), ("edited", "2"), ("added", "1")]);
        assert_eq!(changes(&before, &after), ["new      added", "changed  edited", "gone     removed"]);
        assert!(changes(&before, &before).is_empty());
    }

    #[test]
    fn a_folder_names_its_environment() {
        assert_eq!(slug(Path::new("crates/model/tests/golden")), "crates-model-tests-golden");
    }
}
