//! What users want of a trained model: text in, answers out.
//!
//! ```text
//! texts -> tokens -> windows, by length -> batches of a token budget -> model::Bert -> pooling -> rows, in input order
//! ```
//!
//! [`Embedder`] turns texts into vectors. What a checkpoint directory says about its use, in the files of
//! sentence-transformers, is its default. [`Filler`] finds the likeliest tokens for every mask of a text. [`Predictor`] gives
//! the answers of a model that was fine-tuned for a task. [`Translator`] says texts in another language, [`Generator`] goes on
//! with them.

mod embedder;
mod fill;
mod generator;
mod pooling;
mod predictor;
mod sentence_transformers;
mod translator;

pub use embedder::{EmbedOptions, Embedder, Embeddings};
pub use fill::{Candidate, Filler, Mask};
pub use generator::Generator;
pub use pooling::Pooling;
pub use predictor::Predictor;
pub use sentence_transformers::{MODULES_FILE, use_files};
pub use translator::{Alignment, Translation, Translator};

pub use crate::model::causal::GenerateOptions;
pub use crate::model::transformer::DecodeOptions;
