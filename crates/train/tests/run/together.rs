//! Runs that several members share: here threads, each with a trainer of its own.

use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use burn_flex::FlexDevice;
use umlaut_model::directory::{WEIGHTS, read_arrays};
use umlaut_train::group::{Group, Members};
use umlaut_train::log::Event;
use umlaut_train::trainer::Changes;
use umlaut_train::{Outcome, Recipe, TrainError, Trainer, checkpoint, log};

use crate::kitchen::{B, Kitchen};

/// What members lay open to each other.
#[derive(Debug)]
struct Table {
    barrier: Barrier,
    /// By rank.
    places: Vec<Mutex<Vec<f64>>>,
    gathered: Vec<Mutex<u64>>,
}

/// A member that meets the others in memory.
#[derive(Clone, Debug)]
struct Member {
    rank: usize,
    table: Arc<Table>,
    /// Added to the first of the sums that it gets: a processor that computes differently.
    error: f32,
}

impl Member {
    /// Sums in the order of ranks, the same on all.
    fn sums(&self, values: Vec<f64>) -> Vec<f64> {
        let mut sums = vec![0.0; values.len()];
        *self.table.places[self.rank].lock().unwrap() = values;
        self.table.barrier.wait();
        for place in &self.table.places {
            sums.iter_mut().zip(place.lock().unwrap().iter()).for_each(|(sum, value)| *sum += value);
        }
        self.table.barrier.wait();
        sums
    }
}

impl Group for Member {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.table.places.len()
    }

    fn sum(&mut self, values: &mut [f32]) {
        let sums = self.sums(values.iter().map(|value| f64::from(*value)).collect());
        values.iter_mut().zip(sums).for_each(|(value, sum)| *value = sum as f32);
        values[0] += self.error;
    }

    fn sum_f64(&mut self, values: &mut [f64]) {
        let sums = self.sums(values.to_vec());
        values.copy_from_slice(&sums);
    }

    fn gather(&mut self, value: u64) -> Vec<u64> {
        *self.table.gathered[self.rank].lock().unwrap() = value;
        self.table.barrier.wait();
        let all = self.table.gathered.iter().map(|place| *place.lock().unwrap()).collect();
        self.table.barrier.wait();
        all
    }
}

fn members(size: usize) -> Vec<Member> {
    let places = (0..size).map(|_| Mutex::default()).collect();
    let gathered = (0..size).map(|_| Mutex::default()).collect();
    let table = Arc::new(Table { barrier: Barrier::new(size), places, gathered });
    (0..size).map(|rank| Member { rank, table: Arc::clone(&table), error: 0.0 }).collect()
}

/// How a run ended for each member, and how many events it reported.
type Ends = Vec<Result<(Outcome, usize), TrainError>>;

