//! Scaled dot-product attention over heads, rotated and masked in one pass, with its gradient.
//!
//! Only the projections are kept between the passes: the backward pass computes the probabilities again, so that no
//! `[batch, n_heads, q_len, k_len]` array exists.

use rayon::prelude::*;

use super::dropout::{self, DropoutMask};
use super::exp::exp;
use crate::dispatch::vectorised;
use crate::precision::Precision;
use crate::sgemm::{Matrix, MatrixMut, Onto, Workers};

/// Whether a query may see keys that come after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Every real key is seen.
    Both,
    /// Query i sees keys 0..=i.
    Past,
}

/// Shapes and masks of an attention.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape<'a> {
    /// Number of heads.
    pub n_heads: usize,
    /// Width of a row, n_heads * d_head.
    pub d_model: usize,
    /// Rows of queries a sentence, padding included.
    pub q_len: usize,
    /// Rows of keys a sentence, padding included.
    pub k_len: usize,
    /// Real keys of each sentence, `[batch]`; those beyond are padding and never seen.
    pub key_lengths: &'a [usize],
    /// Which keys a query sees.
    pub direction: Direction,
    /// cos and sin of the interleaved rotation, applied to queries and keys when given.
    pub rotation: Option<Rotation<'a>>,
    /// Dropout on the probabilities.
    pub dropout: Option<DropoutMask>,
    /// What the products are computed in.
    pub precision: Precision,
}

/// Tables of the rotary position embedding (arXiv 2104.09864, eq. 34): entry `[position, i]` is the cosine or sine of
/// position * theta^(-2i / d_head), and turns the pair (2i, 2i + 1).
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// `[positions, d_head / 2]`.
    pub cos: &'a [f32],
    /// `[positions, d_head / 2]`.
    pub sin: &'a [f32],
}

/// The projections.
#[derive(Clone, Copy, Debug)]
pub struct Projections<'a> {
    /// `[batch * q_len, d_model]`.
    pub query: &'a [f32],
    /// `[batch * k_len, d_model]`.
    pub key: &'a [f32],
    /// `[batch * k_len, d_model]`.
    pub value: &'a [f32],
}

/// Gradients of the projections, in their shapes.
#[derive(Debug)]
pub struct ProjectionGradients {
    /// `[batch * q_len, d_model]`.
    pub query: Vec<f32>,
    /// `[batch * k_len, d_model]`.
    pub key: Vec<f32>,
    /// `[batch * k_len, d_model]`.
    pub value: Vec<f32>,
}

impl AttentionShape<'_> {
    fn d_head(&self) -> usize {
        self.d_model / self.n_heads
    }

    fn scale(&self) -> f32 {
        1.0 / (self.d_head() as f32).sqrt()
    }

    fn check(&self, projections: Projections<'_>) {
        let batch = self.key_lengths.len();
        assert_eq!(projections.query.len(), batch * self.q_len * self.d_model, "queries [batch * q_len, d_model]");
        assert_eq!(projections.key.len(), batch * self.k_len * self.d_model, "keys [batch * k_len, d_model]");
        assert_eq!(projections.value.len(), projections.key.len(), "values [batch * k_len, d_model]");
        assert!(self.key_lengths.iter().all(|n| *n <= self.k_len), "more real keys than keys");
        if let Some(rotation) = self.rotation {
            let need = self.q_len.max(self.k_len) * self.d_head() / 2;
            assert!(rotation.cos.len() >= need && rotation.sin.len() >= need, "the rotation's tables are too short");
        }
    }
}

/// softmax(q kᵀ / sqrt(d_head)) v for each head, `[batch * q_len, d_model]`.
///
/// # Panics
/// If the shapes do not fit.
#[must_use]
pub fn forward(projections: Projections<'_>, shape: AttentionShape<'_>) -> Vec<f32> {
    shape.check(projections);
    let mut output = vec![0.0; projections.query.len()];
    output.par_chunks_mut((shape.q_len * shape.d_model).max(1)).enumerate().for_each_init(
        || Head::new(&shape),
        |head, (sentence, output)| {
            for h in 0..shape.n_heads {
                head.load(projections, &shape, sentence, h);
                head.probabilities(&shape, sentence);
                head.drop(&shape, sentence, h);
                shape.precision.product(
                    MatrixMut::strided(&mut output[h * shape.d_head()..], shape.q_len, shape.d_head(), shape.d_model),
                    Onto::Nothing,
                    Matrix::dense(&head.dropped, shape.q_len, shape.k_len),
                    value(projections, &shape, sentence, h),
                    Workers::Caller,
                );
            }
        },
    );
    output
}

