//! BERT itself: its configuration, the names of its parameters, and Hugging Face checkpoints in and out. Beside it, of the
//! same layers: the [`transformer`] that it comes from, and the left-to-right [`causal`] model.
//!
//! ```text
//! config.json -> Config -> names::parameters -> Checkpoint (model.safetensors, pytorch_model.bin) -> the layers
//! ```
//!
//! Everything here that reads a file is a door: it checks, and says which tensor or field is wrong, what was
//! expected and what was found. What has passed is trusted further in.

mod bert;
pub mod causal;
pub mod checkpoint;
mod chosen;
mod config;
mod decoding;
mod embeddings;
mod encoder;
mod heads;
mod lanes;
pub mod names;
mod output;
mod pass;
mod positions;
mod pretraining;
mod task;
#[cfg(test)]
mod tests;
mod tower;
pub mod transformer;

pub use crate::data::Targets;
pub use bert::{Bert, BertWork};
pub use checkpoint::{Checkpoint, Weights};
pub use config::{Activation, Config, PRESETS, Positions};
pub(crate) use lanes::WIDEST as WIDEST_LANE;
pub use names::{Block, Kind, Param, Parts};
pub use output::TokenLoss;
pub use pass::{DropoutPlan, Inspection, Keep, Training};
pub use positions::{sinusoid_halves, sinusoids};
pub use pretraining::{Losses, Pretraining, Work};
pub use task::{Head, TaskModel, TaskStep, TaskWork};
