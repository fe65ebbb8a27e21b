//! `oxibert finetune translate`: pairs of sentences to a Transformer that translates.

mod base;
mod settings;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use clap::Args;
use oxibert::data::{Incomplete, Pair, Pairs, files};
use oxibert::model::transformer::{Checkpoint, Config};
use oxibert::task::metrics::translation::{Tokenization, bleu};
use oxibert::task::translate::Translate;
use oxibert::train::{
    About, Body, Doctor, DoctorOptions, Every, Figures, Learner, OPTIMIZER_FILE, Optimizer, Outcome, Report, Run,
    RunOptions, Section, Store, Stored,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::choices::Threads;
use crate::given;
use crate::numbers;
use crate::output::{remark, results};
use crate::watchers::{Watchers, listen, peak};
use base::Base;
use settings::{Flags, Settings};

/// Pairs of sentences to a Transformer that translates
///
/// The model of the best evaluation ends up in the output directory, with its tokenizer; `transformers` loads it as
/// MarianMTModel. metrics.jsonl, TensorBoard's files and report.html (curves, BLEU, translations) are written while it
/// learns. Ctrl-C finishes the step and saves; --resume goes on as if nothing had happened, bit for bit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert finetune translate --model small --train spa.tsv.gz --out en-es --time-budget 1h
  oxibert finetune translate --model small --train train.en train.de --dev val.en val.de --out en-de --epochs 20
  oxibert finetune translate --model base --vocab my-vocab --train pairs.tsv --dev dev.tsv --out my-model --steps 100000
  oxibert finetune translate --model en-de --train more.tsv --out en-de-more --epochs 3
  oxibert finetune translate --model small --train spa.tsv.gz --out en-es --time-budget 1h --resume")]
pub(crate) struct Arguments {
    /// The model's shape (tiny, small, base, big), to begin with nothing; or a checkpoint directory, to go on with it
    #[arg(long, value_name = "PRESET|DIR")]
    model: String,
    /// The tokenizer of a preset: a directory with vocab.txt, of both languages [default: learned from --train]
    #[arg(long, value_name = "DIR")]
    vocab: Option<PathBuf>,
    /// Tokens of a vocabulary that is learned
    #[arg(long, value_name = "N", default_value_t = 8000, conflicts_with = "vocab")]
    vocab_size: usize,
    /// Pairs to learn from: a file of lines `source TAB target`, or two files of aligned lines
    #[arg(long, value_name = "FILE", num_args = 1..=2, required = true)]
    train: Vec<PathBuf>,
    /// Pairs to measure with: the best model on them is kept [default: some of --train]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    dev: Vec<PathBuf>,
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
    /// How many of the dev pairs are translated for BLEU each time
    #[arg(long, value_name = "N", default_value_t = 200)]
    eval_pairs: usize,
    /// Write a checkpoint after every so many steps [default: ten times in a run, and every quarter of an hour]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    save_every: Option<u64>,
    #[command(flatten)]
    threads: Threads,
    /// No progress, only warnings
    #[arg(long)]
    quiet: bool,
    /// The summary as one JSON object
    #[arg(long)]
    json: bool,
}

/// The file that says what a run was begun with.
const RUN_FILE: &str = "run.json";
const VERSION: u32 = 1;
/// Without dev data one of so many pairs is held out, but not more than there are of them.
const HELD_OUT: (usize, usize) = (50, 1000);
/// Steps whose mean is one line of metrics.jsonl.
const LOG_EVERY: u64 = 10;
/// Translations in the report.
const SHOWN: usize = 20;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.threads.install()?;
    let data = Data::load(arguments)?;
    let base = Base::open(arguments, &data.training)?;
    let settings = arguments.flags.decide(base.config.d_model)?;
    let stop = listen()?;
    let trial = Trial { arguments, data, base, settings };
    let (outcome, figures) = trial.run(&stop)?;
    trial.summarise(&outcome, &figures)
}

/// What is learned from and what is measured with.
struct Data {
    training: Vec<Pair>,
    dev: Vec<Pair>,
}

impl Data {
    fn load(arguments: &Arguments) -> Result<Self> {
        let read = |files: &[PathBuf]| -> Result<Vec<Pair>> {
            let Pairs { pairs, notes, .. } = Pairs::load(files, Incomplete::Skip)?;
            if !arguments.quiet {
                notes.iter().for_each(|note| remark(format_args!("note: {note}")));
            }
            Ok(pairs)
        };
        let training = read(&arguments.train)?;
        if !arguments.dev.is_empty() {
            return Ok(Self { training, dev: read(&arguments.dev)? });
        }
        let (one_of, most) = HELD_OUT;
        let every = one_of.max(training.len().div_ceil(most));
        let split = training.into_iter().enumerate().partition::<Vec<_>, _>(|(at, _)| (at + 1).is_multiple_of(every));
        let [dev, training] = [split.0, split.1].map(|part| part.into_iter().map(|(_, pair)| pair).collect());
        Ok(Self { training, dev })
    }