/// The gradients, from the gradient `upstream` of the output.
///
/// # Panics
/// If the shapes do not fit.
#[must_use]
pub fn backward(projections: Projections<'_>, upstream: &[f32], shape: AttentionShape<'_>) -> ProjectionGradients {
    shape.check(projections);
    let mut gradients = ProjectionGradients {
        query: vec![0.0; projections.query.len()],
        key: vec![0.0; projections.key.len()],
        value: vec![0.0; projections.value.len()],
    };
    let (q_size, k_size) = ((shape.q_len * shape.d_model).max(1), (shape.k_len * shape.d_model).max(1));
    gradients
        .query
        .par_chunks_mut(q_size)
        .zip(gradients.key.par_chunks_mut(k_size))
        .zip(gradients.value.par_chunks_mut(k_size))
        .enumerate()
        .for_each_init(
            || Head::new(&shape),
            |head, (sentence, ((d_query, d_key), d_value))| {
                for h in 0..shape.n_heads {
                    head.backward(projections, upstream, &shape, (sentence, h), [d_query, d_key, d_value]);
                }
            },
        );
    gradients
}

fn value<'a>(projections: Projections<'a>, shape: &AttentionShape<'_>, sentence: usize, h: usize) -> Matrix<'a> {
    let start = sentence * shape.k_len * shape.d_model + h * shape.d_head();
    Matrix::strided(&projections.value[start..], shape.k_len, shape.d_head(), shape.d_model)
}

/// One head of one sentence: the scratch space of a thread.
struct Head {
    /// Rotated queries, `[q_len, d_head]`.
    query: Vec<f32>,
    /// Rotated keys, `[k_len, d_head]`.
    key: Vec<f32>,
    /// softmax(q kᵀ / sqrt(d_head)), `[q_len, k_len]`.
    probabilities: Vec<f32>,
    /// The same after dropout.
    dropped: Vec<f32>,
    /// Gradient of the scores, `[q_len, k_len]`.
    gradient: Vec<f32>,
}

impl Head {
    fn new(shape: &AttentionShape<'_>) -> Self {
        let (scores, d_head) = (shape.q_len * shape.k_len, shape.d_head());
        Self {
            query: vec![0.0; shape.q_len * d_head],
            key: vec![0.0; shape.k_len * d_head],
            probabilities: vec![0.0; scores],
            dropped: vec![0.0; scores],
            gradient: vec![0.0; scores],
        }
    }

    fn load(&mut self, projections: Projections<'_>, shape: &AttentionShape<'_>, sentence: usize, h: usize) {
        let first = h * shape.d_head();
        let (q_size, k_size) = (shape.q_len * shape.d_model, shape.k_len * shape.d_model);
        let gather = |out: &mut [f32], rows: &[f32]| {
            for (position, (out, row)) in
                out.chunks_exact_mut(shape.d_head()).zip(rows.chunks_exact(shape.d_model)).enumerate()
            {
                out.copy_from_slice(&row[first..first + shape.d_head()]);
                rotate(out, shape.rotation, position, 1.0);
            }
        };
        gather(&mut self.query, &projections.query[sentence * q_size..][..q_size]);
        gather(&mut self.key, &projections.key[sentence * k_size..][..k_size]);
    }

    fn probabilities(&mut self, shape: &AttentionShape<'_>, sentence: usize) {
        let (q_len, k_len, d_head) = (shape.q_len, shape.k_len, shape.d_head());
        shape.precision.product(
            MatrixMut::dense(&mut self.probabilities, q_len, k_len),
            Onto::Nothing,
            Matrix::dense(&self.query, q_len, d_head),
            Matrix::dense(&self.key, k_len, d_head).transposed(),
            Workers::Caller,
        );
        let real = shape.key_lengths[sentence];
        for (i, row) in self.probabilities.chunks_exact_mut(k_len.max(1)).enumerate() {
            let seen = match shape.direction {
                Direction::Both => real,
                Direction::Past => real.min(i + 1),
            };
            let (seen, hidden) = row.split_at_mut(seen);
            softmax(seen, shape.scale());
            hidden.fill(0.0);
        }
    }

