//! `oxibert pretrain`: shards to a checkpoint.

mod begin;
mod flags;
mod settings;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::Args;
use oxibert::data::shard::Shards;
use oxibert::task::pretrain::Pretrain;
use oxibert::text::{Tokenizer, Vocab};
use oxibert::train::{About, Baseline, DoctorOptions, Every, Figures, Outcome, Report, Run, RunOptions};
use serde_json::{Value, json};

use crate::choices::Manner;
use crate::given;
use crate::numbers;
use crate::output::{remark, results};
use crate::watchers::{Watchers, doctor, listen, peak};
pub(crate) use begin::{Recipe, Start};
pub(crate) use flags::Flags;
pub(crate) use settings::Settings;

/// Shards to a pretrained checkpoint: masked tokens and sentence pairs
///
/// The run's directory holds the newest model (loads in `transformers` too), the best one in best/, checkpoints to go on
/// from in checkpoints/, metrics.jsonl, TensorBoard's files in tensorboard/ and report.html, which shows the curves while
/// the run is on. Ctrl-C finishes the step and saves; --resume goes on as if nothing had happened, bit for bit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert prepare corpus/*.txt --vocab my-vocab/vocab.txt --out shards
  oxibert pretrain shards --config mini --out my-bert --time-budget 2h
  oxibert pretrain shards --config base --out my-bert --steps 100000 --accumulate 8
  oxibert pretrain shards --out my-bert --resume
  oxibert pretrain shards --model bert-base-chinese --out my-domain --whole-word --steps 5000")]
pub(crate) struct Arguments {
    /// What `oxibert prepare` wrote
    #[arg(value_name = "DIR")]
    data: PathBuf,
    /// Where to write; must be new or empty, unless --resume or --force
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The model's shape: tiny, mini, small, medium, base, large, or a config.json [default: mini]
    #[arg(long, value_name = "PRESET|FILE", conflicts_with = "model")]
    config: Option<String>,
    /// Go on with this checkpoint (a directory, or a name on the Hugging Face hub): continued pretraining
    #[arg(long, value_name = "DIR|NAME")]
    model: Option<String>,
    /// Go on with an interrupted run
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Begin anew where another run stands
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    flags: Flags,
    /// Write a checkpoint after every so many steps [default: ten times in a run, and every quarter of an hour]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    save_every: Option<u64>,
    /// How many checkpoints to keep, beside the best
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    keep: u16,
    /// Measure held-out text after every so many steps [default: twenty times in a run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    eval_every: Option<u64>,
    /// How many held-out sequences to measure
    #[arg(long, value_name = "N", default_value_t = 512)]
    eval_sequences: usize,
    /// Steps whose mean is one line of metrics.jsonl
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    log_every: u64,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.manner.threads.install()?;
    let shards = Shards::open(&arguments.data)?;
    let tokenizer = Tokenizer::load(&arguments.data)?;
    let start = match arguments.resume {
        true => begin::resume(arguments, &shards)?,
        false => begin::anew(arguments, &shards, &tokenizer)?,
    };
    let stop = listen()?;
    let options = Options {
        quiet: arguments.manner.quiet,
        save_every: arguments.save_every.map_or(Every::Share(0.1), Every::Steps),
        evaluate_every: arguments.eval_every.map_or(Every::Share(0.05), Every::Steps),
        evaluation_sequences: arguments.eval_sequences,
        log_every: arguments.log_every,
        keep: arguments.keep.into(),
        report: None,
    };
    let trained = train(start, &shards, &tokenizer, &options, &stop)?;
    summarise(arguments, &trained, tokenizer.vocab())
}

/// The flags that change nothing about the model.
pub(crate) struct Options {
    pub(crate) quiet: bool,
    pub(crate) save_every: Every,
    pub(crate) evaluate_every: Every,
    pub(crate) evaluation_sequences: usize,
    pub(crate) log_every: u64,
    pub(crate) keep: usize,
    /// Where the report goes, if not into the run's directory.
    pub(crate) report: Option<PathBuf>,
}

/// What came out.
pub(crate) struct Trained {
    pub(crate) outcome: Outcome,
    /// The share of held-out predictions that always guessing the most frequent token gets right.
    pub(crate) baseline: Option<f64>,
    /// The page, to which more can be added.
    pub(crate) report: Report,
}

