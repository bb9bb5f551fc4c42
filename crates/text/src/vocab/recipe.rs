//! Training a vocabulary: everything that can move a piece is in the recipe.

use super::trainer;
use crate::{TextError, corpus::LineReader, normalise, rng::SplitMix64};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    fmt::{self, Write},
    path::Path,
    str::FromStr,
};

/// How to train a joint BPE vocabulary, with unk, bos, eos and pad as ids 0, 1, 2 and 3.
///
/// The result is a function of the recipe and the lines: the trainer runs on one thread and sees each word with its
/// count, in alphabetical order, so that neither the order of the files nor the clock can move a piece. Words with
/// counts give the pieces that whole lines would (a test holds the two together) and need a fraction of the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VocabRecipe {
    /// Pieces, with the special ones and the 256 bytes of the byte fallback.
    pub size: usize,
    /// The share of all characters (not of the alphabet) that get a piece, 0.98 to 1.
    pub character_coverage: f64,
    /// Spell other characters as UTF-8 bytes, so that no text is unknown.
    pub byte_fallback: bool,
    /// The rule that the model applies after ours.
    pub normalization: Normalization,
    /// Longer lines are left out of training, in bytes after [`normalise`].
    pub max_line_bytes: usize,
    /// Train on this many lines, drawn without replacement, instead of all.
    pub sample: Option<u64>,
    /// Decides the sample.
    pub seed: u64,
    /// Further pieces that text never yields, such as `<2de>`; they follow pad.
    pub control_symbols: Vec<String>,
}

/// SentencePiece's normalisation rules, which a model applies after [`normalise`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// Changes nothing: what [`normalise`] lets through can be produced.
    #[default]
    Identity,
    /// NFKC: `½` becomes `1⁄2`, `™` becomes `TM`, `…` becomes three dots; the originals can never be produced.
    Nfkc,
    /// NFKC and case folding.
    NfkcCf,
    /// NFKC with SentencePiece's rules for spaces.
    NmtNfkc,
    /// The same with case folding.
    NmtNfkcCf,
}

impl Normalization {
    const ALL: [Self; 5] = [Self::Identity, Self::Nfkc, Self::NfkcCf, Self::NmtNfkc, Self::NmtNfkcCf];

    /// The name that SentencePiece knows the rule by, and that recipes use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Nfkc => "nfkc",
            Self::NfkcCf => "nfkc_cf",
            Self::NmtNfkc => "nmt_nfkc",
            Self::NmtNfkcCf => "nmt_nfkc_cf",
        }
    }
}

impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Normalization {
    type Err = TextError;

    fn from_str(name: &str) -> Result<Self, TextError> {
        let rule = Self::ALL.into_iter().find(|rule| rule.name() == name);
        rule.ok_or_else(|| TextError::NoSuchRule { name: name.to_owned(), rules: Self::ALL.map(Self::name).join(", ") })
    }
}

impl Default for VocabRecipe {
    fn default() -> Self {
        Self {
            size: 8000,
            character_coverage: 0.9995,
            byte_fallback: true,
            normalization: Normalization::Identity,
            max_line_bytes: 4192,
            sample: None,
            seed: 1,
            control_symbols: Vec::new(),
        }
    }
}

/// Each word of the training text with its count.
type WordCounts = HashMap<String, u64>;

impl VocabRecipe {
    /// Trains on the lines of all files together and returns the bytes of the model file.
    ///
    /// # Errors
    /// What reading the files reports, and [`TextError::Train`] when the text cannot fill the recipe's size.
    pub fn train<P: AsRef<Path>>(&self, files: &[P]) -> Result<Vec<u8>, TextError> {
        self.check_control_symbols()?;
        let words = self.count_words(files)?;
        if words.is_empty() {
            return Err(TextError::Train { reason: "the files hold no words".to_owned() });
        }
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_unstable();
        let mut sentences = String::new();
        for (word, count) in &words {
            // Writing to a string cannot fail.
            let _ = writeln!(sentences, "{word}\t{count}");
        }
        drop(words);
        trainer::train(&self.options(), &sentences)
    }

    fn count_words<P: AsRef<Path>>(&self, files: &[P]) -> Result<WordCounts, TextError> {
        let mut draw = match self.sample {
            Some(wanted) => Some(Draw { wanted, left: count_lines(files)?, random: SplitMix64::new(self.seed) }),
            None => None,
        };
        let mut words = WordCounts::new();
        for file in files {
            let mut lines = LineReader::open(file)?;
            while let Some(line) = lines.next_line()? {
                if draw.as_mut().is_none_or(Draw::takes_next) {
                    self.count_line(&normalise(line), &mut words);
                }
            }
        }
        Ok(words)
    }

    fn count_line(&self, line: &str, words: &mut WordCounts) {
        if line.len() > self.max_line_bytes {
            return;
        }
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            match words.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(words.insert(word.to_owned(), 1)),
            }
        }
    }

    /// Control symbols are handed over as a list with commas.
    fn check_control_symbols(&self) -> Result<(), TextError> {
        let breaks = |c: char| c.is_whitespace() || c.is_control() || c == ',' || c == '"';
        match self.control_symbols.iter().find(|piece| piece.is_empty() || piece.contains(breaks)) {
            None => Ok(()),
            Some(piece) => {
                let reason = format!("a control symbol has no spaces, commas or quotes: {piece:?}");
                Err(TextError::Train { reason })
            }
        }
    }

    /// The trainer's options, one a line.
    fn options(&self) -> String {
        let mut options = format!(
            "model_type=bpe\ninput_format=tsv\nnum_threads=1\nminloglevel=2\n\
             unk_id=0\nbos_id=1\neos_id=2\npad_id=3\n\
             vocab_size={}\ncharacter_coverage={}\nbyte_fallback={}\nnormalization_rule_name={}\n",
            self.size,
            self.character_coverage,
            self.byte_fallback,
            self.normalization.name(),
        );
        if !self.control_symbols.is_empty() {
            let _ = writeln!(options, "control_symbols={}", self.control_symbols.join(","));
        }
        options
    }
}

fn count_lines<P: AsRef<Path>>(files: &[P]) -> Result<u64, TextError> {
    let mut count = 0;
    for file in files {
        let mut lines = LineReader::open(file)?;
        while lines.next_line()?.is_some() {
            count += 1;
        }
    }
    Ok(count)
}

/// Draws lines without replacement, in order (Knuth, TAOCP 3.4.2, algorithm S).
struct Draw {
    wanted: u64,
    left: u64,
    random: SplitMix64,
}

impl Draw {
    fn takes_next(&mut self) -> bool {
        let takes = self.random.below(self.left.max(1)) < self.wanted;
        self.left = self.left.saturating_sub(1);
        self.wanted -= u64::from(takes);
        takes
    }
}
