//! What becomes of a line.

use umlaut_search::LengthPenalty;

/// A translated line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Translation {
    /// The translations, best first; none for a blank line. No two have the same text, so there can be fewer than
    /// were asked for.
    pub alternatives: Vec<Alternative>,
    /// Tokens of the source, end marks counted.
    pub src_tokens: usize,
    /// How many pieces the line was translated in: 0 if blank, more than 1 if it was too long.
    pub pieces: usize,
}

/// One of the translations of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The text.
    pub text: String,
    /// log p(text | source) in nats, at most 0; over all pieces.
    pub log_prob: f64,
    /// `log_prob` divided by the length penalty.
    pub score: f64,
    /// Tokens generated, end marks counted.
    pub tokens: usize,
    /// Whether it reached the length limit before its end.
    pub is_cut: bool,
}

impl Translation {
    /// The best translation; nothing for a blank line.
    #[must_use]
    pub fn text(&self) -> &str {
        self.best().map_or("", |best| &best.text)
    }

    /// The best translation with its figures; `None` for a blank line.
    #[must_use]
    pub fn best(&self) -> Option<&Alternative> {
        self.alternatives.first()
    }

    /// The same in capitals.
    pub(crate) fn in_capitals(mut self) -> Self {
        for alternative in &mut self.alternatives {
            alternative.text = alternative.text.to_uppercase();
        }
        self
    }

    /// Puts the translations of a line's pieces together: the best of each, the second best of each, and so on.
    pub(crate) fn join(pieces: &[Self], penalty: LengthPenalty) -> Self {
        let alternatives = pieces.iter().map(|piece| piece.alternatives.len()).min().unwrap_or(0);
        let rank = |rank: usize| Alternative::join(pieces.iter().map(|piece| &piece.alternatives[rank]), penalty);
        Self {
            alternatives: (0..alternatives).map(rank).collect(),
            src_tokens: pieces.iter().map(|piece| piece.src_tokens).sum(),
            pieces: pieces.len(),
        }
    }
}

impl Alternative {
    fn join<'a>(parts: impl Iterator<Item = &'a Self>, penalty: LengthPenalty) -> Self {
        let mut whole = Self { text: String::new(), log_prob: 0.0, score: 0.0, tokens: 0, is_cut: false };
        for part in parts {
            if !whole.text.is_empty() {
                whole.text.push(' ');
            }
            whole.text.push_str(&part.text);
            whole.log_prob += part.log_prob;
            whole.tokens += part.tokens;
            whole.is_cut |= part.is_cut;
        }
        whole.score = penalty.score(whole.log_prob, whole.tokens);
        whole
    }
}