/// Runs a trainer for each member on a thread of its own; `trainer` makes it.
fn all(members: Vec<Member>, trainer: impl Fn(Member) -> Result<Trainer<B>, TrainError> + Sync) -> Ends {
    thread::scope(|scope| {
        let run = |member| {
            let mut events = 0;
            trainer(member)?.run(|_: &Event| events += 1).map(|outcome| (outcome, events))
        };
        let started: Vec<_> = members.into_iter().map(|member| scope.spawn(move || run(member))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn recipe(kitchen: &Kitchen) -> Recipe {
    let mut recipe = kitchen.recipe();
    recipe.batch.accumulate = 4;
    recipe.batch.max_tokens = 100;
    recipe.run.max_updates = 50;
    recipe.run.validate_every = 25;
    recipe
}

fn new(kitchen: &Kitchen, recipe: &Recipe, run: &str, members: Vec<Member>) -> Ends {
    all(members, |member| {
        Trainer::new(recipe.clone(), &kitchen.folders(run), Members::on_host(Box::new(member)), &FlexDevice)
    })
}

fn finished(end: Result<(Outcome, usize), TrainError>) {
    assert_eq!(end.unwrap().0, Outcome::Finished);
}

fn messages(ends: Ends) -> Vec<String> {
    ends.into_iter().map(|end| end.unwrap_err().to_string()).collect()
}

/// The largest difference of a parameter in two runs' last checkpoints. One kind is left out: a softmax does not see the
/// bias of keys that are not rotated, so that its gradient is 0 but for rounding, which Adam scales up to whole steps.
fn largest_difference(a: &Path, b: &Path, update: u64) -> f32 {
    let [a, b] = [a, b].map(|run| read_arrays(&checkpoint::folder(run, update).join(WEIGHTS)).unwrap());
    assert!(a.keys().eq(b.keys()));
    let pairs = a.iter().zip(b.values()).filter(|((name, _), _)| !name.ends_with("cross_attention.key.bias"));
    let differences = pairs.flat_map(|((_, a), b)| a.data.iter().zip(&b.data).map(|(a, b)| (a - b).abs()));
    differences.fold(0.0, f32::max)
}

#[test]
fn any_number_of_members_makes_the_updates_of_one() {
    let kitchen = Kitchen::new();
    let recipe = recipe(&kitchen);
    kitchen.new_run(recipe.clone(), "alone").unwrap();
    let alone = checkpoint::read_state(&checkpoint::folder(&kitchen.run("alone"), 50)).unwrap();
    for size in [2, 4] {
        let run = format!("of-{size}");
        for (rank, end) in new(&kitchen, &recipe, &run, members(size)).into_iter().enumerate() {
            let (outcome, events) = end.unwrap();
            assert_eq!(outcome, Outcome::Finished);
            assert_eq!(events > 0, rank == 0, "only the first member reports");
        }
        let difference = largest_difference(&kitchen.run("alone"), &kitchen.run(&run), 50);
        assert!(difference < 2e-4, "{difference} with {size} members");
        let state = checkpoint::read_state(&checkpoint::folder(&kitchen.run(&run), 50)).unwrap();
        assert_eq!((state.position, state.tokens), (alone.position, alone.tokens));
        let events = log::read(&kitchen.run(&run).join(log::FILE)).unwrap();
        assert!(events.iter().any(|event| matches!(event, Event::Update { exchange: Some(_), .. })));
    }
}

#[test]
fn a_run_may_go_on_with_another_number_of_members() {
    let kitchen = Kitchen::new();
    let mut recipe = recipe(&kitchen);
    kitchen.new_run(recipe.clone(), "alone").unwrap();
    recipe.run.max_updates = 21;
    new(&kitchen, &recipe, "shared", members(2)).into_iter().for_each(finished);
    recipe.run.max_updates = 50;
    let folders = kitchen.folders("shared");
    let resume = |member| {
        Trainer::resume(recipe.clone(), &folders, Changes::Refused, Members::on_host(Box::new(member)), &FlexDevice)
    };
    all(members(4), resume).into_iter().for_each(finished);
    let difference = largest_difference(&kitchen.run("alone"), &kitchen.run("shared"), 50);
    assert!(difference < 2e-4, "{difference}");
}

#[test]
fn patience_runs_out_for_all_at_once() {
    let kitchen = Kitchen::new();
    let mut recipe = recipe(&kitchen);
    recipe.schedule.peak = 1e-12;
    recipe.run.validate_every = 5;
    recipe.run.patience = 2;
    let outcomes: Vec<_> = new(&kitchen, &recipe, "run", members(2)).into_iter().map(|end| end.unwrap().0).collect();
    assert_eq!(outcomes, [Outcome::OutOfPatience; 2]);
}

#[test]
fn parts_that_cannot_be_shared_evenly_are_refused() {
    let kitchen = Kitchen::new();
    let refused = messages(new(&kitchen, &recipe(&kitchen), "run", members(3)));
    assert!(refused.iter().all(|reason| reason.contains("batch.accumulate to a multiple of 3")), "{refused:?}");
    assert!(!kitchen.run("run").exists());
}

#[test]
fn members_that_do_not_train_the_same_are_refused_before_anything_is_written() {
    let kitchen = Kitchen::new();
    let recipe = recipe(&kitchen);
    let other = |member: Member| {
        let recipe = Recipe { seed: recipe.seed + u64::from(member.rank == 2), ..recipe.clone() };
        Trainer::new(recipe, &kitchen.folders("run"), Members::on_host(Box::new(member)), &FlexDevice)
    };
    let refused = messages(all(members(4), other));
    assert!(refused.iter().all(|reason| reason.starts_with("the recipe of process 2 differs")), "{refused:?}");
    assert!(!kitchen.run("run").exists());
}

#[test]
fn members_whose_models_drift_apart_stop_before_a_checkpoint_is_written() {
    let kitchen = Kitchen::new();
    let mut members = members(2);
    members[1].error = 1e-3;
    let refused = messages(new(&kitchen, &recipe(&kitchen), "run", members));
    let words = "after update 4 the model of process 1 differs from that of process 0";
    assert!(refused.iter().all(|reason| reason.starts_with(words)), "{refused:?}");
    assert!(checkpoint::list(&kitchen.run("run")).unwrap().is_empty());
}

#[test]
fn numbers_that_are_not_finite_stop_all_members() {
    let kitchen = Kitchen::new();
    let mut recipe = recipe(&kitchen);
    recipe.schedule.peak = 1e30;
    for end in new(&kitchen, &recipe, "run", members(2)) {
        assert!(matches!(end, Err(TrainError::NotFinite { .. })), "{end:?}");
    }
}

#[test]
fn the_first_members_bytes_reach_all() {
    let received: Vec<_> = thread::scope(|scope| {
        let receive = |mut member: Member| {
            let mut bytes: [u8; 21] = std::array::from_fn(|i| (i * 7 + 100 * member.rank) as u8);
            member.spread(&mut bytes);
            bytes
        };
        let started: Vec<_> = members(3).into_iter().map(|member| scope.spawn(move || receive(member))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(received, vec![std::array::from_fn(|i| (i * 7) as u8); 3]);
}
