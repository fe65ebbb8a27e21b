//! The non-linearities: GELU in both of BERT's forms, ReLU of the original Transformer, tanh of the pooler.
//!
//! The bias before them is added by the matrix product ([`crate::Start::Bias`]).

use crate::arch::{fma, versions};
use crate::math;
use crate::parallel::{add_to, rows_per_partial, rows_per_piece, with_partials};
use crate::profile::{Kernel, time};
use crate::team::each;
use std::f32::consts::FRAC_1_SQRT_2;

/// 1 / sqrt(2 pi), the height of the normal density.
const DENSITY: f32 = 0.398_942_3;
/// sqrt(2 / pi) and Google's cubic term of the tanh form.
const TANH: [f32; 2] = [0.797_884_6, 0.044_715];

/// An element-wise function after a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x Phi(x), with Phi by the error function: Hugging Face's `gelu`.
    Gelu,
    /// The tanh approximation of Google's code: `gelu_new`, `gelu_pytorch_tanh`.
    GeluTanh,
    /// max(x, 0).
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

/// `y = f(z)`; `z` is what the backward pass needs.
pub fn activation(f: Activation, z: &[f32], y: &mut [f32]) {
    let _time = time(Kernel::Activation);
    assert_eq!(z.len(), y.len(), "activation shapes");
    let piece = rows_per_piece(1);
    each(z.chunks(piece).zip(y.chunks_mut(piece)), |(z, y)| map(f, z, y));
}

/// `x = f(x)`: prediction needs no backward pass.
pub fn activation_in_place(f: Activation, x: &mut [f32]) {
    let _time = time(Kernel::Activation);
    each(x.chunks_mut(rows_per_piece(1)), |x| apply(f, x));
}

/// Turns `d` from dy into dz = dy f'(z), and adds its column sums to `dbias` (whose length is then the row's width).
///
/// * gelu: f'(z) = Phi(z) + z phi(z)
/// * gelu, tanh form, with u = sqrt(2/pi) (z + c z^3), t = tanh u: f' = (1 + t)/2 + z (1 - t^2) u' / 2
/// * relu: f' = 1 if z > 0 else 0; tanh: f' = 1 - tanh^2 z
pub fn activation_backward(f: Activation, z: &[f32], d: &mut [f32], dbias: Option<&mut [f32]>) {
    let _time = time(Kernel::Activation);
    assert_eq!(z.len(), d.len(), "activation shapes");
    let Some(dbias) = dbias else {
        let piece = rows_per_piece(1);
        each(z.chunks(piece).zip(d.chunks_mut(piece)), |(z, d)| apply_backward(f, z, d));
        return;
    };
    sum_columns(d, dbias, |first, d| apply_backward(f, &z[first..first + d.len()], d));
}

/// `dbias += column sums of dy` over rows of `dbias.len()`: the gradient of a bias.
pub fn bias_gradient(dy: &[f32], dbias: &mut [f32]) {
    let _time = time(Kernel::Linear);
    let width = dbias.len();
    let rows = dy.len().checked_div(width).unwrap_or(0);
    assert_eq!(dy.len(), rows * width, "rows of {width}");
    let step = rows_per_partial(rows);
    let sum = |partials: &mut [f32]| {
        each(partials.chunks_mut(width).zip(dy.chunks(step * width)), |(sum, dy)| {
            dy.chunks_exact(width).for_each(|row| add_to(sum, row));
        });
    };
    with_partials(rows, width, sum, |total| add_to(dbias, total));
}

/// Runs `f` on every row (with the index of its first element) and adds the changed rows to `sums`.
fn sum_columns(x: &mut [f32], sums: &mut [f32], f: impl Fn(usize, &mut [f32]) + Sync) {
    let width = sums.len();
    let rows = x.len().checked_div(width).unwrap_or(0);
    assert_eq!(x.len(), rows * width, "rows of {width}");
    let step = rows_per_partial(rows);
    let run = |partials: &mut [f32]| {
        let pieces = partials.chunks_mut(width).zip(x.chunks_mut(step * width)).enumerate();
        each(pieces, |(p, (sum, x))| {
            for (row, x) in x.chunks_exact_mut(width).enumerate() {
                f((p * step + row) * width, x);
                add_to(sum, x);
            }
        });
    };
    with_partials(rows, width, run, |total| add_to(sums, total));
}

/// `y = f(z)` on one piece.
fn map(f: Activation, z: &[f32], y: &mut [f32]) {
    match f {
        Activation::Gelu => map_gelu(z, y),
        Activation::GeluTanh => map_gelu_tanh(z, y),
        Activation::Relu => map_relu(z, y),
        Activation::Tanh => map_tanh(z, y),
    }
}

/// `x = f(x)` on one piece.
fn apply(f: Activation, x: &mut [f32]) {
    match f {
        Activation::Gelu => apply_gelu(x),
        Activation::GeluTanh => apply_gelu_tanh(x),
        Activation::Relu => apply_relu(x),
        Activation::Tanh => apply_tanh(x),
    }
}

fn apply_backward(f: Activation, z: &[f32], d: &mut [f32]) {
    match f {
        Activation::Gelu => gelu_backward(z, d),
        Activation::GeluTanh => gelu_tanh_backward(z, d),
        Activation::Relu => relu_backward(z, d),
        Activation::Tanh => tanh_backward(z, d),
    }
}

#[inline(always)]
fn gelu<const FMA: bool>(x: f32) -> f32 {
    let half = 0.5 * x;
    fma::<FMA>(half, math::erf::<FMA>(x * FRAC_1_SQRT_2), half)
}

