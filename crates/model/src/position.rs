//! Positions: the rotary embedding and Vaswani's sinusoids.

use burn::tensor::{Tensor, TensorData, backend::Backend};

/// Tables of the rotary position embedding (arXiv 2104.09864, eq. 34), made anew for the length of each batch: no
/// position is too far.
#[derive(Clone, Debug)]
pub struct Rotary<B: Backend> {
    /// cos(position * theta^(-2i / d_head)), `[positions, d_head / 2]`.
    pub cos: Tensor<B, 2>,
    /// sin of the same.
    pub sin: Tensor<B, 2>,
}

impl<B: Backend> Rotary<B> {
    /// Tables for positions 0.. `positions`.
    #[must_use]
    pub fn new(positions: usize, d_head: usize, theta: f64, device: &B::Device) -> Self {
        let (cos, sin) = rotary_tables(positions, d_head, theta);
        let shape = [positions, d_head / 2];
        Self {
            cos: Tensor::from_data(TensorData::new(cos, shape), device),
            sin: Tensor::from_data(TensorData::new(sin, shape), device),
        }
    }
}

/// cos and sin of position * theta^(-2i / d_head), `[positions, d_head / 2]` each, from angles in f64.
#[must_use]
pub fn rotary_tables(positions: usize, d_head: usize, theta: f64) -> (Vec<f32>, Vec<f32>) {
    let half = d_head / 2;
    (0..positions * half)
        .map(|i| {
            let angle = (i / half) as f64 * theta.powf(-2.0 * (i % half) as f64 / d_head as f64);
            (angle.cos() as f32, angle.sin() as f32)
        })
        .unzip()
}

/// Sinusoids of `len` positions from `first` (arXiv 1706.03762, section 3.5), `[len, d_model]`:
/// PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same.
#[must_use]
pub fn sinusoids(first: usize, len: usize, d_model: usize) -> Vec<f32> {
    (0..len * d_model)
        .map(|n| {
            let (position, i) = (first + n / d_model, n % d_model);
            let angle = position as f64 * 10_000_f64.powf(-((i / 2 * 2) as f64) / d_model as f64);
            if i % 2 == 0 { angle.sin() as f32 } else { angle.cos() as f32 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_angle_is_the_position_and_the_sinusoids_interleave() {
        let (cos, sin) = rotary_tables(3, 4, 10_000.0);
        assert!((cos[4] - 2f32.cos()).abs() < 1e-7 && (sin[4] - 2f32.sin()).abs() < 1e-7);
        assert!((sin[5] - 0.02_f32.sin()).abs() < 1e-7);
        let table = sinusoids(0, 2, 4);
        assert_eq!(table[..4], [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(table[4..], sinusoids(1, 1, 4)[..]);
        assert!((table[4] - 1f32.sin()).abs() < 1e-7 && (table[7] - 0.01_f32.cos()).abs() < 1e-7);
    }

    /// B(delta) = (2/d) Σ |S_j|, S_j = Σ_{i<j} e^(i delta theta_i) over j = 1..d/2 (section 3.4.3 and fig. 2).
    fn decay(d: usize, delta: f64) -> f64 {
        let (mut re, mut im, mut sum) = (0.0, 0.0, 0.0);
        for i in 0..d / 2 {
            let angle = delta * 10_000_f64.powf(-2.0 * i as f64 / d as f64);
            (re, im) = (re + angle.cos(), im + angle.sin());
            sum += f64::hypot(re, im);
        }
        sum * 2.0 / d as f64
    }

    #[test]
    fn the_bound_decays_as_figure_2_shows() {
        for (d, delta, want) in [(128, 0.0, 32.5), (128, 8.0, 19.8174), (128, 4096.0, 4.8828), (64, 128.0, 4.7487)] {
            assert!((decay(d, delta) - want).abs() < 1e-4, "{} at d {d}, delta {delta}", decay(d, delta));
        }
    }
}
