//! Scaled dot-product attention over ragged batches: softmax(q k^T / sqrt(D)) v for every (sequence, head).
//!
//! Sequences lie one after the other without padding; offsets say where each begins. No [N, N] matrix is kept: a task
//! computes the scores of some queries in its thread's scratch memory, and the backward pass computes them again from the
//! saved log-sum-exp of each. They are computed as [keys, queries], because then all products can read q, k and v where they
//! lie (only queries are turned, a few at a time) and softmax works down the columns (`columns`).

mod backward;
mod columns;
mod rows;
#[cfg(test)]
mod tests;

use crate::dropout::Dropout;
use crate::gemm::{Start, gemm_in_place, transpose};
use crate::math::LANES;
use crate::matrix::{Mat, MatMut};
use crate::profile::{Kernel, time};
use crate::scratch::with_scratch;
use crate::team::tasks;
use columns::Block;
use std::ops::Range;

pub use backward::{AttentionBackward, attention_backward};
pub use rows::{KeyRows, attention_to_rows};

/// Scores that are kept at a time: 128 KiB.
const SCORES: usize = 1 << 15;
/// Queries per step of a task, at least and at most, if there are so many.
const FEWEST: usize = 32;
const MOST: usize = 128;

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
    let (n_k, d) = (k.rows, q.cols);
    with_scratch((d + n_k) * widest(q.rows, n_k), |scratch| {
        for block in blocks(shape, task) {
            let Block { first, rows, width, .. } = block;
            let (turned, scores) = scratch[..(d + n_k) * width].split_at_mut(d * width);
            turn(q.part(first, rows, 0, d), width, turned);
            gemm_in_place(MatMut::new(scores, n_k, width), k, Mat::new(turned, d, width), Start::Zero); // [keys, queries]
            block.softmax(scores, &mut lse.row_mut(0)[first..first + rows]);
            if let Some(weights) = &mut weights {
                copy_turned(scores, width, &mut weights.row_mut(0)[first * n_k..][..rows * n_k]);
            }
            block.drop(scores);
            // SAFETY: `out` is this task's, and blocks are different rows.
            let out = unsafe { out.part(first, rows, 0, d) };
            gemm_in_place(out, Mat::columns(scores, width, 0, rows).t(), v, Start::Zero); // [queries, D]
        }
    });
}

/// Queries whose scores are computed at a time: few where keys are many, so that the scores stay in the cache.
fn queries_at_once(keys: usize) -> usize {
    (SCORES / keys.max(1)).clamp(FEWEST, MOST) / LANES * LANES
}

/// Columns of the widest block of scores.
fn widest(queries: usize, keys: usize) -> usize {
    queries.min(queries_at_once(keys)).next_multiple_of(LANES)
}

/// The queries of a task, some at a time.
fn blocks<'a>(shape: &'a Attention<'a>, task: &'a Task) -> impl Iterator<Item = Block<'a>> {
    let (queries, step) = (task.queries.len(), queries_at_once(task.keys.len()));
    (0..queries).step_by(step).map(move |first| {
        let rows = step.min(queries - first);
        Block { shape, task, first, rows, width: rows.next_multiple_of(LANES) }
    })
}

/// Rows of vectors to columns, and zeros behind them.
fn turn(x: Mat<'_>, width: usize, to: &mut [f32]) {
    to.chunks_exact_mut(width).for_each(|line| line[x.rows..].fill(0.0));
    transpose(x.data, x.row_stride, x.rows, to, width);
}

/// Probabilities [keys, queries] as callers get them: [queries, keys].
fn copy_turned(scores: &[f32], width: usize, to: &mut [f32]) {
    let keys = scores.len() / width;
    for (i, row) in to.chunks_exact_mut(keys.max(1)).enumerate() {
        row.iter_mut().zip(scores.chunks_exact(width)).for_each(|(to, from)| *to = from[i]);
    }
}

/// The number of the mask row of query `i`: heads one after the other, as in `lse`.
fn mask_row_of(shape: &Attention<'_>, task: &Task, i: usize) -> usize {
    let tokens = shape.q_offsets.last().copied().unwrap_or(0);
    task.head * tokens + task.queries.start + i
}
