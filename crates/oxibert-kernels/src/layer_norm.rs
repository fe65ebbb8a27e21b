//! Residual + dropout + LayerNorm in one pass over the data, forward and backward.
//!
//! The sum before the norm is kept: post-norm needs it for the backward pass, pre-norm also continues with it.

use crate::arch::{fma, versions};
use crate::dropout::{Dropout, RowMask, masked_row};
use crate::math;
use crate::parallel::{add_to, rows_per_partial, rows_per_piece, with_partials};
use crate::profile::{Kernel, time};
use crate::team::each;

/// The learned parameters of a LayerNorm, `[H]` each.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// The scale, `weight` in a checkpoint.
    pub gamma: &'a [f32],
    /// The shift, `bias` in a checkpoint.
    pub beta: &'a [f32],
    /// Added to the variance; 1e-12 in BERT.
    pub eps: f32,
}

/// Mean and 1 / standard deviation of every row, `[N]` each: what the backward pass needs beside the sum.
#[derive(Debug)]
pub struct Moments<'a> {
    /// Mean of the row.
    pub mean: &'a mut [f32],
    /// 1 / sqrt(variance + eps).
    pub rstd: &'a mut [f32],
}

/// `x = residual + dropout(x)` and `y = LayerNorm(x)`, over rows of H = `norm.gamma.len()`.
///
/// Without a residual `x` itself is normalised (after dropout, if any).
pub fn add_layer_norm(
    x: &mut [f32],
    residual: Option<&[f32]>,
    dropout: Dropout,
    norm: Norm<'_>,
    y: &mut [f32],
    moments: Moments<'_>,
) {
    let _time = time(Kernel::LayerNorm);
    let h = norm.gamma.len();
    check(x.len(), h, [norm.beta.len(), h], moments.mean.len(), moments.rstd.len());
    assert!(y.len() == x.len() && residual.is_none_or(|r| r.len() == x.len()), "layer norm shapes");
    if x.is_empty() {
        return;
    }
    let step = rows_per_piece(h);
    let moments = moments.mean.chunks_mut(step).zip(moments.rstd.chunks_mut(step));
    let rows = x.chunks_mut(step * h).zip(y.chunks_mut(step * h));
    each(rows.zip(moments).enumerate(), |(piece, ((x, y), (mean, rstd)))| {
        let rows = x.chunks_exact_mut(h).zip(y.chunks_exact_mut(h)).zip(mean.iter_mut().zip(rstd));
        for (row, ((x, y), (mean, rstd))) in rows.enumerate() {
            let row = piece * step + row;
            let residual = residual.map(|r| &r[row * h..][..h]);
            if !dropout.is_off() {
                add_masked(x, residual.unwrap_or(&[]), dropout.row(row));
            } else if let Some(residual) = residual {
                add_to(x, residual);
            }
            (*mean, *rstd) = normalize(x, norm.gamma, norm.beta, norm.eps, y);
        }
    });
}

fn check(len: usize, h: usize, parameters: [usize; 2], mean: usize, rstd: usize) {
    assert!(h > 0 && len.is_multiple_of(h) && parameters == [h, h], "layer norm over rows of {h} in {len}");
    assert!(mean == len / h && rstd == len / h, "one mean and one rstd per row");
}

/// What [`add_layer_norm_backward`] reads.
#[derive(Clone, Copy, Debug)]
pub struct NormBackward<'a> {
    /// The sum before the norm, as [`add_layer_norm`] left it in `x`, [N, H].
    pub sum: &'a [f32],
    /// The norm's scale, `[H]`.
    pub gamma: &'a [f32],
    /// Mean of each row, `[N]`.
    pub mean: &'a [f32],
    /// 1 / standard deviation of each row, `[N]`.
    pub rstd: &'a [f32],
    /// The same as in the forward pass.
    pub dropout: Dropout,
    /// A gradient that reaches the sum beside the norm (pre-norm's stream), [N, H].
    pub skip: Option<&'a [f32]>,
}

/// Where [`add_layer_norm_backward`] adds the gradients of parameters, `[H]` each.
#[derive(Debug)]
pub struct NormGradients<'a> {
    /// Of the norm's scale.
    pub dgamma: &'a mut [f32],
    /// Of the norm's shift.
    pub dbeta: &'a mut [f32],
    /// Of the bias of the linear layer that made `x`: the column sums of dx.
    pub dbias: Option<&'a mut [f32]>,
}