    /// What tells these pairs from others.
    fn fingerprint(&self) -> u64 {
        // FNV-1a, with an end behind every text.
        let texts = self.training.iter().chain(&self.dev).flat_map(|pair| [&pair.source, &pair.target]);
        texts.flat_map(|text| text.bytes().chain([b'\n'])).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// What a run was begun with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    version: u32,
    task: String,
    model: String,
    /// What tells these pairs and this vocabulary from others.
    data: String,
    settings: Settings,
}

/// Everything that a run is made of.
struct Trial<'a> {
    arguments: &'a Arguments,
    data: Data,
    base: Base,
    settings: Settings,
}

/// Where a run begins.
struct Start {
    values: Vec<f32>,
    optimizer: Optimizer,
    store: Store,
    checkpoint: Option<Stored>,
}

impl Trial<'_> {
    /// Learns until the end, or until `stop` is set; the figures are those of the best model.
    fn run(&self, stop: &AtomicBool) -> Result<(Outcome, Figures)> {
        let config = self.config()?;
        let Data { training, dev } = &self.data;
        let references: Vec<&str> = dev.iter().map(|pair| pair.target.as_str()).collect();
        let tokenization = Tokenization::suited_to(&references);
        let score = |ours: &[String], theirs: &[String]| bleu(ours, theirs, tokenization).score;
        let measured = &dev[..dev.len().min(self.arguments.eval_pairs)];
        let task = Translate::new(&config, &self.base.tokenizer, training, dev, self.settings.data())?;
        let mut task = task.scored(measured, ("bleu", &score));
        self.note_left_out(task.left_out());
        let Start { values, optimizer, mut store, checkpoint } = self.start(&task)?;
        let title = self.title(&task);
        let about = About { title: title.clone(), settings: given::list(&self.settings), baselines: Vec::new() };
        let (out, step) = (&self.arguments.out, checkpoint.as_ref().map(|checkpoint| checkpoint.step));
        let mut watchers = Watchers::new(out, &out.join("report.html"), about, self.arguments.quiet, step)?;
        let (options, schedule) = (self.options(title, &task)?, self.settings.schedule()?);
        let doctor = Doctor::new(DoctorOptions::default());
        let mut run = Run::new(&mut task, values, optimizer, schedule, options, &mut store).consult(doctor);
        if let Some(checkpoint) = &checkpoint {
            run = run.resume(checkpoint)?;
        }
        let Watchers { journal, tensorboard, report, live } = &mut watchers;
        let (outcome, _) = run.watch(journal).watch(tensorboard).watch(report).watch(live).train(stop)?;
        let figures = match outcome.complete {
            true => finish(&mut task, &store, &mut watchers.report)?,
            false => Figures::default(),
        };
        Ok((outcome, figures))
    }

    fn config(&self) -> Result<Config> {
        let config = self.settings.applied(&self.base.config)?;
        if self.base.checkpoint.is_some() && config.normalize_before != self.base.config.normalize_before {
            bail!("--pre-norm: the checkpoint {} was trained without it", self.arguments.model);
        }
        Ok(config)
    }

    fn note_left_out(&self, left_out: usize) {
        if left_out > 0 && !self.arguments.quiet {
            let longest = self.base.config.max_position_embeddings;
            remark(format_args!(
                "note: {left_out} pairs were left out, because a side has no known token or more than {longest} tokens"
            ));
        }
    }

    fn title(&self, task: &Translate<'_>) -> String {
        let parameters = numbers::count(task.model().layout().len() as u64);
        let pairs = numbers::grouped(task.examples() as u64);
        format!("translation, {}, {parameters} parameters, {pairs} pairs", self.arguments.model)
    }

    fn options(&self, title: String, task: &Translate<'_>) -> Result<RunOptions> {
        Ok(RunOptions {
            title,
            limit: self.settings.limit(task.tokens())?,
            accumulate: self.settings.accumulate,
            log_every: LOG_EVERY,
            evaluate_every: self.arguments.eval_every.map_or(Every::Share(0.05), Every::Steps),
            save_every: self.arguments.save_every.map_or(Every::Share(0.1), Every::Steps),
            keep: 1,
            peak: peak(),
        })
    }

    fn recipe(&self) -> Recipe {
        let vocabulary = self.base.tokenizer.vocab().fingerprint();
        Recipe {
            version: VERSION,
            task: "translate".to_owned(),
            model: self.arguments.model.clone(),
            data: format!("{vocabulary:016x}:{:016x}", self.data.fingerprint()),
            settings: self.settings.clone(),
        }
    }

    /// A new run, or where an interrupted one stands.
    fn start(&self, task: &Translate<'_>) -> Result<Start> {
        let (out, recipe) = (&self.arguments.out, self.recipe());
        let store = if self.arguments.resume {
            check_same(&recipe, out)?;
            Store::open(out)?
        } else {
            let store = Store::create(out, self.arguments.force)?;
            files::save(&out.join(RUN_FILE), |file| Ok(serde_json::to_writer_pretty(file, &recipe)?))?;
            store
        };
        let layout = task.model().layout();
        if !store.has_checkpoints()? {
            let values = match &self.base.checkpoint {
                Some(checkpoint) => checkpoint.load()?.1.values,
                None => task.model().initial(self.settings.seed).values,
            };
            let optimizer = Optimizer::new(layout, self.settings.optimizer());
            return Ok(Start { values, optimizer, store, checkpoint: None });
        }
        let latest = store.latest()?;
        for skipped in &latest.skipped {
            let (directory, reason) = (skipped.directory.display(), &skipped.reason);
            remark(format_args!("note: {directory} is damaged ({reason}); going back"));
        }
        let directory = &latest.checkpoint.directory;
        let values = Checkpoint::open(directory)?.load()?.1.values;
        let state = directory.join(OPTIMIZER_FILE);
        let optimizer = Optimizer::load(&state, layout, self.settings.optimizer())?;
        Ok(Start { values, optimizer, store, checkpoint: Some(latest.checkpoint) })
    }

    fn summarise(&self, outcome: &Outcome, figures: &Figures) -> Result<()> {
        let mut out = results();
        let place = self.arguments.out.display();
        if !outcome.complete {
            remark(format_args!("stopped after step {}, saved; add --resume to go on", outcome.step));
        }
        if self.arguments.json {
            let mut all =
                json!({"steps": outcome.step, "complete": outcome.complete, "seconds": outcome.seconds});
            figures.iter().for_each(|(name, value)| all[name] = json!(value));
            writeln!(out, "{all}")?;
        } else if outcome.complete && !self.arguments.quiet {
            writeln!(out, "{} steps in {}", outcome.step, numbers::duration(outcome.seconds))?;
            let all: Vec<String> = figures.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
            writeln!(out, "the best model on dev pairs: {}", all.join(", "))?;
            writeln!(out, "It is in {place}, the curves and some translations are in {place}/report.html. Try it:")?;
            writeln!(out, "  echo {:?} | oxibert translate --model {place}", self.example())?;
        }
        Ok(out.flush()?)
    }

    /// A sentence to try, from the dev data.
    fn example(&self) -> &str {
        self.data.dev.first().or(self.data.training.first()).map_or("", |pair| pair.source.as_str())
    }
}

