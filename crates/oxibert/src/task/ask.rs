//! Asking a model about many examples: batches of a token budget, sequences of like length together, answers in order.

use rayon::prelude::*;

use super::{Item, Target, Task};
use crate::Result;
use crate::data::Batch;
use crate::model::{TaskModel, TaskWork};
use crate::nn::Numbers;
use crate::progress::{Progress, Unit};
use crate::text::Tokenizer;

/// Tokens of a batch: enough to fill the machine, few enough to stay in its caches.
const BATCH_TOKENS: usize = 4096;
/// Examples that one thread encodes at a time.
const EXAMPLES: usize = 64;

/// The items of every example, encoded on all threads.
pub(crate) fn encode<T: Task>(
    task: &T,
    tokenizer: &Tokenizer,
    examples: &[T::Example],
) -> Result<Vec<Vec<Item>>> {
    let chunk = |examples: &[T::Example]| {
        let mut encoder = tokenizer.encoder();
        examples.iter().map(|example| task.items(example, &mut encoder)).collect::<Result<Vec<_>>>()
    };
    let encoded: Vec<Vec<Vec<Item>>> = examples.par_chunks(EXAMPLES).map(chunk).collect::<Result<_>>()?;
    Ok(encoded.into_iter().flatten().collect())
}

/// What a model said about examples.
pub(crate) struct Asked<A> {
    /// The answers, in the order of the examples.
    pub(crate) answers: Vec<A>,
    /// The sum of the losses of items whose targets are known.
    pub(crate) loss: f64,
    /// What those weigh.
    pub(crate) known: f64,
}

/// Nothing was asked.
impl<A> Default for Asked<A> {
    fn default() -> Self {
        Self { answers: Vec::new(), loss: 0.0, known: 0.0 }
    }
}

/// The answers to all examples, whose items these are.
pub(crate) fn ask<T: Task, N: Numbers + ?Sized>(
    task: &T,
    model: &TaskModel,
    numbers: &N,
    (examples, items): (&[T::Example], &[Vec<Item>]),
    work: &mut TaskWork,
    progress: &dyn Progress,
) -> Asked<T::Answer> {
    let flat: Vec<&Item> = items.iter().flatten().collect();
    let mut logits: Vec<Vec<f32>> = vec![Vec::new(); flat.len()];
    let (mut batch, mut loss, mut known) = (Batch::new(), 0.0, 0.0);
    progress.begin("asking the model", Some(flat.len() as u64), Unit::Items);
    for group in groups(&flat) {
        let asked: Vec<&Item> = group.iter().map(|&place| flat[place]).collect();
        fill(&mut batch, &asked);
        let rows = model.logits_of(numbers, &batch, work);
        let mut rest = &*rows;
        for &place in &group {
            let (own, after) = rest.split_at(numbers_of(model, flat[place]));
            logits[place] = own.to_vec();
            rest = after;
        }
        if asked.iter().all(|item| item.target != Target::Unknown) {
            loss += task.loss(&asked, rows, 0.0);
            known += weight(task, &asked);
        }
        progress.advance(group.len() as u64);
    }
    progress.end();
    let mut rows = logits.iter().map(Vec::as_slice);
    let answers = examples
        .iter()
        .zip(items)
        .map(|(example, items)| {
            let own: Vec<&[f32]> = rows.by_ref().take(items.len()).collect();
            task.answer(example, items, &own)
        })
        .collect();
    Asked { answers, loss, known }
}

/// What items weigh together.
pub(crate) fn weight<T: Task>(task: &T, items: &[&Item]) -> f64 {
    items.iter().map(|item| task.weight(item)).sum()
}

/// How many logits an item has.
fn numbers_of(model: &TaskModel, item: &Item) -> usize {
    let rows = if model.head().is_per_token() { item.tokens() } else { item.sequences.len() };
    rows * model.head().outputs()
}

/// The places of items that go through the model together, short ones first.
fn groups(items: &[&Item]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&place| items[place].tokens());
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut tokens = BATCH_TOKENS;
    for place in order {
        let own = items[place].tokens();
        if tokens + own > BATCH_TOKENS {
            groups.push(Vec::new());
            tokens = 0;
        }
        tokens += own;
        groups.last_mut().expect("one was begun").push(place);
    }
    groups
}

/// Makes `batch` the sequences of these items.
pub(crate) fn fill(batch: &mut Batch, items: &[&Item]) {
    batch.clear();
    let sequences = items.iter().flat_map(|item| &item.sequences);
    sequences.for_each(|sequence| batch.push(&sequence.ids, &sequence.segments));
}
