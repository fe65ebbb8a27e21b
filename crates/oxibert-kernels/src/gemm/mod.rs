//! The GEMM front: every matrix product of the engine goes through here, four fifths of a training step's time.
//!
//! The output is cut into parts that run in parallel; a part walks over the depth in blocks, packs its columns of `b`
//! (and its rows of `a` where they do not lie side by side) and lets `micro` multiply. The cut follows the number of
//! threads, the bits do not: an element is always summed alone, in the order of the depth, in blocks that depend on
//! the depth only. The same row therefore gives the same bits in a batch of one and in a batch of many.

mod lanes;
mod micro;
mod pack;

#[cfg(test)]
mod tests;

use crate::matrix::{Mat, MatMut};
use crate::profile::{Kernel, time};
use crate::scratch::{Aligned, with_scratch};
use micro::{Block, Init, Tile};
use pack::{Last, pack};
use rayon::prelude::*;
use std::ops::Range;

pub(crate) use lanes::{Lanes, Portable};

/// Depth per block: a panel of `b`, this times 16 columns, is 24 KiB of a first-level cache of 32.
const DEPTH: usize = 384;
/// Rows of `a` per block: with `DEPTH` they fit into a second-level cache beside the panels.
const ROWS: usize = 192;
/// The largest part of the output that one task computes.
const PART: [usize; 2] = [1024, 768];
/// Columns that are enough to pay for reading rows of `a` where they lie.
const NARROW: usize = 96;
/// A part is not cut further below this many multiplications.
const WORTH: usize = 1 << 19;

/// What an output element starts from.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// Zero: `out = a b`.
    Zero,
    /// What is there: `out = out + a b`.
    Add,
    /// The bias of its column: `out = bias + a b`.
    Bias(&'a [f32]),
}

/// `out = start + a b`, in parallel. Shapes: out [M, N], a [M, K], b [K, N].
pub fn gemm(out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, start: Start<'_>) {
    assert_eq!((a.rows, a.cols, b.cols), (out.rows, b.rows, out.cols), "gemm shapes");
    run(out, a, Right::Plain(b), start);
}

/// `y [N, O] = x [N, I] w^T + bias`, with `w` as checkpoints hold it: [O, I].
pub fn linear(x: &[f32], w: &[f32], bias: Option<&[f32]>, inputs: usize, y: &mut [f32]) {
    let (n, outputs) = (rows_of(x, inputs), rows_of(w, inputs));
    let start = bias.map_or(Start::Zero, Start::Bias);
    gemm(MatMut::new(y, n, outputs), Mat::new(x, n, inputs), Mat::new(w, outputs, inputs).t(), start);
}

/// The gradient of [`linear`]'s input.
///
/// `dx [N, I] = dy [N, O] w`, or `dx += dy w`.
pub fn linear_dx(dy: &[f32], w: &[f32], outputs: usize, accumulate: bool, dx: &mut [f32]) {
    let (n, inputs) = (rows_of(dy, outputs), w.len().checked_div(outputs).unwrap_or(0));
    let start = if accumulate { Start::Add } else { Start::Zero };
    gemm(MatMut::new(dx, n, inputs), Mat::new(dy, n, outputs), Mat::new(w, outputs, inputs), start);
}

/// The gradient of [`linear`]'s weight, added to what `dw` holds. (The bias's is [`crate::bias_gradient`].)
///
/// `dw [O, I] += dy^T [O, N] x [N, I]`.
pub fn linear_dw(dy: &[f32], x: &[f32], inputs: usize, dw: &mut [f32]) {
    let (n, outputs) = (rows_of(x, inputs), rows_of(dw, inputs));
    gemm(MatMut::new(dw, outputs, inputs), Mat::new(dy, n, outputs).t(), Mat::new(x, n, inputs), Start::Add);
}

/// A weight [O, I] in the order in which the tiles read it: packed once, used for every prediction.
pub struct PackedWeight {
    data: Aligned,
    inputs: usize,
    outputs: usize,
}

