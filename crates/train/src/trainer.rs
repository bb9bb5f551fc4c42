//! The loop of a run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::module::AutodiffModule;
use burn::tensor::backend::AutodiffBackend;
use umlaut_model::{FusedOps, Transformer};
use umlaut_text::Vocab;
use umlaut_text::rng::mix;

use crate::checkpoint::{self, Best, Files, State};
use crate::data::{TrainingData, ValidationBatch, validation_batches};
use crate::log::{Event, RunLog};
use crate::optimizer::Adam;
use crate::pace::Pace;
use crate::recipe;
use crate::replicas::Replicas;
use crate::update::{Sums, norm};
use crate::validation::{Example, examples, validate};
use crate::{Recipe, TrainError, page};

/// Updates in a row that may fail before a run stops.
const MAX_SKIPPED_IN_A_ROW: u32 = 5;

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
    fn vocab(&self, recipe: &Recipe) -> PathBuf {
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

/// A run.
#[derive(Debug)]
pub struct Trainer<B: AutodiffBackend> {
    recipe: Recipe,
    run: PathBuf,
    /// Always there, but while Adam has it: a second owner would make every update copy all parameters.
    model: Option<Transformer<B>>,
    adam: Adam<B>,
    replicas: Replicas,
    data: TrainingData,
    validation: Vec<ValidationBatch>,
    examples: Vec<Example>,
    state: State,
    log: RunLog,
    /// Held while the run goes on: two trainers in one folder would overwrite each other.
    _lock: File,
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
    /// A new run of `recipe`. Data and validation set are read and checked before anything is written.
    ///
    /// # Errors
    /// If the folder already holds a run, or data or vocabulary do not fit the recipe.
    pub fn new(recipe: Recipe, folders: &Folders, device: &B::Device) -> Result<Self, TrainError> {
        if folders.run.join(recipe::FILE).exists() {
            let reason = "holds a run already: go on with --resume, or name another folder".into();
            return Err(TrainError::Run { path: folders.run.clone(), reason });
        }
        let model = recipe.model.init(recipe.seed, device)?;
        let adam = Adam::new(recipe.optimizer);
        Self::start(recipe, folders, model, adam, State::default())
    }

    /// Goes on where the newest checkpoint of a run stands.
    ///
    /// # Errors
    /// If there is no whole checkpoint, or the recipe differs from the run's in more than cadence and length and
    /// `changes` refuses that.
    pub fn resume(recipe: Recipe, folders: &Folders, changes: Changes, device: &B::Device) -> Result<Self, TrainError> {
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
            eprintln!("resuming with a changed recipe: {differences}");
        }
        let state = checkpoint::read_state(&newest)?;
        let mut adam = Adam::new(recipe.optimizer);
        let model = checkpoint::read(&newest, &mut adam, device)?;
        Self::start(recipe, folders, model, adam, state)
    }

    fn start(
        recipe: Recipe,
        folders: &Folders,
        model: Transformer<B>,
        adam: Adam<B>,
        state: State,
    ) -> Result<Self, TrainError> {
        let vocab = Vocab::open(folders.vocab(&recipe))?;
        vocab.check_len(recipe.model.vocab, folders.recipe.join(recipe::FILE))?;
        let validation = validation_batches(&recipe, &folders.data, &vocab)?;
        let examples = examples(&validation, &vocab);
        let data = TrainingData::open(&recipe, &folders.data, vocab, state.position)?;
        let run = folders.run.clone();
        let io = |source| TrainError::Io { path: run.clone(), source };
        fs::create_dir_all(&run).map_err(io)?;
        let lock = lock(&run)?;
        checkpoint::remove_parts(&run)?;
        umlaut_model::directory::write_whole(&run.join(recipe::FILE), recipe.to_toml().as_bytes())?;
        let log = RunLog::open(&run, state.update)?;
        let replicas = Replicas::new(recipe.batch.accumulate);
        Ok(Self {
            recipe,
            run,
            model: Some(model),
            adam,
            replicas,
            data,
            validation,
            examples,
            state,
            log,
            _lock: lock,
        })
    }

    /// Where the run stands.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The model as it stands.
    fn model(&self) -> &Transformer<B> {
        self.model.as_ref().expect("Adam gives the model back")
    }

    /// Trains to the end; `report` hears what is logged, and early on how long the rest will take.
    ///
    /// # Errors
    /// If data, disk or numbers fail. The newest checkpoint is whole and finite.
    pub fn run(&mut self, mut report: impl FnMut(&Event)) -> Result<Outcome, TrainError> {
        // A run that was stopped between a save and its validation is looked at now.
        if self.state.update > self.state.validated && self.validates() {
            self.look(&mut report)?;
        }
        let (mut window, mut pace) = (Window::new(), Pace::new(&self.state));
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
        let mut parts = Vec::new();
        for part in 0..self.recipe.batch.accumulate as u64 {
            let batch = self.data.next_batch(update)?;
            let position = self.data.position();
            // Skipped updates see new data and new dropout: the seed is the batch's own.
            let seed = mix(&[self.recipe.seed, position.stage as u64, position.epoch, position.batch as u64, part]);
            parts.push((batch, seed));
        }
        let (sums, gradients) = self.replicas.differentiate(self.model(), &parts, self.recipe.label_smoothing);
        self.state.position = self.data.position();
        let norm = norm::<B>(&gradients, sums.tokens);
        if !(sums.smoothed.is_finite() && norm.is_finite()) {
            self.state.skipped += 1;
            return Ok(false);
        }
        let rate = self.recipe.schedule.learning_rate(update);
        let model = self.model.take().expect("Adam gives the model back");
        self.model = Some(self.adam.update(model, gradients, update, rate, (sums.tokens, norm)));
        self.state.update = update;
        self.state.tokens += sums.tokens as u64;
        window.sums.add(sums);
        window.norm = norm;
        Ok(true)
    }

    /// Logs, saves and validates where the recipe says so; true when patience has run out.
    fn after_update(&mut self, window: &mut Window, report: &mut impl FnMut(&Event)) -> Result<bool, TrainError> {
        let (update, run) = (self.state.update, self.recipe.run);
        if update.is_multiple_of(run.log_every) || update == run.max_updates {
            self.log_window(window, report)?;
        }
        let validates = self.validates();
        // Saved before it is looked at: a validation that fails costs no training.
        if update.is_multiple_of(run.checkpoint_every) || validates {
            self.save()?;
        }
        if validates {
            self.look(report)?;
            *window = Window::new();
        }
        Ok(run.patience > 0 && self.state.validations_since_best >= run.patience)
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
        };
        *window = Window::new();
        self.tell(&event, report)
    }

    fn look(&mut self, report: &mut impl FnMut(&Event)) -> Result<(), TrainError> {
        let found = validate(&self.model().valid(), &self.validation, self.data.vocab(), self.recipe.label_smoothing)?;
        let (update, loss) = (self.state.update, found.sums.loss());
        if self.state.best.is_none_or(|best| loss < best.loss) {
            self.state.best = Some(Best { update, loss });
            self.state.validations_since_best = 0;
        } else {
            self.state.validations_since_best += 1;
        }
        self.state.validated = update;
        checkpoint::update_state(&self.run, &self.state)?;
        checkpoint::retain(&self.run, self.recipe.run.keep_last, self.state.best.map(|best| best.update))?;
        let event = Event::Validation {
            update,
            loss,
            nll: found.sums.nll_per_token(),
            bleu: found.bleu,
            signature: found.signature,
            samples: found.samples,
            elapsed_seconds: self.state.elapsed_seconds,
        };
        self.tell(&event, report)?;
        page::write(&self.run, &self.examples)
    }

    fn save(&self) -> Result<(), TrainError> {
        let recipe = self.recipe.to_toml();
        let files = Files { recipe: &recipe, vocab: self.data.vocab().as_bytes(), state: &self.state };
        checkpoint::write(&self.run, self.model(), &self.adam, &files)?;
        checkpoint::retain(&self.run, self.recipe.run.keep_last, self.state.best.map(|best| best.update))
    }

    fn tell(&mut self, event: &Event, report: &mut impl FnMut(&Event)) -> Result<(), TrainError> {
        report(event);
        self.log.write(event)
    }
}

fn lock(run: &Path) -> Result<File, TrainError> {
    let path = run.join(".lock");
    let file = File::create(&path).map_err(|source| TrainError::Io { path: path.clone(), source })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(TrainError::Run { path: run.to_owned(), reason: "another program trains here".into() }),
    }
}
