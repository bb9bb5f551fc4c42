//! Attention over cached prefixes that share their beginnings.
//!
//! A prefix is a path of slots, one for each of its tokens; hypotheses of a beam that began alike name the same slots, so
//! reordering hypotheses copies paths and never keys or values.

use super::attention::HeadShape;
use super::exp::exponentials;
use super::matrix::Precision;
use super::simd::{LANES, Simd, on_best_isa};
use super::stored::{Bf16, Stored};

/// Slots looked at together: their keys and values are each read from one end to the other.
const GROUP: usize = 4;

/// The keys and values of one layer, kept as bf16 beside int8 products.
#[derive(Clone, Debug)]
pub struct SlotCache(Kept);

#[derive(Clone, Debug)]
enum Kept {
    F32(Slots<f32>),
    Bf16(Slots<Bf16>),
}

#[derive(Clone, Debug)]
struct Slots<T> {
    shape: HeadShape,
    /// `[slots, d_model]`.
    keys: Vec<T>,
    /// `[slots, d_model]`.
    values: Vec<T>,
}

impl SlotCache {
    /// No slots yet.
    #[must_use]
    pub fn new(precision: Precision, shape: HeadShape) -> Self {
        Self(match precision {
            Precision::F32 => Kept::F32(Slots { shape, keys: Vec::new(), values: Vec::new() }),
            Precision::Int8 => Kept::Bf16(Slots { shape, keys: Vec::new(), values: Vec::new() }),
        })
    }

    /// Makes room for at least `slots`.
    pub fn extend_to(&mut self, slots: usize) {
        match &mut self.0 {
            Kept::F32(kept) => kept.extend_to(slots),
            Kept::Bf16(kept) => kept.extend_to(slots),
        }
    }

    /// Fills a slot with `d_model` numbers each.
    ///
    /// # Panics
    /// If there is no such slot or the lengths are wrong.
    pub fn set(&mut self, slot: usize, key: &[f32], value: &[f32]) {
        match &mut self.0 {
            Kept::F32(kept) => kept.set(slot, key, value),
            Kept::Bf16(kept) => kept.set(slot, key, value),
        }
    }

    /// Lets each query attend to its own path: `queries` are rows of `stride` that begin with `d_model` numbers, `paths`
    /// are rows of `path_len` slots, `out` is `[rows, d_model]`.
    ///
    /// # Panics
    /// If shapes do not fit, a slot does not exist, or paths are empty.
    pub fn attend(&self, queries: &[f32], stride: usize, paths: &[u32], path_len: usize, out: &mut [f32]) {
        match &self.0 {
            Kept::F32(kept) => attend_paths(kept, queries, stride, paths, path_len, out),
            Kept::Bf16(kept) => attend_paths(kept, queries, stride, paths, path_len, out),
        }
    }
}

impl<T: Stored> Slots<T> {
    fn extend_to(&mut self, slots: usize) {
        let len = slots * self.shape.d_model();
        if self.keys.len() < len {
            self.keys.resize(len, T::default());
            self.values.resize(len, T::default());
        }
    }

    fn set(&mut self, slot: usize, key: &[f32], value: &[f32]) {
        let range = slot * self.shape.d_model()..(slot + 1) * self.shape.d_model();
        T::store(key, &mut self.keys[range.clone()]);
        T::store(value, &mut self.values[range]);
    }
}

/// Rows of `d_model`, one for each of a group of slots; those that a short group lacks repeat its last.
#[inline(always)]
fn rows_of<'a, T>(from: &'a [T], d_model: usize, group: &[u32]) -> [&'a [T]; GROUP] {
    let mut rows = [&from[..0]; GROUP];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = &from[group[i.min(group.len() - 1)] as usize * d_model..][..d_model];
    }
    rows
}

on_best_isa! {
    fn attend_paths[T: Stored](
        cache: &Slots<T>,
        queries: &[f32],
        stride: usize,
        paths: &[u32],
        path_len: usize,
        out: &mut [f32],
    ) = attend_paths_on;
}

