//! The layers between the matrix products, plainly.

use crate::activation::Activation;
use crate::dropout::Dropout;
use crate::embedding::Lookup;
use crate::layer_norm::{Norm, NormBackward};
use crate::loss::{CrossEntropy, IGNORE};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

/// The error function in f64: its power series near zero, its continued fraction far away.
pub fn erf(x: f64) -> f64 {
    if x.abs() < 3.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..100 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return FRAC_2_SQRT_PI * sum;
    }
    let fraction = (1..60).rev().fold(x.abs(), |below, n| x.abs() + f64::from(n) / 2.0 / below);
    x.signum() * (1.0 - (-x * x).exp() / (fraction * PI.sqrt()))
}

/// GELU in the erf form.
pub fn gelu(z: f64) -> f64 {
    0.5 * z * (1.0 + erf(z * FRAC_1_SQRT_2))
}

/// The argument of tanh in GELU's other form, and its derivative.
fn gelu_tanh_inner(z: f64) -> (f64, f64) {
    let root = (2.0 / PI).sqrt();
    (root * (z + 0.044_715 * z.powi(3)), root * (1.0 + 3.0 * 0.044_715 * z * z))
}

/// `y = f(z)`.
pub fn activation(f: Activation, z: &[f32], y: &mut [f32]) {
    for (y, z) in y.iter_mut().zip(z) {
        let z = f64::from(*z);
        *y = match f {
            Activation::Gelu => gelu(z),
            Activation::GeluTanh => 0.5 * z * (1.0 + gelu_tanh_inner(z).0.tanh()),
            Activation::Relu => z.max(0.0),
            Activation::Tanh => z.tanh(),
        } as f32;
    }
}

