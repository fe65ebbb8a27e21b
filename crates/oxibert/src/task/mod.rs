//! What a model is trained for, one file each: its data, its loss, its figures.

pub mod pretrain;
