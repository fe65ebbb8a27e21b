//! The GEMM front: every matrix product of the engine goes through here, four fifths of a training step's time.
//!
//! Both operands are first put into the order in which the tiles read them (`operand`), once for all threads, unless they
//! lie so already; then the output is cut into tasks (`plan`) that the threads take one by one until none is left, and
//! `micro` multiplies. The cut follows the number of threads, the bits do not: an element is always summed alone, in the
//! order of the depth, in blocks that depend on the depth only. The same row therefore gives the same bits in a batch of
//! one and in a batch of many.

mod amx;
mod bfloat16;
mod form;
mod lanes;
mod micro;
mod operand;
mod pack;
mod plan;
mod small;

#[cfg(test)]
mod tests;

use crate::matrix::{Mat, MatMut};
use crate::profile::{Kernel, time};
use crate::scratch::{Aligned, with_scratch};
use crate::team::{self, tasks};
use form::Form;
use micro::{Block, Init, Tile};
use operand::{Left, LeftBlock, Panels, Right, Side};
use plan::{Cut, ROWS, blocks};
use std::ops::Range;

pub(crate) use form::wants_bf16;
pub use form::{bf16_pays, in_bf16};
pub(crate) use lanes::{Lanes, Portable};
pub(crate) use pack::transpose;
pub(crate) use small::gemm_in_place;

/// So few columns do not pay for packing rows that could be read where they lie.
const NARROW: usize = 256;
/// Floats of the right-hand side that are packed at a time: what the third-level cache can hold beside the rest.
const PACKED: usize = 1 << 20;
/// The same for a thread that multiplies alone, and so can multiply what it has packed at once, out of its second-level cache.
const PACKED_ALONE: usize = 384 * 384;

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

/// `y [N, O] = x [N, I] w^T + bias`, with `w` as checkpoints hold it: [O, I].
pub fn linear(x: &[f32], w: &[f32], bias: Option<&[f32]>, inputs: usize, y: &mut [f32]) {
    let (n, outputs) = (rows_of(x, inputs), rows_of(w, inputs));
    let start = bias.map_or(Start::Zero, Start::Bias);
    layer(MatMut::new(y, n, outputs), Mat::new(x, n, inputs), Mat::new(w, outputs, inputs).t(), start);
}

/// The gradient of [`linear`]'s input.
///
/// `dx [N, I] = dy [N, O] w`, or `dx += dy w`.
pub fn linear_dx(dy: &[f32], w: &[f32], outputs: usize, accumulate: bool, dx: &mut [f32]) {
    let (n, inputs) = (rows_of(dy, outputs), w.len().checked_div(outputs).unwrap_or(0));
    let start = if accumulate { Start::Add } else { Start::Zero };
    layer(MatMut::new(dx, n, inputs), Mat::new(dy, n, outputs), Mat::new(w, outputs, inputs), start);
}

/// The gradient of [`linear`]'s weight. (The bias's is [`crate::bias_gradient`].)
///
/// `dw [O, I] = dy^T [O, N] x [N, I]`, or `dw += dy^T x`.
pub fn linear_dw(dy: &[f32], x: &[f32], inputs: usize, accumulate: bool, dw: &mut [f32]) {
    let (n, outputs) = (rows_of(x, inputs), rows_of(dw, inputs));
    let start = if accumulate { Start::Add } else { Start::Zero };
    layer(MatMut::new(dw, outputs, inputs), Mat::new(dy, n, outputs).t(), Mat::new(x, n, inputs), start);
}

/// A weight [O, I] in the order in which the tiles read it: packed once, used for every prediction.
pub struct PackedWeight {
    data: Aligned,
    inputs: usize,
    outputs: usize,
    form: Form,
}

impl std::fmt::Debug for PackedWeight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedWeight [{}, {}]", self.outputs, self.inputs)
    }
}

impl PackedWeight {
    /// Packs `w` [O, I]; `w` is not needed afterwards.
    pub fn new(w: &[f32], inputs: usize) -> Self {
        Self::of(Form::Exact, w, inputs)
    }

    /// Packs `w` [O, I] for products of numbers rounded to bfloat16, which add in f32 (see [`bf16_pays`]).
    pub fn bf16(w: &[f32], inputs: usize) -> Self {
        Self::of(Form::bf16(), w, inputs)
    }

    fn of(form: Form, w: &[f32], inputs: usize) -> Self {
        let outputs = rows_of(w, inputs);
        let mut data = Aligned::zeros(Panels::room(form, Side::Right, inputs, outputs));
        Panels::pack(Mat::new(w, outputs, inputs).t(), form, Side::Right, data.as_mut_slice());
        Self { data, inputs, outputs, form }
    }

