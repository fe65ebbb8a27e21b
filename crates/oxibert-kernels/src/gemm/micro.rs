//! The inner part of a matrix product: a block of packed columns times rows, tile by tile in registers.
//!
//! A tile of `MR x NR` sums stays in registers over the whole depth of the block. Tiles at the lower border have
//! fewer rows (each count is compiled), tiles at the right border compute on zeros and store what exists. So every
//! element is summed in the same order wherever it lies: its bits depend on the depth and the instruction set only.

use super::lanes::{Lanes, Portable};
use crate::arch::{Isa, isa};

/// Steps of the depth that are written out.
const UNROLL: usize = 4;
/// Floats of a cache line.
pub(super) const LINE: usize = 16;

/// How an output element begins before the products are added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Init {
    /// From nothing.
    Zero,
    /// From what the output holds.
    Keep,
    /// From the bias of its column.
    Bias(*const f32),
}

/// `c[rows, cols] = init + a[rows, depth] * b[depth, cols]`.
pub(crate) struct Block {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) depth: usize,
    /// Row-major rows `a_stride` apart; or, if `a_packed`, panels of [`Tile::mr`] rows, [depth, rows of the panel] each (for AMX
    /// [rows of the panel, depth]).
    pub(crate) a: *const f32,
    pub(crate) a_stride: usize,
    pub(crate) a_packed: bool,
    /// Panels of [`Tile::nr`] columns, [depth, nr] each, padded with zeros.
    pub(crate) b: *const f32,
    pub(crate) c: *mut f32,
    pub(crate) c_stride: usize,
    pub(crate) init: Init,
}

/// The register tile of an instruction set.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) mr: usize,
    pub(crate) nr: usize,
    pub(super) run: unsafe fn(&Block),
}

impl Tile {
    /// The tile of this processor.
    pub(crate) fn best() -> Self {
        match isa() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Self { mr: 12, nr: 32, run: avx512 },
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Self { mr: 6, nr: 16, run: avx2 },
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => Self { mr: 6, nr: 16, run: neon },
            _ => Self { mr: 4, nr: 8, run: portable },
        }
    }

    /// The vectors' tile for pairs of bfloat16, where this processor has one; as large as the best.
    pub(crate) fn pairs() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if isa() == Isa::Avx512 && is_x86_feature_detected!("avx512bf16") {
            return Some(Self { mr: 12, nr: 32, run: avx512_pairs });
        }
        None
    }

    /// Computes one block.
    ///
    /// # Safety
    /// The pointers of `block` must be valid for its sizes, and nobody else may touch `c` meanwhile.
    pub(crate) unsafe fn run(&self, block: &Block) {
        // SAFETY: `best` chose a function that the processor can run; the caller vouches for the pointers.
        unsafe { (self.run)(block) }
    }
}

