//! `oxibert finetune translate`: pairs of sentences to a Transformer that translates.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use oxibert::data::{Corpus, Incomplete, Pair, Pairs};
use oxibert::model::transformer::Config;
use oxibert::task::metrics::translation::{Tokenization, bleu};
use oxibert::task::translate::{Sample, Translate};
use oxibert::text::{Familiar, Tokenizer};
use oxibert::train::{Body, Section};
use serde::Serialize;

use super::settings::Settings;
use super::{Base, Lesson, Taught, Verb, hold_out};
use crate::given;
use crate::watchers::listen;

/// Pairs of sentences to a Transformer that translates
///
/// The model of the best evaluation ends up in the output directory, with its tokenizer; `transformers` loads it as
/// MarianMTModel. metrics.jsonl, TensorBoard's files and report.html (curves, BLEU, translations) are written while it
/// learns. Ctrl-C finishes the step and saves; --resume goes on as if nothing had happened, bit for bit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert finetune translate --model small --train spa.tsv.gz --out en-es --time-budget 1h
  oxibert finetune translate --model small --train train.en train.de --dev val.en val.de --out DIR
  oxibert finetune translate --model base --vocab DIR --train pairs.tsv --out en-de --steps 100000
  oxibert finetune translate --model en-de --train more.tsv --out en-de-more --epochs 3
  oxibert finetune translate --model small --train pairs.tsv --out en-es --steps 9000 --resume")]
pub(crate) struct Arguments {
    /// Pairs to learn from: a file of lines `source TAB target`, or two files of aligned lines
    #[arg(long, value_name = "FILE", num_args = 1..=2, required = true)]
    train: Vec<PathBuf>,
    /// Pairs to measure with: the best model on them is kept [default: some of --train]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    dev: Vec<PathBuf>,
    #[command(flatten)]
    job: Job,
    #[command(flatten)]
    verb: Verb,
}

/// The task's own flags.
#[derive(Debug, Default, Args, Serialize)]
#[group(skip)]
pub(crate) struct Job {
    /// How many of the dev pairs are translated for BLEU each time
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) eval_pairs: usize,
    /// LayerNorm before every sub-layer instead of behind it; `transformers` has no such model
    #[arg(long, help_heading = "Training")]
    pub(crate) pre_norm: bool,
    /// What is not shared, one or both [default: one table for source, target and output, as in the paper]
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Training")]
    pub(crate) separate: Vec<Separate>,
}

/// A table of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Separate {
    /// Source and target have an embedding each
    Source,
    /// The output projection is not the target's embedding
    Output,
}

/// The share of each answer that is spread over all tokens, in the paper (section 5.4).
const SMOOTHING: f32 = 0.1;
/// Translations in the report.
const SHOWN: usize = 20;
/// Pairs of each part that are looked at to tell their languages.
const LOOKED_AT: usize = 20_000;
/// How many times as surprising texts must be to look like another language; other topics stay far below.
const STRANGE: f64 = 1.6;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { job, verb, .. } = arguments;
    verb.manner.threads.install()?;
    let [training, dev] = load(arguments)?;
    let (taught, _) = learn(job, verb, &training, &dev, &*listen()?)?;
    let example = dev.first().or(training.first()).map_or("", |pair| pair.source.as_str());
    verb.summarise(&taught, example, "translate")
}

/// The run itself; the second part is what became of dev sentences.
pub(crate) fn learn(
    job: &Job,
    verb: &Verb,
    training: &[Pair],
    dev: &[Pair],
    stop: &AtomicBool,
) -> Result<(Taught, Vec<Sample>)> {
    let base: Base<Config> = Base::open(verb, || Ok(both_sides(training)))?;
    let settings = verb.flags.decide(base.config.d_model, SMOOTHING)?;
    verb.flags.common.note(verb.manner.quiet);
    let config = configure(job, verb, &base, &settings)?;
    let references: Vec<&str> = dev.iter().map(|pair| pair.target.as_str()).collect();
    let tokenization = Tokenization::suited_to(&references);
    note_strange_dev(verb, &base.tokenizer, training, dev);
    let has_case = |pair: &Pair| pair.target.chars().any(char::is_uppercase);
    if base.values.is_none() && base.tokenizer.rules().lowercase && training.iter().any(has_case) {
        verb.note(format_args!(
            "the vocabulary has neither upper case nor accents, so that translations will have none; `oxibert vocab --cased` \
             keeps them"
        ));
    }
    let score = |ours: &[String], theirs: &[String]| bleu(ours, theirs, tokenization).score;
    let measured = &dev[..dev.len().min(job.eval_pairs)];
    let learner = Translate::new(&config, &base.tokenizer, training, dev, settings.data())?;
    let mut learner = learner.scored(measured, ("bleu", &score));
    if learner.left_out() > 0 {
        let (left_out, longest) = (learner.left_out(), config.max_position_embeddings);
        verb.note(format_args!(
            "{left_out} pairs were left out, because a side has no known token or more than {longest} tokens"
        ));
    }
    let tokenizer = &base.tokenizer;
    let lesson = Lesson { verb, name: "translate", job: given::given(job), settings: &settings, tokenizer };
    let mut taught = lesson.teach(&mut learner, base.values, stop)?;
    if taught.outcome.complete {
        taught.report.add(translations(learner.samples()))?;
    }
    Ok((taught, learner.samples().to_vec()))
}

