//! The fused operations that BERT is made of, over slices. The only SIMD and unsafe code of oxibert.

mod mapped;

pub use mapped::{MappedFile, as_f32};
