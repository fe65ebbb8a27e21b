//! A training pass in two halves: half of the threads take half of a batch through the whole model, forward and backward, and
//! meet the others at the end only.
//!
//! Threads that share every kernel wait for the slowest after each of them, some hundred times in a pass. Where a batch is cut
//! follows from the batch alone, and each half has gradients of its own until the second's are added to the first's: so the
//! bits are the same for any number of threads.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use oxibert_kernels::{collect, halves, zeros};

use crate::model::WIDEST_LANE;
use crate::random::Random;

/// Tokens of a half at least: fewer rows do not pay for gradients of their own.
const LEAST: usize = 256;

/// What the halves need: a desk each (a batch and the memory of a pass), and the second's gradients.
#[derive(Debug, Default)]
pub(super) struct Halves<D> {
    desks: [D; 2],
    /// Zero between passes; empty until a batch was cut.
    second: Vec<f32>,
}

impl<D: Send> Halves<D> {
    /// The desk for what is not cut.
    pub(super) fn desk(&mut self) -> &mut D {
        &mut self.desks[0]
    }

    /// Runs `f` for each part of a batch, which adds the part's gradient to the gradients that it is given.
    pub(super) fn run<R: Send>(
        &mut self,
        parts: &Parts,
        gradients: &mut [f32],
        f: impl Fn(Range<usize>, &mut D, &mut [f32]) -> R + Sync,
    ) -> Vec<R> {
        let [first, second] = &mut self.desks;
        let Some(cut) = parts.cut else { return vec![f(0..parts.count, first, gradients)] };
        if self.second.len() != gradients.len() {
            self.second = zeros(gradients.len());
        }
        let both = [
            Mutex::new((0..cut, first, &mut *gradients, None)),
            Mutex::new((cut..parts.count, second, &mut self.second[..], None)),
        ];
        halves(|half| {
            let mut place = both[half].lock().unwrap_or_else(PoisonError::into_inner);
            let (part, desk, gradients, result) = &mut *place;
            *result = Some(f(part.clone(), desk, gradients));
        });
        let results = both.map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner).3);
        collect(gradients, &mut self.second);
        results.into_iter().map(|result| result.expect("both halves were run")).collect()
    }
}

/// How the examples of a batch are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    count: usize,
    /// The first example of the second half.
    cut: Option<usize>,
}

impl Parts {
    /// For examples of so many tokens each, and a model whose hidden vectors have this width. What is small, or reads matrices
    /// that fill the caches, is not cut.
    pub(super) fn new(tokens: &[usize], width: usize) -> Self {
        let (count, all) = (tokens.len(), tokens.iter().sum::<usize>());
        // The example that reaches over the middle goes where less of it lies on the other side.
        let nearest = |cut: usize| (2 * tokens[..cut].iter().sum::<usize>()).abs_diff(all);
        let cut = (1..count).min_by_key(|&cut| nearest(cut));
        let fits = all >= 2 * LEAST && width <= WIDEST_LANE;
        Self { count, cut: cut.filter(|&cut| fits && 2 * nearest(cut) <= all) }
    }
}

/// What is dropped in a pass over the part of a batch that begins with example `first`: halves drop independently.
pub(super) fn dropout_seed(seed: u64, pass: u64, first: usize) -> u64 {
    let purpose = if first == 0 { "dropout" } else { "dropout of the second half" };
    Random::new(seed, purpose, pass).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_cut_near_the_middle() {
        let cut = |tokens: &[usize]| Parts::new(tokens, 128).cut;
        assert_eq!(cut(&[256, 256]), Some(1));
        assert_eq!(cut(&[100, 100, 300, 100]), Some(2));
        assert_eq!(cut(&[100, 100, 300, 150, 30]), Some(2));
        assert_eq!(cut(&[100, 400, 100, 100]), Some(2));
    }

    #[test]
    fn what_does_not_pay_is_not_cut() {
        let cut = |tokens: &[usize], width| Parts::new(tokens, width).cut;
        assert_eq!(cut(&[], 128), None);
        assert_eq!(cut(&[5000], 128), None);
        assert_eq!(cut(&[256, 255], 128), None, "too few tokens");
        assert_eq!(cut(&[256, 256], 768), None, "too wide a model");
        assert_eq!(cut(&[900, 100], 128), None, "the halves would be too unlike");
    }

    #[test]
    fn gradients_of_both_halves_are_added() {
        let mut halves = Halves::<u32>::default();
        for _ in 0..2 {
            let mut gradients = vec![1.0; 3];
            let results = halves.run(&Parts { count: 5, cut: Some(2) }, &mut gradients, |part, desk, g| {
                *desk += 1;
                g[part.len() - 2] += 10.0;
                part
            });
            assert_eq!(results, [0..2, 2..5]);
            assert_eq!(gradients, [11.0, 11.0, 1.0]);
        }
        assert_eq!(halves.desks, [2, 2]);
        assert_eq!(halves.second, [0.0; 3]);
    }
}
