//! From lines to translations: pieces, batches, search, and back.

use std::collections::HashSet;
use std::path::Path;

use umlaut_search::{BeamOptions, Ended, Hypothesis, TokenId, beam_search};
use umlaut_text::Shortlist;
use umlaut_text::batch::plan_lines;

use crate::{
    Alternative, Model, NeuralModel, Options, TranslateError, Translation, builtin, capitals, parallel, split,
};

/// Translates lines with one model and one set of options. Threads may share it.
#[derive(Debug)]
pub struct Translator<M = NeuralModel> {
    pub(crate) model: M,
    options: Options,
    pub(crate) search: BeamOptions,
}

impl Translator {
    /// Opens a model directory.
    ///
    /// # Errors
    /// As [`NeuralModel::open`] and [`Translator::new`].
    pub fn open(folder: &Path, options: Options) -> Result<Self, TranslateError> {
        Self::restricted(NeuralModel::open(folder, options.precision)?, options)
    }

    /// Takes the model that is built into this library.
    ///
    /// # Errors
    /// [`TranslateError::NoBuiltinModel`] if it was built without, and those of [`Translator::new`].
    pub fn builtin(options: Options) -> Result<Self, TranslateError> {
        Self::restricted(builtin::model(options.precision)?, options)
    }

    fn restricted(model: NeuralModel, options: Options) -> Result<Self, TranslateError> {
        let Some(path) = &options.shortlist else { return Self::new(model, options) };
        let shortlist = Shortlist::open(path).map_err(TranslateError::Shortlist)?;
        Self::new(model.with_shortlist(shortlist)?, options)
    }
}

