//! Fine-tuning: any [`Task`] on labelled data, as a [`Learner`].

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use super::ask::{Asked, ask, encode, fill, weight};
use super::halves::{Halves, Parts};
use super::{Item, Target, Task};
use crate::data::{Batch, Order};
use crate::model::{Config, DropoutPlan, Keep, TaskModel, TaskStep, TaskWork, checkpoint};
use crate::nn::{Gradients, Layout, tensors};
use crate::text::Tokenizer;
use crate::train::{Better, Figures, Learner, Moment, Pass, Section, read_position};
use crate::{Error, Result};

/// How labelled data are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinetuneOptions {
    /// Items of a batch.
    pub batch: usize,
    /// The order of the items, and what is dropped.
    pub seed: u64,
    /// The embeddings and so many blocks do not learn.
    pub frozen: Option<usize>,
    /// What the forward pass keeps for backward.
    pub keep: Keep,
}

/// A model with a task's head, in training.
pub struct Finetune<'t, T: Task> {
    task: &'t T,
    model: TaskModel,
    tokenizer: &'t Tokenizer,
    options: FinetuneOptions,
    training: Vec<Item>,
    dev: &'t [T::Example],
    dev_items: Vec<Vec<Item>>,
    /// What was answered at the last evaluation.
    asked: Asked<T::Answer>,
    order: Order,
    /// The numbers of the next items, where they are known already, and the rows of the tables that they read.
    ahead: Option<Vec<usize>>,
    rows: Vec<Range<usize>>,
    halves: Halves<Desk>,
}

/// A batch, and the memory of a pass over it.
#[derive(Debug, Default)]
struct Desk {
    batch: Batch,
    /// The tokens of the batch whose logits the loss reads.
    asked: Vec<u32>,
    work: TaskWork,
}

impl<'t, T: Task> Finetune<'t, T> {
    /// Encodes the data and checks that the model can read them. `config` is the encoder's; the task adds its own to it.
    pub fn new(
        task: &'t T,
        config: &Config,
        tokenizer: &'t Tokenizer,
        training: &[T::Example],
        dev: &'t [T::Example],
        options: FinetuneOptions,
    ) -> Result<Self> {
        let mut config = config.clone();
        task.configure(&mut config);
        config.check()?;
        let mut model = TaskModel::new(&config, task.head());
        if let Some(blocks) = options.frozen {
            check_frozen(&config, blocks)?;
            model = model.frozen(blocks);
        }
        let items: Vec<Item> = encode(task, tokenizer, training)?.into_iter().flatten().collect();
        let training: Vec<Item> = items.into_iter().filter(|item| item.target != Target::Unknown).collect();
        let dev_items = encode(task, tokenizer, dev)?;
        if training.is_empty() {
            return Err(Error::setting("train", "no labelled example in it"));
        }
        check_items(&config, training.iter().chain(dev_items.iter().flatten()))?;
        Ok(Self {
            task,
            model,
            tokenizer,
            order: Order::new(options.seed, training.len()),
            options,
            ahead: None,
            rows: Vec::new(),
            training,
            dev,
            dev_items,
            asked: Asked::default(),
            halves: Halves::default(),
        })
    }

    /// The model.
    pub fn model(&self) -> &TaskModel {
        &self.model
    }

    /// Batches of one epoch; the last may be smaller.
    pub fn batches_per_epoch(&self) -> u64 {
        self.training.len().div_ceil(self.options.batch) as u64
    }

    /// Items that are learned from.
    pub fn items(&self) -> usize {
        self.training.len()
    }

    /// What tells these training data, as the model reads them, from others.
    pub fn fingerprint(&self) -> String {
        let mut sum = crc32fast::Hasher::new();
        for item in &self.training {
            let ids = item.sequences.iter().flat_map(|sequence| &sequence.ids);
            ids.for_each(|id| sum.update(&id.to_le_bytes()));
            sum.update(format!("{:?}", item.target).as_bytes());
        }
        format!("{}:{:08x}", self.training.len(), sum.finalize())
    }

    /// What a report shows of the last evaluation beyond its figures.
    pub fn findings(&self) -> Vec<Section> {
        self.task.findings(self.dev, &self.asked.answers)
    }

    /// Writes into the finished model's configuration what the last evaluation has shown, and measures the answers that it
    /// gives with that.
    pub fn settle(&mut self, config: &mut Config) -> Figures {
        self.task.settle(self.dev, &mut self.asked.answers, config);
        self.figures()
    }

