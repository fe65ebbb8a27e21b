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
        let mut params = Params::new(model.layout().clone(), &self.config, SEED);
        if let Some(weights) = &self.weights {
            let Params { layout, values } = &mut params;
            for (param, range) in layout.iter().filter(|(param, _)| weights.contains(&param.name)) {
                weights.read_into(&param.name, &param.shape, &mut values[range])?;
            }
        }
        Ok(params)
    }
}
