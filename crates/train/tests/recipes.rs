//! The recipes of the repository.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use umlaut_text::Vocab;
use umlaut_train::Recipe;

/// Every recipe file in `recipes/`.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    let inside = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = inside(folder).filter(|path| path.is_dir()).flat_map(inside);
    let is_recipe = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml") && !path.ends_with("data.toml");
    files.filter(is_recipe).collect()
}

#[test]
fn each_can_be_read_and_has_the_vocabulary_that_it_names() {
    let files = files();
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let recipe = Recipe::open(&file).unwrap_or_else(|error| panic!("{error}"));
        // Vocabularies that `umlaut prepare` makes are not here.
        let vocab = file.with_file_name("").join(&recipe.data.vocab);
        if vocab.exists() {
            let vocab = Vocab::open(&vocab).unwrap();
            assert_eq!(vocab.len(), recipe.model.vocab, "{}", file.display());
        }
    }
}
