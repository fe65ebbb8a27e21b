//! What all models that say tokens have in common as learners: examples shuffled into batches of a token budget, the right
//! tokens given and the next ones asked for (teacher forcing), a held-out loss.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::halves::{Halves, Parts};
use crate::data::{Order, by_budget};
use crate::model::{DropoutPlan, Keep, TokenLoss, Training};
use crate::nn::{Gradients, Layout};
use crate::progress::Progress;
use crate::train::{Better, Figures, Learner, Moment, Pass, read_position};
use crate::{Error, Result};

/// Tokens of a batch that is only measured.
const EVALUATION_TOKENS: usize = 4096;

/// How examples are used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TeachOptions {
    /// The most tokens of a batch; one example at least.
    pub tokens: usize,
    /// The share of the target that is spread over all tokens.
    pub smoothing: f32,
    /// The order of the examples, and what is dropped.
    pub seed: u64,
    /// What the forward pass keeps for backward.
    pub keep: Keep,
}

impl Default for TeachOptions {
    fn default() -> Self {
        Self { tokens: 4096, smoothing: 0.1, seed: 42, keep: Keep::Everything }
    }
}

impl TeachOptions {
    fn check(&self) -> Result<()> {
        if self.tokens == 0 {
            return Err(Error::setting("batch tokens", "it is 0, expected at least 1"));
        }
        if !(0.0..1.0).contains(&self.smoothing) {
            let problem = format!("it is {}, expected 0 or more and below 1", self.smoothing);
            return Err(Error::setting("label smoothing", problem));
        }
        Ok(())
    }
}

/// A model that is taught to say tokens.
pub trait Speaker: Sync {
    /// What it learns from, as ids.
    type Example: Sync;
    /// A batch of them, and the memory of a pass over it.
    type Desk: Default + Send;

    /// The layout of the parameters.
    fn layout(&self) -> &Layout;

    /// The width of the hidden vectors.
    fn width(&self) -> usize;

    /// The tokens of an example that go through the model.
    fn tokens(&self, example: &Self::Example) -> usize;

    /// The tokens of an example that it is asked for.
    fn asked(&self, example: &Self::Example) -> usize;

    /// The ids of an example, which tell it from others.
    fn ids<'e>(&self, example: &'e Self::Example) -> [&'e [u32]; 2];

    /// Floating-point operations of a forward pass over an example.
    fn flops(&self, example: &Self::Example) -> u64;

    /// Makes these examples the desk's batch.
    fn show<'e>(&self, examples: impl Iterator<Item = &'e Self::Example>, desk: &mut Self::Desk)
    where
        Self::Example: 'e;

    /// What is dropped in a step.
    fn dropout(&self, seed: u64) -> DropoutPlan;

    /// Adds the gradient of the batch's mean loss, times its share.
    fn gradients(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        training: Training,
        desk: &mut Self::Desk,
    ) -> TokenLoss;

    /// The loss of the batch, without smoothing.
    fn evaluate(&self, values: &[f32], desk: &mut Self::Desk) -> TokenLoss;

    /// What else is measured at an evaluation.
    fn measure(&mut self, _values: &[f32], _figures: &mut Figures) {}

    /// The figure of an evaluation by which the best model is known.
    fn goal(&self) -> (&'static str, Better) {
        ("loss", Better::Lower)
    }

    /// The values that a model begins with.
    fn initial(&self, seed: u64) -> Vec<f32>;

    /// Writes the model's files into a directory.
    fn save(&self, values: &[f32], directory: &Path) -> Result<()>;

    /// The values of a directory that `save` wrote.
    fn load(&self, directory: &Path) -> Result<Vec<f32>>;
}

/// A model in training, with its examples.
pub struct Teaching<S: Speaker> {
    pub(super) speaker: S,
    options: TeachOptions,
    pub(super) training: Vec<S::Example>,
    dev: Vec<S::Example>,
    order: Order,
    halves: Halves<S::Desk>,
}

impl<S: Speaker> Teaching<S> {
    pub(super) fn with_examples(
        speaker: S,
        training: Vec<S::Example>,
        dev: Vec<S::Example>,
        options: TeachOptions,
    ) -> Result<Self> {
        options.check()?;
        if training.is_empty() {
            return Err(Error::setting("train", "not one example in it that the model can take"));
        }
        let order = Order::new(options.seed, training.len());
        Ok(Self { speaker, options, training, dev, order, halves: Halves::default() })
    }

    /// Examples that are learned from.
    pub fn examples(&self) -> usize {
        self.training.len()
    }

    /// Examples that are held out.
    pub fn held_out(&self) -> usize {
        self.dev.len()
    }

    /// The tokens of all examples that are learned from.
    pub fn tokens(&self) -> u64 {
        self.training.iter().map(|example| self.speaker.tokens(example) as u64).sum()
    }

