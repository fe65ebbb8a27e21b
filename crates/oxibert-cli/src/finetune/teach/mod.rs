//! `finetune translate` and `finetune lm`: models that say tokens, from pairs of texts or from texts alone.

mod base;
pub(crate) mod lm;
mod settings;
pub(crate) mod translate;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::Args;
use oxibert::task::teaching::{Speaker, Teaching};
use oxibert::text::Tokenizer;
use oxibert::train::{Every, Figures, Learner, OPTIMIZER_FILE, Optimizer, Outcome, Report, RunOptions};
use serde_json::{Map, Value, json};

use super::begun::{Options, Recipe, Start};
use crate::choices::Manner;
use crate::given;
use crate::numbers;
use crate::output::{remark, results, short_name};
use crate::watchers::peak;
use base::Base;
pub(crate) use settings::Flags;
use settings::Settings;

/// The flags of both.
#[derive(Debug, Args)]
pub(crate) struct Verb {
    /// The model's shape, to begin with nothing (translate: tiny, small, base, big; lm: tiny, mini, small, medium, base,
    /// large, as BERT's); or a checkpoint directory, to go on with it
    #[arg(long, value_name = "PRESET|DIR")]
    model: String,
    /// The tokenizer of a preset: a directory with vocab.txt [default: learned from --train]
    #[arg(long, value_name = "DIR")]
    vocab: Option<PathBuf>,
    /// Tokens of a vocabulary that is learned
    #[arg(long, value_name = "N", default_value_t = 8000, conflicts_with = "vocab")]
    vocab_size: usize,
    /// Where to write; must be new or empty, unless --resume or --force
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Go on with an interrupted run
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Begin anew where another run stands
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    flags: Flags,
    /// Measure after every so many steps [default: twenty times in a run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    eval_every: Option<u64>,
    /// Write a checkpoint after every so many steps [default: ten times in a run, and every quarter of an hour]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    save_every: Option<u64>,
    #[command(flatten)]
    manner: Manner,
    /// Nobody is told that the run is sick: it is meant to be short.
    #[arg(skip)]
    no_doctor: bool,
}

/// Without dev data one of so many examples is held out, but not more than there are of them.
const HELD_OUT: (usize, usize) = (50, 1000);
/// Steps whose mean is one line of metrics.jsonl.
const LOG_EVERY: u64 = 10;

impl Verb {
    /// A short run that begins with nothing but a shape and a vocabulary.
    pub(crate) fn short(preset: &str, vocab: &Path, out: &Path, flags: Flags, quiet: bool) -> Self {
        Self {
            model: preset.to_owned(),
            vocab: Some(vocab.to_owned()),
            vocab_size: 0,
            out: out.to_owned(),
            resume: false,
            force: true,
            flags,
            eval_every: None,
            save_every: None,
            manner: Manner { quiet, ..Manner::default() },
            no_doctor: true,
        }
    }

    fn options(&self) -> Options {
        Options {
            quiet: self.manner.quiet,
            evaluate_every: self.eval_every,
            save_every: self.save_every,
            resume: self.resume,
            force: self.force,
            no_doctor: self.no_doctor,
        }
    }

    fn note(&self, text: std::fmt::Arguments<'_>) {
        if !self.manner.quiet {
            remark(format_args!("note: {text}"));
        }
    }
}

/// The examples to learn from, and those that are held out to measure with.
fn hold_out<E>(all: Vec<E>) -> [Vec<E>; 2] {
    let (one_of, most) = HELD_OUT;
    let every = all.len().clamp(2, one_of).max(all.len().div_ceil(most));
    let (mut training, mut dev) = (Vec::new(), Vec::new());
    for (number, example) in all.into_iter().enumerate() {
        if (number + 1).is_multiple_of(every) { &mut dev } else { &mut training }.push(example);
    }
    [training, dev]
}

/// One run.
struct Lesson<'a> {
    verb: &'a Verb,
    /// The task's name at the command line.
    name: &'static str,
    /// The task's own flags.
    job: Map<String, Value>,
    settings: &'a Settings,
    tokenizer: &'a Tokenizer,
}