/// Turns `d` from dy into the gradient of the sum, which is the residual's; `dx` gets the gradient of `x`.
/// Without dropout the two are equal and `dx` is not needed.
///
/// With n = (sum - mean) rstd and g = dy gamma, means over the row:
/// dsum = rstd (g - mean(g) - n mean(g n)) + skip; dx = mask dsum; dgamma = sum_N dy n; dbeta = sum_N dy.
pub fn add_layer_norm_backward(
    given: NormBackward<'_>,
    d: &mut [f32],
    dx: Option<&mut [f32]>,
    gradients: NormGradients<'_>,
) {
    let _time = time(Kernel::LayerNorm);
    let h = given.gamma.len();
    let n = given.mean.len();
    check(given.sum.len(), h, [gradients.dgamma.len(), gradients.dbeta.len()], n, given.rstd.len());
    assert!(
        d.len() == given.sum.len() && dx.as_ref().is_none_or(|dx| dx.len() == d.len()),
        "layer norm shapes"
    );
    assert!(given.skip.is_none_or(|skip| skip.len() == d.len()), "layer norm shapes");
    assert!(dx.is_some() || given.dropout.is_off(), "with dropout, dx differs from the residual's gradient");
    let step = rows_per_partial(n);
    let run = |partials: &mut [f32]| match dx {
        Some(dx) => {
            let rows = d.chunks_mut(step * h).zip(dx.chunks_mut(step * h));
            each(partials.chunks_mut(3 * h).zip(rows).enumerate(), |(p, (sums, (d, dx)))| {
                backward_rows(&given, p * step, d, Some(dx), sums);
            });
        }
        None => each(partials.chunks_mut(3 * h).zip(d.chunks_mut(step * h)).enumerate(), |(p, (sums, d))| {
            backward_rows(&given, p * step, d, None, sums);
        }),
    };
    with_partials(n, 3 * h, run, |total| {
        add_to(gradients.dgamma, &total[..h]);
        add_to(gradients.dbeta, &total[h..2 * h]);
        if let Some(dbias) = gradients.dbias {
            add_to(dbias, &total[2 * h..]);
        }
    });
}

/// The rows from `first` on; `sums` collects [dgamma, dbeta, dbias].
fn backward_rows(
    given: &NormBackward<'_>,
    first: usize,
    d: &mut [f32],
    dx: Option<&mut [f32]>,
    sums: &mut [f32],
) {
    let h = given.gamma.len();
    let (sums, dbias) = sums.split_at_mut(2 * h);
    let (dgamma, dbeta) = sums.split_at_mut(h);
    let mut dx = dx.map(|dx| dx.chunks_exact_mut(h));
    for (row, d) in (first..).zip(d.chunks_exact_mut(h)) {
        let at = row * h..(row + 1) * h;
        backward_row(&given.sum[at.clone()], given.mean[row], given.rstd[row], given.gamma, d, dgamma, dbeta);
        if let Some(skip) = given.skip {
            add_to(d, &skip[at]);
        }
        match dx.as_mut().and_then(Iterator::next) {
            Some(dx) => {
                masked_row(dx, d, given.dropout.row(row));
                add_to(dbias, dx);
            }
            None => add_to(dbias, d),
        }
    }
}

