//! The gradient of every parameter, in the arena's layout.
//!
//! A small model's step walks through more memory than it computes on, so nothing here is touched without need. What a step
//! adds to first is written over what the step before has left, and never cleared. And of a table of tokens, half of such a
//! model, a batch names some hundred of thirty thousand rows: the others stay zero and are neither added, measured nor cleared.

use std::ops::Range;

use oxibert_kernels as kernels;

use super::Layout;
use super::params::Place;

/// What is known of a parameter's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// They are zero.
    Zero,
    /// They are an earlier step's, and mean nothing.
    Old,
    /// They are this step's.
    Sum,
    /// A table's: this step's in the rows that were named, zero elsewhere.
    Rows,
}

/// Gradients of one step. Reading them takes exclusive access, because what nobody has added to may have to be cleared.
#[derive(Debug, Clone, Default)]
pub struct Gradients {
    values: Vec<f32>,
    /// Where each parameter begins, and at last the end.
    starts: Vec<usize>,
    states: Vec<State>,
    /// The rows of tables that were named, perhaps more than once and in no order.
    named: Vec<Range<usize>>,
    /// Memory of [`Gradients::live`].
    live: Vec<Range<usize>>,
}

impl Gradients {
    /// Zeros.
    pub fn new(layout: &Layout) -> Self {
        Self::of(kernels::zeros(layout.len()), layout, State::Zero)
    }

    /// A step's gradients that are there already.
    pub fn from_values(layout: &Layout, values: Vec<f32>) -> Self {
        assert_eq!(values.len(), layout.len(), "a gradient for every parameter");
        Self::of(values, layout, State::Sum)
    }

    fn of(values: Vec<f32>, layout: &Layout, state: State) -> Self {
        let starts: Vec<usize> =
            layout.iter().map(|(_, range)| range.start).chain(std::iter::once(layout.len())).collect();
        let states = vec![state; starts.len() - 1];
        Self { values, starts, states, named: Vec::new(), live: Vec::new() }
    }

    /// As many zeros, for the same parameters.
    pub(crate) fn another(&self) -> Self {
        let (values, states) = (kernels::zeros(self.values.len()), vec![State::Zero; self.states.len()]);
        Self { values, starts: self.starts.clone(), states, named: Vec::new(), live: Vec::new() }
    }

    /// Whether it has a place for no parameter at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Forgets all sums: a new step begins.
    pub fn begin(&mut self) {
        for row in self.named.drain(..) {
            self.values[row].fill(0.0);
        }
        for state in &mut self.states {
            *state = match *state {
                State::Zero | State::Rows => State::Zero,
                State::Old | State::Sum => State::Old,
            };
        }
    }

    /// All of them.
    pub fn values(&mut self) -> &[f32] {
        for param in 0..self.states.len() {
            self.clear_old(param);
        }
        &self.values
    }

    /// All of them, and the parts that may differ from zero, in order and apart from each other.
    pub(crate) fn read(&mut self) -> (&[f32], &[Range<usize>]) {
        self.values();
        self.live();
        (&self.values, &self.live)
    }

    /// The sum of all squares.
    pub(crate) fn squared_norm(&mut self) -> f64 {
        self.live();
        self.live.iter().map(|range| kernels::squared_norm(&self.values[range.clone()])).sum()
    }

    /// The parts that may differ from zero, in order and apart from each other.
    fn live(&mut self) -> &[Range<usize>] {
        let Self { starts, states, named, live, .. } = self;
        live.clear();
        let sums = states.iter().zip(starts.windows(2)).filter(|(state, _)| **state == State::Sum);
        live.extend(sums.map(|(_, ends)| ends[0]..ends[1]));
        live.extend(named.iter().filter(|row| !row.is_empty()).cloned());
        live.sort_unstable_by_key(|range| range.start);
        live.dedup_by(|next, last| {
            let joined = next.start <= last.end;
            last.end = if joined { last.end.max(next.end) } else { last.end };
            joined
        });
        live
    }

    /// Where to add to.
    pub(crate) fn adding(&mut self, place: &Place) -> &mut [f32] {
        self.open(place);
        &mut self.values[place.values.clone()]
    }

