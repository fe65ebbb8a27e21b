//! What a model that says tokens is trained with: flags over defaults, kept in the run's directory, and compared when it goes on.

use anyhow::{Context, Result, ensure};
use clap::Args;
use oxibert::model::Keep;
use oxibert::task::teaching::TeachOptions;
use oxibert::train::{Form, Limit, OptimizerOptions, Schedule, ScheduleOptions, parse_duration};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::choices::{CommonFlags, DecayChoice, warmup};
use crate::given;

/// Epochs, where neither steps nor time are given.
const EPOCHS: f64 = 10.0;
/// Steps of warm-up in the paper (section 5.3); its rate follows from them.
const PAPER_WARMUP: f64 = 4000.0;
/// Adam's constants in the paper (section 5.3).
const PAPER_ADAM: (f32, f32) = (0.98, 1e-9);

/// The flags that decide what comes out.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub(crate) struct Flags {
    /// How often the data are seen [default: 10, unless steps or a time are given]
    #[arg(long, value_name = "N", conflicts_with_all = ["steps", "time_budget"], help_heading = "Training")]
    pub(crate) epochs: Option<f64>,
    /// How many steps instead
    #[arg(long, value_name = "N", conflicts_with = "time_budget", help_heading = "Training")]
    pub(crate) steps: Option<u64>,
    /// How long instead, such as 90s, 30m, 2h
    #[arg(long, value_name = "TIME", help_heading = "Training")]
    pub(crate) time_budget: Option<String>,
    /// Tokens of a batch (of both sides together) [default: 4096]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) batch_tokens: Option<usize>,
    /// The highest learning rate [default: the paper's, 1 / sqrt(4000 * width)]
    #[arg(long, value_name = "RATE", help_heading = "Training")]
    pub(crate) lr: Option<f64>,
    /// The share of the run, or from 1 on the number of steps, until that rate is reached [default: 0.1]
    #[arg(long, value_name = "SHARE|STEPS", help_heading = "Training")]
    pub(crate) warmup: Option<f64>,
    /// How the rate falls afterwards [default: inverse-sqrt]
    #[arg(long, value_enum, help_heading = "Training")]
    pub(crate) decay: Option<DecayChoice>,
    /// End after so many evaluations without a better one
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) patience: Option<u32>,
    /// The share of each answer that is spread over all tokens [default: translate 0.1, lm 0]
    #[arg(long, value_name = "SHARE", help_heading = "Training")]
    pub(crate) smoothing: Option<f32>,
    /// Decoupled; biases and LayerNorms are left out [default: 0]
    #[arg(long, value_name = "DECAY", help_heading = "Training")]
    pub(crate) weight_decay: Option<f32>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) common: CommonFlags,
    /// Another seed is another order, another beginning, another dropout [default: 42]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) seed: Option<u64>,
}

/// All of them, decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    epochs: Option<f64>,
    steps: Option<u64>,
    time_budget: Option<String>,
    batch_tokens: usize,
    pub(crate) accumulate: u32,
    lr: f64,
    warmup: f64,
    decay: DecayChoice,
    pub(crate) patience: Option<u32>,
    smoothing: f32,
    pub(crate) dropout: Option<f64>,
    weight_decay: f32,
    clip: f64,
    checkpointing: bool,
    #[serde(default)]
    pub(crate) bf16: bool,
    pub(crate) seed: u64,
}

impl Flags {
    /// These flags, and defaults for the rest.
    pub(crate) fn decide(&self, width: usize, smoothing: f32) -> Result<Settings> {
        let limited = self.steps.is_some() || self.time_budget.is_some();
        let defaults = json!({
            "epochs": if limited { None } else { Some(EPOCHS) }, "steps": null, "time_budget": null,
            "batch_tokens": 4096, "accumulate": 1, "lr": (PAPER_WARMUP * width as f64).powf(-0.5), "warmup": 0.1,
            "decay": "inverse-sqrt", "patience": null, "smoothing": smoothing, "dropout": null, "weight_decay": 0.0,
            "clip": 1.0, "checkpointing": false, "bf16": false, "seed": 42,
        });
        let settings: Settings = given::over(self, defaults)?;
        settings.check()?;
        Ok(settings)
    }
}

