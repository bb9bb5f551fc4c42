//! Runs of one process: resume, retention, refusals.

use std::fs;
use std::path::Path;

use burn_flex::FlexDevice;
use umlaut_model::directory::{WEIGHTS, read_arrays, read_config};
use umlaut_text::Vocab;
use umlaut_text::corpus::shard::{ShardMark, shard_bytes, shard_name};
use umlaut_text::corpus::{PairCutter, PairFilter};
use umlaut_train::group::Members;
use umlaut_train::trainer::{Changes, Folders};
use umlaut_train::{Outcome, Recipe, TrainError, Trainer, checkpoint, data, log};

use crate::kitchen::{B, Kitchen};

/// What a log says, but for the clock.
fn losses(run: &Path) -> Vec<String> {
    let events = log::read(&run.join(log::FILE)).unwrap();
    let text = |event: &log::Event| match event {
        log::Event::Update { update, epoch, loss, nll, learning_rate, gradient_norm, .. } => {
            format!("{update} {epoch} {loss:?} {nll:?} {learning_rate:?} {gradient_norm:?}")
        }
        log::Event::Validation { update, loss, bleu, .. } => format!("{update} {loss:?} {bleu:?}"),
        log::Event::Skipped { update } => format!("{update} skipped"),
        log::Event::Estimate { .. } => panic!("an estimate is told, not logged"),
    };
    events.iter().map(text).collect()
}

fn updates(run: &Path) -> Vec<u64> {
    checkpoint::list(run).unwrap().into_iter().map(|(update, _)| update).collect()
}

#[test]
fn a_resumed_run_is_one_that_never_stopped_bit_for_bit() {
    let kitchen = Kitchen::new();
    assert_eq!(kitchen.new_run(kitchen.recipe(), "whole").unwrap(), Outcome::Finished);
    // Stopped in the middle of an epoch, in the first stage and in the second; the last stop is no checkpoint of the
    // plan, so that what was trained after the newest one is trained again.
    let mut recipe = kitchen.recipe();
    recipe.run.max_updates = 7;
    kitchen.new_run(recipe.clone(), "parts").unwrap();
    for last in [17, 20] {
        recipe.run.max_updates = last;
        kitchen.resume(recipe.clone(), "parts", Changes::Refused).unwrap();
    }
    let (whole, parts) = (kitchen.run("whole"), kitchen.run("parts"));
    let updates_of =
        |run: &Path| losses(run).into_iter().filter(|line| line.split(' ').count() == 6).collect::<Vec<_>>();
    assert_eq!(updates_of(&whole), updates_of(&parts));
    let bytes = |run: &Path, name: &str| fs::read(checkpoint::folder(run, 20).join(name)).unwrap();
    for name in [WEIGHTS, "optimizer.safetensors", "config.json", "vocab.model"] {
        assert!(bytes(&whole, name) == bytes(&parts, name), "{name} differs");
    }
}

/// The recipe with the data of each stage as shards of 60 lines.
fn in_shards(kitchen: &Kitchen, mut recipe: Recipe) -> Recipe {
    let vocab = Vocab::open(kitchen.dir.path().join("v.model")).unwrap();
    for (number, stage) in recipe.data.stages.iter_mut().enumerate() {
        let files = std::mem::take(&mut stage.files);
        let files: Vec<_> = files.iter().map(|files| data::within(kitchen.dir.path(), files)).collect();
        let name = format!("shards-{number}");
        let folder = kitchen.dir.path().join(&name);
        fs::create_dir(&folder).unwrap();
        let mut cutter = PairCutter::new(&files, &PairFilter::default(), &vocab);
        for number in 0..4 {
            let mark = ShardMark { number, count: 4, origin: [1; 32] };
            let (corpus, _) = cutter.next_piece(60).unwrap();
            fs::write(folder.join(shard_name(number)), shard_bytes(&corpus, &vocab, &mark)).unwrap();
        }
        stage.shards = Some(name.into());
    }
    recipe
}

#[test]
fn shards_train_the_weights_that_files_do_bit_for_bit() {
    let kitchen = Kitchen::new();
    let mut recipe = kitchen.recipe();
    recipe.data.filter.max_tokens = Some(12);
    kitchen.new_run(recipe.clone(), "files").unwrap();
    let recipe = in_shards(&kitchen, recipe);
    // The vocabulary is not beside the recipe but among the data, as `umlaut prepare` leaves it.
    let folders = Folders { recipe: kitchen.run("nowhere"), ..kitchen.folders("shards") };
    Trainer::<B>::new(recipe, &folders, Members::solo(), &FlexDevice).unwrap().run(|_| ()).unwrap();
    let (files, shards) = (kitchen.run("files"), kitchen.run("shards"));
    assert_eq!(losses(&files), losses(&shards));
    let bytes = |run: &Path, name: &str| fs::read(checkpoint::folder(run, 20).join(name)).unwrap();
    for name in [WEIGHTS, "optimizer.safetensors"] {
        assert!(bytes(&files, name) == bytes(&shards, name), "{name} differs");
    }
    assert_eq!(Recipe::open(&shards).unwrap().data.stages[0].shards, Some("shards-0".into()));
}