    /// The same for several places at once.
    pub(crate) fn adding_to<const N: usize>(&mut self, places: [&Place; N]) -> [&mut [f32]; N] {
        places.iter().for_each(|place| self.open(place));
        let ranges = places.map(|place| place.values.clone());
        self.values.get_disjoint_mut(ranges).expect("the places of different parameters")
    }

    /// Where to write to, or to add to if the flag says so: for who writes every number of a place.
    pub(crate) fn writing(&mut self, place: &Place) -> (&mut [f32], bool) {
        let states = &mut self.states[place.params.clone()];
        let untouched = states.iter().all(|state| matches!(state, State::Zero | State::Old));
        if untouched {
            states.fill(State::Sum);
        } else {
            self.open(place);
        }
        (&mut self.values[place.values.clone()], !untouched)
    }

    /// A table [rows, `width`], to add to the rows that `ids` name.
    pub(crate) fn rows(&mut self, place: &Place, width: usize, ids: &[u32]) -> &mut [f32] {
        self.clear_old(place.params.start);
        let state = &mut self.states[place.params.start];
        if *state != State::Sum {
            *state = State::Rows;
            let row = |&id: &u32| place.values.start + id as usize * width;
            self.named.extend(ids.iter().map(row).map(|start| start..start + width));
        }
        &mut self.values[place.values.clone()]
    }

    /// Adds a step's other gradients, and makes them ready for the next step.
    pub(crate) fn collect(&mut self, other: &mut Self) {
        assert_eq!(self.starts, other.starts, "gradients of the same parameters");
        for param in 0..self.states.len() {
            let range = self.starts[param]..self.starts[param + 1];
            match (self.states[param], other.states[param]) {
                (_, State::Zero | State::Old | State::Rows) => {}
                (State::Zero | State::Old, State::Sum) => {
                    self.values[range.clone()].copy_from_slice(&other.values[range]);
                    self.states[param] = State::Sum;
                }
                (State::Sum | State::Rows, State::Sum) => {
                    kernels::add(&mut self.values[range.clone()], &other.values[range]);
                    self.states[param] = State::Sum;
                }
            }
        }
        self.collect_rows(other);
        other.begin();
    }

    fn collect_rows(&mut self, other: &mut Self) {
        other.named.sort_unstable_by_key(|row| row.start);
        other.named.dedup();
        for row in &other.named {
            let param = self.starts.partition_point(|&start| start <= row.start) - 1;
            self.clear_old(param);
            kernels::add(&mut self.values[row.clone()], &other.values[row.clone()]);
            if self.states[param] != State::Sum {
                self.states[param] = State::Rows;
                self.named.push(row.clone());
            }
        }
    }

    /// Makes the parameters of a place this step's as a whole.
    fn open(&mut self, place: &Place) {
        for param in place.params.clone() {
            self.clear_old(param);
            if self.states[param] == State::Rows {
                let range = self.starts[param]..self.starts[param + 1];
                self.named.retain(|row| !range.contains(&row.start));
            }
            self.states[param] = State::Sum;
        }
    }