#[inline(always)]
fn gelu_slope<const FMA: bool>(z: f32) -> f32 {
    let share = fma::<FMA>(0.5, math::erf::<FMA>(z * FRAC_1_SQRT_2), 0.5);
    let density = DENSITY * math::exp::<FMA>(-0.5 * z * z);
    fma::<FMA>(z, density, share)
}

#[inline(always)]
fn gelu_tanh<const FMA: bool>(x: f32) -> f32 {
    let u = TANH[0] * fma::<FMA>(TANH[1] * x * x, x, x);
    let half = 0.5 * x;
    fma::<FMA>(half, math::tanh::<FMA>(u), half)
}

#[inline(always)]
fn gelu_tanh_slope<const FMA: bool>(z: f32) -> f32 {
    let cubic = TANH[1] * z * z;
    let t = math::tanh::<FMA>(TANH[0] * fma::<FMA>(cubic, z, z));
    let slope = TANH[0] * fma::<FMA>(3.0, cubic, 1.0);
    0.5 * fma::<FMA>(z * slope, 1.0 - t * t, 1.0 + t)
}

/// By multiplication: a choice between `x` and 0 would be compiled to masked stores, which are slow on AMD. NaN stays.
#[inline(always)]
fn relu<const FMA: bool>(x: f32) -> f32 {
    x * if x < 0.0 { 0.0 } else { 1.0 }
}

#[inline(always)]
fn relu_slope<const FMA: bool>(z: f32) -> f32 {
    if z > 0.0 { 1.0 } else { 0.0 }
}

#[inline(always)]
fn tanh_slope<const FMA: bool>(z: f32) -> f32 {
    let t = math::tanh::<FMA>(z);
    1.0 - t * t
}

/// The three loops of one activation: from `z` to `y`, in place, and backward.
macro_rules! loops {
    ($value:path, $slope:path, $map:ident, $apply:ident, $backward:ident) => {
        versions! {
            fn $map(z: &[f32], y: &mut [f32]) {
                for (y, z) in y.iter_mut().zip(z) {
                    *y = $value(*z);
                }
            }

            fn $apply(x: &mut [f32]) {
                for x in x {
                    *x = $value(*x);
                }
            }

            fn $backward(z: &[f32], d: &mut [f32]) {
                for (d, z) in d.iter_mut().zip(z) {
                    *d *= $slope(*z);
                }
            }
        }
    };
}

loops!(gelu::<FMA>, gelu_slope::<FMA>, map_gelu, apply_gelu, gelu_backward);
loops!(gelu_tanh::<FMA>, gelu_tanh_slope::<FMA>, map_gelu_tanh, apply_gelu_tanh, gelu_tanh_backward);
loops!(relu::<FMA>, relu_slope::<FMA>, map_relu, apply_relu, relu_backward);
loops!(math::tanh::<FMA>, tanh_slope::<FMA>, map_tanh, apply_tanh, tanh_backward);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{assert_close, assert_gradient, dot, noise, on_threads};

    const ALL: [Activation; 4] = [Activation::Gelu, Activation::GeluTanh, Activation::Relu, Activation::Tanh];

    fn values(len: usize) -> Vec<f32> {
        noise(len, 1).iter().map(|x| x * 5.0).collect()
    }

    #[test]
    fn forward_equals_the_plain_form() {
        for f in ALL {
            for len in [0, 1, 7, 16, 33, 16 * 1024 + 5] {
                let z = values(len);
                let (mut y, mut want, mut again) = (vec![0.0; len], vec![0.0; len], z.clone());
                activation(f, &z, &mut y);
                scalar::activation(f, &z, &mut want);
                assert_close(&y, &want, 1e-6, &format!("{f:?}"));
                activation_in_place(f, &mut again);
                assert_eq!(again, y);
            }
        }
    }

    #[test]
    fn backward_equals_the_plain_form_and_the_differences() {
        for f in ALL {
            for (rows, width) in [(0, 3), (1, 1), (5, 7), (200, 33)] {
                let (z, dy) = (values(rows * width), noise(rows * width, 2));
                let (mut d, mut want) = (dy.clone(), dy.clone());
                let (mut dbias, mut want_bias) = (vec![1.0; width], vec![1.0; width]);
                activation_backward(f, &z, &mut d, Some(&mut dbias));
                scalar::activation_backward(f, &z, &mut want);
                scalar::bias_gradient(&want, &mut want_bias);
                // 1 - tanh^2 loses a digit where tanh is nearly one.
                assert_close(&d, &want, 5e-6, &format!("{f:?} dz"));
                assert_close(&dbias, &want_bias, 1e-5, &format!("{f:?} dbias"));
                let mut alone = dy.clone();
                activation_backward(f, &z, &mut alone, None);
                assert_eq!(alone, d);
                let away_from_the_kink: Vec<f32> = z.iter().map(|z| z + 0.02 * z.signum()).collect();
                let mut d = dy.clone();
                activation_backward(f, &away_from_the_kink, &mut d, None);
                assert_gradient(&away_from_the_kink, &d, &format!("{f:?}"), |z| {
                    let mut y = vec![0.0; z.len()];
                    scalar::activation(f, z, &mut y);
                    dot(&y, &dy)
                });
            }
        }
    }

    #[test]
    fn column_sums_have_one_order() {
        let dy = noise(1000 * 37, 1);
        let sums = |threads| {
            on_threads(threads, || {
                let mut dbias = vec![0.0; 37];
                bias_gradient(&dy, &mut dbias);
                dbias
            })
        };
        let mut want = vec![0.0; 37];
        scalar::bias_gradient(&dy, &mut want);
        assert_close(&sums(1), &want, 1e-5, "dbias");
        assert!(sums(1) == sums(2) && sums(1) == sums(5));
    }
}
