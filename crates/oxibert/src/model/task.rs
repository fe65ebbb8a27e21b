//! BERT with a task's head: classes and choices from the pooled vector, tags and answer spans from every token.

use oxibert_kernels::{self as kernels, Dropout};

use super::Config;
use super::chosen::{ChosenRows, ChosenState, Step};
use super::embeddings::Embeddings;
use super::encoder::Encoder;
use super::heads::{Pooler, PoolerState};
use super::lanes::Lanes;
use super::names::{Parts, classifier, parameters, qa_outputs};
use super::pass::{DropoutPlan, Keep};
use crate::data::Batch;
use crate::nn::{Gradients, Layout, Linear, Numbers, fit};

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

/// What a head stands on; the last block is not computed for tokens that nobody reads.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // a model has one
enum Body {
    /// All tokens of the last layer's output; in training those that the loss asks for.
    Tokens(Encoder, ChosenRows),
    /// The first token of each sequence, pooled.
    FirstTokens(ChosenRows, Pooler),
}

/// What a training step goes over, and how.
#[derive(Debug, Clone, Copy)]
pub struct TaskStep<'b> {
    /// It must have passed [`Config::check_batch`].
    pub batch: &'b Batch,
    /// Where the head says something of every token: the tokens whose logits the loss reads, if it does not read all.
    pub asked: Option<&'b [u32]>,
    /// What is dropped.
    pub dropout: DropoutPlan,
    /// What the forward pass keeps for backward.
    pub keep: Keep,
}

impl<'b> TaskStep<'b> {
    fn encoder_step(&self) -> Step<'b> {
        Step { batch: self.batch, dropout: self.dropout, keep: self.keep }
    }

    /// The tokens whose logits are read.
    fn tokens(&self) -> impl Iterator<Item = u32> {
        let all = 0..if self.asked.is_some() { 0 } else { self.batch.tokens() as u32 };
        all.chain(self.asked.unwrap_or_default().iter().copied())
    }
}

/// The memory of a step: it grows to the largest batch and then stays.
#[derive(Debug, Default)]
pub struct TaskWork {
    chosen: ChosenState,
    lanes: Lanes,
    pooler: PoolerState,
    /// Where the first token of each sequence is read.
    firsts: Vec<u32>,
    /// What the head reads, after dropout.
    x: Vec<f32>,
    /// What it says of that.
    said: Vec<f32>,
    /// The logits of all tokens, where it reads some.
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
                false => Body::Tokens(Encoder::new(&layout, config), ChosenRows::new(&layout, config)),
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
            Body::Tokens(_, learning) | Body::FirstTokens(learning, _) => learning.freeze(blocks),
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

    /// The tables that a batch's ids are looked up in.
    pub(crate) fn embeddings(&self) -> &Embeddings {
        match &self.body {
            Body::Tokens(_, encoder) | Body::FirstTokens(encoder, _) => encoder.embeddings(),
        }
    }

