//! Products of activation rows with packed weights.
//!
//! Each output is one chain of multiply-adds over the inputs, first to last, whatever the number of rows: f32 results
//! are the same to the bit for a row alone and for a row among many, and int8 sums are exact in any case. A tile of up
//! to [`TILE_ROWS`] rows and some vectors of columns stays in registers while it runs through a stretch of the inputs
//! short enough for the panel's part to remain in the first cache; the epilogue takes finished sums out of registers.

use super::activations::{Activations, Form};
use super::linear::{ADD, ASSIGN, Linear, RELU};
use super::matrix::{Matrix, PANEL, WORD, Weights};
use super::simd::{LANES, Simd, on_best_isa};
#[cfg(target_arch = "x86_64")]
use super::tiled;

/// The most rows of a tile: with four vectors of columns, 24 of AVX-512's 32 registers hold sums.
const TILE_ROWS: usize = 6;
/// Input words in a stretch: 32 KiB of a panel.
const STRETCH: usize = 128;

/// What a product does with what it computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// `out = x W^T + b`.
    Assign,
    /// `out = max(x W^T + b, 0)`.
    Relu,
    /// `out = out + x W^T + b`: the residual connection.
    Add,
}

/// Multiplies `x`, `[rows, d_in]`, with `weights`, `[d_out, d_in]`, and writes `out`, `[rows, d_out]`, with `bias`,
/// `[d_out]`, added.
///
/// # Panics
/// If shapes or precisions do not fit.
pub fn product(x: &Activations, weights: &Matrix, bias: &[f32], write: Write, out: &mut [f32]) {
    let d_out = weights.d_out();
    assert!(
        bias.len() == d_out && out.len() == x.rows * d_out,
        "[{}, {}] with a bias of {} into {}",
        x.rows,
        x.d,
        bias.len(),
        out.len()
    );
    match write {
        Write::Assign => run(x, weights, &mut Linear::<ASSIGN> { bias, d_out, out }),
        Write::Relu => run(x, weights, &mut Linear::<RELU> { bias, d_out, out }),
        Write::Add => run(x, weights, &mut Linear::<ADD> { bias, d_out, out }),
    }
}

/// Takes a product's results as they leave the registers.
pub(crate) trait Epilogue {
    /// Columns `column..` of `row`: `values` one vector after the other. Those at or beyond the matrix's `d_out` are
    /// padding.
    fn take<S: Simd, const N: usize>(&mut self, simd: S, row: usize, column: usize, values: &[S::F32; N]);
}

/// Runs a product and hands its results to `epilogue`.
///
/// # Panics
/// If shapes or precisions do not fit.
pub(crate) fn run<E: Epilogue>(x: &Activations, weights: &Matrix, epilogue: &mut E) {
    assert_eq!(x.d, weights.d_in(), "rows of {} for weights [{}, {}]", x.d, weights.d_out(), weights.d_in());
    let shape = Shape { rows: x.rows, words: weights.words(), panels: weights.d_out().div_ceil(PANEL) };
    match (&x.form, &weights.weights) {
        (Form::F32(x), Weights::F32(weights)) => run_f32(shape, x, weights, epilogue),
        (Form::Int8 { codes, scales }, Weights::Int8 { codes: weights, scales: columns, corrections }) => {
            let arithmetic = Int8 { row_scales: scales, column_scales: columns, corrections };
            run_int8(shape, codes, weights, arithmetic, epilogue);
        }
        _ => panic!("activations and weights of different precisions"),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) words: usize,
    pub(super) panels: usize,
}

fn run_f32<E: Epilogue>(shape: Shape, x: &[f32], weights: &[f32], epilogue: &mut E) {
    assert!(x.len() >= shape.rows * shape.words && weights.len() >= shape.panels * shape.words * PANEL);
    on_best_isa! {
        fn on_isa[E: Epilogue](operands: Operands, arithmetic: F32, epilogue: &mut E) = panels_on;
    }
    on_isa(Operands { shape, x: x.as_ptr().cast(), weights: weights.as_ptr().cast() }, F32, epilogue);
}

