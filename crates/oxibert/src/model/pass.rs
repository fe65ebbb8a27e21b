//! What a pass through a model is told and asked: which numbers are dropped, what is kept, what is wanted beside the output.

use oxibert_kernels::Dropout;

use super::Config;
use crate::nn::sub_layer::Dropouts;

/// The dropouts of one step: which numbers are dropped follows from the seed alone.
#[derive(Debug, Clone, Copy)]
pub struct DropoutPlan {
    rates: Rates,
    seed: u64,
}

/// How much is dropped where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    /// Of the embeddings' output.
    pub(crate) embeddings: f64,
    /// Of what every sub-layer adds to its residual.
    pub(crate) hidden: f64,
    /// Of the weights of attention.
    pub(crate) attention: f64,
    /// Of what a task's head reads.
    pub(crate) head: f64,
}

/// The stream of a task's head, beyond those of any number of layers.
const HEAD_STREAM: usize = 1 << 20;

impl DropoutPlan {
    /// Nothing is dropped.
    pub const OFF: Self =
        Self { rates: Rates { embeddings: 0.0, hidden: 0.0, attention: 0.0, head: 0.0 }, seed: 0 };

    /// The rates of `config`; take another seed for every step.
    pub fn new(config: &Config, seed: u64) -> Self {
        let rates = Rates {
            embeddings: config.hidden_dropout_prob,
            hidden: config.hidden_dropout_prob,
            attention: config.attention_probs_dropout_prob,
            head: config.classifier_dropout.unwrap_or(config.hidden_dropout_prob),
        };
        Self::with_rates(rates, seed)
    }

    pub(crate) fn with_rates(rates: Rates, seed: u64) -> Self {
        Self { rates, seed }
    }

    /// Every place that drops has a stream of its own.
    fn stream(&self, rate: f64, stream: usize) -> Dropout {
        if rate == 0.0 { Dropout::OFF } else { Dropout::new(rate as f32, self.seed, stream as u64) }
    }

    pub(crate) fn embeddings(&self, stream: usize) -> Dropout {
        self.stream(self.rates.embeddings, stream)
    }

    /// Of a sub-layer that is attention: two streams.
    pub(crate) fn attention(&self, stream: usize) -> Dropouts {
        Dropouts {
            weights: self.stream(self.rates.attention, stream),
            output: self.stream(self.rates.hidden, stream + 1),
        }
    }

    /// Of a sub-layer that is none: one stream.
    pub(crate) fn feed_forward(&self, stream: usize) -> Dropouts {
        Dropouts { weights: Dropout::OFF, output: self.stream(self.rates.hidden, stream) }
    }

    /// Before a task's head.
    pub(crate) fn head(&self) -> Dropout {
        self.stream(self.rates.head, HEAD_STREAM)
    }
}

/// What callers may ask for beside the last layer's output.
#[derive(Debug, Default)]
pub struct Inspection {
    /// The embeddings' output and each layer's, `[N, H]` each.
    pub hidden_states: Vec<Vec<f32>>,
    /// Each layer's attention weights, per sequence `[A, n, n]`, one sequence after the other.
    pub attentions: Vec<Vec<f32>>,
    /// Each decoder layer's weights of attention over the encoder's output, per sequence `[A, n, source's n]`.
    pub cross_attentions: Vec<Vec<f32>>,
}

/// How much of a forward pass is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nothing: there will be no backward.
    Nothing,
    /// Every layer's activations.
    Everything,
    /// Every layer's input; backward computes the rest again (gradient checkpointing).
    Inputs,
}

/// How a training step of a model that says tokens is done.
#[derive(Debug, Clone, Copy)]
pub struct Training {
    /// What is dropped.
    pub dropout: DropoutPlan,
    /// What the forward pass keeps for backward.
    pub keep: Keep,
    /// The share of the target that is spread over all tokens; 0.1 in the Transformer's paper.
    pub smoothing: f32,
    /// The gradient is this many times that of the batch's mean loss: less than 1 where the batch is a part of a larger one.
    pub share: f64,
}