impl std::fmt::Debug for PackedWeight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedWeight [{}, {}]", self.outputs, self.inputs)
    }
}

impl PackedWeight {
    /// Packs `w` [O, I]; `w` is not needed afterwards.
    pub fn new(w: &[f32], inputs: usize) -> Self {
        let outputs = rows_of(w, inputs);
        let nr = Tile::best().nr;
        let padded = outputs.next_multiple_of(nr);
        let mut data = Aligned::zeros(padded * inputs);
        let b = Mat::new(w, outputs, inputs).t();
        for k in blocks(inputs) {
            pack(
                b.part(k.start, k.len(), 0, outputs),
                nr,
                Last::Padded,
                &mut data.as_mut_slice()[k.start * padded..],
            );
        }
        Self { data, inputs, outputs }
    }

    /// Columns of a product with this weight.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// `y [N, O] = x [N, I] w^T + bias`: the same bits as [`linear`].
    pub fn linear(&self, x: &[f32], bias: Option<&[f32]>, y: &mut [f32]) {
        let n = rows_of(x, self.inputs);
        let start = bias.map_or(Start::Zero, Start::Bias);
        run(MatMut::new(y, n, self.outputs), Mat::new(x, n, self.inputs), Right::Packed(self), start);
    }

    /// The panels of `nr` columns from `col` on, of the block that begins at `depth`.
    fn panels(&self, block: &Range<usize>, col: usize, nr: usize) -> &[f32] {
        &self.data.as_slice()[block.start * self.outputs.next_multiple_of(nr) + col * block.len()..]
    }
}

/// `out = start + a b` on this thread: for products that are part of a larger parallel task.
pub(crate) fn gemm_here(out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, start: Start<'_>) {
    assert_eq!((a.rows, a.cols, b.cols), (out.rows, b.rows, out.cols), "gemm shapes");
    let init = check_start(start, out.cols);
    // SAFETY: `out` is borrowed exclusively and its part is all of it.
    unsafe { part(&out, &a, &Right::Plain(b), init, 0..a.rows, 0..b.cols) };
}

