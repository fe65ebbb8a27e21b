//! What happens to scores between the products: softmax and its backward, dropout, the causal limit.
//!
//! Scores stand as [keys, queries]: a column belongs to a query. So sixteen queries are in a register side by side, their
//! sums need no step across it, and the number of keys does not matter for how well registers are filled.

use super::{Attention, Task, mask_row_of};
use crate::arch::{fma, versions};
use crate::dropout::ColumnMasks;
use crate::math::{self, LANES};
use std::array::from_fn;

/// Scores [keys, `width`] of the queries from `first` on.
pub(super) struct Block<'a> {
    pub(super) shape: &'a Attention<'a>,
    pub(super) task: &'a Task,
    pub(super) first: usize,
    /// Queries.
    pub(super) rows: usize,
    /// The same, filled up to whole registers.
    pub(super) width: usize,
}

/// A register's columns, from `at` on, of rows of `width`.
struct Columns {
    width: usize,
    at: usize,
    scale: f32,
}

impl Block<'_> {
    /// Scores become probabilities; `lse` gets log sum exp of each query's.
    pub(super) fn softmax(&self, scores: &mut [f32], lse: &mut [f32]) {
        self.hide(scores, f32::NEG_INFINITY);
        for (columns, lse) in self.groups().zip(lse.chunks_mut(LANES)) {
            let sums = softmax_columns(scores, &columns);
            lse.copy_from_slice(&sums[..lse.len()]);
        }
        self.hide(scores, 0.0);
    }

    /// Dropout on the weights.
    pub(super) fn drop(&self, weights: &mut [f32]) {
        if self.shape.dropout.is_off() {
            return;
        }
        for columns in self.groups() {
            mask_columns(weights, &columns, &self.masks(columns.at));
        }
    }

    /// Scores `s` become probabilities, `w` dropped weights, if there is dropout, and `ds`, which holds dw, the scores' gradient.
    pub(super) fn backward(&self, s: &mut [f32], w: &mut [f32], ds: &mut [f32], lse: &[f32]) {
        self.hide(s, f32::NEG_INFINITY);
        self.hide(ds, 0.0);
        for (columns, lse) in self.groups().zip(lse.chunks(LANES)) {
            let shift = from_fn(|lane| lse.get(lane).map_or(0.0, |lse| -lse));
            if self.shape.dropout.is_off() {
                backward_columns(s, ds, &columns, &shift);
            } else {
                backward_dropped(s, w, ds, &columns, &shift, &self.masks(columns.at));
            }
        }
        [s, w, ds].into_iter().for_each(|x| self.hide(x, 0.0));
    }

    /// Overwrites what queries do not see: keys behind the causal limit.
    fn hide(&self, x: &mut [f32], value: f32) {
        if !self.shape.causal {
            return;
        }
        let (queries, keys) = (self.task.queries.len(), self.task.keys.len());
        for (key, row) in x.chunks_exact_mut(self.width).enumerate() {
            let blind = (key + queries).saturating_sub(keys + self.first);
            row[..blind.min(self.rows)].fill(value);
        }
    }

    fn groups(&self) -> impl Iterator<Item = Columns> {
        let (width, scale) = (self.width, self.shape.scale());
        (0..width).step_by(LANES).map(move |at| Columns { width, at, scale })
    }

    fn masks(&self, at: usize) -> ColumnMasks {
        let row = |lane| mask_row_of(self.shape, self.task, self.first + at + lane);
        self.shape.dropout.columns(from_fn(row))
    }
}

/// The elements of a row that stand in the columns from `at` on.
#[inline(always)]
fn lanes(row: &mut [f32], at: usize) -> &mut [f32; LANES] {
    row[at..at + LANES].as_mut_array().expect("rows are whole registers")
}

