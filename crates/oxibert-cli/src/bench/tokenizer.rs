//! `oxibert bench tokenizer`: how fast text is encoded.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use oxibert::data::Corpus;
use serde_json::json;

use crate::choices::{Threads, TokenizerChoice};
use crate::output::results;

/// How fast text is encoded: ids, segments and offsets, a text per line
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  oxibert bench tokenizer corpus.txt --vocab vocab.txt --threads 2")]
pub(super) struct Arguments {
    /// A text file, plain, gzip or zstd
    file: PathBuf,
    #[command(flatten)]
    tokenizer: TokenizerChoice,
    #[command(flatten)]
    threads: Threads,
    /// One JSON object: mb_per_s, tokens_per_s, threads
    #[arg(long)]
    json: bool,
}

/// Texts that are encoded at once, as a data loader does.
const BATCH: usize = 1000;
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let threads = arguments.threads.install()?;
    let tokenizer = arguments.tokenizer.load()?;
    let texts = read_lines(&arguments.file)?;
    let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
    ensure!(bytes > 0, "{}: no text in it", arguments.file.display());
    let mut tokens = 0;
    let times = super::times(|| {
        tokens =
            texts.chunks(BATCH).flat_map(|batch| tokenizer.encode_batch(batch)).map(|text| text.len()).sum();
    });
    let seconds = super::median(&times);
    let (mb_per_s, tokens_per_s) = (bytes as f64 / 1e6 / seconds, tokens as f64 / seconds);
    let mut out = results();
    if arguments.json {
        writeln!(
            out,
            "{}",
            json!({ "mb_per_s": mb_per_s, "tokens_per_s": tokens_per_s, "threads": threads })
        )?;
    } else {
        let megabytes = bytes as f64 / 1e6;
        writeln!(out, "{megabytes:.1} MB, {} texts, {tokens} tokens, {threads} thread(s)", texts.len())?;
        writeln!(out, "{mb_per_s:.1} MB/s, {:.2} million tokens/s", tokens_per_s / 1e6)?;
    }
    out.flush()?;
    Ok(())
}

fn read_lines(file: &PathBuf) -> Result<Vec<String>> {
    let corpus = Corpus::open([file])?;
    let mut lines = corpus.lines();
    let mut texts = Vec::new();
    while let Some(line) = lines.next_line()? {
        texts.push(line.text.to_owned());
    }
    Ok(texts)
}
