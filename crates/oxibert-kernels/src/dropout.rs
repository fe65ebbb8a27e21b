//! Dropout by counting: whether an element is dropped is a function of (seed, stream, row, column).
//!
//! Nothing is stored. The backward pass, a rerun after a restart and any number of threads find the same mask.

use crate::arch::versions;
use crate::math::LANES;
use crate::parallel::rows_per_piece;
use crate::profile::{Kernel, time};
use crate::team::each;

/// Which elements are dropped: a share `rate`, chosen by `seed` (the run and step) and `stream` (the place in the model).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    rate: f32,
    seed: u64,
    stream: u64,
}

impl Dropout {
    /// Keeps everything.
    pub const OFF: Self = Self { rate: 0.0, seed: 0, stream: 0 };

    /// Drops a share `rate` in 0 .. 1 and multiplies the others by `1 / (1 - rate)`.
    pub fn new(rate: f32, seed: u64, stream: u64) -> Self {
        assert!((0.0..1.0).contains(&rate), "a dropout rate of {rate}");
        Self { rate, seed, stream }
    }

    /// Whether everything is kept.
    pub fn is_off(&self) -> bool {
        self.rate == 0.0
    }

    /// The masks of these rows.
    pub(crate) fn columns(&self, rows: [usize; LANES]) -> ColumnMasks {
        let masks = rows.map(|row| self.row(row));
        let keys = [0, 1].map(|key| masks.map(|mask| mask.keys[key]));
        ColumnMasks { keys, threshold: masks[0].threshold, scale: masks[0].scale }
    }

    /// The mask of one row.
    pub(crate) fn row(&self, row: usize) -> RowMask {
        let key = mix(mix(mix(self.seed) ^ self.stream) ^ row as u64);
        RowMask {
            keys: [key as u32, (key >> 32) as u32],
            threshold: (f64::from(self.rate) * 4_294_967_296.0) as u32,
            scale: 1.0 / (1.0 - self.rate),
        }
    }
}

/// The factors of as many rows as a register has lanes, for columns one after the other.
pub(crate) struct ColumnMasks {
    keys: [[u32; LANES]; 2],
    threshold: u32,
    scale: f32,
}

impl ColumnMasks {
    /// Each row's factor of this column.
    #[inline(always)]
    pub(crate) fn factors(&self, col: u32) -> [f32; LANES] {
        let mut factors = [0.0; LANES];
        for (lane, factor) in factors.iter_mut().enumerate() {
            let keys = [self.keys[0][lane], self.keys[1][lane]];
            *factor = RowMask { keys, threshold: self.threshold, scale: self.scale }.factor(col);
        }
        factors
    }
}

/// splitmix64's output function: every bit of the result depends on every bit of `x`.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The factors of one row.
#[derive(Clone, Copy)]
pub(crate) struct RowMask {
    keys: [u32; 2],
    threshold: u32,
    scale: f32,
}

impl RowMask {
    /// 0 for a dropped column, `1 / (1 - rate)` for a kept one. 32-bit arithmetic only: it becomes vector code.
    ///
    /// Wellons' lowbias32 with the row's keys added before and between its two rounds.
    #[inline(always)]
    pub(crate) fn factor(&self, col: u32) -> f32 {
        let x = col.wrapping_add(self.keys[0]);
        let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        let x = (x ^ (x >> 15)).wrapping_add(self.keys[1]).wrapping_mul(0x846c_a68b);
        let x = x ^ (x >> 16);
        if x >= self.threshold { self.scale } else { 0.0 }
    }
}

/// `x *= mask` over rows of `width`; the backward pass is the same call on the gradient.
///
/// y = m x, so dx = m dy with the same m.
pub fn dropout(x: &mut [f32], width: usize, dropout: Dropout) {
    if dropout.is_off() || x.is_empty() {
        return;
    }
    let _time = time(Kernel::Dropout);
    assert_eq!(x.len() % width, 0, "rows of {width}");
    let rows = rows_per_piece(width);
    each(x.chunks_mut(rows * width).enumerate(), |(piece, x)| {
        for (row, x) in x.chunks_exact_mut(width).enumerate() {
            mask_row(x, dropout.row(piece * rows + row));
        }
    });
}

