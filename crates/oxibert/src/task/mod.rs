//! What a model is trained for, one file each: its data, its loss, its figures.

pub mod lm;
pub mod metrics;
pub mod pretrain;
pub mod teaching;
pub mod translate;
