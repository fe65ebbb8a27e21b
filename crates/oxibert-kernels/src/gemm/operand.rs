//! The two sides of a product, as the tiles read them.

use super::form::Form;
use super::pack::{Last, pack};
use super::plan::blocks;
use crate::matrix::Mat;
use crate::scratch::with_scratch;
use crate::team::each;
use std::ops::Range;

/// Panels that one task packs.
const TOGETHER: usize = 8;

/// A side of a product.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    /// Its lines are rows.
    Left,
    /// Its lines are columns.
    Right,
}

/// A side in panels of a few lines (rows of the left, columns of the right), one block of the depth after the other.
#[derive(Clone, Copy)]
pub(super) struct Panels<'a> {
    data: &'a [f32],
    /// Lines of a block, with the zeros that fill up the last panel.
    lines: usize,
}

impl<'a> Panels<'a> {
    /// What [`Panels::pack`] once made of so many lines.
    pub(super) fn new(data: &'a [f32], lines: usize) -> Self {
        Self { data, lines }
    }

    /// Floats that [`Panels::pack`] needs for a side [depth, lines].
    pub(super) fn room(form: Form, side: Side, depth: usize, lines: usize) -> usize {
        form.lines(side, lines) * form.places(depth)
    }

    /// Packs `b` [depth, lines] in parallel.
    pub(super) fn pack(b: Mat<'_>, form: Form, side: Side, room: &'a mut [f32]) -> Self {
        let (lines, places, step) =
            (form.lines(side, b.cols), form.places(b.rows), TOGETHER * form.width(side));
        let (now, _) = room.split_at_mut(lines * places);
        if !now.is_empty() {
            each(pieces(now, places, lines, step), |(k, first, to)| {
                let lines = step.min(b.cols - first);
                form.pack(side, b.part(0, b.rows, first, lines), &k, to);
            });
        }
        Self { data: room, lines }
    }

    /// The block `k` of `lines` lines from `first` on, which begins a panel.
    pub(super) fn block(&self, first: usize, lines: usize, k: &Range<usize>) -> &'a [f32] {
        &self.data[k.start * self.lines + first * k.len()..][..lines * k.len()]
    }
}

/// Cuts `room` as [`Panels`] lie in it: the block of the depth, the first line and the place of `step` lines each.
fn pieces(
    room: &mut [f32],
    depth: usize,
    lines: usize,
    step: usize,
) -> impl Iterator<Item = (Range<usize>, usize, &mut [f32])> + Send {
    let mut rest = room;
    blocks(depth).flat_map(move |k| {
        let (now, later) = std::mem::take(&mut rest).split_at_mut(lines * k.len());
        rest = later;
        let pieces = now.chunks_mut(step * k.len()).enumerate();
        pieces.map(move |(piece, to)| (k.clone(), piece * step, to))
    })
}

/// The left-hand side [M, K].
pub(super) enum Left<'a> {
    /// Row-major rows are read where they lie.
    Rows(Mat<'a>),
    /// Anything else was packed; with the places of its depth.
    Panels(Panels<'a>, usize),
}

/// A block of the left-hand side.
pub(super) struct LeftBlock<'a> {
    pub(super) data: &'a [f32],
    pub(super) row_stride: usize,
    pub(super) packed: bool,
}

impl<'a> Left<'a> {
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Rows(a) => a.cols,
            Self::Panels(_, depth) => *depth,
        }
    }

    pub(super) fn block(&self, rows: &Range<usize>, k: &Range<usize>, form: Form) -> LeftBlock<'a> {
        match self {
            Self::Rows(a) => {
                let part = a.part(rows.start, rows.len(), k.start, k.len());
                LeftBlock { data: part.data, row_stride: part.row_stride, packed: false }
            }
            Self::Panels(panels, _) => {
                let lines = form.lines(Side::Left, rows.len());
                LeftBlock { data: panels.block(rows.start, lines, k), row_stride: 0, packed: true }
            }
        }
    }
}

/// The right-hand side [K, N].
pub(super) enum Right<'a> {
    /// Packed for all tasks; with its columns.
    Panels(Panels<'a>, usize),
    /// Every task packs what it needs.
    Plain(Mat<'a>),
}

impl Right<'_> {
    pub(super) fn cols(&self) -> usize {
        match self {
            Self::Panels(_, cols) => *cols,
            Self::Plain(b) => b.cols,
        }
    }

    /// Runs `f` with the panels of a block.
    pub(super) fn with_block(
        &self,
        cols: &Range<usize>,
        k: &Range<usize>,
        form: Form,
        f: impl FnOnce(&[f32]),
    ) {
        let padded = form.lines(Side::Right, cols.len());
        match self {
            Self::Panels(panels, _) => f(panels.block(cols.start, padded, k)),
            Self::Plain(b) => with_scratch(padded * k.len(), |room| {
                let some = b.part(k.start, k.len(), cols.start, cols.len());
                pack(some, form.width(Side::Right), Last::Padded, room);
                f(room);
            }),
        }
    }
}
