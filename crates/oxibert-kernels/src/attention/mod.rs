//! Scaled dot-product attention over ragged batches: softmax(q k^T / sqrt(D)) v for every (sequence, head).
//!
//! Sequences lie one after the other without padding; offsets say where each begins. No [N, N] matrix is kept: a task
//! computes some rows of scores in its thread's scratch memory, and the backward pass computes them again from the
//! saved log-sum-exp of each row.

mod backward;
mod rows;
#[cfg(test)]
mod tests;

use crate::arch::{fma, versions};
use crate::dropout::{Dropout, mask_row};
use crate::gemm::{Start, gemm_inside};
use crate::math::{self, LANES};
use crate::matrix::{Mat, MatMut};
use crate::profile::{Kernel, time};
use crate::scratch::with_scratch;
use crate::team::tasks;
use std::ops::Range;

pub use backward::{AttentionBackward, attention_backward};
pub use rows::{KeyRows, attention_to_rows};

/// Queries per step of a task: with 512 keys their scores take 256 KiB.
const QUERIES: usize = 128;

/// The shape of one attention over a batch.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// A; head `a` owns the columns `a * D .. (a + 1) * D`.
    pub heads: usize,
    /// D
    pub head_size: usize,
    /// Where each sequence's queries begin, `[B + 1]`, from 0 to the number of query tokens.
    pub q_offsets: &'a [usize],
    /// The same for keys and values: equal to `q_offsets` in self-attention, the encoder's in a decoder.
    pub k_offsets: &'a [usize],
    /// Whether a query sees only keys up to its own place. With fewer queries than keys the queries are the last ones.
    pub causal: bool,
    /// On the weights.
    pub dropout: Dropout,
}

/// One (sequence, head).
struct Task {
    head: usize,
    columns: usize,
    queries: Range<usize>,
    keys: Range<usize>,
}

impl Attention<'_> {
    fn scale(&self) -> f32 {
        1.0 / (self.head_size as f32).sqrt()
    }

    fn sequences(&self) -> usize {
        self.q_offsets.len().saturating_sub(1)
    }

    /// The number of attention weights of the whole batch: A * sum over sequences of queries * keys.
    pub fn weights_len(&self) -> usize {
        self.weights_before(self.sequences())
    }

    /// The number of attention weights of the first `sequences`.
    fn weights_before(&self, sequences: usize) -> usize {
        let lengths = self.q_offsets.windows(2).zip(self.k_offsets.windows(2)).take(sequences);
        lengths.map(|(q, k)| self.heads * (q[1] - q[0]) * (k[1] - k[0])).sum()
    }

    fn task(&self, index: usize) -> Task {
        let (sequence, head) = (index / self.heads, index % self.heads);
        Task {
            head,
            columns: head * self.head_size,
            queries: self.q_offsets[sequence]..self.q_offsets[sequence + 1],
            keys: self.k_offsets[sequence]..self.k_offsets[sequence + 1],
        }
    }

    /// Floats of a row of scores in scratch memory: whole registers, because a loop's last few elements take as long as many.
    fn stride(&self, task: &Task) -> usize {
        task.keys.len().next_multiple_of(LANES).max(LANES)
    }

    /// How many keys the query `i` of a task sees.
    fn visible(&self, task: &Task, i: usize) -> usize {
        let (queries, keys) = (task.queries.len(), task.keys.len());
        if self.causal { keys + i + 1 - queries } else { keys }
    }

    fn check(&self, q: (usize, usize), k: (usize, usize), v: (usize, usize)) {
        let width = self.heads * self.head_size;
        assert_eq!(self.q_offsets.len(), self.k_offsets.len(), "as many query as key sequences");
        let ends = |offsets: &[usize]| offsets.last().copied().unwrap_or(0);
        assert_eq!(q, (ends(self.q_offsets), width), "q is [N, A * D]");
        assert_eq!(k, (ends(self.k_offsets), width), "k is [N, A * D]");
        assert_eq!(v, k, "v is [N, A * D]");
        let lengths = self.q_offsets.windows(2).zip(self.k_offsets.windows(2));
        for (q, k) in lengths {
            assert!(q[0] <= q[1] && k[0] <= k[1], "offsets grow");
            assert!(!self.causal || q[1] - q[0] <= k[1] - k[0], "a causal query has a key of its own");
        }
    }
}

