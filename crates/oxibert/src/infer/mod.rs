//! What users want of a trained model: text in, answers out.
//!
//! ```text
//! texts -> tokens -> windows, by length -> batches of a token budget -> model::Bert -> pooling -> rows, in input order
//! ```
//!
//! [`Embedder`] turns texts into vectors. What a checkpoint directory says about its use, in the files of
//! sentence-transformers, is its default. [`Filler`] finds the likeliest tokens for every mask of a text. [`Predictor`] gives
//! the answers of a model that was fine-tuned for a task.

mod embedder;
mod fill;
mod pooling;
mod predictor;
mod sentence_transformers;

pub use embedder::{EmbedOptions, Embedder, Embeddings};
pub use fill::{Candidate, Filler, Mask};
pub use pooling::Pooling;
pub use predictor::Predictor;
pub use sentence_transformers::{MODULES_FILE, use_files};
