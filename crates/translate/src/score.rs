//! Scoring: how probable the model finds translations that are given, by forced decoding.

use umlaut_search::{TokenId, force_decode};
use umlaut_text::normalise;

use crate::{Model, TranslateError, Translator};

/// A side of this many times [`Options::max_src_len`](crate::Options) is no sentence, and memory grows with it.
const GREATEST_OF_MAX_LEN: usize = 8;

/// What a model thinks of a given translation.
///
/// It is scored whole, however long, as the text's own segmentation. A translation found by a search may have been
/// spelled in other tokens, and then has another probability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// log p(translation | source) in nats, at most 0; the factor of EOS is included.
    ///
    /// A blank translation of a blank line is certain: 0. Any other translation of one is impossible, -inf: the model is
    /// not asked. A blank translation of a line that is not blank is EOS alone.
    pub log_prob: f64,
    /// `log_prob` divided by the length penalty.
    pub score: f64,
    /// Tokens of the source, the end mark counted; 0 if it is blank.
    pub src_tokens: usize,
    /// The tokens of the translation, without EOS.
    pub target: Vec<TokenId>,
    /// log p of each of them and of EOS after them; none where both sides are blank.
    pub log_probs: Vec<f32>,
}

/// A word of a given translation.
#[derive(Clone, Debug, PartialEq)]
pub struct WordScore {
    /// The word; `</s>` for the end mark, which is the last.
    pub word: String,
    /// The sum of its tokens' log p in nats.
    pub log_prob: f64,
}

impl<M: Model> Translator<M> {
    /// Scores pairs of a line and its translation, in order.
    ///
    /// A score depends on nothing but its pair, the model and the length penalty.
    ///
    /// # Errors
    /// [`TranslateError::PairTooLong`] for what is no sentence, [`TranslateError::Model`] if the model fails.
    pub fn score_lines<S: AsRef<str>, T: AsRef<str>>(&self, pairs: &[(S, T)]) -> Result<Vec<Score>, TranslateError> {
        let encode =
            |(source, target): &(S, T)| (self.model.encode(source.as_ref()), self.model.encode(target.as_ref()));
        let tokens: Vec<_> = pairs.iter().map(encode).collect();
        let asked: Vec<usize> = (0..tokens.len()).filter(|&pair| !tokens[pair].0.is_empty()).collect();
        let to_ask: Vec<_> = asked.iter().map(|&pair| (tokens[pair].0.as_slice(), tokens[pair].1.as_slice())).collect();
        if let Some((index, tokens, limit)) = self.too_long(&to_ask) {
            return Err(TranslateError::PairTooLong { line: asked[index] as u64 + 1, tokens, limit });
        }
        let mut log_probs = self.score_tokens(&to_ask)?.into_iter();
        let score = |(source, target): (Vec<TokenId>, Vec<TokenId>)| {
            let log_probs = match (source.len(), target.len()) {
                (0, 0) => Vec::new(),
                (0, tgt_len) => vec![f32::NEG_INFINITY; tgt_len + 1],
                _ => log_probs.next().unwrap_or_default(),
            };
            let src_tokens = if source.is_empty() { 0 } else { source.len() + 1 };
            self.score(src_tokens, target, log_probs)
        };
        Ok(tokens.into_iter().map(score).collect())
    }

    /// log p of each token of a target, and of EOS after it, for pairs of a source and a target, both without EOS: to the
    /// bit what a search adds up. Sources are not empty.
    ///
    /// # Errors
    /// [`TranslateError::Model`] if the model fails, as it does for tokens outside its vocabulary.
    pub fn score_tokens(&self, pairs: &[(&[TokenId], &[TokenId])]) -> Result<Vec<Vec<f32>>, TranslateError> {
        let ended = |tokens: &[TokenId]| [tokens, &[self.search.eos]].concat();
        let lengths: Vec<usize> = pairs.iter().map(|(source, target)| source.len().max(target.len()) + 1).collect();
        self.in_batches(&lengths, |batch| {
            let pairs = batch.iter().map(|&pair| (ended(pairs[pair].0), ended(pairs[pair].1)));
            let (sources, targets): (Vec<_>, Vec<_>) = pairs.unzip();
            let (sources, targets): (Vec<&[TokenId]>, Vec<&[TokenId]>) =
                (sources.iter().map(Vec::as_slice).collect(), targets.iter().map(Vec::as_slice).collect());
            let mut decoder = self.model.decoder(&sources).map_err(TranslateError::model)?;
            force_decode(&mut decoder, &targets, self.search.bos).map_err(TranslateError::model)
        })
    }

    /// The words of `target`, which has this `score`, as its white space parts them, and the end mark: their
    /// log-probabilities sum to the whole. None where both sides are blank.
    ///
    /// Where the vocabulary changes the number of words, as rules of compatibility can, they are as it spells them.
    #[must_use]
    pub fn word_scores(&self, target: &str, score: &Score) -> Vec<WordScore> {
        let Some((end, log_probs)) = score.log_probs.split_last() else { return Vec::new() };
        let mut words: Vec<(Vec<TokenId>, f64)> = Vec::new();
        for (&token, &log_prob) in score.target.iter().zip(log_probs) {
            if words.is_empty() || self.model.begins_word(token) {
                words.push((Vec::new(), 0.0));
            }
            if let Some((tokens, sum)) = words.last_mut() {
                tokens.push(token);
                *sum += f64::from(log_prob);
            }
        }
        let normal = normalise(target);
        let spelled: Vec<&str> = normal.split_whitespace().collect();
        let is_word_by_word = spelled.len() == words.len();
        let spell = |(i, (tokens, log_prob)): (usize, (Vec<TokenId>, f64))| {
            let decode = || self.model.decode(&tokens).replace(' ', "\u{2581}");
            WordScore { word: if is_word_by_word { spelled[i].to_owned() } else { decode() }, log_prob }
        };
        let mut words: Vec<WordScore> = words.into_iter().enumerate().map(spell).collect();
        words.push(WordScore { word: "</s>".to_owned(), log_prob: f64::from(*end) });
        words
    }

