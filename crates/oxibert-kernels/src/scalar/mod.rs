//! The plain form of every kernel: one loop after the other, sums in f64, nothing clever.
//!
//! They define what the fast kernels compute and stay for ever; every fast kernel is tested against its plain form.

mod attention;
mod layers;
mod optimizer;

pub use attention::{attention, attention_backward, attention_to_rows};
pub use layers::{
    activation, activation_backward, add_layer_norm, add_layer_norm_backward, bias_gradient, cross_entropy,
    dropout, embed, embed_backward, erf, gelu, softmax,
};
pub use optimizer::{adamw, axpy, lamb, scale, squared_norm};

use crate::matrix::Mat;

/// `out [M, N] = start [M, N] + a [M, K] b [K, N]`.
pub fn gemm(out: &mut [f32], a: Mat<'_>, b: Mat<'_>) {
    for i in 0..a.rows {
        for j in 0..b.cols {
            let products = (0..a.cols).map(|k| f64::from(at(a, i, k)) * f64::from(at(b, k, j)));
            let sum: f64 = products.sum();
            out[i * b.cols + j] = (f64::from(out[i * b.cols + j]) + sum) as f32;
        }
    }
}

/// Element (i, j).
pub(crate) fn at(x: Mat<'_>, i: usize, j: usize) -> f32 {
    x.data[i * x.row_stride + j * x.col_stride]
}
