//! Products of f32 matrices with any strides, on the crate `gemm`.

use gemm::Parallelism;

/// A matrix seen through strides: element `(row, column)` is `data[row * row_stride + column * column_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix of `[rows, columns]` whose rows lie `row_stride` apart.
    ///
    /// # Panics
    /// If `data` is too short.
    #[must_use]
    pub fn strided(data: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert_reach(data.len(), rows, columns, row_stride);
        Self { data, rows, columns, row_stride, column_stride: 1 }
    }

    /// A dense row-major matrix of `[rows, columns]`.
    ///
    /// # Panics
    /// If `data` is too short.
    #[must_use]
    pub fn dense(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// The transpose, by swapping the strides.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// A row-major matrix to write to, its rows `row_stride` apart.
#[derive(Debug)]
pub struct MatrixMut<'a> {
    pub(crate) data: &'a mut [f32],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
}

impl<'a> MatrixMut<'a> {
    /// A row-major matrix of `[rows, columns]` whose rows lie `row_stride` apart.
    ///
    /// # Panics
    /// If `data` is too short or rows would overlap.
    #[must_use]
    pub fn strided(data: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert_reach(data.len(), rows, columns, row_stride);
        assert!(rows < 2 || row_stride >= columns, "rows of {columns} overlap at stride {row_stride}");
        Self { data, rows, columns, row_stride }
    }

    /// A dense row-major matrix of `[rows, columns]`.
    ///
    /// # Panics
    /// If `data` is too short.
    #[must_use]
    pub fn dense(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0
    }

    pub(crate) fn row(&mut self, row: usize) -> &mut [f32] {
        &mut self.data[row * self.row_stride..][..self.columns]
    }

    /// # Panics
    /// If this is not the shape of `a · b`, b being `[rows, columns]`.
    pub(crate) fn assert_holds(&self, a: Matrix<'_>, (rows, columns): (usize, usize)) {
        assert!(
            a.columns == rows && self.rows == a.rows && self.columns == columns,
            "[{}, {}] x [{}, {}] into [{}, {}]",
            a.rows,
            a.columns,
            rows,
            columns,
            self.rows,
            self.columns
        );
    }
}

fn assert_reach(len: usize, rows: usize, columns: usize, row_stride: usize) {
    let reach = if rows == 0 || columns == 0 { 0 } else { (rows - 1) * row_stride + columns };
    assert!(len >= reach, "[{rows}, {columns}] at row stride {row_stride} needs {reach} elements, got {len}");
}

/// What happens to the old contents of the product's destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onto {
    /// They are overwritten.
    Nothing,
    /// The product is added to them.
    Old,
}

/// Who computes a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// The calling thread.
    Caller,
    /// All threads of the current rayon pool. The sum of each element keeps its order, so the result is the same.
    Pool,
}

/// `c = a · b`, or `c += a · b`.
///
/// # Panics
/// If the shapes do not fit.
#[expect(clippy::needless_pass_by_value, reason = "a destination is made for one product, and used up by it")]
pub fn sgemm(c: MatrixMut<'_>, onto: Onto, a: Matrix<'_>, b: Matrix<'_>, workers: Workers) {
    c.assert_holds(a, (b.rows, b.columns));
    if c.is_empty() {
        return;
    }
    let parallelism = match workers {
        Workers::Caller => Parallelism::None,
        Workers::Pool => Parallelism::Rayon(0),
    };
    // SAFETY: the constructors checked that every element reached through the strides lies inside the slices, `c` is
    // borrowed mutably and so overlaps neither `a` nor `b`, and its rows do not overlap each other.
    unsafe {
        gemm::gemm(
            c.rows,
            c.columns,
            a.columns,
            c.data.as_mut_ptr(),
            1,
            c.row_stride as isize,
            onto == Onto::Old,
            a.data.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: u32) -> Vec<f32> {
        (0..n as u32).map(|i| ((i.wrapping_mul(2_654_435_761) ^ seed) % 1000) as f32 / 500.0 - 1.0).collect()
    }

    #[test]
    fn a_product_is_the_sum_of_products_in_every_orientation() {
        for (rows, columns, depth) in [(1, 1, 1), (3, 5, 7), (17, 33, 65), (4, 0, 3), (2, 3, 0)] {
            let (left, right) = (numbers(rows * depth, 1), numbers(depth * columns, 2));
            let turned: Vec<f32> = (0..rows * depth).map(|i| left[(i % rows) * depth + i / rows]).collect();
            let orientations = [Matrix::dense(&left, rows, depth), Matrix::dense(&turned, depth, rows).transposed()];
            for matrix in orientations {
                let mut product = vec![1.0; rows * columns];
                let to = MatrixMut::dense(&mut product, rows, columns);
                sgemm(to, Onto::Old, matrix, Matrix::dense(&right, depth, columns), Workers::Caller);
                for (i, got) in product.iter().enumerate() {
                    let term = |j| left[i / columns * depth + j] * right[j * columns + i % columns];
                    let want = 1.0 + (0..depth).map(term).sum::<f32>();
                    assert!((got - want).abs() < 1e-4, "{rows}x{columns}x{depth} at {i}: {got} against {want}");
                }
            }
        }
    }

    #[test]
    fn a_pool_computes_what_the_caller_computes() {
        let (rows, columns, depth) = (130, 257, 96);
        let (left, right) = (numbers(rows * depth, 3), numbers(depth * columns, 4));
        let product = |workers| {
            let mut product = vec![0.0; rows * columns];
            let to = MatrixMut::dense(&mut product, rows, columns);
            let (left, right) = (Matrix::dense(&left, rows, depth), Matrix::dense(&right, depth, columns));
            sgemm(to, Onto::Nothing, left, right, workers);
            product
        };
        assert_eq!(product(Workers::Caller), product(Workers::Pool));
    }

    #[test]
    #[should_panic(expected = "needs 6 elements")]
    fn a_matrix_beyond_its_data_is_refused() {
        let _ = Matrix::dense(&[0.0; 5], 2, 3);
    }
}