impl<M: Model> Translator<M> {
    /// Puts a model to work.
    ///
    /// # Errors
    /// [`TranslateError::Search`] and [`TranslateError::Zero`] for options that cannot be honoured.
    pub fn new(model: M, options: Options) -> Result<Self, TranslateError> {
        options.check(model.special())?;
        let search = options.search(model.special());
        Ok(Self { model, options, search })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Translates each line, in order. Memory grows with the lines: see
    /// [`translate_stream`](Self::translate_stream) for files.
    ///
    /// # Errors
    /// [`TranslateError::Model`] if the model fails.
    pub fn translate_lines<L: AsRef<str>>(&self, lines: &[L]) -> Result<Vec<Translation>, TranslateError> {
        let encode = |line: &str| self.model.encode(line);
        let lowered: Vec<Option<String>> = lines.iter().map(|line| capitals::lowered(line.as_ref())).collect();
        let pieces = |(line, lowered): (&L, &Option<String>)| {
            split::pieces(lowered.as_deref().unwrap_or(line.as_ref()), self.options.max_src_len, &encode)
        };
        let sources: Vec<Vec<Vec<TokenId>>> = lines.iter().zip(&lowered).map(pieces).collect();
        let pieces_per_line: Vec<usize> = sources.iter().map(Vec::len).collect();
        let translations = self.translate_sources(sources.into_iter().flatten().collect())?;
        let mut rest = translations.as_slice();
        let join = |(pieces, lowered): (usize, Option<String>)| {
            let line;
            (line, rest) = rest.split_at(pieces);
            let line = Translation::join(line, self.options.length_penalty);
            if lowered.is_some() { line.in_capitals() } else { line }
        };
        Ok(pieces_per_line.into_iter().zip(lowered).map(join).collect())
    }

    /// Translates sources that have at least one token, none of them EOS, in batches of similar length.
    fn translate_sources(&self, mut sources: Vec<Vec<TokenId>>) -> Result<Vec<Translation>, TranslateError> {
        for source in &mut sources {
            source.push(self.search.eos);
        }
        let lengths: Vec<usize> = sources.iter().map(Vec::len).collect();
        self.in_batches(&lengths, |batch| {
            let batch: Vec<&[TokenId]> = batch.iter().map(|&source| sources[source].as_slice()).collect();
            self.translate_batch(&batch)
        })
    }

    /// Does `work` for batches of sentences of similar length, on all threads: it is given places in `lengths` and returns
    /// a result for each. The results are in the order of `lengths`.
    pub(crate) fn in_batches<T: Clone + Default + Send>(
        &self,
        lengths: &[usize],
        work: impl Fn(&[usize]) -> Result<Vec<T>, TranslateError> + Sync,
    ) -> Result<Vec<T>, TranslateError> {
        let batches = plan_lines(lengths, self.options.batch_tokens);
        let done = parallel::in_order(self.options.threads, batches.len(), |batch| work(&batches[batch]))?;
        let mut results = vec![T::default(); lengths.len()];
        for (place, result) in batches.into_iter().flatten().zip(done.into_iter().flatten()) {
            results[place] = result;
        }
        Ok(results)
    }

    /// Translates sources, each ending with EOS, in one batch.
    fn translate_batch(&self, sources: &[&[TokenId]]) -> Result<Vec<Translation>, TranslateError> {
        let n_best_lists = self.search(sources, &self.search)?;
        sources.iter().zip(n_best_lists).map(|(source, hypotheses)| self.translation(source, &hypotheses)).collect()
    }

    fn search(&self, sources: &[&[TokenId]], options: &BeamOptions) -> Result<Vec<Vec<Hypothesis>>, TranslateError> {
        let limits: Vec<usize> = sources.iter().map(|source| self.options.limit(source.len())).collect();
        let mut decoder = self.model.decoder(sources).map_err(TranslateError::model)?;
        beam_search(&mut decoder, &limits, options).map_err(TranslateError::model)
    }

    /// The hypotheses of one source in words.
    ///
    /// Tokens without a visible character, such as a lone space, make no translation. If the search found nothing else
    /// it is asked for all it has.
    fn translation(&self, source: &[TokenId], hypotheses: &[Hypothesis]) -> Result<Translation, TranslateError> {
        let mut alternatives = self.distinct(hypotheses);
        if alternatives.is_empty() {
            let everything = BeamOptions { n_best: self.search.width, ..self.search.clone() };
            alternatives = self.distinct(&self.search(&[source], &everything)?.concat());
            alternatives.truncate(self.search.n_best);
        }
        if alternatives.is_empty() {
            alternatives.extend(hypotheses.first().map(|best| self.alternative(best)));
        }
        Ok(Translation { alternatives, src_tokens: source.len(), pieces: 1 })
    }

    /// Those in which something is to be seen; of several with one text the best. (A text can have many segmentations.)
    fn distinct(&self, hypotheses: &[Hypothesis]) -> Vec<Alternative> {
        let mut seen = HashSet::from([String::new()]);
        let alternatives = hypotheses.iter().map(|hypothesis| self.alternative(hypothesis));
        alternatives.filter(|alternative| seen.insert(alternative.text.clone())).collect()
    }

    fn alternative(&self, hypothesis: &Hypothesis) -> Alternative {
        let Hypothesis { tokens, log_prob, score, ended } = hypothesis;
        Alternative {
            text: self.model.decode(tokens),
            log_prob: *log_prob,
            score: *score,
            tokens: tokens.len() + usize::from(*ended == Ended::Eos),
            is_cut: *ended == Ended::Limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Translator;
    use crate::toy::{Copy, copy, one_thread};
    use crate::{Model, Options, TranslateError, Translation};
    use std::num::NonZero;

    /// Lines of many lengths, some blank, in no order.
    fn lines(count: usize) -> Vec<String> {
        (0..count).map(|line| "abc de ".repeat(line * 7919 % 23) + &line.to_string()[..line % 3 % 2]).collect()
    }

    fn texts(translations: &[Translation]) -> Vec<&str> {
        translations.iter().map(Translation::text).collect()
    }

    #[test]
    fn answers_are_as_many_as_lines_and_in_their_order() {
        for count in [0, 1, 7, 8, 9, 63, 64, 65, 873] {
            let lines = lines(count);
            let translations = copy(one_thread()).translate_lines(&lines).unwrap();
            assert_eq!(texts(&translations), lines.iter().map(|line| line.trim()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_blank_line_stays_blank_and_never_reaches_the_model() {
        let translations = copy(one_thread()).translate_lines(&["", " \t", "\u{3000}", "a"]).unwrap();
        assert_eq!(texts(&translations), ["", "", "", "a"]);
        assert_eq!(translations[0], Translation::default());
    }

    #[test]
    fn neither_batches_nor_threads_change_a_translation() {
        let lines = lines(200);
        let expected = copy(one_thread()).translate_lines(&lines).unwrap();
        for batch_tokens in [1, 7, 64, 100_000] {
            for threads in [1, 2, 5] {
                let options = Options { batch_tokens, ..one_thread() }.with_threads(NonZero::new(threads).unwrap());
                assert_eq!(copy(options).translate_lines(&lines).unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_long_line_is_translated_whole_but_in_pieces() {
        let line = "One sentence. ".repeat(40);
        let translation =
            copy(Options { max_src_len: 100, ..one_thread() }).translate_lines(&[&line]).unwrap().remove(0);
        assert_eq!(translation.text(), line.trim());
        assert_eq!(translation.pieces, 8);
        let best = translation.best().unwrap();
        let longest = copy(Options { max_src_len: 1000, ..one_thread() }).translate_lines(&[&line]).unwrap().remove(0);
        assert_eq!((longest.text(), longest.pieces), (line.trim(), 1));
        assert_eq!(best.tokens, longest.best().unwrap().tokens, "seven spaces less, seven end marks more");
    }

    #[test]
    fn the_length_limit_follows_the_source_and_a_cut_is_marked() {
        let line = "x".repeat(300);
        let whole = copy(one_thread()).translate_lines(&[&line]).unwrap().remove(0);
        assert_eq!((whole.text(), whole.best().unwrap().is_cut), (line.as_str(), false));
        let cut = copy(Options { max_len: Some(50), ..one_thread() }).translate_lines(&[&line]).unwrap().remove(0);
        assert_eq!((cut.text(), cut.best().unwrap().is_cut), (&line[..50], true));
    }

    #[test]
    fn the_first_of_many_is_the_only_one_of_one() {
        let lines = lines(100);
        let one = copy(one_thread()).translate_lines(&lines).unwrap();
        let many = copy(Options { n_best: 4, ..one_thread() }).translate_lines(&lines).unwrap();
        for (one, many) in one.iter().zip(&many) {
            assert_eq!(one.best(), many.best());
            assert!(many.alternatives.len() <= 4 && many.alternatives.is_sorted_by(|a, b| a.score >= b.score));
        }
    }

    #[test]
    fn a_translation_without_a_visible_character_gives_way_to_the_next() {
        let translator = |n_best| {
            let options = Options { n_best, ..one_thread() };
            Translator::new(Copy { mumbles: true }, options).unwrap().translate_lines(&["abc"]).unwrap().remove(0)
        };
        assert_eq!(translator(1).text(), "abc");
        assert_eq!(translator(1).best(), translator(4).best());
    }

    #[test]
    fn options_that_cannot_be_honoured_are_refused() {
        let refused = |options| Translator::new(Copy::default(), options).map(|_| ()).unwrap_err();
        assert!(matches!(refused(Options { beam: 0, ..one_thread() }), TranslateError::Search(_)));
        assert!(matches!(refused(Options { n_best: 5, ..one_thread() }), TranslateError::Search(_)));
        assert!(matches!(refused(Options { batch_tokens: 0, ..one_thread() }), TranslateError::Zero { .. }));
        assert!(matches!(refused(Options { max_len: Some(0), ..one_thread() }), TranslateError::Zero { .. }));
    }

    #[test]
    fn special_tokens_are_never_generated() {
        let special = Copy::default().special();
        let search = one_thread().search(special);
        assert_eq!(search.forbidden, [special.unk, special.bos, special.pad]);
    }
}
