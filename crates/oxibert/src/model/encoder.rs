//! The encoder: embeddings, then L blocks of attention and feed-forward.

use oxibert_kernels::Dropout;

use super::Config;
use super::embeddings::{self, Embeddings};
use crate::data::Batch;
use crate::nn::attention::{self, SelfAttention};
use crate::nn::feed_forward::{self, FeedForward};
use crate::nn::{Layout, Numbers, fit};

/// The dropouts of one step: which numbers are dropped follows from the seed alone.
#[derive(Debug, Clone, Copy)]
pub struct DropoutPlan {
    hidden: f32,
    attention: f32,
    seed: u64,
}

impl DropoutPlan {
    /// Nothing is dropped.
    pub const OFF: Self = Self { hidden: 0.0, attention: 0.0, seed: 0 };

    /// The rates of `config`; take another seed for every step.
    pub fn new(config: &Config, seed: u64) -> Self {
        Self {
            hidden: config.hidden_dropout_prob as f32,
            attention: config.attention_probs_dropout_prob as f32,
            seed,
        }
    }

    /// Every place that drops has a stream of its own.
    fn stream(&self, rate: f32, stream: usize) -> Dropout {
        if rate == 0.0 { Dropout::OFF } else { Dropout::new(rate, self.seed, stream as u64) }
    }

    fn embeddings(&self) -> Dropout {
        self.stream(self.hidden, 0)
    }

    fn attention(&self, layer: usize) -> attention::Dropouts {
        attention::Dropouts {
            weights: self.stream(self.attention, 1 + 3 * layer),
            output: self.stream(self.hidden, 2 + 3 * layer),
        }
    }

    fn feed_forward(&self, layer: usize) -> Dropout {
        self.stream(self.hidden, 3 + 3 * layer)
    }
}

/// What callers may ask for beside the last layer's output.
#[derive(Debug, Default)]
pub struct Inspection {
    /// The embeddings' output and each layer's, `[N, H]` each.
    pub hidden_states: Vec<Vec<f32>>,
    /// Each layer's attention weights, per sequence `[A, n, n]`, one sequence after the other.
    pub attentions: Vec<Vec<f32>>,
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

/// Embeddings and blocks.
#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    embeddings: Embeddings,
    blocks: Vec<Block>,
    hidden: usize,
}

/// One block: attention, then feed-forward.
#[derive(Debug, Clone)]
struct Block {
    attention: SelfAttention,
    feed_forward: FeedForward,
}

#[derive(Debug, Default)]
struct BlockState {
    attention: attention::State,
    feed_forward: feed_forward::State,
}

/// The memory of a pass, reused from step to step.
#[derive(Debug, Default)]
pub(crate) struct Activations {
    embeddings: embeddings::State,
    blocks: Vec<BlockState>,
    /// Copies of the blocks' inputs, where only those are kept.
    inputs: Vec<Vec<f32>>,
    attention: attention::Scratch,
    feed_forward: feed_forward::Scratch,
}

impl Encoder {
    pub(crate) fn new(layout: &Layout, config: &Config) -> Self {
        let block = |layer: usize| {
            let name = format!("bert.encoder.layer.{layer}");
            let eps = config.layer_norm_eps;
            Block {
                attention: SelfAttention::new(layout, &name, config.num_attention_heads, eps),
                feed_forward: FeedForward::new(layout, &name, config.hidden_act.into(), eps),
            }
        };
        Self {
            embeddings: Embeddings::new(layout, config),
            blocks: (0..config.num_hidden_layers).map(block).collect(),
            hidden: config.hidden_size,
        }
    }

    /// The encoder up to this layer.
    pub(crate) fn first(&self, layers: usize) -> Self {
        Self {
            blocks: self.blocks[..layers].to_vec(),
            embeddings: self.embeddings.clone(),
            hidden: self.hidden,
        }
    }

