//! From one layout of the rotary embedding to the other.
//!
//! Interleaved rotates the components (2i, 2i + 1) of a head, half-split (i, i + d_head / 2). Queries and keys whose
//! components stand in another order have the same products, so the layouts differ by a permutation of the rows of the
//! query and key projections in self-attention.

use umlaut_model::{Positions, RopeLayout};

use super::Model;
use super::inventory;

/// Brings the rotations of a model into `layout`; a model without rotations stays as it is.
pub(super) fn lay_out(model: &mut Model, layout: RopeLayout) {
    let config = &mut model.config;
    let d_head = config.d_head();
    if config.positions != Positions::Rope || config.rope_layout == layout {
        return;
    }
    config.rope_layout = layout;
    let turned = ["self_attention.query", "self_attention.key"];
    for part in inventory::parts(&model.config).filter(|part| turned.contains(&part.sublayer)) {
        for (name, shape) in part.arrays() {
            let width = shape.get(1).copied().unwrap_or(1);
            if let Some(array) = model.arrays.get_mut(&name) {
                array.data = permuted(&array.data, width, d_head, layout);
            }
        }
    }
}

/// A layout as the command line calls it.
pub(super) fn word(layout: RopeLayout) -> &'static str {
    match layout {
        RopeLayout::Interleaved => "interleaved",
        RopeLayout::HalfSplit => "half-split",
    }
}

/// The rows of `[n_heads * d_head, width]` in the order of `layout`, from that of the other.
fn permuted(rows: &[f32], width: usize, d_head: usize, layout: RopeLayout) -> Vec<f32> {
    let source = |row: usize| {
        let (head, place) = (row / d_head * d_head, row % d_head);
        head + match layout {
            RopeLayout::HalfSplit => place % (d_head / 2) * 2 + place / (d_head / 2),
            RopeLayout::Interleaved => place / 2 + place % 2 * (d_head / 2),
        }
    };
    let row = |row: usize| &rows[source(row) * width..(source(row) + 1) * width];
    (0..rows.len() / width).flat_map(row).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_halves_within_each_head_and_come_back() {
        let pairs: Vec<f32> = (0..8_u8).map(f32::from).collect();
        let halves = permuted(&pairs, 1, 4, RopeLayout::HalfSplit);
        assert_eq!(halves, [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
        let wide: Vec<f32> = (0..24_u8).map(f32::from).collect();
        let there = permuted(&wide, 2, 6, RopeLayout::HalfSplit);
        assert_eq!(there[..6], [0.0, 1.0, 4.0, 5.0, 8.0, 9.0]);
        assert_eq!(permuted(&there, 2, 6, RopeLayout::Interleaved), wide);
    }
}
