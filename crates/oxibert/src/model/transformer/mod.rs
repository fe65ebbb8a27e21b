//! The Transformer of "Attention is all you need": an encoder that reads the source, a decoder that says the target.
//!
//! ```text
//! source ids -> embeddings * sqrt(H) + sinusoids -> encoder blocks ----.
//! target ids, shifted right -> the same tables   -> decoder blocks <---'-> embeddings^T -> logits of the next tokens
//! ```
//!
//! Checkpoints are Hugging Face's MarianMTModel, to the names and to the order of the sinusoids.

mod beam;
mod checkpoint;
mod config;
pub mod names;
mod search;
#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, save};
pub use config::{Config, PRESETS};
pub(crate) use search::search;
pub use search::{DecodeOptions, Hypothesis};

use names::{ATTENTION_OUTPUT, CROSS_ATTENTION, CROSS_NORM, FEED_FORWARD, FEED_FORWARD_NORM, PROJECTIONS};
use names::{LOGITS_BIAS, SELF_ATTENTION, SELF_NORM, Side};

use super::decoding::{Decoding, Next};
use super::embeddings::{Embeddings, PositionTable};
use super::output::{Output, TokenLoss};
use super::pass::{DropoutPlan, Inspection, Keep, Training};
use super::positions::sinusoid_halves;
use super::tower::{Activations, Pass, Tower, arrange};
use crate::Result;
use crate::data::Batch;
use crate::nn::attention::{Attention, Memory};
use crate::nn::feed_forward::FeedForward;
use crate::nn::sub_layer::Function;
use crate::nn::{Gradients, Layout, Linear, NormPlace, Numbers, Params, fit};

/// The decoder's dropout streams begin here: beyond those of any encoder.
const DECODER_STREAM: usize = 1 << 16;

/// Sources with their targets, without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairBatch {
    /// What is read.
    pub source: Batch,
    /// What the decoder is given: the targets without their last tokens.
    pub target: Batch,
    /// What it shall say at each of them: the targets without their first tokens.
    pub labels: Vec<u32>,
}

impl Default for PairBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl PairBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self { source: Batch::new(), target: Batch::new(), labels: Vec::new() }
    }

    /// Appends a pair; the target is whole, from its start token to its end token.
    ///
    /// # Panics
    /// If the target has no token.
    pub fn push(&mut self, source: &[u32], target: &[u32]) {
        let (_, given) = target.split_last().expect("a target has a start and an end");
        self.source.push_ids(source);
        self.target.push_ids(given);
        self.labels.extend_from_slice(&target[1..]);
    }

    /// Removes all pairs and keeps the memory.
    pub fn clear(&mut self) {
        self.source.clear();
        self.target.clear();
        self.labels.clear();
    }

    /// The tokens of both sides.
    pub fn tokens(&self) -> usize {
        self.source.tokens() + self.target.tokens()
    }
}

/// The memory of a step: it grows to the largest batch and then stays.
#[derive(Debug, Default)]
pub struct Work {
    encoder: Activations,
    decoder: Activations,
    logits: Vec<f32>,
    dhidden: Vec<f32>,
    dmemory: Vec<f32>,
    decoding: Decoding,
}

/// Encoder, decoder and output.
#[derive(Debug, Clone)]
pub struct Transformer {
    config: Config,
    layout: Layout,
    encoder: Tower,
    decoder: Tower,
    output: Output,
}

impl Transformer {
    /// The model of this shape.
    pub fn new(config: &Config) -> Self {
        Self::with_bias(config, true)
    }

    /// With or without Marian's constant beside the logits, which not every file holds.
    pub(crate) fn with_bias(config: &Config, bias: bool) -> Self {
        let layout = Layout::new(names::parameters(config, bias));
        let decoder = Linear {
            weight: layout.place(names::output(config), 1),
            bias: bias.then(|| layout.place(LOGITS_BIAS, 1)),
            inputs: config.d_model,
            outputs: config.decoder_vocab_size,
        };
        Self {
            encoder: tower(&layout, config, Side::Encoder),
            decoder: tower(&layout, config, Side::Decoder),
            output: Output { decoder, bias_learns: false },
            config: config.clone(),
            layout,
        }
    }

