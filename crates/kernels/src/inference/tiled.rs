//! Products of int8 on tiles (AMX-INT8): the packed weights as they are, 16 or 32 rows of codes at a time.
//!
//! A panel's words lie as a tile wants them: a line of a tile is the same word of 16 columns, and the next line is a
//! panel's width further. The integers are those of every other instruction set.

use std::arch::asm;

use super::matrix::{PANEL, WORD};
use super::product::{Arithmetic, Epilogue, Int8, Operands, Shape};
use super::simd::{Isa, LANES, Simd, on_best_isa};
use crate::tiles::{LINE_BYTES, TILE_LINES, Tiles};

/// Words of a line.
const LINE_WORDS: usize = LINE_BYTES / WORD;
/// Rows that are multiplied together, two tiles of them.
const ROWS: usize = 2 * TILE_LINES;
/// With fewer rows most of a tile is empty, and vectors are faster.
const FEWEST_ROWS: usize = 8;
/// Bytes from a word of a panel to the next.
const PANEL_BYTES: usize = PANEL * WORD;

/// Whether this thread may use tiles for a product of this shape, and should.
pub(super) fn suits(shape: Shape) -> bool {
    shape.rows >= FEWEST_ROWS && shape.words > 0 && shape.words.is_multiple_of(LINE_WORDS) && Isa::best() == Isa::Amx
}

/// Runs a product that [`suits`].
pub(super) fn run<E: Epilogue>(operands: Operands, arithmetic: Int8<'_>, epilogue: &mut E) {
    on_best_isa! {
        fn on_isa[E: Epilogue](operands: Operands, arithmetic: Int8<'_>, epilogue: &mut E) = panels_on;
    }
    on_isa(operands, arithmetic, epilogue);
}

/// Sums of up to 32 rows in a panel's columns.
#[repr(align(64))]
struct Sums([[i32; PANEL]; ROWS]);

/// Panel by panel, so that its weights stay in the caches while all rows pass.
#[inline(always)]
fn panels_on<S: Simd, E: Epilogue>(simd: S, operands: Operands, arithmetic: Int8<'_>, epilogue: &mut E) {
    let Shape { rows, words, panels } = operands.shape;
    let stride = words * WORD;
    let whole = rows / ROWS * ROWS;
    let rest = padded_rest(operands, whole);
    let mut sums = Sums([[0; PANEL]; ROWS]);
    let blocks = rows.div_ceil(ROWS);
    let tiles = Tiles::set_up();
    for panel in 0..panels {
        let column = panel * PANEL;
        let weights = operands.weights.wrapping_add(panel * words * PANEL).cast::<u8>();
        let corrections = &arithmetic.corrections[column..column + PANEL];
        for (block, row) in (0..rows).step_by(ROWS).enumerate() {
            prefetch_share(simd, operands, panel + 1, (block, blocks));
            let count = ROWS.min(rows - row);
            let x = if row < whole { operands.x.wrapping_add(row * words).cast::<u8>() } else { rest.as_ptr() };
            // SAFETY: tiles are set up; `x` has 32 rows, or 16 where no more are wanted, and the panel `words` words of
            // 64 columns, which are whole lines.
            unsafe {
                if count > TILE_LINES {
                    two_by_two(&tiles, x, weights, stride, corrections, &mut sums);
                } else {
                    one_by_four(&tiles, x, weights, stride, corrections, &mut sums);
                }
            }
            for (r, sums) in sums.0.iter().enumerate().take(count) {
                let mut values = [simd.splat(0.0); PANEL / LANES];
                for (v, value) in values.iter_mut().enumerate() {
                    // SAFETY: the row of sums has a panel's width.
                    let sums = unsafe { simd.load_i32_at(sums[v * LANES..].as_ptr()) };
                    *value = arithmetic.finish(simd, sums, row + r, column + v * LANES);
                }
                epilogue.take(simd, row + r, column, &values);
            }
        }
    }
}

/// The codes of the rows from `first` on, and as many rows of zeros as make 16 or 32 of them.
fn padded_rest(operands: Operands, first: usize) -> Vec<u8> {
    let Shape { rows, words, .. } = operands.shape;
    let count = rows - first;
    let mut rest = vec![0; count.div_ceil(TILE_LINES) * TILE_LINES * words * WORD];
    // SAFETY: whoever made the operands has checked that `x` is readable for all rows.
    let codes = unsafe { std::slice::from_raw_parts(operands.x.add(first * words).cast::<u8>(), count * words * WORD) };
    rest[..codes.len()].copy_from_slice(codes);
    rest
}

/// Asks for one block's share of the weights of `panel`.
#[inline(always)]
fn prefetch_share<S: Simd>(simd: S, operands: Operands, panel: usize, (block, blocks): (usize, usize)) {
    let Shape { words, panels, .. } = operands.shape;
    if panel >= panels {
        return;
    }
    let lines = words * PANEL_BYTES / LINE_BYTES;
    let share = lines.div_ceil(blocks);
    let base = operands.weights.cast::<u8>().wrapping_add(panel * words * PANEL_BYTES);
    for line in block * share..((block + 1) * share).min(lines) {
        simd.prefetch(base.wrapping_add(line * LINE_BYTES));
    }
}

/// 32 rows by 64 columns, 32 at a time: each tile loaded is used twice.
///
/// # Safety
/// `x` is readable for 32 rows of `stride` bytes, `weights` for a panel of that depth, `stride` is a positive multiple
/// of 64, and `corrections` has a panel's width.
unsafe fn two_by_two(_: &Tiles, x: *const u8, weights: *const u8, stride: usize, corrections: &[i32], sums: &mut Sums) {
    for first in [0, PANEL / 2] {
        let out = sums.0[0][first..].as_mut_ptr();
        // SAFETY: the caller's promise; a tile's 16 lines of sums lie a panel apart, and those of the corrections are one
        // and the same line. The compiler keeps nothing in tiles.
        unsafe {
            asm!(
                "tileloadd tmm0, [{begin} + {zero}]",
                "tileloadd tmm1, [{begin} + {zero} + 64]",
                "tileloadd tmm2, [{begin} + {zero}]",
                "tileloadd tmm3, [{begin} + {zero} + 64]",
                "2:",
                "tileloadd tmm4, [{x} + {stride}]",
                "tileloadd tmm6, [{weights} + {panel}]",
                "tileloadd tmm7, [{weights} + {panel} + 64]",
                "tdpbusd tmm0, tmm4, tmm6",
                "tileloadd tmm5, [{below} + {stride}]",
                "tdpbusd tmm1, tmm4, tmm7",
                "tdpbusd tmm2, tmm5, tmm6",
                "tdpbusd tmm3, tmm5, tmm7",
                "add {x}, 64",
                "add {below}, 64",
                "add {weights}, {step}",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{out} + {panel}], tmm0",
                "tilestored [{out} + {panel} + 64], tmm1",
                "tilestored [{out_below} + {panel}], tmm2",
                "tilestored [{out_below} + {panel} + 64], tmm3",
                begin = in(reg) corrections[first..].as_ptr(),
                zero = in(reg) 0_usize,
                x = inout(reg) x => _,
                below = inout(reg) x.add(TILE_LINES * stride) => _,
                weights = inout(reg) weights.add(first * WORD) => _,
                stride = in(reg) stride,
                panel = in(reg) PANEL_BYTES,
                steps = inout(reg) stride / LINE_BYTES => _,
                step = const LINE_WORDS * PANEL_BYTES,
                out = in(reg) out,
                out_below = in(reg) out.add(TILE_LINES * PANEL),
                options(nostack),
            );
        }
    }
}