fn run_int8<E: Epilogue>(shape: Shape, x: &[u8], weights: &[i8], arithmetic: Int8<'_>, epilogue: &mut E) {
    assert!(x.len() >= shape.rows * shape.words * WORD && weights.len() >= shape.panels * shape.words * PANEL * WORD);
    assert!(arithmetic.row_scales.len() >= shape.rows);
    assert!(arithmetic.column_scales.len() >= shape.panels * PANEL);
    assert!(arithmetic.corrections.len() >= shape.panels * PANEL);
    let operands = Operands { shape, x: x.as_ptr().cast(), weights: weights.as_ptr().cast() };
    #[cfg(target_arch = "x86_64")]
    if tiled::suits(shape) {
        return tiled::run(operands, arithmetic, epilogue);
    }
    on_best_isa! {
        fn on_isa[E: Epilogue](operands: Operands, arithmetic: Int8<'_>, epilogue: &mut E) = panels_on;
    }
    on_isa(operands, arithmetic, epilogue);
}

/// Both factors, as words. `x` is readable for `[rows, words]`, `weights` for `[panels, words, 64]`: whoever makes one
/// has checked that.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) shape: Shape,
    pub(super) x: *const [u8; WORD],
    pub(super) weights: *const [u8; WORD],
}

/// How words are multiplied and summed.
pub(super) trait Arithmetic: Copy {
    /// Rows of a tile, at most [`TILE_ROWS`].
    fn tile_rows<S: Simd>() -> usize;
    /// A vector of sums.
    type Sums<S: Simd>: Copy;
    /// A vector of words.
    type Words<S: Simd>: Copy;

    /// The sums of columns `column..` before any word.
    fn begin<S: Simd>(self, simd: S, column: usize) -> Self::Sums<S>;
    /// # Safety
    /// `from` is readable for a word.
    unsafe fn splat<S: Simd>(simd: S, from: *const [u8; WORD]) -> Self::Words<S>;
    /// # Safety
    /// `from` is readable for a vector of words.
    unsafe fn load<S: Simd>(simd: S, from: *const [u8; WORD]) -> Self::Words<S>;
    fn multiply_add<S: Simd>(simd: S, sums: Self::Sums<S>, x: Self::Words<S>, weights: Self::Words<S>)
    -> Self::Sums<S>;
    /// # Safety
    /// `to` is writable for a vector of words.
    unsafe fn put_aside<S: Simd>(simd: S, sums: Self::Sums<S>, to: *mut u32);
    /// # Safety
    /// `from` is readable for a vector of words.
    unsafe fn take_up<S: Simd>(simd: S, from: *const u32) -> Self::Sums<S>;
    /// The results of `row` in columns `column..`.
    fn finish<S: Simd>(self, simd: S, sums: Self::Sums<S>, row: usize, column: usize) -> S::F32;
}

#[derive(Clone, Copy)]
struct F32;

impl Arithmetic for F32 {
    type Sums<S: Simd> = S::F32;
    type Words<S: Simd> = S::F32;

    #[inline(always)]
    fn tile_rows<S: Simd>() -> usize {
        S::ROWS
    }

    #[inline(always)]
    fn begin<S: Simd>(self, simd: S, _column: usize) -> S::F32 {
        simd.splat(0.0)
    }

    #[inline(always)]
    unsafe fn splat<S: Simd>(simd: S, from: *const [u8; WORD]) -> S::F32 {
        // SAFETY: the caller's promise.
        simd.splat(unsafe { from.cast::<f32>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const [u8; WORD]) -> S::F32 {
        // SAFETY: the caller's promise.
        unsafe { simd.load_at(from.cast()) }
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, sums: S::F32, x: S::F32, weights: S::F32) -> S::F32 {
        simd.mul_add(x, weights, sums)
    }

    #[inline(always)]
    unsafe fn put_aside<S: Simd>(simd: S, sums: S::F32, to: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe { simd.store_at(sums, to.cast()) }
    }

    #[inline(always)]
    unsafe fn take_up<S: Simd>(simd: S, from: *const u32) -> S::F32 {
        // SAFETY: the caller's promise.
        unsafe { simd.load_at(from.cast()) }
    }

    #[inline(always)]
    fn finish<S: Simd>(self, _simd: S, sums: S::F32, _row: usize, _column: usize) -> S::F32 {
        sums
    }
}

/// Scales to undo the quantisation with, `[rows]` and `[columns]`, and what makes up for the zero point.
#[derive(Clone, Copy)]
pub(super) struct Int8<'a> {
    row_scales: &'a [f32],
    column_scales: &'a [f32],
    pub(super) corrections: &'a [i32],
}

impl Arithmetic for Int8<'_> {
    type Sums<S: Simd> = S::I32;
    type Words<S: Simd> = S::I32;

