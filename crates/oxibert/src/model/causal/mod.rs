//! The decoder alone: a model that says a text from left to right, each token from those before it (GPT).
//!
//! Its blocks are the Transformer's without attention over a source, pre-norm; checkpoints are Hugging Face's
//! GPT2LMHeadModel.

mod checkpoint;
mod config;
mod generate;
pub mod names;
#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, save};
pub use config::Config;
pub use generate::GenerateOptions;
pub(crate) use generate::generate;

use super::decoding::{Decoding, Next};
use super::embeddings::{Embeddings, PositionTable};
use super::output::{Output, TokenLoss};
use super::pass::{DropoutPlan, Inspection, Keep, Training};
use super::tower::{Activations, Pass, Tower, arrange};
use crate::Result;
use crate::data::Batch;
use crate::nn::attention::Attention;
use crate::nn::feed_forward::FeedForward;
use crate::nn::sub_layer::Function;
use crate::nn::{Gradients, Layout, Linear, NormPlace, Numbers, Params, fit};

/// Texts, without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextBatch {
    /// What the model is given: the texts without their last tokens.
    pub given: Batch,
    /// What it shall say at each of them: the texts without their first tokens.
    pub labels: Vec<u32>,
}

impl Default for TextBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl TextBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self { given: Batch::new(), labels: Vec::new() }
    }

    /// Appends a text.
    ///
    /// # Panics
    /// If it has no token.
    pub fn push(&mut self, ids: &[u32]) {
        let (_, given) = ids.split_last().expect("a text has a token");
        self.given.push_ids(given);
        self.labels.extend_from_slice(&ids[1..]);
    }

    /// Removes all texts and keeps the memory.
    pub fn clear(&mut self) {
        self.given.clear();
        self.labels.clear();
    }
}

/// The memory of a step: it grows to the largest batch and then stays.
#[derive(Debug, Default)]
pub struct Work {
    tower: Activations,
    logits: Vec<f32>,
    dhidden: Vec<f32>,
    decoding: Decoding,
}

/// The tower and the output.
#[derive(Debug, Clone)]
pub struct Causal {
    config: Config,
    layout: Layout,
    tower: Tower,
    output: Output,
}

impl Causal {
    /// The model of this shape.
    pub fn new(config: &Config) -> Self {
        let layout = Layout::new(names::parameters(config));
        let table = if config.tie_word_embeddings { names::WORD_EMBEDDINGS } else { names::OUTPUT };
        let decoder = Linear {
            weight: layout.place(table, 1),
            bias: None,
            inputs: config.n_embd,
            outputs: config.vocab_size,
        };
        let tower = tower(&layout, config);
        Self { config: config.clone(), layout, tower, output: Output { decoder, bias_learns: false } }
    }

    /// Its shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The layout of its parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// New parameters as GPT-2 begins: matrices and tables normal, those that end a sub-layer smaller by the root of their
    /// number; biases 0, LayerNorms 1 and 0.
    pub fn initial(&self, seed: u64) -> Params {
        let sub_layers = (2 * self.config.n_layer) as f64;
        let deviation = |param: &super::Param| match names::ends_a_sub_layer(&param.name) {
            true => self.config.initializer_range / sub_layers.sqrt(),
            false => self.config.initializer_range,
        };
        Params::drawn(self.layout.clone(), deviation, &[], seed)
    }

    /// The dropouts of a step; take another seed for every step.
    pub fn dropout(&self, seed: u64) -> DropoutPlan {
        DropoutPlan::with_rates(self.config.rates(), seed)
    }

    /// Refuses sequences that the model cannot take.
    pub fn check(&self, batch: &Batch) -> Result<()> {
        batch.check_ids(self.config.vocab_size)?;
        batch.check_lengths(self.config.n_positions, "cut it into shorter ones")
    }