    /// Applies dropout to the probabilities, or copies them.
    fn drop(&mut self, shape: &AttentionShape<'_>, sentence: usize, h: usize) {
        self.dropped.copy_from_slice(&self.probabilities);
        if let Some(mask) = shape.dropout {
            let start = (sentence * shape.n_heads + h) * shape.q_len * shape.k_len;
            dropout::apply_from(&mut self.dropped, start, mask);
        }
    }

    fn backward(
        &mut self,
        projections: Projections<'_>,
        upstream: &[f32],
        shape: &AttentionShape<'_>,
        (sentence, h): (usize, usize),
        [d_query, d_key, d_value]: [&mut [f32]; 3],
    ) {
        let (q_len, k_len, d_head, d_model) = (shape.q_len, shape.k_len, shape.d_head(), shape.d_model);
        self.load(projections, shape, sentence, h);
        self.probabilities(shape, sentence);
        self.drop(shape, sentence, h);
        let first = h * d_head;
        let upstream = Matrix::strided(&upstream[sentence * q_len * d_model + first..], q_len, d_head, d_model);
        let product = |to: &mut [f32], rows, columns, stride, a, b| {
            let to = MatrixMut::strided(to, rows, columns, stride);
            shape.precision.product(to, Onto::Nothing, a, b, Workers::Caller);
        };
        let dropped = Matrix::dense(&self.dropped, q_len, k_len);
        product(&mut d_value[first..], k_len, d_head, d_model, dropped.transposed(), upstream);
        let values = value(projections, shape, sentence, h).transposed();
        product(&mut self.gradient, q_len, k_len, k_len, upstream, values);
        if let Some(mask) = shape.dropout {
            dropout::apply_from(&mut self.gradient, (sentence * shape.n_heads + h) * q_len * k_len, mask);
        }
        let rows = self.gradient.chunks_exact_mut(k_len.max(1)).zip(self.probabilities.chunks_exact(k_len.max(1)));
        rows.for_each(|(gradient, probabilities)| softmax_backward(gradient, probabilities, shape.scale()));
        let scores = Matrix::dense(&self.gradient, q_len, k_len);
        product(&mut d_query[first..], q_len, d_head, d_model, scores, Matrix::dense(&self.key, k_len, d_head));
        let query = Matrix::dense(&self.query, q_len, d_head);
        product(&mut d_key[first..], k_len, d_head, d_model, scores.transposed(), query);
        for rows in [d_query, d_key] {
            for (position, row) in rows.chunks_exact_mut(d_model).enumerate() {
                rotate(&mut row[first..first + d_head], shape.rotation, position, -1.0);
            }
        }
    }
}

/// Turns each pair of a head's row by its position's angles; `sign` -1 turns it back.
fn rotate(row: &mut [f32], rotation: Option<Rotation<'_>>, position: usize, sign: f32) {
    let Some(Rotation { cos, sin }) = rotation else { return };
    let half = row.len() / 2;
    let (cos, sin) = (&cos[position * half..][..half], &sin[position * half..][..half]);
    rotate_pairs(row, cos, sin, sign);
}

vectorised! {
    fn rotate_pairs(row: &mut [f32], cos: &[f32], sin: &[f32], sign: f32) {
        for ((pair, cos), sin) in row.chunks_exact_mut(2).zip(cos).zip(sin) {
            let (x, y, sin) = (pair[0], pair[1], sin * sign);
            pair[0] = x * cos - y * sin;
            pair[1] = x * sin + y * cos;
        }
    }
}

vectorised! {
    /// softmax(scale * x) in place.
    fn softmax(row: &mut [f32], scale: f32) {
        let mut max = f32::NEG_INFINITY;
        for x in row.iter_mut() {
            *x *= scale;
            max = if *x > max { *x } else { max };
        }
        let mut sum = 0.0;
        for x in row.iter_mut() {
            *x = exp(*x - max);
        }
        for x in row.iter() {
            sum += x;
        }
        let inverse = 1.0 / sum;
        for x in row.iter_mut() {
            *x *= inverse;
        }
    }
}