/// The best model is measured once more, shown, and put into the run's directory.
fn finish(task: &mut Translate<'_>, store: &Store, report: &mut Report) -> Result<Figures> {
    let best = store.best();
    if !best.exists() {
        return Ok(Figures::default());
    }
    let (_, params) = Checkpoint::open(&best)?.load()?;
    let figures = task.evaluate(&params.values).unwrap_or_default();
    store.publish(&best)?;
    let row = |sample: &oxibert::task::translate::Sample| {
        vec![sample.source.clone(), sample.translation.clone(), sample.reference.clone()]
    };
    let head = ["source / 原文", "translation / 译文", "reference / 参考译文"].map(str::to_owned).to_vec();
    let rows = task.samples().iter().take(SHOWN).map(row).collect();
    let title = "Translations of dev sentences / 验证句子的译文".to_owned();
    report.add(Section { title, body: Body::Table { head, rows } })?;
    Ok(figures)
}

/// A run goes on only with what it was begun with.
fn check_same(recipe: &Recipe, out: &Path) -> Result<()> {
    let path = out.join(RUN_FILE);
    if !path.exists() {
        bail!(
            "--resume: there is no run in {} ({RUN_FILE} is missing); leave --resume out to begin one",
            out.display()
        );
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let before: Recipe = serde_json::from_str(&text)
        .with_context(|| format!("{}: not what a run of this version writes", path.display()))?;
    if (&before.task, &before.model) != (&recipe.task, &recipe.model) {
        let Recipe { task, model, .. } = &before;
        bail!("--resume: the run in {} was begun as {task} with --model {model}", out.display());
    }
    given::check(&before.settings, &given::fields(&recipe.settings))?;
    if before.data != recipe.data {
        let place = out.display();
        bail!("--resume: the run in {place} was begun with other pairs or another vocabulary; name those");
    }
    Ok(())
}