    /// Of the last evaluation.
    fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        if self.asked.known > 0.0 {
            figures.add("loss", self.asked.loss, self.asked.known);
        }
        figures.merge(&self.task.figures(self.dev, &self.asked.answers));
        figures
    }

    /// The numbers of the next items; a batch never reaches into the next epoch.
    fn next_items(&mut self) -> Vec<usize> {
        let count = self.options.batch.min(self.order.left());
        std::iter::repeat_with(|| self.order.next()).take(count).collect()
    }
}

impl<T: Task> Learner for Finetune<'_, T> {
    fn layout(&self) -> &Layout {
        self.model.layout()
    }

    fn rows_ahead(&mut self) -> Option<&[Range<usize>]> {
        let numbers = self.ahead.take().unwrap_or_else(|| self.next_items());
        let sequences = || numbers.iter().flat_map(|&number| &self.training[number].sequences);
        let ids = sequences().flat_map(|sequence| sequence.ids.iter().copied());
        let longest = sequences().map(|sequence| sequence.ids.len()).max().unwrap_or(0);
        self.rows.clear();
        self.model.embeddings().rows_read(ids, longest, &mut self.rows);
        self.ahead = Some(numbers);
        Some(&self.rows)
    }

    fn gradients(&mut self, values: &[f32], gradients: &mut Gradients, moment: Moment) -> Pass {
        let begin = Instant::now();
        let numbers = self.ahead.take().unwrap_or_else(|| self.next_items());
        let Self { task, model, options, training, halves, .. } = self;
        let (task, model) = (*task, &*model);
        let items: Vec<&Item> = numbers.iter().map(|&number| &training[number]).collect();
        let tokens: Vec<usize> = items.iter().map(|item| item.tokens()).collect();
        let weight = weight(task, &items);
        let scale = (1.0 / weight.max(1.0)) as f32;
        let data_seconds = begin.elapsed().as_secs_f64();
        let parts = Parts::new(&tokens, model.config().hidden_size);
        let told = halves.run(&parts, gradients, |part, Desk { batch, asked, work }, gradients| {
            let dropout = DropoutPlan::new(model.config(), part.dropout_seed(options.seed, moment.pass));
            let items: Vec<&Item> = part.places.iter().map(|&place| items[place]).collect();
            fill(batch, &items);
            fill_asked(asked, &items);
            let step = TaskStep { batch, asked: Some(asked), dropout, keep: options.keep };
            let loss =
                model.gradients(values, gradients, step, work, |logits| task.loss(&items, logits, scale));
            (loss, 3 * model.forward_flops(step))
        });
        let mut figures = Figures::default();
        figures.add("loss", told.iter().map(|(loss, _)| loss).sum(), weight);
        let flops = told.iter().map(|(_, flops)| flops).sum();
        let tokens = tokens.iter().sum::<usize>() as u64;
        Pass { figures, tokens, flops, data_seconds }
    }

    fn evaluate(&mut self, values: &[f32]) -> Option<Figures> {
        if self.dev.is_empty() {
            return None;
        }
        let examples = (self.dev, &self.dev_items[..]);
        self.asked = ask(self.task, &self.model, values, examples, &mut self.halves.desk().work, &());
        Some(self.figures())
    }

    fn goal(&self) -> (&'static str, Better) {
        self.task.goal()
    }

    fn epochs(&self) -> f64 {
        self.order.epochs()
    }

    fn position(&self) -> Value {
        serde_json::to_value(self.order.position()).expect("numbers")
    }

    fn seek(&mut self, position: &Value) -> Result<()> {
        self.ahead = None;
        self.order.seek(read_position(position)?)
    }

    fn save(&self, values: &[f32], directory: &Path) -> Result<()> {
        checkpoint::save(directory, self.model.config(), &tensors(self.model.layout(), values))?;
        self.tokenizer.save(directory)
    }
}

fn check_frozen(config: &Config, blocks: usize) -> Result<()> {
    if blocks <= config.num_hidden_layers {
        return Ok(());
    }
    let problem = format!("{blocks} layers, but the model has {}", config.num_hidden_layers);
    Err(Error::setting("freeze", problem))
}

/// Makes `asked` the tokens of these items, one after the other, that the loss asks for.
fn fill_asked(asked: &mut Vec<u32>, items: &[&Item]) {
    asked.clear();
    let tokens = items.iter().flat_map(|item| (0..item.tokens()).map(|token| item.asks(token)));
    asked.extend((0..).zip(tokens).filter_map(|(row, asks)| asks.then_some(row)));
}

