//! What one process of a run does for all of them: log, checkpoints, validation, and the page.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use burn::module::AutodiffModule;
use burn::tensor::backend::AutodiffBackend;
use umlaut_model::{FusedOps, Transformer};
use umlaut_text::Vocab;

use crate::checkpoint::{self, Best, Files, State};
use crate::data::ValidationBatch;
use crate::log::{Event, RunLog};
use crate::optimizer::Adam;
use crate::validation::{Example, examples, validate};
use crate::{Recipe, TrainError, page, recipe};

/// The keeper of a run's folder.
#[derive(Debug)]
pub(crate) struct Keeper {
    run: PathBuf,
    validation: Vec<ValidationBatch>,
    examples: Vec<Example>,
    log: RunLog,
    /// Held while the run goes on: two trainers in one folder would overwrite each other.
    _lock: File,
}

/// What a run trains, and by which recipe.
pub(crate) struct Subject<'a, B: AutodiffBackend> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) vocab: &'a Vocab,
    pub(crate) model: &'a Transformer<B>,
    pub(crate) adam: &'a Adam<B>,
}

impl Keeper {
    /// Takes the folder of a run that stands at `update`.
    pub(crate) fn open(
        recipe: &Recipe,
        run: &Path,
        validation: Vec<ValidationBatch>,
        vocab: &Vocab,
        update: u64,
    ) -> Result<Self, TrainError> {
        fs::create_dir_all(run).map_err(|source| TrainError::Io { path: run.to_owned(), source })?;
        let lock = lock(run)?;
        checkpoint::remove_parts(run)?;
        umlaut_model::directory::write_whole(&run.join(recipe::FILE), recipe.to_toml().as_bytes())?;
        let (log, examples) = (RunLog::open(run, update)?, examples(&validation, vocab));
        Ok(Self { run: run.to_owned(), validation, examples, log, _lock: lock })
    }

    /// Logs an event, after `report` has heard of it.
    pub(crate) fn tell(&mut self, event: &Event, report: &mut impl FnMut(&Event)) -> Result<(), TrainError> {
        report(event);
        self.log.write(event)
    }

    /// Writes a checkpoint.
    pub(crate) fn save<B>(&self, subject: &Subject<'_, B>, state: &State) -> Result<(), TrainError>
    where
        B: AutodiffBackend + FusedOps,
        B::InnerBackend: FusedOps,
    {
        let recipe = subject.recipe.to_toml();
        let files = Files { recipe: &recipe, vocab: subject.vocab.as_bytes(), state };
        checkpoint::write(&self.run, subject.model, subject.adam, &files)?;
        checkpoint::retain(&self.run, subject.recipe.run.keep_last, state.best.map(|best| best.update))
    }

    /// Validates the model and notes in `state` how it did.
    pub(crate) fn look<B>(
        &mut self,
        subject: &Subject<'_, B>,
        state: &mut State,
        report: &mut impl FnMut(&Event),
    ) -> Result<(), TrainError>
    where
        B: AutodiffBackend + FusedOps,
        B::InnerBackend: FusedOps,
    {
        let Subject { recipe, vocab, model, .. } = subject;
        let found = validate(&model.valid(), &self.validation, vocab, recipe.label_smoothing)?;
        let (update, loss) = (state.update, found.sums.loss());
        if state.best.is_none_or(|best| loss < best.loss) {
            state.best = Some(Best { update, loss });
            state.validations_since_best = 0;
        } else {
            state.validations_since_best += 1;
        }
        state.validated = update;
        checkpoint::update_state(&self.run, state)?;
        checkpoint::retain(&self.run, recipe.run.keep_last, state.best.map(|best| best.update))?;
        let event = Event::Validation {
            update,
            loss,
            nll: found.sums.nll_per_token(),
            bleu: found.bleu,
            signature: found.signature,
            samples: found.samples,
            elapsed_seconds: state.elapsed_seconds,
        };
        self.tell(&event, report)?;
        page::write(&self.run, &self.examples)
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
