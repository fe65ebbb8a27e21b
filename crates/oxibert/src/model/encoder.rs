//! BERT's encoder: embeddings, then L blocks of attention and feed-forward, post-norm.

use super::Config;
use super::embeddings::Embeddings;
use super::pass::{DropoutPlan, Inspection, Keep};
use super::tower::{self, Activations, Pass, Tower};
use crate::data::Batch;
use crate::nn::attention::Attention;
use crate::nn::feed_forward::FeedForward;
use crate::nn::sub_layer::{Function, SubLayer};
use crate::nn::{Gradients, Layout, Linear, NormPlace, Numbers};

/// Embeddings and blocks.
#[derive(Debug, Clone)]
pub(crate) struct Encoder(Tower);

impl Encoder {
    pub(crate) fn new(layout: &Layout, config: &Config) -> Self {
        Self(Tower {
            embeddings: Embeddings::new(layout, config),
            entry: None,
            layers: (0..config.num_hidden_layers).flat_map(|layer| block(layout, config, layer)).collect(),
            per_block: PER_BLOCK,
            hidden: config.hidden_size,
            first_stream: 0,
            frozen: None,
        })
    }

    /// The embeddings and the first `blocks` blocks learn nothing from now on.
    pub(crate) fn freeze(&mut self, blocks: usize) {
        self.0.frozen = Some(blocks);
    }

    /// What it begins with.
    pub(crate) fn embeddings(&self) -> &Embeddings {
        &self.0.embeddings
    }

    /// How many blocks it has.
    pub(crate) fn blocks(&self) -> usize {
        self.0.blocks()
    }

    /// The first dropout stream of a block.
    pub(crate) fn stream_of_block(block: usize) -> usize {
        tower::stream(0, PER_BLOCK, block, 0)
    }

    /// Width of a token's vector.
    pub(crate) fn hidden(&self) -> usize {
        self.0.hidden
    }

    /// The encoder up to this layer.
    pub(crate) fn first(&self, layers: usize) -> Self {
        Self(self.0.first(layers))
    }

    /// Ids to the last layer's output [N, H].
    pub(crate) fn forward<'a, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        dropout: DropoutPlan,
        keep: Keep,
        activations: &'a mut Activations,
        inspection: Option<&mut Inspection>,
    ) -> &'a [f32] {
        self.0.forward(numbers, Pass::over(batch, dropout, keep), activations, inspection)
    }

    /// The output of the last forward pass.
    pub(crate) fn output<'a>(&self, batch: &Batch, activations: &'a Activations) -> &'a [f32] {
        self.0.output(activations, batch.tokens() * self.0.hidden)
    }

    /// `d`: the gradient of the last layer's output [N, H], used up.
    #[allow(clippy::too_many_arguments)] // the pass's context, spelled out
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        batch: &Batch,
        dropout: DropoutPlan,
        keep: Keep,
        activations: &mut Activations,
        d: &mut [f32],
    ) {
        self.0.backward(values, gradients, Pass::over(batch, dropout, keep), activations, d, None);
    }
}

/// Attention and feed-forward.
const PER_BLOCK: usize = 2;

/// The two sub-layers of a block.
fn block(layout: &Layout, config: &Config, layer: usize) -> [SubLayer; PER_BLOCK] {
    let at = |part: &str| name(layer, part);
    let attention = Attention::own(
        Linear::fused(layout, &at("attention.self.query"), 3),
        Linear::new(layout, &at("attention.output.dense")),
        config.num_attention_heads,
        false,
    );
    sub_layers(layout, config, layer, attention)
}

/// The same block for a part of the rows: keys and values come from all, which are its memory.
pub(super) fn block_over_memory(layout: &Layout, config: &Config, layer: usize) -> [SubLayer; PER_BLOCK] {
    let at = |part: &str| name(layer, part);
    let attention = Attention::over_memory(
        Linear::new(layout, &at("attention.self.query")),
        Linear::fused(layout, &at("attention.self.key"), 2),
        Linear::new(layout, &at("attention.output.dense")),
        config.num_attention_heads,
    );
    sub_layers(layout, config, layer, attention)
}

/// Hugging Face's name of a part.
fn name(layer: usize, part: &str) -> String {
    format!("bert.encoder.layer.{layer}.{part}")
}

fn sub_layers(layout: &Layout, config: &Config, layer: usize, attention: Attention) -> [SubLayer; PER_BLOCK] {
    let at = |part: &str| name(layer, part);
    let norm = |part: &str| NormPlace::new(layout, &at(part), config.layer_norm_eps);
    let feed_forward = FeedForward::new(
        Linear::new(layout, &at("intermediate.dense")),
        Linear::new(layout, &at("output.dense")),
        config.hidden_act.into(),
    );
    [
        SubLayer::new(Function::Attention(attention), norm("attention.output.LayerNorm")),
        SubLayer::new(Function::FeedForward(feed_forward), norm("output.LayerNorm")),
    ]
}
