//! The loop of a run.

use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::backend::AutodiffBackend;
use umlaut_model::{FusedOps, Transformer};
use umlaut_text::Vocab;
use umlaut_text::rng::mix;

use crate::checkpoint::{self, State};
use crate::data::{TrainingData, Voice, validation_batches};
use crate::exchange::{Exchange, checksum};
use crate::group::Members;
use crate::keeper::{Keeper, Subject};
use crate::log::Event;
use crate::optimizer::Adam;
use crate::pace::Pace;
use crate::recipe;
use crate::replicas::{Part, Replicas};
use crate::start;
use crate::update::Sums;
use crate::{Recipe, TrainError};

/// Updates in a row that may fail before a run stops.
const MAX_SKIPPED_IN_A_ROW: u32 = 5;
/// Updates after which the processes of a run compare their parameters, besides at checkpoints.
const COMPARE_EVERY: u64 = 100;

const MODEL: &str = "Adam gives the model back";

/// The folders of a run.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The recipe's, which the vocabulary's path is relative to where the file is there.
    pub recipe: PathBuf,
    /// What the paths of the data are relative to.
    pub data: PathBuf,
    /// Where checkpoints and log are written.
    pub run: PathBuf,
}

impl Folders {
    /// The recipe's vocabulary: beside the recipe, or among the data where it was prepared with them.
    pub(crate) fn vocab(&self, recipe: &Recipe) -> PathBuf {
        let [beside, prepared] = [&self.recipe, &self.data].map(|folder| folder.join(&recipe.data.vocab));
        if !beside.exists() && prepared.exists() { prepared } else { beside }
    }
}

/// What happens when a resumed run is given another recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// It is refused, field by field.
    Refused,
    /// The new values hold from here on, and are named.
    Taken,
}

/// Why a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The last update of the recipe was made.
    Finished,
    /// Validation did not improve for as long as the recipe waits.
    OutOfPatience,
}

/// A run, or one process's share in it.
#[derive(Debug)]
pub struct Trainer<B: AutodiffBackend> {
    recipe: Recipe,
    /// Always there, but while Adam has it: a second owner would make every update copy all parameters.
    model: Option<Transformer<B>>,
    adam: Adam<B>,
    replicas: Replicas,
    exchange: Exchange<B>,
    data: TrainingData,
    state: State,
    /// In the first process of the run.
    keeper: Option<Keeper>,
}

/// What the updates since the last line of the log amounted to.
struct Window {
    sums: Sums,
    since: Instant,
    norm: f64,
}

impl Window {
    fn new() -> Self {
        Self { sums: Sums::default(), since: Instant::now(), norm: 0.0 }
    }
}

