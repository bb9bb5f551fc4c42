//! Rounds f32 to bf16 and lays it out for multiplication.
//!
//! A panel is 32 rows (of the left operand) or columns (of the right one): for each step of 32 along the depth, two tiles
//! of 16 lines of 64 bytes. Row tiles hold a row a line, its 32 neighbours along the depth; pair tiles hold a pair of
//! neighbours along the depth a line, of each of the 16 columns. One is the other transposed, with pairs as elements.
//! Whatever lies outside the matrix is zero.

use std::arch::x86_64::{
    __m256bh, __m256i, __m512, __m512bh, __m512i, _mm512_cvtepu16_epi32, _mm512_cvtne2ps_pbh, _mm512_cvtneps_pbh,
    _mm512_maskz_loadu_ps, _mm512_or_si512, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_slli_epi32,
    _mm512_store_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};
use std::mem::transmute;

use rayon::prelude::*;

use crate::sgemm::{Matrix, Workers};

/// 32 numbers of bf16, a row of a tile.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line([u16; 32]);

impl Line {
    /// The bits of a pair.
    #[inline]
    pub(super) fn pair(&self, pair: usize) -> i32 {
        (u32::from(self.0[2 * pair + 1]) << 16 | u32::from(self.0[2 * pair])) as i32
    }
}

/// Lines of a panel for one step along the depth: two tiles.
pub(super) const PANEL_LINES: usize = 32;
/// Depth of a step.
const STEP: usize = 32;
/// Rows or columns of a tile.
const TILE: usize = 16;

/// What a line of a tile holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A row along the depth: the left operand's.
    Rows,
    /// Pairs along the depth, one of each column: the right operand's.
    Pairs,
}

/// Steps that a depth takes.
pub(super) fn steps(depth: usize) -> usize {
    depth.div_ceil(STEP)
}

/// Packs `matrix` `[depth, panels * 32]` into `lines`.
pub(super) fn pack(lines: &mut Vec<Line>, matrix: Matrix<'_>, layout: Layout, workers: Workers) {
    let per_panel = steps(matrix.rows) * PANEL_LINES;
    let panels = matrix.columns.div_ceil(2 * TILE);
    if lines.len() < panels * per_panel {
        lines.resize(panels * per_panel, Line([0; 32]));
    }
    if per_panel == 0 {
        return;
    }
    let threads = if workers == Workers::Pool { rayon::current_num_threads() } else { 1 };
    let panels_each = panels.div_ceil(threads);
    let lines = &mut lines[..panels * per_panel];
    // SAFETY: whoever packs has found the instructions for bf16 (`Unit::is_available`), these among them.
    let pack =
        |(share, lines): (usize, &mut [Line])| unsafe { pack_panels(lines, matrix, share * panels_each, layout) };
    if threads == 1 {
        pack((0, lines));
    } else {
        lines.par_chunks_mut(panels_each * per_panel).enumerate().for_each(pack);
    }
}

/// Packs panels from the one numbered `first` on, in the order in which the source lies in memory.
#[target_feature(enable = "avx512f,avx512bf16")]
fn pack_panels(lines: &mut [Line], matrix: Matrix<'_>, first: usize, layout: Layout) {
    let steps = steps(matrix.rows);
    let panels = lines.len() / (steps * PANEL_LINES);
    let mut pack = |step: usize, panel: usize| {
        let lines = &mut lines[(panel * steps + step) * PANEL_LINES..][..PANEL_LINES];
        for (tile, lines) in lines.chunks_exact_mut(TILE).enumerate() {
            pack_tile(lines, matrix, step * STEP, ((first + panel) * 2 + tile) * TILE, layout);
        }
    };
    if matrix.row_stride == 1 {
        (0..panels).for_each(|panel| (0..steps).for_each(|step| pack(step, panel)));
    } else {
        (0..steps).for_each(|step| (0..panels).for_each(|panel| pack(step, panel)));
    }
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn pack_tile(lines: &mut [Line], matrix: Matrix<'_>, depth: usize, column: usize, layout: Layout) {
    // The layout in which the source can be read without turning it.
    let (mut block, read) = if matrix.row_stride == 1 {
        (rows(matrix, depth, column), Layout::Rows)
    } else {
        (pairs(matrix, depth, column), Layout::Pairs)
    };
    if read != layout {
        block = transpose(block);
    }
    for (line, value) in lines.iter_mut().zip(block) {
        // SAFETY: a line is 64 bytes at a multiple of 64.
        unsafe { _mm512_store_si512(std::ptr::from_mut(line).cast(), value) };
    }
}

/// 16 floats from `start` on, of which `count` exist.
#[target_feature(enable = "avx512f")]
fn load(data: &[f32], start: usize, count: usize) -> __m512 {
    let count = count.min(16);
    let mask = if count == 16 { u16::MAX } else { (1_u16 << count) - 1 };
    let data = if count == 0 { &[] } else { &data[start..start + count] };
    // SAFETY: the mask lets no more be read than the slice holds.
    unsafe { _mm512_maskz_loadu_ps(mask, data.as_ptr()) }
}

/// Columns `column..column + 16` of a matrix whose columns are contiguous, each a line.
#[target_feature(enable = "avx512f,avx512bf16")]
fn rows(matrix: Matrix<'_>, depth: usize, column: usize) -> [__m512i; TILE] {
    let left = matrix.rows - depth;
    let mut lines = [_mm512_setzero_si512(); TILE];
    for (i, line) in lines.iter_mut().enumerate().take(matrix.columns.saturating_sub(column)) {
        let start = (column + i) * matrix.column_stride + depth;
        let low = load(matrix.data, start, left);
        let high = load(matrix.data, start + 16, left.saturating_sub(16));
        // SAFETY: both are 64 bytes without invalid values.
        *line = unsafe { transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)) };
    }
    lines
}

