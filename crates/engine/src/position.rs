//! Positions: rotary angles or sinusoids, whichever the model uses.

use umlaut_kernels::inference::{RotaryTable, rotate};

use crate::config::{Config, PositionKind};

/// Tables that grow with the positions asked for.
pub(crate) enum Positions {
    /// Turns queries and keys.
    Rope(RotaryTable),
    /// Is added to embeddings, `[positions, d_model]`.
    Sinusoidal { d_model: usize, table: Vec<f32> },
}

impl Positions {
    pub(crate) fn new(config: &Config) -> Self {
        match config.positions {
            PositionKind::Rope => Self::Rope(RotaryTable::new(config.heads().d_head, config.rope_theta)),
            PositionKind::Sinusoidal => Self::Sinusoidal { d_model: config.d_model, table: Vec::new() },
        }
    }

    /// Makes the tables hold positions `0..len`.
    pub(crate) fn extend_to(&mut self, len: usize) {
        match self {
            Self::Rope(table) => table.extend_to(len),
            Self::Sinusoidal { d_model, table } => {
                for position in table.len() / *d_model..len {
                    for i in 0..*d_model / 2 {
                        // PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same.
                        let angle = position as f64 / 10_000_f64.powf(2.0 * i as f64 / *d_model as f64);
                        table.extend([angle.sin() as f32, angle.cos() as f32]);
                    }
                }
            }
        }
    }

    /// Adds the position's sinusoid to an embedding, if the model uses sinusoids.
    pub(crate) fn add_to(&self, position: usize, embedding: &mut [f32]) {
        if let Self::Sinusoidal { d_model, table } = self {
            let sinusoid = &table[position * d_model..(position + 1) * d_model];
            embedding.iter_mut().zip(sinusoid).for_each(|(x, sinusoid)| *x += sinusoid);
        }
    }

    /// Turns queries and keys of one token, `[n_heads, d_head]` of either kind in a row, if the model rotates.
    pub(crate) fn rotate(&self, position: usize, heads: &mut [f32]) {
        if let Self::Rope(table) = self {
            rotate(table, position, heads);
        }
    }
}