impl<B> Trainer<B>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    /// A new run of `recipe` by `members`. Data and validation set are read and checked before anything is
    /// written.
    ///
    /// # Errors
    /// If the folder already holds a run, data or vocabulary do not fit the recipe, or the members do not.
    pub fn new(recipe: Recipe, folders: &Folders, members: Members<B>, device: &B::Device) -> Result<Self, TrainError> {
        let exchange = Exchange::new(members, recipe.batch.accumulate)?;
        if exchange.is_first() && folders.run.join(recipe::FILE).exists() {
            let reason = "holds a run already: go on with --resume, or name another folder".into();
            return Err(TrainError::Run { path: folders.run.clone(), reason });
        }
        let model = start::model(&recipe, folders, device)?;
        let adam = Adam::new(recipe.optimizer);
        Self::start(recipe, folders, exchange, (model, adam), State::default())
    }

    /// Goes on where the newest checkpoint of a run stands.
    ///
    /// # Errors
    /// If there is no whole checkpoint, or the recipe differs from the run's in more than cadence and length and
    /// `changes` refuses that.
    pub fn resume(
        recipe: Recipe,
        folders: &Folders,
        changes: Changes,
        members: Members<B>,
        device: &B::Device,
    ) -> Result<Self, TrainError> {
        let exchange = Exchange::new(members, recipe.batch.accumulate)?;
        let run = &folders.run;
        let Some((_, newest)) = checkpoint::list(run)?.pop() else {
            return Err(TrainError::Run { path: run.clone(), reason: "holds no checkpoint to resume from".into() });
        };
        let differences = recipe.differences(&Recipe::open(&newest)?);
        if !differences.is_empty() {
            let differences = differences.join(", ");
            if changes == Changes::Refused {
                let reason = format!("the recipe is not the run's: {differences}; --override takes the new values");
                return Err(TrainError::Run { path: run.clone(), reason });
            }
            if exchange.is_first() {
                eprintln!("resuming with a changed recipe: {differences}");
            }
        }
        let state = checkpoint::read_state(&newest)?;
        let mut adam = Adam::new(recipe.optimizer);
        let model = checkpoint::read(&newest, &recipe.model, &mut adam, device)?;
        Self::start(recipe, folders, exchange, (model, adam), state)
    }

    fn start(
        recipe: Recipe,
        folders: &Folders,
        mut exchange: Exchange<B>,
        (model, adam): (Transformer<B>, Adam<B>),
        state: State,
    ) -> Result<Self, TrainError> {
        let vocab = Vocab::open(folders.vocab(&recipe))?;
        vocab.check_len(recipe.model.vocab, folders.recipe.join(recipe::FILE))?;
        let validation = || validation_batches(&recipe, &folders.data, &vocab);
        let validation = exchange.is_first().then(validation).transpose()?;
        let voice = if exchange.is_first() { Voice::Aloud } else { Voice::Silent };
        let data = TrainingData::open(&recipe, &folders.data, vocab, state.position, voice)?;
        if exchange.has_others() {
            exchange.agree(state.update, "the newest checkpoint", "all must see one run's folder")?;
            exchange.agree(recipe.checksum(), "the recipe", "start all with the same recipe and options")?;
            exchange.agree(data.checksum(), "the training data", "all must see the same files")?;
            exchange.agree(checksum(&model) ^ adam.checksum(), "the initial model", "start all from the same files")?;
        }
        let open = |validation| Keeper::open(&recipe, &folders.run, validation, data.vocab(), state.update);
        let keeper = validation.map(open).transpose()?;
        let replicas = Replicas::new::<B>(exchange.share_of(recipe.batch.accumulate));
        Ok(Self { recipe, model: Some(model), adam, replicas, exchange, data, state, keeper })
    }

    /// Where the run stands.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The model as it stands.
    fn model(&self) -> &Transformer<B> {
        self.model.as_ref().expect(MODEL)
    }

    /// Trains to the end; `report` hears what is logged, and early on how long the rest will take.
    ///
    /// # Errors
    /// If data, disk or numbers fail. The newest checkpoint is whole and finite.
    pub fn run(&mut self, mut report: impl FnMut(&Event)) -> Result<Outcome, TrainError> {
        let is_first = self.keeper.is_some();
        let mut report = |event: &Event| {
            if is_first {
                report(event);
            }
        };
        // A run that was stopped between a save and its validation is looked at now.
        if self.state.update > self.state.validated && self.validates() {
            self.look(&mut report)?;
        }
        let (mut window, mut pace) = (Window::new(), Pace::new(&self.state));
        self.exchange.take_times();
        let before = self.state.elapsed_seconds;
        let started = Instant::now();
        let mut failures = 0;
        while self.state.update < self.recipe.run.max_updates {
            let made = self.update(&mut window)?;
            self.state.elapsed_seconds = before + started.elapsed().as_secs_f64();
            failures = if made { 0 } else { failures + 1 };
            if !made {
                self.tell(&Event::Skipped { update: self.state.update + 1 }, &mut report)?;
            }
            if failures == MAX_SKIPPED_IN_A_ROW {
                return Err(TrainError::NotFinite { update: self.state.update + 1, count: failures });
            }
            if !made {
                continue;
            }
            if let Some(estimate) = pace.after(&self.state, self.recipe.run.max_updates) {
                report(&estimate);
            }
            if self.after_update(&mut window, &mut report)? {
                return Ok(Outcome::OutOfPatience);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Makes one update, or skips it where loss or gradient are not finite. Says which.
    fn update(&mut self, window: &mut Window) -> Result<bool, TrainError> {
        let update = self.state.update + 1;
        let parts = self.parts(update)?;
        let mine = self.replicas.differentiate(self.model(), &parts, self.recipe.criterion());
        let (sums, gradients, norm) = self.exchange.sum(mine);
        self.state.position = self.data.position();
        if !(sums.smoothed.is_finite() && norm.is_finite()) {
            self.state.skipped += 1;
            return Ok(false);
        }
        let rate = self.recipe.schedule.learning_rate(update);
        let model = self.model.take().expect(MODEL);
        self.model = Some(self.adam.update(model, gradients, update, rate, (sums.tokens, norm)));
        self.state.update = update;
        self.state.tokens += sums.tokens as u64;
        window.sums.add(sums);
        window.norm = norm;
        Ok(true)
    }

    /// The parts of an update that this process makes.
    fn parts(&mut self, update: u64) -> Result<Vec<Part>, TrainError> {
        let mut parts = Vec::new();
        for part in 0..self.recipe.batch.accumulate as u64 {
            let pairs = self.data.advance(update)?;
            let position = self.data.position();
            if self.exchange.is_mine(part) {
                // Skipped updates see new data and new dropout: the seed is the batch's own.
                let seed = mix(&[self.recipe.seed, position.stage as u64, position.epoch, position.batch as u64, part]);
                parts.push((self.data.batch(pairs)?, seed));
            }
        }
        Ok(parts)
    }

    /// Logs, saves and validates where the recipe says so; true when patience has run out.
    fn after_update(&mut self, window: &mut Window, report: &mut impl FnMut(&Event)) -> Result<bool, TrainError> {
        let (update, run) = (self.state.update, self.recipe.run);
        if update.is_multiple_of(run.log_every) || update == run.max_updates {
            self.log_window(window, report)?;
        }
        let validates = self.validates();
        let saves = update.is_multiple_of(run.checkpoint_every) || validates;
        if saves || update.is_multiple_of(COMPARE_EVERY) {
            self.compare()?;
        }
        // Saved before it is looked at: a validation that fails costs no training.
        if saves {
            self.save()?;
        }
        if validates {
            self.look(report)?;
            *window = Window::new();
            self.exchange.take_times();
        }
        Ok(run.patience > 0 && self.state.validations_since_best >= run.patience)
    }

    /// Refuses to go on with different parameters.
    fn compare(&mut self) -> Result<(), TrainError> {
        if !self.exchange.has_others() {
            return Ok(());
        }
        let sum = checksum(self.model());
        let what = format!("after update {} the model", self.state.update);
        self.exchange.agree(sum, &what, "their processors compute differently; go on with --resume on processors alike")
    }

    /// Whether the recipe looks at the model after the present update.
    fn validates(&self) -> bool {
        let (update, run) = (self.state.update, self.recipe.run);
        update.is_multiple_of(run.validate_every) || update == run.max_updates
    }

    fn log_window(&mut self, window: &mut Window, report: &mut impl FnMut(&Event)) -> Result<(), TrainError> {
        let event = Event::Update {
            update: self.state.update,
            epoch: self.state.position.epoch,
            loss: window.sums.loss(),
            nll: window.sums.nll_per_token(),
            learning_rate: self.recipe.schedule.learning_rate(self.state.update),
            gradient_norm: window.norm,
            tokens_per_second: window.sums.tokens as f64 / window.since.elapsed().as_secs_f64(),
            elapsed_seconds: self.state.elapsed_seconds,
            exchange: self.exchange.take_times(),
        };
        *window = Window::new();
        self.tell(&event, report)
    }

    /// The first process validates; all know how long it has not improved.
    fn look(&mut self, report: &mut impl FnMut(&Event)) -> Result<(), TrainError> {
        let Self { recipe, model, adam, data, state, keeper, .. } = self;
        if let Some(keeper) = keeper {
            let model = model.as_ref().expect(MODEL);
            keeper.look(&Subject { recipe, vocab: data.vocab(), model, adam }, state, report)?;
        }
        let since_best = self.exchange.of_first(self.state.validations_since_best.into());
        self.state.validations_since_best = since_best as u32;
        Ok(())
    }

    fn save(&self) -> Result<(), TrainError> {
        let Self { recipe, adam, data, state, keeper, .. } = self;
        let Some(keeper) = keeper else { return Ok(()) };
        keeper.save(&Subject { recipe, vocab: data.vocab(), model: self.model(), adam }, state)
    }

    fn tell(&mut self, event: &Event, report: &mut impl FnMut(&Event)) -> Result<(), TrainError> {
        self.keeper.as_mut().map_or(Ok(()), |keeper| keeper.tell(event, report))
    }
}
