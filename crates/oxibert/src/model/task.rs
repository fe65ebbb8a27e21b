//! BERT with a task's head: classes and choices from the pooled vector, tags and answer spans from every token.

use oxibert_kernels::{self as kernels, Dropout};

use super::Config;
use super::chosen::{ChosenRows, ChosenState, Step};
use super::encoder::Encoder;
use super::heads::{Pooler, PoolerState};
use super::lanes::Lanes;
use super::names::{Parts, classifier, parameters, qa_outputs};
use super::pass::{DropoutPlan, Keep};
use super::tower::Activations;
use crate::data::Batch;
use crate::nn::{Layout, Linear, Numbers, fit};

/// Which numbers a model says about a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// So many for each sequence, from the pooled vector: `classifier` of classification and multiple choice.
    Sequence(usize),
    /// So many for each token: `classifier` of tagging.
    Tokens(usize),
    /// A start and an end score for each token: `qa_outputs`.
    Span,
}

impl Head {
    /// How many numbers it says at a time.
    pub fn outputs(self) -> usize {
        match self {
            Self::Sequence(outputs) | Self::Tokens(outputs) => outputs,
            Self::Span => 2,
        }
    }

    /// Whether it says them of every token.
    pub fn is_per_token(self) -> bool {
        !matches!(self, Self::Sequence(_))
    }

    /// Its name in a checkpoint.
    fn name(self) -> &'static str {
        match self {
            Self::Sequence(_) | Self::Tokens(_) => "classifier",
            Self::Span => "qa_outputs",
        }
    }
}

/// The encoder with a task's head: `logits = W dropout(x) + b`, x being pooled vectors or the last layer's output.
///
/// As `transformers` has it: `BertForSequenceClassification` and `BertForMultipleChoice` (one output for each choice),
/// `BertForTokenClassification`, `BertForQuestionAnswering` (which drops nothing before its head).
#[derive(Debug, Clone)]
pub struct TaskModel {
    config: Config,
    layout: Layout,
    body: Body,
    dense: Linear,
    head: Head,
}

/// What a head stands on.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // a model has one
enum Body {
    /// All tokens of the last layer's output.
    Tokens(Encoder),
    /// The first token of each sequence, pooled; the last block is not computed for the others.
    FirstTokens(ChosenRows, Pooler),
}

/// The memory of a step: it grows to the largest batch and then stays.
#[derive(Debug, Default)]
pub struct TaskWork {
    activations: Activations,
    chosen: ChosenState,
    lanes: Lanes,
    pooler: PoolerState,
    /// Where the first token of each sequence is read.
    firsts: Vec<u32>,
    /// What the head reads, after dropout.
    x: Vec<f32>,
    logits: Vec<f32>,
    dx: Vec<f32>,
    dread: Vec<f32>,
}

impl TaskModel {
    /// The model of this shape with this head.
    pub fn new(config: &Config, head: Head) -> Self {
        let pooled = !head.is_per_token();
        let mut params = parameters(config, Parts { pooler: pooled, ..Parts::default() });
        params.extend(match head {
            Head::Sequence(outputs) | Head::Tokens(outputs) => classifier(config, outputs),
            Head::Span => qa_outputs(config),
        });
        let layout = Layout::new(params);
        Self {
            body: match pooled {
                true => Body::FirstTokens(ChosenRows::new(&layout, config), Pooler::new(&layout)),
                false => Body::Tokens(Encoder::new(&layout, config)),
            },
            dense: Linear::new(&layout, head.name()),
            config: config.clone(),
            layout,
            head,
        }
    }

    /// The model whose embeddings and first `blocks` blocks do not learn; with none, only the embeddings do not.
    #[must_use]
    pub fn frozen(mut self, blocks: usize) -> Self {
        match &mut self.body {
            Body::Tokens(encoder) => encoder.freeze(blocks),
            Body::FirstTokens(encoder, _) => encoder.freeze(blocks),
        }
        self
    }

    /// Its shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The layout of its parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its head.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Floating-point operations of a training step's forward pass.
    pub(crate) fn forward_flops(&self, batch: &Batch) -> u64 {
        match self.head.is_per_token() {
            true => self.config.flops_of(batch),
            false => self.config.flops_of_chosen(batch, &[]),
        }
    }

