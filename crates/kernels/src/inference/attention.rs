//! Attention over a sentence: the encoder's own, and the decoder's to the encoder.
//!
//! `softmax(q k^T / sqrt(d_head)) v` (Vaswani et al. 2017, equation 1), with nothing masked: a row is only ever shown
//! what it may see.

use std::ops::Range;

use super::exp::exponentials;
use super::matrix::Precision;
use super::simd::{LANES, Simd, on_best_isa};
use super::stored::{Bf16, Stored};

/// Queries that share each load of a key or value.
const BLOCK: usize = 4;

/// The shape of `d_model = n_heads * d_head` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadShape {
    /// Heads.
    pub n_heads: usize,
    /// Numbers in a head.
    pub d_head: usize,
}

impl HeadShape {
    /// `n_heads * d_head`.
    #[must_use]
    pub fn d_model(self) -> usize {
        self.n_heads * self.d_head
    }

    /// `1 / sqrt(d_head)`.
    pub(crate) fn scale(self) -> f32 {
        1.0 / (self.d_head as f32).sqrt()
    }
}

/// The keys and values of one sentence in one layer, kept as bf16 beside int8 products.
#[derive(Clone, Debug)]
pub struct KeyValues(Kept);

#[derive(Clone, Debug)]
enum Kept {
    F32(Sentence<f32>),
    Bf16(Sentence<Bf16>),
}

#[derive(Clone, Debug)]
struct Sentence<T> {
    shape: HeadShape,
    len: usize,
    padded_len: usize,
    /// `[n_heads, d_head, padded_len]`: transposed, so that one vector holds neighbouring positions.
    keys: Vec<T>,
    /// `[n_heads, len, d_head]`.
    values: Vec<T>,
}

impl KeyValues {
    /// Takes rows of `stride` whose keys and values are `d_model` numbers from `key` and `value` on.
    ///
    /// # Panics
    /// If `rows` are not whole rows of `stride`, or too short.
    #[must_use]
    pub fn new(precision: Precision, shape: HeadShape, rows: &[f32], stride: usize, key: usize, value: usize) -> Self {
        assert!(stride > 0 && rows.len().is_multiple_of(stride), "{} numbers are no rows of {stride}", rows.len());
        Self(match precision {
            Precision::F32 => Kept::F32(Sentence::new(shape, rows, stride, key, value)),
            Precision::Int8 => Kept::Bf16(Sentence::new(shape, rows, stride, key, value)),
        })
    }

    /// Lets queries attend to the sentence: `queries` are rows of `stride` that begin with `d_model` numbers, `out` is
    /// `[rows, d_model]`. A row's result does not depend on the others.
    ///
    /// # Panics
    /// If shapes do not fit or the sentence is empty.
    pub fn attend(&self, queries: &[f32], stride: usize, out: &mut [f32]) {
        match &self.0 {
            Kept::F32(sentence) => attend(sentence, queries, stride, out),
            Kept::Bf16(sentence) => attend(sentence, queries, stride, out),
        }
    }
}

impl<T: Stored> Sentence<T> {
    fn new(shape: HeadShape, rows: &[f32], stride: usize, key: usize, value: usize) -> Self {
        let (len, d_model, d_head) = (rows.len() / stride, shape.d_model(), shape.d_head);
        let padded_len = len.next_multiple_of(LANES);
        let mut keys = vec![T::default(); d_model * padded_len];
        let mut values = vec![T::default(); d_model * len];
        let mut own_keys = vec![T::default(); d_model];
        for (position, row) in rows.chunks_exact(stride).enumerate() {
            T::store(&row[key..key + d_model], &mut own_keys);
            for (column, &number) in keys.chunks_exact_mut(padded_len).zip(&own_keys) {
                column[position] = number;
            }
            for (head, from) in row[value..value + d_model].chunks_exact(d_head).enumerate() {
                T::store(from, &mut values[(head * len + position) * d_head..][..d_head]);
            }
        }
        Self { shape, len, padded_len, keys, values }
    }
}

on_best_isa! {
    fn attend[T: Stored](sentence: &Sentence<T>, queries: &[f32], stride: usize, out: &mut [f32]) = attend_on;
}

#[inline(always)]
fn attend_on<S: Simd, T: Stored>(simd: S, sentence: &Sentence<T>, queries: &[f32], stride: usize, out: &mut [f32]) {
    let d_model = sentence.shape.d_model();
    assert!(stride >= d_model && queries.len().is_multiple_of(stride) && sentence.len > 0);
    assert_eq!(out.len() / d_model, queries.len() / stride, "a result for each query");
    let mut scores = vec![0.0; BLOCK * sentence.padded_len];
    for (queries, out) in queries.chunks(BLOCK * stride).zip(out.chunks_mut(BLOCK * d_model)) {
        match queries.len() / stride {
            1 => attend_rows::<S, T, 1>(simd, sentence, queries, stride, &mut scores, out),
            2 => attend_rows::<S, T, 2>(simd, sentence, queries, stride, &mut scores, out),
            3 => attend_rows::<S, T, 3>(simd, sentence, queries, stride, &mut scores, out),
            _ => attend_rows::<S, T, BLOCK>(simd, sentence, queries, stride, &mut scores, out),
        }
    }
}