    /// The logits of every next token `[N, V]`; and what else `inspection` asks for.
    ///
    /// The batch must have passed [`Causal::check`].
    pub fn logits<'w>(
        &self,
        values: &[f32],
        batch: &Batch,
        work: &'w mut Work,
        inspection: Option<&mut Inspection>,
    ) -> &'w mut [f32] {
        let Work { tower, logits, .. } = work;
        let pass = Pass::over(batch, DropoutPlan::OFF, Keep::Nothing);
        let hidden = self.tower.forward(values, pass, tower, inspection);
        self.output.logits(values, hidden, logits)
    }

    /// The loss of a batch; nothing is dropped and no gradient computed.
    pub fn evaluate(&self, values: &[f32], batch: &TextBatch, smoothing: f32, work: &mut Work) -> TokenLoss {
        let training = Training { dropout: DropoutPlan::OFF, keep: Keep::Nothing, smoothing, share: 1.0 };
        self.loss(values, None, batch, training, work)
    }

    /// Adds the gradient of the batch's mean loss, times [`Training::share`], to `gradients`, and tells the loss.
    pub fn gradients(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        batch: &TextBatch,
        training: Training,
        work: &mut Work,
    ) -> TokenLoss {
        let loss = self.loss(values, Some(gradients), batch, training, work);
        let Work { tower, dhidden, .. } = work;
        let dhidden = fit(dhidden, batch.given.tokens() * self.config.n_embd);
        let pass = Pass::over(&batch.given, training.dropout, training.keep);
        self.tower.backward(values, gradients, pass, tower, dhidden, None);
        loss
    }

    /// Runs to the loss; with `gradients`, the output begins the backward pass.
    fn loss(
        &self,
        values: &[f32],
        gradients: Option<&mut Gradients>,
        batch: &TextBatch,
        training: Training,
        work: &mut Work,
    ) -> TokenLoss {
        let Work { tower, logits, dhidden, .. } = work;
        let Training { dropout, keep, smoothing, share } = training;
        let hidden = self.tower.forward(values, Pass::over(&batch.given, dropout, keep), tower, None);
        let dhidden = fit(dhidden, hidden.len());
        self.output.loss(values, gradients, hidden, &batch.labels, (smoothing, share), logits, dhidden).into()
    }

    /// Ready to go on with texts.
    pub(crate) fn begin<N: Numbers + ?Sized>(&self, numbers: &N, work: &mut Work) {
        work.decoding.begin(&self.tower, numbers, &[], &[]);
    }

    /// The logits behind those of the next tokens that are `asked` for, by their numbers among them: [asked, V].
    pub(crate) fn step<'w, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        next: &[Next],
        asked: &[usize],
        work: &'w mut Work,
    ) -> &'w mut [f32] {
        let Work { tower, logits, dhidden: chosen, decoding } = work;
        let hidden = decoding.step(&self.tower, numbers, next, tower);
        let h = self.config.n_embd;
        let chosen = fit(chosen, asked.len() * h);
        for (row, &number) in chosen.chunks_exact_mut(h).zip(asked) {
            row.copy_from_slice(&hidden[number * h..][..h]);
        }
        let logits = fit(logits, asked.len() * self.config.vocab_size);
        // Every step uses the whole matrix, so that it pays to have it packed.
        numbers.linear(&self.output.decoder, chosen, logits);
        logits
    }
}

fn tower(layout: &Layout, config: &Config) -> Tower {
    let [words, positions] =
        [names::WORD_EMBEDDINGS, names::POSITION_EMBEDDINGS].map(|name| layout.place(name, 1));
    let parts = (0..config.n_layer).flat_map(|layer| block(layout, config, layer)).collect();
    let last = NormPlace::new(layout, names::LAST_NORM, config.layer_norm_epsilon);
    let (entry, layers) = arrange(parts, Some(last));
    Tower {
        embeddings: Embeddings::plain(words, 1.0, PositionTable::Learned(positions), config.n_embd),
        entry,
        layers,
        per_block: 2,
        hidden: config.n_embd,
        first_stream: 0,
        frozen: None,
    }
}

/// The functions of a block, each with the LayerNorm of its own name.
fn block(layout: &Layout, config: &Config, layer: usize) -> [(Function, NormPlace); 2] {
    let linear = |part: &str| Linear::new(layout, &names::at(layer, part));
    let norm = |part: &str| NormPlace::new(layout, &names::at(layer, part), config.layer_norm_epsilon);
    let [qkv, output] = names::ATTENTION.map(linear);
    let attention = Attention::own(qkv, output, config.n_head, true);
    let [inner, outer] = names::FEED_FORWARD.map(linear);
    let feed_forward = FeedForward::new(inner, outer, config.activation_function.into());
    [
        (Function::Attention(attention), norm(names::ATTENTION_NORM)),
        (Function::FeedForward(feed_forward), norm(names::FEED_FORWARD_NORM)),
    ]
}
