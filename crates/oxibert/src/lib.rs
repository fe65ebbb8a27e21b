//! oxibert: the whole of BERT on ordinary CPUs, from raw text to a served model.
//!
//! The rooms, in the order in which text walks through them:
//!
//! - [`text`]: raw text to token ids and back; learning a vocabulary; sentences; Chinese words.
//! - [`data`]: text files of any size, plain or compressed; atomic writes.
//! - [`model`]: the shape of a BERT, the names of its parameters, Hugging Face checkpoints in and out.
//! - [`world`]: a small made-up world that writes documents, so that everything runs without a corpus.
//!

#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod model;
pub mod text;
pub mod world;

pub use error::{Error, Result};
