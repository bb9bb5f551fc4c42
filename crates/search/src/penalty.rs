//! Length penalties: how log-probabilities of different lengths are compared.

/// The divisor that turns a log-probability into a score. Larger `alpha` = longer translations.
///
/// The field uses one name and one letter for two formulas; `length` is the number of generated tokens, EOS counted:
///
/// | variant | score | as in |
/// |---|---|---|
/// | [`Length`](Self::Length) | `log_prob / length^alpha` | fairseq, Marian, CTranslate2 |
/// | [`Gnmt`](Self::Gnmt) | `log_prob / ((5 + length) / 6)^alpha` | Wu et al. 2016 (arXiv 1609.08144), eq. 14; tensor2tensor |
///
/// RoFormer was trained and decoded with fairseq, so its "length penalty 0.6" is `Length { alpha: 0.6 }`, the default.
/// `alpha = 0` ranks by log-probability alone, `Length { alpha: 1 }` by the mean over tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LengthPenalty {
    /// `log_prob / length^alpha`.
    Length {
        /// The exponent, at least 0.
        alpha: f64,
    },
    /// `log_prob / ((5 + length) / 6)^alpha`.
    Gnmt {
        /// The exponent, at least 0.
        alpha: f64,
    },
}

impl Default for LengthPenalty {
    fn default() -> Self {
        Self::Length { alpha: 0.6 }
    }
}

impl LengthPenalty {
    /// The exponent.
    #[must_use]
    pub fn alpha(self) -> f64 {
        match self {
            Self::Length { alpha } | Self::Gnmt { alpha } => alpha,
        }
    }

    /// The score of a hypothesis of `length` generated tokens (EOS counted) with the given log-probability in nats.
    ///
    /// Because `log_prob` is at most 0 and `alpha` at least 0, the score falls with `log_prob` and rises with `length`:
    /// the best that a prefix can still reach is its present log-probability at the greatest length allowed.
    #[must_use]
    pub fn score(self, log_prob: f64, length: usize) -> f64 {
        let length = length.max(1) as f64;
        match self {
            Self::Length { alpha } => log_prob / length.powf(alpha),
            Self::Gnmt { alpha } => log_prob / ((5.0 + length) / 6.0).powf(alpha),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LengthPenalty;

    /// Two finished hypotheses: -2.0 nats in 3 tokens and -3.2 nats in 7, EOS counted; figures computed by hand.
    fn scores(penalty: LengthPenalty) -> [f64; 2] {
        [penalty.score(-2.0, 3), penalty.score(-3.2, 7)]
    }

    fn assert_close(found: [f64; 2], expected: [f64; 2]) {
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 5e-5, "{found} is not {expected}");
        }
    }

    #[test]
    fn the_two_formulas_disagree_about_the_better_hypothesis() {
        assert_close(scores(LengthPenalty::Gnmt { alpha: 0.6 }), [-1.6829, -2.1112]);
        assert_close(scores(LengthPenalty::Length { alpha: 0.6 }), [-1.0346, -0.9956]);
    }

    #[test]
    fn alpha_zero_is_the_log_probability() {
        assert_close(scores(LengthPenalty::Gnmt { alpha: 0.0 }), [-2.0, -3.2]);
        assert_close(scores(LengthPenalty::Length { alpha: 0.0 }), [-2.0, -3.2]);
    }

    #[test]
    fn alpha_one_is_the_mean_or_six_times_the_shifted_mean() {
        assert_close(scores(LengthPenalty::Gnmt { alpha: 1.0 }), [-1.5, -1.6]);
        assert_close(scores(LengthPenalty::Length { alpha: 1.0 }), [-0.6667, -0.4571]);
    }

    #[test]
    fn the_default_is_fairseqs() {
        assert_eq!(LengthPenalty::default(), LengthPenalty::Length { alpha: 0.6 });
    }
}