    /// Columns of a product with this weight.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// `y [N, O] = x [N, I] w^T + bias`: the same bits as [`linear`], or as [`linear`] [`in_bf16`].
    pub fn linear(&self, x: &[f32], bias: Option<&[f32]>, y: &mut [f32]) {
        let _time = time(Kernel::Linear);
        let x = Mat::new(x, rows_of(x, self.inputs), self.inputs);
        let start = bias.map_or(Start::Zero, Start::Bias);
        let panels = Panels::new(self.data.as_slice(), self.form.lines(Side::Right, self.outputs));
        let out = MatMut::new(y, x.rows, self.outputs);
        let right = Right::Panels(panels, self.outputs);
        with_left(x, self.form, self.outputs, |x| product(&out, 0, x, &right, self.form, start));
    }
}

/// `out = start + a b`, in parallel. Shapes: out [M, N], a [M, K], b [K, N].
pub fn gemm(out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, start: Start<'_>) {
    let _time = time(Kernel::Linear);
    gemm_inside(out, a, b, start);
}

/// [`gemm`] in the numbers that this thread wants for its layers.
fn layer(out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, start: Start<'_>) {
    let _time = time(Kernel::Linear);
    gemm_of(Form::wanted(), out, a, b, start);
}

/// [`gemm`] as a part of another kernel: inside of a task it stays on the task's thread.
pub(crate) fn gemm_inside(out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, start: Start<'_>) {
    gemm_of(Form::Exact, out, a, b, start);
}

fn gemm_of(form: Form, out: MatMut<'_>, a: Mat<'_>, b: Mat<'_>, start: Start<'_>) {
    assert_eq!((a.rows, a.cols, b.cols), (out.rows, b.rows, out.cols), "gemm shapes");
    with_left(a, form, b.cols, |a| columns(&out, a, b, form, start));
}

/// Runs `f` with `a` as the tiles shall read it for a product of `cols` columns.
///
/// Packed panels are read a twentieth faster than rows that lie apart; packing costs as much as a few columns.
fn with_left(a: Mat<'_>, form: Form, cols: usize, f: impl FnOnce(&Left<'_>)) {
    if form == Form::Exact && a.col_stride == 1 && cols <= NARROW {
        return f(&Left::Rows(a));
    }
    with_scratch(Panels::room(form, Side::Left, a.cols, a.rows), |room| {
        let panels = Panels::pack(a.t(), form, Side::Left, room);
        f(&Left::Panels(panels, form.places(a.cols)));
    });
}

/// Packs `b`, as many columns at a time as the cache holds; or leaves it to the tasks where each needs its own columns only.
fn columns(out: &MatMut<'_>, a: &Left<'_>, b: Mat<'_>, form: Form, start: Start<'_>) {
    if form == Form::Exact && out.rows <= ROWS {
        return product(out, 0, a, &Right::Plain(b), form, start);
    }
    let packed = if team::size() == 1 { PACKED_ALONE } else { PACKED };
    let together = (packed / form.places(b.rows).max(1)).next_multiple_of(form.width(Side::Right));
    for first in (0..b.cols).step_by(together) {
        let some = b.part(0, b.rows, first, together.min(b.cols - first));
        with_scratch(Panels::room(form, Side::Right, some.rows, some.cols), |room| {
            let panels = Panels::pack(some, form, Side::Right, room);
            product(out, first, a, &Right::Panels(panels, some.cols), form, start);
        });
    }
}

/// Computes the columns of `out` from `first` on, as many as `b` has.
fn product(out: &MatMut<'_>, first: usize, a: &Left<'_>, b: &Right<'_>, form: Form, start: Start<'_>) {
    let depth = a.depth();
    check_start(start, out.cols);
    let cut = Cut::new(out.rows, b.cols(), depth, form.tile());
    tasks(cut.tasks(), |task| {
        let (rows, cols) = cut.part(task);
        // A raw bias pointer cannot cross threads; the slice can, and is turned in each task.
        let init = check_start(start, out.cols);
        for k in blocks(depth) {
            let init = match init {
                Init::Bias(bias) if k.start == 0 => Init::Bias(bias.wrapping_add(first + cols.start)),
                init if k.start == 0 => init,
                _ => Init::Keep,
            };
            // SAFETY: tasks write disjoint parts of `out`, which the front borrowed exclusively.
            let c = unsafe { out.part(rows.start, rows.len(), first + cols.start, cols.len()) };
            b.with_block(&cols, &k, form, |b| block(form.tile(), a.block(&rows, &k, form), b, &k, c, init));
        }
    });
}

/// `c = init + a b` for one block of the depth.
fn block(tile: Tile, a: LeftBlock<'_>, b: &[f32], k: &Range<usize>, c: MatMut<'_>, init: Init) {
    assert!(b.len() >= c.cols.next_multiple_of(tile.nr) * k.len(), "whole panels");
    let block = Block {
        rows: c.rows,
        cols: c.cols,
        depth: k.len(),
        a: a.data.as_ptr(),
        a_stride: a.row_stride,
        a_packed: a.packed,
        b: b.as_ptr(),
        c: c.ptr,
        c_stride: c.row_stride,
        init,
    };
    // SAFETY: `a` and `c` were cut to what the block reads and writes, `b` was checked; a bias was checked at the front.
    unsafe { tile.run(&block) };
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
