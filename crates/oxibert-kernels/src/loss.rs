//! Softmax and cross-entropy over the rows that a task chose: masked positions, `[CLS]` rows, labelled tokens.

use crate::arch::versions;
use crate::math;
use crate::parallel::rows_per_piece;
use crate::profile::{Kernel, time};
use crate::scratch::with_scratch;
use crate::team::each;

/// A label that takes its row out of the loss: no loss, no gradient.
pub const IGNORE: u32 = u32::MAX;

/// What [`cross_entropy`] found over the rows whose label is not [`IGNORE`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    /// Sum over the rows; divide by `rows` for the mean.
    pub loss: f64,
    /// Rows whose largest logit is the label's.
    pub correct: usize,
    /// Rows that counted.
    pub rows: usize,
}

impl std::ops::AddAssign for CrossEntropy {
    fn add_assign(&mut self, other: Self) {
        self.loss += other.loss;
        self.correct += other.correct;
        self.rows += other.rows;
    }
}

/// The loss of `logits` [R, C] against `labels` `[R]`, and its gradient times `scale` in the place of the logits.
/// A `scale` of 0 leaves the logits as they are: for evaluation.
///
/// With p = softmax(x) and the smoothed target q = (1 - smoothing) onehot + smoothing / C:
/// loss = -sum q log p = log sum exp x - sum q x, and dx = scale (p - q).
pub fn cross_entropy(logits: &mut [f32], labels: &[u32], smoothing: f32, scale: f32) -> CrossEntropy {
    let _time = time(Kernel::Loss);
    if labels.is_empty() {
        assert!(logits.is_empty(), "logits without labels");
        return CrossEntropy::default();
    }
    let classes = logits.len() / labels.len();
    assert_eq!(logits.len(), labels.len() * classes, "one row of logits per label");
    // Per row [loss, correct, counted]; summed below in the order of the rows.
    with_scratch(3 * labels.len(), |found| {
        let step = rows_per_piece(classes);
        let rows = logits.chunks_mut(step * classes).zip(labels.chunks(step));
        each(rows.zip(found.chunks_mut(step * 3)), |((x, labels), found)| {
            for ((x, label), found) in x.chunks_exact_mut(classes).zip(labels).zip(found.chunks_exact_mut(3))
            {
                found.copy_from_slice(&row_loss(x, *label, smoothing, scale));
            }
        });
        let mut sum = CrossEntropy::default();
        for row in found.chunks_exact(3) {
            sum.loss += f64::from(row[0]);
            sum.correct += row[1] as usize;
            sum.rows += row[2] as usize;
        }
        sum
    })
}

fn row_loss(x: &mut [f32], label: u32, smoothing: f32, scale: f32) -> [f32; 3] {
    if label == IGNORE {
        if scale != 0.0 {
            x.fill(0.0);
        }
        return [0.0; 3];
    }
    let label = label as usize;
    let chosen = x[label];
    let spread = smoothing / x.len() as f32;
    let max = max_row(x);
    // The first of equal maxima is the prediction.
    let correct = chosen == max && !x[..label].contains(&max);
    let mean_part = if smoothing > 0.0 { spread * sum_row(x, max) } else { 0.0 };
    let sum = if scale == 0.0 { exp_sum(x, max) } else { exp_row(x, 1.0, -max) };
    let loss = sum.ln() - (1.0 - smoothing) * (chosen - max) - mean_part;
    if scale != 0.0 {
        scale_shift(x, scale / sum, -scale * spread);
        x[label] -= scale * (1.0 - smoothing);
    }
    [loss, f32::from(u8::from(correct)), 1.0]
}

/// Every row of `width` becomes its softmax: probabilities for those who ask.
pub fn softmax(x: &mut [f32], width: usize) {
    let _time = time(Kernel::Loss);
    if x.is_empty() {
        return;
    }
    assert_eq!(x.len() % width, 0, "rows of {width}");
    each(x.chunks_mut(rows_per_piece(width) * width), |x| {
        for x in x.chunks_exact_mut(width) {
            let max = max_row(x);
            let sum = exp_row(x, 1.0, -max);
            scale_shift(x, 1.0 / sum, 0.0);
        }
    });
}

/// The logarithm of sum e^x, which turns logits to logarithms of probabilities. Their largest is known by [`crate::top()`].
pub fn log_sum_exp(x: &[f32], largest: f32) -> f32 {
    largest + exp_sum(x, largest).ln()
}