/// Runs the training with everything that watches it.
pub(crate) fn train(
    start: Start,
    shards: &Shards,
    tokenizer: &Tokenizer,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Trained> {
    let Start { config, settings, values, optimizer, mut store, checkpoint, title } = start;
    let mut task = Pretrain::new(&config, tokenizer, shards, settings.task(options.evaluation_sequences))?;
    let baseline = shards.prepared().most_frequent.and_then(|token| task.baseline(token.id));
    let report = options.report.clone().unwrap_or_else(|| store.directory().join("report.html"));
    let about = about(&title, &settings, shards, baseline);
    let step = checkpoint.as_ref().map(|checkpoint| checkpoint.step);
    let mut watchers = Watchers::new(store.directory(), &report, about, options.quiet, step)?;
    let run_options = RunOptions {
        title,
        limit: settings.limit()?,
        accumulate: settings.accumulate,
        log_every: options.log_every,
        evaluate_every: options.evaluate_every,
        save_every: options.save_every,
        keep: options.keep,
        peak: peak(settings.bf16),
        patience: None,
        bf16: settings.bf16,
    };
    let entropy = Some(shards.prepared().unigram_entropy);
    let doctor = doctor(DoctorOptions { unigram_entropy: entropy }, store.directory(), step)?;
    let mut run =
        Run::new(&mut task, values, optimizer, settings.schedule()?, run_options, &mut store).consult(doctor);
    if let Some(checkpoint) = &checkpoint {
        run = run.resume(checkpoint)?;
    }
    let Watchers { journal, tensorboard, report, live } = &mut watchers;
    let (outcome, _) = run.watch(journal).watch(tensorboard).watch(report).watch(live).train(stop)?;
    Ok(Trained { outcome, baseline, report: watchers.report })
}

/// What the report says of the run besides its numbers.
fn about(title: &str, settings: &Settings, shards: &Shards, baseline: Option<f64>) -> About {
    let line = |figure: &str, value: f64, label: &str| Baseline {
        figure: figure.to_owned(),
        value,
        label: label.to_owned(),
    };
    let mut baselines = vec![line("mlm_loss", shards.prepared().unigram_entropy, "unigram entropy / 一元熵")];
    baselines.extend(
        baseline.map(|share| line("mlm_accuracy", share, "always the most frequent token / 总猜最常见词元")),
    );
    let coin = "tossing a coin / 抛硬币";
    baselines.extend(["nsp_accuracy", "sop_accuracy"].map(|figure| line(figure, 0.5, coin)));
    About { title: title.to_owned(), settings: given::list(settings), baselines }
}

fn summarise(arguments: &Arguments, trained: &Trained, vocab: &Vocab) -> Result<()> {
    let Trained { outcome, baseline, .. } = trained;
    if !outcome.complete {
        remark(format_args!(
            "stopped after step {}, saved. Go on with:\n  oxibert pretrain {} --out {} --resume",
            outcome.step,
            arguments.data.display(),
            arguments.out.display()
        ));
    }
    if arguments.manner.json {
        let mut out = results();
        writeln!(out, "{}", figures(outcome, *baseline))?;
        return Ok(out.flush()?);
    }
    if arguments.manner.quiet || !outcome.complete {
        return Ok(());
    }
    let mut out = results();
    let place = arguments.out.display();
    writeln!(out, "{} in {}", numbers::steps(outcome.step), numbers::duration(outcome.seconds))?;
    if let Some(evaluation) = &outcome.evaluation {
        writeln!(out, "{}", held_out_line(evaluation, *baseline))?;
    }
    writeln!(
        out,
        "The model is in {place}, the best one in {place}/best, the curves in {place}/report.html. Try it:"
    )?;
    writeln!(out, "  echo '{}' | oxibert fill --model {place}", question(vocab))?;
    Ok(out.flush()?)
}

/// Something to ask a model of this vocabulary: in Chinese if most of its tokens are.
fn question(vocab: &Vocab) -> &'static str {
    // The block of the common characters; the rare ones beyond it decide nothing.
    let chinese = |token: &&str| token.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter));
    if 2 * vocab.tokens().filter(chinese).count() > vocab.len() {
        "巴黎是[MASK]国的首都。"
    } else {
        "The capital of France is [MASK]."
    }
}

/// `held-out text: masked tokens: loss 2.31, perplexity 10.1, 55.2 % right (…), sentence pairs: 97.1 % right`
pub(crate) fn held_out_line(evaluation: &Figures, baseline: Option<f64>) -> String {
    let mut parts = Vec::new();
    if let (Some(loss), Some(perplexity)) = (evaluation.value("mlm_loss"), evaluation.value("mlm_perplexity"))
    {
        parts.push(format!("masked tokens: loss {loss:.3}, perplexity {perplexity:.1}"));
    }
    if let Some(accuracy) = evaluation.value("mlm_accuracy") {
        let beside = baseline.map_or_else(String::new, |share| {
            format!(" (always the most frequent one: {:.1} %)", 100.0 * share)
        });
        parts.push(format!("{:.1} % right{beside}", 100.0 * accuracy));
    }
    for (figure, what) in [("nsp_accuracy", "sentence pairs"), ("sop_accuracy", "sentence order")] {
        parts.extend(evaluation.value(figure).map(|share| format!("{what}: {:.1} % right", 100.0 * share)));
    }
    format!("held-out text: {}", parts.join(", "))
}

/// The figures of a run as JSON.
pub(crate) fn figures(outcome: &Outcome, baseline: Option<f64>) -> Value {
    let mut all = json!({
        "steps": outcome.step,
        "complete": outcome.complete,
        "seconds": outcome.seconds,
        "data_share": outcome.data_seconds / outcome.step_seconds,
        "mlm_unigram_baseline": baseline,
    });
    for (name, value) in outcome.evaluation.iter().flat_map(Figures::iter) {
        all[name] = json!(value);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_asked_in_its_own_language() {
        let asked = |tokens: &[&str]| question(&Vocab::from_tokens(tokens).unwrap());
        assert!(asked(&["[UNK]", "the", "capital", "国", "##国"]).contains("France"));
        assert!(asked(&["[UNK]", "国", "##国", "首", "都", "the"]).contains('国'));
    }
}
