//! The fused operations that BERT is made of, over slices. The only SIMD and unsafe code of oxibert.
//!
//! | what | forward | backward |
//! |---|---|---|
//! | matrix product | [`gemm()`] over [`Mat`], [`MatMut`]; [`linear`]; [`PackedWeight`]; [`in_bf16`] | [`linear_dx`], [`linear_dw`], [`bias_gradient`] |
//! | GELU, ReLU, tanh | [`activation()`], [`activation_in_place`] | [`activation_backward`] |
//! | residual + dropout + LayerNorm | [`add_layer_norm`] | [`add_layer_norm_backward`] |
//! | dropout alone | [`dropout()`] | the same |
//! | rows of tables, chosen rows | [`embed`] | [`embed_backward`] |
//! | attention | [`attention()`]; [`attention_to_rows`] for a step of decoding | [`attention_backward`] |
//! | probabilities, loss | [`softmax`], [`cross_entropy`]; [`log_sum_exp`], [`top()`] for a step of decoding | in the same call |
//! | optimizer | [`squared_norm`], [`clear`], [`add`], [`scale`], [`axpy`], [`adamw`], [`adamw_idle`], [`lamb`] | |
//! | the machine | [`cpu`], [`measured_peak`], [`profile`]; [`threads`], [`side_by_side`], [`halves`] | |
//!
//! What holds for all of them:
//! - A wrong shape is a bug and panics; nothing here is reached by unchecked input.
//! - Work runs on rayon's current pool, and the same input gives **the same bits for any number of threads**.
//! - Once warm, nothing is allocated: working memory stays with each thread.
//! - The instruction set (AVX-512, AVX2, NEON, baseline) is found at run time; [`scalar`] holds the plain form of each.
//! - Gradients of parameters are added to what is there; gradients of activations are written.
//!
//! Shapes: B sequences, N tokens, H hidden, A heads, D head size, I intermediate (or inputs), O outputs, V vocabulary.

mod activation;
mod arch;
mod attention;
mod dropout;
mod embedding;
mod gemm;
mod huge;
mod layer_norm;
mod loss;
mod mapped;
mod math;
mod matrix;
mod optimizer;
mod parallel;
mod peak;
pub mod profile;
pub mod scalar;
mod scratch;
mod team;
#[cfg(test)]
mod testing;
mod top;

pub use activation::{Activation, activation, activation_backward, activation_in_place, bias_gradient};
pub use arch::Isa;
pub use attention::{
    Attention, AttentionBackward, KeyRows, attention, attention_backward, attention_to_rows,
};
pub use dropout::{Dropout, dropout};
pub use embedding::{Lookup, embed, embed_backward};
pub use gemm::{PackedWeight, Start, bf16_pays, gemm, in_bf16, linear, linear_dw, linear_dx};
pub use huge::zeros;
pub use layer_norm::{Moments, Norm, NormBackward, NormGradients, add_layer_norm, add_layer_norm_backward};
pub use loss::{CrossEntropy, IGNORE, cross_entropy, log_sum_exp, softmax};
pub use mapped::{MappedFile, as_f32};
pub use matrix::{Mat, MatMut};
pub use optimizer::{
    AdamW, IdleRow, IdleStep, adamw, adamw_idle, add, axpy, clear, lamb, scale, squared_norm,
};
pub use peak::{Cpu, cpu, measured_peak};
pub use team::{halves, side_by_side, threads};
pub use top::top;
