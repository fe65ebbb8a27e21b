//! What a model is fine-tuned with: flags over defaults, kept in the run's directory, and compared when it goes on.

use anyhow::{Context, Result, ensure};
use clap::Args;
use oxibert::model::{Block, Config, Keep, Param};
use oxibert::task::finetune::FinetuneOptions;
use oxibert::train::{Form, OptimizerOptions, Schedule, ScheduleOptions};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::choices::{CommonFlags, DecayChoice, warmup};
use crate::given;

/// The flags that decide what comes out.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub(crate) struct Flags {
    /// How often the data are seen [default: 3]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) epochs: Option<f64>,
    /// Texts of a batch [default: 32]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) batch: Option<usize>,
    /// The highest learning rate [default: 3e-5; 5e-5 up to a width of 512, 1e-4 up to 256, 3e-4 up to 128]
    #[arg(long, value_name = "RATE", help_heading = "Training")]
    pub(crate) lr: Option<f64>,
    /// The share of the run, or from 1 on the number of steps, until that rate is reached [default: 0.1]
    #[arg(long, value_name = "SHARE|STEPS", help_heading = "Training")]
    pub(crate) warmup: Option<f64>,
    /// How the rate falls afterwards [default: linear]
    #[arg(long, value_enum, help_heading = "Training")]
    pub(crate) decay: Option<DecayChoice>,
    /// The rate of each layer as a share of the one above it, such as 0.9 [default: 1]
    #[arg(long, value_name = "SHARE", help_heading = "Training")]
    pub(crate) layer_decay: Option<f32>,
    /// What does not learn: embeddings, or a number of layers from below (the embeddings with them)
    #[arg(long, value_name = "N|embeddings", help_heading = "Training")]
    pub(crate) freeze: Option<String>,
    /// End after so many evaluations without a better one
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) patience: Option<u32>,
    /// Decoupled; biases and LayerNorms are left out [default: 0.01]
    #[arg(long, value_name = "DECAY", help_heading = "Training")]
    pub(crate) weight_decay: Option<f32>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) common: CommonFlags,
    /// Another seed is another order, another head, another dropout [default: 42]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) seed: Option<u64>,
}

/// All of them, decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) epochs: f64,
    pub(crate) batch: usize,
    pub(crate) accumulate: u32,
    pub(crate) lr: f64,
    warmup: f64,
    decay: DecayChoice,
    layer_decay: f32,
    freeze: Option<String>,
    pub(crate) patience: Option<u32>,
    weight_decay: f32,
    clip: f64,
    dropout: Option<f64>,
    checkpointing: bool,
    #[serde(default)]
    pub(crate) bf16: bool,
    pub(crate) seed: u64,
}

/// The paper's rate for large models; smaller ones want more.
fn rate(width: usize) -> f64 {
    match width {
        0..=128 => 3e-4,
        129..=256 => 1e-4,
        257..=512 => 5e-5,
        _ => 3e-5,
    }
}

impl Flags {
    /// These flags, and defaults for the rest.
    pub(crate) fn decide(&self, width: usize) -> Result<Settings> {
        let defaults = json!({
            "epochs": 3.0, "batch": 32, "accumulate": 1, "lr": rate(width), "warmup": 0.1, "decay": "linear",
            "layer_decay": 1.0, "freeze": null, "patience": null, "weight_decay": 0.01, "clip": 1.0, "dropout": null,
            "checkpointing": false, "bf16": false, "seed": 42,
        });
        let settings: Settings = given::over(self, defaults)?;
        settings.check()?;
        Ok(settings)
    }
}

impl Settings {
    fn check(&self) -> Result<()> {
        let epochs = self.epochs;
        ensure!(epochs.is_finite() && epochs > 0.0, "--epochs: it is {epochs}, expected more than 0");
        ensure!(self.batch > 0, "--batch: it is 0, expected 1 at least");
        ensure!(self.accumulate > 0, "--accumulate: it is 0, expected 1 at least");
        ensure!(self.patience != Some(0), "--patience: it is 0, expected 1 at least");
        let decay = self.layer_decay;
        ensure!(
            decay > 0.0 && decay <= 1.0,
            "--layer-decay: it is {decay}, expected more than 0 and at most 1"
        );
        self.frozen()?;
        self.schedule().map(drop)
    }

    /// How many layers do not learn; with 0 it is the embeddings alone.
    fn frozen(&self) -> Result<Option<usize>> {
        match self.freeze.as_deref() {
            None => Ok(None),
            Some("embeddings") => Ok(Some(0)),
            Some(number) => {
                let layers = number.parse().ok();
                let problem =
                    || format!("--freeze: it is {number:?}, expected embeddings or a number of layers");
                layers.map(Some).with_context(problem)
            }
        }
    }

    pub(crate) fn schedule(&self) -> Result<Schedule> {
        let (warmup, decay) = (warmup(self.warmup), self.decay.into());
        let options = ScheduleOptions { peak: self.lr, warmup, decay, end: 0.0, form: Form::HuggingFace };
        Ok(Schedule::new(options)?)
    }

    pub(crate) fn optimizer(&self) -> OptimizerOptions {
        OptimizerOptions {
            weight_decay: self.weight_decay,
            clip: (self.clip > 0.0).then_some(self.clip),
            ..OptimizerOptions::default()
        }
    }

    pub(crate) fn data(&self) -> Result<FinetuneOptions> {
        Ok(FinetuneOptions {
            batch: self.batch,
            seed: self.seed,
            frozen: self.frozen()?,
            keep: if self.checkpointing { Keep::Inputs } else { Keep::Everything },
        })
    }

    /// A parameter's share of the rate: less from layer to layer downwards, none where nothing is learned.
    pub(crate) fn share(&self, layers: usize) -> Result<impl Fn(&Param) -> f32 + use<>> {
        let (frozen, decay) = (self.frozen()?, self.layer_decay);
        Ok(move |param: &Param| {
            let (below, depth) = match param.block {
                Block::Embeddings => (frozen.is_some(), layers + 1),
                Block::Layer(layer) => (frozen.is_some_and(|blocks| layer < blocks), layers - layer),
                _ => (false, 0),
            };
            if below { 0.0 } else { decay.powi(depth as i32) }
        })
    }

    /// Makes a configuration this run's.
    pub(crate) fn apply(&self, config: &mut Config) {
        if let Some(dropout) = self.dropout {
            config.hidden_dropout_prob = dropout;
            config.attention_probs_dropout_prob = dropout;
            config.classifier_dropout = None;
        }
    }
}
