//! How work is cut: by the size of the data only, never by the number of threads, so that sums over the pieces
//! have one order and every run gives the same bits.

use crate::arch::versions;
use crate::scratch::with_scratch;

/// Floats per piece of element-wise work: about 64 KiB, which fits into a second-level cache with its neighbours.
const PIECE: usize = 16 * 1024;
/// At most this many partial sums per column.
const PARTIALS: usize = 64;

/// Rows of `width` per piece of element-wise work.
pub(crate) fn rows_per_piece(width: usize) -> usize {
    (PIECE / width.max(1)).max(1)
}

/// Rows per partial sum where columns are summed over `rows`.
pub(crate) fn rows_per_partial(rows: usize) -> usize {
    rows.div_ceil(PARTIALS).max(16)
}

/// Runs `f` with one row of zeros of `width` for each partial sum, then returns their sum in order to `add`.
pub(crate) fn with_partials(rows: usize, width: usize, f: impl FnOnce(&mut [f32]), add: impl FnOnce(&[f32])) {
    if rows == 0 || width == 0 {
        return;
    }
    with_scratch(rows.div_ceil(rows_per_partial(rows)) * width, |partials| {
        partials.fill(0.0);
        f(partials);
        let (sum, others) = partials.split_at_mut(width);
        for other in others.chunks_exact(width) {
            add_to(sum, other);
        }
        add(sum);
    });
}

versions! {
    /// `to += x`.
    pub(crate) fn add_to(to: &mut [f32], x: &[f32]) {
        assert_eq!(to.len(), x.len());
        for (to, x) in to.iter_mut().zip(x) {
            *to += *x;
        }
    }
}