    /// Its shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The layout of its parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// New parameters: matrices and tables truncated normal, biases 0, LayerNorms 1 and 0, the rows of `[PAD]` 0.
    pub fn initial(&self, seed: u64) -> Params {
        let pad = [Side::Encoder, Side::Decoder]
            .map(|side| (side.embeddings(&self.config), self.config.pad_token_id));
        Params::drawn(self.layout.clone(), |_| self.config.init_std, &pad, seed)
    }

    /// The dropouts of a step; take another seed for every step.
    pub fn dropout(&self, seed: u64) -> DropoutPlan {
        DropoutPlan::with_rates(self.config.rates(), seed)
    }

    /// Refuses a batch that the model cannot take.
    pub fn check(&self, batch: &PairBatch) -> Result<()> {
        self.config.check_batch(&batch.source, self.config.vocab_size)?;
        self.config.check_batch(&batch.target, self.config.decoder_vocab_size)
    }

    /// The logits of every next token `[N, V]`, with the targets given; and what else `inspection` asks of the decoder.
    ///
    /// The batch must have passed [`Transformer::check`].
    pub fn logits<'w>(
        &self,
        values: &[f32],
        batch: &PairBatch,
        work: &'w mut Work,
        inspection: Option<&mut Inspection>,
    ) -> &'w mut [f32] {
        self.logits_of(values, batch, work, inspection)
    }

    pub(crate) fn logits_of<'w, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &PairBatch,
        work: &'w mut Work,
        inspection: Option<&mut Inspection>,
    ) -> &'w mut [f32] {
        let Work { encoder, decoder, logits, .. } = work;
        let hidden =
            self.hidden(numbers, batch, DropoutPlan::OFF, Keep::Nothing, [encoder, decoder], inspection);
        self.output.logits(numbers, hidden, logits)
    }

    /// The loss of a batch; nothing is dropped and no gradient computed.
    pub fn evaluate(&self, values: &[f32], batch: &PairBatch, smoothing: f32, work: &mut Work) -> TokenLoss {
        let training = Training { dropout: DropoutPlan::OFF, keep: Keep::Nothing, smoothing, share: 1.0 };
        self.loss(values, None, batch, training, work)
    }

    /// Adds the gradient of the batch's mean loss, times [`Training::share`], to `gradients`, and tells the loss.
    pub fn gradients(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        batch: &PairBatch,
        training: Training,
        work: &mut Work,
    ) -> TokenLoss {
        let loss = self.loss(values, Some(gradients), batch, training, work);
        let Work { encoder, decoder, dhidden, dmemory, .. } = work;
        let Training { dropout, keep, .. } = training;
        let (n, m) = (batch.target.tokens(), batch.source.tokens());
        let (dhidden, dmemory) =
            (fit(dhidden, n * self.config.d_model), fit(dmemory, m * self.config.d_model));
        dmemory.fill(0.0);
        let memory = self.encoder.output(encoder, dmemory.len());
        let memory = Some(Memory { hidden: memory, offsets: &batch.source.offsets });
        let pass = Pass { batch: &batch.target, memory, dropout, keep };
        self.decoder.backward(values, gradients, pass, decoder, dhidden, Some(dmemory));
        let pass = Pass::over(&batch.source, dropout, keep);
        self.encoder.backward(values, gradients, pass, encoder, dmemory, None);
        loss
    }

    /// Runs to the loss; with `gradients`, the output begins the backward pass.
    fn loss(
        &self,
        values: &[f32],
        gradients: Option<&mut Gradients>,
        batch: &PairBatch,
        training: Training,
        work: &mut Work,
    ) -> TokenLoss {
        let Work { encoder, decoder, logits, dhidden, .. } = work;
        let Training { dropout, keep, smoothing, share } = training;
        let hidden = self.hidden(values, batch, dropout, keep, [encoder, decoder], None);
        let dhidden = fit(dhidden, hidden.len());
        self.output.loss(values, gradients, hidden, &batch.labels, (smoothing, share), logits, dhidden).into()
    }

    /// The decoder's last output [N, H].
    fn hidden<'a, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &PairBatch,
        dropout: DropoutPlan,
        keep: Keep,
        [encoder, decoder]: [&'a mut Activations; 2],
        inspection: Option<&mut Inspection>,
    ) -> &'a [f32] {
        let memory = self.encoder.forward(numbers, Pass::over(&batch.source, dropout, keep), encoder, None);
        let memory = Some(Memory { hidden: memory, offsets: &batch.source.offsets });
        let pass = Pass { batch: &batch.target, memory, dropout, keep };
        self.decoder.forward(numbers, pass, decoder, inspection)
    }

    /// Reads the sources, and is ready to say the targets.
    pub(crate) fn begin<N: Numbers + ?Sized>(&self, numbers: &N, source: &Batch, work: &mut Work) {
        let pass = Pass::over(source, DropoutPlan::OFF, Keep::Nothing);
        let memory = self.encoder.forward(numbers, pass, &mut work.encoder, None);
        work.decoding.begin(&self.decoder, numbers, memory, &source.offsets);
    }

    /// The logits behind each of the tokens that come next, [R, V].
    pub(crate) fn step<'w, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        next: &[Next],
        work: &'w mut Work,
    ) -> &'w mut [f32] {
        let Work { decoder, logits, decoding, .. } = work;
        let hidden = decoding.step(&self.decoder, numbers, next, decoder);
        let logits = fit(logits, next.len() * self.output.decoder.outputs);
        // Every step uses the whole matrix, so that it pays to have it packed.
        numbers.linear(&self.output.decoder, hidden, logits);
        logits
    }
}

