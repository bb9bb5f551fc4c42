//! Translating as `translate` would with a row's options, and what identifies the model that did.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use umlaut_ledger::{PATH, Row, checksum};
use umlaut_translate::{DecodeArgs, Options, Translator};

use super::report::ModelSum;

/// The options of a row.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct RowOptions {
    #[command(flatten)]
    decode: DecodeArgs,
}

/// A row's model with a row's options.
///
/// # Errors
/// If `translate` has no such options or the model cannot be opened.
pub(crate) fn open(row: &Row, model: &Path, threads: Option<NonZero<usize>>) -> Result<Translator> {
    let options = RowOptions::try_parse_from(&row.translate).map_err(|error| {
        let reason = error.to_string();
        anyhow!("{PATH}: {}: `translate`: {}", row.name(), reason.lines().next().unwrap_or_default())
    })?;
    let options = Options::from(&options.decode);
    let options = match threads {
        Some(threads) => options.with_threads(threads),
        None => options,
    };
    Translator::open(model, options).with_context(|| model.display().to_string())
}

/// A translation of each line.
///
/// # Errors
/// If the model fails.
pub(crate) fn translate(translator: &Translator, lines: &[String]) -> Result<Vec<String>> {
    let translations = translator.translate_lines(lines)?;
    Ok(translations.iter().map(|translation| translation.text().to_owned()).collect())
}

/// The checksum of the model directory `root`/`directory`.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn sum_of_model(root: &Path, directory: &Path) -> Result<ModelSum> {
    let folder = root.join(directory);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !name.starts_with('.') {
            files.insert(name, checksum::of_file(&path)?);
        }
    }
    let list: Vec<(String, String)> = files.clone().into_iter().collect();
    Ok(ModelSum { directory: directory.to_owned(), sha256: checksum::of_list(&list), files })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_model_is_that_of_the_list_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "b").unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        let sum = sum_of_model(folder.path(), Path::new("")).unwrap();
        // (printf a > a; printf b > b; sha256sum * | sha256sum)
        assert_eq!(sum.sha256, "cb13f400dcb618e400d0f7d54f7cdb330d37a07272cb99a1016cda5830a10556");
        fs::write(folder.path().join("b"), "c").unwrap();
        assert_ne!(sum_of_model(folder.path(), Path::new("")).unwrap().sha256, sum.sha256);
    }
}
