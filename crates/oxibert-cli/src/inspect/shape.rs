//! The configuration of any model that oxibert knows, as a report needs it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use oxibert::model::{Config, Param, Parts, Weights, causal, names, transformer};
use serde_json::Value;

use super::Flops;

/// The length of sequence that FLOPs are told for: most of BERT's pretraining was done at it.
const LENGTH: usize = 128;

/// A model's configuration.
pub(super) enum Shape {
    Bert(Config),
    Transformer(transformer::Config),
    Causal(causal::Config),
}

impl Shape {
    pub(super) fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&bytes, path)
    }

    /// What is neither a Transformer nor a causal model is read as a BERT, whose reader says what is wrong with it.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let object: Option<Value> = serde_json::from_slice(bytes).ok();
        let model_type = object.as_ref().and_then(|object| object.get("model_type")?.as_str());
        Ok(match model_type {
            Some("marian") => Self::Transformer(transformer::Config::parse(bytes, path)?),
            Some("gpt2") => Self::Causal(causal::Config::parse(bytes, path)?),
            _ => Self::Bert(Config::parse(bytes, path)?),
        })
    }

    pub(super) fn fields(&self) -> BTreeMap<String, Value> {
        match self {
            Self::Bert(config) => config.to_json(),
            Self::Transformer(config) => config.to_json(),
            Self::Causal(config) => config.to_json(),
        }
    }

    /// Of a model for pretraining, if it is a BERT.
    pub(super) fn parameters(&self) -> Vec<Param> {
        match self {
            Self::Bert(config) => names::parameters(config, Parts::PRETRAINING),
            Self::Transformer(config) => transformer::names::parameters(config, false),
            Self::Causal(config) => causal::names::parameters(config),
        }
    }

    pub(super) fn flops(&self) -> Flops {
        let per_token = |flops: u64, tokens: usize| Flops {
            length: LENGTH,
            encoder: None,
            mlm_head_per_masked_token: None,
            all: Some(flops / tokens as u64),
        };
        match self {
            Self::Bert(config) => Flops {
                length: LENGTH,
                encoder: Some(config.flops_per_token(LENGTH)),
                mlm_head_per_masked_token: Some(config.mlm_flops_per_token()),
                all: None,
            },
            Self::Transformer(config) => per_token(config.flops(LENGTH, LENGTH), 2 * LENGTH),
            Self::Causal(config) => per_token(config.flops(LENGTH), LENGTH),
        }
    }

    pub(super) fn vocab_size(&self) -> usize {
        match self {
            Self::Bert(config) => config.vocab_size,
            Self::Transformer(config) => config.vocab_size,
            Self::Causal(config) => config.vocab_size,
        }
    }

    /// Refuses weights that are not those of the configuration.
    pub(super) fn fit(&self, weights: &Weights) -> oxibert::Result<()> {
        match self {
            Self::Bert(config) => {
                weights.check(&names::parameters(config, Parts::default()))?;
                weights.check_layers(config.num_hidden_layers)
            }
            _ => weights.check(&self.parameters()),
        }
    }
}