    /// Floating-point operations of a training step's forward pass.
    pub(crate) fn forward_flops(&self, step: TaskStep<'_>) -> u64 {
        match self.head.is_per_token() {
            true => self.config.flops_of_chosen(step.batch, step.tokens()),
            false => self.config.flops_of_chosen(step.batch, step.batch.firsts()),
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
        let TaskWork { lanes, chosen, pooler, firsts, x, said, .. } = work;
        let read = match &self.body {
            Body::Tokens(encoder, _) => lanes.forward(encoder, numbers, batch),
            Body::FirstTokens(encoder, layer) => {
                encoder.forward_firsts(numbers, batch, lanes, chosen);
                chosen.places(batch.firsts(), firsts);
                layer.forward(numbers, chosen.read(), firsts, pooler)
            }
        };
        self.say(numbers, read, DropoutPlan::OFF, x, said)
    }

    /// Adds the gradient of a loss to `gradients` and returns what `loss` does: it turns the logits into the loss's gradient.
    ///
    /// `loss` is given a row for every sequence, or for every token; rows of tokens that are not asked for hold nothing.
    pub fn gradients<R>(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        step: TaskStep<'_>,
        work: &mut TaskWork,
        loss: impl FnOnce(&mut [f32]) -> R,
    ) -> R {
        self.forward(values, step, work);
        let figures = self.judge(step, work, loss);
        let TaskWork { chosen, pooler, firsts, x, said, dx, dread, .. } = work;
        let hidden = self.config.hidden_size;
        let rows = self.rows_said(step.batch, chosen);
        let dlogits = &said[..rows * self.dense.outputs];
        self.dense.backward_bias(gradients, dlogits);
        self.dense.backward_weight(gradients, &x[..rows * hidden], dlogits);
        let dx = fit(dx, rows * hidden);
        self.dense.backward_input(values, dlogits, false, dx);
        kernels::dropout(dx, hidden, self.dropout(step.dropout));
        match &self.body {
            Body::Tokens(_, encoder) => {
                encoder.backward(values, gradients, step.encoder_step(), chosen, dx);
            }
            Body::FirstTokens(encoder, layer) => {
                let dread = fit(dread, chosen.length());
                dread.fill(0.0);
                layer.backward(values, gradients, firsts, pooler, dx, dread);
                encoder.backward(values, gradients, step.encoder_step(), chosen, dread);
            }
        }
        figures
    }

    /// A training step's forward pass, to what the head says of the rows that it reads.
    fn forward(&self, values: &[f32], step: TaskStep<'_>, work: &mut TaskWork) {
        let TaskWork { chosen, pooler, firsts, x, said, .. } = work;
        let batch = step.batch;
        let read = match &self.body {
            Body::Tokens(_, encoder) => {
                encoder.forward(values, step.encoder_step(), step.tokens(), chosen);
                chosen.read()
            }
            Body::FirstTokens(encoder, layer) => {
                encoder.forward(values, step.encoder_step(), batch.firsts(), chosen);
                chosen.places(batch.firsts(), firsts);
                layer.forward(values, chosen.read(), firsts, pooler)
            }
        };
        self.say(values, read, step.dropout, x, said);
    }

    /// What was said becomes the loss's gradient.
    fn judge<R>(&self, step: TaskStep<'_>, work: &mut TaskWork, loss: impl FnOnce(&mut [f32]) -> R) -> R {
        let TaskWork { chosen, said, logits, .. } = work;
        let width = self.dense.outputs;
        let said = &mut said[..self.rows_said(step.batch, chosen) * width];
        if !self.head.is_per_token() || step.asked.is_none() {
            return loss(said);
        }
        let logits = fit(logits, step.batch.tokens() * width);
        logits.fill(0.0);
        let place = |&row: &u32| row as usize * width..(row as usize + 1) * width;
        for (said, row) in said.chunks_exact(width).zip(chosen.rows()) {
            logits[place(row)].copy_from_slice(said);
        }
        let figures = loss(logits);
        for (said, row) in said.chunks_exact_mut(width).zip(chosen.rows()) {
            said.copy_from_slice(&logits[place(row)]);
        }
        figures
    }

    /// What the head reads, to logits.
    fn say<'w, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        read: &[f32],
        dropout: DropoutPlan,
        x: &mut Vec<f32>,
        said: &'w mut Vec<f32>,
    ) -> &'w mut [f32] {
        let x = fit(x, read.len());
        x.copy_from_slice(read);
        kernels::dropout(x, self.config.hidden_size, self.dropout(dropout));
        let said = fit(said, read.len() / self.config.hidden_size * self.dense.outputs);
        numbers.linear(&self.dense, x, said);
        said
    }

    /// Of how many rows the head has said something in a training step.
    fn rows_said(&self, batch: &Batch, chosen: &ChosenState) -> usize {
        if self.head.is_per_token() { chosen.rows().len() } else { batch.sequences() }
    }

    fn dropout(&self, plan: DropoutPlan) -> Dropout {
        if self.head == Head::Span { Dropout::OFF } else { plan.head() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::{config, data};
    use crate::nn::Params;

    #[test]
    fn a_batch_of_which_nothing_is_asked_teaches_nothing() {
        let config = config();
        let model = TaskModel::new(&config, Head::Tokens(3));
        let values = Params::new(model.layout().clone(), &config, 3).values;
        let batch = data(&[5, 1, 9], 1).0;
        let mut gradients = Gradients::new(model.layout());
        let dropout = DropoutPlan::new(&config, 1);
        let step = TaskStep { batch: &batch, asked: Some(&[]), dropout, keep: Keep::Everything };
        let seen =
            model.gradients(&values, &mut gradients, step, &mut TaskWork::default(), |logits| logits.len());
        assert_eq!(seen, 15 * 3, "a row for every token");
        assert!(gradients.values().iter().all(|&gradient| gradient == 0.0));
    }

    #[test]
    fn work_is_counted_for_the_rows_that_are_read() {
        let config = config();
        let model = TaskModel::new(&config, Head::Tokens(3));
        let batch = data(&[5, 1, 9], 1).0;
        let flops = |asked| {
            let step = TaskStep { batch: &batch, asked, dropout: DropoutPlan::OFF, keep: Keep::Nothing };
            model.forward_flops(step)
        };
        assert_eq!(flops(None), config.flops_of(&batch));
        let all: Vec<u32> = (0..15).collect();
        assert_eq!(flops(Some(&all)), flops(None));
        let (h, inner) = (config.hidden_size as u64, config.intermediate_size as u64);
        let of_first_sequence = 2 * (2 * h * h + 2 * h * inner + 2 * 5 * h);
        assert_eq!(flops(Some(&all[1..])), flops(None) - of_first_sequence);
    }
}
