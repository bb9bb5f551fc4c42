//! Attention over a sentence: the encoder's own, and the decoder's to the encoder.
//!
//! `softmax(q k^T / sqrt(d_head)) v` (Vaswani et al. 2017, equation 1), with nothing masked: a row is only ever shown
//! what it may see.

use super::exp::exponentials;
use super::simd::{Simd, on_best_isa};

/// Queries that share each load of a key or value.
const BLOCK: usize = 4;
/// Positions are padded to whole vectors of the widest instruction set.
const WIDEST: usize = 16;

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

/// The keys and values of one sentence in one layer.
#[derive(Clone, Debug)]
pub struct KeyValues {
    len: usize,
    padded_len: usize,
    /// `[d_model, padded_len]`: transposed, so that one vector holds neighbouring positions.
    keys: Vec<f32>,
    /// `[len, d_model]`.
    values: Vec<f32>,
}

impl KeyValues {
    /// Takes `len` rows whose keys and values are `d_model` numbers from `key` and `value` on, in rows of `stride`.
    ///
    /// # Panics
    /// If `rows` are not whole rows of `stride`, or too short.
    #[must_use]
    pub fn new(rows: &[f32], stride: usize, d_model: usize, key: usize, value: usize) -> Self {
        assert!(stride > 0 && rows.len().is_multiple_of(stride), "{} numbers are no rows of {stride}", rows.len());
        let len = rows.len() / stride;
        let padded_len = len.next_multiple_of(WIDEST);
        let mut keys = vec![0.0; d_model * padded_len];
        let mut values = Vec::with_capacity(len * d_model);
        for (position, row) in rows.chunks_exact(stride).enumerate() {
            for (column, &number) in keys.chunks_exact_mut(padded_len).zip(&row[key..key + d_model]) {
                column[position] = number;
            }
            values.extend_from_slice(&row[value..value + d_model]);
        }
        Self { len, padded_len, keys, values }
    }

    /// Positions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

on_best_isa! {
    /// Lets queries attend to one sentence: `queries` are rows of `stride` that begin with `d_model` numbers, `out` is
    /// `[rows, d_model]`. A row's result does not depend on the others.
    ///
    /// # Panics
    /// If shapes do not fit or the sentence is empty.
    pub fn attend(queries: &[f32], stride: usize, sentence: &KeyValues, shape: HeadShape, out: &mut [f32]) = attend_on;
}

#[inline(always)]
fn attend_on<S: Simd>(
    simd: S,
    queries: &[f32],
    stride: usize,
    sentence: &KeyValues,
    shape: HeadShape,
    out: &mut [f32],
) {
    let d_model = shape.d_model();
    assert!(stride >= d_model && queries.len().is_multiple_of(stride) && !sentence.is_empty());
    assert_eq!(out.len() / d_model, queries.len() / stride, "a result for each query");
    let mut scores = vec![0.0; BLOCK * sentence.padded_len];
    for (queries, out) in queries.chunks(BLOCK * stride).zip(out.chunks_mut(BLOCK * d_model)) {
        match queries.len() / stride {
            1 => attend_rows::<S, 1>(simd, queries, stride, sentence, shape, &mut scores, out),
            2 => attend_rows::<S, 2>(simd, queries, stride, sentence, shape, &mut scores, out),
            3 => attend_rows::<S, 3>(simd, queries, stride, sentence, shape, &mut scores, out),
            _ => attend_rows::<S, BLOCK>(simd, queries, stride, sentence, shape, &mut scores, out),
        }
    }
}

#[inline(always)]
fn attend_rows<S: Simd, const ROWS: usize>(
    simd: S,
    queries: &[f32],
    stride: usize,
    sentence: &KeyValues,
    shape: HeadShape,
    scores: &mut [f32],
    out: &mut [f32],
) {
    let HeadShape { n_heads, d_head } = shape;
    let (d_model, padded_len) = (shape.d_model(), sentence.padded_len);
    for head in 0..n_heads {
        let first = head * d_head;
        let keys = &sentence.keys[first * padded_len..(first + d_head) * padded_len];
        for position in (0..sentence.len).step_by(S::LANES) {
            score::<S, ROWS>(simd, &queries[first..], stride, &keys[position..], padded_len, &mut scores[position..]);
        }
        let mut inverse_sums = [0.0; ROWS];
        for r in 0..ROWS {
            inverse_sums[r] = exponentials(simd, &mut scores[r * padded_len..][..sentence.len], shape.scale());
        }
        let values = Weighed { values: &sentence.values[first..], d_model, len: sentence.len };
        let mut column = 0;
        while column + 4 * S::LANES <= d_head {
            values.sum::<S, ROWS, 4>(simd, scores, padded_len, inverse_sums, column, &mut out[first..]);
            column += 4 * S::LANES;
        }
        while column < d_head {
            let width = (d_head - column).min(S::LANES);
            values.sum_partial::<S, ROWS>(
                simd,
                scores,
                padded_len,
                inverse_sums,
                column..column + width,
                &mut out[first..],
            );
            column += width;
        }
    }
}

/// The products of some queries with a vector of neighbouring keys, `[d_head, padded_len]`, into rows of `padded_len`.
#[inline(always)]
fn score<S: Simd, const ROWS: usize>(
    simd: S,
    queries: &[f32],
    stride: usize,
    keys: &[f32],
    padded_len: usize,
    scores: &mut [f32],
) {
    let mut sums = [simd.splat(0.0); ROWS];
    for (i, keys) in keys.chunks(padded_len).enumerate() {
        let keys = simd.load(keys);
        for r in 0..ROWS {
            sums[r] = simd.mul_add(simd.splat(queries[r * stride + i]), keys, sums[r]);
        }
    }
    for r in 0..ROWS {
        simd.store(sums[r], &mut scores[r * padded_len..]);
    }
}

/// One head's values, to be weighed by scores.
struct Weighed<'a> {
    values: &'a [f32],
    d_model: usize,
    len: usize,
}