#[inline(always)]
fn attend_paths_on<S: Simd, T: Stored>(
    simd: S,
    cache: &Slots<T>,
    queries: &[f32],
    stride: usize,
    paths: &[u32],
    path_len: usize,
    out: &mut [f32],
) {
    let (n_heads, d_model) = (cache.shape.n_heads, cache.shape.d_model());
    assert!(path_len > 0 && stride >= d_model && queries.len() / stride * path_len == paths.len());
    assert_eq!(out.len() / d_model, queries.len() / stride, "a result for each query");
    let padded_len = path_len.next_multiple_of(GROUP);
    let (mut scores, mut inverse_sums) = (vec![0.0; n_heads * padded_len], vec![0.0; n_heads]);
    let rows = queries.chunks_exact(stride).zip(paths.chunks_exact(path_len));
    for ((query, path), out) in rows.zip(out.chunks_exact_mut(d_model)) {
        for (group, slots) in path.chunks(GROUP).enumerate() {
            let keys = rows_of(&cache.keys, d_model, slots);
            score_group(simd, cache.shape, &query[..d_model], keys, padded_len, &mut scores[group * GROUP..]);
        }
        for (scores, inverse_sum) in scores.chunks_exact_mut(padded_len).zip(&mut inverse_sums) {
            *inverse_sum = exponentials(simd, &mut scores[..path_len], cache.shape.scale());
            // What is left of the last group weighs nothing.
            scores[path_len..].fill(0.0);
        }
        out.fill(0.0);
        for (group, slots) in path.chunks(GROUP).enumerate() {
            let values = rows_of(&cache.values, d_model, slots);
            weigh_group(simd, cache.shape, values, padded_len, &scores[group * GROUP..], out);
        }
        for (out, &inverse_sum) in out.chunks_exact_mut(cache.shape.d_head).zip(&inverse_sums) {
            scale(simd, inverse_sum, out);
        }
    }
}

/// The products of each head of a query with the keys of a group, into rows of `padded_len`.
#[inline(always)]
fn score_group<S: Simd, T: Stored>(
    simd: S,
    shape: HeadShape,
    query: &[f32],
    keys: [&[T]; GROUP],
    padded_len: usize,
    scores: &mut [f32],
) {
    for head in 0..shape.n_heads {
        let range = head * shape.d_head..(head + 1) * shape.d_head;
        let mut sums = [simd.splat(0.0); GROUP];
        let mut at = range.start;
        while at + LANES <= range.end {
            let query = simd.load(&query[at..]);
            for i in 0..GROUP {
                sums[i] = simd.mul_add(query, T::load(simd, &keys[i][at..]), sums[i]);
            }
            at += LANES;
        }
        if at < range.end {
            let query = simd.load_partial(&query[at..range.end]);
            for i in 0..GROUP {
                sums[i] = simd.mul_add(query, T::load_partial(simd, &keys[i][at..range.end]), sums[i]);
            }
        }
        scores[head * padded_len..][..GROUP].copy_from_slice(&simd.sums(sums));
    }
}

/// Adds a group's values to each head of `out`, weighed by the head's row of `weights`.
#[inline(always)]
fn weigh_group<S: Simd, T: Stored>(
    simd: S,
    shape: HeadShape,
    values: [&[T]; GROUP],
    padded_len: usize,
    weights: &[f32],
    out: &mut [f32],
) {
    for head in 0..shape.n_heads {
        let range = head * shape.d_head..(head + 1) * shape.d_head;
        let mut splats = [simd.splat(0.0); GROUP];
        for i in 0..GROUP {
            splats[i] = simd.splat(weights[head * padded_len + i]);
        }
        let mut at = range.start;
        while at + LANES <= range.end {
            let mut sum = simd.load(&out[at..]);
            for i in 0..GROUP {
                sum = simd.mul_add(splats[i], T::load(simd, &values[i][at..]), sum);
            }
            simd.store(sum, &mut out[at..]);
            at += LANES;
        }
        if at < range.end {
            let mut sum = simd.load_partial(&out[at..range.end]);
            for i in 0..GROUP {
                sum = simd.mul_add(splats[i], T::load_partial(simd, &values[i][at..range.end]), sum);
            }
            simd.store_partial(sum, &mut out[at..range.end]);
        }
    }
}

#[inline(always)]
fn scale<S: Simd>(simd: S, factor: f32, numbers: &mut [f32]) {
    let factor = simd.splat(factor);
    for chunk in numbers.chunks_mut(LANES) {
        simd.store_partial(simd.mul(simd.load_partial(chunk), factor), chunk);
    }
}
