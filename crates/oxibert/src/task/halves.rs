//! A training pass in two halves: half of the threads take half of a batch through the whole model, forward and backward, and
//! meet the others at the end only.
//!
//! Threads that share every kernel wait for the slowest after each of them, some hundred times in a pass. What belongs to which
//! half follows from the batch alone, and each half has gradients of its own until the second's are added to the first's: so
//! the bits are the same for any number of threads.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use oxibert_kernels::halves;

use crate::model::WIDEST_LANE;
use crate::nn::Gradients;
use crate::random::Random;

/// Tokens of a half at least: fewer rows do not pay for gradients of their own.
const LEAST: usize = 256;

/// What the halves need: a desk each (a batch and the memory of a pass), and the second's gradients.
#[derive(Debug, Default)]
pub(super) struct Halves<D> {
    desks: [D; 2],
    /// Empty until a batch was cut.
    second: Gradients,
}

impl<D: Send> Halves<D> {
    /// The desk for what is not cut.
    pub(super) fn desk(&mut self) -> &mut D {
        &mut self.desks[0]
    }

    /// Runs `f` for each part of a batch, given as its examples' numbers. `f` adds the part's gradient to the gradients that it
    /// is given.
    pub(super) fn run<R: Send>(
        &mut self,
        parts: &Parts,
        gradients: &mut Gradients,
        f: impl Fn(&Part, &mut D, &mut Gradients) -> R + Sync,
    ) -> Vec<R> {
        let [first, second] = &mut self.desks;
        let Some(other) = &parts.second else { return vec![f(&parts.first, first, gradients)] };
        if self.second.is_empty() {
            self.second = gradients.another();
        }
        let both = [
            Mutex::new((&parts.first, first, &mut *gradients, None)),
            Mutex::new((other, second, &mut self.second, None)),
        ];
        halves(|half| {
            let mut place = both[half].lock().unwrap_or_else(PoisonError::into_inner);
            let (part, desk, gradients, result) = &mut *place;
            *result = Some(f(part, desk, gradients));
        });
        let results = both.map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner).3);
        gradients.collect(&mut self.second);
        results.into_iter().map(|result| result.expect("both halves were run")).collect()
    }
}

/// How the examples of a batch are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    first: Part,
    second: Option<Part>,
}

/// Some examples of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Their places in the batch, in order.
    pub(super) places: Vec<usize>,
    /// What tells its dropout from the other part's.
    purpose: &'static str,
}

impl Parts {
    /// For examples of so many tokens each, and a model whose hidden vectors have this width. What is small, or reads matrices
    /// that fill the caches, is not cut.
    pub(super) fn new(tokens: &[usize], width: usize) -> Self {
        let part = |places, purpose| Part { places, purpose };
        let all: usize = tokens.iter().sum();
        let [first, second] = balance(tokens);
        let of_second: usize = second.iter().map(|&place| tokens[place]).sum();
        let alike = 4 * of_second >= all;
        if all >= 2 * LEAST && width <= WIDEST_LANE && alike {
            let second = Some(part(second, "dropout of the second half"));
            return Self { first: part(first, "dropout"), second };
        }
        Self { first: part((0..tokens.len()).collect(), "dropout"), second: None }
    }
}

/// Two sets of examples with about as many tokens each, the first with more if with any: the longest first, each goes where
/// fewer are. A half that has less to do waits for the other.
fn balance(tokens: &[usize]) -> [Vec<usize>; 2] {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|&place| Reverse(tokens[place]));
    let (mut halves, mut sums) = ([Vec::new(), Vec::new()], [0, 0]);
    for place in order {
        let lighter = usize::from(sums[1] < sums[0]);
        halves[lighter].push(place);
        sums[lighter] += tokens[place];
    }
    if sums[1] > sums[0] {
        halves.swap(0, 1);
    }
    halves.iter_mut().for_each(|half| half.sort_unstable());
    halves
}

impl Part {
    /// What is dropped in a pass over it: halves drop independently.
    pub(super) fn dropout_seed(&self, seed: u64, pass: u64) -> u64 {
        Random::new(seed, self.purpose, pass).bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::{Block, Kind, Param};
    use crate::nn::Layout;

    fn places(tokens: &[usize], width: usize) -> [Vec<usize>; 2] {
        let Parts { first, second } = Parts::new(tokens, width);
        [first.places, second.map_or(Vec::new(), |part| part.places)]
    }

    #[test]
    fn halves_have_about_as_many_tokens() {
        let halves = |tokens: &[usize]| places(tokens, 128);
        assert_eq!(halves(&[256, 256]), [[0], [1]]);
        assert_eq!(halves(&[100, 100, 300, 100]), [vec![2], vec![0, 1, 3]]);
        assert_eq!(halves(&[100, 100, 300, 150, 30]), [vec![0, 1, 3], vec![2, 4]]);
        assert_eq!(halves(&[400, 100, 100, 100]), [vec![0], vec![1, 2, 3]]);
        let many: Vec<usize> = (0..32).map(|place| 10 + place * 7 % 23).collect();
        let sums = halves(&many).map(|half| half.iter().map(|&place| many[place]).sum::<usize>());
        assert!(sums[0] - sums[1] <= 1 && sums[0] + sums[1] == many.iter().sum::<usize>(), "{sums:?}");
    }

    #[test]
    fn what_does_not_pay_is_not_cut() {
        let whole = |tokens: &[usize], width| places(tokens, width) == [(0..tokens.len()).collect(), vec![]];
        assert!(whole(&[], 128));
        assert!(whole(&[5000], 128));
        assert!(whole(&[256, 255], 128), "too few tokens");
        assert!(whole(&[256, 256], 768), "too wide a model");
        assert!(whole(&[900, 100], 128), "the halves would be too unlike");
    }

    #[test]
    fn gradients_of_both_halves_are_added() {
        let mut halves = Halves::<u32>::default();
        let parts = Parts::new(&[300, 300, 300, 250, 250], 128);
        let param = Param { name: "x".to_owned(), shape: vec![3], block: Block::Task, kind: Kind::Bias };
        let layout = Layout::new(vec![param]);
        let place = layout.place("x", 1);
        let mut gradients = Gradients::new(&layout);
        for _ in 0..2 {
            gradients.begin();
            let results = halves.run(&parts, &mut gradients, |part, desk, gradients| {
                *desk += 1;
                gradients.adding(&place)[part.places.len() - 2] += 10.0;
                gradients.adding(&place)[2] += 1.0;
                part.places.clone()
            });
            assert_eq!(results, [vec![1, 3, 4], vec![0, 2]]);
            assert_eq!(gradients.values(), [10.0, 10.0, 2.0]);
        }
        assert_eq!(halves.desks, [2, 2]);
    }

    #[test]
    fn halves_drop_independently() {
        let Parts { first, second } = Parts::new(&[256, 256], 128);
        let second = second.expect("two halves");
        assert_ne!(first.dropout_seed(42, 7), second.dropout_seed(42, 7));
        assert_eq!(first.dropout_seed(42, 7), Parts::new(&[5], 128).first.dropout_seed(42, 7));
    }
}