    /// What tells the examples that are learned from, as the model reads them, from others.
    pub fn fingerprint(&self) -> String {
        let mut sum = crc32fast::Hasher::new();
        for ids in self.training.iter().flat_map(|example| self.speaker.ids(example)) {
            sum.update(&ids.len().to_le_bytes());
            ids.iter().for_each(|id| sum.update(&id.to_le_bytes()));
        }
        format!("{}:{:08x}", self.training.len(), sum.finalize())
    }

    /// The values that a model begins with.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        self.speaker.initial(seed)
    }

    /// The values of a directory that [`Learner::save`] wrote.
    pub fn load(&self, directory: &Path) -> Result<Vec<f32>> {
        self.speaker.load(directory)
    }

    /// The next examples' numbers: as many as the budget has room for, but no more than there are. An epoch that ends within
    /// them is followed by the next.
    pub(super) fn next_examples(&mut self) -> Vec<usize> {
        let (mut numbers, mut tokens) = (Vec::new(), 0);
        while numbers.len() < self.training.len() {
            let number = self.order.peek();
            tokens += self.speaker.tokens(&self.training[number]);
            if tokens > self.options.tokens && !numbers.is_empty() {
                break;
            }
            numbers.push(number);
            self.order.advance();
        }
        numbers
    }
}

impl<S: Speaker> Learner for Teaching<S> {
    fn layout(&self) -> &Layout {
        self.speaker.layout()
    }

    fn gradients(&mut self, values: &[f32], gradients: &mut Gradients, moment: Moment) -> Pass {
        let begin = Instant::now();
        let numbers = self.next_examples();
        let Self { speaker, options, training, halves, .. } = self;
        let (speaker, TeachOptions { keep, smoothing, seed, .. }) = (&*speaker, *options);
        let examples: Vec<&S::Example> = numbers.iter().map(|&number| &training[number]).collect();
        let tokens: Vec<usize> = examples.iter().map(|example| speaker.tokens(example)).collect();
        let asked =
            |examples: &[&S::Example]| examples.iter().map(|example| speaker.asked(example)).sum::<usize>();
        let data_seconds = begin.elapsed().as_secs_f64();
        let parts = Parts::new(&tokens, speaker.width());
        let losses = halves.run(&parts, gradients, |part, desk, gradients| {
            let dropout = speaker.dropout(part.dropout_seed(seed, moment.pass));
            let own: Vec<&S::Example> = part.places.iter().map(|&place| examples[place]).collect();
            let share = asked(&own) as f64 / asked(&examples) as f64;
            speaker.show(own.into_iter(), desk);
            speaker.gradients(values, gradients, Training { dropout, keep, smoothing, share }, desk)
        });
        let mut figures = Figures::default();
        add(&mut figures, &TokenLoss::of_all(losses));
        let flops = 3 * examples.iter().map(|example| speaker.flops(example)).sum::<u64>();
        Pass { figures, tokens: tokens.iter().sum::<usize>() as u64, flops, data_seconds }
    }

    fn evaluate(&mut self, values: &[f32]) -> Option<Figures> {
        let mut figures = Figures::default();
        let Self { speaker, dev, halves, .. } = self;
        add(&mut figures, &losses(speaker, dev, values, halves.desk(), &()));
        let perplexity = figures.value("loss")?.exp();
        figures.add("perplexity", perplexity, 1.0);
        speaker.measure(values, &mut figures);
        Some(figures)
    }

    fn goal(&self) -> (&'static str, Better) {
        self.speaker.goal()
    }

    fn epochs(&self) -> f64 {
        self.order.epochs()
    }

    fn position(&self) -> Value {
        serde_json::to_value(self.order.position()).expect("numbers")
    }

    fn seek(&mut self, position: &Value) -> Result<()> {
        self.order.seek(read_position(position)?)
    }

    fn save(&self, values: &[f32], directory: &Path) -> Result<()> {
        self.speaker.save(values, directory)
    }
}

/// What a model says of examples, all of them together.
pub(super) fn losses<S: Speaker>(
    speaker: &S,
    examples: &[S::Example],
    values: &[f32],
    desk: &mut S::Desk,
    progress: &dyn Progress,
) -> TokenLoss {
    let lengths: Vec<usize> = examples.iter().map(|example| speaker.tokens(example)).collect();
    let mut rest = examples.iter();
    TokenLoss::of_all(by_budget(&lengths, EVALUATION_TOKENS, |&tokens| tokens).map(|run| {
        speaker.show(rest.by_ref().take(run.len()), desk);
        let loss = speaker.evaluate(values, desk);
        progress.advance(run.len() as u64);
        loss
    }))
}

fn add(figures: &mut Figures, loss: &TokenLoss) {
    let tokens = loss.tokens as f64;
    figures.add("loss", loss.loss * tokens, tokens);
    figures.add("accuracy", loss.correct as f64, tokens);
}
