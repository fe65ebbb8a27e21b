//! Small products, of operands that are read where they lie: attention's, for which packing would take as long as multiplying.
//!
//! A row of the right-hand side is a line of the tile as it stands; the left-hand side may be rows or, transposed, columns.
//! Everything is done on the caller's thread.

use super::lanes::{Lanes, Portable};
use super::micro::{Init, Tile, multiply_line, multiply_rows, on_every_isa, store_whole};
use super::{Start, check_start, gemm_inside};
use crate::arch::{Isa, isa};
use crate::matrix::{Mat, MatMut};

/// `out = start + a b`, in one order of the depth that depends on the depth alone.
///
/// Columns of `b` that lie apart, or that are no multiple of half a tile, are left to the general product.
pub(crate) fn gemm_in_place(out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, start: Start<'_>) {
    assert_eq!((a.rows, a.cols, b.cols), (out.rows, b.rows, out.cols), "gemm shapes");
    let half = Tile::best().nr / 2;
    let is_ready =
        b.col_stride == 1 && b.cols.is_multiple_of(half) && (a.col_stride == 1 || a.row_stride == 1);
    if !is_ready {
        return gemm_inside(out, a, b, start);
    }
    for matrix in [&a, &b] {
        let last = |rows: usize, cols: usize| (rows - 1) * matrix.row_stride + (cols - 1) * matrix.col_stride;
        let is_empty = matrix.rows == 0 || matrix.cols == 0;
        assert!(
            is_empty || last(matrix.rows, matrix.cols) < matrix.data.len(),
            "a matrix of fewer numbers than it says"
        );
    }
    let block = Block {
        rows: out.rows,
        cols: out.cols,
        depth: b.rows,
        a: a.data.as_ptr(),
        a_row: a.row_stride,
        a_step: a.col_stride,
        b: b.data.as_ptr(),
        b_step: b.row_stride,
        c: out.ptr,
        c_stride: out.row_stride,
        init: check_start(start, out.cols),
    };
    // SAFETY: `a` and `b` were checked to hold all that is read, `out` is borrowed exclusively and a bias was checked.
    unsafe { run(&block) };
}

/// `c[rows, cols] = init + a[rows, depth] * b[depth, cols]`.
struct Block {
    rows: usize,
    cols: usize,
    depth: usize,
    a: *const f32,
    a_row: usize,
    a_step: usize,
    b: *const f32,
    b_step: usize,
    c: *mut f32,
    c_stride: usize,
    init: Init,
}

/// # Safety
/// The pointers of `block` must be valid for its sizes, and nobody else may touch `c` meanwhile.
unsafe fn run(block: &Block) {
    // SAFETY: each function is called where the processor can run it; the caller vouches for the pointers.
    unsafe {
        match isa() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512(block),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2(block),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon(block),
            _ => portable(block),
        }
    }
}

/// A block for one instruction set: the tiles of [`Tile::best`], half as wide where half is all that is left.
macro_rules! block {
    ($(#[$meta:meta])* $name:ident, $lanes:ty, $mr:literal, $vectors:literal, [$($rows:literal)*]) => {
        $(#[$meta])*
        unsafe fn $name(block: &Block) {
            let nr = $vectors * <$lanes>::N;
            for j in (0..block.cols).step_by(nr) {
                for i in (0..block.rows).step_by($mr) {
                    // SAFETY: the tile lies inside the block, whose pointers the caller vouches for.
                    unsafe {
                        match ((block.rows - i).min($mr), block.cols - j < nr) {
                            $(($rows, false) => tile::<$lanes, $rows, $vectors>(block, i, j),
                              ($rows, true) => tile::<$lanes, $rows, { $vectors / 2 }>(block, i, j),)*
                            _ => unreachable!("a tile has at most {} rows", $mr),
                        }
                    }
                }
            }
        }
    };
}

on_every_isa!(block);

/// The tile of `R` rows and `NV` vectors at (i, j).
#[inline(always)]
unsafe fn tile<V: Lanes, const R: usize, const NV: usize>(block: &Block, i: usize, j: usize) {
    // SAFETY: offsets stay inside the block; the caller vouches for the pointers and the instruction set.
    unsafe {
        let (a, b) = (block.a.add(i * block.a_row), block.b.add(j));
        let sums: [[V; NV]; R] = if block.a_step == 1 {
            multiply_rows(block.depth, a, block.a_row, b, block.b_step)
        } else {
            multiply_columns(block.depth, a, block.a_step, b, block.b_step)
        };
        let init = match block.init {
            Init::Bias(bias) => Init::Bias(bias.add(j)),
            other => other,
        };
        store_whole(&sums, block.c.add(i * block.c_stride + j), block.c_stride, init);
    }
}

/// Sums over the depth for rows that lie side by side: a step's elements are neighbours, steps lie `a_step` apart.
#[inline(always)]
unsafe fn multiply_columns<V: Lanes, const R: usize, const NV: usize>(
    depth: usize,
    a: *const f32,
    a_step: usize,
    b: *const f32,
    b_step: usize,
) -> [[V; NV]; R] {
    // SAFETY: the caller vouches for the pointers and the instruction set.
    unsafe {
        let mut sums = [[V::zero(); NV]; R];
        for k in 0..depth {
            multiply_line(&mut sums, *a.add(k * a_step).cast::<[f32; R]>(), b.add(k * b_step));
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{assert_close, noise};

    /// Rows and columns on the left, lines with room between them on the right.
    #[test]
    fn equals_the_plain_product() {
        for m in [0, 1, 5, 12, 13, 31] {
            for n in [0, 4, 8, 16, 32, 48, 37] {
                for k in [0, 1, 4, 20, 33] {
                    for (a_room, b_room) in [(0, 0), (3, 5)] {
                        check(m, k, n, a_room, b_room);
                    }
                }
            }
        }
    }

    fn check(m: usize, k: usize, n: usize, a_room: usize, b_room: usize) {
        let b = noise(k * (n + b_room), 2);
        let b = Mat::columns(&b, n + b_room, b_room, n);
        let b = if k * n == 0 { Mat { rows: k, ..b } } else { b };
        let (rows, columns) = (noise(m * (k + a_room), 1), noise(k * (m + a_room), 1));
        let rows = Mat { rows: m, ..Mat::columns(&rows, k + a_room, a_room, k) };
        let columns = Mat { rows: k, ..Mat::columns(&columns, m + a_room, a_room, m) }.t();
        for (name, a) in [("rows", rows), ("columns", columns)] {
            for start in [Start::Zero, Start::Add] {
                let mut got = noise(m * n, 3);
                let mut want = if matches!(start, Start::Add) { got.clone() } else { vec![0.0; m * n] };
                gemm_in_place(MatMut::new(&mut got, m, n), a, b, start);
                scalar::gemm(&mut want, a, b);
                assert_close(&got, &want, 1e-5, &format!("{name} [{m}, {k}] x [{k}, {n}], {start:?}"));
            }
        }
    }
}