vectorised! {
    /// Turns the gradient of the probabilities into that of the unscaled scores: scale * p * (g - Σ p g).
    fn softmax_backward(gradient: &mut [f32], probabilities: &[f32], scale: f32) {
        let mut mean = 0.0;
        for (g, p) in gradient.iter().zip(probabilities) {
            mean += g * p;
        }
        for (g, p) in gradient.iter_mut().zip(probabilities) {
            *g = scale * p * (*g - mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: usize = 2;
    const SHAPE: AttentionShape<'_> = AttentionShape {
        n_heads: 2,
        d_model: 8,
        q_len: 5,
        k_len: 5,
        key_lengths: &[5, 3],
        direction: Direction::Past,
        rotation: None,
        dropout: None,
        precision: Precision::F32,
    };

    fn numbers(seed: usize) -> Vec<f32> {
        (0..BATCH * 5 * 8).map(|i| (((i + seed) * 7919) % 997) as f32 / 500.0 - 1.0).collect()
    }

    fn tables() -> (Vec<f32>, Vec<f32>) {
        (0..10).map(|i| (i / 2) as f32 * 100f32.powi(-(i % 2))).map(|a| (a.cos(), a.sin())).unzip()
    }

    /// Σ output * weights, computed anew in f64 without rotation.
    fn plain(projections: Projections<'_>, shape: AttentionShape<'_>) -> Vec<f64> {
        let (d_model, d_head) = (shape.d_model, shape.d_head());
        let at = |rows: &[f32], row: usize, column: usize| f64::from(rows[row * d_model + column]);
        let mut output = vec![0.0; projections.query.len()];
        for sentence in 0..BATCH {
            for h in 0..shape.n_heads {
                for i in 0..shape.q_len {
                    let seen = shape.key_lengths[sentence].min(i + 1);
                    let (q, first) = (sentence * shape.q_len + i, h * d_head);
                    let score = |j: usize| {
                        let k = sentence * shape.k_len + j;
                        let dot = |c| at(projections.query, q, c) * at(projections.key, k, c);
                        (first..first + d_head).map(dot).sum::<f64>() / (d_head as f64).sqrt()
                    };
                    let total: f64 = (0..seen).map(|j| score(j).exp()).sum();
                    for c in first..first + d_head {
                        let mix = |j| score(j).exp() / total * at(projections.value, sentence * shape.k_len + j, c);
                        output[q * d_model + c] = (0..seen).map(mix).sum();
                    }
                }
            }
        }
        output
    }

    #[test]
    fn it_is_the_softmax_of_the_scores_over_the_keys_seen() {
        let (query, key, value) = (numbers(1), numbers(2), numbers(3));
        let projections = Projections { query: &query, key: &key, value: &value };
        for (got, want) in forward(projections, SHAPE).iter().zip(plain(projections, SHAPE)) {
            assert!((f64::from(*got) - want).abs() < 1e-6, "{got} {want}");
        }
    }

    #[test]
    fn its_gradients_are_its_slopes() {
        let (cos, sin) = tables();
        let mask = DropoutMask { probability: 0.3, seed: 5 };
        let rotation = Some(Rotation { cos: &cos, sin: &sin });
        let shape = AttentionShape { rotation, dropout: Some(mask), direction: Direction::Both, ..SHAPE };
        let (upstream, inputs) = (numbers(9), [numbers(1), numbers(2), numbers(3)]);
        let sum = |inputs: &[Vec<f32>; 3]| -> f64 {
            let projections = Projections { query: &inputs[0], key: &inputs[1], value: &inputs[2] };
            forward(projections, shape).iter().zip(&upstream).map(|(o, w)| f64::from(o * w)).sum()
        };
        let projections = Projections { query: &inputs[0], key: &inputs[1], value: &inputs[2] };
        let gradients = backward(projections, &upstream, shape);
        for (which, gradient) in [gradients.query, gradients.key, gradients.value].iter().enumerate() {
            for i in [0, 3, 17, 39, 40, 61, 79] {
                let moved = |by: f32| {
                    let mut inputs = inputs.clone();
                    inputs[which][i] += by;
                    sum(&inputs)
                };
                let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                assert!((f64::from(gradient[i]) - slope).abs() < 2e-4, "{which} {i}: {} {slope}", gradient[i]);
            }
        }
    }

    #[test]
    fn padded_keys_have_no_influence() {
        let (query, key, value) = (numbers(1), numbers(2), numbers(3));
        let before = forward(Projections { query: &query, key: &key, value: &value }, SHAPE);
        let poison = |rows: &[f32]| {
            let mut rows = rows.to_vec();
            rows[(5 + 3) * 8..].fill(1e6);
            rows
        };
        let (key, value) = (poison(&key), poison(&value));
        assert_eq!(before, forward(Projections { query: &query, key: &key, value: &value }, SHAPE));
    }
}
