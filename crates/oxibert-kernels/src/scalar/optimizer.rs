//! The optimizer, plainly.

use crate::optimizer::AdamW;

/// The sum of squares.
pub fn squared_norm(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum()
}

/// `x *= factor`.
pub fn scale(x: &mut [f32], factor: f32) {
    x.iter_mut().for_each(|x| *x *= factor);
}

/// `to += factor * x`.
pub fn axpy(to: &mut [f32], factor: f32, x: &[f32]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += factor * x);
}

/// One step of AdamW.
pub fn adamw(step: &AdamW, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
    let u = update(step, p, g, m, v);
    take(step, 1.0, p, &u);
}

/// One step of LAMB; returns the trust ratio.
pub fn lamb(step: &AdamW, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) -> f64 {
    let u = update(step, p, g, m, v);
    let (length, update_length) = (squared_norm(p).sqrt(), u.iter().map(|u| u * u).sum::<f64>().sqrt());
    let ratio = if length == 0.0 || update_length == 0.0 { 1.0 } else { length / update_length };
    take(step, ratio, p, &u);
    ratio
}

/// Brings the moments up to date; what the parameters move by, before the rate.
fn update(step: &AdamW, p: &[f32], g: &[f32], m: &mut [f32], v: &mut [f32]) -> Vec<f64> {
    let [c1, c2] = step.corrections();
    let [beta1, beta2] = [step.beta1, step.beta2].map(f64::from);
    let mut update = Vec::new();
    for i in 0..p.len() {
        let g = f64::from(g[i]) * f64::from(step.gradient_scale);
        m[i] = (beta1 * f64::from(m[i]) + (1.0 - beta1) * g) as f32;
        v[i] = (beta2 * f64::from(v[i]) + (1.0 - beta2) * g * g) as f32;
        let root = (f64::from(v[i]) * c2).sqrt() + f64::from(step.eps);
        update.push(f64::from(m[i]) * c1 / root + f64::from(step.weight_decay) * f64::from(p[i]));
    }
    update
}

fn take(step: &AdamW, ratio: f64, p: &mut [f32], update: &[f64]) {
    for (p, u) in p.iter_mut().zip(update) {
        *p = (f64::from(*p) - f64::from(step.lr) * ratio * u) as f32;
    }
}