/// A block for one instruction set, with a tile compiled for each number of rows up to MR.
macro_rules! block {
    ($(#[$meta:meta])* $name:ident, $lanes:ty, $mr:literal, $vectors:literal, [$($rows:literal)*]) => {
        $(#[$meta])*
        unsafe fn $name(block: &Block) {
            let nr = $vectors * <$lanes>::N;
            for j in (0..block.cols).step_by(nr) {
                for i in (0..block.rows).step_by($mr) {
                    // SAFETY: the tile lies inside the block, whose pointers the caller vouches for.
                    unsafe {
                        // Half a panel is enough for the last few columns: those of short sequences' scores.
                        match ((block.rows - i).min($mr), block.cols - j <= nr / 2) {
                            $(($rows, false) => tile::<$lanes, $rows, $vectors, $vectors>(block, i, j),
                              ($rows, true) => tile::<$lanes, $rows, { $vectors / 2 }, $vectors>(block, i, j),)*
                            _ => unreachable!("a tile has at most {} rows", $mr),
                        }
                    }
                }
            }
        }
    };
}

/// The tiles of [`Tile::best`]: calls a macro for each instruction set with the function's name, its registers, rows and registers of a
/// tile, and every number of rows.
macro_rules! on_every_isa {
    ($block:ident) => {
        $block!(portable, Portable, 4, 2, [1 2 3 4]);
        #[cfg(target_arch = "x86_64")]
        $block!(
            #[target_feature(enable = "avx2,fma")]
            avx2, std::arch::x86_64::__m256, 6, 2, [1 2 3 4 5 6]
        );
        #[cfg(target_arch = "x86_64")]
        $block!(
            #[target_feature(enable = "avx512f")]
            avx512, std::arch::x86_64::__m512, 12, 2, [1 2 3 4 5 6 7 8 9 10 11 12]
        );
        #[cfg(target_arch = "aarch64")]
        $block!(neon, std::arch::aarch64::float32x4_t, 6, 4, [1 2 3 4 5 6]);
    };
}
pub(super) use on_every_isa;

on_every_isa!(block);
#[cfg(target_arch = "x86_64")]
block!(
    #[target_feature(enable = "avx512f,avx512bf16")]
    avx512_pairs, super::lanes::Pairs, 12, 2, [1 2 3 4 5 6 7 8 9 10 11 12]
);

/// The tile of `R` rows and `NV` vectors at (i, j), of panels that are `PANEL` vectors wide.
#[inline(always)]
unsafe fn tile<V: Lanes, const R: usize, const NV: usize, const PANEL: usize>(
    block: &Block,
    i: usize,
    j: usize,
) {
    // SAFETY: offsets stay inside the block; the caller vouches for the pointers and the instruction set.
    unsafe {
        let b = block.b.add(j * block.depth);
        let c = block.c.add(i * block.c_stride + j);
        // The next panel comes from afar: each tile of this one asks for a part of it.
        let panel = block.depth * PANEL * V::N;
        let ahead = Ahead {
            output: c,
            stride: block.c_stride,
            panel: b.wrapping_add(panel + panel * i / block.rows),
            floats: (panel * R / block.rows).div_ceil((block.depth / UNROLL).max(1)),
        };
        let sums = if block.a_packed {
            multiply_panel::<V, R, NV, PANEL>(block.depth, block.a.add(i * block.depth), b, &ahead)
        } else {
            let a = block.a.add(i * block.a_stride);
            multiply_rows::<V, R, NV>(block.depth, a, block.a_stride, b, PANEL * V::N)
        };
        let cols = (block.cols - j).min(NV * V::N);
        let init = match block.init {
            Init::Bias(bias) => Init::Bias(bias.add(j)),
            other => other,
        };
        if cols == NV * V::N {
            store_whole(&sums, c, block.c_stride, init);
        } else {
            store_part(&sums, c, block.c_stride, cols, init);
        }
    }
}

/// What a tile asks for while it computes, a little at a time: many requests at once would hold up the tile's own.
struct Ahead {
    /// Its output, which it needs at the end.
    output: *const f32,
    stride: usize,
    /// A part of the next panel.
    panel: *const f32,
    /// Floats of it for every few steps of the depth.
    floats: usize,
}

impl Ahead {
    /// The requests of a turn; an output of `R` rows of `width` is asked for in the first `R`.
    #[inline(always)]
    fn ask<const R: usize>(&self, turn: usize, width: usize) {
        if turn < R {
            let row = self.output.wrapping_add(turn * self.stride);
            (0..width).step_by(LINE).for_each(|at| prefetch::<false>(row.wrapping_add(at)));
        }
        let part = self.panel.wrapping_add(turn * self.floats);
        (0..self.floats).step_by(LINE).for_each(|at| prefetch::<true>(part.wrapping_add(at)));
    }
}

/// Asks for a line that is needed soon, or (`FAR`) later and then from the second-level cache. An address that does not
/// exist does no harm.
#[inline(always)]
pub(super) fn prefetch<const FAR: bool>(line: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64 and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        if FAR { _mm_prefetch::<_MM_HINT_T1>(line.cast()) } else { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// One step of the depth: `x` holds an element of every row, `b` a line of the panel.
#[inline(always)]
pub(super) unsafe fn multiply_line<V: Lanes, const R: usize, const NV: usize>(
    sums: &mut [[V; NV]; R],
    x: [f32; R],
    b: *const f32,
) {
    // SAFETY: the caller vouches for the line and the instruction set.
    unsafe {
        // No closure here: it would be compiled without the tile's instruction set, and its load be a call.
        let mut columns = [V::zero(); NV];
        for (v, column) in columns.iter_mut().enumerate() {
            *column = V::load(b.add(v * V::N));
        }
        for (row, x) in sums.iter_mut().zip(x) {
            let x = V::splat(x);
            for (sum, column) in row.iter_mut().zip(columns) {
                *sum = x.mul_add(column, *sum);
            }
        }
    }
}

/// Sums over the depth for rows that lie `stride` apart, and lines of columns that lie `b_step` apart.
#[inline(always)]
pub(super) unsafe fn multiply_rows<V: Lanes, const R: usize, const NV: usize>(
    depth: usize,
    a: *const f32,
    stride: usize,
    b: *const f32,
    b_step: usize,
) -> [[V; NV]; R] {
    // SAFETY: the caller vouches for the pointers and the instruction set.
    unsafe {
        let mut sums = [[V::zero(); NV]; R];
        let mut k = 0;
        while k + UNROLL <= depth {
            multiply_rows_step(&mut sums, a, stride, b.add(k * b_step), k);
            multiply_rows_step(&mut sums, a, stride, b.add((k + 1) * b_step), k + 1);
            multiply_rows_step(&mut sums, a, stride, b.add((k + 2) * b_step), k + 2);
            multiply_rows_step(&mut sums, a, stride, b.add((k + 3) * b_step), k + 3);
            k += UNROLL;
        }
        while k < depth {
            multiply_rows_step(&mut sums, a, stride, b.add(k * b_step), k);
            k += 1;
        }
        sums
    }
}

/// Step `k` of the depth, whose line of columns is `b`, for rows that lie `stride` apart.
#[inline(always)]
unsafe fn multiply_rows_step<V: Lanes, const R: usize, const NV: usize>(
    sums: &mut [[V; NV]; R],
    a: *const f32,
    stride: usize,
    b: *const f32,
    k: usize,
) {
    // SAFETY: the caller vouches for the pointers and the instruction set.
    unsafe {
        let mut x = [0.0; R];
        for (i, x) in x.iter_mut().enumerate() {
            *x = *a.add(i * stride + k);
        }
        multiply_line(sums, x, b);
    }
}

/// Step `k` of the depth for a packed panel of rows.
#[inline(always)]
unsafe fn multiply_panel_step<V: Lanes, const R: usize, const NV: usize, const PANEL: usize>(
    sums: &mut [[V; NV]; R],
    a: *const f32,
    b: *const f32,
    k: usize,
) {
    // SAFETY: the caller vouches for the pointers and the instruction set.
    unsafe { multiply_line(sums, *a.add(k * R).cast::<[f32; R]>(), b.add(k * PANEL * V::N)) }
}

/// Sums over the depth for a packed panel of rows.
#[inline(always)]
unsafe fn multiply_panel<V: Lanes, const R: usize, const NV: usize, const PANEL: usize>(
    depth: usize,
    a: *const f32,
    b: *const f32,
    ahead: &Ahead,
) -> [[V; NV]; R] {
    // SAFETY: the caller vouches for the pointers and the instruction set.
    unsafe {
        let mut sums = [[V::zero(); NV]; R];
        let mut k = 0;
        while k + UNROLL <= depth {
            ahead.ask::<R>(k / UNROLL, NV * V::N);
            // Written out by hand: as a loop, the compiler leaves it one.
            multiply_panel_step::<V, R, NV, PANEL>(&mut sums, a, b, k);
            multiply_panel_step::<V, R, NV, PANEL>(&mut sums, a, b, k + 1);
            multiply_panel_step::<V, R, NV, PANEL>(&mut sums, a, b, k + 2);
            multiply_panel_step::<V, R, NV, PANEL>(&mut sums, a, b, k + 3);
            k += UNROLL;
        }
        while k < depth {
            multiply_panel_step::<V, R, NV, PANEL>(&mut sums, a, b, k);
            k += 1;
        }
        sums
    }
}

#[inline(always)]
pub(super) unsafe fn store_whole<V: Lanes, const R: usize, const NV: usize>(
    sums: &[[V; NV]; R],
    c: *mut f32,
    stride: usize,
    init: Init,
) {
    // SAFETY: the caller vouches for whole tiles at `c` and, if any, at the bias.
    unsafe {
        for (i, row) in sums.iter().enumerate() {
            for (v, sum) in row.iter().enumerate() {
                let to = c.add(i * stride + v * V::N);
                match init {
                    Init::Zero => sum.store(to),
                    Init::Keep => V::load(to).add(*sum).store(to),
                    Init::Bias(bias) => V::load(bias.add(v * V::N)).add(*sum).store(to),
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn store_part<V: Lanes, const R: usize, const NV: usize>(
    sums: &[[V; NV]; R],
    c: *mut f32,
    stride: usize,
    cols: usize,
    init: Init,
) {
    // SAFETY: the caller vouches for `cols` elements per row and, if any, of the bias.
    unsafe {
        for (i, row) in sums.iter().enumerate() {
            for (v, sum) in row.iter().enumerate() {
                let (at, count) = (v * V::N, cols.saturating_sub(v * V::N).min(V::N));
                let to = c.wrapping_add(i * stride + at);
                match init {
                    Init::Zero => sum.store_some(to, count),
                    Init::Keep => V::load_some(to, count).add(*sum).store_some(to, count),
                    Init::Bias(bias) => {
                        V::load_some(bias.wrapping_add(at), count).add(*sum).store_some(to, count)
                    }
                }
            }
        }
    }
}
