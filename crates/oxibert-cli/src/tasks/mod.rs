//! The tasks at the command line: how each reads its data, finds itself in them, and shows its answers.

pub(crate) mod answer;
pub(crate) mod choose;
pub(crate) mod classify;
pub(crate) mod tag;

use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};
use oxibert::data::labelled::{Labelled, Stream};
use oxibert::infer::Predictor;
use oxibert::model::Config;
use oxibert::task::{Long, Pool, Task};
use oxibert::text::LongText;
use serde::Serialize;
use serde_json::Value;

use crate::hub;
use crate::output::remark;

/// What BERT was pretrained with.
const LONGEST: usize = 512;

/// What a verb knows of a task.
pub(crate) trait Job: Serialize + Sync {
    type Task: Task;

    /// Its name at the command line.
    const NAME: &'static str;
    /// The most tokens of a sequence where nothing is said.
    const MAX_LENGTH: usize;
    /// What happens to longer texts where nothing is said.
    const LONG: LongText = LongText::Head;

    /// The examples of a file; labels must be there where they are needed.
    fn read(&self, path: &Path, labels: bool) -> Result<Labelled<Example<Self>>>;

    /// The task that training data speak of, and what a person should know about them.
    fn learn(&self, training: &[Example<Self>], long: Long) -> Result<(Self::Task, Vec<String>)>;

    /// The task of a checkpoint.
    fn open(&self, config: &Config, long: Long) -> Result<Self::Task>;

    /// What a person should know about data that training has not seen.
    fn remarks(&self, _task: &Self::Task, _examples: &[Example<Self>]) -> Vec<String> {
        Vec::new()
    }

    /// Every example of a stream, or what is wrong with it, one after the other.
    fn each(&self, task: &Self::Task, path: &Path, take: &mut Take<'_, Self>) -> Result<()>;

    /// The answer for machines.
    fn json(&self, task: &Self::Task, example: &Example<Self>, answer: &Answer<Self>) -> Value;

    /// The answer for people, on one line.
    fn line(&self, task: &Self::Task, example: &Example<Self>, answer: &Answer<Self>) -> String;
}

pub(crate) type Example<J> = <<J as Job>::Task as Task>::Example;
pub(crate) type Answer<J> = <<J as Job>::Task as Task>::Answer;
/// Takes the next example of a stream, or a line that is none.
pub(crate) type Take<'t, J> = dyn FnMut(Result<Example<J>, BadLine>) -> Result<()> + 't;

/// A line that cannot be answered.
#[derive(Debug)]
pub(crate) struct BadLine {
    pub(crate) line: usize,
    pub(crate) problem: String,
}

/// A task with the flags that are its own.
#[derive(Debug, Subcommand)]
pub(crate) enum Tasks<C: Args> {
    /// A text or a pair of texts to a class (--multi-label: to several, --regression: to a number)
    Classify(With<classify::Flags, C>),
    /// Words to tags: names of people, places, …
    Tag(With<tag::Flags, C>),
    /// A question and a paragraph to the answer in it
    Answer(With<answer::Flags, C>),
    /// Which of several continuations fits
    Choose(With<choose::Flags, C>),
}

/// A task's own flags beside those of the verb.
#[derive(Debug, Args)]
pub(crate) struct With<J: Args, C: Args> {
    #[command(flatten)]
    pub(crate) job: J,
    #[command(flatten)]
    pub(crate) verb: C,
}

/// What a verb does with any task.
pub(crate) trait Work<C> {
    fn work<J: Job>(self, job: &J, verb: &C) -> Result<()>;
}

impl<C: Args> Tasks<C> {
    /// Does a verb's work for the task that was chosen.
    pub(crate) fn run(&self, work: impl Work<C>) -> Result<()> {
        match self {
            Self::Classify(With { job, verb }) => work.work(job, verb),
            Self::Tag(With { job, verb }) => work.work(job, verb),
            Self::Answer(With { job, verb }) => work.work(job, verb),
            Self::Choose(With { job, verb }) => work.work(job, verb),
        }
    }
}

/// What happens to long texts.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub(crate) struct LongFlags {
    /// Tokens of a sequence at most [default: the checkpoint's, or 128; answer: 384]
    #[arg(long, value_name = "N", help_heading = "Long texts")]
    pub(crate) max_length: Option<usize>,
    /// What is read of a longer text: head, tail, head+tail or sliding (all of it, in windows) [default: head; answer: sliding]
    #[arg(long, value_name = "MODE", help_heading = "Long texts")]
    pub(crate) long: Option<String>,
    /// Tokens that neighbouring windows share [default: a quarter of the window; answer: 128]
    #[arg(long, value_name = "N", help_heading = "Long texts")]
    pub(crate) stride: Option<usize>,
    /// How the answers about windows become one: mean, max or vote [default: mean]
    #[arg(long, value_name = "HOW", help_heading = "Long texts")]
    pub(crate) pool: Option<String>,
}

