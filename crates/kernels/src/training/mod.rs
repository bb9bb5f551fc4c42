//! Forward and backward passes of training, each fused into one sweep over memory.
//!
//! All of them give the same bits whatever the number of threads: work is cut into pieces of a fixed size, and partial
//! sums are added in the order of the pieces.

pub mod adam;
pub mod attention;
pub mod cross_entropy;
pub mod dropout;
mod exp;
pub mod linear;
pub mod norm;

/// Rows that one thread takes at a time.
const ROWS_PER_PIECE: usize = 64;

/// Adds the columns of `rows` (`[rows, width]`) in a fixed order.
fn column_sums(rows: &[f32], width: usize) -> Vec<f32> {
    use rayon::prelude::*;
    let partial: Vec<Vec<f32>> = rows
        .par_chunks(ROWS_PER_PIECE * width)
        .map(|piece| {
            let mut sums = vec![0.0; width];
            for row in piece.chunks_exact(width) {
                add(&mut sums, row);
            }
            sums
        })
        .collect();
    let mut sums = vec![0.0; width];
    for piece in &partial {
        add(&mut sums, piece);
    }
    sums
}

fn add(sums: &mut [f32], row: &[f32]) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += value;
    }
}
