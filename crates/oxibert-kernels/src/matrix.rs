//! Matrices inside slices: what the GEMM front and attention read and write.
//!
//! Attention reads q, k and v inside one [N, 3H] buffer and writes their gradients inside another; strides say how.

use std::marker::PhantomData;

/// A matrix that is read; element (i, j) lies at `data[i * row_stride + j * col_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    pub(crate) col_stride: usize,
}

impl<'a> Mat<'a> {
    /// All of `data`, row after row.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a [{rows}, {cols}] matrix");
        Self { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// The columns `first..first + cols` of row-major rows that are `stride` long.
    pub fn columns(data: &'a [f32], stride: usize, first: usize, cols: usize) -> Self {
        let rows = checked_rows(data.len(), stride, first, cols);
        Self { data: data.get(first..).unwrap_or(&[]), rows, cols, row_stride: stride, col_stride: 1 }
    }

    /// The same elements with rows and columns exchanged; nothing moves.
    pub fn t(self) -> Self {
        let Self { data, rows, cols, row_stride, col_stride } = self;
        Self { data, rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride }
    }

    /// Rows `first..first + rows`, columns `col..col + cols`.
    pub(crate) fn part(self, first: usize, rows: usize, col: usize, cols: usize) -> Self {
        assert!(
            first + rows <= self.rows && col + cols <= self.cols,
            "part of a [{}, {}] matrix",
            self.rows,
            self.cols
        );
        let start = (first * self.row_stride + col * self.col_stride).min(self.data.len());
        Self { data: &self.data[start..], rows, cols, ..self }
    }

    pub(crate) fn row(&self, i: usize) -> &'a [f32] {
        assert!(i < self.rows && self.col_stride == 1);
        &self.data[i * self.row_stride..][..self.cols]
    }
}

/// A matrix that is written, row-major with rows `row_stride` apart.
///
/// Several may lie in one buffer, beside each other ([`MatMut::split_columns`]).
#[derive(Debug)]
pub struct MatMut<'a> {
    pub(crate) ptr: *mut f32,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) row_stride: usize,
    owner: PhantomData<&'a mut [f32]>,
}

// SAFETY: it is an exclusive borrow of its elements, as `&mut [f32]` is, and floats may move between threads.
unsafe impl Send for MatMut<'_> {}
// SAFETY: through a shared reference only `pub(crate)` unsafe code writes, to disjoint parts.
unsafe impl Sync for MatMut<'_> {}

impl<'a> MatMut<'a> {
    /// All of `data`, row after row.
    pub fn new(data: &'a mut [f32], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a [{rows}, {cols}] matrix");
        Self { ptr: data.as_mut_ptr(), rows, cols, row_stride: cols, owner: PhantomData }
    }

    /// Cuts rows of `PARTS * width` into matrices of `width` columns that lie beside each other.
    pub fn split_columns<const PARTS: usize>(data: &'a mut [f32], width: usize) -> [Self; PARTS] {
        let stride = PARTS * width;
        let rows = checked_rows(data.len(), stride, 0, stride);
        let base = data.as_mut_ptr();
        std::array::from_fn(|part| Self {
            // An empty buffer has no element at `part * width`; wrapping arithmetic does not need one.
            ptr: base.wrapping_add(part * width),
            rows,
            cols: width,
            row_stride: stride,
            owner: PhantomData,
        })
    }

    /// A shorter borrow of the same elements.
    pub fn reborrow(&mut self) -> MatMut<'_> {
        MatMut { owner: PhantomData, ..*self }
    }

    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [f32] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        // SAFETY: the row lies inside the matrix, whose elements are ours as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(i * self.row_stride), self.cols) }
    }

    /// Rows `first..first + rows`, columns `col..col + cols`, as another matrix.
    ///
    /// # Safety
    /// While the part lives, nobody else may touch its elements.
    pub(crate) unsafe fn part(&self, first: usize, rows: usize, col: usize, cols: usize) -> MatMut<'a> {
        assert!(
            first + rows <= self.rows && col + cols <= self.cols,
            "part of a [{}, {}] matrix",
            self.rows,
            self.cols
        );
        MatMut { ptr: self.ptr.wrapping_add(first * self.row_stride + col), rows, cols, ..*self }
    }
}

/// The number of rows of `stride` floats in `len`, after checking that the columns fit.
fn checked_rows(len: usize, stride: usize, first: usize, cols: usize) -> usize {
    assert!(first + cols <= stride, "columns {first}..{} of rows of {stride}", first + cols);
    if len == 0 {
        return 0;
    }
    assert_eq!(len % stride, 0, "rows of {stride} in a buffer of {len}");
    len / stride
}
