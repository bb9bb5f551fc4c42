//! Adam (Kingma and Ba, arXiv 1412.6980, algorithm 1) in one sweep over a parameter.

use rayon::prelude::*;

use crate::dispatch::vectorised;

/// Elements that one thread takes at a time.
const PIECE: usize = 1 << 15;

/// The constants of one update.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep {
    /// Decay of the first moment, β₁.
    pub beta_1: f32,
    /// Decay of the second moment, β₂.
    pub beta_2: f32,
    /// Added to the root of the second moment, ε.
    pub epsilon: f32,
    /// α / (1 - β₁ᵗ): the learning rate with the first moment's bias taken out.
    pub rate: f32,
    /// 1 / sqrt(1 - β₂ᵗ): takes the bias out of the root of the second moment.
    pub root_scale: f32,
    /// What every gradient is multiplied by first: normalisation and clipping in one factor.
    pub gradient_scale: f32,
}

impl AdamStep {
    /// The constants of update `t` (the first is 1) at learning rate α.
    #[must_use]
    pub fn new(betas: (f32, f32), epsilon: f32, learning_rate: f64, t: u64, gradient_scale: f32) -> Self {
        let t = t as f64;
        Self {
            beta_1: betas.0,
            beta_2: betas.1,
            epsilon,
            rate: (learning_rate / (1.0 - f64::from(betas.0).powf(t))) as f32,
            root_scale: (1.0 / (1.0 - f64::from(betas.1).powf(t)).sqrt()) as f32,
            gradient_scale,
        }
    }
}

/// Updates a parameter and its moments in place.
///
/// # Panics
/// If the lengths differ.
pub fn update(parameter: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32], step: AdamStep) {
    assert!(
        gradient.len() == parameter.len() && first.len() == parameter.len() && second.len() == parameter.len(),
        "a parameter, its gradient and its moments are of one length"
    );
    parameter
        .par_chunks_mut(PIECE)
        .zip(gradient.par_chunks(PIECE))
        .zip(first.par_chunks_mut(PIECE).zip(second.par_chunks_mut(PIECE)))
        .for_each(|((parameter, gradient), (first, second))| update_piece(parameter, gradient, first, second, step));
}

vectorised! {
    fn update_piece(parameter: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32], step: AdamStep) {
        for (((p, g), m), v) in parameter.iter_mut().zip(gradient).zip(first).zip(second) {
            let g = g * step.gradient_scale;
            *m = step.beta_1 * *m + (1.0 - step.beta_1) * g;
            *v = step.beta_2 * *v + (1.0 - step.beta_2) * g * g;
            *p -= step.rate * *m / (v.sqrt() * step.root_scale + step.epsilon);
        }
    }
}

/// The sum of squares of a gradient, in f64 and a fixed order.
#[must_use]
pub fn sum_of_squares(gradient: &[f32]) -> f64 {
    let pieces: Vec<f64> =
        gradient.par_chunks(PIECE).map(|piece| piece.iter().map(|g| f64::from(*g) * f64::from(*g)).sum()).collect();
    pieces.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_algorithm_1() {
        let (beta_1, beta_2, epsilon, rate) = (0.9_f64, 0.98, 1e-8, 1e-2);
        let gradients = [0.3, -0.1, 0.2, 0.05];
        let (mut p, mut m, mut v) = (1.0_f64, 0.0, 0.0);
        let (mut got, mut first, mut second) = ([1.0_f32], [0.0], [0.0]);
        for (t, g) in (1..).zip(gradients) {
            m = beta_1 * m + (1.0 - beta_1) * g;
            v = beta_2 * v + (1.0 - beta_2) * g * g;
            let (m_hat, v_hat) = (m / (1.0 - beta_1.powi(t)), v / (1.0 - beta_2.powi(t)));
            p -= rate * m_hat / (v_hat.sqrt() + epsilon);
            let step = AdamStep::new((0.9, 0.98), 1e-8, rate, t as u64, 0.5);
            update(&mut got, &[2.0 * g as f32], &mut first, &mut second, step);
            assert!((f64::from(got[0]) - p).abs() < 1e-6, "update {t}: {} against {p}", got[0]);
        }
    }
}