    /// Ids to the last layer's output [N, H].
    pub(crate) fn forward<'a, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        dropout: DropoutPlan,
        keep: Keep,
        activations: &'a mut Activations,
        mut inspection: Option<&mut Inspection>,
    ) -> &'a [f32] {
        let length = batch.tokens() * self.hidden;
        activations.prepare(self.blocks.len(), keep);
        let Activations { embeddings, blocks, inputs, feed_forward, .. } = activations;
        self.embeddings.forward(numbers, batch, dropout.embeddings(), embeddings);
        if let Some(inspection) = inspection.as_deref_mut() {
            inspection.attentions.clear();
            inspection.hidden_states.clear();
            inspection.hidden_states.push(embeddings.y(length).to_vec());
        }
        for (layer, block) in self.blocks.iter().enumerate() {
            let (x, state) = input_and_state(embeddings, blocks, layer, length);
            if keep == Keep::Inputs {
                fit(&mut inputs[layer], length).copy_from_slice(x);
            }
            let mut weights = inspection.is_some().then(Vec::new);
            let scratch = &mut *feed_forward;
            let y = block.forward(numbers, x, batch, dropout, layer, state, scratch, weights.as_mut());
            if let Some(inspection) = inspection.as_deref_mut() {
                inspection.hidden_states.push(y.to_vec());
                inspection.attentions.extend(weights);
            }
        }
        output(embeddings, blocks, self.blocks.len(), length)
    }

    /// `d`: the gradient of the last layer's output [N, H], used up.
    #[allow(clippy::too_many_arguments)] // the pass's context, spelled out
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut [f32],
        batch: &Batch,
        dropout: DropoutPlan,
        keep: Keep,
        activations: &mut Activations,
        d: &mut [f32],
    ) {
        for (layer, block) in self.blocks.iter().enumerate().rev() {
            if keep == Keep::Inputs {
                let Activations { blocks, inputs, feed_forward, .. } = &mut *activations;
                let (x, state) = (&inputs[layer][..d.len()], &mut blocks[0]);
                block.forward(values, x, batch, dropout, layer, state, feed_forward, None);
            }
            block.backward(values, gradients, batch, dropout, layer, keep, activations, d);
        }
        self.embeddings.backward(values, gradients, batch, dropout.embeddings(), &activations.embeddings, d);
    }
}

impl Block {
    #[allow(clippy::too_many_arguments)] // the pass's context, spelled out
    fn forward<'s, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        x: &[f32],
        batch: &Batch,
        dropout: DropoutPlan,
        layer: usize,
        state: &'s mut BlockState,
        scratch: &mut feed_forward::Scratch,
        weights: Option<&mut Vec<f32>>,
    ) -> &'s [f32] {
        let dropouts = dropout.attention(layer);
        let x = self.attention.forward(numbers, x, &batch.offsets, dropouts, &mut state.attention, weights);
        self.feed_forward.forward(numbers, x, dropout.feed_forward(layer), &mut state.feed_forward, scratch)
    }

    #[allow(clippy::too_many_arguments)] // the pass's context, spelled out
    fn backward(
        &self,
        values: &[f32],
        gradients: &mut [f32],
        batch: &Batch,
        dropout: DropoutPlan,
        layer: usize,
        keep: Keep,
        activations: &mut Activations,
        d: &mut [f32],
    ) {
        let Activations { embeddings, blocks, inputs, attention, feed_forward } = activations;
        let (x, state) = match keep {
            Keep::Inputs => (&inputs[layer][..d.len()], &blocks[0]),
            _ => {
                let (x, state) = input_and_state(embeddings, blocks, layer, d.len());
                (x, &*state)
            }
        };
        let middle = state.attention.y(d.len());
        let dropped = dropout.feed_forward(layer);
        self.feed_forward.backward(values, gradients, middle, dropped, &state.feed_forward, d, feed_forward);
        let (dropouts, offsets) = (dropout.attention(layer), &batch.offsets);
        self.attention.backward(values, gradients, x, offsets, dropouts, &state.attention, d, attention);
    }
}

impl Activations {
    /// A pass without backward needs two states in turn: a block reads one and writes the other.
    fn prepare(&mut self, layers: usize, keep: Keep) {
        let states = if keep == Keep::Everything { layers } else { layers.min(2) };
        self.blocks.resize_with(states, BlockState::default);
        let inputs = if keep == Keep::Inputs { layers } else { 0 };
        self.inputs.resize_with(inputs, Vec::new);
    }
}

/// The input of a layer, and the state it writes.
fn input_and_state<'a>(
    embeddings: &'a embeddings::State,
    blocks: &'a mut [BlockState],
    layer: usize,
    length: usize,
) -> (&'a [f32], &'a mut BlockState) {
    let states = blocks.len();
    if layer == 0 {
        return (embeddings.y(length), &mut blocks[0]);
    }
    let turn = [(layer - 1) % states, layer % states];
    let [before, state] = blocks.get_disjoint_mut(turn).expect("two states in turn");
    (before.feed_forward.y(length), state)
}

fn output<'a>(
    embeddings: &'a embeddings::State,
    blocks: &'a [BlockState],
    layers: usize,
    length: usize,
) -> &'a [f32] {
    match layers {
        0 => embeddings.y(length),
        _ => blocks[(layers - 1) % blocks.len()].feed_forward.y(length),
    }
}
