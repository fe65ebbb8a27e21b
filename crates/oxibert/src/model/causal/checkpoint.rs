//! A causal model on the disk, in the form of `transformers`' GPT2LMHeadModel.

use std::path::Path;

use super::{Causal, Config};
use crate::Result;
use crate::model::Weights;
use crate::model::checkpoint::{CONFIG_FILE, Tensor, WEIGHTS_FILE, save_tensors};
use crate::model::names::Block;
use crate::nn::Params;

/// A causal model's configuration and its weights, opened.
#[derive(Debug)]
pub struct Checkpoint {
    /// What `config.json` says.
    pub config: Config,
    /// The tensors.
    pub weights: Weights,
}

impl Checkpoint {
    /// Opens a checkpoint directory.
    pub fn open(directory: &Path) -> Result<Self> {
        let config = Config::load(&directory.join(CONFIG_FILE))?;
        let weights = Weights::open(directory)?;
        let beyond = |block| matches!(block, Block::Decoder(layer) if layer >= config.n_layer);
        weights.check_blocks("n_layer", config.n_layer, beyond)?;
        Ok(Self { config, weights })
    }

    /// The model with its parameters in memory, to be trained on.
    pub fn load(&self) -> Result<(Causal, Params)> {
        let model = Causal::new(&self.config);
        let params = Params::load(model.layout().clone(), &self.weights)?;
        Ok((model, params))
    }
}

/// Writes a checkpoint into `directory`, each file atomically: the weights first, so that a `config.json` never stands alone.
///
/// # Panics
/// If two tensors have the same name.
pub fn save(directory: &Path, config: &Config, tensors: &[Tensor<'_>]) -> Result<()> {
    config.check()?;
    save_tensors(&directory.join(WEIGHTS_FILE), tensors, &[])?;
    config.save(&directory.join(CONFIG_FILE))
}
