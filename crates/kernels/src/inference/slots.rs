//! Attention over cached prefixes that share their beginnings.
//!
//! A prefix is a path of slots, one for each of its tokens; hypotheses of a beam that began alike name the same slots, so
//! reordering hypotheses copies paths and never keys or values.

use super::attention::HeadShape;
use super::exp::exponentials;
use super::simd::{Simd, on_best_isa};

/// The keys and values of one layer, `[slots, d_model]` each.
#[derive(Clone, Debug)]
pub struct SlotCache {
    shape: HeadShape,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl SlotCache {
    /// No slots yet.
    #[must_use]
    pub fn new(shape: HeadShape) -> Self {
        Self { shape, keys: Vec::new(), values: Vec::new() }
    }

    /// Makes room for at least `slots`.
    pub fn extend_to(&mut self, slots: usize) {
        let len = slots * self.shape.d_model();
        if self.keys.len() < len {
            self.keys.resize(len, 0.0);
            self.values.resize(len, 0.0);
        }
    }

    /// Fills a slot with `d_model` numbers each.
    ///
    /// # Panics
    /// If there is no such slot or the lengths are wrong.
    pub fn set(&mut self, slot: usize, key: &[f32], value: &[f32]) {
        let range = slot * self.shape.d_model()..(slot + 1) * self.shape.d_model();
        self.keys[range.clone()].copy_from_slice(key);
        self.values[range].copy_from_slice(value);
    }

    /// Lets each query attend to its own path: `queries` are rows of `stride` that begin with `d_model` numbers, `paths`
    /// are rows of `path_len` slots, `out` is `[rows, d_model]`.
    ///
    /// # Panics
    /// If shapes do not fit, a slot does not exist, or paths are empty.
    pub fn attend(&self, queries: &[f32], stride: usize, paths: &[u32], path_len: usize, out: &mut [f32]) {
        let rows = queries.len() / stride;
        assert!(path_len > 0 && paths.len() == rows * path_len && out.len() == rows * self.shape.d_model());
        attend_paths(self, queries, stride, paths, path_len, out);
    }
}

on_best_isa! {
    fn attend_paths(cache: &SlotCache, queries: &[f32], stride: usize, paths: &[u32], path_len: usize, out: &mut [f32]) = attend_paths_on;
}

#[inline(always)]
fn attend_paths_on<S: Simd>(
    simd: S,
    cache: &SlotCache,
    queries: &[f32],
    stride: usize,
    paths: &[u32],
    path_len: usize,
    out: &mut [f32],
) {
    let HeadShape { n_heads, d_head } = cache.shape;
    let d_model = cache.shape.d_model();
    let mut scores = vec![0.0; n_heads * path_len];
    let rows = queries.chunks_exact(stride).zip(paths.chunks_exact(path_len));
    for ((query, path), out) in rows.zip(out.chunks_exact_mut(d_model)) {
        for (position, &slot) in path.iter().enumerate() {
            let key = &cache.keys[slot as usize * d_model..][..d_model];
            for (head, (query, key)) in
                query.chunks_exact(d_head).zip(key.chunks_exact(d_head)).take(n_heads).enumerate()
            {
                scores[head * path_len + position] = dot(simd, query, key);
            }
        }
        for (head, scores) in scores.chunks_exact_mut(path_len).enumerate() {
            let inverse_sum = exponentials(simd, scores, cache.shape.scale());
            let first = head * d_head;
            weigh(simd, cache, path, scores, inverse_sum, first, &mut out[first..first + d_head]);
        }
    }
}

#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let mut sums = simd.splat(0.0);
    for (a, b) in a.chunks(S::LANES).zip(b.chunks(S::LANES)) {
        sums = simd.mul_add(simd.load_partial(a), simd.load_partial(b), sums);
    }
    simd.sum(sums)
}

/// The values of a path from column `first` on, weighed by `scores`, times `inverse_sum`.
#[inline(always)]
fn weigh<S: Simd>(
    simd: S,
    cache: &SlotCache,
    path: &[u32],
    scores: &[f32],
    inverse_sum: f32,
    first: usize,
    out: &mut [f32],
) {
    let (d_model, inverse_sum) = (cache.shape.d_model(), simd.splat(inverse_sum));
    for (chunk, out) in out.chunks_mut(4 * S::LANES).enumerate() {
        let first = first + chunk * 4 * S::LANES;
        let mut sums = [simd.splat(0.0); 4];
        for (&slot, &score) in path.iter().zip(scores) {
            let values = &cache.values[slot as usize * d_model + first..][..out.len()];
            let score = simd.splat(score);
            for (sum, values) in sums.iter_mut().zip(values.chunks(S::LANES)) {
                *sum = simd.mul_add(score, simd.load_partial(values), *sum);
            }
        }
        for (&sum, out) in sums.iter().zip(out.chunks_mut(S::LANES)) {
            simd.store_partial(simd.mul(sum, inverse_sum), out);
        }
    }
}
