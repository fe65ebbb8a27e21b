//! A fine-tuned checkpoint that answers its task's questions.

use std::path::Path;

use crate::data::Batch;
use crate::model::{Checkpoint, Config, TaskModel, TaskWork};
use crate::nn::frozen::Frozen;
use crate::progress::Progress;
use crate::task::ask::{ask, encode, fill};
use crate::task::{Item, Task};
use crate::text::Tokenizer;
use crate::{Error, Result};

/// A model with a task's head, its tokenizer and its task. It can be shared between threads.
#[derive(Debug)]
pub struct Predictor<T> {
    task: T,
    model: TaskModel,
    numbers: Frozen,
    tokenizer: Tokenizer,
}

impl<T: Task> Predictor<T> {
    /// Opens a checkpoint directory; `task` makes the task that its configuration speaks of. One that was trained for
    /// another task is refused.
    pub fn open(directory: &Path, task: impl FnOnce(&Config) -> Result<T>) -> Result<Self> {
        let (checkpoint, tokenizer) =
            rayon::join(|| Checkpoint::open(directory), || Tokenizer::load(directory));
        let Checkpoint { config, weights } = checkpoint?;
        let task = task(&config)?;
        check_architecture(&task, &config, directory)?;
        let model = TaskModel::new(&config, task.head());
        let numbers = Frozen::new(weights, model.layout().clone())?;
        Ok(Self { task, model, numbers, tokenizer: tokenizer? })
    }

    /// The task.
    pub fn task(&self) -> &T {
        &self.task
    }

    /// The model's shape.
    pub fn config(&self) -> &Config {
        self.model.config()
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The answers to these examples, in their order.
    pub fn answers(&self, examples: &[T::Example], progress: &dyn Progress) -> Result<Vec<T::Answer>> {
        let items = encode(&self.task, &self.tokenizer, examples)?;
        self.check(&items)?;
        let (examples, mut work) = ((examples, &items[..]), TaskWork::default());
        Ok(ask(&self.task, &self.model, &self.numbers, examples, &mut work, progress).answers)
    }

    fn check(&self, items: &[Vec<Item>]) -> Result<()> {
        let mut batch = Batch::new();
        items.iter().flatten().try_for_each(|item| {
            fill(&mut batch, &[item]);
            self.config().check_batch(&batch)
        })
    }
}

/// Tagging and classification have heads of the same name: only the architecture tells them apart.
fn check_architecture<T: Task>(task: &T, config: &Config, directory: &Path) -> Result<()> {
    let mut own = config.clone();
    task.configure(&mut own);
    if config.architectures.is_empty() || config.architectures == own.architectures {
        return Ok(());
    }
    let problem = format!(
        "it is a {}, expected a {}; choose the task that it was fine-tuned for, or fine-tune it for this one",
        config.architectures.join(", "),
        own.architectures.join(", ")
    );
    Err(Error::content(&directory.join("config.json"), None, problem))
}
