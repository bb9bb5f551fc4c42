//! The stream of training batches: a function of the recipe and a position, so that a run can stop anywhere.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use umlaut_text::batch::{Batch, pad, plan_batches, plan_lines};
use umlaut_text::corpus::{
    Augmenter, BitextFiles, EmptySide, PairCorpus, PairFilter, ShardSet, load_augmented, load_pairs,
};
use umlaut_text::rng::mix;
use umlaut_text::{TokenId, Vocab};

use crate::exchange::Checksum;
use crate::recipe::Stage;
use crate::{Recipe, TrainError};

/// Where in the data a run stands: the batch that comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The stage of the recipe.
    pub stage: usize,
    /// Passes over the stage's data that are done.
    pub epoch: u64,
    /// Batches of the present pass that are done.
    pub batch: usize,
}

/// Whether what was read is told on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// It is told.
    Aloud,
    /// Another process tells it.
    Silent,
}

/// Reads, plans and hands out batches.
#[derive(Debug)]
pub struct TrainingData {
    voice: Voice,
    recipe: Recipe,
    folder: PathBuf,
    vocab: Vocab,
    pairs: Pairs,
    lengths: Vec<(usize, usize)>,
    plan: Vec<Vec<u32>>,
    position: Position,
}

/// Where the pairs of a stage are.
#[derive(Debug)]
enum Pairs {
    /// In memory.
    Corpus(PairCorpus),
    /// On disk, with the numbers of those that the filter keeps.
    Shards(ShardSet, Vec<u32>),
}

impl Pairs {
    fn get(&self, index: u32) -> Result<[Vec<TokenId>; 2], TrainError> {
        Ok(match self {
            Self::Corpus(corpus) => [corpus.src.get(index as usize), corpus.tgt.get(index as usize)],
            Self::Shards(shards, kept) => shards.pair(kept[index as usize] as usize)?.into(),
        })
    }
}

impl TrainingData {
    /// Reads the data of `position`'s stage; `folder` is what the recipe's paths are relative to.
    ///
    /// # Errors
    /// If a file cannot be read or nothing is left after the filter.
    pub fn open(
        recipe: &Recipe,
        folder: &Path,
        vocab: Vocab,
        position: Position,
        voice: Voice,
    ) -> Result<Self, TrainError> {
        let pairs = Pairs::Corpus(PairCorpus::new(vocab.len()));
        let (recipe, folder) = (recipe.clone(), folder.to_owned());
        let mut data = Self { voice, recipe, folder, vocab, pairs, lengths: Vec::new(), plan: Vec::new(), position };
        data.load()?;
        Ok(data)
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// Where the stream stands.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Moves on by a batch of `update`, and says which: its number in the present plan.
    ///
    /// # Errors
    /// If the next stage's data cannot be read.
    pub fn advance(&mut self, update: u64) -> Result<usize, TrainError> {
        let stage = self.recipe.stage_at(update);
        if stage != self.position.stage {
            self.position = Position { stage, epoch: 0, batch: 0 };
            self.load()?;
        }
        if self.position.batch == self.plan.len() {
            self.position = Position { epoch: self.position.epoch + 1, batch: 0, ..self.position };
            self.plan()?;
        }
        self.position.batch += 1;
        Ok(self.position.batch - 1)
    }

    /// The batch that [`advance`](Self::advance) named last.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn batch(&self, number: usize) -> Result<Batch, TrainError> {
        let pairs = self.plan[number].iter().map(|pair| self.pair(*pair));
        Ok(pad(&pairs.collect::<Result<Vec<_>, _>>()?, &self.vocab))
    }