impl Settings {
    fn check(&self) -> Result<()> {
        if let Some(epochs) = self.epochs {
            ensure!(epochs.is_finite() && epochs > 0.0, "--epochs: it is {epochs}, expected more than 0");
        }
        ensure!(self.steps != Some(0), "--steps: it is 0, expected 1 at least");
        ensure!(self.batch_tokens > 0, "--batch-tokens: it is 0, expected 1 at least");
        ensure!(self.accumulate > 0, "--accumulate: it is 0, expected 1 at least");
        ensure!(self.patience != Some(0), "--patience: it is 0, expected 1 at least");
        self.limit(1)?;
        self.schedule().map(drop)
    }

    /// When the run is over; an epoch has so many tokens.
    pub(crate) fn limit(&self, tokens: u64) -> Result<Limit> {
        if let Some(time) = &self.time_budget {
            return Ok(Limit::Seconds(parse_duration(time).context("--time-budget")?.as_secs_f64()));
        }
        // A batch has no more than all examples.
        let of_step = tokens.min(self.batch_tokens as u64) as f64 * f64::from(self.accumulate);
        let epochs = self.epochs.unwrap_or(EPOCHS) * tokens as f64 / of_step;
        Ok(Limit::Steps(self.steps.unwrap_or(epochs.ceil().max(1.0) as u64)))
    }

    pub(crate) fn schedule(&self) -> Result<Schedule> {
        let (warmup, decay) = (warmup(self.warmup), self.decay.into());
        let options = ScheduleOptions { peak: self.lr, warmup, decay, end: 0.0, form: Form::HuggingFace };
        Ok(Schedule::new(options)?)
    }

    pub(crate) fn optimizer(&self) -> OptimizerOptions {
        let (beta2, eps) = PAPER_ADAM;
        OptimizerOptions {
            beta2,
            eps,
            weight_decay: self.weight_decay,
            clip: (self.clip > 0.0).then_some(self.clip),
            ..OptimizerOptions::default()
        }
    }

    pub(crate) fn data(&self) -> TeachOptions {
        let keep = if self.checkpointing { Keep::Inputs } else { Keep::Everything };
        TeachOptions { tokens: self.batch_tokens, smoothing: self.smoothing, seed: self.seed, keep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_papers() {
        let settings = Flags::default().decide(512, 0.1).unwrap();
        let paper = Schedule::transformer(512, 4000).unwrap().options().peak;
        assert!((settings.schedule().unwrap().options().peak - paper).abs() < 1e-12);
        assert_eq!((settings.smoothing, settings.optimizer().beta2), (0.1, 0.98));
        // Ten epochs of 40960 tokens in batches of 4096.
        assert_eq!(settings.limit(40_960).unwrap(), Limit::Steps(100));
    }

    #[test]
    fn flags_go_over_defaults_and_bad_ones_are_named() {
        let flags = Flags { time_budget: Some("90s".to_owned()), seed: Some(7), ..Flags::default() };
        let settings = flags.decide(128, 0.1).unwrap();
        assert_eq!(
            (settings.limit(1).unwrap(), settings.seed, settings.epochs),
            (Limit::Seconds(90.0), 7, None)
        );
        let refused = |flags: Flags| format!("{:#}", flags.decide(128, 0.1).unwrap_err());
        let bad_time = Flags { time_budget: Some("soon".to_owned()), ..Flags::default() };
        assert!(refused(bad_time).contains("--time-budget"));
        assert!(refused(Flags { steps: Some(0), ..Flags::default() }).contains("--steps"));
        assert!(refused(Flags { epochs: Some(0.0), ..Flags::default() }).contains("--epochs"));
        assert!(refused(Flags { lr: Some(-1.0), ..Flags::default() }).contains("lr"));
    }
}
