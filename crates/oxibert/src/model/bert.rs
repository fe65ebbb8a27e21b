//! A trained BERT, ready to be asked: text's token ids in, hidden states, pooled vectors and `[MASK]` candidates out.

use std::path::Path;

use super::encoder::Encoder;
use super::heads::{Mlm, MlmState, Nsp, NspState, Pooler, PoolerState};
use super::lanes::Lanes;
use super::names::{Parts, parameters};
use super::pass::{DropoutPlan, Inspection, Keep};
use super::{Checkpoint, Config, Weights};
use crate::data::Batch;
use crate::nn::Layout;
use crate::nn::frozen::Frozen;
use crate::{Error, Result};

/// A checkpoint that answers. It can be shared between threads; each keeps a [`BertWork`] of its own.
#[derive(Debug)]
pub struct Bert {
    config: Config,
    numbers: Frozen,
    encoder: Encoder,
    pooler: Option<Pooler>,
    mlm: Option<Mlm>,
    nsp: Option<Nsp>,
}

/// The memory of forward passes, reused from batch to batch.
#[derive(Debug, Default)]
pub struct BertWork {
    lanes: Lanes,
    pooler: PoolerState,
    mlm: MlmState,
    nsp: NspState,
}

impl Bert {
    /// Opens a checkpoint: a Hugging Face directory, or a weight file with its config.json beside it.
    ///
    /// The weights are mapped, not read; matrices are packed when they are used again. Which heads there are follows
    /// from the tensors.
    pub fn open(path: &Path) -> Result<Self> {
        let Checkpoint { config, weights } = Checkpoint::open(path)?;
        Self::new(config, weights)
    }

    /// The model of this shape with these weights.
    pub fn new(config: Config, weights: Weights) -> Result<Self> {
        let parts = Parts {
            pooler: weights.contains("bert.pooler.dense.weight"),
            mlm: weights.contains("cls.predictions.transform.dense.weight"),
            nsp: weights.contains("cls.seq_relationship.weight"),
        };
        let layout = Layout::new(parameters(&config, parts));
        Ok(Self {
            encoder: Encoder::new(&layout, &config),
            pooler: parts.pooler.then(|| Pooler::new(&layout)),
            mlm: parts.mlm.then(|| Mlm::new(&layout, &config)),
            nsp: parts.nsp.then(|| Nsp::new(&layout)),
            numbers: Frozen::new(weights, layout)?,
            config,
        })
    }

    /// Its shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How many numbers it has learned, heads included.
    pub fn parameter_count(&self) -> usize {
        self.numbers.layout().len()
    }

    /// Whether it has a pooler.
    pub fn has_pooler(&self) -> bool {
        self.pooler.is_some()
    }

    /// Whether it has a masked-language-model head.
    pub fn has_mlm(&self) -> bool {
        self.mlm.is_some()
    }

    /// The last layer's output, `[N, H]`; with `inspection`, every layer's and all attention weights too.
    ///
    /// The batch must have passed [`Config::check_batch`].
    pub fn hidden<'w>(
        &self,
        batch: &Batch,
        work: &'w mut BertWork,
        inspection: Option<&mut Inspection>,
    ) -> &'w [f32] {
        match inspection {
            None => work.lanes.forward(&self.encoder, &self.numbers, batch),
            seen => {
                let (off, activations) = (DropoutPlan::OFF, work.lanes.whole());
                self.encoder.forward(&self.numbers, batch, off, Keep::Nothing, activations, seen)
            }
        }
    }

    /// The output of one layer, `[N, H]`, without computing those behind it: 0 is the embeddings' output, L the last
    /// layer's.
    ///
    /// # Panics
    /// If the model has fewer layers.
    pub fn hidden_of<'w>(&self, layer: usize, batch: &Batch, work: &'w mut BertWork) -> &'w [f32] {
        work.lanes.forward(&self.encoder.first(layer), &self.numbers, batch)
    }

    /// The pooled vectors, `[B, H]`.
    pub fn pooled<'w>(&self, batch: &Batch, work: &'w mut BertWork) -> Result<&'w [f32]> {
        let pooler = self.pooler.as_ref().ok_or_else(|| self.lacks("pooler", "bert.pooler.dense.weight"))?;
        let BertWork { lanes, pooler: state, .. } = work;
        let hidden = lanes.forward(&self.encoder, &self.numbers, batch);
        let firsts: Vec<u32> = batch.firsts().collect();
        Ok(pooler.forward(&self.numbers, hidden, &firsts, state))
    }

    /// The logits over the vocabulary at the tokens `chosen` of the batch, `[M, V]`.
    pub fn mlm_logits<'w>(
        &self,
        batch: &Batch,
        chosen: &[u32],
        work: &'w mut BertWork,
    ) -> Result<&'w mut [f32]> {
        let mlm = self.mlm()?;
        let BertWork { lanes, mlm: state, .. } = work;
        let hidden = lanes.forward(&self.encoder, &self.numbers, batch);
        Ok(mlm.forward(&self.numbers, hidden, chosen, state))
    }

    /// The next-sentence logits, `[B, 2]`: the first for "it follows".
    pub fn nsp_logits<'w>(&self, batch: &Batch, work: &'w mut BertWork) -> Result<&'w [f32]> {
        let nsp = self
            .nsp
            .as_ref()
            .ok_or_else(|| self.lacks("next-sentence head", "cls.seq_relationship.weight"))?;
        let pooled = self.pooled(batch, work)?.to_vec();
        Ok(nsp.forward(&self.numbers, &pooled, &mut work.nsp))
    }

    /// Explains an output that is not a number: names the tensor that is sick, if one is.
    pub fn check_finite(&self) -> Result<()> {
        let params: Vec<_> = self.numbers.layout().iter().map(|(param, _)| param.clone()).collect();
        self.numbers.weights().check_finite(&params)
    }

    /// Refuses a model without a masked-language-model head, before it is asked for logits.
    pub fn check_mlm(&self) -> Result<()> {
        self.mlm().map(drop)
    }

    fn mlm(&self) -> Result<&Mlm> {
        let missing = "cls.predictions.transform.dense.weight";
        self.mlm.as_ref().ok_or_else(|| self.lacks("masked-language-model head", missing))
    }

    fn lacks(&self, head: &str, tensor: &str) -> Error {
        let problem =
            format!("the checkpoint has no {head} (no tensor {tensor}); take a checkpoint that has one");
        Error::content(self.numbers.weights().path(), None, problem)
    }
}