#[test]
fn a_stage_names_files_or_shards() {
    let kitchen = Kitchen::new();
    kitchen.recipe();
    let path = kitchen.dir.path().join("recipe.toml");
    let good = fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("from_update = 15\n", "from_update = 15\nshards = \"s\"\n"),
        ("files = [{ src = \"train.en\", tgt = \"train.de\" }]\n", ""),
        ("files = [{ src = \"train.en\", tgt = \"train.de\" }]\n", "shards = \"s\"\ncorpora = [\"a\"]\n"),
    ] {
        assert!(good.contains(from));
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let error = Recipe::open(&path).unwrap_err().to_string();
        assert!(error.contains("files") && error.contains("shards"), "{error}");
    }
}

#[test]
fn every_multiple_is_saved_once_and_the_last_and_the_best_are_kept() {
    let kitchen = Kitchen::new();
    kitchen.new_run(kitchen.recipe(), "run").unwrap();
    let run = kitchen.run("run");
    let kept = updates(&run);
    assert_eq!(kept[kept.len() - 3..], [12, 16, 20]);
    let best = checkpoint::read_state(&checkpoint::folder(&run, 20)).unwrap();
    assert!(kept.contains(&best.best.map_or(20, |best| best.update)));
    assert!(kept.len() <= 4, "{kept:?}");
}

#[test]
fn a_short_run_ends_with_a_usable_model() {
    let kitchen = Kitchen::new();
    let mut recipe = kitchen.recipe();
    recipe.run =
        umlaut_train::recipe::Run { max_updates: 3, checkpoint_every: 1000, validate_every: 1000, ..recipe.run };
    kitchen.new_run(recipe, "short").unwrap();
    assert_eq!(updates(&kitchen.run("short")), [3]);
}

#[test]
fn a_rate_that_explodes_stops_the_run_and_leaves_finite_checkpoints() {
    let kitchen = Kitchen::new();
    let mut recipe = kitchen.recipe();
    recipe.schedule.peak = 1e30;
    recipe.run.checkpoint_every = 1;
    let error = kitchen.new_run(recipe, "run").unwrap_err();
    assert!(matches!(error, TrainError::NotFinite { .. }), "{error}");
    for (_, path) in checkpoint::list(&kitchen.run("run")).unwrap() {
        let arrays = read_arrays(&path.join(WEIGHTS)).unwrap();
        assert!(arrays.values().all(|array| array.data.iter().all(|x| x.is_finite())), "{}", path.display());
    }
}

#[test]
fn another_recipe_is_refused_field_by_field_unless_it_is_asked_for() {
    let kitchen = Kitchen::new();
    let mut recipe = kitchen.recipe();
    recipe.run.max_updates = 4;
    kitchen.new_run(recipe.clone(), "run").unwrap();
    recipe.schedule.peak = 0.005;
    recipe.model.dropout = 0.25;
    recipe.run.max_updates = 6;
    let error = kitchen.resume(recipe.clone(), "run", Changes::Refused).unwrap_err().to_string();
    assert!(error.contains("schedule.peak (0.005 now, 0.01 in the run)"), "{error}");
    kitchen.resume(recipe, "run", Changes::Taken).unwrap();
    let (_, newest) = checkpoint::list(&kitchen.run("run")).unwrap().pop().unwrap();
    assert!((read_config(&newest).unwrap().dropout - 0.25).abs() < 1e-6, "the model keeps the run's dropout");
    let error = kitchen.new_run(kitchen.recipe(), "run").unwrap_err().to_string();
    assert!(error.contains("--resume"), "{error}");
}

#[test]
fn files_of_unequal_length_are_refused_before_anything_is_written() {
    let kitchen = Kitchen::new();
    let path = kitchen.dir.path().join("train.de");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end().rsplit_once('\n').unwrap().0).unwrap();
    let error = kitchen.new_run(kitchen.recipe(), "run").unwrap_err().to_string();
    assert!(error.contains("200") && error.contains("199"), "{error}");
    assert!(!kitchen.run("run").exists());
}

#[test]
fn a_field_that_no_recipe_has_is_named() {
    let kitchen = Kitchen::new();
    kitchen.recipe();
    let path = kitchen.dir.path().join("recipe.toml");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("accumulate = 2", "acumulate = 2")).unwrap();
    let error = Recipe::open(&path).unwrap_err().to_string();
    assert!(error.contains("acumulate"), "{error}");
}

#[test]
fn what_an_interrupted_write_left_is_removed_and_not_read() {
    let kitchen = Kitchen::new();
    let mut recipe = kitchen.recipe();
    recipe.run.max_updates = 4;
    kitchen.new_run(recipe.clone(), "run").unwrap();
    let part = kitchen.run("run").join(".checkpoint-0000005.part");
    fs::create_dir(&part).unwrap();
    fs::write(part.join(WEIGHTS), "half").unwrap();
    recipe.run.max_updates = 6;
    kitchen.resume(recipe, "run", Changes::Refused).unwrap();
    assert!(!part.exists());
}
