//! The numbers that are multiplied: f32 as they are, or rounded to bfloat16. Sums are f32 in either case.
//!
//! A bfloat16 is the upper half of an f32: the same range, eight bits of precision. Processors that have instructions for it
//! multiply twice as many of them at a time, and add the two products of neighbouring steps of the depth at once: so a place of
//! a panel holds a pair of them, and a block is half as deep.

use super::bfloat16::{pairs, round};
use super::micro::Tile;
use super::pack::{Last, pack};
use crate::matrix::Mat;
use crate::scratch::with_scratch;
use std::cell::Cell;
use std::ops::Range;

thread_local! {
    /// What this thread wants of the products that it begins.
    static BF16: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; if `wanted`, the products of linear layers that this thread begins meanwhile ([`crate::linear`],
/// [`crate::linear_dx`], [`crate::linear_dw`]) are of numbers rounded to bfloat16. Twice as fast at best, on processors with
/// AVX512-BF16; elsewhere it is the same arithmetic in f32.
///
/// For training, where noise of that size drowns in that of the batches. Everything else, attention's products and the
/// parameters among it, stays as it is.
pub fn in_bf16<R>(wanted: bool, f: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            BF16.set(self.0);
        }
    }
    let _before = Before(BF16.replace(wanted));
    f()
}

/// Whether this processor multiplies bfloat16 faster than f32.
pub fn has_bf16() -> bool {
    Tile::pairs().is_some()
}

/// How the numbers of a side lie in its panels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// As they are.
    Exact,
    /// As f32 that have the precision of bfloat16.
    Rounded,
    /// Pairs of bfloat16: two steps of the depth in one place.
    Pairs,
}

impl Form {
    /// What this thread's linear layers use now.
    pub(super) fn wanted() -> Self {
        match (BF16.get(), has_bf16()) {
            (false, _) => Self::Exact,
            (true, false) => Self::Rounded,
            (true, true) => Self::Pairs,
        }
    }

    /// The tile that multiplies such panels.
    pub(super) fn tile(self) -> Tile {
        match self {
            Self::Exact | Self::Rounded => Tile::best(),
            Self::Pairs => Tile::pairs().expect("nobody asks for pairs where there is no tile for them"),
        }
    }

    /// How many places the steps of a depth take.
    pub(super) fn places(self, depth: usize) -> usize {
        if self == Self::Pairs { depth.div_ceil(2) } else { depth }
    }

    /// The steps of the depth that some places hold.
    fn steps(self, places: &Range<usize>, depth: usize) -> Range<usize> {
        if self == Self::Pairs { 2 * places.start..(2 * places.end).min(depth) } else { places.clone() }
    }

    /// Packs some places of `b` [depth, lines] into panels of `width` lines.
    pub(super) fn pack(self, b: Mat<'_>, places: &Range<usize>, width: usize, last: Last, to: &mut [f32]) {
        let steps = self.steps(places, b.rows);
        let b = b.part(steps.start, steps.len(), 0, b.cols);
        match self {
            Self::Exact => pack(b, width, last, to),
            Self::Rounded => {
                pack(b, width, last, to);
                round(to);
            }
            Self::Pairs => with_scratch(places.len() * b.cols, |room| pack(pairs(b, room), width, last, to)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_ends_with_its_scope() {
        in_bf16(true, || {
            assert_ne!(Form::wanted(), Form::Exact);
            in_bf16(false, || assert_eq!(Form::wanted(), Form::Exact));
            assert_ne!(Form::wanted(), Form::Exact);
            assert!(std::panic::catch_unwind(|| in_bf16(false, || panic!("inside"))).is_err());
            assert_ne!(Form::wanted(), Form::Exact);
        });
        assert_eq!(Form::wanted(), Form::Exact);
    }
}