versions! {
    /// `x *= mask`.
    pub(crate) fn mask_row(x: &mut [f32], mask: RowMask) {
        for (x, col) in x.iter_mut().zip(0u32..) {
            *x *= mask.factor(col);
        }
    }

    /// `to = x * mask`.
    pub(crate) fn masked_row(to: &mut [f32], x: &[f32], mask: RowMask) {
        for ((to, x), col) in to.iter_mut().zip(x).zip(0u32..) {
            *to = *x * mask.factor(col);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{noise, on_threads};

    fn mask(rows: usize, width: usize, d: Dropout) -> Vec<f32> {
        let mut x = vec![1.0; rows * width];
        dropout(&mut x, width, d);
        x
    }

    /// The share of pairs of which both are kept, against its expectation, in standard deviations.
    fn pair_deviation(a: &[f32], b: &[f32], keep: f64) -> f64 {
        let both = a.iter().zip(b).filter(|(a, b)| **a > 0.0 && **b > 0.0).count() as f64;
        let (n, p) = (a.len() as f64, keep * keep);
        (both - n * p).abs() / (n * p * (1.0 - p)).sqrt()
    }

    #[test]
    fn keeps_the_right_share_and_scales_it() {
        for rate in [0.1f32, 0.5, 0.9] {
            let x = mask(1000, 1003, Dropout::new(rate, 7, 3));
            let kept = x.iter().filter(|x| **x > 0.0).count() as f64;
            let (n, p) = (x.len() as f64, 1.0 - f64::from(rate));
            assert!((kept - n * p).abs() < 4.0 * (n * p * (1.0 - p)).sqrt(), "{rate}: {kept}");
            assert!(x.iter().all(|x| *x == 0.0 || *x == 1.0 / (1.0 - rate)));
        }
    }

    #[test]
    fn elements_rows_seeds_and_streams_are_independent() {
        let d = Dropout::new(0.3, 1, 1);
        let x = mask(512, 512, d);
        for lag in [1, 2, 3, 7, 8, 16, 64, 511, 512, 513, 1024, 4096] {
            let z = pair_deviation(&x[lag..], &x[..x.len() - lag], 0.7);
            assert!(z < 4.5, "lag {lag}: {z} standard deviations");
        }
        for other in [Dropout::new(0.3, 2, 1), Dropout::new(0.3, 1, 2), Dropout::new(0.3, 1 << 40, 1)] {
            let z = pair_deviation(&x, &mask(512, 512, other), 0.7);
            assert!(z < 4.5, "{other:?}: {z} standard deviations");
        }
    }

    #[test]
    fn is_the_same_for_any_number_of_threads_and_any_width_of_piece() {
        let d = Dropout::new(0.2, 5, 9);
        let one = on_threads(1, || mask(300, 129, d));
        assert_eq!(one, on_threads(3, || mask(300, 129, d)));
        assert_eq!(one[..129 * 7], mask(7, 129, d));
    }

    #[test]
    fn equals_the_plain_form() {
        for (rows, width) in [(0, 3), (1, 1), (5, 7), (3, 16), (400, 131)] {
            let d = Dropout::new(0.4, 5, 9);
            let (mut x, mut want) = (noise(rows * width, 1), noise(rows * width, 1));
            dropout(&mut x, width, d);
            scalar::dropout(&mut want, width, d);
            assert_eq!(x, want);
        }
    }

    #[test]
    fn off_and_empty_change_nothing() {
        assert_eq!(mask(2, 3, Dropout::OFF), [1.0; 6]);
        assert!(mask(0, 3, Dropout::new(0.5, 1, 1)).is_empty());
    }
}
