//! The backward pass of attention.

use super::{Attention, QUERIES, Task, mask_row_of, whole_registers};
use crate::arch::{fma, versions};
use crate::dropout::RowMask;
use crate::gemm::{Start, gemm_inside};
use crate::math;
use crate::matrix::{Mat, MatMut};
use crate::profile::{Kernel, time};
use crate::scratch::with_scratch;
use crate::team::tasks;

/// What [`attention_backward`] reads: the forward pass's operands and results, and the gradient of its output.
#[derive(Clone, Copy, Debug)]
pub struct AttentionBackward<'a> {
    /// [N, A * D]
    pub q: Mat<'a>,
    /// [N of the keys, A * D]
    pub k: Mat<'a>,
    /// [N of the keys, A * D]
    pub v: Mat<'a>,
    /// [N, A * D]
    pub out: Mat<'a>,
    /// [A, N]
    pub lse: &'a [f32],
    /// [N, A * D]
    pub dout: Mat<'a>,
}

/// Writes the gradients of q, k and v.
///
/// Per sequence and head, with s = q k^T / sqrt(D), p = exp(s - lse), mask m, w = m p, out = w v:
/// dv = w^T dout; dw = dout v^T; delta = row sums of (dout out) = row sums of (w dw);
/// ds = p (m dw - delta) / sqrt(D); dq = ds k; dk = ds^T q.
pub fn attention_backward(
    shape: &Attention<'_>,
    given: AttentionBackward<'_>,
    [dq, dk, dv]: [MatMut<'_>; 3],
) {
    let _time = time(Kernel::Attention);
    let AttentionBackward { q, k, v, out, lse, dout } = given;
    shape.check((q.rows, q.cols), (k.rows, k.cols), (v.rows, v.cols));
    shape.check((dq.rows, dq.cols), (dk.rows, dk.cols), (dv.rows, dv.cols));
    let as_q = (q.rows, q.cols);
    assert!((out.rows, out.cols) == as_q && (dout.rows, dout.cols) == as_q, "out and dout are as q");
    assert_eq!(lse.len(), shape.heads * q.rows, "lse is [A, N]");
    tasks(shape.sequences() * shape.heads, |index| {
        let task = shape.task(index);
        // SAFETY: these rows and columns are this task's alone, in all three.
        let gradients = unsafe {
            let (n_q, n_k, d) = (task.queries.len(), task.keys.len(), shape.head_size);
            [
                dq.part(task.queries.start, n_q, task.columns, d),
                dk.part(task.keys.start, n_k, task.columns, d),
                dv.part(task.keys.start, n_k, task.columns, d),
            ]
        };
        backward_task(shape, &task, &given, gradients);
    });
}

fn backward_task(
    shape: &Attention<'_>,
    task: &Task,
    given: &AttentionBackward<'_>,
    gradients: [MatMut<'_>; 3],
) {
    let (n_q, n_k, d) = (task.queries.len(), task.keys.len(), shape.head_size);
    let [dq, mut dk, mut dv] = gradients;
    let k = given.k.part(task.keys.start, n_k, task.columns, d);
    let v = given.v.part(task.keys.start, n_k, task.columns, d);
    if n_q == 0 {
        (0..n_k).for_each(|j| dk.row_mut(j).fill(0.0));
        (0..n_k).for_each(|j| dv.row_mut(j).fill(0.0));
    }
    let stride = shape.stride(task);
    with_scratch(2 * QUERIES.min(n_q) * stride, |scratch| {
        for first in (0..n_q).step_by(QUERIES) {
            let rows = QUERIES.min(n_q - first);
            let [q, dout] =
                [given.q, given.dout].map(|x| x.part(task.queries.start + first, rows, task.columns, d));
            let (w, ds) = scratch[..2 * rows * stride].split_at_mut(rows * stride);
            gemm_inside(MatMut::first_columns(w, stride, n_k), q, k.t(), Start::Zero); // scores [rows, keys]
            gemm_inside(MatMut::first_columns(ds, stride, n_k), dout, v.t(), Start::Zero); // dw [rows, keys]
            backward_rows(shape, task, given, first, w, ds);
            let (w, ds) = (Mat::columns(w, stride, 0, n_k), Mat::columns(ds, stride, 0, n_k));
            let start = if first == 0 { Start::Zero } else { Start::Add };
            gemm_inside(dv.reborrow(), w.t(), dout, start); // [keys, D]
            gemm_inside(dk.reborrow(), ds.t(), q, start); // [keys, D]
            // SAFETY: `dq` is this task's, and steps write different rows.
            gemm_inside(unsafe { dq.part(first, rows, 0, d) }, ds, k, Start::Zero); // [rows, D]
        }
    });
}

/// For the queries from `first` on: scores become dropped weights in `w`, and dw becomes ds.
fn backward_rows(
    shape: &Attention<'_>,
    task: &Task,
    given: &AttentionBackward<'_>,
    first: usize,
    w: &mut [f32],
    ds: &mut [f32],
) {
    let stride = shape.stride(task);
    let lse = &given.lse[task.head * given.q.rows..][..given.q.rows];
    for (i, (w, ds)) in (first..).zip(w.chunks_exact_mut(stride).zip(ds.chunks_exact_mut(stride))) {
        let token = task.queries.start + i;
        let columns = task.columns..task.columns + shape.head_size;
        let delta = dot(&given.out.row(token)[columns.clone()], &given.dout.row(token)[columns]);
        let seen = shape.visible(task, i);
        ds[seen..].fill(0.0);
        let mask = (!shape.dropout.is_off()).then(|| shape.dropout.row(mask_row_of(shape, task, i)));
        backward_row(whole_registers(w, seen), ds, delta, shape.scale(), -lse[token], mask);
        w[seen..].fill(0.0);
        ds[seen..].fill(0.0);
    }
}

versions! {
    fn dot(x: &[f32], y: &[f32]) -> f32 {
        math::dot::<FMA>(x, y)
    }

    /// `w = m p` in place of the scores s, `ds = p (m dw - delta) scale` in place of dw; p = e^(scale s + shift).
    fn backward_row(s: &mut [f32], dw: &mut [f32], delta: f32, scale: f32, shift: f32, mask: Option<RowMask>) {
        match mask {
            None => {
                for (s, dw) in s.iter_mut().zip(dw) {
                    let p = math::exp::<FMA>(fma::<FMA>(*s, scale, shift));
                    *dw = p * scale * (*dw - delta);
                    *s = p;
                }
            }
            Some(mask) => {
                for ((s, dw), col) in s.iter_mut().zip(dw).zip(0u32..) {
                    let (p, m) = (math::exp::<FMA>(fma::<FMA>(*s, scale, shift)), mask.factor(col));
                    *dw = p * scale * (m * *dw - delta);
                    *s = p * m;
                }
            }
        }
    }
}
