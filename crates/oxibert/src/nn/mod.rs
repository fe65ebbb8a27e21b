//! The layers, each forward with its backward under it.
//!
//! A layer holds no numbers, only their [places](params) in the arena. Forward passes take the numbers from a
//! `Numbers`: the arena when training, a mapped checkpoint with packed matrices when not. Backward passes add to
//! [`Gradients`], which are a vector of the arena's layout.

pub(crate) mod attention;
pub(crate) mod feed_forward;
pub(crate) mod frozen;
mod gradients;
pub(crate) mod linear;
pub mod params;
pub(crate) mod sub_layer;

pub use gradients::Gradients;
pub use params::{Layout, Params, tensors};

pub(crate) use linear::{Linear, NormPlace, Numbers};

/// A buffer of at least `length` numbers, of which the first are lent; their content is unknown. It only ever grows, so
/// that a warm step allocates nothing.
pub(crate) fn fit(buffer: &mut Vec<f32>, length: usize) -> &mut [f32] {
    if buffer.len() < length {
        *buffer = Vec::new(); // the old one goes before the new one comes
        *buffer = oxibert_kernels::zeros(length);
    }
    &mut buffer[..length]
}