/// `out = softmax(q k^T / sqrt(D)) v` for every sequence and head, over [N, A * D] matrices.
///
/// `lse` [A, N of the queries] gets the log-sum-exp of every row of scores for the backward pass. `weights`, for callers who ask, gets the
/// probabilities before dropout: sequence after sequence, [A, queries, keys] each ([`Attention::weights_len`]).
pub fn attention(
    shape: &Attention<'_>,
    [q, k, v]: [Mat<'_>; 3],
    out: MatMut<'_>,
    lse: &mut [f32],
    weights: Option<&mut [f32]>,
) {
    let _time = time(Kernel::Attention);
    shape.check((q.rows, q.cols), (k.rows, k.cols), (v.rows, v.cols));
    assert_eq!((out.rows, out.cols), (q.rows, q.cols), "out is as q");
    let lse = MatMut::new(lse, shape.heads, q.rows);
    let weights = weights.map(|w| MatMut::new(w, 1, shape.weights_len()));
    tasks(shape.sequences() * shape.heads, |index| {
        let task = shape.task(index);
        let (n_q, n_k, d) = (task.queries.len(), task.keys.len(), shape.head_size);
        // SAFETY: these queries of this head, and their weights, are this task's alone.
        let (out, lse, weights) = unsafe {
            let before = || shape.weights_before(index / shape.heads) + task.head * n_q * n_k;
            (
                out.part(task.queries.start, n_q, task.columns, d),
                lse.part(task.head, 1, task.queries.start, n_q),
                weights.as_ref().map(|w| w.part(0, 1, before(), n_q * n_k)),
            )
        };
        let q = q.part(task.queries.start, n_q, task.columns, d);
        let [k, v] = [k, v].map(|x| x.part(task.keys.start, n_k, task.columns, d));
        forward_task(shape, &task, [q, k, v], out, lse, weights);
    });
}

fn forward_task(
    shape: &Attention<'_>,
    task: &Task,
    [q, k, v]: [Mat<'_>; 3],
    out: MatMut<'_>,
    mut lse: MatMut<'_>,
    mut weights: Option<MatMut<'_>>,
) {
    let (n_q, n_k, d, stride) = (q.rows, k.rows, q.cols, shape.stride(task));
    with_scratch(QUERIES.min(n_q) * stride, |scratch| {
        for first in (0..n_q).step_by(QUERIES) {
            let rows = QUERIES.min(n_q - first);
            let scores = &mut scratch[..rows * stride];
            let some = MatMut::first_columns(scores, stride, n_k);
            gemm_inside(some, q.part(first, rows, 0, d), k.t(), Start::Zero); // [rows, keys]
            softmax_rows(shape, task, first, scores, &mut lse.row_mut(0)[first..first + rows]);
            if let Some(weights) = &mut weights {
                for (i, row) in (first..).zip(scores.chunks_exact(stride)) {
                    weights.row_mut(0)[i * n_k..][..n_k].copy_from_slice(&row[..n_k]);
                }
            }
            drop_weights(shape, task, first, scores);
            // SAFETY: `out` is this task's, and steps write different rows.
            let out = unsafe { out.part(first, rows, 0, d) };
            gemm_inside(out, Mat::columns(scores, stride, 0, n_k), v, Start::Zero); // [rows, D]
        }
    });
}

/// Scores of the queries from `first` on become probabilities; `lse` gets log sum exp of each row.
fn softmax_rows(shape: &Attention<'_>, task: &Task, first: usize, scores: &mut [f32], lse: &mut [f32]) {
    for (i, (row, lse)) in scores.chunks_exact_mut(shape.stride(task)).zip(lse).enumerate() {
        let seen = shape.visible(task, first + i);
        *lse = softmax_row(whole_registers(row, seen), shape.scale());
        row[seen..].fill(0.0);
    }
}

/// The first `seen` scores of a row, filled up with scores that weigh nothing.
fn whole_registers(row: &mut [f32], seen: usize) -> &mut [f32] {
    let whole = &mut row[..seen.next_multiple_of(LANES)];
    whole[seen..].fill(f32::NEG_INFINITY);
    whole
}

versions! {
    /// `x` becomes softmax(scale x); returns log sum e^(scale x).
    fn softmax_row(x: &mut [f32], scale: f32) -> f32 {
        let max = math::max(x) * scale;
        for x in x.iter_mut() {
            *x = math::exp::<FMA>(fma::<FMA>(*x, scale, -max));
        }
        let sum = math::sum(x, |x| x);
        let share = 1.0 / sum;
        for x in x.iter_mut() {
            *x *= share;
        }
        max + sum.ln()
    }
}

/// Dropout on the weights of the queries from `first` on.
fn drop_weights(shape: &Attention<'_>, task: &Task, first: usize, weights: &mut [f32]) {
    if shape.dropout.is_off() {
        return;
    }
    for (i, row) in weights.chunks_exact_mut(shape.stride(task)).enumerate() {
        mask_row(row, shape.dropout.row(mask_row_of(shape, task, first + i)));
    }
}

/// The number of the mask row of query `i`: heads one after the other, as in `lse`.
fn mask_row_of(shape: &Attention<'_>, task: &Task, i: usize) -> usize {
    let tokens = shape.q_offsets.last().copied().unwrap_or(0);
    task.head * tokens + task.queries.start + i
}