versions! {
    /// `x = residual + mask x`; an empty residual is none.
    fn add_masked(x: &mut [f32], residual: &[f32], mask: RowMask) {
        if residual.is_empty() {
            for (x, col) in x.iter_mut().zip(0u32..) {
                *x *= mask.factor(col);
            }
        } else {
            for ((x, r), col) in x.iter_mut().zip(residual).zip(0u32..) {
                *x = fma::<FMA>(*x, mask.factor(col), *r);
            }
        }
    }

    /// `y = (x - mean) rstd gamma + beta`; returns (mean, rstd).
    fn normalize(x: &[f32], gamma: &[f32], beta: &[f32], eps: f32, y: &mut [f32]) -> (f32, f32) {
        let h = x.len() as f32;
        let mean = math::sum(x, |x| x) / h;
        let variance = math::sum(x, |x| (x - mean) * (x - mean)) / h;
        let rstd = 1.0 / (variance + eps).sqrt();
        for (((y, x), gamma), beta) in y.iter_mut().zip(x).zip(gamma).zip(beta) {
            *y = fma::<FMA>((*x - mean) * rstd, *gamma, *beta);
        }
        (mean, rstd)
    }

    /// One row of the backward pass, without skip and dropout.
    fn backward_row(
        x: &[f32], mean: f32, rstd: f32, gamma: &[f32], d: &mut [f32], dgamma: &mut [f32], dbeta: &mut [f32]
    ) {
        const L: usize = math::LANES;
        let h = x.len();
        let (mut g_sum, mut gn_sum) = ([0.0; L], [0.0; L]);
        let ((xs, x_end), (ds, d_end), (gammas, gamma_end)) =
            (x.as_chunks::<L>(), d.as_chunks::<L>(), gamma.as_chunks::<L>());
        let ((dgammas, dgamma_end), (dbetas, dbeta_end)) = (dgamma.as_chunks_mut::<L>(), dbeta.as_chunks_mut::<L>());
        let inputs = xs.iter().zip(ds).zip(gammas);
        for (((x, d), gamma), (dgamma, dbeta)) in inputs.zip(dgammas.iter_mut().zip(dbetas)) {
            collect::<FMA>(x, d, gamma, [mean, rstd], [&mut g_sum, &mut gn_sum], [dgamma, dbeta]);
        }
        let sums = [&mut g_sum[..x_end.len()], &mut gn_sum[..x_end.len()]];
        collect::<FMA>(x_end, d_end, gamma_end, [mean, rstd], sums, [dgamma_end, dbeta_end]);
        let (g_mean, gn_mean) = (math::total(g_sum) / h as f32, math::total(gn_sum) / h as f32);
        for ((d, x), gamma) in d.iter_mut().zip(x).zip(gamma) {
            let n = (*x - mean) * rstd;
            *d = rstd * fma::<FMA>(-n, gn_mean, *d * *gamma - g_mean);
        }
    }
}

