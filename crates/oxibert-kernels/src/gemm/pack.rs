//! Puts operands into the order in which the tiles read them.

use crate::arch::versions;
use crate::matrix::Mat;

/// Packs all of `b` [depth, cols] into panels of `nr` columns, [depth, nr] each; missing columns are zeros.
pub(crate) fn pack_b(b: Mat<'_>, nr: usize, to: &mut [f32]) {
    let (depth, cols) = (b.rows, b.cols);
    if depth == 0 {
        return;
    }
    for (panel, to) in to.chunks_exact_mut(depth * nr).take(cols.div_ceil(nr)).enumerate() {
        let first = panel * nr;
        pack_panel(b.part(0, depth, first, nr.min(cols - first)), nr, to);
    }
}

/// Packs rows of `a` [rows, depth] into panels of `mr` rows, [depth, rows of the panel] each.
pub(crate) fn pack_a(a: Mat<'_>, mr: usize, to: &mut [f32]) {
    let mut rest = to;
    for first in (0..a.rows).step_by(mr) {
        let rows = mr.min(a.rows - first);
        let (panel, after) = rest.split_at_mut(rows * a.cols);
        pack_panel(a.part(first, rows, 0, a.cols).t(), rows, panel);
        rest = after;
    }
}

/// Packs a panel [depth, cols] with lines of `width`.
fn pack_panel(b: Mat<'_>, width: usize, to: &mut [f32]) {
    if b.cols < width {
        to.fill(0.0);
    }
    if b.col_stride == 1 {
        copy_lines(b.data, b.row_stride, b.cols, width, to);
    } else if b.row_stride == 1 {
        transpose(b.data, b.col_stride, b.rows, b.cols, width, to);
    } else {
        for (k, line) in to.chunks_exact_mut(width).enumerate() {
            for (j, x) in line[..b.cols].iter_mut().enumerate() {
                *x = b.data[k * b.row_stride + j * b.col_stride];
            }
        }
    }
}

versions! {
    /// Lines that already lie side by side.
    fn copy_lines(from: &[f32], stride: usize, cols: usize, width: usize, to: &mut [f32]) {
        if cols == 16 && width == 16 {
            for (k, line) in to.chunks_exact_mut(16).enumerate() {
                line.copy_from_slice(&from[k * stride..][..16]);
            }
            return;
        }
        for (k, line) in to.chunks_exact_mut(width).enumerate() {
            for (x, from) in line[..cols].iter_mut().zip(&from[k * stride..][..cols]) {
                *x = *from;
            }
        }
    }

    /// Columns that lie as rows: squares of 8 x 8 are turned at a time, so that both sides move whole vectors.
    fn transpose(from: &[f32], stride: usize, depth: usize, cols: usize, width: usize, to: &mut [f32]) {
        const S: usize = 8;
        let (whole_depth, whole_cols) = (depth / S * S, cols / S * S);
        for j in (0..whole_cols).step_by(S) {
            let rows: [&[f32]; S] = std::array::from_fn(|r| &from[(j + r) * stride..][..whole_depth]);
            for k in (0..whole_depth).step_by(S) {
                let square: [[f32; S]; S] = std::array::from_fn(|r| std::array::from_fn(|c| rows[r][k + c]));
                for (c, line) in to[k * width..(k + S) * width].chunks_exact_mut(width).enumerate() {
                    let turned: [f32; S] = std::array::from_fn(|r| square[r][c]);
                    line[j..j + S].copy_from_slice(&turned);
                }
            }
        }
        for (k, line) in to.chunks_exact_mut(width).enumerate() {
            let first = if k < whole_depth { whole_cols } else { 0 };
            for (j, x) in line[..cols].iter_mut().enumerate().skip(first) {
                *x = from[j * stride + k];
            }
        }
    }
}