/// `d *= f'(z)`.
pub fn activation_backward(f: Activation, z: &[f32], d: &mut [f32]) {
    for (d, z) in d.iter_mut().zip(z) {
        let z = f64::from(*z);
        let slope = match f {
            Activation::Gelu => {
                0.5 * (1.0 + erf(z * FRAC_1_SQRT_2)) + z * (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
            }
            Activation::GeluTanh => {
                let (u, du) = gelu_tanh_inner(z);
                0.5 * (1.0 + u.tanh()) + 0.5 * z * (1.0 - u.tanh().powi(2)) * du
            }
            Activation::Relu => f64::from(u8::from(z > 0.0)),
            Activation::Tanh => 1.0 - z.tanh().powi(2),
        };
        *d = (f64::from(*d) * slope) as f32;
    }
}

/// `dbias += column sums of dy`.
pub fn bias_gradient(dy: &[f32], dbias: &mut [f32]) {
    let width = dbias.len();
    for (j, sum) in dbias.iter_mut().enumerate() {
        let column = dy.iter().skip(j).step_by(width);
        *sum = (f64::from(*sum) + column.map(|x| f64::from(*x)).sum::<f64>()) as f32;
    }
}

/// What dropout multiplies element (row, col) by.
fn factor(dropout: Dropout, row: usize, col: usize) -> f32 {
    if dropout.is_off() { 1.0 } else { dropout.row(row).factor(col as u32) }
}

/// `x *= mask` over rows of `width`.
pub fn dropout(x: &mut [f32], width: usize, dropout: Dropout) {
    for (i, x) in x.iter_mut().enumerate() {
        *x *= factor(dropout, i / width, i % width);
    }
}

/// (sum, y, mean, rstd) of residual + dropout + LayerNorm.
pub fn add_layer_norm(
    x: &[f32],
    residual: Option<&[f32]>,
    dropout: Dropout,
    norm: Norm<'_>,
) -> [Vec<f32>; 4] {
    let h = norm.gamma.len();
    let [mut sum, mut y, mut means, mut rstds] = [const { Vec::new() }; 4];
    for (row, x) in x.chunks_exact(h).enumerate() {
        let add = |(col, x): (usize, &f32)| -> f32 {
            x * factor(dropout, row, col) + residual.map_or(0.0, |r| r[row * h + col])
        };
        let s: Vec<f32> = x.iter().enumerate().map(add).collect();
        let mean = s.iter().map(|x| f64::from(*x)).sum::<f64>() / h as f64;
        let variance = s.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / h as f64;
        let rstd = 1.0 / (variance + f64::from(norm.eps)).sqrt();
        let normal = |(i, s): (usize, &f32)| {
            ((f64::from(*s) - mean) * rstd * f64::from(norm.gamma[i]) + f64::from(norm.beta[i])) as f32
        };
        y.extend(s.iter().enumerate().map(normal));
        sum.extend(s);
        means.push(mean as f32);
        rstds.push(rstd as f32);
    }
    [sum, y, means, rstds]
}

/// (dsum, dx, dgamma, dbeta, dbias) of [`add_layer_norm`].
pub fn add_layer_norm_backward(given: NormBackward<'_>, dy: &[f32]) -> [Vec<f32>; 5] {
    let h = given.gamma.len();
    let (mut dsum, mut dx) = (Vec::new(), Vec::new());
    let [mut dgamma, mut dbeta, mut dbias] = [const { Vec::new() }; 3].map(|mut v: Vec<f32>| {
        v.resize(h, 0.0);
        v
    });
    for (row, dy) in dy.chunks_exact(h).enumerate() {
        let n = |i: usize| f64::from((given.sum[row * h + i] - given.mean[row]) * given.rstd[row]);
        let g = |i: usize| f64::from(dy[i]) * f64::from(given.gamma[i]);
        let g_mean = (0..h).map(g).sum::<f64>() / h as f64;
        let gn_mean = (0..h).map(|i| g(i) * n(i)).sum::<f64>() / h as f64;
        for i in 0..h {
            let skip = given.skip.map_or(0.0, |skip| f64::from(skip[row * h + i]));
            let d = (f64::from(given.rstd[row]) * (g(i) - g_mean - n(i) * gn_mean) + skip) as f32;
            dsum.push(d);
            dx.push(d * factor(given.dropout, row, i));
            dgamma[i] += dy[i] * n(i) as f32;
            dbeta[i] += dy[i];
            dbias[i] += dx[row * h + i];
        }
    }
    [dsum, dx, dgamma, dbeta, dbias]
}

/// `out = sum over lookups of scale * table[id]`.
pub fn embed(lookups: &[Lookup<'_>], h: usize, out: &mut [f32]) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = lookups.iter().map(|l| l.scale * l.table[l.ids[i / h] as usize * h + i % h]).sum();
    }
}

/// `dtable[id] += scale * dy`.
pub fn embed_backward(dy: &[f32], ids: &[u32], scale: f32, h: usize, dtable: &mut [f32]) {
    for (i, dy) in dy.iter().enumerate() {
        dtable[ids[i / h] as usize * h + i % h] += scale * dy;
    }
}

/// Every row of `width` becomes its softmax.
pub fn softmax(x: &mut [f32], width: usize) {
    for x in x.chunks_exact_mut(width) {
        let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = x.iter().map(|x| f64::from(*x - max).exp()).sum();
        x.iter_mut().for_each(|x| *x = (f64::from(*x - max).exp() / sum) as f32);
    }
}

/// The loss, and its gradient times `scale` in the place of the logits (which stay if `scale` is 0).
pub fn cross_entropy(logits: &mut [f32], labels: &[u32], smoothing: f32, scale: f32) -> CrossEntropy {
    let mut found = CrossEntropy::default();
    if labels.is_empty() {
        return found;
    }
    let classes = logits.len() / labels.len();
    for (x, label) in logits.chunks_exact_mut(classes).zip(labels) {
        let (label, ignored) = (*label as usize, *label == IGNORE);
        let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let lse = f64::from(max) + x.iter().map(|x| f64::from(*x - max).exp()).sum::<f64>().ln();
        let target = |i: usize| {
            f64::from(smoothing) / classes as f64 + if i == label { 1.0 - f64::from(smoothing) } else { 0.0 }
        };
        if !ignored {
            found.loss -= x.iter().enumerate().map(|(i, x)| target(i) * (f64::from(*x) - lse)).sum::<f64>();
            found.correct += usize::from(x.iter().position(|x| *x == max) == Some(label));
            found.rows += 1;
        }
        if scale != 0.0 {
            for (i, x) in x.iter_mut().enumerate() {
                let d = (f64::from(*x) - lse).exp() - target(i);
                *x = if ignored { 0.0 } else { (f64::from(scale) * d) as f32 };
            }
        }
    }
    found
}