/// What is learned from, and what is measured with.
fn load(arguments: &Arguments) -> Result<[Vec<Pair>; 2]> {
    let read = |files: &[PathBuf]| -> Result<Vec<Pair>> {
        let Pairs { pairs, notes, .. } = Pairs::load(files, Incomplete::Skip)?;
        notes.iter().for_each(|note| arguments.verb.note(format_args!("{note}")));
        Ok(pairs)
    };
    let training = read(&arguments.train)?;
    if arguments.dev.is_empty() {
        return Ok(hold_out(training));
    }
    Ok([training, read(&arguments.dev)?])
}

/// Says so where dev data look like another language than what is learned: an hour would be measured with the wrong thing.
fn note_strange_dev(verb: &Verb, tokenizer: &Tokenizer, training: &[Pair], dev: &[Pair]) {
    let source: fn(&Pair) -> &str = |pair| &pair.source;
    for (name, side) in [("sources", source), ("targets", |pair| &pair.target)] {
        let [training, dev] =
            [training, dev].map(|pairs| pairs.iter().take(LOOKED_AT).map(side).collect::<Vec<_>>());
        let familiar = Familiar::learn(tokenizer, &training);
        if familiar.strangeness(tokenizer, &dev).is_some_and(|times| times > STRANGE) {
            verb.note(format_args!(
                "the {name} of the dev data look like another language than those of the training data; is it the same \
                 pair of languages, in the same order?"
            ));
        }
    }
}

/// The texts of both languages, for one vocabulary.
fn both_sides(pairs: &[Pair]) -> Corpus {
    let lines = pairs.iter().flat_map(|pair| [pair.source.as_str(), "\n", pair.target.as_str(), "\n"]);
    Corpus::from_text("the training pairs", lines.collect::<String>())
}

/// The configuration with what this run changes about it; a checkpoint's form stays as it is.
fn configure(job: &Job, verb: &Verb, base: &Base<Config>, settings: &Settings) -> Result<Config> {
    let mut config = base.config.clone();
    config.dropout = settings.dropout.unwrap_or(config.dropout);
    let forms = [
        ("--pre-norm", job.pre_norm, !config.normalize_before),
        (
            "--separate source",
            job.separate.contains(&Separate::Source),
            config.share_encoder_decoder_embeddings,
        ),
        ("--separate output", job.separate.contains(&Separate::Output), config.tie_word_embeddings),
    ];
    if let Some((flag, ..)) = forms.iter().find(|(_, asked, new)| base.values.is_some() && *asked && *new) {
        bail!("{flag}: the checkpoint {} was trained without it", verb.model);
    }
    let [pre_norm, source, output] = forms.map(|(_, asked, _)| asked);
    config.normalize_before |= pre_norm;
    config.share_encoder_decoder_embeddings &= !source;
    config.tie_word_embeddings &= !output;
    config.check()?;
    Ok(config)
}

fn translations(samples: &[Sample]) -> Section {
    let row =
        |sample: &Sample| vec![sample.source.clone(), sample.translation.clone(), sample.reference.clone()];
    let head = ["source / 原文", "translation / 译文", "reference / 参考译文"].map(str::to_owned).to_vec();
    let rows = samples.iter().take(SHOWN).map(row).collect();
    Section {
        title: "Translations of dev sentences / 验证句子的译文".to_owned(),
        body: Body::Table { head, rows },
    }
}