    /// A checksum of the present stage's lengths, by which different files are noticed.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        self.lengths.iter().for_each(|&(src, tgt)| [src, tgt].iter().for_each(|&len| sum.add(len as u32)));
        sum.0
    }

    fn load(&mut self) -> Result<(), TrainError> {
        let stage: &Stage = &self.recipe.data.stages[self.position.stage];
        let files: Vec<_> = stage.files.iter().map(|files| within(&self.folder, files)).collect();
        // A batch holds a pair and its eos; BPE-dropout may lengthen it, and then the batch is larger by as much.
        let longest = self.recipe.batch.max_tokens - 1;
        let filter = self.recipe.data.filter;
        let filter =
            PairFilter { max_tokens: Some(filter.max_tokens.map_or(longest, |max| max.min(longest))), ..filter };
        let report = if let Some(shards) = &stage.shards {
            let set = ShardSet::open(self.folder.join(shards), &self.vocab)?;
            let kept = set.kept(&filter)?;
            (self.pairs, self.lengths) = (Pairs::Shards(set, kept.pairs), kept.lengths);
            kept.report
        } else {
            let augmenter = Augmenter::new(stage.augment, mix(&[self.recipe.seed, self.position.stage as u64]));
            let (corpus, report) = load_augmented(&files, stage.corpora.as_ref(), &filter, augmenter, &self.vocab)?;
            self.lengths = corpus.lengths();
            self.pairs = Pairs::Corpus(corpus);
            report
        };
        if self.voice == Voice::Aloud {
            eprintln!("stage {}: {report}", self.position.stage);
        }
        if self.lengths.is_empty() {
            let path = files.first().map(|files| &files.src).or(stage.shards.as_ref()).cloned().unwrap_or_default();
            return Err(TrainError::Run { path, reason: "no pair is left to train on".into() });
        }
        self.plan()
    }

    fn plan(&mut self) -> Result<(), TrainError> {
        let seed = mix(&[self.recipe.seed, self.position.stage as u64]);
        self.plan = plan_batches(&self.lengths, self.recipe.batch.max_tokens, seed, self.position.epoch)?;
        Ok(())
    }

    /// A pair as this epoch sees it.
    fn pair(&self, index: u32) -> Result<(Vec<TokenId>, Vec<TokenId>), TrainError> {
        let pair = self.pairs.get(index)?;
        let probability = self.recipe.bpe_dropout;
        if probability == 0.0 {
            return Ok(pair.into());
        }
        let dropped = |side: usize| {
            let seed = mix(&[self.recipe.seed, self.position.epoch, u64::from(index), side as u64]);
            self.vocab.resegment(&pair[side], probability, seed)
        };
        let [src, tgt] = [0, 1].map(|side: usize| dropped(side).unwrap_or_else(|_| pair[side].clone()));
        Ok((src, tgt))
    }
}

/// A batch of the validation set.
#[derive(Clone, Debug)]
pub struct ValidationBatch {
    /// Where its pairs stand in the set.
    pub places: Vec<usize>,
    /// The pairs.
    pub batch: Batch,
}

/// The validation set as batches, read once and checked before the first update.
///
/// # Errors
/// If a file cannot be read or there is no pair.
pub fn validation_batches(recipe: &Recipe, folder: &Path, vocab: &Vocab) -> Result<Vec<ValidationBatch>, TrainError> {
    let files = within(folder, &recipe.data.validation);
    let filter = PairFilter { max_tokens: None, max_length_ratio: None, empty_side: EmptySide::Drop };
    let (corpus, report) = load_pairs(std::slice::from_ref(&files), None, &filter, vocab)?;
    if report.empty > 0 {
        eprintln!("validation: {report}");
    }
    let wanted = if recipe.data.validation_pairs == 0 { corpus.len() } else { recipe.data.validation_pairs };
    let mut lengths = corpus.lengths();
    lengths.truncate(wanted);
    if lengths.is_empty() {
        return Err(TrainError::Run { path: files.src, reason: "the validation set has no pair".into() });
    }
    let longer: Vec<usize> = lengths.iter().map(|(src, tgt)| src.max(tgt) + 1).collect();
    let plan = plan_lines(&longer, recipe.batch.max_tokens);
    let batch = |places: Vec<usize>| {
        let pairs: Vec<u32> = places.iter().map(|place| *place as u32).collect();
        ValidationBatch { batch: corpus.pad(&pairs, vocab), places }
    };
    Ok(plan.into_iter().map(batch).collect())
}

/// Files with their paths taken from `folder`.
#[must_use]
pub fn within(folder: &Path, files: &BitextFiles) -> BitextFiles {
    BitextFiles {
        src: folder.join(&files.src),
        tgt: folder.join(&files.tgt),
        names: files.names.as_ref().map(|names| folder.join(names)),
    }
}