    #[inline(always)]
    fn tile_rows<S: Simd>() -> usize {
        S::DOT_ROWS
    }

    #[inline(always)]
    fn begin<S: Simd>(self, simd: S, column: usize) -> S::I32 {
        let corrections = &self.corrections[column..column + LANES];
        // SAFETY: the slice has a vector's length.
        simd.begin_dot(unsafe { simd.load_i32_at(corrections.as_ptr()) })
    }

    #[inline(always)]
    unsafe fn splat<S: Simd>(simd: S, from: *const [u8; WORD]) -> S::I32 {
        // SAFETY: the caller's promise.
        simd.splat_codes(u32::from_le_bytes(unsafe { from.read() }))
    }

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const [u8; WORD]) -> S::I32 {
        // SAFETY: the caller's promise.
        unsafe { simd.load_i32_at(from.cast()) }
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, sums: S::I32, x: S::I32, weights: S::I32) -> S::I32 {
        simd.dot(sums, x, weights)
    }

    #[inline(always)]
    unsafe fn put_aside<S: Simd>(simd: S, sums: S::I32, to: *mut u32) {
        // SAFETY: the caller's promise.
        unsafe { simd.store_i32_at(sums, to.cast()) }
    }

    #[inline(always)]
    unsafe fn take_up<S: Simd>(simd: S, from: *const u32) -> S::I32 {
        // SAFETY: the caller's promise.
        unsafe { simd.load_i32_at(from.cast()) }
    }

    #[inline(always)]
    fn finish<S: Simd>(self, simd: S, sums: S::I32, row: usize, column: usize) -> S::F32 {
        let scaled = simd.mul(simd.to_f32(sums), simd.load(&self.column_scales[column..]));
        simd.mul(scaled, simd.splat(self.row_scales[row]))
    }
}

/// The whole product, panel by panel. Tiles are 64 columns wide where there are registers for it, else 16.
#[inline(always)]
fn panels_on<S: Simd, A: Arithmetic, E: Epilogue>(simd: S, operands: Operands, arithmetic: A, epilogue: &mut E) {
    let (shape, tile_rows) = (operands.shape, A::tile_rows::<S>());
    let stretch = if shape.rows <= tile_rows { shape.words.max(1) } else { STRETCH };
    let mut aside = vec![[0_u32; PANEL]; if shape.words > stretch { shape.rows } else { 0 }];
    for panel in 0..shape.panels {
        let mut first = 0;
        loop {
            let words = first..shape.words.min(first + stretch);
            for row in (0..shape.rows).step_by(tile_rows) {
                let tile = Tile { operands, panel, row, words: (words.start, words.end) };
                tile.prefetch_next(simd, tile_rows);
                match tile_rows.min(shape.rows - row) {
                    1 => tile.columns::<S, A, E, 1>(simd, arithmetic, &mut aside, epilogue),
                    2 => tile.columns::<S, A, E, 2>(simd, arithmetic, &mut aside, epilogue),
                    3 => tile.columns::<S, A, E, 3>(simd, arithmetic, &mut aside, epilogue),
                    4 => tile.columns::<S, A, E, 4>(simd, arithmetic, &mut aside, epilogue),
                    5 => tile.columns::<S, A, E, 5>(simd, arithmetic, &mut aside, epilogue),
                    _ => tile.columns::<S, A, E, TILE_ROWS>(simd, arithmetic, &mut aside, epilogue),
                }
            }
            first += stretch;
            if first >= shape.words {
                break;
            }
        }
    }
}

/// Some rows, a panel, and a stretch of the inputs.
#[derive(Clone, Copy)]
struct Tile {
    operands: Operands,
    panel: usize,
    row: usize,
    words: (usize, usize),
}

