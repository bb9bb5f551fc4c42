//! What lies where: names at the top level, no large files, no path of somebody's machine.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Fault;

const TOP_LEVEL: [&str; 7] = ["Cargo.lock", "Cargo.toml", "README.md", "crates", "eval", "recipes", "vocab"];

/// Bytes.
const LARGEST_FILE: u64 = 20_000_000;

/// Beginnings of paths that exist on one machine only. Split, so that this file is not found by its own rule.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/", "work/"),
    concat!("/", "root/"),
    concat!("/", "home/"),
    concat!("/", "Users/"),
    concat!("/", "tmp/peers"),
];

/// What is wrong with the places, sizes and texts of `files`.
///
/// # Errors
/// When one cannot be read.
pub(super) fn faults(root: &Path, files: &[impl AsRef<Path>]) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for file in files.iter().map(AsRef::as_ref) {
        let path = root.join(file);
        let bytes = path.metadata().with_context(|| format!("cannot read {}", file.display()))?.len();
        faults.extend(fault_of_place(file));
        if bytes > LARGEST_FILE {
            faults.push(Fault::in_file(file, format!("{bytes} bytes, {LARGEST_FILE} at most")));
        } else if let Ok(text) = fs::read_to_string(&path) {
            faults.extend(faults_of_text(file, &text));
        }
    }
    Ok(faults)
}

fn fault_of_place(file: &Path) -> Option<Fault> {
    let name = file.iter().next()?.to_string_lossy();
    let is_known = TOP_LEVEL.contains(&&*name) || name.starts_with('.') || name.starts_with("LICENSE-");
    (!is_known).then(|| Fault::in_file(file, format!("`{name}` has no place at the top level")))
}

fn faults_of_text(file: &Path, text: &str) -> Vec<Fault> {
    let lines = text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let path = MACHINE_PATHS.into_iter().find(|path| names_path(line, path))?;
            Some(Fault::at_line(file, index + 1, format!("names a path of one machine: {path}")))
        })
        .collect()
}

/// Whether `path` stands in `line` as the beginning of a path and not inside a longer one.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|char| !char.is_alphanumeric() && !"._-/~}>".contains(char))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_at(file: &str) -> usize {
        fault_of_place(Path::new(file)).into_iter().count()
    }

    #[test]
    fn only_known_names_stand_at_the_top_level() {
        for file in ["Cargo.toml", ".ci/run", ".gitignore", "LICENSE-MIT", "crates/a/src/anything.rs"] {
            assert_eq!(faults_at(file), 0, "{file}");
        }
        for file in ["notes.txt", "scripts/run.sh", "LICENSE", "src/main.rs"] {
            assert_eq!(faults_at(file), 1, "{file}");
        }
    }

    #[test]
    fn a_path_of_one_machine_is_a_fault_and_names_its_line() {
        let text = format!("fine\nopen(\"{}data\")\n", MACHINE_PATHS[0]);
        let faults = faults_of_text(Path::new("a.py"), &text);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].place, "a.py:2");
    }

    #[test]
    fn the_same_name_inside_another_path_is_none() {
        for line in ["net/work/a", "https://example.org/work/a", "../work/a", "$HOME/work/a", "work/a"] {
            assert!(!names_path(line, MACHINE_PATHS[0]), "{line}");
        }
    }

    #[test]
    fn a_file_over_the_limit_is_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join(".large")).unwrap();
        file.set_len(LARGEST_FILE + 1).unwrap();
        assert_eq!(faults(folder.path(), &[".large"]).unwrap().len(), 1);
        file.set_len(LARGEST_FILE).unwrap();
        assert_eq!(faults(folder.path(), &[".large"]).unwrap().len(), 0);
    }
}
