//! The innermost product: a block of 32 by 32.

use std::arch::asm;
use std::arch::x86_64::{
    __m512bh, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::mem::transmute;

use super::Unit;
use super::pack::{Line, PANEL_LINES};
use crate::sgemm::{MatrixMut, Onto};
use crate::tiles::{LINE_BYTES, TILE_LINES, Tiles};

/// Rows and columns of a block.
pub(super) const SIDE: usize = 32;
/// Bytes of a tile.
const TILE_BYTES: usize = TILE_LINES * LINE_BYTES;

/// A block of the product's destination, at the matrix's edge maybe smaller than 32 by 32.
pub(super) struct Block<'a> {
    data: &'a mut [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

impl<'a> Block<'a> {
    /// The block whose first element is at `row` and `column`.
    pub(super) fn of(c: &'a mut MatrixMut<'_>, row: usize, column: usize) -> Self {
        let (rows, columns) = (SIDE.min(c.rows - row), SIDE.min(c.columns - column));
        let start = row * c.row_stride + column;
        let reach = (rows - 1) * c.row_stride + columns;
        Self { data: &mut c.data[start..start + reach], rows, columns, row_stride: c.row_stride }
    }

    fn is_whole(&self) -> bool {
        self.rows == SIDE && self.columns == SIDE
    }

    fn lines(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let columns = self.columns;
        self.data.chunks_mut(self.row_stride).map(move |line| &mut line[..columns])
    }
}

/// Time in which a thread multiplies blocks.
pub(super) struct Session {
    unit: Unit,
    /// Set up with [`Unit::Tiles`].
    _tiles: Option<Tiles>,
}

impl Session {
    /// Begins with a unit that is available.
    pub(super) fn begin(unit: Unit) -> Self {
        Self { unit, _tiles: (unit == Unit::Tiles).then(Tiles::set_up) }
    }

    /// c = left · right, or c += left · right, over the steps that both hold.
    pub(super) fn multiply(&self, mut c: Block<'_>, onto: Onto, left: &[Line], right: &[Line]) {
        assert!(left.len() == right.len() && left.len().is_multiple_of(PANEL_LINES));
        if c.is_whole() {
            self.multiply_whole(c.data, c.row_stride, onto, left, right);
            return;
        }
        let mut whole = [0.0; SIDE * SIDE];
        if onto == Onto::Old {
            whole
                .chunks_exact_mut(SIDE)
                .zip(c.lines())
                .for_each(|(whole, line)| whole[..line.len()].copy_from_slice(line));
        }
        self.multiply_whole(&mut whole, SIDE, onto, left, right);
        whole.chunks_exact(SIDE).zip(c.lines()).for_each(|(whole, line)| line.copy_from_slice(&whole[..line.len()]));
    }

    fn multiply_whole(&self, c: &mut [f32], row_stride: usize, onto: Onto, left: &[Line], right: &[Line]) {
        assert!(c.len() >= (SIDE - 1) * row_stride + SIDE);
        match self.unit {
            // SAFETY: the tiles are set up, and the lengths were checked above and by the caller.
            Unit::Tiles => unsafe { tiles(c, row_stride, onto, left, right) },
            // SAFETY: the unit is available.
            Unit::Vectors => unsafe { vectors(c, row_stride, onto, left, right) },
        }
    }
}

/// Four tiles of sums, fed by two tiles of each operand.
///
/// # Safety
/// The thread has tiles set up; `c` reaches over 32 rows of 32, and the operands hold the same number of steps, at least
/// one.
unsafe fn tiles(c: &mut [f32], row_stride: usize, onto: Onto, left: &[Line], right: &[Line]) {
    let stride = row_stride * size_of::<f32>();
    let top = c.as_mut_ptr();
    // SAFETY: both pointers lie inside `c`, and 16 lines of 64 bytes from each, `stride` apart, do too; the operands are
    // read as far as they go, for the compiler keeps nothing in tiles.
    unsafe {
        let bottom = top.add(16 * row_stride);
        for row in 0..SIDE {
            let line = top.add(row * row_stride);
            asm!("prefetchw [{0}]", "prefetchw [{0} + 64]", in(reg) line, options(readonly, nostack));
        }
        match onto {
            Onto::Nothing => {
                asm!("tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3", options(nomem, nostack));
            }
            Onto::Old => asm!(
                "tileloadd tmm0, [{top} + {stride}]",
                "tileloadd tmm1, [{top} + {stride} + 64]",
                "tileloadd tmm2, [{bottom} + {stride}]",
                "tileloadd tmm3, [{bottom} + {stride} + 64]",
                top = in(reg) top, bottom = in(reg) bottom, stride = in(reg) stride,
                options(readonly, nostack),
            ),
        }
        asm!(
            "2:",
            "tileloadd tmm4, [{left} + {line}]",
            "tileloadd tmm6, [{right} + {line}]",
            "tileloadd tmm7, [{right} + {line} + {tile}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{left} + {line} + {tile}]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {left}, {step}",
            "add {right}, {step}",
            "dec {steps}",
            "jnz 2b",
            left = inout(reg) left.as_ptr() => _,
            right = inout(reg) right.as_ptr() => _,
            steps = inout(reg) left.len() / PANEL_LINES => _,
            line = in(reg) LINE_BYTES,
            tile = const TILE_BYTES,
            step = const 2 * TILE_BYTES,
            options(readonly, nostack),
        );
        asm!(
            "tilestored [{top} + {stride}], tmm0",
            "tilestored [{top} + {stride} + 64], tmm1",
            "tilestored [{bottom} + {stride}], tmm2",
            "tilestored [{bottom} + {stride} + 64], tmm3",
            top = in(reg) top, bottom = in(reg) bottom, stride = in(reg) stride,
            options(nostack),
        );
    }
}

/// Eight rows of sums at a time, each of two vectors.
#[target_feature(enable = "avx512f,avx512bf16")]
fn vectors(c: &mut [f32], row_stride: usize, onto: Onto, left: &[Line], right: &[Line]) {
    const ROWS: usize = 8;
    for first in (0..SIDE).step_by(ROWS) {
        let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
        if onto == Onto::Old {
            for (row, sums) in sums.iter_mut().enumerate() {
                let c = &c[(first + row) * row_stride..][..SIDE];
                // SAFETY: the row has 32 floats.
                *sums = unsafe { [_mm512_loadu_ps(c.as_ptr()), _mm512_loadu_ps(c[16..].as_ptr())] };
            }
        }
        for (left, right) in left.chunks_exact(PANEL_LINES).zip(right.chunks_exact(PANEL_LINES)) {
            for pair in 0..16 {
                let columns: [__m512bh; 2] = [vector(&right[pair]), vector(&right[16 + pair])];
                for (sums, line) in sums.iter_mut().zip(&left[first..first + ROWS]) {
                    // SAFETY: both are 64 bytes without invalid values.
                    let row: __m512bh = unsafe { transmute(_mm512_set1_epi32(line.pair(pair))) };
                    sums[0] = _mm512_dpbf16_ps(sums[0], row, columns[0]);
                    sums[1] = _mm512_dpbf16_ps(sums[1], row, columns[1]);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            let c = &mut c[(first + row) * row_stride..][..SIDE];
            // SAFETY: the row has 32 floats.
            unsafe {
                _mm512_storeu_ps(c.as_mut_ptr(), sums[0]);
                _mm512_storeu_ps(c[16..].as_mut_ptr(), sums[1]);
            }
        }
    }
}

#[target_feature(enable = "avx512f")]
fn vector(line: &Line) -> __m512bh {
    // SAFETY: a line is 64 bytes at a multiple of 64, without invalid values.
    unsafe { *std::ptr::from_ref(line).cast() }
}