/// Refuses what the model has no table row for, before anything is trained.
fn check_items<'i>(config: &Config, items: impl Iterator<Item = &'i Item>) -> Result<()> {
    let mut batch = Batch::new();
    for item in items {
        fill(&mut batch, &[item]);
        config.check_batch(&batch)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::labelled::TaggedExample;
    use crate::nn::Params;
    use crate::task::Long;
    use crate::task::tag::{Tag, Unit, Words};
    use crate::text::Vocab;
    use crate::train::{Optimizer, OptimizerOptions};

    /// Runs `f` with two learners of the same data, which are at their beginning.
    fn with_twins(batch: usize, f: impl FnOnce([Finetune<'_, Tag>; 2])) {
        let tokens = "[PAD] [UNK] [CLS] [SEP] [MASK] john ##son lives in ber ##lin never seen .";
        let tokenizer = Tokenizer::uncased(Vocab::from_tokens(tokens.split(' ')).unwrap()).unwrap();
        let example = |text: &str, line| {
            let tags = ["B-PER", "O", "O", "B-LOC", "O"].map(str::to_owned).to_vec();
            TaggedExample { text: text.to_owned(), words: Words::of(text, Unit::Words), tags, line }
        };
        let texts = ["johnson lives in berlin .", "berlin lives never john .", "johnson in . . ."];
        let examples: Vec<_> = (0..192).map(|line| example(texts[line / 64], line)).collect();
        let (task, _) = Tag::learn(&examples, Long::new(16)).unwrap();
        let config = Config::preset("tiny", 14).unwrap();
        let options = FinetuneOptions { batch, seed: 1, frozen: None, keep: Keep::Everything };
        f([(); 2].map(|()| Finetune::new(&task, &config, &tokenizer, &examples, &[], options).unwrap()));
    }

    /// What a step finds in the memory of gradients does not matter; rows of the vocabulary that no token names have none.
    #[test]
    fn gradients_are_those_of_new_memory() {
        with_twins(64, compare_gradients);
    }

    fn compare_gradients([mut learner, mut other]: [Finetune<'_, Tag>; 2]) {
        let layout = learner.layout().clone();
        let values = Params::new(layout.clone(), learner.model().config(), 1).values;
        let mut gradients = Gradients::new(&layout);
        let hidden = learner.model().config().hidden_size;
        let row = |token: usize| {
            let table = layout.range(crate::model::names::WORD_EMBEDDINGS).unwrap();
            table.start + token * hidden..table.start + (token + 1) * hidden
        };
        for pass in 0..3 {
            gradients.begin();
            let moment = Moment { pass, progress: 0.0 };
            assert!(learner.gradients(&values, &mut gradients, moment).tokens >= 512, "two halves");
            let mut anew = Gradients::new(&layout);
            other.gradients(&values, &mut anew, moment);
            assert!(gradients.values() == anew.values(), "step {pass}");
            assert_eq!(gradients.squared_norm(), anew.squared_norm());
            assert!(gradients.values()[row(5)].iter().any(|&gradient| gradient != 0.0), "john");
            assert!(gradients.values()[row(12)].iter().all(|&gradient| gradient == 0.0), "seen");
        }
    }

    /// Batches of one text name a few rows each: the parameters are those of steps that all rows took at once.
    #[test]
    fn rows_that_a_batch_does_not_read_take_their_steps_later() {
        with_twins(1, |[mut late, mut other]| {
            let layout = late.layout().clone();
            let start = Params::new(layout.clone(), late.model().config(), 1).values;
            let mut states = [(); 2].map(|()| {
                let optimizer = Optimizer::new(&layout, OptimizerOptions::default());
                (start.clone(), Gradients::new(&layout), optimizer)
            });
            let [(values, gradients, optimizer), (others, other_gradients, other_optimizer)] = &mut states;
            let mut differed = false;
            for pass in 0..12 {
                let moment = Moment { pass, progress: 0.0 };
                optimizer.settle_rows(values, late.rows_ahead().expect("known rows"));
                gradients.begin();
                late.gradients(values, gradients, moment);
                optimizer.step_idly(values, gradients, 1e-2, 1.0);
                other_gradients.begin();
                other.gradients(others, other_gradients, moment);
                other_optimizer.step(others, other_gradients, 1e-2);
                differed |= values != others;
            }
            assert!(differed, "some rows were late");
            optimizer.settle(values);
            assert!(values == others);
            assert_eq!(late.position(), other.position());
        });
    }
}