/// What came out.
pub(crate) struct Taught {
    pub(crate) outcome: Outcome,
    /// Of the best model on the dev data.
    pub(crate) figures: Figures,
    report: Report,
}

impl Lesson<'_> {
    /// Learns until the end, or until a person stops it; at the end the best model is measured once more and put into the run's
    /// directory.
    fn teach<S: Speaker>(
        &self,
        learner: &mut Teaching<S>,
        known: Option<Vec<f32>>,
        stop: &AtomicBool,
    ) -> Result<Taught> {
        let start = self.start(learner, known)?;
        let (schedule, settings) = (self.settings.schedule()?, given::list(self.settings));
        let options = self.run_options(learner)?;
        let (outcome, store, report) =
            start.train(learner, schedule, settings, options, self.verb.options(), stop)?;
        let best = store.best();
        let mut figures = Figures::default();
        if outcome.complete && best.exists() {
            let values = learner.load(&best)?;
            figures = learner.evaluate(&values).unwrap_or_default();
            store.publish(&best)?;
        }
        Ok(Taught { outcome, figures, report })
    }

    /// A new run, or where an interrupted one stands.
    fn start<S: Speaker>(&self, learner: &Teaching<S>, known: Option<Vec<f32>>) -> Result<Start> {
        let data = format!("{:016x}:{}", self.tokenizer.vocab().fingerprint(), learner.fingerprint());
        let recipe = Recipe::new(self.name, self.job.clone(), &self.verb.model, data, self.settings.clone());
        let (store, checkpoint) = recipe.begin(&self.verb.out, self.verb.options())?;
        let (values, optimizer) = match &checkpoint {
            None => (
                known.unwrap_or_else(|| learner.initial(self.settings.seed)),
                Optimizer::new(learner.layout(), self.settings.optimizer()),
            ),
            Some(checkpoint) => {
                let state = checkpoint.directory.join(OPTIMIZER_FILE);
                let optimizer = Optimizer::load(&state, learner.layout(), self.settings.optimizer())?;
                (learner.load(&checkpoint.directory)?, optimizer)
            }
        };
        Ok(Start { values, optimizer, store, checkpoint })
    }

    fn run_options<S: Speaker>(&self, learner: &Teaching<S>) -> Result<RunOptions> {
        let parameters = numbers::count(learner.layout().len() as u64);
        let examples = numbers::grouped(learner.examples() as u64);
        let Verb { model, eval_every, save_every, .. } = self.verb;
        let model = short_name(model);
        Ok(RunOptions {
            title: format!("{}, {model}, {parameters} parameters, {examples} examples", self.name),
            limit: self.settings.limit(learner.tokens())?,
            accumulate: self.settings.accumulate,
            log_every: LOG_EVERY,
            evaluate_every: eval_every.map_or(Every::Share(0.05), Every::Steps),
            save_every: save_every.map_or(Every::Share(0.1), Every::Steps),
            keep: 1,
            peak: peak(self.settings.bf16),
            patience: self.settings.patience,
            bf16: self.settings.bf16,
        })
    }
}

impl Verb {
    /// Says what came out; `example` is a text to try the model with, `attempt` the verb for it.
    fn summarise(&self, taught: &Taught, example: &str, attempt: &str) -> Result<()> {
        let Taught { outcome, figures, .. } = taught;
        let (mut out, place) = (results(), self.out.display());
        if !outcome.complete {
            remark(format_args!("stopped after step {}, saved; add --resume to go on", outcome.step));
        }
        if self.manner.json {
            let mut all =
                json!({"steps": outcome.step, "complete": outcome.complete, "seconds": outcome.seconds});
            figures.iter().for_each(|(name, value)| all[name] = json!(value));
            writeln!(out, "{all}")?;
        } else if outcome.complete && !self.manner.quiet {
            writeln!(out, "{} in {}", numbers::steps(outcome.step), numbers::duration(outcome.seconds))?;
            let all: Vec<String> = figures.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
            writeln!(out, "the best model on dev data: {}", all.join(", "))?;
            writeln!(out, "It is in {place}, the curves are in {place}/report.html. Try it:")?;
            writeln!(out, "  echo {example:?} | oxibert {attempt} --model {place}")?;
        }
        Ok(out.flush()?)
    }
}
