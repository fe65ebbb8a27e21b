//! `oxibert embed`: texts to vectors.

pub(crate) mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod sink;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use oxibert::data::{Corpus, Lines};
use oxibert::infer::{EmbedOptions, Embedder, Pooling};
use oxibert::progress::{Progress, Unit};
use oxibert::text::LongText;
use serde_json::json;

use crate::choices::{Threads, inputs, note_case};
use crate::hub;
use crate::lines;
use crate::output::{remark, results};
use crate::progress::{Bars, Within, has_room};
use sink::Sink;

/// Texts to vectors: a text per line
///
/// What the checkpoint says about its use (pooling, normalization, longest text, in the files of
/// sentence-transformers) is the default; without a word it is the mean over all tokens. The vector of a text
/// does not depend on the other texts or on the number of threads. An empty line is [CLS] [SEP].
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'A man is playing a guitar.' | oxibert embed --model all-MiniLM-L6-v2
  oxibert embed sentences.txt --model DIR --normalize --out vectors.npy
  oxibert embed sentences.txt.gz --model DIR --pooling cls --json > vectors.jsonl
  oxibert embed books.txt --model DIR --long sliding --stride 64 --json")]
pub(crate) struct Arguments {
    /// Text files, plain, gzip or zstd; - is standard input, which is also the default
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A checkpoint directory, a weight file in one, or a model's name on the Hugging Face hub
    #[arg(long, value_name = "DIR|NAME")]
    model: String,
    /// How the tokens' vectors become one: mean, cls, pooler or max [default: the checkpoint's, or mean]
    #[arg(long, value_name = "HOW")]
    pooling: Option<Pooling>,
    /// Scale vectors to length 1; =false leaves them as they are [default: the checkpoint's, or false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    normalize: Option<bool>,
    /// Take the output of this layer: 0 is the embeddings' [default: the last]
    #[arg(long, value_name = "K")]
    layer: Option<usize>,
    /// The most tokens of a sequence, [CLS] and [SEP] included [default: the checkpoint's, or 512]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// What stays of a text that is too long: head, tail, head+tail, or all of it in sliding windows
    #[arg(long, value_name = "MODE", default_value = "head")]
    long: LongText,
    /// How many tokens two sliding windows share [default: a quarter of the window]
    #[arg(long, value_name = "N")]
    stride: Option<usize>,
    /// Write the vectors to a file: .npy for NumPy, or .parquet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// One JSON object per text, {"embedding": […]}; with --out one object that sums up
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
    /// No progress bar, no remarks and no summary
    #[arg(long)]
    quiet: bool,
}

/// Texts that are in memory at once.
const CHUNK_LINES: usize = 8192;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    arguments.threads.install()?;
    let embedder = Embedder::open(&hub::resolve(&arguments.model)?)?;
    let options = arguments.options(&embedder)?;
    if !arguments.quiet {
        note_case(embedder.tokenizer());
    }
    let corpus = Corpus::open(inputs(&arguments.files))?;
    let width = embedder.bert().config().hidden_size;
    let mut sink = match &arguments.out {
        Some(path) => sink::file(path, width)?,
        None => sink::standard_output(arguments.json),
    };
    let drawn = has_room(arguments.quiet, arguments.out.is_some());
    let bars = Bars::new(!drawn);
    bars.begin("embedding", drawn.then(|| lines::count(&corpus)).flatten(), Unit::Items);
    let seen = embed(&embedder, &options, &mut corpus.lines(), &Within(&bars), &mut *sink);
    bars.end();
    let seen = seen?;
    sink.finish()?;
    report(arguments, &options, &seen, width, start.elapsed().as_secs_f64())
}

impl Arguments {
    fn options(&self, embedder: &Embedder) -> Result<EmbedOptions> {
        let defaults = embedder.options();
        let options = EmbedOptions {
            pooling: self.pooling.unwrap_or(defaults.pooling),
            normalize: self.normalize.unwrap_or(defaults.normalize),
            layer: self.layer,
            max_length: self.max_length.unwrap_or(defaults.max_length),
            long: match (self.long, self.stride) {
                (LongText::Sliding { .. }, stride) => LongText::Sliding { stride },
                (long, None) => long,
                (_, Some(_)) => bail!("--stride goes with --long sliding"),
            },
        };
        embedder.check(&options)?;
        Ok(options)
    }
}

/// What went by.
#[derive(Default)]
struct Seen {
    texts: usize,
    long_texts: usize,
}

fn embed(
    embedder: &Embedder,
    options: &EmbedOptions,
    lines: &mut Lines<'_>,
    progress: &dyn Progress,
    sink: &mut dyn Sink,
) -> Result<Seen> {
    let mut seen = Seen::default();
    loop {
        let texts = lines::next_chunk(lines, CHUNK_LINES)?;
        if texts.is_empty() {
            return Ok(seen);
        }
        let embeddings = embedder.embed(&texts, options, progress)?;
        seen.texts += texts.len();
        seen.long_texts += embeddings.long_texts;
        sink.write(&texts, &embeddings)?;
    }
}

fn report(
    arguments: &Arguments,
    options: &EmbedOptions,
    seen: &Seen,
    width: usize,
    seconds: f64,
) -> Result<()> {
    if let Some(path) = &arguments.out {
        let mut out = results();
        if arguments.json {
            let summary = json!({
                "texts": seen.texts, "size": width, "long_texts": seen.long_texts, "seconds": seconds,
            });
            writeln!(out, "{summary}")?;
        } else if !arguments.quiet {
            writeln!(out, "{} vectors of {width} numbers in {seconds:.1} s: {}", seen.texts, path.display())?;
        }
        out.flush()?;
    }
    if seen.long_texts > 0 && !arguments.quiet {
        let (texts, were) = if seen.long_texts == 1 { ("text", "was") } else { ("texts", "were") };
        let fate = match options.long {
            LongText::Sliding { .. } => "read in several windows (--long sliding)".to_owned(),
            long => format!("cut (--long {long})"),
        };
        let (count, limit) = (seen.long_texts, options.max_length);
        remark(format_args!("note: {count} {texts} {were} longer than {limit} tokens and {were} {fate}"));
    }
    Ok(())
}
