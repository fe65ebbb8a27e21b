//! What a run is trained with: flags over defaults, kept in the run's directory, and compared when it goes on.

use anyhow::{Result, bail, ensure};
use oxibert::data::pretrain::{BatchSize, ExampleOptions, Objective};
use oxibert::model::{Config, Keep};
use oxibert::task::pretrain::{Phase, PretrainOptions};
use oxibert::train::{
    Algorithm, Form, Limit, OptimizerOptions, Schedule, ScheduleOptions, Warmup, parse_duration,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::flags::{Flags, ObjectiveChoice, OptimizerChoice, Variant};
use crate::choices::{DecayChoice, warmup};
use crate::given;

/// Steps, where neither steps nor time are given.
const STEPS: u64 = 10_000;
/// The learning rate of continued pretraining.
const CONTINUED_RATE: f64 = 2e-5;

/// All of them, decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) steps: Option<u64>,
    pub(crate) time_budget: Option<String>,
    batch: Option<usize>,
    batch_tokens: Option<usize>,
    pub(crate) accumulate: u32,
    lr: f64,
    warmup: f64,
    decay: DecayChoice,
    optimizer: OptimizerChoice,
    variant: Variant,
    beta2: f32,
    weight_decay: f32,
    clip: f64,
    pub(crate) dropout: Option<f64>,
    checkpointing: bool,
    #[serde(default)]
    pub(crate) bf16: bool,
    objective: ObjectiveChoice,
    length: usize,
    long_length: Option<usize>,
    long_share: f64,
    mask_rate: f64,
    max_predictions: Option<usize>,
    short_probability: f64,
    whole_word: bool,
    ngram: u32,
    #[serde(rename = "static")]
    fixed: bool,
    dupe: u64,
    held_out: f64,
    pub(crate) seed: u64,
}

impl Flags {
    /// These flags, and defaults for the rest.
    pub(crate) fn decide(&self, width: usize, continued: bool) -> Result<Settings> {
        let mut all = defaults(width, continued);
        if self.time_budget.is_some() {
            all["steps"] = Value::Null;
        }
        if self.batch_tokens.is_some() {
            all["batch"] = Value::Null;
        }
        let settings: Settings = given::over(self, all)?;
        settings.check()?;
        Ok(settings)
    }
}

fn defaults(width: usize, continued: bool) -> Value {
    let lr = match width {
        _ if continued => CONTINUED_RATE,
        0..=256 => 1e-3,
        257..=512 => 5e-4,
        _ => 1e-4,
    };
    let examples = ExampleOptions::default();
    json!({
        "steps": STEPS, "time_budget": null, "batch": 32, "batch_tokens": null, "accumulate": 1,
        "lr": lr, "warmup": 0.06, "decay": "linear", "optimizer": "adamw", "variant": "hf",
        "beta2": 0.999, "weight_decay": 0.01, "clip": 1.0, "dropout": null, "checkpointing": false, "bf16": false,
        "objective": "mlm+nsp", "length": examples.length, "long_length": null, "long_share": 0.1,
        "mask_rate": examples.mask_rate, "max_predictions": null, "short_probability": examples.short_probability,
        "whole_word": false, "ngram": examples.ngram, "static": false, "dupe": 10, "held_out": 0.01,
        "seed": examples.seed,
    })
}

impl Settings {
    fn check(&self) -> Result<()> {
        ensure!(self.steps != Some(0), "--steps: it is 0, expected 1 at least");
        ensure!(self.batch != Some(0), "--batch: it is 0, expected 1 at least");
        ensure!(self.accumulate > 0, "--accumulate: it is 0, expected 1 at least");
        for (flag, value) in [("--held-out", self.held_out), ("--long-share", self.long_share)] {
            ensure!((0.0..1.0).contains(&value), "{flag}: it is {value}, expected 0 or more and below 1");
        }
        if let Some(tokens) = self.batch_tokens {
            ensure!(
                tokens >= self.length,
                "--batch-tokens: {tokens} is less than one sequence of {}",
                self.length
            );
        }
        if let Some(long) = self.long_length {
            ensure!(long > self.length, "--long-length: {long} is not longer than --length {}", self.length);
        }
        self.limit()?;
        self.schedule()?;
        Ok(self.examples().check()?)
    }

    pub(crate) fn limit(&self) -> Result<Limit> {
        match (&self.time_budget, self.steps) {
            (Some(time), _) => Ok(Limit::Seconds(parse_duration(time)?.as_secs_f64())),
            (None, steps) => Ok(Limit::Steps(steps.unwrap_or(STEPS))),
        }
    }

    pub(crate) fn schedule(&self) -> Result<Schedule> {
        let (warmup, decay) = (warmup(self.warmup), self.decay.into());
        let form = match self.variant {
            Variant::Hf => Form::HuggingFace,
            Variant::Google => Form::Google,
        };
        if let (Some(_), Warmup::Steps(_)) = (&self.time_budget, warmup) {
            bail!("--warmup: with --time-budget it is a share of the time, below 1; found {}", self.warmup);
        }
        Ok(Schedule::new(ScheduleOptions { peak: self.lr, warmup, decay, form, end: 0.0 })?)
    }

    pub(crate) fn optimizer(&self) -> OptimizerOptions {
        OptimizerOptions {
            algorithm: match self.optimizer {
                OptimizerChoice::Adamw => Algorithm::AdamW,
                OptimizerChoice::Lamb => Algorithm::Lamb,
            },
            beta2: self.beta2,
            weight_decay: self.weight_decay,
            bias_correction: self.variant == Variant::Hf,
            clip: (self.clip > 0.0).then_some(self.clip),
            ..OptimizerOptions::default()
        }
    }

    fn examples(&self) -> ExampleOptions {
        ExampleOptions {
            objective: match self.objective {
                ObjectiveChoice::MlmNsp => Objective::MlmNsp,
                ObjectiveChoice::Mlm => Objective::Mlm,
                ObjectiveChoice::Sop => Objective::Sop,
            },
            length: self.length,
            mask_rate: self.mask_rate,
            max_predictions: self.max_predictions,
            short_probability: self.short_probability,
            whole_word: self.whole_word,
            ngram: self.ngram,
            static_copies: self.fixed.then_some(self.dupe),
            seed: self.seed,
        }
    }

    /// The long phase has batches of as many tokens as the first.
    fn phases(&self) -> Vec<Phase> {
        let batch = |length: usize| match self.batch_tokens {
            Some(tokens) => BatchSize::Tokens(tokens.max(length)),
            None => BatchSize::Sequences((self.batch.unwrap_or(1) * self.length / length).max(1)),
        };
        let mut phases = vec![Phase { begin: 0.0, length: self.length, batch: batch(self.length) }];
        phases.extend(self.long_length.map(|length| Phase {
            begin: 1.0 - self.long_share,
            length,
            batch: batch(length),
        }));
        phases
    }

    pub(crate) fn task(&self, evaluation_sequences: usize) -> PretrainOptions {
        PretrainOptions {
            examples: self.examples(),
            phases: self.phases(),
            held_out: self.held_out,
            evaluation_sequences,
            keep: if self.checkpointing { Keep::Inputs } else { Keep::Everything },
        }
    }

    /// Makes a configuration this run's: its heads, and what the settings change about it.
    pub(crate) fn apply(&self, config: &mut Config) -> Result<()> {
        config.architectures = vec!["BertForPreTraining".to_owned()];
        if let Some(dropout) = self.dropout {
            config.hidden_dropout_prob = dropout;
            config.attention_probs_dropout_prob = dropout;
        }
        Ok(config.check()?)
    }
}
