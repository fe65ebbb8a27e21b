//! `oxibert generate`: texts that go on.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use oxibert::data::Corpus;
use oxibert::infer::{GenerateOptions, Generator};
use oxibert::progress::{Progress, Unit};
use serde_json::json;

use crate::choices::{Threads, directory, inputs, note_case};
use crate::lines;
use crate::output::results;
use crate::progress::{Bars, Within, has_room};

/// Texts that go on: a line for a line
///
/// Each line is a beginning, an empty one too; it comes out with what a causal model adds to it, from left to right. What is
/// drawn follows from the line and --seed alone: neither the other lines nor the number of threads change it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'Once upon a time' | oxibert generate --model teller
  oxibert generate beginnings.txt --model teller --top-k 1     always the likeliest next token
  oxibert generate - --model teller --top-p 0.9 --temperature 0.8 --json < beginnings.txt")]
pub(crate) struct Arguments {
    /// Text files, plain, gzip or zstd; - is standard input, which is also the default
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A checkpoint directory of `oxibert finetune lm`, or of a GPT2LMHeadModel with a WordPiece vocabulary
    #[arg(long, value_name = "DIR")]
    model: String,
    /// Draw from so many of the likeliest tokens; 1 always takes the likeliest [default: from all]
    #[arg(long, value_name = "N")]
    top_k: Option<usize>,
    /// Draw from the likeliest tokens that have so much probability together
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    top_p: f64,
    /// Below 1 the likely becomes likelier, above 1 less so
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    temperature: f64,
    /// The most tokens of a text, the given ones included [default: all of the model's positions]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Another seed draws other tokens
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// One JSON object per line, {"text": …, "continuation": …}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
    /// No progress bar and no remarks
    #[arg(long)]
    quiet: bool,
}

/// Lines that go on before they are written: enough to fill batches, few enough not to wait for.
const CHUNK_LINES: usize = 64;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { top_k, top_p, temperature, max_length, seed, .. } = *arguments;
    let options = GenerateOptions { top_k, top_p, temperature, max_length, seed };
    options.check()?;
    arguments.threads.install()?;
    let generator = Generator::open(directory(&arguments.model)?)?;
    if !arguments.quiet {
        note_case(generator.tokenizer());
    }
    let files = inputs(&arguments.files);
    let corpus = Corpus::open(&files)?;
    let drawn = has_room(arguments.quiet, false);
    let bars = Bars::new(!drawn);
    bars.begin("generating", drawn.then(|| lines::count(&corpus)).flatten(), Unit::Items);
    let mut out = results();
    let done = lines::texts(&files, CHUNK_LINES, |texts| {
        let added = generator.generate(&texts, &options, &Within(&bars))?;
        for (text, continuation) in texts.iter().zip(&added) {
            match arguments.json {
                true => writeln!(out, "{}", json!({ "text": text, "continuation": continuation }))?,
                false => writeln!(out, "{}{continuation}", text.trim_end())?,
            }
        }
        // Whoever waits for the lines has them now.
        Ok(out.flush()?)
    });
    bars.end();
    done
}