/// The scores' gradient `scale (p dw - p delta)` in place of `p dw`, which `dw` holds.
#[inline(always)]
fn centre<const FMA: bool>(p: &mut [f32], dw: &mut [f32], columns: &Columns, delta: &[f32; LANES]) {
    let Columns { width, at, scale } = *columns;
    for (p, dw) in p.chunks_exact_mut(width).zip(dw.chunks_exact_mut(width)) {
        let (p, dw) = (lanes(p, at), lanes(dw, at));
        for lane in 0..LANES {
            dw[lane] = scale * fma::<FMA>(-p[lane], delta[lane], dw[lane]);
        }
    }
}

versions! {
    /// Columns of `x` [keys, `width`] become softmax(scale x); returns log sum e^(scale x) of each.
    fn softmax_columns(x: &mut [f32], columns: &Columns) -> [f32; LANES] {
        let Columns { width, at, scale } = *columns;
        let mut largest = [f32::NEG_INFINITY; LANES];
        for row in x.chunks_exact_mut(width) {
            for (largest, x) in largest.iter_mut().zip(lanes(row, at)) {
                *largest = if *x > *largest { *x } else { *largest };
            }
        }
        let mut sum = [0.0; LANES];
        for row in x.chunks_exact_mut(width) {
            for ((x, sum), largest) in lanes(row, at).iter_mut().zip(&mut sum).zip(&largest) {
                *x = math::exp::<FMA>(fma::<FMA>(*x, scale, -*largest * scale));
                *sum += *x;
            }
        }
        let mut share = [0.0; LANES];
        share.iter_mut().zip(&sum).for_each(|(share, sum)| *share = 1.0 / sum);
        for row in x.chunks_exact_mut(width) {
            lanes(row, at).iter_mut().zip(&share).for_each(|(x, share)| *x *= share);
        }
        for (sum, largest) in sum.iter_mut().zip(&largest) {
            *sum = fma::<FMA>(*largest, scale, math::ln::<FMA>(*sum));
        }
        sum
    }

    fn mask_columns(x: &mut [f32], columns: &Columns, masks: &ColumnMasks) {
        let Columns { width, at, .. } = *columns;
        for (row, key) in x.chunks_exact_mut(width).zip(0u32..) {
            lanes(row, at).iter_mut().zip(masks.factors(key)).for_each(|(x, factor)| *x *= factor);
        }
    }

    /// `p = e^(scale s + shift)` in place of s, `ds = p (dw - delta) scale` in place of dw, delta being the sum of p dw over the keys.
    fn backward_columns(s: &mut [f32], dw: &mut [f32], columns: &Columns, shift: &[f32; LANES]) {
        let Columns { width, at, scale } = *columns;
        let mut delta = [0.0; LANES];
        for (s, dw) in s.chunks_exact_mut(width).zip(dw.chunks_exact_mut(width)) {
            let (s, dw) = (lanes(s, at), lanes(dw, at));
            for lane in 0..LANES {
                s[lane] = math::exp::<FMA>(fma::<FMA>(s[lane], scale, shift[lane]));
                dw[lane] *= s[lane];
                delta[lane] += dw[lane];
            }
        }
        centre::<FMA>(s, dw, columns, &delta);
    }

    /// The same with dropped weights `w = m p`: `ds = p (m dw - delta) scale`, delta being the sum of w dw.
    fn backward_dropped(
        s: &mut [f32],
        w: &mut [f32],
        dw: &mut [f32],
        columns: &Columns,
        shift: &[f32; LANES],
        masks: &ColumnMasks,
    ) {
        let Columns { width, at, scale } = *columns;
        let mut delta = [0.0; LANES];
        let rows = s.chunks_exact_mut(width).zip(w.chunks_exact_mut(width)).zip(dw.chunks_exact_mut(width));
        for (((s, w), dw), key) in rows.zip(0u32..) {
            let (s, w, dw, m) = (lanes(s, at), lanes(w, at), lanes(dw, at), masks.factors(key));
            for lane in 0..LANES {
                s[lane] = math::exp::<FMA>(fma::<FMA>(s[lane], scale, shift[lane]));
                w[lane] = m[lane] * s[lane];
                dw[lane] *= w[lane];
                delta[lane] += dw[lane];
            }
        }
        centre::<FMA>(s, dw, columns, &delta);
    }
}
