//! oxibert: the whole of BERT on ordinary CPUs, from raw text to a served model.
//!
//! The rooms, in the order in which text walks through them:
//!
//! - [`text`]: raw text to token ids and back; learning a vocabulary; sentences; Chinese words.
//! - [`data`]: text files of any size, plain or compressed; documents to shards of token ids; atomic writes.
//! - [`progress`]: how long work says where it is.
//! - [`random`]: chance as a function of (seed, purpose, index), used wherever anything is drawn.
//! - [`nn`]: the layers, forward and backward, over one arena of parameters.
//! - [`model`]: BERT itself: its shape, encoder and heads; Hugging Face checkpoints in and out.
//! - [`task`]: what a model is trained for: pretraining.
//! - [`train`]: the loop, the optimizer, the checkpoints of a run, and what watches it: journal, TensorBoard, report, doctor.
//! - [`infer`]: what people ask a trained model for: vectors of texts, candidates for a mask.
//! - [`world`]: a small made-up world that writes documents, so that everything runs without a corpus.
//!
//! ```
//! use oxibert::text::{Tokenizer, Vocab};
//!
//! let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "the", "game"];
//! let tokenizer = Tokenizer::uncased(Vocab::from_tokens(tokens)?)?;
//! let encoding = tokenizer.encode("Playing the GAME");
//! assert_eq!(tokenizer.tokens(&encoding), ["[CLS]", "play", "##ing", "the", "game", "[SEP]"]);
//! # Ok::<(), oxibert::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod data;
mod error;
pub mod infer;
pub mod model;
pub mod nn;
pub mod progress;
pub mod random;
pub mod task;
pub mod text;
pub mod train;
pub mod world;

pub use error::{Error, Result};
