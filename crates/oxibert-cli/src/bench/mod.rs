//! `oxibert bench`: speed on this machine.

mod model;
mod tokenizer;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, Subcommand};

/// Speed on this machine, of a model or of the tokenizer
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  oxibert bench --model base --train
  oxibert bench --model DIR --batch 32 --length 64 --threads 2
  oxibert bench tokenizer corpus.txt --vocab vocab.txt")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    model: model::Arguments,
}

#[derive(Debug, Subcommand)]
enum What {
    Tokenizer(tokenizer::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        Some(What::Tokenizer(arguments)) => tokenizer::run(arguments),
        None => model::run(&arguments.model),
    }
}

/// Rounds until the median is taken: at least so many, and until so much time has passed.
const LEAST_ROUNDS: usize = 5;
const LEAST_TIME: Duration = Duration::from_secs(2);

/// The seconds that each round of `work` takes, in order of size.
fn times(mut work: impl FnMut()) -> Vec<f64> {
    work(); // to warm up
    let begin = Instant::now();
    let mut rounds = Vec::new();
    while rounds.len() < LEAST_ROUNDS || begin.elapsed() < LEAST_TIME {
        let start = Instant::now();
        work();
        rounds.push(start.elapsed().as_secs_f64());
    }
    rounds.sort_by(f64::total_cmp);
    rounds
}

/// The middle of what is sorted.
fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