#[inline(always)]
fn attend_rows<S: Simd, T: Stored, const ROWS: usize>(
    simd: S,
    sentence: &Sentence<T>,
    queries: &[f32],
    stride: usize,
    scores: &mut [f32],
    out: &mut [f32],
) {
    let &Sentence { shape, len, padded_len, .. } = sentence;
    let HeadShape { n_heads, d_head } = shape;
    for head in 0..n_heads {
        let mut heads = [&queries[..0]; ROWS];
        for (r, own) in heads.iter_mut().enumerate() {
            *own = &queries[r * stride + head * d_head..][..d_head];
        }
        let keys = &sentence.keys[head * d_head * padded_len..][..d_head * padded_len];
        let vectors = if S::IS_WIDE { 2 } else { 1 };
        for position in (0..len).step_by(vectors * LANES) {
            if S::IS_WIDE && position + LANES < padded_len {
                score::<S, T, ROWS, 2>(simd, heads, &keys[position..], padded_len, &mut scores[position..]);
            } else {
                score::<S, T, ROWS, 1>(simd, heads, &keys[position..], padded_len, &mut scores[position..]);
            }
        }
        let mut inverse_sums = [0.0; ROWS];
        for (r, inverse_sum) in inverse_sums.iter_mut().enumerate() {
            *inverse_sum = exponentials(simd, &mut scores[r * padded_len..][..len], shape.scale());
        }
        let mut weights = [&scores[..0]; ROWS];
        for (r, weights) in weights.iter_mut().enumerate() {
            *weights = &scores[r * padded_len..][..len];
        }
        let values = &sentence.values[head * len * d_head..][..len * d_head];
        let weighed = Weighed { values, d_head, weights, inverse_sums };
        weighed.write(simd, shape.d_model(), &mut out[head * d_head..]);
    }
}

/// The products of some queries with `N` vectors of neighbouring keys, `[d_head, padded_len]`, into rows of
/// `padded_len`.
#[inline(always)]
fn score<S: Simd, T: Stored, const ROWS: usize, const N: usize>(
    simd: S,
    queries: [&[f32]; ROWS],
    keys: &[T],
    padded_len: usize,
    scores: &mut [f32],
) {
    let mut sums = [[simd.splat(0.0); N]; ROWS];
    for (i, keys) in keys.chunks(padded_len).enumerate() {
        let mut loaded = [T::load(simd, keys); N];
        for v in 1..N {
            loaded[v] = T::load(simd, &keys[v * LANES..]);
        }
        for r in 0..ROWS {
            let query = simd.splat(queries[r][i]);
            for v in 0..N {
                sums[r][v] = simd.mul_add(query, loaded[v], sums[r][v]);
            }
        }
    }
    for r in 0..ROWS {
        for v in 0..N {
            simd.store(sums[r][v], &mut scores[r * padded_len + v * LANES..]);
        }
    }
}

/// One head's values, `[len, d_head]`, and some rows' weights for them, `[len]` each, whose sums are not yet 1.
struct Weighed<'a, T, const ROWS: usize> {
    values: &'a [T],
    d_head: usize,
    weights: [&'a [f32]; ROWS],
    inverse_sums: [f32; ROWS],
}

impl<T: Stored, const ROWS: usize> Weighed<'_, T, ROWS> {
    /// Writes the weighed sums to rows of `stride`.
    #[inline(always)]
    fn write<S: Simd>(&self, simd: S, stride: usize, out: &mut [f32]) {
        let mut column = 0;
        while S::IS_WIDE && column + 4 * LANES <= self.d_head {
            self.write_vectors::<S, 4>(simd, column, stride, out);
            column += 4 * LANES;
        }
        while column < self.d_head {
            let width = (self.d_head - column).min(LANES);
            self.write_partial(simd, column..column + width, stride, out);
            column += width;
        }
    }

    /// `N` whole vectors.
    #[expect(clippy::needless_range_loop, reason = "plain counts unroll into registers")]
    #[inline(always)]
    fn write_vectors<S: Simd, const N: usize>(&self, simd: S, column: usize, stride: usize, out: &mut [f32]) {
        let mut sums = [[simd.splat(0.0); N]; ROWS];
        for (i, values) in self.values.chunks_exact(self.d_head).enumerate() {
            let values = &values[column..][..N * LANES];
            let mut loaded = [T::load(simd, values); N];
            for v in 1..N {
                loaded[v] = T::load(simd, &values[v * LANES..]);
            }
            for r in 0..ROWS {
                let weight = simd.splat(self.weights[r][i]);
                for v in 0..N {
                    sums[r][v] = simd.mul_add(weight, loaded[v], sums[r][v]);
                }
            }
        }
        for r in 0..ROWS {
            let out = &mut out[r * stride + column..][..N * LANES];
            for v in 0..N {
                simd.store(simd.mul(sums[r][v], simd.splat(self.inverse_sums[r])), &mut out[v * LANES..]);
            }
        }
    }

    /// At most a vector's worth of columns.
    #[expect(clippy::needless_range_loop, reason = "plain counts unroll into registers")]
    #[inline(always)]
    fn write_partial<S: Simd>(&self, simd: S, columns: Range<usize>, stride: usize, out: &mut [f32]) {
        let mut sums = [simd.splat(0.0); ROWS];
        for (i, values) in self.values.chunks_exact(self.d_head).enumerate() {
            let values = T::load_partial(simd, &values[columns.clone()]);
            for r in 0..ROWS {
                sums[r] = simd.mul_add(simd.splat(self.weights[r][i]), values, sums[r]);
            }
        }
        for r in 0..ROWS {
            let out = &mut out[r * stride..][columns.clone()];
            simd.store_partial(simd.mul(sums[r], simd.splat(self.inverse_sums[r])), out);
        }
    }
}