/// Rows `depth..depth + 32` of a matrix whose rows are contiguous, each two a line of pairs.
#[target_feature(enable = "avx512f,avx512bf16")]
fn pairs(matrix: Matrix<'_>, depth: usize, column: usize) -> [__m512i; TILE] {
    let count = matrix.columns.saturating_sub(column);
    let mut lines = [_mm512_setzero_si512(); TILE];
    for (pair, line) in lines.iter_mut().enumerate() {
        let row = depth + 2 * pair;
        if row < matrix.rows {
            *line = half(matrix, row, column, count);
        }
        if row + 1 < matrix.rows {
            *line = _mm512_or_si512(*line, _mm512_slli_epi32::<16>(half(matrix, row + 1, column, count)));
        }
    }
    lines
}

/// Part of a row, each number in the lower half of a pair.
#[target_feature(enable = "avx512f,avx512bf16")]
fn half(matrix: Matrix<'_>, row: usize, column: usize, count: usize) -> __m512i {
    let rounded = _mm512_cvtneps_pbh(load(matrix.data, row * matrix.row_stride + column, count));
    // SAFETY: both are 32 bytes without invalid values.
    _mm512_cvtepu16_epi32(unsafe { transmute::<__m256bh, __m256i>(rounded) })
}

/// Turns 16 lines of 16 pairs.
#[target_feature(enable = "avx512f")]
fn transpose(mut lines: [__m512i; TILE]) -> [__m512i; TILE] {
    // Four neighbouring lines: line c of them gets column c of every quarter of 128 bits.
    for four in lines.chunks_exact_mut(4) {
        let twos = [
            _mm512_unpacklo_epi32(four[0], four[1]),
            _mm512_unpackhi_epi32(four[0], four[1]),
            _mm512_unpacklo_epi32(four[2], four[3]),
            _mm512_unpackhi_epi32(four[2], four[3]),
        ];
        four[0] = _mm512_unpacklo_epi64(twos[0], twos[2]);
        four[1] = _mm512_unpackhi_epi64(twos[0], twos[2]);
        four[2] = _mm512_unpacklo_epi64(twos[1], twos[3]);
        four[3] = _mm512_unpackhi_epi64(twos[1], twos[3]);
    }
    // Quarter q of line 4g + c belongs into quarter g of line 4q + c.
    let mut turned = lines;
    for c in 0..4 {
        let low = _mm512_shuffle_i32x4::<0b01_00_01_00>(lines[c], lines[4 + c]);
        let high = _mm512_shuffle_i32x4::<0b01_00_01_00>(lines[8 + c], lines[12 + c]);
        turned[c] = _mm512_shuffle_i32x4::<0b10_00_10_00>(low, high);
        turned[4 + c] = _mm512_shuffle_i32x4::<0b11_01_11_01>(low, high);
        let low = _mm512_shuffle_i32x4::<0b11_10_11_10>(lines[c], lines[4 + c]);
        let high = _mm512_shuffle_i32x4::<0b11_10_11_10>(lines[8 + c], lines[12 + c]);
        turned[8 + c] = _mm512_shuffle_i32x4::<0b10_00_10_00>(low, high);
        turned[12 + c] = _mm512_shuffle_i32x4::<0b11_01_11_01>(low, high);
    }
    turned
}
