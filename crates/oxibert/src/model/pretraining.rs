//! BERT as it is pretrained: the encoder with both heads, and one training step's gradients.

use super::Config;
use super::chosen::{ChosenRows, ChosenState, Step};
use super::encoder::Encoder;
use super::heads::{Mlm, MlmState, Nsp, NspState, Pooler, PoolerState};
use super::names::{Parts, parameters};
use super::pass::{DropoutPlan, Inspection, Keep};
use super::tower::Activations;
use crate::data::{Batch, Targets};
use crate::nn::{Gradients, Layout, fit};

/// The figures of a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Losses {
    /// The mean cross-entropy of the masked tokens.
    pub mlm: f64,
    /// The mean cross-entropy of next-sentence prediction.
    pub nsp: f64,
    /// Masked tokens guessed right.
    pub mlm_correct: usize,
    /// Sequences guessed right.
    pub nsp_correct: usize,
}

impl Losses {
    /// What training makes smaller.
    pub fn total(&self) -> f64 {
        self.mlm + self.nsp
    }
}

/// The memory of a step: it grows to the largest batch and then stays.
#[derive(Debug, Default)]
pub struct Work {
    activations: Activations,
    chosen: ChosenState,
    masked: Vec<u32>,
    pooler: PoolerState,
    mlm: MlmState,
    nsp: NspState,
    firsts: Vec<u32>,
    dread: Vec<f32>,
    dpooled: Vec<f32>,
}

/// The encoder with the heads of pretraining.
#[derive(Debug, Clone)]
pub struct Pretraining {
    config: Config,
    layout: Layout,
    /// Whole, for who wants to look into it.
    encoder: Encoder,
    /// The same, for training.
    chosen: ChosenRows,
    pooler: Pooler,
    mlm: Mlm,
    nsp: Nsp,
}

impl Pretraining {
    /// The model of this shape.
    pub fn new(config: &Config) -> Self {
        let layout = Layout::new(parameters(config, Parts::PRETRAINING));
        Self {
            encoder: Encoder::new(&layout, config),
            chosen: ChosenRows::new(&layout, config),
            pooler: Pooler::new(&layout),
            mlm: Mlm::new(&layout, config),
            nsp: Nsp::new(&layout),
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

    /// The losses of a batch; nothing is dropped and no gradient computed.
    pub fn evaluate(&self, values: &[f32], batch: &Batch, targets: &Targets, work: &mut Work) -> Losses {
        self.forward(values, None, batch, targets, DropoutPlan::OFF, Keep::Nothing, work)
    }

    /// The logits of a batch, and what else `inspection` asks for: masked tokens `[M, V]`, next sentence `[B, 2]`.
    pub fn logits<'w>(
        &self,
        values: &[f32],
        batch: &Batch,
        masked: &[u32],
        work: &'w mut Work,
        inspection: Option<&mut Inspection>,
    ) -> (&'w [f32], &'w [f32]) {
        let Work { activations, pooler, mlm, nsp, firsts, .. } = work;
        first_tokens(batch, firsts);
        let hidden =
            self.encoder.forward(values, batch, DropoutPlan::OFF, Keep::Nothing, activations, inspection);
        let mlm = self.mlm.forward(values, hidden, masked, mlm);
        let pooled = self.pooler.forward(values, hidden, firsts, pooler);
        (mlm, self.nsp.forward(values, pooled, nsp))
    }

    /// Adds the gradient of the batch's loss to `gradients`, and tells the loss.
    #[allow(clippy::too_many_arguments)] // a step's inputs and outputs, each a plain value
    pub fn gradients(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        batch: &Batch,
        targets: &Targets,
        dropout: DropoutPlan,
        keep: Keep,
        work: &mut Work,
    ) -> Losses {
        let losses = self.forward(values, Some(gradients), batch, targets, dropout, keep, work);
        let Work { chosen, pooler, mlm, nsp, firsts, masked, dread, dpooled, .. } = work;
        let dread = fit(dread, chosen.length());
        dread.fill(0.0);
        self.mlm.backward(values, gradients, masked, mlm, dread);
        if !targets.next.is_empty() {
            let dpooled = fit(dpooled, batch.sequences() * self.config.hidden_size);
            self.nsp.backward(values, gradients, pooler.y(dpooled.len()), nsp, dpooled);
            self.pooler.backward(values, gradients, firsts, pooler, dpooled, dread);
        }
        self.chosen.backward(values, gradients, Step { batch, dropout, keep }, chosen, dread);
        losses
    }

    /// Runs to the losses; with `gradients`, the heads begin the backward pass.
    #[allow(clippy::too_many_arguments)] // as above
    fn forward(
        &self,
        values: &[f32],
        gradients: Option<&mut Gradients>,
        batch: &Batch,
        targets: &Targets,
        dropout: DropoutPlan,
        keep: Keep,
        work: &mut Work,
    ) -> Losses {
        let Work { chosen, pooler, mlm, nsp, firsts, masked, .. } = work;
        let all = || targets.masked.iter().copied();
        self.chosen.forward(values, Step { batch, dropout, keep }, batch.firsts().chain(all()), chosen);
        chosen.places(all(), masked);
        chosen.places(batch.firsts(), firsts);
        let read = chosen.read();
        let scale = if gradients.is_some() { 1.0 / targets.next.len().max(1) as f32 } else { 0.0 };
        let mut losses = Losses::default();
        let loss = self.mlm.loss(values, gradients, read, masked, &targets.labels, mlm);
        losses.mlm = loss.loss / loss.rows.max(1) as f64;
        losses.mlm_correct = loss.correct;
        if !targets.next.is_empty() {
            let pooled = self.pooler.forward(values, read, firsts, pooler);
            self.nsp.forward(values, pooled, nsp);
            let loss = self.nsp.loss(&targets.next, scale, nsp);
            losses.nsp = loss.loss / loss.rows.max(1) as f64;
            losses.nsp_correct = loss.correct;
        }
        losses
    }
}

/// The first token of every sequence, into memory that is reused.
fn first_tokens(batch: &Batch, firsts: &mut Vec<u32>) {
    firsts.clear();
    firsts.extend(batch.firsts());
}