impl Weighed<'_> {
    /// `N` whole vectors from `column` on of the weighed sums, times `inverse_sums`.
    #[inline(always)]
    fn sum<S: Simd, const ROWS: usize, const N: usize>(
        &self,
        simd: S,
        scores: &[f32],
        padded_len: usize,
        inverse_sums: [f32; ROWS],
        column: usize,
        out: &mut [f32],
    ) {
        let mut sums = [[simd.splat(0.0); N]; ROWS];
        for position in 0..self.len {
            let values = &self.values[position * self.d_model + column..][..N * S::LANES];
            for r in 0..ROWS {
                let weight = simd.splat(scores[r * padded_len + position]);
                for v in 0..N {
                    sums[r][v] = simd.mul_add(weight, simd.load(&values[v * S::LANES..]), sums[r][v]);
                }
            }
        }
        for r in 0..ROWS {
            let out = &mut out[r * self.d_model + column..][..N * S::LANES];
            for v in 0..N {
                simd.store(simd.mul(sums[r][v], simd.splat(inverse_sums[r])), &mut out[v * S::LANES..]);
            }
        }
    }

    /// `columns`, at most a vector's worth, of the weighed sums, times `inverse_sums`.
    #[inline(always)]
    fn sum_partial<S: Simd, const ROWS: usize>(
        &self,
        simd: S,
        scores: &[f32],
        padded_len: usize,
        inverse_sums: [f32; ROWS],
        columns: std::ops::Range<usize>,
        out: &mut [f32],
    ) {
        let mut sums = [simd.splat(0.0); ROWS];
        for position in 0..self.len {
            let values = simd.load_partial(&self.values[position * self.d_model..][columns.clone()]);
            for r in 0..ROWS {
                sums[r] = simd.mul_add(simd.splat(scores[r * padded_len + position]), values, sums[r]);
            }
        }
        for r in 0..ROWS {
            let out = &mut out[r * self.d_model..][columns.clone()];
            simd.store_partial(simd.mul(sums[r], simd.splat(inverse_sums[r])), out);
        }
    }
}
