//! `oxibert finetune`: a checkpoint and labelled data to a checkpoint that does a task.

mod begun;
mod card;
mod settings;
pub(crate) mod teach;
mod trial;
mod trials;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use oxibert::model::{Checkpoint, Config, PRESETS, Weights};
use oxibert::text::Tokenizer;

use crate::choices::{Manner, note_case};
use crate::hub;
use crate::output::remark;
use crate::tasks::{Example, Job, LongFlags, Tasks, Work, say, usual};
pub(crate) use begun::Options;
pub(crate) use settings::{Flags, Settings};
pub(crate) use trial::Trial;

/// A checkpoint and labelled data to a model that does a task
///
/// The model of the best evaluation ends up in the output directory, with its tokenizer and a model card; `transformers` loads
/// it too. metrics.jsonl, TensorBoard's files and report.html (curves, confusion matrix, the surest mistakes) are written while
/// it learns. Ctrl-C finishes the step and saves; --resume goes on as if nothing had happened, bit for bit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert finetune classify --model bert-base-uncased --train train.tsv --dev dev.tsv --out mood
  oxibert finetune classify --model DIR --train a.csv --text review --label stars --out s --search
  oxibert finetune classify --model DIR --train sts.tsv --regression --out similarity
  oxibert finetune tag --model bert-base-chinese --train ner.txt --out names --seeds 3
  oxibert finetune answer --model DIR --train train-v1.1.json --dev dev-v1.1.json --out reader
  oxibert finetune choose --model DIR --train swag.jsonl --out chooser --resume
  oxibert finetune translate --model small --train pairs.tsv --out en-es --time-budget 1h
  oxibert finetune lm --model mini --train stories.txt --out teller

`oxibert finetune TASK --help` has all flags.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// BERT with a head
    #[command(flatten)]
    Labelled(Tasks<Verb>),
    Translate(teach::translate::Arguments),
    Lm(teach::lm::Arguments),
}

/// The flags of every task of labelled data.
#[derive(Debug, Args)]
pub(crate) struct Verb {
    /// The checkpoint to begin with: a directory, or a name on the Hugging Face hub; or a preset (tiny, mini, small, medium,
    /// base, large) with --vocab, to begin with nothing
    #[arg(long, value_name = "DIR|NAME|PRESET")]
    pub(crate) model: String,
    /// The tokenizer of a preset: a directory with vocab.txt
    #[arg(long, value_name = "DIR")]
    pub(crate) vocab: Option<PathBuf>,
    /// Labelled data to learn from
    #[arg(long, value_name = "FILE")]
    pub(crate) train: PathBuf,
    /// Labelled data to measure with: the best model on them is kept [default: every tenth example of --train]
    #[arg(long, value_name = "FILE")]
    pub(crate) dev: Option<PathBuf>,
    /// Where to write; must be new or empty, unless --resume or --force
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Go on with an interrupted run
    #[arg(long, conflicts_with = "force")]
    pub(crate) resume: bool,
    /// Begin anew where another run stands
    #[arg(long)]
    pub(crate) force: bool,
    /// Learn so many times with other seeds; the best is kept, mean and deviation are told
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Training")]
    pub(crate) seeds: Option<u16>,
    /// Try the paper's grid (batch 16, 32; lr 5e-5, 3e-5, 2e-5; epochs 3, 4) and keep the best
    #[arg(long, conflicts_with_all = ["batch", "lr", "epochs"], help_heading = "Training")]
    pub(crate) search: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    pub(crate) long: LongFlags,
    /// Measure after every so many steps [default: after every epoch]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) eval_every: Option<u64>,
    /// Write a checkpoint after every so many steps [default: after every epoch, and every quarter of an hour]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) save_every: Option<u64>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// Every so many examples, one is held out where no dev data are given.
const HELD_OUT: usize = 10;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.task {
        Task::Labelled(task) => task.run(Finetune),
        Task::Translate(arguments) => teach::translate::run(arguments),
        Task::Lm(arguments) => teach::lm::run(arguments),
    }
}

struct Finetune;

impl Work<Verb> for Finetune {
    fn work<J: Job>(self, job: &J, verb: &Verb) -> Result<()> {
        verb.manner.threads.install()?;
        let base = Base::open(&verb.model, verb.vocab.as_deref())?;
        note_case(&base.tokenizer);
        let data = read(job, verb)?;
        let long = verb.long.over(usual::<J>(&base.config))?;
        let (task, notes) = job.learn(&data.training, long)?;
        say(&verb.train, &notes, verb.manner.quiet);
        job.remarks(&task, &data.dev).iter().for_each(|text| remark(format_args!("{text}")));
        trials::run(job, verb, &base, &task, long, &data)
    }
}

/// What fine-tuning begins with.
pub(crate) struct Base {
    pub(crate) name: String,
    pub(crate) config: Config,
    /// Absent where nothing was learned before.
    pub(crate) weights: Option<Weights>,
    pub(crate) tokenizer: Tokenizer,
}

impl Base {
    pub(crate) fn open(model: &str, vocab: Option<&Path>) -> Result<Self> {
        let name = model.to_owned();
        if PRESETS.contains(&model) && !Path::new(model).exists() {
            let vocab = vocab.with_context(|| {
                format!("--model {model}: a preset begins with nothing and needs a vocabulary: add --vocab DIR (see `oxibert vocab`)")
            })?;
            let tokenizer = Tokenizer::load(vocab)?;
            let config = Config::preset(model, tokenizer.vocab().len())?;
            return Ok(Self { name, config, weights: None, tokenizer });
        }
        if vocab.is_some() {
            bail!(
                "--vocab: the checkpoint {model} has its own; leave it out, or name a preset ({})",
                PRESETS.join(", ")
            );
        }
        let place = hub::resolve(model)?;
        let Checkpoint { config, weights } = Checkpoint::open(&place)?;
        let directory = if place.is_dir() { &place } else { place.parent().unwrap_or(Path::new("")) };
        Ok(Self { name, config, weights: Some(weights), tokenizer: Tokenizer::load(directory)? })
    }
}

/// Labelled examples.
pub(crate) struct Data<E> {
    pub(crate) training: Vec<E>,
    pub(crate) dev: Vec<E>,
}

fn read<J: Job>(job: &J, verb: &Verb) -> Result<Data<Example<J>>> {
    let training = job.read(&verb.train, true)?;
    say(&verb.train, &training.notes, verb.manner.quiet);
    let Some(path) = &verb.dev else {
        return Ok(hold_out(training.examples, verb.manner.quiet));
    };
    let dev = job.read(path, true)?;
    say(path, &dev.notes, verb.manner.quiet);
    Ok(Data { training: training.examples, dev: dev.examples })
}

/// Every tenth example measures the others.
fn hold_out<E>(all: Vec<E>, quiet: bool) -> Data<E> {
    let mut data = Data { training: Vec::new(), dev: Vec::new() };
    for (number, example) in all.into_iter().enumerate() {
        let held_out = number % HELD_OUT == HELD_OUT - 1;
        if held_out { &mut data.dev } else { &mut data.training }.push(example);
    }
    if !quiet {
        remark(format_args!(
            "no --dev: every tenth example ({}) is held out to measure with",
            data.dev.len()
        ));
    }
    data
}
