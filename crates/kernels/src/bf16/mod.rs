//! Products of f32 matrices whose operands are rounded to bf16 and whose sums are f32.
//!
//! The operands are packed once into panels of 32 rows or columns, in the layout that both of Intel's instruction sets
//! for bf16 read: pairs of neighbours along the depth, 16 pairs a cache line. AMX multiplies tiles of 16 lines, AVX-512 BF16
//! one line at a time.

#[cfg(target_arch = "x86_64")]
mod block;
#[cfg(target_arch = "x86_64")]
mod pack;

use crate::sgemm::{Matrix, MatrixMut, Onto, Workers};
#[cfg(target_arch = "x86_64")]
use crate::tiles::TileProduct;

/// Instructions that multiply bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Tiles (AMX-BF16).
    Tiles,
    /// Vectors (AVX-512 BF16).
    Vectors,
}

/// The right operand of several products, rounded and laid out once.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct Packed {
    unit: Unit,
    lines: Vec<pack::Line>,
    rows: usize,
    columns: usize,
}

#[cfg(target_arch = "x86_64")]
impl Packed {
    /// [`Unit::product`] with this as `b`; the result is the same.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(&self, c: MatrixMut<'_>, onto: Onto, a: Matrix<'_>, workers: Workers) {
        c.assert_holds(a, (self.rows, self.columns));
        if !c.is_empty() {
            x86::product_with(self.unit, &mut { c }, onto, a, &self.lines, workers);
        }
    }
}

impl Unit {
    /// The faster of those that this processor has and this system allows; none elsewhere.
    #[must_use]
    pub fn detect() -> Option<Self> {
        Self::all().next()
    }

