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
    head: f32,
    seed: u64,
}

/// The stream of a task's head, beyond those of any number of layers.
const HEAD_STREAM: usize = 1 << 20;

impl DropoutPlan {
    /// Nothing is dropped.
    pub const OFF: Self = Self { hidden: 0.0, attention: 0.0, head: 0.0, seed: 0 };

    /// The rates of `config`; take another seed for every step.
    pub fn new(config: &Config, seed: u64) -> Self {
        Self {
            hidden: config.hidden_dropout_prob as f32,
            attention: config.attention_probs_dropout_prob as f32,
            head: config.classifier_dropout.unwrap_or(config.hidden_dropout_prob) as f32,
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

    /// Before a task's head.
    pub(crate) fn head(&self) -> Dropout {
        self.stream(self.head, HEAD_STREAM)
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
    /// The embeddings and so many blocks do not learn: backward ends there.
    frozen: Option<usize>,
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
    /// The outputs of the blocks in turn: one is read while the other is written. Backward makes them again.
    outputs: [Vec<f32>; 2],
    /// What lies between a block's attention and its feed-forward layer.
    middle: Vec<f32>,
    attention: attention::Scratch,
    feed_forward: feed_forward::Scratch,
}

/// What is the same for all blocks of a pass.
#[derive(Clone, Copy)]
struct Pass<'b> {
    offsets: &'b [usize],
    dropout: DropoutPlan,
    layer: usize,
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
            frozen: None,
        }
    }

    /// The embeddings and the first `blocks` blocks learn nothing from now on.
    pub(crate) fn freeze(&mut self, blocks: usize) {
        self.frozen = Some(blocks);
    }

    /// Width of a token's vector.
    pub(crate) fn hidden(&self) -> usize {
        self.hidden
    }

    /// The encoder up to this layer.
    pub(crate) fn first(&self, layers: usize) -> Self {
        Self {
            blocks: self.blocks[..layers].to_vec(),
            embeddings: self.embeddings.clone(),
            hidden: self.hidden,
            frozen: self.frozen,
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
        let Activations { embeddings, blocks, inputs, outputs, middle, feed_forward, .. } = activations;
        self.embeddings.forward(numbers, batch, dropout.embeddings(), embeddings);
        if let Some(inspection) = inspection.as_deref_mut() {
            inspection.attentions.clear();
            inspection.hidden_states.clear();
            inspection.hidden_states.push(embeddings.y(length).to_vec());
        }
        let (middle, states) = (fit(middle, length), blocks.len());
        for (layer, block) in self.blocks.iter().enumerate() {
            let (x, y) = input_and_output(embeddings, outputs, layer, length);
            if keep == Keep::Inputs {
                fit(&mut inputs[layer], length).copy_from_slice(x);
            }
            let mut weights = inspection.is_some().then(Vec::new);
            let pass = Pass { offsets: &batch.offsets, dropout, layer };
            block.forward(
                numbers,
                pass,
                x,
                &mut blocks[layer % states],
                middle,
                feed_forward,
                y,
                weights.as_mut(),
            );
            if let Some(inspection) = inspection.as_deref_mut() {
                inspection.hidden_states.push(y.to_vec());
                inspection.attentions.extend(weights);
            }
        }
        match self.blocks.len() {
            0 => embeddings.y(length),
            layers => &outputs[(layers - 1) % 2][..length],
        }
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
        for (layer, block) in self.blocks.iter().enumerate().skip(self.frozen.unwrap_or(0)).rev() {
            let pass = Pass { offsets: &batch.offsets, dropout, layer };
            self.restore(values, pass, keep, d.len(), activations);
            block.backward(values, gradients, pass, keep, activations, d);
        }
        if self.frozen.is_none() {
            let (dropout, state) = (dropout.embeddings(), &activations.embeddings);
            self.embeddings.backward(values, gradients, batch, dropout, state, d);
        }
    }

    /// Makes again what backward needs of a block and forward did not keep: all but its input, or what it wrote to the
    /// buffers that all blocks share.
    fn restore(
        &self,
        values: &[f32],
        pass: Pass<'_>,
        keep: Keep,
        length: usize,
        activations: &mut Activations,
    ) {
        let Activations { blocks, inputs, outputs, middle, feed_forward, .. } = activations;
        let (block, layer) = (&self.blocks[pass.layer], pass.layer);
        let (middle, output) = (fit(middle, length), fit(&mut outputs[0], length));
        if keep == Keep::Inputs {
            let (x, state) = (&inputs[layer][..length], &mut blocks[0]);
            return block.forward(values, pass, x, state, middle, feed_forward, output, None);
        }
        block.attention.output_again(values, &mut blocks[layer].attention, middle);
        if let Some(before) = layer.checked_sub(1) {
            let (layer, state) = (&self.blocks[before].feed_forward, &mut blocks[before].feed_forward);
            layer.output_again(values, state, output);
        }
    }
}

impl Block {
    #[allow(clippy::too_many_arguments)] // the pass's context, spelled out
    fn forward<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        pass: Pass<'_>,
        x: &[f32],
        state: &mut BlockState,
        middle: &mut [f32],
        scratch: &mut feed_forward::Scratch,
        y: &mut [f32],
        weights: Option<&mut Vec<f32>>,
    ) {
        let dropouts = pass.dropout.attention(pass.layer);
        self.attention.forward(numbers, x, pass.offsets, dropouts, &mut state.attention, middle, weights);
        let dropout = pass.dropout.feed_forward(pass.layer);
        self.feed_forward.forward(numbers, middle, dropout, &mut state.feed_forward, scratch, y);
    }

    /// `d`: dy [N, H] becomes dx; what forward did not keep was restored.
    fn backward(
        &self,
        values: &[f32],
        gradients: &mut [f32],
        pass: Pass<'_>,
        keep: Keep,
        activations: &mut Activations,
        d: &mut [f32],
    ) {
        let Activations { embeddings, blocks, inputs, outputs, middle, attention, feed_forward } =
            activations;
        let (x, state) = match (keep, pass.layer) {
            (Keep::Inputs, layer) => (&inputs[layer][..d.len()], &blocks[0]),
            (_, 0) => (embeddings.y(d.len()), &blocks[0]),
            (_, layer) => (&outputs[0][..d.len()], &blocks[layer]),
        };
        let (middle, dropout) = (&middle[..d.len()], pass.dropout.feed_forward(pass.layer));
        self.feed_forward.backward(values, gradients, middle, dropout, &state.feed_forward, d, feed_forward);
        let dropouts = pass.dropout.attention(pass.layer);
        self.attention.backward(values, gradients, x, pass.offsets, dropouts, &state.attention, d, attention);
    }
}

impl Activations {
    /// Without a backward pass, or where it computes all again, one state serves all blocks.
    fn prepare(&mut self, layers: usize, keep: Keep) {
        let states = if keep == Keep::Everything { layers } else { layers.min(1) };
        self.blocks.resize_with(states, BlockState::default);
        let inputs = if keep == Keep::Inputs { layers } else { 0 };
        self.inputs.resize_with(inputs, Vec::new);
    }
}

/// The input of a layer, and where its output goes.
fn input_and_output<'a>(
    embeddings: &'a embeddings::State,
    outputs: &'a mut [Vec<f32>; 2],
    layer: usize,
    length: usize,
) -> (&'a [f32], &'a mut [f32]) {
    let [even, odd] = outputs;
    let (before, after) = if layer.is_multiple_of(2) { (odd, even) } else { (even, odd) };
    let x = if layer == 0 { embeddings.y(length) } else { &before[..length] };
    (x, fit(after, length))
}
