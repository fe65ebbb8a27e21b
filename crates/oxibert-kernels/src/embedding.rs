//! Rows by their numbers: the embedding tables, and the chosen positions of a sequence.

use crate::arch::{fma, versions};
use crate::matrix::MatMut;
use crate::parallel::rows_per_piece;
use crate::profile::{Kernel, time};
use crate::team::{each, tasks};

/// Columns per task of the backward pass: four cache lines of each row.
const COLUMNS: usize = 64;

/// One table and the rows that are taken from it.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// [rows, H]
    pub table: &'a [f32],
    /// `[N]`; a number beyond the table is a bug and panics.
    pub ids: &'a [u32],
    /// 1 in BERT; the original Transformer multiplies its token rows by sqrt(H).
    pub scale: f32,
}

/// `out [N, H] = sum over lookups of scale * table[id]`: token + segment + position, in the order given.
pub fn embed(lookups: &[Lookup<'_>], h: usize, out: &mut [f32]) {
    let _time = time(Kernel::Embedding);
    for lookup in lookups {
        assert_eq!(lookup.ids.len() * h, out.len(), "one row of {h} per id");
    }
    if out.is_empty() {
        return;
    }
    let step = rows_per_piece(h);
    each(out.chunks_mut(step * h).enumerate(), |(piece, out)| {
        for (row, out) in (piece * step..).zip(out.chunks_exact_mut(h)) {
            out.fill(0.0);
            for lookup in lookups {
                add_scaled(out, &lookup.table[lookup.ids[row] as usize * h..][..h], lookup.scale);
            }
        }
    });
}

/// The gradient of one table of [`embed`], added to `dtable`; with scale 1 also the backward of taking rows.
///
/// `dtable[r] += scale * sum of dy[n]` over the n with `ids[n] = r`, in the order of n.
pub fn embed_backward(dy: &[f32], ids: &[u32], scale: f32, h: usize, dtable: &mut [f32]) {
    let _time = time(Kernel::Embedding);
    assert_eq!(ids.len() * h, dy.len(), "one row of {h} per id");
    if dy.is_empty() {
        return;
    }
    assert_eq!(dtable.len() % h, 0, "rows of {h}");
    // Tasks own columns, not rows: no two write the same element, and nothing must be sorted.
    let table = MatMut::new(dtable, dtable.len() / h, h);
    tasks(h.div_ceil(COLUMNS), |task| {
        let first = task * COLUMNS;
        let width = COLUMNS.min(h - first);
        for (id, dy) in ids.iter().zip(dy.chunks_exact(h)) {
            // SAFETY: these columns belong to this task.
            let mut row = unsafe { table.part(*id as usize, 1, first, width) };
            add_scaled(row.row_mut(0), &dy[first..first + width], scale);
        }
    });
}

versions! {
    /// `to += scale * x`.
    pub(crate) fn add_scaled(to: &mut [f32], x: &[f32], scale: f32) {
        for (to, x) in to.iter_mut().zip(x) {
            *to = fma::<FMA>(scale, *x, *to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{assert_close, assert_gradient, dot, noise, on_threads};

    fn ids(n: usize, rows: u32) -> Vec<u32> {
        (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) % rows).collect()
    }

    #[test]
    fn forward_and_backward_equal_the_plain_forms() {
        for (n, h) in [(0, 4), (1, 1), (7, 5), (40, 64), (90, 131)] {
            let (words, places) = (noise(11 * h, 1), noise(n.max(1) * h, 2));
            let (word_ids, place_ids) = (ids(n, 11), (0..n as u32).collect::<Vec<_>>());
            let lookups = [
                Lookup { table: &words, ids: &word_ids, scale: 3.0 },
                Lookup { table: &places, ids: &place_ids, scale: 1.0 },
            ];
            let (mut out, mut want) = (vec![9.0; n * h], vec![9.0; n * h]);
            embed(&lookups, h, &mut out);
            scalar::embed(&lookups, h, &mut want);
            assert_close(&out, &want, 1e-6, "embed");
            let dy = noise(n * h, 3);
            let (mut dtable, mut want) = (vec![1.0; 11 * h], vec![1.0; 11 * h]);
            embed_backward(&dy, &word_ids, 3.0, h, &mut dtable);
            scalar::embed_backward(&dy, &word_ids, 3.0, h, &mut want);
            assert_close(&dtable, &want, 1e-5, "dtable");
        }
    }

    #[test]
    fn backward_agrees_with_differences_and_threads() {
        let (h, word_ids) = (70, ids(30, 7));
        let (table, dy) = (noise(7 * h, 1), noise(30 * h, 2));
        let run = |threads| {
            on_threads(threads, || {
                let mut dtable = vec![0.0; 7 * h];
                embed_backward(&dy, &word_ids, 0.5, h, &mut dtable);
                dtable
            })
        };
        assert!(run(1) == run(2) && run(1) == run(3));
        assert_gradient(&table, &run(2), "dtable", |table| {
            let mut out = vec![0.0; dy.len()];
            scalar::embed(&[Lookup { table, ids: &word_ids, scale: 0.5 }], h, &mut out);
            dot(&out, &dy)
        });
    }
}
