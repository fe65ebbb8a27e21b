//! A Transformer on the disk, in the form of `transformers`' MarianMTModel.

use std::path::Path;

use super::names::{LOGITS_BIAS, SHARED, SOURCE_EMBEDDINGS, TARGET_EMBEDDINGS};
use super::{Config, Transformer};
use crate::Result;
use crate::model::Weights;
use crate::model::checkpoint::{CONFIG_FILE, Tensor, WEIGHTS_FILE, save_tensors};
use crate::model::names::Block;
use crate::nn::Params;

/// A Transformer's configuration and its weights, opened.
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
        let Config { encoder_layers, decoder_layers, .. } = config;
        let beyond = |block| matches!(block, Block::Layer(layer) if layer >= encoder_layers);
        weights.check_blocks("encoder_layers", encoder_layers, beyond)?;
        let beyond = |block| matches!(block, Block::Decoder(layer) if layer >= decoder_layers);
        weights.check_blocks("decoder_layers", decoder_layers, beyond)?;
        Ok(Self { config, weights })
    }

    /// The model with its parameters in memory, to be trained on.
    pub fn load(&self) -> Result<(Transformer, Params)> {
        let model = Transformer::new(&self.config);
        let params = Params::load_but(model.layout().clone(), &self.weights, &[LOGITS_BIAS])?;
        Ok((model, params))
    }
}

/// Writes a checkpoint into `directory`, each file atomically: the weights first, so that a `config.json` never stands alone.
///
/// Added where `transformers` looks for them: the constant beside the logits, and copies of a shared table where it is not
/// tied to the output, because `transformers` then ties nothing.
///
/// # Panics
/// If two tensors have the same name.
pub fn save(directory: &Path, config: &Config, tensors: &[Tensor<'_>]) -> Result<()> {
    config.check()?;
    let mut all = tensors.to_vec();
    let find = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    if find(LOGITS_BIAS).is_none() {
        let tokens = config.decoder_vocab_size;
        all.push(Tensor::new(LOGITS_BIAS, vec![1, tokens], vec![0.0; tokens]));
    }
    if let (Some(table), false) = (find(SHARED), config.tie_word_embeddings) {
        for name in [SOURCE_EMBEDDINGS, TARGET_EMBEDDINGS] {
            all.push(Tensor::new(name, &*table.shape, &*table.data));
        }
    }
    save_tensors(&directory.join(WEIGHTS_FILE), &all, &[])?;
    config.save(&directory.join(CONFIG_FILE))
}
