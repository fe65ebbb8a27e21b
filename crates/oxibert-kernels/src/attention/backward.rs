//! The backward pass of attention.

use super::columns::Block;
use super::{Attention, Task, blocks, turn, widest};
use crate::gemm::{Start, gemm_in_place};
use crate::matrix::{Mat, MatMut};
use crate::profile::{Kernel, time};
use crate::scratch::with_scratch;
use crate::team::tasks;

/// What [`attention_backward`] reads: the forward pass's operands, its log-sum-exps, and the gradient of its output.
#[derive(Clone, Copy, Debug)]
pub struct AttentionBackward<'a> {
    /// [N, A * D]
    pub q: Mat<'a>,
    /// [N of the keys, A * D]
    pub k: Mat<'a>,
    /// [N of the keys, A * D]
    pub v: Mat<'a>,
    /// [A, N]
    pub lse: &'a [f32],
    /// [N, A * D]
    pub dout: Mat<'a>,
}

/// Writes the gradients of q, k and v.
///
/// Per sequence and head, with s = q k^T / sqrt(D), p = exp(s - lse), mask m, w = m p, out = w v:
/// dv = w^T dout; dw = dout v^T; delta = row sums of (w dw) = row sums of (dout out);
/// ds = p (m dw - delta) / sqrt(D); dq = ds k; dk = ds^T q.
pub fn attention_backward(
    shape: &Attention<'_>,
    given: AttentionBackward<'_>,
    [dq, dk, dv]: [MatMut<'_>; 3],
) {
    let _time = time(Kernel::Attention);
    let AttentionBackward { q, k, v, lse, dout } = given;
    shape.check((q.rows, q.cols), (k.rows, k.cols), (v.rows, v.cols));
    shape.check((dq.rows, dq.cols), (dk.rows, dk.cols), (dv.rows, dv.cols));
    assert_eq!((dout.rows, dout.cols), (q.rows, q.cols), "dout is as q");
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
    let lse = &given.lse[task.head * given.q.rows + task.queries.start..][..n_q];
    if n_q == 0 {
        (0..n_k).for_each(|j| dk.row_mut(j).fill(0.0));
        (0..n_k).for_each(|j| dv.row_mut(j).fill(0.0));
    }
    with_scratch((d + 3 * n_k) * widest(n_q, n_k), |scratch| {
        for block in blocks(shape, task) {
            let Block { first, rows, width, .. } = block;
            let [q, dout] =
                [given.q, given.dout].map(|x| x.part(task.queries.start + first, rows, task.columns, d));
            let (turned, rest) = scratch.split_at_mut(d * width);
            let (s, rest) = rest.split_at_mut(n_k * width);
            let (ds, rest) = rest.split_at_mut(n_k * width);
            let w = &mut rest[..if shape.dropout.is_off() { 0 } else { n_k * width }];
            for (x, keys, out) in [(q, k, &mut *s), (dout, v, &mut *ds)] {
                turn(x, width, turned);
                gemm_in_place(MatMut::new(out, n_k, width), keys, Mat::new(turned, d, width), Start::Zero); // scores, dw [keys, queries]
            }
            block.backward(s, w, ds, &lse[first..first + rows]);
            let w = if shape.dropout.is_off() { &*s } else { &*w };
            let (w, ds) = (Mat::columns(w, width, 0, rows), Mat::columns(ds, width, 0, rows));
            let start = if first == 0 { Start::Zero } else { Start::Add };
            gemm_in_place(dv.reborrow(), w, dout, start); // [keys, D]
            gemm_in_place(dk.reborrow(), ds, q, start); // [keys, D]
            // SAFETY: `dq` is this task's, and blocks are different rows.
            gemm_in_place(unsafe { dq.part(first, rows, 0, d) }, ds.t(), k, Start::Zero); // [queries, D]
        }
    });
}
