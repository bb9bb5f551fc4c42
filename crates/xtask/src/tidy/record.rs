//! The record of what was reached: recipes and their rows, the README's table, checksums of vocabularies and test sets.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use umlaut_ledger::{Ledger, LedgerError, PATH, TEST_SETS_PATH, TestSets, checksum, readme};

use super::Fault;

const SUMS: &str = "vocab/SHA256SUMS";

/// What is wrong with the record.
///
/// # Errors
/// When a vocabulary cannot be read.
pub(super) fn faults(root: &Path, files: &[PathBuf]) -> Result<Vec<Fault>> {
    let folders = folders(files);
    let mut faults = faults_of_folders(&folders, files);
    let recipes = recipes(folders, files);
    match (Ledger::read(root), TestSets::read(root)) {
        (Ok(ledger), Ok(test_sets)) => {
            let names: Vec<&str> = recipes.iter().map(String::as_str).collect();
            let in_ledger = ledger.faults(&test_sets.names(), &names).into_iter().chain(missing(&ledger, root));
            faults.extend(in_ledger.map(|message| Fault::new(PATH, message)));
            faults.extend(test_sets.faults().into_iter().map(|message| Fault::new(TEST_SETS_PATH, message)));
            faults.extend(fault_of_readme(root));
        }
        (ledger, test_sets) => {
            let unread = [ledger.err(), test_sets.err()].into_iter().flatten();
            faults.extend(unread.map(|error| Fault::new("eval", in_full(&error))));
        }
    }
    faults.extend(faults_of_vocabularies(root, files)?);
    Ok(faults)
}

/// The folders of `recipes/`.
fn folders(files: &[PathBuf]) -> BTreeSet<String> {
    let inside = files.iter().filter_map(|file| file.strip_prefix("recipes").ok());
    inside
        .filter_map(|file| {
            let mut parts = file.iter();
            let folder = parts.next()?;
            parts.next().is_some().then(|| folder.to_string_lossy().into_owned())
        })
        .collect()
}

/// The folders that hold a recipe to train: one with `data.toml` alone describes data that others train on.
fn recipes(folders: BTreeSet<String>, files: &[PathBuf]) -> BTreeSet<String> {
    let is_data = |folder: &String| has(folder, "data.toml", files) && !has(folder, "recipe.toml", files);
    folders.into_iter().filter(|folder| !is_data(folder)).collect()
}

fn has(folder: &str, name: &str, files: &[PathBuf]) -> bool {
    files.contains(&Path::new("recipes").join(folder).join(name))
}

fn faults_of_folders(folders: &BTreeSet<String>, files: &[PathBuf]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for folder in folders {
        let missing = |name: &str| Fault::in_file(&Path::new("recipes").join(folder).join(name), "is missing");
        if !has(folder, "recipe.toml", files) && !has(folder, "data.toml", files) {
            faults.push(missing("recipe.toml"));
        }
        if !has(folder, "README.md", files) {
            faults.push(missing("README.md"));
        }
    }
    faults
}

/// Models, outputs and recipes that rows and comparisons over seeds name and that are not there.
fn missing(ledger: &Ledger, root: &Path) -> Vec<String> {
    let models = ledger.row.iter().filter_map(|row| row.model.clone());
    let outputs = ledger.row.iter().filter_map(|row| row.output.as_ref().map(|output| Path::new("eval").join(output)));
    let trained = || ledger.seeds.iter().flat_map(|seeds| [&seeds.system, &seeds.baseline]);
    let of_seeds = trained().flat_map(|trained| &trained.outputs).map(|output| Path::new("eval").join(output));
    let recipes = trained().map(|trained| Path::new("recipes").join(&trained.recipe));
    let named: BTreeSet<PathBuf> = models.chain(outputs).chain(of_seeds).chain(recipes).collect();
    named
        .iter()
        .filter(|path| !root.join(path).exists())
        .map(|path| format!("{} is not there", path.display()))
        .collect()
}

fn fault_of_readme(root: &Path) -> Option<Fault> {
    match readme::is_current(root) {
        Ok(true) => None,
        Ok(false) => Some(Fault::new("README.md", "the table is not the generated one: run `cargo xtask table`")),
        Err(error) => Some(Fault::new("README.md", in_full(&error))),
    }
}