/// The right-hand side of a product.
enum Right<'a> {
    Plain(Mat<'a>),
    Packed(&'a PackedWeight),
}

fn rows_of(x: &[f32], width: usize) -> usize {
    if width == 0 {
        return 0;
    }
    assert_eq!(x.len() % width, 0, "rows of {width} in a buffer of {}", x.len());
    x.len() / width
}

fn check_start(start: Start<'_>, cols: usize) -> Init {
    match start {
        Start::Zero => Init::Zero,
        Start::Add => Init::Keep,
        Start::Bias(bias) => {
            assert_eq!(bias.len(), cols, "one bias per column");
            Init::Bias(bias.as_ptr())
        }
    }
}

/// The depth in nearly equal blocks of at most `DEPTH`; a depth of zero is one empty block, which writes the start.
fn blocks(depth: usize) -> impl Iterator<Item = Range<usize>> {
    let count = depth.div_ceil(DEPTH).max(1);
    let size = depth.div_ceil(count);
    (0..count).map(move |b| (b * size).min(depth)..((b + 1) * size).min(depth))
}

/// The size of one task's part of the output, so that every thread gets several.
fn part_size(m: usize, n: usize, a: &Mat<'_>, tile: Tile) -> [usize; 2] {
    let threads = rayon::current_num_threads();
    let tasks = if threads == 1 { 1 } else { threads * 4 };
    let [mut rows, mut cols] = [m.min(PART[0]), n.min(PART[1])];
    while m.div_ceil(rows) * n.div_ceil(cols) < tasks && rows * cols * a.cols > 2 * WORTH {
        // A cut through the rows packs `b` once more, a cut through the columns packs `a` once more, if it must be.
        let narrow = if a.col_stride == 1 { NARROW } else { rows };
        if cols > narrow.max(tile.nr) {
            cols = cols.div_ceil(2).next_multiple_of(tile.nr);
        } else if rows > tile.mr {
            rows = rows.div_ceil(2).next_multiple_of(tile.mr);
        } else {
            break;
        }
    }
    [rows, cols.next_multiple_of(tile.nr)]
}

fn run(out: MatMut<'_>, a: Mat<'_>, b: Right<'_>, start: Start<'_>) {
    let _time = time(Kernel::Linear);
    let (m, n) = (out.rows, out.cols);
    if m == 0 || n == 0 {
        return;
    }
    // A raw bias pointer cannot cross threads; the slice can, and is turned again in each task.
    check_start(start, n);
    let [rows, cols] = part_size(m, n, &a, Tile::best());
    let across = n.div_ceil(cols);
    (0..m.div_ceil(rows) * across).into_par_iter().with_max_len(1).for_each(|task| {
        let (i, j) = (task / across * rows, task % across * cols);
        let init = check_start(start, n);
        // SAFETY: tasks write disjoint parts of `out`, which is borrowed exclusively.
        unsafe { part(&out, &a, &b, init, i..(i + rows).min(m), j..(j + cols).min(n)) };
    });
}

/// Computes the elements `rows` x `cols` of the output; `cols` begins at a whole panel.
///
/// # Safety
/// Nobody else may touch these elements of `out` meanwhile.
unsafe fn part(
    out: &MatMut<'_>,
    a: &Mat<'_>,
    b: &Right<'_>,
    init: Init,
    rows: Range<usize>,
    cols: Range<usize>,
) {
    let tile = Tile::best();
    let deepest = blocks(a.cols).map(|k| k.len()).max().unwrap_or(0);
    // Rows of `a` are read where they lie if their elements lie side by side.
    let a_len = if a.col_stride == 1 { 0 } else { (ROWS * deepest).next_multiple_of(16) };
    let b_len = match b {
        Right::Plain(_) => cols.len().next_multiple_of(tile.nr) * deepest,
        Right::Packed(_) => 0,
    };
    with_scratch(a_len + b_len, |scratch| {
        let (a_panels, b_panels) = scratch.split_at_mut(a_len);
        for k in blocks(a.cols) {
            let right = match b {
                Right::Packed(w) => w.panels(&k, cols.start, tile.nr),
                Right::Plain(b) => {
                    pack(b.part(k.start, k.len(), cols.start, cols.len()), tile.nr, Last::Padded, b_panels);
                    &*b_panels
                }
            };
            let init = match init {
                Init::Bias(bias) if k.start == 0 => Init::Bias(bias.wrapping_add(cols.start)),
                first if k.start == 0 => first,
                _ => Init::Keep,
            };
            for i in rows.clone().step_by(ROWS) {
                let left = a.part(i, ROWS.min(rows.end - i), k.start, k.len());
                // SAFETY: the part lies inside `out`, and the caller vouches that it is ours.
                let c = unsafe { out.part(i, left.rows, cols.start, cols.len()) };
                block(tile, left, a_panels, right, c, init);
            }
        }
    });
}

/// `c = init + a b` for one block of the depth, with `b` packed; `a_panels` is room to pack `a`.
fn block(tile: Tile, a: Mat<'_>, a_panels: &mut [f32], b: &[f32], c: MatMut<'_>, init: Init) {
    assert!(b.len() >= a.cols * c.cols.next_multiple_of(tile.nr) && a.rows == c.rows);
    let a_packed = a.col_stride != 1;
    if a_packed {
        pack(a.t(), tile.mr, Last::Narrow, a_panels);
    }
    let block = Block {
        rows: c.rows,
        cols: c.cols,
        depth: a.cols,
        a: if a_packed { a_panels.as_ptr() } else { a.data.as_ptr() },
        a_stride: a.row_stride,
        a_packed,
        b: b.as_ptr(),
        c: c.ptr,
        c_stride: c.row_stride,
        init,
    };
    // SAFETY: `a`, `c` and (asserted above) `b` hold what the block reads and writes; a bias was checked at the front.
    unsafe { tile.run(&block) };
}
