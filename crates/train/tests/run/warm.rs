//! Runs that begin with the weights of another model.

use std::fs;

use umlaut_model::directory::{self, WEIGHTS};
use umlaut_train::schedule::Schedule;
use umlaut_train::{Recipe, checkpoint};

use crate::kitchen::Kitchen;

/// The recipe with the model of a whole run to begin with.
fn begun(kitchen: &Kitchen) -> Recipe {
    kitchen.new_run(kitchen.recipe(), "first").unwrap();
    let newest = checkpoint::folder(&kitchen.run("first"), 20);
    Recipe { init: Some(newest.strip_prefix(kitchen.dir.path()).unwrap().to_owned()), ..kitchen.recipe() }
}

#[test]
fn a_run_begins_with_the_weights_of_another_model() {
    let kitchen = Kitchen::new();
    let mut recipe = begun(&kitchen);
    recipe.model.dropout = 0.0;
    // Steps too small to be seen.
    recipe.schedule = Schedule { initial: 0.0, peak: 1e-9, ..recipe.schedule };
    recipe.run.max_updates = 4;
    kitchen.new_run(recipe, "second").unwrap();
    let weights = |run: &str, update| {
        directory::read_arrays(&checkpoint::folder(&kitchen.run(run), update).join(WEIGHTS)).unwrap()
    };
    let (first, second) = (weights("first", 20), weights("second", 4));
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    let pairs = first.values().zip(second.values()).flat_map(|(a, b)| a.data.iter().zip(&b.data));
    let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 1e-6, "{largest}");
}

#[test]
fn a_model_of_another_shape_is_refused_by_field() {
    let kitchen = Kitchen::new();
    let mut recipe = begun(&kitchen);
    recipe.model.n_heads = 4;
    recipe.model.d_ff = 64;
    let error = kitchen.new_run(recipe, "second").unwrap_err().to_string();
    assert!(error.ends_with("that model differs in model.d_ff, model.n_heads"), "{error}");
    assert!(!kitchen.run("second").exists());
}

#[test]
fn a_model_of_another_vocabulary_is_refused() {
    let kitchen = Kitchen::new();
    let recipe = begun(&kitchen);
    let vocab = kitchen.run("first/checkpoint-0000020").join(checkpoint::VOCAB);
    fs::write(&vocab, [&fs::read(&vocab).unwrap()[..], b" "].concat()).unwrap();
    let error = kitchen.new_run(recipe, "second").unwrap_err().to_string();
    assert!(error.ends_with("that model has another vocabulary"), "{error}");
}
