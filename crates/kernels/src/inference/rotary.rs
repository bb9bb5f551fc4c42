//! Rotary positions (RoFormer, section 3.2), in the half-split layout.

use super::simd::{LANES, Simd, on_best_isa};

/// Cosines and sines of `position * theta^(-2i / d_head)`, `[positions, d_head / 2]` each, grown as positions come up.
#[derive(Clone, Debug)]
pub struct RotaryTable {
    d_head: usize,
    theta: f64,
    cosines: Vec<f32>,
    sines: Vec<f32>,
}

impl RotaryTable {
    /// An empty table.
    ///
    /// # Panics
    /// If `d_head` is odd or 0.
    #[must_use]
    pub fn new(d_head: usize, theta: f64) -> Self {
        assert!(d_head > 0 && d_head.is_multiple_of(2), "pairs of {d_head} numbers");
        Self { d_head, theta, cosines: Vec::new(), sines: Vec::new() }
    }

    /// Makes the table hold positions `0..len`. Angles are f64, so that distant positions stay exact.
    pub fn extend_to(&mut self, len: usize) {
        let pairs = self.d_head / 2;
        for position in self.cosines.len() / pairs..len {
            for i in 0..pairs {
                let frequency = self.theta.powf(-2.0 * i as f64 / self.d_head as f64);
                let (sine, cosine) = (position as f64 * frequency).sin_cos();
                self.cosines.push(cosine as f32);
                self.sines.push(sine as f32);
            }
        }
    }

    /// Cosines and sines of one position.
    fn at(&self, position: usize) -> (&[f32], &[f32]) {
        let pairs = self.d_head / 2;
        let range = position * pairs..(position + 1) * pairs;
        (&self.cosines[range.clone()], &self.sines[range])
    }
}

on_best_isa! {
    /// Turns the pairs `(x[i], x[i + d_head/2])` of each head in `heads`, `[n_heads, d_head]`, by the angles of
    /// `position`.
    ///
    /// # Panics
    /// If the table does not reach that far.
    pub fn rotate(table: &RotaryTable, position: usize, heads: &mut [f32]) = rotate_on;
}

#[inline(always)]
fn rotate_on<S: Simd>(simd: S, table: &RotaryTable, position: usize, heads: &mut [f32]) {
    let (cosines, sines) = table.at(position);
    for head in heads.chunks_exact_mut(table.d_head) {
        let (first, second) = head.split_at_mut(table.d_head / 2);
        let angles = cosines.chunks(LANES).zip(sines.chunks(LANES));
        for ((a, b), (cosine, sine)) in first.chunks_mut(LANES).zip(second.chunks_mut(LANES)).zip(angles) {
            let (x, y) = (simd.load_partial(a), simd.load_partial(b));
            let (cosine, sine) = (simd.load_partial(cosine), simd.load_partial(sine));
            simd.store_partial(simd.sub(simd.mul(x, cosine), simd.mul(y, sine)), a);
            simd.store_partial(simd.mul_add(y, cosine, simd.mul(x, sine)), b);
        }
    }
}
