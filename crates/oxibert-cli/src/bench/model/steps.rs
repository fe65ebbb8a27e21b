//! The steps that are timed.
//!
//! A forward step is the encoder over all batches, to the last layer's output of every token, and the pooler where the
//! model has one. A training step is what pretraining does for a batch: both heads (those that have targets), dropout,
//! all gradients, their norm, AdamW.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use oxibert::data::Batch;
use oxibert::model::{Bert, BertWork, DropoutPlan, Keep, Pretraining, Work};
use oxibert::nn::{Gradients, Params};
use oxibert::train::{Optimizer, OptimizerOptions};
use oxibert_kernels::in_bf16;
use oxibert_kernels::profile::{self, Kernel};

use super::super::{LEAST_ROUNDS, LEAST_TIME};
use super::weights::Model;
use super::workload::Workload;
use super::{Arguments, SEED};
use crate::embed::npy::Npy;

/// BERT's own learning rate; it changes nothing about the work.
const LEARNING_RATE: f32 = 1e-4;

/// How long the steps took, in order, and how the time was spent.
pub(super) struct Measured {
    pub(super) seconds: Vec<f64>,
    pub(super) kernels: [(Kernel, Duration); Kernel::ALL.len()],
    pub(super) parameters: usize,
    /// The loss of every batch that was learned, the one to warm up first.
    pub(super) losses: Vec<f64>,
}

pub(super) fn forward(model: Model, workload: &Workload, arguments: &Arguments) -> Result<Measured> {
    let bert = model.bert()?;
    let mut work = BertWork::default();
    if let Some(path) = &arguments.out {
        write_outputs(path, &bert, workload, &mut work)?;
    }
    let mut step =
        || -> Result<()> { workload.batches.iter().try_for_each(|batch| answer(&bert, batch, &mut work)) };
    // To warm up: the first time memory is touched, the second time matrices are packed.
    step()?;
    step()?;
    let (seconds, kernels) = timed(arguments.repeat, step)?;
    Ok(Measured { seconds, kernels, parameters: bert.parameter_count(), losses: Vec::new() })
}

fn answer(bert: &Bert, batch: &Batch, work: &mut BertWork) -> Result<()> {
    let answer = if bert.has_pooler() { bert.pooled(batch, work)? } else { bert.hidden(batch, work, None) };
    std::hint::black_box(answer);
    Ok(())
}

/// Every token's vector in the order of the file, then every sequence's.
fn write_outputs(path: &Path, bert: &Bert, workload: &Workload, work: &mut BertWork) -> Result<()> {
    let width = bert.config().hidden_size;
    let mut tokens = vec![Vec::new(); workload.sequences()];
    let mut pooled = tokens.clone();
    let mut numbers = workload.numbers.iter();
    for batch in &workload.batches {
        let numbers: Vec<usize> = numbers.by_ref().take(batch.sequences()).copied().collect();
        let hidden = bert.hidden(batch, work, None);
        for (&number, ends) in numbers.iter().zip(batch.offsets.windows(2)) {
            tokens[number] = hidden[ends[0] * width..ends[1] * width].to_vec();
        }
        if bert.has_pooler() {
            let rows = bert.pooled(batch, work)?.chunks_exact(width);
            numbers.iter().zip(rows).for_each(|(&number, row)| pooled[number] = row.to_vec());
        }
    }
    let mut npy = Npy::create(path, width)?;
    tokens.iter().chain(&pooled).try_for_each(|rows| npy.append(rows))?;
    npy.complete()
}

pub(super) fn train(model: Model, workload: &Workload, arguments: &Arguments) -> Result<Measured> {
    let keep = if arguments.checkpointing { Keep::Inputs } else { Keep::Everything };
    let mut learner = Learner::new(model, keep, arguments.bf16)?;
    learner.step(workload, workload.largest()); // to warm up: every buffer gets its size
    let (seconds, kernels) = timed(arguments.repeat, || {
        (0..workload.batches.len()).for_each(|number| learner.step(workload, number));
        Ok(())
    })?;
    Ok(Measured { seconds, kernels, parameters: learner.values.len(), losses: learner.losses })
}

/// A model that is trained, with everything that a step changes.
struct Learner {
    pretraining: Pretraining,
    values: Vec<f32>,
    gradients: Gradients,
    optimizer: Optimizer,
    keep: Keep,
    bf16: bool,
    work: Work,
    losses: Vec<f64>,
}

impl Learner {
    /// The checkpoint is read and closed again: its mapping would count as memory.
    fn new(model: Model, keep: Keep, bf16: bool) -> Result<Self> {
        let pretraining = Pretraining::new(&model.config);
        let Params { layout, values } = model.params(&pretraining)?;
        drop(model);
        let gradients = Gradients::new(&layout);
        let optimizer = Optimizer::new(&layout, OptimizerOptions::default());
        let (work, losses) = (Work::default(), Vec::new());
        Ok(Self { pretraining, values, gradients, optimizer, keep, bf16, work, losses })
    }

    fn step(&mut self, workload: &Workload, number: usize) {
        let Self { pretraining, values, gradients, optimizer, keep, bf16, work, losses } = self;
        let (batch, targets) = (&workload.batches[number], &workload.targets[number]);
        let dropout = DropoutPlan::new(pretraining.config(), SEED + losses.len() as u64);
        gradients.begin();
        let loss =
            in_bf16(*bf16, || pretraining.gradients(values, gradients, batch, targets, dropout, *keep, work));
        optimizer.step(values, gradients, LEARNING_RATE);
        losses.push(loss.total());
    }
}

type Times = (Vec<f64>, [(Kernel, Duration); Kernel::ALL.len()]);

/// Runs `step` so many times, or until there is enough to take a median of.
fn timed(repeat: Option<u32>, mut step: impl FnMut() -> Result<()>) -> Result<Times> {
    profile::start();
    let begin = Instant::now();
    let mut seconds = Vec::new();
    let enough = |count: usize| match repeat {
        Some(repeat) => count >= repeat as usize,
        None => count >= LEAST_ROUNDS && begin.elapsed() >= LEAST_TIME,
    };
    while !enough(seconds.len()) {
        let start = Instant::now();
        step()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok((seconds, profile::stop()))
}
