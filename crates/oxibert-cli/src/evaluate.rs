//! `oxibert evaluate`: how good a fine-tuned model is on labelled data.

mod lm;
mod translate;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use oxibert::task::Task as _;
use serde_json::{Map, Value, json};

use crate::choices::Manner;
use crate::output::{remark, results};
use crate::progress::Bars;
use crate::tasks::{Job, LongFlags, Tasks, Work, open, say};

/// How good a fine-tuned model is on labelled data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert evaluate classify --model sentiment --data test.tsv
  oxibert evaluate tag --model names --data test.txt --json
  oxibert evaluate answer --model reader --data squad/dev.json
  oxibert evaluate translate --model en-de --data test.en test.de
  oxibert evaluate lm --model teller --data dev.txt

The figures are those of the official scorers, as shares of 1:
  classify   accuracy, f1 (of the second of two classes), macro_f1, matthews
             several labels: accuracy (all of them right), f1 (micro), macro_f1
             numbers: pearson, spearman, mean_squared_error
  tag        entity_f1, entity_precision, entity_recall, accuracy
  answer     exact_match, answer_f1
  choose     accuracy
bleu and chrf of translations are of 100.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// BERT with a head
    #[command(flatten)]
    Labelled(Tasks<Verb>),
    Translate(translate::Arguments),
    Lm(lm::Arguments),
}

#[derive(Debug, Args)]
pub(crate) struct Verb {
    /// A checkpoint directory that was fine-tuned for the task, or a model's name on the Hugging Face hub
    #[arg(long, value_name = "DIR|NAME")]
    model: String,
    /// Labelled data
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    long: LongFlags,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.task {
        Task::Labelled(task) => task.run(Evaluate),
        Task::Translate(arguments) => translate::run(arguments),
        Task::Lm(arguments) => lm::run(arguments),
    }
}

struct Evaluate;

impl Work<Verb> for Evaluate {
    fn work<J: Job>(self, job: &J, verb: &Verb) -> Result<()> {
        verb.manner.threads.install()?;
        let predictor = open(job, &verb.model, &verb.long)?;
        let data = job.read(&verb.data, true)?;
        say(&verb.data, &data.notes, verb.manner.quiet);
        ensure!(!data.examples.is_empty(), "{}: no examples in it", verb.data.display());
        job.remarks(predictor.task(), &data.examples).iter().for_each(|text| remark(format_args!("{text}")));
        let begin = Instant::now();
        let answers = predictor.answers(&data.examples, &Bars::new(verb.manner.quiet))?;
        let seconds = begin.elapsed().as_secs_f64();
        let mut figures: Map<String, Value> = Map::new();
        let scores = predictor.task().figures(&data.examples, &answers);
        figures.extend(scores.iter().map(|(name, value)| (name.to_owned(), json!(value))));
        figures.insert("count".to_owned(), json!(data.examples.len()));
        figures.insert("seconds".to_owned(), json!(seconds));
        let mut out = results();
        if verb.manner.json {
            writeln!(out, "{}", Value::Object(figures))?;
        } else {
            for (name, value) in scores.iter() {
                writeln!(out, "{:<20} {value:.4}", name.replace('_', " "))?;
            }
            writeln!(out, "{:<20} {} in {seconds:.1} s", "examples", data.examples.len())?;
        }
        Ok(out.flush()?)
    }
}