impl Tile {
    /// Asks for this tile's share of the stretch of weights after this one.
    #[inline(always)]
    fn prefetch_next<S: Simd>(self, simd: S, tile_rows: usize) {
        let Shape { rows, words, panels } = self.operands.shape;
        let tiles = rows.div_ceil(tile_rows);
        let start = self.panel * words + self.words.1;
        let lines = (panels * words).min(start + STRETCH).saturating_sub(start) * PANEL * WORD / 64;
        let share = lines.div_ceil(tiles);
        let tile = self.row / tile_rows;
        let base = self.operands.weights.cast::<u8>().wrapping_add(start * PANEL * WORD);
        for line in tile * share..((tile + 1) * share).min(lines) {
            simd.prefetch(base.wrapping_add(line * 64));
        }
    }

    #[inline(always)]
    fn columns<S: Simd, A: Arithmetic, E: Epilogue, const ROWS: usize>(
        self,
        simd: S,
        arithmetic: A,
        aside: &mut [[u32; PANEL]],
        epilogue: &mut E,
    ) {
        if S::IS_WIDE {
            self.vectors::<S, A, E, ROWS, 4>(simd, arithmetic, aside, epilogue, 0);
        } else {
            for column in (0..PANEL).step_by(LANES) {
                self.vectors::<S, A, E, ROWS, 1>(simd, arithmetic, aside, epilogue, column);
            }
        }
    }

    /// `ROWS` rows by `N` vectors of columns from `column` of the panel.
    #[inline(always)]
    fn vectors<S: Simd, A: Arithmetic, E: Epilogue, const ROWS: usize, const N: usize>(
        self,
        simd: S,
        arithmetic: A,
        aside: &mut [[u32; PANEL]],
        epilogue: &mut E,
        column: usize,
    ) {
        let absolute = self.panel * PANEL + column;
        let mut sums = [[arithmetic.begin(simd, absolute); N]; ROWS];
        for r in 0..ROWS {
            for v in 0..N {
                sums[r][v] = if self.words.0 == 0 {
                    arithmetic.begin(simd, absolute + v * LANES)
                } else {
                    // SAFETY: `column` and `N` vectors fit in a panel.
                    unsafe { A::take_up(simd, aside[self.row + r][column + v * LANES..].as_ptr()) }
                };
            }
        }
        // SAFETY: the tile's rows, panel, columns and words lie within the operands, which are readable throughout.
        let sums = unsafe { self.accumulate::<S, A, ROWS, N>(simd, column, sums) };
        if self.words.1 < self.operands.shape.words {
            for r in 0..ROWS {
                for v in 0..N {
                    let to = aside[self.row + r][column + v * LANES..].as_mut_ptr();
                    // SAFETY: as for taking up.
                    unsafe { A::put_aside(simd, sums[r][v], to) };
                }
            }
            return;
        }
        for (r, sums) in sums.iter().enumerate() {
            let mut values = [simd.splat(0.0); N];
            for v in 0..N {
                values[v] = arithmetic.finish(simd, sums[v], self.row + r, absolute + v * LANES);
            }
            epilogue.take(simd, self.row + r, absolute, &values);
        }
    }

    /// # Safety
    /// Rows `row..row + ROWS`, the panel, `N` vectors from `column` and `words` lie within the operands.
    #[expect(clippy::needless_range_loop, reason = "plain counts unroll into registers")]
    #[inline(always)]
    unsafe fn accumulate<S: Simd, A: Arithmetic, const ROWS: usize, const N: usize>(
        self,
        simd: S,
        column: usize,
        mut sums: [[A::Sums<S>; N]; ROWS],
    ) -> [[A::Sums<S>; N]; ROWS] {
        let stride = self.operands.shape.words;
        // SAFETY: by the caller's promise every pointer formed here stays within its operand.
        unsafe {
            let x = self.operands.x.add(self.row * stride);
            let weights = self.operands.weights.add(self.panel * stride * PANEL + column);
            for word in self.words.0..self.words.1 {
                let mut loaded = [A::load(simd, weights.add(word * PANEL)); N];
                for v in 1..N {
                    loaded[v] = A::load(simd, weights.add(word * PANEL + v * LANES));
                }
                for r in 0..ROWS {
                    let x = A::splat(simd, x.add(r * stride + word));
                    for v in 0..N {
                        sums[r][v] = A::multiply_add(simd, sums[r][v], x, loaded[v]);
                    }
                }
            }
        }
        sums
    }
}