/// An error with its reason.
fn in_full(error: &LedgerError) -> String {
    let reason = error.source().map(|source| format!(": {source}"));
    format!("{error}{}", reason.unwrap_or_default())
}

fn faults_of_vocabularies(root: &Path, files: &[PathBuf]) -> Result<Vec<Fault>> {
    let list = fs::read_to_string(root.join(SUMS)).unwrap_or_default();
    let listed = match checksum::parse_list(&list) {
        Ok(listed) => listed,
        Err(line) => return Ok(vec![Fault::new(SUMS, format!("not `CHECKSUM  NAME`: {line}"))]),
    };
    let mut found = Vec::new();
    for file in
        files.iter().filter(|file| file.starts_with("vocab") && file.extension().is_some_and(|end| end == "model"))
    {
        let name = file.strip_prefix("vocab").unwrap_or(file).to_string_lossy().into_owned();
        found.push((name, checksum::of_file(&root.join(file))?));
    }
    Ok(differences(&listed, &found).into_iter().map(|message| Fault::new(SUMS, message)).collect())
}

/// Where the listed checksums `(name, sum)` differ from the found ones.
fn differences(listed: &[(String, String)], found: &[(String, String)]) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, sum) in found {
        match listed.iter().find(|(other, _)| other == name) {
            None => differences.push(format!("{name} is not listed")),
            Some((_, other)) if other != sum => differences.push(format!("{name} has SHA-256 {sum}")),
            Some(_) => {}
        }
    }
    let is_found = |name: &String| found.iter().any(|(other, _)| other == name);
    let absent = listed.iter().filter(|(name, _)| !is_found(name));
    differences.extend(absent.map(|(name, _)| format!("{name} is listed and not there")));
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &[&str]) -> Vec<PathBuf> {
        files.iter().map(PathBuf::from).collect()
    }

    fn sums(entries: &[(&str, &str)]) -> Vec<(String, String)> {
        entries.iter().map(|(name, sum)| ((*name).to_owned(), (*sum).to_owned())).collect()
    }

    #[test]
    fn a_recipe_is_a_folder_with_a_recipe_and_a_readme() {
        let files = paths(&[
            "recipes/README.md",
            "recipes/small/recipe.toml",
            "recipes/small/README.md",
            "recipes/half/README.md",
        ]);
        let folders = folders(&files);
        assert_eq!(folders.iter().collect::<Vec<_>>(), ["half", "small"]);
        let faults = faults_of_folders(&folders, &files);
        assert_eq!(faults, [Fault::new("recipes/half/recipe.toml", "is missing")]);
    }

    #[test]
    fn a_folder_that_only_describes_data_needs_a_readme_and_no_row() {
        let files = paths(&["recipes/news/data.toml", "recipes/both/data.toml", "recipes/both/recipe.toml"]);
        let folders = folders(&files);
        let faults: Vec<String> = faults_of_folders(&folders, &files).into_iter().map(|fault| fault.place).collect();
        assert_eq!(faults, ["recipes/both/README.md", "recipes/news/README.md"]);
        assert_eq!(recipes(folders, &files).iter().collect::<Vec<_>>(), ["both"]);
    }

    #[test]
    fn checksums_differ_when_one_is_wrong_unlisted_or_gone() {
        let listed = sums(&[("a.model", "1"), ("b.model", "2"), ("gone.model", "3")]);
        let found = sums(&[("a.model", "1"), ("b.model", "9"), ("new.model", "4")]);
        let expected = ["b.model has SHA-256 9", "new.model is not listed", "gone.model is listed and not there"];
        assert_eq!(differences(&listed, &found), expected);
        assert!(differences(&listed[..1], &found[..1]).is_empty());
    }

    #[test]
    fn a_vocabulary_is_held_against_its_list() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("vocab")).unwrap();
        fs::write(root.path().join("vocab/joint.model"), "abc").unwrap();
        let files = paths(&["vocab/joint.model"]);
        assert_eq!(faults_of_vocabularies(root.path(), &files).unwrap().len(), 1);
        let sum = checksum::of_reader(&b"abc"[..]).unwrap();
        fs::write(root.path().join(SUMS), format!("{sum}  joint.model\n")).unwrap();
        assert!(faults_of_vocabularies(root.path(), &files).unwrap().is_empty());
    }
}