    /// The logits of a batch with nothing dropped: a row for every sequence, or for every token.
    ///
    /// The batch must have passed [`Config::check_batch`].
    pub fn logits<'w>(&self, values: &[f32], batch: &Batch, work: &'w mut TaskWork) -> &'w mut [f32] {
        self.logits_of(values, batch, work)
    }

    pub(crate) fn logits_of<'w, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        work: &'w mut TaskWork,
    ) -> &'w mut [f32] {
        let TaskWork { lanes, chosen, pooler, firsts, x, logits, .. } = work;
        let read = match &self.body {
            Body::Tokens(encoder) => lanes.forward(encoder, numbers, batch),
            Body::FirstTokens(encoder, layer) => {
                encoder.forward_firsts(numbers, batch, lanes, chosen);
                chosen.places(batch.firsts(), firsts);
                layer.forward(numbers, chosen.read(), firsts, pooler)
            }
        };
        self.say(numbers, batch, read, DropoutPlan::OFF, x, logits)
    }

    /// Adds the gradient of a loss to `gradients` and returns what `loss` does: it turns the logits into the loss's gradient.
    #[allow(clippy::too_many_arguments)] // a step's inputs and outputs, each a plain value
    pub fn gradients<R>(
        &self,
        values: &[f32],
        gradients: &mut [f32],
        batch: &Batch,
        dropout: DropoutPlan,
        keep: Keep,
        work: &mut TaskWork,
        loss: impl FnOnce(&mut [f32]) -> R,
    ) -> R {
        let figures = loss(self.forward(values, batch, dropout, keep, work));
        let TaskWork { activations, chosen, pooler, firsts, x, logits, dx, dread, .. } = work;
        let (hidden, rows) = (self.config.hidden_size, self.rows(batch));
        let dlogits = &logits[..rows * self.dense.outputs];
        self.dense.backward_bias(gradients, dlogits);
        self.dense.backward_weight(gradients, &x[..rows * hidden], dlogits);
        let dx = fit(dx, rows * hidden);
        self.dense.backward_input(values, dlogits, false, dx);
        kernels::dropout(dx, hidden, self.dropout(dropout));
        match &self.body {
            Body::Tokens(encoder) => {
                encoder.backward(values, gradients, batch, dropout, keep, activations, dx);
            }
            Body::FirstTokens(encoder, layer) => {
                let dread = fit(dread, chosen.length());
                dread.fill(0.0);
                layer.backward(values, gradients, firsts, pooler, dx, dread);
                encoder.backward(values, gradients, Step { batch, dropout, keep }, chosen, dread);
            }
        }
        figures
    }

    fn forward<'w>(
        &self,
        values: &[f32],
        batch: &Batch,
        dropout: DropoutPlan,
        keep: Keep,
        work: &'w mut TaskWork,
    ) -> &'w mut [f32] {
        let TaskWork { activations, chosen, pooler, firsts, x, logits, .. } = work;
        let read = match &self.body {
            Body::Tokens(encoder) => encoder.forward(values, batch, dropout, keep, activations, None),
            Body::FirstTokens(encoder, layer) => {
                encoder.forward(values, Step { batch, dropout, keep }, std::iter::empty(), chosen);
                chosen.places(batch.firsts(), firsts);
                layer.forward(values, chosen.read(), firsts, pooler)
            }
        };
        self.say(values, batch, read, dropout, x, logits)
    }

    /// What the head reads, to logits.
    fn say<'w, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        read: &[f32],
        dropout: DropoutPlan,
        x: &mut Vec<f32>,
        logits: &'w mut Vec<f32>,
    ) -> &'w mut [f32] {
        let x = fit(x, read.len());
        x.copy_from_slice(read);
        kernels::dropout(x, self.config.hidden_size, self.dropout(dropout));
        let logits = fit(logits, self.rows(batch) * self.dense.outputs);
        numbers.linear(&self.dense, x, logits);
        logits
    }

    fn rows(&self, batch: &Batch) -> usize {
        if self.head.is_per_token() { batch.tokens() } else { batch.sequences() }
    }

    fn dropout(&self, plan: DropoutPlan) -> Dropout {
        if self.head == Head::Span { Dropout::OFF } else { plan.head() }
    }
}