versions! {
    /// The largest element.
    fn max_row(x: &[f32]) -> f32 {
        math::max(x)
    }

    /// `sum (x - shift)`.
    fn sum_row(x: &[f32], shift: f32) -> f32 {
        math::sum(x, |x| x - shift)
    }

    /// `sum e^(x - shift)`, leaving `x`.
    fn exp_sum(x: &[f32], shift: f32) -> f32 {
        math::sum(x, |x| math::exp::<FMA>(x - shift))
    }

    /// `x = e^(scale x + shift)`; returns the sum.
    fn exp_row(x: &mut [f32], scale: f32, shift: f32) -> f32 {
        for x in x.iter_mut() {
            *x = math::exp::<FMA>(crate::arch::fma::<FMA>(*x, scale, shift));
        }
        math::sum(x, |x| x)
    }

    /// `x = scale x + shift`.
    pub(crate) fn scale_shift(x: &mut [f32], scale: f32, shift: f32) {
        for x in x {
            *x = crate::arch::fma::<FMA>(*x, scale, shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{assert_close, assert_gradient, noise, on_threads};

    fn labels(rows: usize, classes: usize) -> Vec<u32> {
        (0..rows).map(|i| if i % 5 == 3 { IGNORE } else { (i * 7 % classes) as u32 }).collect()
    }

    #[test]
    fn log_sum_exp_is_what_softmax_divides_by() {
        let x: Vec<f32> = noise(5 * 33, 1).iter().map(|x| 8.0 * x).collect();
        let mut shares = x.clone();
        softmax(&mut shares, 33);
        let logarithms = x.chunks_exact(33).flat_map(|x| {
            let lse = log_sum_exp(x, max_row(x));
            x.iter().map(move |x| (x - lse).exp())
        });
        assert_close(&logarithms.collect::<Vec<_>>(), &shares, 1e-5, "shares");
    }

    #[test]
    fn equals_the_plain_form() {
        for (rows, classes) in [(0, 5), (1, 1), (1, 2), (9, 17), (40, 1003)] {
            for smoothing in [0.0, 0.1] {
                let logits: Vec<f32> = noise(rows * classes, 1).iter().map(|x| 8.0 * x).collect();
                let labels = labels(rows, classes);
                let (mut d, mut want) = (logits.clone(), logits.clone());
                let got = cross_entropy(&mut d, &labels, smoothing, 0.25);
                let expected = scalar::cross_entropy(&mut want, &labels, smoothing, 0.25);
                assert_close(&d, &want, 1e-6, "dlogits");
                assert!(
                    (got.loss - expected.loss).abs() < 1e-5 * expected.loss.max(1.0),
                    "{got:?} {expected:?}"
                );
                assert_eq!((got.correct, got.rows), (expected.correct, expected.rows));
                let mut kept = logits.clone();
                assert_eq!(cross_entropy(&mut kept, &labels, smoothing, 0.0), got);
                assert_eq!(kept, logits);
            }
        }
    }

    #[test]
    fn gradient_agrees_with_differences_and_threads() {
        let (logits, labels) = (noise(7 * 11, 1), labels(7, 11));
        let run = |threads| {
            on_threads(threads, || {
                let mut d = logits.clone();
                let found = cross_entropy(&mut d, &labels, 0.1, 0.5);
                (d, found)
            })
        };
        assert!(run(1) == run(2) && run(1) == run(3));
        assert_gradient(&logits, &run(2).0, "dlogits", |x| {
            0.5 * scalar::cross_entropy(&mut x.to_vec(), &labels, 0.1, 0.0).loss
        });
    }

    #[test]
    fn softmax_adds_up_and_survives_large_numbers() {
        let mut x = vec![1000.0, 1001.0, -1000.0, 3.0, 3.0, 3.0];
        softmax(&mut x, 3);
        let e = 1.0f32.exp();
        assert_close(
            &x,
            &[1.0 / (1.0 + e), e / (1.0 + e), 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
            1e-6,
            "softmax",
        );
    }

    #[test]
    fn softmax_equals_the_plain_form() {
        for (rows, width) in [(0, 5), (1, 1), (9, 17), (70, 1003)] {
            let (mut x, mut want) = (noise(rows * width, 1), noise(rows * width, 1));
            softmax(&mut x, width);
            scalar::softmax(&mut want, width);
            assert_close(&x, &want, 1e-6, "softmax");
        }
    }

    #[test]
    fn of_equal_maxima_the_first_is_the_prediction() {
        let mut x = vec![2.0, 2.0, 2.0, 2.0];
        assert_eq!(cross_entropy(&mut x, &[0, 1], 0.0, 0.0).correct, 1);
    }
}
