//! A table of embeddings under AdamW: rows without a gradient take their steps when somebody reads them.
//!
//! Half of a small model are rows of tokens, of which a batch names some hundred. The others have no gradient, but weights
//! decay and moments fade, step after step. What they miss is remembered, and made up for in one go: the same
//! operations in the same order, so the same bits, without a walk through all of the table after every batch.

use std::ops::Range;
use std::slice;

use oxibert_kernels::{AdamW, IdleRow, IdleStep, adamw, adamw_idle};

use crate::model::Param;

/// Steps that rows may miss: what is made up for at once then takes a moment only.
const MOST_IDLE: usize = 1024;

/// The numbers of all parameters: values, mean of gradients, mean of squares.
pub(super) type Numbers<'n> = [&'n mut [f32]; 3];

#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) range: Range<usize>,
    width: usize,
    /// The rows that had a gradient at some time; the others have moments of zero.
    pub(super) awake: Vec<bool>,
    /// Steps that some rows have not taken yet.
    idle: Vec<IdleStep>,
    /// How many of them each row has taken.
    taken: Vec<u32>,
    /// Memory of [`Table::catch_up`].
    late: Vec<IdleRow>,
}

impl Table {
    /// A table of which no row had a gradient.
    pub(super) fn new(param: &Param, range: Range<usize>) -> Self {
        let width = param.shape.last().copied().unwrap_or(0);
        let rows = range.len().checked_div(width).unwrap_or(0);
        Self {
            range,
            width,
            awake: vec![false; rows],
            idle: Vec::with_capacity(MOST_IDLE),
            taken: vec![0; rows],
            late: Vec::with_capacity(rows),
        }
    }

    /// The rows whose moments say so had a gradient.
    pub(super) fn wake_by(&mut self, moments: &[f32]) {
        for (row, awake) in moments[self.range.clone()].chunks_exact(self.width.max(1)).zip(&mut self.awake) {
            *awake |= row.iter().any(|number| number.to_bits() != 0);
        }
    }

    /// The next step. Gradients differ from zero in the parts `live` of the arena alone.
    pub(super) fn step(
        &mut self,
        step: &AdamW,
        live: &[Range<usize>],
        gradients: &[f32],
        numbers: &mut Numbers<'_>,
    ) {
        self.catch_up(live, numbers);
        if live.iter().any(|places| self.part(places) == Some(self.range.clone())) {
            self.idle.clear();
        } else {
            self.idle.push(IdleStep::new(step));
        }
        for places in live {
            let Some(places) = self.part(places) else { continue };
            let [p, m, v] = numbers.each_mut().map(|numbers| &mut numbers[places.clone()]);
            adamw(step, p, &gradients[places.clone()], m, v);
            let rows = self.rows(&places);
            self.awake[rows.clone()].fill(true);
            self.taken[rows].fill(self.idle.len() as u32);
        }
        if self.idle.len() >= MOST_IDLE {
            self.settle(numbers);
        }
    }

    /// All rows take the steps that they have missed.
    pub(super) fn settle(&mut self, numbers: &mut Numbers<'_>) {
        let all = self.range.clone();
        self.catch_up(slice::from_ref(&all), numbers);
        self.idle.clear();
        self.taken.fill(0);
    }

    /// The rows that have a part of `places`, in any order, take the steps that they have missed.
    pub(super) fn catch_up(&mut self, places: &[Range<usize>], numbers: &mut Numbers<'_>) {
        let (steps, mut late) = (self.idle.len() as u32, std::mem::take(&mut self.late));
        late.clear();
        for row in places.iter().filter_map(|places| self.part(places)).flat_map(|part| self.rows(&part)) {
            if self.taken[row] < steps {
                late.push(IdleRow { row: row as u32, first: self.taken[row], awake: self.awake[row] });
            }
        }
        late.sort_unstable_by_key(|late| late.row);
        late.dedup();
        if !late.is_empty() {
            let [p, m, v] = numbers.each_mut().map(|numbers| &mut numbers[self.range.clone()]);
            adamw_idle(&self.idle, self.width, &late, p, m, v);
            late.iter().for_each(|late| self.taken[late.row as usize] = steps);
        }
        self.late = late;
    }

    /// What of these places lies in the table.
    fn part(&self, places: &Range<usize>) -> Option<Range<usize>> {
        let part = places.start.max(self.range.start)..places.end.min(self.range.end);
        (!part.is_empty()).then_some(part)
    }

    /// The rows that have a part of these places, which lie in the table.
    fn rows(&self, places: &Range<usize>) -> Range<usize> {
        let row = |place: usize| (place - self.range.start) / self.width;
        row(places.start)..row(places.end - 1) + 1
    }
}
