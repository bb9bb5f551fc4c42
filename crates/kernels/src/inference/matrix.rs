//! Weights packed for products: panels of [`PANEL`] output columns, each panel running through the inputs.

use super::activations::quantise_rows;
use super::buffer::Buffer;
use super::simd::ZERO_POINT;

/// Output columns in a panel: a product computes so many at a time, needed or not.
pub const PANEL: usize = 64;
/// Bytes of an input word: one f32, or four consecutive int8 inputs.
pub(crate) const WORD: usize = 4;

/// The arithmetic of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// f32 weights, activations and sums.
    F32,
    /// int8 weights with a scale for each output, int8 activations with a scale for each row, exact i32 sums.
    Int8,
}

/// A weight matrix `[d_out, d_in]`, packed for [`product`](super::product).
pub struct Matrix {
    d_out: usize,
    d_in: usize,
    pub(crate) weights: Weights,
}

/// Packed weights. Panel `p` holds outputs `64p..64p+64`; within it word `i` holds input word `i` of its 64 outputs, one
/// after the other. Outputs and inputs beyond the matrix are zeros.
pub(crate) enum Weights {
    /// `[panels, d_in, 64]`.
    F32(Buffer<f32>),
    /// Codes `[panels, words, 64, 4]`.
    Int8 { codes: Buffer<i8>, scales: Buffer<f32>, corrections: Vec<i32> },
}

impl Matrix {
    /// A matrix of zeros.
    #[must_use]
    pub fn zeros(precision: Precision, d_out: usize, d_in: usize) -> Self {
        let columns = d_out.div_ceil(PANEL) * PANEL;
        let weights = match precision {
            Precision::F32 => Weights::F32(Buffer::zeroed(columns * d_in)),
            Precision::Int8 => Weights::Int8 {
                codes: Buffer::zeroed(columns * d_in.div_ceil(WORD) * WORD),
                scales: Buffer::zeroed(columns),
                corrections: vec![0; columns],
            },
        };
        Self { d_out, d_in, weights }
    }

    /// Outputs.
    #[must_use]
    pub fn d_out(&self) -> usize {
        self.d_out
    }

    /// Inputs.
    #[must_use]
    pub fn d_in(&self) -> usize {
        self.d_in
    }

    /// The arithmetic it is packed for.
    #[must_use]
    pub fn precision(&self) -> Precision {
        match self.weights {
            Weights::F32(_) => Precision::F32,
            Weights::Int8 { .. } => Precision::Int8,
        }
    }

    /// Words of input in a panel.
    pub(crate) fn words(&self) -> usize {
        match self.weights {
            Weights::F32(_) => self.d_in,
            Weights::Int8 { .. } => self.d_in.div_ceil(WORD),
        }
    }

    /// Sets the weights of output `row`, rounding them to codes in an int8 matrix.
    ///
    /// # Panics
    /// If `row` is not below `d_out` or `values` are not `d_in`.
    pub fn set_row(&mut self, row: usize, values: &[f32]) {
        assert!(row < self.d_out && values.len() == self.d_in, "row {row} of {} for {:?}", values.len(), self.shape());
        match &mut self.weights {
            Weights::F32(weights) => {
                let panel = &mut weights[row / PANEL * PANEL * self.d_in..];
                for (to, &value) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(values) {
                    to[row % PANEL] = value;
                }
            }
            Weights::Int8 { .. } => {
                let mut codes = vec![0; values.len()];
                let scale = quantise_weights(values, &mut codes);
                self.set_quantised_row(row, &codes, scale);
            }
        }
    }

    /// Sets the weights of output `row` to `codes * scale`.
    ///
    /// # Panics
    /// If `row` is not below `d_out`, `codes` are not `d_in`, or one of them is -128.
    pub fn set_quantised_row(&mut self, row: usize, codes: &[i8], scale: f32) {
        assert!(row < self.d_out && codes.len() == self.d_in, "row {row} of {} for {:?}", codes.len(), self.shape());
        assert!(!codes.contains(&i8::MIN), "-128 is no weight");
        let words = self.words();
        match &mut self.weights {
            Weights::F32(_) => {
                let values: Vec<f32> = codes.iter().map(|&code| f32::from(code) * scale).collect();
                self.set_row(row, &values);
            }
            Weights::Int8 { codes: packed, scales, corrections } => {
                let panel = &mut packed[row / PANEL * words * PANEL * WORD..];
                let (whole, rest) = codes.as_chunks::<WORD>();
                let mut last = [0; WORD];
                last[..rest.len()].copy_from_slice(rest);
                let places = panel.as_chunks_mut::<WORD>().0.chunks_mut(PANEL);
                for (place, word) in places.zip(whole.iter().chain([&last]).take(words)) {
                    place[row % PANEL] = *word;
                }
                scales[row] = scale;
                corrections[row] = -128 * codes.iter().map(|&code| i32::from(code)).sum::<i32>();
            }
        }
    }

    /// Writes the weights of output `row` to `values`.
    ///
    /// # Panics
    /// If `row` is not below `d_out` or `values` are not `d_in`.
    pub fn copy_row(&self, row: usize, values: &mut [f32]) {
        assert!(row < self.d_out && values.len() == self.d_in, "row {row} of {} for {:?}", values.len(), self.shape());
        let words = self.words();
        match &self.weights {
            Weights::F32(weights) => {
                let first = row / PANEL * PANEL * words + row % PANEL;
                for (value, from) in values.iter_mut().zip(weights[first..].iter().step_by(PANEL)) {
                    *value = *from;
                }
            }
            Weights::Int8 { codes, scales, .. } => {
                let first = (row / PANEL * words * PANEL + row % PANEL) * WORD;
                for (i, values) in values.chunks_mut(WORD).enumerate() {
                    let at = first + i * PANEL * WORD;
                    for (value, &code) in values.iter_mut().zip(&codes[at..]) {
                        *value = f32::from(code) * scales[row];
                    }
                }
            }
        }
    }

    fn shape(&self) -> [usize; 2] {
        [self.d_out, self.d_in]
    }
}

/// Rounds one output's weights, of which there are some, to codes of -127..=127 and gives the scale, `max |w| / 127`, that they are counted in.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn quantise_weights(values: &[f32], codes: &mut [i8]) -> f32 {
    assert_eq!(values.len(), codes.len(), "a code for each weight");
    let mut unsigned = vec![ZERO_POINT; values.len()];
    let mut scale = [0.0];
    quantise_rows(values, values.len(), &mut unsigned, &mut scale);
    for (code, unsigned) in codes.iter_mut().zip(unsigned) {
        *code = (unsigned ^ ZERO_POINT).cast_signed();
    }
    scale[0]
}