impl LongFlags {
    /// These flags over what a checkpoint says of itself. One that was fine-tuned elsewhere says nothing: it may read as much
    /// as BERT can.
    pub(crate) fn of<J: Job>(&self, config: &Config) -> Result<Long> {
        let most = if J::LONG == LongText::Head { LONGEST } else { J::MAX_LENGTH };
        let foreign = Long { mode: J::LONG, ..Long::new(most.min(config.max_position_embeddings)) };
        self.over(Long::of(config).unwrap_or(foreign))
    }

    /// These flags over what is known already.
    pub(crate) fn over(&self, known: Long) -> Result<Long> {
        let mut long = known;
        if let Some(length) = self.max_length {
            long.max_length = length;
        }
        if let Some(mode) = &self.long {
            long.mode = mode.parse()?;
        }
        if let (LongText::Sliding { stride }, Some(given)) = (&mut long.mode, self.stride) {
            *stride = Some(given);
        }
        if let Some(pool) = &self.pool {
            long.pool = pool.parse::<Pool>()?;
        }
        Ok(long)
    }
}

/// Opens a model that was fine-tuned for a task.
pub(crate) fn open<J: Job>(job: &J, model: &str, long: &LongFlags) -> Result<Predictor<J::Task>> {
    let place = hub::resolve(model)?;
    let predictor = Predictor::open(&place, |config| {
        let long = long.of::<J>(config).map_err(setting)?;
        job.open(config, long).map_err(setting)
    })?;
    Ok(predictor)
}

/// How long texts are read where nothing is said.
pub(crate) fn usual<J: Job>(config: &Config) -> Long {
    Long { mode: J::LONG, ..Long::new(J::MAX_LENGTH.min(config.max_position_embeddings)) }
}

/// Says what a reader noticed.
pub(crate) fn say(path: &Path, notes: &[String], quiet: bool) {
    if !quiet {
        notes.iter().for_each(|note| remark(format_args!("{}: {note}", path.display())));
    }
}

/// Every line of a file or of standard input as an example, as soon as it has arrived.
fn each_line<J: Job>(
    path: &Path,
    take: &mut Take<'_, J>,
    parse: impl Fn(String) -> Result<Example<J>, String>,
) -> Result<()> {
    Stream::open(path)?.try_for_each(|next| {
        take(
            next.map_err(bad_line)
                .and_then(|(line, text)| parse(text).map_err(|problem| BadLine { line, problem })),
        )
    })
}

/// What a reader says of a line that is no text.
fn bad_line(error: oxibert::Error) -> BadLine {
    match error {
        oxibert::Error::Content { line, problem, .. } => BadLine { line: line.unwrap_or(0), problem },
        other => BadLine { line: 0, problem: other.to_string() },
    }
}

/// An error of the command line as the library's own, for those that the library calls.
pub(crate) fn setting(error: anyhow::Error) -> oxibert::Error {
    error
        .downcast::<oxibert::Error>()
        .unwrap_or_else(|error| oxibert::Error::setting("task", error.to_string()))
}

/// A span of bytes as characters, which is how other programs count.
fn characters(text: &str, start: usize, end: usize) -> (usize, usize) {
    let before = text[..start].chars().count();
    (before, before + text[start..end].chars().count())
}
