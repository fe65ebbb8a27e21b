//! The flags that decide what comes out of a run. What is not given is not written down, so that a run that goes on can
//! be told what was asked for from what was taken for granted.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::choices::{CommonFlags, DecayChoice};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ObjectiveChoice {
    /// Masked tokens, and whether the second text follows the first (BERT)
    #[value(name = "mlm+nsp")]
    #[serde(rename = "mlm+nsp")]
    MlmNsp,
    /// Masked tokens alone (RoBERTa)
    Mlm,
    /// Masked tokens, and whether two neighbouring texts are in order (ALBERT)
    Sop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OptimizerChoice {
    /// Adam with decoupled weight decay
    Adamw,
    /// For very large batches: every matrix has a rate of its own
    Lamb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Variant {
    /// Adam with bias correction; the rate decays over the steps behind the warm-up
    Hf,
    /// No bias correction; the rate decays from step 0 on
    Google,
}

/// The flags that decide what comes out.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub(crate) struct Flags {
    /// How many steps [default: 10000, unless a time is given]
    #[arg(long, value_name = "N", conflicts_with = "time_budget", help_heading = "Training")]
    pub(crate) steps: Option<u64>,
    /// How long, such as 90s, 30m, 2h; the learning rate decays to the end of it
    #[arg(long, value_name = "TIME", help_heading = "Training")]
    pub(crate) time_budget: Option<String>,
    /// Sequences of a batch [default: 32]
    #[arg(long, value_name = "N", conflicts_with = "batch_tokens", help_heading = "Training")]
    pub(crate) batch: Option<usize>,
    /// Tokens of a batch instead
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) batch_tokens: Option<usize>,
    /// The highest learning rate [default: 1e-3 up to a width of 256, 5e-4 up to 512, 1e-4 above; 2e-5 with --model]
    #[arg(long, value_name = "RATE", help_heading = "Training")]
    pub(crate) lr: Option<f64>,
    /// The share of the run, or from 1 on the number of steps, until that rate is reached [default: 0.06]
    #[arg(long, value_name = "SHARE|STEPS", help_heading = "Training")]
    pub(crate) warmup: Option<f64>,
    /// How the rate falls afterwards [default: linear]
    #[arg(long, value_enum, help_heading = "Training")]
    pub(crate) decay: Option<DecayChoice>,
    /// [default: adamw]
    #[arg(long, value_enum, help_heading = "Training")]
    pub(crate) optimizer: Option<OptimizerChoice>,
    /// Whose details of optimizer and schedule [default: hf]
    #[arg(long, value_enum, help_heading = "Training")]
    pub(crate) variant: Option<Variant>,
    /// Adam's decay of the mean of squares [default: 0.999]
    #[arg(long, value_name = "BETA", help_heading = "Training")]
    pub(crate) beta2: Option<f32>,
    /// Decoupled; biases and LayerNorms are left out [default: 0.01]
    #[arg(long, value_name = "DECAY", help_heading = "Training")]
    pub(crate) weight_decay: Option<f32>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) common: CommonFlags,
    /// What is predicted [default: mlm+nsp]
    #[arg(long, value_enum, help_heading = "Examples")]
    pub(crate) objective: Option<ObjectiveChoice>,
    /// Tokens of a sequence at most [default: 128]
    #[arg(long, value_name = "N", help_heading = "Examples")]
    pub(crate) length: Option<usize>,
    /// Tokens of a sequence in the last part of the run, such as 512; batches then have fewer sequences
    #[arg(long, value_name = "N", help_heading = "Examples")]
    pub(crate) long_length: Option<usize>,
    /// How large that part is [default: 0.1]
    #[arg(long, value_name = "SHARE", requires = "long_length", help_heading = "Examples")]
    pub(crate) long_share: Option<f64>,
    /// The share of tokens that are predicted; evaluation always takes 0.15 [default: 0.15]
    #[arg(long, value_name = "SHARE", help_heading = "Examples")]
    pub(crate) mask_rate: Option<f64>,
    /// Tokens of a sequence that are predicted, at most [default: the mask rate times the length]
    #[arg(long, value_name = "N", help_heading = "Examples")]
    pub(crate) max_predictions: Option<usize>,
    /// The share of documents that are cut into shorter sequences [default: 0.1]
    #[arg(long, value_name = "SHARE", help_heading = "Examples")]
    pub(crate) short_probability: Option<f64>,
    /// Mask all pieces of a word together; Chinese words too
    #[arg(long, help_heading = "Examples")]
    pub(crate) whole_word: bool,
    /// Mask up to so many neighbouring words together [default: 1]
    #[arg(long, value_name = "N", help_heading = "Examples")]
    pub(crate) ngram: Option<u32>,
    /// Mask once, as Google's data were made, instead of anew in every epoch
    #[arg(long = "static", help_heading = "Examples")]
    #[serde(rename = "static")]
    pub(crate) fixed: bool,
    /// How many different maskings --static makes [default: 10]
    #[arg(long, value_name = "N", requires = "fixed", help_heading = "Examples")]
    pub(crate) dupe: Option<u64>,
    /// The share of documents that are held out to measure the model [default: 0.01]
    #[arg(long, value_name = "SHARE", help_heading = "Examples")]
    pub(crate) held_out: Option<f64>,
    /// Another seed is another run [default: 42]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) seed: Option<u64>,
}