    /// All that this processor has, the fastest first.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Tiles, Self::Vectors].into_iter().filter(|unit| unit.is_available())
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        let has_vectors = is_x86_feature_detected!("avx512bf16")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        has_vectors && (self == Self::Vectors || TileProduct::Bf16.is_available())
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        false
    }

    /// `c = a · b`, or `c += a · b`, with both operands rounded to bf16.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(self, c: MatrixMut<'_>, onto: Onto, a: Matrix<'_>, b: Matrix<'_>, workers: Workers) {
        c.assert_holds(a, (b.rows, b.columns));
        if c.is_empty() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        x86::product(self, &mut { c }, onto, a, b, workers);
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("{self:?} is not available here: {onto:?} {workers:?}");
    }

    /// Lays out the right operand of several products.
    #[cfg(target_arch = "x86_64")]
    #[must_use]
    pub fn pack(self, b: Matrix<'_>, workers: Workers) -> Packed {
        let mut lines = Vec::new();
        pack::pack(&mut lines, b, pack::Layout::Pairs, workers);
        Packed { unit: self, lines, rows: b.rows, columns: b.columns }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::cell::Cell;

    use rayon::prelude::*;

    use super::Unit;
    use super::block::{self, Block, SIDE};
    use super::pack::{self, Layout, Line, PANEL_LINES};
    use crate::sgemm::{Matrix, MatrixMut, Onto, Workers};

    /// Depth that is multiplied before any more of it, in steps of 32: a panel's part of it, 32 KB, stays in the first
    /// cache while the other operand streams past.
    const STEPS: usize = 16;
    /// Panels of the right operand that every panel of the left one passes before the next: at most 1 MB of the second
    /// cache.
    const GROUP: usize = 32;

    thread_local! {
        /// Room for the packed operands, left and right, kept because fresh pages cost more than filling them.
        static LEFT: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
        static RIGHT: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
    }

    pub(super) fn product(
        unit: Unit,
        c: &mut MatrixMut<'_>,
        onto: Onto,
        a: Matrix<'_>,
        b: Matrix<'_>,
        workers: Workers,
    ) {
        // Taken, not borrowed: a thread that waits inside may be given another product to make.
        let mut right = RIGHT.take();
        pack::pack(&mut right, b, Layout::Pairs, workers);
        product_with(unit, c, onto, a, &right, workers);
        RIGHT.set(right);
    }

    pub(super) fn product_with(
        unit: Unit,
        c: &mut MatrixMut<'_>,
        onto: Onto,
        a: Matrix<'_>,
        right: &[Line],
        workers: Workers,
    ) {
        let steps = pack::steps(a.columns);
        let mut left = LEFT.take();
        pack::pack(&mut left, a.transposed(), Layout::Rows, workers);
        let (columns, row_stride) = (c.columns, c.row_stride);
        let panels = c.rows.div_ceil(SIDE);
        let threads = if workers == Workers::Pool { rayon::current_num_threads() } else { 1 };
        let panels_each = panels.div_ceil(threads);
        let multiply = |share: usize, rows: &mut [f32], count: usize| {
            let left = &left[share * panels_each * steps * PANEL_LINES..];
            multiply(unit, MatrixMut::strided(rows, count, columns, row_stride), onto, (left, right), steps);
        };
        if threads == 1 {
            multiply(0, c.data, c.rows);
        } else {
            let rows_each = panels_each * SIDE;
            let total = c.rows;
            c.data.par_chunks_mut(rows_each * row_stride).enumerate().for_each(|(share, rows)| {
                if share * rows_each < total {
                    multiply(share, rows, rows_each.min(total - share * rows_each));
                }
            });
        }
        LEFT.set(left);
    }

    /// Multiplies packed panels into `c`.
    fn multiply(unit: Unit, mut c: MatrixMut<'_>, onto: Onto, (left, right): (&[Line], &[Line]), steps: usize) {
        let session = block::Session::begin(unit);
        if steps == 0 && onto == Onto::Nothing {
            (0..c.rows).for_each(|row| c.row(row).fill(0.0));
        }
        for first in (0..steps).step_by(STEPS) {
            let count = STEPS.min(steps - first);
            let part = |panel: usize| {
                let start = (panel * steps + first) * PANEL_LINES;
                start..start + count * PANEL_LINES
            };
            let onto = if first == 0 { onto } else { Onto::Old };
            let (rows, columns) = (c.rows.div_ceil(SIDE), c.columns.div_ceil(SIDE));
            for group in (0..columns).step_by(GROUP) {
                for i in 0..rows {
                    let left = &left[part(i)];
                    for j in group..columns.min(group + GROUP) {
                        let right = &right[part(j)];
                        session.multiply(Block::of(&mut c, i * SIDE, j * SIDE), onto, left, right);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: u32) -> Vec<f32> {
        (0..n as u32).map(|i| ((i.wrapping_mul(2_654_435_761) ^ seed) % 1009) as f32 / 500.0 - 1.0).collect()
    }

    /// To the nearest bf16, ties to even.
    fn rounded(x: f32) -> f64 {
        let bits = x.to_bits();
        f64::from(f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000))
    }

    /// The units of this machine; a test without any has nothing to look at, and [`Precision`](crate::precision) falls
    /// back to f32 there.
    fn units() -> Vec<Unit> {
        Unit::all().collect()
    }

    #[test]
    fn a_product_is_the_sum_of_products_of_rounded_operands_in_every_orientation() {
        let shapes = [(1, 1, 1), (32, 32, 32), (33, 17, 65), (40, 70, 1100), (16, 16, 31), (5, 3, 0), (0, 4, 4)];
        for (unit, (rows, columns, depth)) in units().into_iter().flat_map(|unit| shapes.map(|shape| (unit, shape))) {
            let (left, right) = (numbers(rows * depth, 1), numbers(depth * columns, 2));
            let turned = |data: &[f32], width: usize| -> Vec<f32> {
                let height = data.len() / width.max(1);
                (0..data.len()).map(|at| data[at % height * width + at / height]).collect()
            };
            let (left_turned, right_turned) = (turned(&left, depth), turned(&right, columns));
            let lefts = [Matrix::dense(&left, rows, depth), Matrix::dense(&left_turned, depth, rows).transposed()];
            let rights =
                [Matrix::dense(&right, depth, columns), Matrix::dense(&right_turned, columns, depth).transposed()];
            let sum = |at: usize| -> f64 {
                let (row, column) = (at / columns, at % columns);
                (0..depth).map(|i| rounded(left[row * depth + i]) * rounded(right[i * columns + column])).sum()
            };
            for (orientation, onto) in (0..4).flat_map(|i| [(i, Onto::Nothing), (i, Onto::Old)]) {
                let mut product = vec![1.0; rows * columns];
                let to = MatrixMut::dense(&mut product, rows, columns);
                unit.product(to, onto, lefts[orientation % 2], rights[orientation / 2], Workers::Caller);
                for (at, got) in product.iter().enumerate() {
                    let want = sum(at) + if onto == Onto::Old { 1.0 } else { 0.0 };
                    assert!(
                        (f64::from(*got) - want).abs() < 1e-6 * depth.max(100) as f64,
                        "{unit:?} {rows}x{columns}x{depth} {onto:?} {orientation} at {at}: {got}, not {want}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_pool_computes_what_the_caller_computes() {
        let (rows, columns, depth) = (130, 257, 700);
        let (left, right) = (numbers(rows * depth, 3), numbers(depth * columns, 4));
        for unit in units() {
            let product = |workers| {
                let mut product = vec![0.0; rows * columns];
                let to = MatrixMut::dense(&mut product, rows, columns);
                let (left, right) = (Matrix::dense(&left, rows, depth), Matrix::dense(&right, depth, columns));
                unit.product(to, Onto::Nothing, left, right, workers);
                product
            };
            assert_eq!(product(Workers::Caller), product(Workers::Pool), "{unit:?}");
        }
    }

    #[test]
    fn an_operand_laid_out_before_gives_the_same_product() {
        let (rows, columns, depth) = (70, 90, 600);
        let (left, right) = (numbers(rows * depth, 7), numbers(depth * columns, 8));
        let a = Matrix::dense(&left, rows, depth);
        for (unit, b) in units().into_iter().flat_map(|unit| {
            [Matrix::dense(&right, depth, columns), Matrix::dense(&right, columns, depth).transposed()]
                .map(|b| (unit, b))
        }) {
            let (mut whole, mut parts) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
            unit.product(MatrixMut::dense(&mut whole, rows, columns), Onto::Nothing, a, b, Workers::Caller);
            let packed = unit.pack(b, Workers::Pool);
            // Two products, of fewer rows each.
            for (part, left) in parts.chunks_mut(40 * columns).zip(left.chunks(40 * depth)) {
                let rows = left.len() / depth;
                let (c, a) = (MatrixMut::dense(part, rows, columns), Matrix::dense(left, rows, depth));
                packed.product(c, Onto::Nothing, a, Workers::Caller);
            }
            assert_eq!(whole, parts, "{unit:?}");
        }
    }

    #[test]
    fn what_lies_between_the_rows_of_the_destination_stays() {
        let (left, right) = (numbers(40 * 8, 5), numbers(8 * 6, 6));
        for unit in units() {
            let mut c = vec![7.0; 40 * 10];
            let (a, b) = (Matrix::dense(&left, 40, 8), Matrix::dense(&right, 8, 6));
            unit.product(MatrixMut::strided(&mut c, 40, 6, 10), Onto::Nothing, a, b, Workers::Caller);
            assert!(c.chunks(10).all(|row| row[6..] == [7.0; 4]), "{unit:?}");
        }
    }
}