    fn score(&self, src_tokens: usize, target: Vec<TokenId>, log_probs: Vec<f32>) -> Score {
        let log_prob = log_probs.iter().fold(0.0, |sum, &log_prob| sum + f64::from(log_prob));
        let score = self.options().length_penalty.score(log_prob, log_probs.len());
        Score { log_prob, score, src_tokens, target, log_probs }
    }

    /// The first pair with a side that is no sentence, its tokens and the limit.
    fn too_long(&self, pairs: &[(&[TokenId], &[TokenId])]) -> Option<(usize, usize, usize)> {
        let limit = self.options().max_src_len.saturating_mul(GREATEST_OF_MAX_LEN);
        let mut lengths = pairs.iter().map(|(source, target)| source.len().max(target.len())).enumerate();
        lengths.find(|&(_, tokens)| tokens > limit).map(|(index, tokens)| (index, tokens, limit))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use crate::toy::{copy, one_thread};
    use crate::{LengthPenalty, Options, TranslateError};

    #[test]
    fn a_translation_has_the_score_it_was_found_with() {
        let lines = ["ab cd", "x", "the cat sits on the mat", "y y"];
        let translator = copy(Options { n_best: 4, ..one_thread() });
        for (line, found) in lines.iter().zip(translator.translate_lines(&lines).unwrap()) {
            let pairs: Vec<_> = found.alternatives.iter().map(|found| (line, found.text.as_str())).collect();
            let scores = translator.score_lines(&pairs).unwrap();
            let figures = |log_prob: f64, score: f64, tokens| (log_prob.to_bits(), score.to_bits(), tokens);
            assert_eq!(
                scores.iter().map(|s| figures(s.log_prob, s.score, s.log_probs.len())).collect::<Vec<_>>(),
                found.alternatives.iter().map(|f| figures(f.log_prob, f.score, f.tokens)).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn blank_sides_are_certain_impossible_or_an_end_mark() {
        let scores = copy(one_thread()).score_lines(&[("", " "), (" ", "ab"), ("ab", ""), ("ab", "ab")]).unwrap();
        let log_probs = scores.iter().map(|score| score.log_probs.clone()).collect::<Vec<_>>();
        let never = f32::NEG_INFINITY;
        assert_eq!(log_probs, [vec![], vec![never; 3], vec![never], vec![-0.1; 3]]);
        let sums: Vec<f64> = scores.iter().map(|score| score.log_prob).collect();
        assert_eq!(sums[..3], [0.0, f64::NEG_INFINITY, f64::NEG_INFINITY]);
        assert_eq!(scores[0].src_tokens + scores[1].src_tokens, 0);
    }

    #[test]
    fn neither_batches_nor_threads_change_a_score() {
        let pair = |i: usize| ("abc de ".repeat(i * 7919 % 23), "abc ef ".repeat(i * 104_729 % 19));
        let pairs: Vec<_> = (0..200).map(pair).collect();
        let expected = copy(one_thread()).score_lines(&pairs).unwrap();
        for batch_tokens in [1, 64, 100_000] {
            for threads in [1, 3] {
                let options = Options { batch_tokens, ..one_thread() }.with_threads(NonZero::new(threads).unwrap());
                assert_eq!(copy(options).score_lines(&pairs).unwrap(), expected);
            }
        }
    }

    #[test]
    fn words_part_at_spaces_and_sum_to_the_whole() {
        let translator = copy(Options { length_penalty: LengthPenalty::Length { alpha: 0.0 }, ..one_thread() });
        let target = "  ab\u{a0}cde ";
        let score = translator.score_lines(&[("ab cde", target)]).unwrap().remove(0);
        let words = translator.word_scores(target, &score);
        let rounded: Vec<_> = words.iter().map(|word| (word.word.as_str(), (word.log_prob * 10.0).round())).collect();
        assert_eq!(rounded, [("ab", -2.0), ("cde", -4.0), ("</s>", -1.0)], "a space belongs to the word after it");
        let sum: f64 = words.iter().map(|word| word.log_prob).sum();
        assert!((sum - score.score).abs() < 1e-12);
        let blank = translator.score_lines(&[("", "")]).unwrap().remove(0);
        assert!(translator.word_scores("", &blank).is_empty());
    }

    #[test]
    fn what_is_no_sentence_is_refused_by_line() {
        let translator = copy(Options { max_src_len: 2, ..one_thread() });
        let long = "x".repeat(17);
        let refused = translator.score_lines(&[("", long.as_str()), (&long[..16], "y"), ("y", &long)]);
        assert!(matches!(refused, Err(TranslateError::PairTooLong { line: 3, tokens: 17, limit: 16 })));
    }
}
