//! `oxibert predict`: the answers of a fine-tuned model, one for each input.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use oxibert::infer::Predictor;
use oxibert::progress::{Progress as _, Unit};
use serde_json::json;

use crate::choices::{Threads, inputs};
use crate::lines::{Sink, as_they_arrive};
use crate::output::{remark, results};
use crate::progress::{Bars, has_room};
use crate::tasks::{Answer, BadLine, Example, Job, LongFlags, Tasks, Work, open};

/// Inputs that are answered together, at most.
const TOGETHER: usize = 256;

/// The answers of a fine-tuned model, one line for each input
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'A moving film.' | oxibert predict classify --model sentiment
  oxibert predict classify --model paraphrase pairs.tsv --json
  oxibert predict tag --model names letters.txt --json
  echo '{\"question\": \"Who?\", \"context\": \"It was Ann.\"}' | oxibert predict answer --model reader
  oxibert predict choose --model chooser questions.jsonl

On standard input, a tab separates the two texts of a pair. A line that cannot be answered gets an
error on its own line; the others are answered.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Tasks<Verb>,
}

#[derive(Debug, Args)]
pub(crate) struct Verb {
    /// Files to read; - or none: standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A checkpoint directory that was fine-tuned for the task, or a model's name on the Hugging Face hub
    #[arg(long, value_name = "DIR|NAME")]
    model: String,
    #[command(flatten)]
    long: LongFlags,
    #[command(flatten)]
    threads: Threads,
    /// One JSON object per input
    #[arg(long)]
    json: bool,
    /// No progress and no notes
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.task.run(Predict)
}

struct Predict;

impl Work<Verb> for Predict {
    fn work<J: Job>(self, job: &J, verb: &Verb) -> Result<()> {
        verb.threads.install()?;
        let predictor = open(job, &verb.model, &verb.long)?;
        let bars = Bars::new(!has_room(verb.quiet, false));
        bars.begin("answering", None, Unit::Items);
        let mut stream = Stream { job, predictor: &predictor, json: verb.json, bars: &bars, bad: 0 };
        let (task, files) = (predictor.task(), inputs(&verb.files));
        let read =
            |send: &mut Sink<'_, Next<J>>| files.iter().try_for_each(|path| job.each(task, path, send));
        let done = as_they_arrive(TOGETHER, read, |together| stream.answer(together));
        bars.end();
        done?;
        if stream.bad > 0 && !verb.quiet {
            let lines = if stream.bad == 1 { "line" } else { "lines" };
            remark(format_args!("note: {} {lines} could not be answered", stream.bad));
        }
        Ok(())
    }
}

/// Inputs on their way to answers.
struct Stream<'p, J: Job> {
    job: &'p J,
    predictor: &'p Predictor<J::Task>,
    json: bool,
    bars: &'p Bars,
    bad: usize,
}

/// An input, or a line that is none.
type Next<J> = Result<Example<J>, BadLine>;

impl<J: Job> Stream<'_, J> {
    /// Answers inputs in their order.
    fn answer(&mut self, inputs: Vec<Next<J>>) -> Result<()> {
        let mut problems = Vec::new();
        let mut examples = Vec::new();
        for next in inputs {
            match next {
                Ok(example) => {
                    problems.push(None);
                    examples.push(example);
                }
                Err(bad) => problems.push(Some(bad)),
            }
        }
        let answers = self.predictor.answers(&examples, &())?;
        let mut answered = examples.iter().zip(&answers);
        let mut out = results();
        for problem in problems {
            let line = match problem {
                Some(bad) => self.refuse(&bad),
                None => {
                    let (example, answer) = answered.next().expect("an answer for every example");
                    self.show(example, answer)
                }
            };
            writeln!(out, "{line}")?;
        }
        self.bars.advance(answers.len() as u64);
        Ok(out.flush()?)
    }

    fn show(&self, example: &Example<J>, answer: &Answer<J>) -> String {
        let task = self.predictor.task();
        match self.json {
            true => self.job.json(task, example, answer).to_string(),
            false => self.job.line(task, example, answer),
        }
    }

    fn refuse(&mut self, bad: &BadLine) -> String {
        self.bad += 1;
        match self.json {
            true => json!({ "error": bad.problem, "line": bad.line }).to_string(),
            false => format!("error: line {}: {}", bad.line, bad.problem),
        }
    }
}