/// 16 rows by 64 columns.
///
/// # Safety
/// As for [`two_by_two`], but for 16 rows.
unsafe fn one_by_four(
    _: &Tiles,
    x: *const u8,
    weights: *const u8,
    stride: usize,
    corrections: &[i32],
    sums: &mut Sums,
) {
    // SAFETY: as for two by two.
    unsafe {
        asm!(
            "tileloadd tmm0, [{begin} + {zero}]",
            "tileloadd tmm1, [{begin} + {zero} + 64]",
            "tileloadd tmm2, [{begin} + {zero} + 128]",
            "tileloadd tmm3, [{begin} + {zero} + 192]",
            "2:",
            "tileloadd tmm4, [{x} + {stride}]",
            "tileloadd tmm5, [{weights} + {panel}]",
            "tileloadd tmm6, [{weights} + {panel} + 64]",
            "tdpbusd tmm0, tmm4, tmm5",
            "tileloadd tmm7, [{weights} + {panel} + 128]",
            "tdpbusd tmm1, tmm4, tmm6",
            "tileloadd tmm5, [{weights} + {panel} + 192]",
            "tdpbusd tmm2, tmm4, tmm7",
            "tdpbusd tmm3, tmm4, tmm5",
            "add {x}, 64",
            "add {weights}, {step}",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{out} + {panel}], tmm0",
            "tilestored [{out} + {panel} + 64], tmm1",
            "tilestored [{out} + {panel} + 128], tmm2",
            "tilestored [{out} + {panel} + 192], tmm3",
            begin = in(reg) corrections.as_ptr(),
            zero = in(reg) 0_usize,
            x = inout(reg) x => _,
            weights = inout(reg) weights => _,
            stride = in(reg) stride,
            panel = in(reg) PANEL_BYTES,
            steps = inout(reg) stride / LINE_BYTES => _,
            step = const LINE_WORDS * PANEL_BYTES,
            out = in(reg) sums.0.as_mut_ptr(),
            options(nostack),
        );
    }
}