fn tower(layout: &Layout, config: &Config, side: Side) -> Tower {
    let words = layout.place(side.embeddings(config), 1);
    let scale = if config.scale_embedding { (config.d_model as f32).sqrt() } else { 1.0 };
    let positions = PositionTable::Fixed(sinusoid_halves(config.max_position_embeddings, config.d_model));
    let norm = |name: &str| NormPlace::new(layout, name, config::LAYER_NORM_EPS);
    let parts = (0..side.layers(config)).flat_map(|layer| block(layout, config, side, layer)).collect();
    let last = config.normalize_before.then(|| norm(&side.last_norm()));
    let (entry, layers) = arrange(parts, last);
    Tower {
        embeddings: Embeddings::plain(words, scale, positions, config.d_model),
        entry,
        layers,
        per_block: if side == Side::Decoder { 3 } else { 2 },
        hidden: config.d_model,
        first_stream: if side == Side::Decoder { DECODER_STREAM } else { 0 },
        frozen: None,
    }
}

/// The functions of a block, each with the LayerNorm of its own name.
fn block(layout: &Layout, config: &Config, side: Side, layer: usize) -> Vec<(Function, NormPlace)> {
    let at = |part: &str| side.at(layer, part);
    let norm = |part: &str| NormPlace::new(layout, &at(part), config::LAYER_NORM_EPS);
    let of = |name: &str, part: &str| at(&format!("{name}.{part}"));
    let (heads, causal) = match side {
        Side::Encoder => (config.encoder_attention_heads, false),
        Side::Decoder => (config.decoder_attention_heads, true),
    };
    let output = |name: &str| Linear::new(layout, &of(name, ATTENTION_OUTPUT));
    let qkv = Linear::fused(layout, &of(SELF_ATTENTION, PROJECTIONS[0]), 3);
    let attention = Attention::own(qkv, output(SELF_ATTENTION), heads, causal);
    let mut parts = vec![(Function::Attention(attention), norm(SELF_NORM))];
    if side == Side::Decoder {
        let queries = Linear::new(layout, &of(CROSS_ATTENTION, PROJECTIONS[0]));
        let keys_values = Linear::fused(layout, &of(CROSS_ATTENTION, PROJECTIONS[1]), 2);
        let attention = Attention::over_memory(queries, keys_values, output(CROSS_ATTENTION), heads);
        parts.push((Function::Attention(attention), norm(CROSS_NORM)));
    }
    let [inner, outer] = FEED_FORWARD.map(|part| Linear::new(layout, &at(part)));
    let feed_forward = FeedForward::new(inner, outer, config.activation_function.into());
    parts.push((Function::FeedForward(feed_forward), norm(FEED_FORWARD_NORM)));
    parts
}