/// The sums of [`backward_row`] over as many elements as there are lanes, or over the fewer at the end.
#[inline(always)]
fn collect<const FMA: bool>(
    x: &[f32],
    d: &[f32],
    gamma: &[f32],
    [mean, rstd]: [f32; 2],
    [g_sum, gn_sum]: [&mut [f32]; 2],
    [dgamma, dbeta]: [&mut [f32]; 2],
) {
    for i in 0..x.len() {
        let n = (x[i] - mean) * rstd;
        let g = d[i] * gamma[i];
        g_sum[i] += g;
        gn_sum[i] = fma::<FMA>(g, n, gn_sum[i]);
        dgamma[i] = fma::<FMA>(d[i], n, dgamma[i]);
        dbeta[i] += d[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{assert_close, assert_gradient, dot, noise, on_threads};

    const EPS: f32 = 1e-12;
    /// Rows and width: none, one, odd, tails on both sides.
    const SIZES: [(usize, usize); 6] = [(0, 4), (1, 1), (1, 16), (3, 7), (50, 33), (130, 48)];

    struct Case {
        x: Vec<f32>,
        residual: Vec<f32>,
        gamma: Vec<f32>,
        beta: Vec<f32>,
        dropout: Dropout,
    }

    impl Case {
        fn new(n: usize, h: usize, rate: f32) -> Self {
            let (x, residual, beta) = (noise(n * h, 1), noise(n * h, 2), noise(h, 4));
            let gamma = noise(h, 3).iter().map(|g| g + 1.5).collect();
            let dropout = if rate > 0.0 { Dropout::new(rate, 11, 5) } else { Dropout::OFF };
            Self { x, residual, gamma, beta, dropout }
        }

        fn norm(&self) -> Norm<'_> {
            Norm { gamma: &self.gamma, beta: &self.beta, eps: EPS }
        }

        /// (sum, y, mean, rstd).
        fn forward(&self) -> [Vec<f32>; 4] {
            let n = self.x.len() / self.gamma.len();
            let (mut x, mut y) = (self.x.clone(), vec![0.0; self.x.len()]);
            let (mut mean, mut rstd) = (vec![0.0; n], vec![0.0; n]);
            let moments = Moments { mean: &mut mean, rstd: &mut rstd };
            add_layer_norm(&mut x, Some(&self.residual), self.dropout, self.norm(), &mut y, moments);
            [x, y, mean, rstd]
        }

        /// (dsum, dx, dgamma, dbeta, dbias).
        fn backward(&self, dy: &[f32], skip: Option<&[f32]>) -> [Vec<f32>; 5] {
            let [sum, _, mean, rstd] = self.forward();
            let h = self.gamma.len();
            let (mut d, mut dx) = (dy.to_vec(), vec![0.0; dy.len()]);
            let (mut dgamma, mut dbeta, mut dbias) = (vec![0.0; h], vec![0.0; h], vec![0.0; h]);
            let dropout = self.dropout;
            let given =
                NormBackward { sum: &sum, gamma: &self.gamma, mean: &mean, rstd: &rstd, dropout, skip };
            let gradients = NormGradients { dgamma: &mut dgamma, dbeta: &mut dbeta, dbias: Some(&mut dbias) };
            add_layer_norm_backward(given, &mut d, Some(&mut dx), gradients);
            [d, dx, dgamma, dbeta, dbias]
        }
    }

    #[test]
    fn forward_equals_the_plain_form() {
        for (n, h) in SIZES {
            for rate in [0.0, 0.3] {
                let case = Case::new(n, h, rate);
                let [sum, y, mean, rstd] = case.forward();
                let want = scalar::add_layer_norm(&case.x, Some(&case.residual), case.dropout, case.norm());
                for (got, want) in [sum, y, mean].iter().zip(&want) {
                    assert_close(got, want, 1e-4, &format!("[{n}, {h}] rate {rate}"));
                }
                // One column has no variance: rstd is 1 / sqrt(eps) up to the rounding of the variance.
                if h > 1 {
                    assert_close(&rstd, &want[3], 1e-4, "rstd");
                }
            }
        }
    }

    #[test]
    fn without_residual_the_input_is_normalised() {
        let case = Case::new(3, 20, 0.0);
        let (mut x, mut y, mut mean, mut rstd) = (case.x.clone(), vec![0.0; 60], [0.0; 3], [0.0; 3]);
        let moments = Moments { mean: &mut mean, rstd: &mut rstd };
        add_layer_norm(&mut x, None, Dropout::OFF, case.norm(), &mut y, moments);
        assert_eq!(x, case.x);
        assert_close(&y, &scalar::add_layer_norm(&case.x, None, Dropout::OFF, case.norm())[1], 1e-5, "y");
    }

    #[test]
    fn backward_equals_the_plain_form() {
        for (n, h) in SIZES {
            for (rate, skipped) in [(0.0, false), (0.3, false), (0.3, true)] {
                let case = Case::new(n, h, rate);
                let (dy, skip) = (noise(n * h, 5), noise(n * h, 6));
                let skip = skipped.then_some(&skip[..]);
                let got = case.backward(&dy, skip);
                let [sum, _, mean, rstd] = case.forward();
                let dropout = case.dropout;
                let given =
                    NormBackward { sum: &sum, gamma: &case.gamma, mean: &mean, rstd: &rstd, dropout, skip };
                let want = scalar::add_layer_norm_backward(given, &dy);
                for (got, want) in got.iter().zip(&want).filter(|_| h > 1) {
                    assert_close(got, want, 2e-5, &format!("[{n}, {h}] rate {rate}"));
                }
            }
        }
    }

    #[test]
    fn backward_agrees_with_differences() {
        let case = Case::new(4, 21, 0.3);
        let (dy, skip) = (noise(84, 5), noise(84, 6));
        let [dresidual, dx, dgamma, dbeta, _] = case.backward(&dy, Some(&skip));
        let loss = |x: &[f32], residual: &[f32], gamma: &[f32], beta: &[f32]| {
            let [sum, y, ..] =
                scalar::add_layer_norm(x, Some(residual), case.dropout, Norm { gamma, beta, eps: EPS });
            dot(&y, &dy) + dot(&sum, &skip)
        };
        assert_gradient(&case.x, &dx, "dx", |x| loss(x, &case.residual, &case.gamma, &case.beta));
        assert_gradient(&case.residual, &dresidual, "dresidual", |r| {
            loss(&case.x, r, &case.gamma, &case.beta)
        });
        assert_gradient(&case.gamma, &dgamma, "dgamma", |g| loss(&case.x, &case.residual, g, &case.beta));
        assert_gradient(&case.beta, &dbeta, "dbeta", |b| loss(&case.x, &case.residual, &case.gamma, b));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let case = Case::new(700, 40, 0.1);
        let dy = noise(700 * 40, 5);
        let run = |threads| on_threads(threads, || (case.forward(), case.backward(&dy, None)));
        assert!(run(1) == run(2) && run(1) == run(7));
    }
}
