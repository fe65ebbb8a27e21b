//! Products by AMX: registers of sixteen rows of sixteen pairs of bfloat16, on Intel's servers since 2023.
//!
//! One instruction multiplies two such registers and adds the product to a third, 16 x 16 sums in f32: eight times as much arithmetic as
//! AVX512-BF16 does in that time. Four sums are kept, 32 x 32 elements, so that each loaded register is used twice. Rust has no stable
//! names for these instructions yet, hence the assembly.

use super::micro::Tile;

/// Rows, and places of the depth, of a register.
pub(super) const STEP: usize = 16;

/// The tile, where the processor has one and the system lets us use it.
pub(super) fn tile() -> Option<Tile> {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if crate::arch::amx() {
        return Some(Tile { mr: registers::SIDE, nr: registers::SIDE, run: registers::run });
    }
    None
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod registers {
    use super::super::micro::{Block, Init, LINE, prefetch};
    use super::STEP;
    use std::arch::asm;

    /// Rows and columns of the four sums.
    pub(super) const SIDE: usize = 2 * STEP;

    /// What `ldtilecfg` reads: the first palette, and for each register its bytes per row and its rows.
    #[repr(C, align(64))]
    struct Config {
        palette: u8,
        reserved: [u8; 15],
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    /// Eight registers, all of them whole: depths are filled up with zeros, and so are rows.
    const CONFIG: Config = Config {
        palette: 1,
        reserved: [0; 15],
        row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
    };

    /// A tile of which only a part belongs to the block.
    #[repr(C, align(64))]
    struct Square([[f32; SIDE]; SIDE]);

    /// What sums begin with where they begin with nothing.
    static ZEROS: [f32; SIDE] = [0.0; SIDE];

    /// Computes one block whose left-hand side lies in whole rows, filled up to [`SIDE`] of them, and whose depth is filled up to [`STEP`].
    ///
    /// # Safety
    /// As for [`Tile::run`](super::Tile::run).
    pub(super) unsafe fn run(block: &Block) {
        debug_assert!(block.a_packed && block.depth.is_multiple_of(STEP));
        let mut part = Square([[0.0; SIDE]; SIDE]);
        // SAFETY: `tile` was given out where the processor has the registers; the compiler knows nothing of them and keeps nothing there.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &CONFIG, options(nostack, readonly, preserves_flags)) };
        for j in (0..block.cols).step_by(SIDE) {
            for i in (0..block.rows).step_by(SIDE) {
                let (rows, cols) = ((block.rows - i).min(SIDE), (block.cols - j).min(SIDE));
                // SAFETY: the tile lies inside the block, whose pointers the caller vouches for.
                unsafe {
                    ask_for_next(block, i, j);
                    if rows == SIDE && cols == SIDE {
                        let c = block.c.add(i * block.c_stride + j);
                        let (start, stride) = match block.init {
                            Init::Zero => (ZEROS.as_ptr(), 0),
                            Init::Keep => (c.cast_const(), block.c_stride),
                            Init::Bias(bias) => (bias.add(j), 0),
                        };
                        multiply(block, i, j, start, stride, c, block.c_stride);
                    } else {
                        load_part(&mut part, block, i, j, rows, cols);
                        let square = part.0.as_mut_ptr().cast::<f32>();
                        multiply(block, i, j, square, SIDE, square, SIDE);
                        store_part(&part, block, i, j, rows, cols);
                    }
                }
            }
        }
        // SAFETY: as above. Without the registers' content, the system has less to save when it changes threads.
        unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
    }

    /// Asks for the lines that the sums are written to, and for a part of the next panel of columns.
    fn ask_for_next(block: &Block, i: usize, j: usize) {
        let c = block.c.wrapping_add(i * block.c_stride + j);
        for r in 0..SIDE.min(block.rows - i) {
            let line = c.wrapping_add(r * block.c_stride);
            prefetch::<false>(line);
            prefetch::<false>(line.wrapping_add(LINE));
        }
        let panel = block.depth * SIDE;
        let next = block.b.wrapping_add((j + SIDE) * block.depth + panel * i / block.rows);
        let share = panel * SIDE.min(block.rows) / block.rows;
        (0..share).step_by(LINE).for_each(|l| prefetch::<true>(next.wrapping_add(l)));
    }

    /// What the elements of a part begin with.
    unsafe fn load_part(part: &mut Square, block: &Block, i: usize, j: usize, rows: usize, cols: usize) {
        for (r, line) in part.0.iter_mut().enumerate().take(rows) {
            let from = match block.init {
                Init::Zero => ZEROS.as_ptr(),
                // SAFETY: the caller vouches for the part's elements, and for a bias of the block's columns.
                Init::Keep => unsafe { block.c.add((i + r) * block.c_stride + j).cast_const() },
                // SAFETY: as above.
                Init::Bias(bias) => unsafe { bias.add(j) },
            };
            // SAFETY: as above; a line is not longer than the zeros.
            unsafe { line.as_mut_ptr().copy_from_nonoverlapping(from, cols) };
        }
    }

    unsafe fn store_part(part: &Square, block: &Block, i: usize, j: usize, rows: usize, cols: usize) {
        for (r, line) in part.0.iter().enumerate().take(rows) {
            // SAFETY: the caller vouches for the part's elements.
            unsafe {
                block.c.add((i + r) * block.c_stride + j).copy_from_nonoverlapping(line.as_ptr(), cols)
            };
        }
    }

    /// `c = start + a b` for the 32 x 32 elements at (i, j); strides are in floats, one of zero repeats a line.
    ///
    /// Registers 0 to 3 are the sums: upper left, upper right, lower left, lower right. 4 and 5 hold the upper and lower rows of `a`, 6 and 7
    /// the left and right columns of `b`.
    unsafe fn multiply(
        block: &Block,
        i: usize,
        j: usize,
        start: *const f32,
        start_stride: usize,
        c: *mut f32,
        c_stride: usize,
    ) {
        const FLOAT: usize = size_of::<f32>();
        // SAFETY: the caller vouches for the pointers: 32 rows of `a` and 32 columns of `b` over the depth, 32 lines at `start` and `c`.
        unsafe {
            let (a, b) = (block.a.add(i * block.depth), block.b.add(j * block.depth));
            asm!(
                "tileloadd tmm0, [{start} + {start_stride}*1]",
                "tileloadd tmm1, [{start} + {start_stride}*1 + 64]",
                "tileloadd tmm2, [{start_low} + {start_stride}*1]",
                "tileloadd tmm3, [{start_low} + {start_stride}*1 + 64]",
                "test {steps}, {steps}",
                "jz 3f",
                "2:",
                "tileloadd tmm4, [{a} + {a_stride}*1]",
                "tileloadd tmm6, [{b} + {b_stride}*1]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{b} + {b_stride}*1 + 64]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm5, [{a_low} + {a_stride}*1]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {a}, 64",
                "add {a_low}, 64",
                "add {b}, 2048",
                "dec {steps}",
                "jnz 2b",
                "3:",
                "tilestored [{c} + {c_stride}*1], tmm0",
                "tilestored [{c} + {c_stride}*1 + 64], tmm1",
                "tilestored [{c_low} + {c_stride}*1], tmm2",
                "tilestored [{c_low} + {c_stride}*1 + 64], tmm3",
                start = in(reg) start,
                start_low = in(reg) start.add(STEP * start_stride),
                start_stride = in(reg) start_stride * FLOAT,
                a = inout(reg) a => _,
                a_low = inout(reg) a.add(STEP * block.depth) => _,
                a_stride = in(reg) block.depth * FLOAT,
                b = inout(reg) b => _,
                b_stride = in(reg) SIDE * FLOAT,
                steps = inout(reg) block.depth / STEP => _,
                c = in(reg) c,
                c_low = in(reg) c.add(STEP * c_stride),
                c_stride = in(reg) c_stride * FLOAT,
                options(nostack),
            );
        }
    }
}
