//! The parameters' side: the gradient's norm, and AdamW in one pass.

use crate::arch::{fma, versions};
use crate::embedding::add_scaled;
use crate::loss::scale_shift;
use crate::parallel::rows_per_piece;
use crate::profile::{Kernel, time};
use crate::team::each;

/// Partial sums of the norm: their number does not depend on the threads.
const SUMS: usize = 256;

/// The sum of squares, in f64 and in one order.
pub fn squared_norm(x: &[f32]) -> f64 {
    let _time = time(Kernel::Optimizer);
    let step = x.len().div_ceil(SUMS).max(rows_per_piece(1));
    let mut sums = [0.0; SUMS];
    each(sums.iter_mut().zip(x.chunks(step)), |(sum, x)| *sum = squares(x));
    sums.iter().sum()
}

/// `x = 0`: gradients before a step.
pub fn clear(x: &mut [f32]) {
    let _time = time(Kernel::Optimizer);
    each(x.chunks_mut(rows_per_piece(1)), |x| x.fill(0.0));
}

/// `x *= factor`.
pub fn scale(x: &mut [f32], factor: f32) {
    let _time = time(Kernel::Optimizer);
    each(x.chunks_mut(rows_per_piece(1)), |x| scale_shift(x, factor, 0.0));
}

/// `to += factor * x`.
pub fn axpy(to: &mut [f32], factor: f32, x: &[f32]) {
    let _time = time(Kernel::Optimizer);
    assert_eq!(to.len(), x.len(), "axpy shapes");
    let piece = rows_per_piece(1);
    each(to.chunks_mut(piece).zip(x.chunks(piece)), |(to, x)| add_scaled(to, x, factor));
}

/// One step of AdamW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// The learning rate of this step.
    pub lr: f32,
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squares.
    pub beta2: f32,
    /// Added to the root.
    pub eps: f32,
    /// Decoupled: times `lr`, not part of the gradient. Callers give 0 for biases and norms.
    pub weight_decay: f32,
    /// The number of this step from 1, to correct the moments' start at zero; `None` as in Google's code.
    pub bias_correction: Option<u64>,
    /// Multiplies the gradients as they are read: 1, or less to clip their norm.
    pub gradient_scale: f32,
}

impl AdamW {
    /// `1 / (1 - beta^t)` for both moments.
    pub(crate) fn corrections(&self) -> [f64; 2] {
        let of = |beta: f32| {
            self.bias_correction.map_or(1.0, |step| 1.0 / (1.0 - f64::from(beta).powf(step as f64)))
        };
        [of(self.beta1), of(self.beta2)]
    }
}

/// `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr (c1 m / (sqrt(c2 v) + eps) + decay p)`.
pub fn adamw(step: &AdamW, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
    let _time = time(Kernel::Optimizer);
    assert!(p.len() == g.len() && p.len() == m.len() && p.len() == v.len(), "adamw shapes");
    let [c1, c2] = step.corrections();
    let constants = Constants {
        keep: 1.0 - step.lr * step.weight_decay,
        rate: (f64::from(step.lr) * c1) as f32,
        root: c2.sqrt() as f32,
        step: *step,
    };
    let piece = rows_per_piece(4);
    let moments = m.chunks_mut(piece).zip(v.chunks_mut(piece));
    each(p.chunks_mut(piece).zip(g.chunks(piece)).zip(moments), |((p, g), (m, v))| {
        adamw_piece(&constants, p, g, m, v);
    });
}

/// [`AdamW`] with what is the same for all elements computed once.
struct Constants {
    keep: f32,
    rate: f32,
    root: f32,
    step: AdamW,
}

versions! {
    fn squares(x: &[f32]) -> f64 {
        let mut lanes = [0.0f64; 16];
        let chunks = x.chunks_exact(16);
        let rest = chunks.remainder();
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *lane += f64::from(*x) * f64::from(*x);
            }
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            *lane += f64::from(*x) * f64::from(*x);
        }
        lanes.iter().sum()
    }

    fn adamw_piece(c: &Constants, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
        let AdamW { beta1, beta2, eps, gradient_scale, .. } = c.step;
        let (keep, rate, root) = (c.keep, c.rate, c.root);
        let (new1, new2) = (1.0 - beta1, 1.0 - beta2);
        for (((p, g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
            let g = *g * gradient_scale;
            *m = fma::<FMA>(beta1, *m, new1 * g);
            *v = fma::<FMA>(beta2, *v, new2 * g * g);
            *p = fma::<FMA>(keep, *p, -rate * *m / fma::<FMA>(v.sqrt(), root, eps));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{assert_close, noise, on_threads};

    const STEP: AdamW = AdamW {
        lr: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-6,
        weight_decay: 0.01,
        bias_correction: None,
        gradient_scale: 0.5,
    };

    #[test]
    fn ten_steps_equal_the_plain_form() {
        for len in [0, 1, 15, 16, 5000] {
            for corrected in [false, true] {
                let mut fast = [noise(len, 1), vec![0.0; len], vec![0.0; len]];
                let mut plain = fast.clone();
                for t in 1..=10 {
                    let g = noise(len, 10 + t);
                    let step = AdamW { bias_correction: corrected.then_some(t), ..STEP };
                    let [p, m, v] = &mut fast;
                    adamw(&step, p, &g, m, v);
                    let [p, m, v] = &mut plain;
                    scalar::adamw(&step, p, &g, m, v);
                }
                for (fast, plain) in fast.iter().zip(&plain) {
                    assert_close(fast, plain, 1e-6, &format!("{len} elements, corrected {corrected}"));
                }
            }
        }
    }

    #[test]
    fn norm_scale_and_axpy_equal_the_plain_forms() {
        for len in [0, 1, 17, 100_003] {
            let x = noise(len, 1);
            let want = scalar::squared_norm(&x);
            assert!((squared_norm(&x) - want).abs() <= 1e-12 * want.max(1.0));
            let mut y = noise(len, 2);
            let mut expected = y.clone();
            scalar::axpy(&mut expected, 0.3, &x);
            scalar::scale(&mut expected, 0.7);
            axpy(&mut y, 0.3, &x);
            scale(&mut y, 0.7);
            assert_close(&y, &expected, 1e-6, "axpy, scale");
        }
    }

    #[test]
    fn the_norm_has_one_order() {
        let x = noise(5_000_000, 3);
        let bits = |threads| on_threads(threads, || squared_norm(&x).to_bits());
        assert!(bits(1) == bits(2) && bits(1) == bits(5));
    }
}
