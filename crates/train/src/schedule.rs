//! The learning rate: linear warm-up, inverse square root, and a linear cool-down where a recipe asks for one.

use serde::{Deserialize, Serialize};

/// A learning-rate schedule.
///
/// lr(u) = initial + u (peak - initial) / warmup for u <= warmup, then peak sqrt(warmup / u): fairseq's
/// `inverse_sqrt`, with which RoFormer was trained (arXiv 2104.09864, section 4.1.1). Updates count from 1. With a
/// cool-down the rate falls linearly to zero from `cooldown_from` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The rate before the first update.
    #[serde(default = "initial")]
    pub initial: f64,
    /// The rate at the end of the warm-up.
    pub peak: f64,
    /// Updates of the warm-up.
    pub warmup_steps: u64,
    /// The linear fall to zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Cooldown>,
}

/// A linear fall to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cooldown {
    /// The last update at the full rate.
    pub from_update: u64,
    /// The update at which the rate would be zero.
    pub to_update: u64,
}

fn initial() -> f64 {
    1e-7
}

impl Schedule {
    /// The rate of update `update`, counted from 1.
    #[must_use]
    pub fn learning_rate(&self, update: u64) -> f64 {
        let (u, warmup) = (update as f64, self.warmup_steps as f64);
        let rate = if update <= self.warmup_steps {
            self.initial + u * (self.peak - self.initial) / warmup
        } else {
            self.peak * (warmup / u).sqrt()
        };
        match self.cooldown {
            Some(Cooldown { from_update, to_update }) if update > from_update => {
                rate * to_update.saturating_sub(update) as f64 / (to_update - from_update) as f64
            }
            _ => rate,
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.warmup_steps == 0 {
            return Err("schedule.warmup_steps must be at least 1".into());
        }
        if !(self.peak.is_finite() && self.peak > 0.0 && self.initial.is_finite() && self.initial >= 0.0) {
            return Err("schedule.peak and schedule.initial must be finite and not negative".into());
        }
        match self.cooldown {
            Some(c) if c.to_update <= c.from_update => Err("schedule.cooldown must end after it begins".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_papers_formula() {
        let schedule = Schedule { initial: 1e-7, peak: 5e-4, warmup_steps: 4000, cooldown: None };
        let formula = |u: f64| {
            if u <= 4000.0 { 1e-7 + u * (5e-4 - 1e-7) / 4000.0 } else { 5e-4 * 4000_f64.sqrt() / u.sqrt() }
        };
        for u in [1, 2, 1999, 4000, 4001, 5001, 16_000, 100_000] {
            assert!((schedule.learning_rate(u) - formula(u as f64)).abs() < 1e-12, "update {u}");
        }
        assert!((schedule.learning_rate(16_000) - 2.5e-4).abs() < 1e-15);
    }

    #[test]
    fn a_cooldown_falls_to_zero() {
        let cooldown = Some(Cooldown { from_update: 100, to_update: 200 });
        let schedule = Schedule { initial: 0.0, peak: 1.0, warmup_steps: 100, cooldown };
        let plain = Schedule { cooldown: None, ..schedule };
        assert_eq!(schedule.learning_rate(100).to_bits(), plain.learning_rate(100).to_bits());
        assert!((schedule.learning_rate(150) - plain.learning_rate(150) / 2.0).abs() < 1e-12);
        assert!(schedule.learning_rate(200).abs() < f64::EPSILON);
        assert!(schedule.learning_rate(900).abs() < f64::EPSILON);
    }
}
