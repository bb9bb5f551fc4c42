//! A linear layer: packed weights and a bias, read from one tensor or from several that are applied together.

use std::io::{Read, Seek};

use umlaut_kernels::inference::{Activations, Matrix, Precision, Write, product};

use crate::EngineError;
use crate::weights::{Row, WeightFile};

/// `y = x W^T + b`.
pub(crate) struct Linear {
    weights: Matrix,
    bias: Vec<f32>,
}

/// A tensor that is part of a linear layer, and where its outputs go.
pub(crate) struct Part {
    /// Without `.weight` and `.bias`.
    pub(crate) name: String,
    /// The order of the outputs within each head.
    pub(crate) order: Order,
}

/// The order of outputs within heads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As stored.
    Stored,
    /// Heads of `d_head` outputs, stored as interleaved pairs, become half-split: rotation then works on whole vectors,
    /// and products of queries and keys stay what they were.
    HalvesOfPairs {
        /// Outputs in a head.
        d_head: usize,
    },
}

impl Order {
    fn place(self, row: usize) -> usize {
        match self {
            Self::Stored => row,
            Self::HalvesOfPairs { d_head } => {
                let (head, within) = (row / d_head, row % d_head);
                head * d_head + within / 2 + within % 2 * (d_head / 2)
            }
        }
    }
}

impl Linear {
    /// Reads parts of `[d_out, d_in]` each, whose outputs stand one part after the other.
    pub(crate) fn read<R: Read + Seek>(
        file: &mut WeightFile<R>,
        precision: Precision,
        parts: &[Part],
        [d_out, d_in]: [usize; 2],
    ) -> Result<Self, EngineError> {
        for part in parts {
            file.expect(&format!("{}.weight", part.name), &[d_out, d_in])?;
        }
        let mut weights = Matrix::zeros(precision, parts.len() * d_out, d_in);
        let mut bias = vec![0.0; parts.len() * d_out];
        for (i, part) in parts.iter().enumerate() {
            let place = |row| i * d_out + part.order.place(row);
            let name = format!("{}.weight", part.name);
            file.rows(&name, [d_out, d_in], |row, values| set_row(&mut weights, place(row), values))?;
            let values = file.vector(&format!("{}.bias", part.name), d_out)?;
            values.into_iter().enumerate().for_each(|(row, value)| bias[place(row)] = value);
        }
        Ok(Self { weights, bias })
    }

    /// Applies the layer to `x`, `[rows, d_in]`, into `out`, which becomes `[rows, d_out]`.
    pub(crate) fn apply(&self, x: &Activations, write: Write, out: &mut Vec<f32>) {
        out.resize(x.rows() * self.weights.d_out(), 0.0);
        product(x, &self.weights, &self.bias, write, out);
    }
}

/// Reads an embedding table `[vocab, d_model]`.
pub(crate) fn read_table<R: Read + Seek>(
    file: &mut WeightFile<R>,
    precision: Precision,
    name: &str,
    shape: [usize; 2],
) -> Result<Matrix, EngineError> {
    file.expect(name, &shape)?;
    let mut table = Matrix::zeros(precision, shape[0], shape[1]);
    file.rows(name, shape, |row, values| set_row(&mut table, row, values))?;
    Ok(table)
}

fn set_row(matrix: &mut Matrix, row: usize, values: Row<'_>) {
    match values {
        Row::F32(values) => matrix.set_row(row, values),
        Row::Int8(codes, scale) => matrix.set_quantised_row(row, codes, scale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_halves_in_each_head() {
        let order = Order::HalvesOfPairs { d_head: 4 };
        assert_eq!((0..8).map(|row| order.place(row)).collect::<Vec<_>>(), [0, 2, 1, 3, 4, 6, 5, 7]);
    }
}