    fn clear_old(&mut self, param: usize) {
        if self.states[param] == State::Old {
            kernels::clear(&mut self.values[self.starts[param]..self.starts[param + 1]]);
            self.states[param] = State::Zero;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::{Block, Kind, Param};

    /// A matrix of four numbers, a bias of two, a table of four rows of two.
    fn layout() -> Layout {
        let param = |name: &str, shape: &[usize], kind| Param {
            name: name.to_owned(),
            shape: shape.to_vec(),
            block: Block::Embeddings,
            kind,
        };
        Layout::new(vec![
            param("w", &[2, 2], Kind::Weight),
            param("b", &[2], Kind::Bias),
            param("e", &[4, 2], Kind::Embedding),
        ])
    }

    fn write(gradients: &mut Gradients, place: &Place, value: f32) {
        let (numbers, accumulate) = gradients.writing(place);
        numbers.iter_mut().for_each(|number| *number = if accumulate { *number + value } else { value });
    }

    fn add_rows(gradients: &mut Gradients, place: &Place, ids: &[u32], value: f32) {
        let table = gradients.rows(place, 2, ids);
        ids.iter()
            .for_each(|&id| table[id as usize * 2..][..2].iter_mut().for_each(|number| *number += value));
    }

    #[test]
    fn what_is_touched_first_is_written() {
        let layout = layout();
        let [w, b] = ["w", "b"].map(|name| layout.place(name, 1));
        let mut gradients = Gradients::new(&layout);
        for _ in 0..2 {
            gradients.begin();
            write(&mut gradients, &w, 1.0);
            write(&mut gradients, &w, 2.0);
            gradients.adding(&b)[1] += 5.0;
            assert_eq!(gradients.values()[..6], [3.0, 3.0, 3.0, 3.0, 0.0, 5.0]);
            assert_eq!(gradients.squared_norm(), 61.0);
        }
        gradients.begin();
        assert_eq!(gradients.squared_norm(), 0.0);
        assert_eq!(gradients.values(), [0.0; 14], "what nobody touches is zero");
    }

    #[test]
    fn places_of_several_parameters_are_added_to_if_one_was_touched() {
        let layout = layout();
        let (w, both) = (layout.place("w", 1), layout.place("w", 2));
        let mut gradients = Gradients::from_values(&layout, vec![7.0; 14]);
        gradients.begin();
        write(&mut gradients, &w, 1.0);
        write(&mut gradients, &both, 1.0);
        assert_eq!(gradients.values()[..6], [2.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn only_named_rows_are_summed() {
        let layout = layout();
        let e = layout.place("e", 1);
        let mut gradients = Gradients::new(&layout);
        for ids in [[3, 1, 3], [0, 0, 2]] {
            gradients.begin();
            add_rows(&mut gradients, &e, &ids, 1.0);
            let rows: usize = gradients.live().iter().map(|range| range.len() / 2).sum();
            assert_eq!(rows, 2);
            let anew = || (0..4).map(|row| ids.iter().filter(|&&id| id == row).count() as f32);
            let wanted: Vec<f32> = anew().flat_map(|count| [count; 2]).collect();
            assert_eq!(gradients.values()[6..], wanted);
        }
        write(&mut gradients, &e, 1.0);
        assert_eq!(gradients.values()[6..], [3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0], "a matrix too");
        add_rows(&mut gradients, &e, &[1], 1.0);
        assert_eq!(gradients.squared_norm(), 2.0 * (9.0 + 4.0 + 4.0 + 1.0));
        gradients.begin();
        add_rows(&mut gradients, &e, &[1], 1.0);
        assert_eq!(gradients.values()[6..], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    /// Sums of two, whoever has touched what.
    #[test]
    fn sums_are_collected() {
        let layout = layout();
        let [w, e] = ["w", "e"].map(|name| layout.place(name, 1));
        let touch = |gradients: &mut Gradients, what: u32, value: f32| match what {
            0 => {}
            1 => write(gradients, &w, value),
            2 => add_rows(gradients, &e, &[1, 2], value),
            3 => write(gradients, &e, value),
            _ => {
                add_rows(gradients, &e, &[2, 3], value);
                write(gradients, &e, value);
            }
        };
        for (first, second) in (0..5).flat_map(|first| (0..5).map(move |second| (first, second))) {
            let [mut gradients, mut other] = [(); 2].map(|()| Gradients::from_values(&layout, vec![7.0; 14]));
            let mut alone = Gradients::new(&layout);
            for _ in 0..2 {
                gradients.begin();
                alone.begin();
                other.begin();
                for (what, value) in [(first, 1.0), (second, 10.0)] {
                    touch(&mut alone, what, value);
                }
                touch(&mut gradients, first, 1.0);
                touch(&mut other, second, 10.0);
                gradients.collect(&mut other);
                assert_eq!(gradients.squared_norm(), alone.squared_norm(), "{first} {second}");
                assert_eq!(gradients.values(), alone.values(), "{first} {second}");
                assert_eq!(other.squared_norm(), 0.0);
            }
        }
    }
}
