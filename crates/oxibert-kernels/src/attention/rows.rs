//! Attention of single queries, each to rows of its own choice: a step of decoding with cached keys and values.
//!
//! The hypotheses of a beam search share most of their past, and which of them go on changes with every step. So nothing in
//! the cache is ever moved: a query names the rows that are its past.

use crate::arch::{fma, versions};
use crate::math;
use crate::matrix::{Mat, MatMut};
use crate::profile::{Kernel, time};
use crate::scratch::with_scratch;
use crate::team::tasks;

/// Which rows each query attends to.
#[derive(Clone, Copy, Debug)]
pub struct KeyRows<'a> {
    /// A; head `a` owns the columns `a * D .. (a + 1) * D`.
    pub heads: usize,
    /// Where each query's part of `rows` begins, `[N + 1]`.
    pub ends: &'a [usize],
    /// Numbers of rows of the keys and values; one beyond them is a bug and panics.
    pub rows: &'a [u32],
}

impl<'a> KeyRows<'a> {
    pub(crate) fn of(&self, query: usize) -> &'a [u32] {
        &self.rows[self.ends[query]..self.ends[query + 1]]
    }
}

/// `out = softmax(q k^T / sqrt(D)) v` for every query [N, A * D] over its rows of `k` and `v`; zeros where it has none.
pub fn attention_to_rows(shape: &KeyRows<'_>, [q, k, v]: [Mat<'_>; 3], out: MatMut<'_>) {
    let _time = time(Kernel::Attention);
    assert_eq!((out.rows, out.cols), (q.rows, q.cols), "out is as q");
    assert_eq!((k.rows, k.cols), (v.rows, v.cols), "v is as k");
    assert!(k.cols == q.cols && q.cols.is_multiple_of(shape.heads), "rows of A * D");
    assert_eq!(shape.ends.len(), q.rows + 1, "the rows of every query");
    tasks(q.rows, |query| {
        let rows = shape.of(query);
        // SAFETY: this row is this task's alone.
        let mut out = unsafe { out.part(query, 1, 0, q.cols) };
        with_scratch(shape.heads * rows.len(), |scores| {
            attend(shape.heads, q.row(query), [k, v], rows, scores, out.row_mut(0));
        });
    });
}

fn attend(heads: usize, q: &[f32], [k, v]: [Mat<'_>; 2], rows: &[u32], scores: &mut [f32], out: &mut [f32]) {
    out.fill(0.0);
    if rows.is_empty() || q.is_empty() {
        return;
    }
    let scale = 1.0 / ((q.len() / heads) as f32).sqrt();
    score(heads, q, k, rows, scores); // [A, rows]
    for weights in scores.chunks_exact_mut(rows.len()) {
        softmax_row(weights, scale);
    }
    collect(heads, v, rows, scores, out); // [A * D]
}

versions! {
    /// `scores [A, rows] = q k^T`; every row of k is read once, for all heads.
    fn score(heads: usize, q: &[f32], k: Mat<'_>, rows: &[u32], scores: &mut [f32]) {
        let size = q.len() / heads;
        for (at, row) in rows.iter().enumerate() {
            let k = k.row(*row as usize);
            for (head, (q, k)) in q.chunks_exact(size).zip(k.chunks_exact(size)).enumerate() {
                scores[head * rows.len() + at] = math::dot::<FMA>(q, k);
            }
        }
    }

    /// `x` becomes softmax(scale x).
    fn softmax_row(x: &mut [f32], scale: f32) {
        let max = math::max(x) * scale;
        for x in x.iter_mut() {
            *x = math::exp::<FMA>(fma::<FMA>(*x, scale, -max));
        }
        let share = 1.0 / math::sum(x, |x| x);
        for x in x.iter_mut() {
            *x *= share;
        }
    }

    /// `out [A * D] += weights [A, rows] v`, in the order of the rows.
    fn collect(heads: usize, v: Mat<'_>, rows: &[u32], weights: &[f32], out: &mut [f32]) {
        let size = out.len() / heads;
        for (at, row) in rows.iter().enumerate() {
            let v = v.row(*row as usize);
            for (head, (out, v)) in out.chunks_exact_mut(size).zip(v.chunks_exact(size)).enumerate() {
                let weight = weights[head * rows.len() + at];
                for (out, v) in out.iter_mut().zip(v) {
                    *out = fma::<FMA>(weight, *v, *out);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{Attention, attention};
    use crate::dropout::Dropout;
    use crate::scalar;
    use crate::testing::{assert_close, noise, on_threads};

    /// Queries with no row, one, and many, some rows shared and out of order.
    const ENDS: [usize; 6] = [0, 0, 1, 4, 12, 14];
    const ROWS: [u32; 14] = [3, 0, 1, 2, 7, 3, 0, 1, 9, 8, 2, 6, 5, 5];

    fn run(heads: usize, width: usize) -> [Vec<f32>; 2] {
        let shape = KeyRows { heads, ends: &ENDS, rows: &ROWS };
        let [q, k, v] = [(5, 1), (10, 2), (10, 3)].map(|(rows, seed)| noise(rows * width, seed));
        let parts = [Mat::new(&q, 5, width), Mat::new(&k, 10, width), Mat::new(&v, 10, width)];
        let mut out = vec![9.0; 5 * width];
        attention_to_rows(&shape, parts, MatMut::new(&mut out, 5, width));
        [out, scalar::attention_to_rows(&shape, parts)]
    }

    #[test]
    fn equals_the_plain_form() {
        for (heads, size) in [(1, 1), (2, 5), (3, 16), (2, 70)] {
            let [got, want] = run(heads, heads * size);
            assert_close(&got, &want, 1e-5, &format!("{heads} heads of {size}"));
        }
    }

    #[test]
    fn rows_in_order_are_a_causal_sequence() {
        let (n, heads, width) = (9, 2, 32);
        let [q, k, v] = [1, 2, 3].map(|seed| noise(n * width, seed));
        let parts = [&q, &k, &v].map(|x| Mat::new(x, n, width));
        let offsets = [0, n];
        let causal = Attention {
            heads,
            head_size: width / heads,
            q_offsets: &offsets,
            k_offsets: &offsets,
            causal: true,
            dropout: Dropout::OFF,
        };
        let (mut want, mut lse) = (vec![0.0; n * width], vec![0.0; n * heads]);
        attention(&causal, parts, MatMut::new(&mut want, n, width), &mut lse, None);
        let rows: Vec<u32> = (1..=n as u32).flat_map(|seen| 0..seen).collect();
        let ends: Vec<usize> = (0..=n).map(|seen| seen * (seen + 1) / 2).collect();
        let mut got = vec![0.0; n * width];
        let shape = KeyRows { heads, ends: &ends, rows: &rows };
        attention_to_rows(&shape, parts, MatMut::new(&mut got, n, width));
        assert_close(&got, &want, 1e-5, "out");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let with = |threads| on_threads(threads, || run(4, 64)[0].clone());
        assert!(with(1) == with(2) && with(1) == with(5));
    }
}
