//! The numbers that are multiplied: f32 as they are, or rounded to bfloat16. Sums are f32 in either case.
//!
//! A bfloat16 is the upper half of an f32: the same range, eight bits of precision. Processors that have instructions for it
//! multiply twice as many of them at a time (AVX512-BF16), or sixteen times as many (AMX), and add the two products of neighbouring
//! steps of the depth at once: so a place of a panel holds a pair of them, and a block is half as deep.

use super::amx;
use super::bfloat16::{pairs, round};
use super::micro::Tile;
use super::operand::Side;
use super::pack::{Last, pack, transpose};
use crate::arch::intel;
use crate::matrix::Mat;
use crate::scratch::with_scratch;
use std::cell::Cell;
use std::ops::Range;

thread_local! {
    /// What this thread wants of the products that it begins.
    static BF16: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; if `wanted`, the products of linear layers that this thread begins meanwhile ([`crate::linear`],
/// [`crate::linear_dx`], [`crate::linear_dw`]) are of numbers rounded to bfloat16. Twice as fast at best on processors with
/// AVX512-BF16, many times as fast with AMX; elsewhere it is the same arithmetic in f32.
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

/// Whether the products that this thread begins are of bfloat16 ([`in_bf16`]).
pub(crate) fn wants_bf16() -> bool {
    BF16.get()
}

/// Whether this processor multiplies bfloat16 faster than f32: by AMX, or by AVX512-BF16 as AMD has it (Intel's takes longer than f32).
pub fn bf16_pays() -> bool {
    amx::tile().is_some() || (has_bf16() && !intel())
}

/// Whether this processor multiplies pairs of bfloat16 at all.
pub(super) fn has_bf16() -> bool {
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
    /// The same for AMX: the left side in whole rows, all of it filled up with zeros.
    Squares,
}

impl Form {
    /// What this thread's linear layers use now.
    pub(super) fn wanted() -> Self {
        if wants_bf16() { Self::bf16() } else { Self::Exact }
    }

    /// How this processor multiplies bfloat16 best.
    pub(super) fn bf16() -> Self {
        if amx::tile().is_some() {
            Self::Squares
        } else if has_bf16() {
            Self::Pairs
        } else {
            Self::Rounded
        }
    }

    /// The tile that multiplies such panels.
    pub(super) fn tile(self) -> Tile {
        match self {
            Self::Exact | Self::Rounded => Tile::best(),
            Self::Pairs => Tile::pairs().expect("nobody asks for pairs where there is no tile for them"),
            Self::Squares => amx::tile().expect("nobody asks for squares where there is no tile for them"),
        }
    }

    /// How many places the steps of a depth take.
    pub(super) fn places(self, depth: usize) -> usize {
        match self {
            Self::Exact | Self::Rounded => depth,
            Self::Pairs => depth.div_ceil(2),
            Self::Squares => depth.div_ceil(2).next_multiple_of(amx::STEP),
        }
    }

    /// Lines of a side's panels.
    pub(super) fn width(self, side: Side) -> usize {
        match side {
            Side::Left => self.tile().mr,
            Side::Right => self.tile().nr,
        }
    }

    /// How many lines a side of so many takes in its panels.
    pub(super) fn lines(self, side: Side, lines: usize) -> usize {
        match self.last(side) {
            Last::Narrow => lines,
            Last::Padded => lines.next_multiple_of(self.width(side)),
        }
    }

    fn last(self, side: Side) -> Last {
        if side == Side::Left && self != Self::Squares { Last::Narrow } else { Last::Padded }
    }

    /// The steps of the depth that some places hold.
    fn steps(self, places: &Range<usize>, depth: usize) -> Range<usize> {
        match self {
            Self::Exact | Self::Rounded => places.clone(),
            Self::Pairs | Self::Squares => 2 * places.start..(2 * places.end).min(depth),
        }
    }

    /// Packs some places of `b` [depth, lines] into the panels of a side.
    pub(super) fn pack(self, side: Side, b: Mat<'_>, places: &Range<usize>, to: &mut [f32]) {
        let steps = self.steps(places, b.rows);
        let b = b.part(steps.start, steps.len(), 0, b.cols);
        let (width, last, room) = (self.width(side), self.last(side), places.len() * b.cols);
        match (self, side) {
            (Self::Exact, _) => pack(b, width, last, to),
            (Self::Rounded, _) => {
                pack(b, width, last, to);
                round(to);
            }
            (Self::Squares, Side::Left) => {
                let (to, beyond) = to.split_at_mut(room);
                whole_rows(b, places.len(), to);
                beyond.fill(0.0);
            }
            (Self::Pairs | Self::Squares, _) => {
                with_scratch(room, |room| pack(pairs(b, places.len(), room), width, last, to));
            }
        }
    }
}

/// Pairs of `b` [depth, lines], a line after the other.
fn whole_rows(b: Mat<'_>, places: usize, to: &mut [f32]) {
    if b.row_stride == 1 {
        pairs(b, places, to);
    } else {
        with_scratch(to.len(), |room| transpose(pairs(b, places, room).data, b.cols, places, to, places));
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
