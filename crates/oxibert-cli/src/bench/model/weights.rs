//! What is measured: a checkpoint, or a preset with new weights.

use std::path::Path;

use anyhow::{Result, bail};
use oxibert::model::{Bert, Checkpoint, Config, PRESETS, Pretraining, Weights};
use oxibert::nn::Params;

use super::SEED;

/// The vocabulary of bert-base-uncased.
const VOCAB_SIZE: usize = 30_522;

/// A shape, and the weights if there are any.
pub(super) struct Model {
    pub(super) config: Config,
    weights: Option<Weights>,
}

impl Model {
    /// What lies there, or else the preset of this name.
    pub(super) fn open(name: &str, vocab_size: Option<usize>) -> Result<Self> {
        let path = Path::new(name);
        if !path.exists() {
            if !PRESETS.contains(&name) {
                bail!("--model: {name:?} is neither a checkpoint nor one of {}", PRESETS.join(", "));
            }
            let config = Config::preset(name, vocab_size.unwrap_or(VOCAB_SIZE))?;
            return Ok(Self { config, weights: None });
        }
        if vocab_size.is_some() {
            bail!("--vocab-size goes with a preset; {name} has its own vocabulary");
        }
        let Checkpoint { config, weights } = Checkpoint::open(path)?;
        Ok(Self { config, weights: Some(weights) })
    }

    pub(super) fn bert(self) -> Result<Bert> {
        let Self { config, weights } = self;
        let weights = match weights {
            Some(weights) => weights,
            None => {
                let layout = Pretraining::new(&config).layout().clone();
                Weights::of(&Params::new(layout, &config, SEED).tensors())?
            }
        };
        Ok(Bert::new(config, weights)?)
    }

    /// All parameters of pretraining; what the checkpoint lacks (often a head) is new.
    pub(super) fn params(&self, model: &Pretraining) -> Result<Params> {
        let layout = model.layout().clone();
        match &self.weights {
            Some(weights) => Ok(Params::load_known(layout, &self.config, weights, SEED)?),
            None => Ok(Params::new(layout, &self.config, SEED)),
        }
    }
}
