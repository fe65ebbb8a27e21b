//! `oxibert vocab`: text to a vocabulary.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use oxibert::data::{Corpus, files};
use oxibert::text::learn::{LearnOptions, Statistics};
use oxibert::text::{Tokenizer, Vocab, learn};
use serde_json::json;

use crate::choices::{CompatChoice, Manner, rules};
use crate::output::{remark, results};
use crate::progress::Bars;

/// Text to a vocabulary: vocab.txt, tokenizer.json and tokenizer_config.json
///
/// Words are counted on all cores in bounded memory, then the most frequent pairs of pieces are joined until
/// the vocabulary is full. The result does not depend on the number of threads.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert vocab corpus/*.txt --out my-vocab
  oxibert vocab zh.txt.gz --size 21000 --out vocab-zh
  zcat huge.gz | oxibert vocab - --size 50000 --cased --reserved 100 --out vocab-cased")]
pub(crate) struct Arguments {
    /// Text files, plain, gzip or zstd; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How many tokens
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    size: usize,
    /// Where to write; must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Keep upper case and accents
    #[arg(long)]
    cased: bool,
    /// How often a pair of pieces must occur to become a token
    #[arg(long, value_name = "N", default_value_t = 2)]
    min_frequency: u64,
    /// How many different characters to keep, the most frequent ones [default: a third of --size, but at least 1000]
    #[arg(long, value_name = "N")]
    alphabet_limit: Option<usize>,
    /// A special token of your own, after the usual five; may be given several times
    #[arg(long, value_name = "TOKEN")]
    special: Vec<String>,
    /// How many [unused0], [unused1], … to hold free for later
    #[arg(long, value_name = "N", default_value_t = 0)]
    reserved: usize,
    /// Whose rules split text into words
    #[arg(long, value_enum, default_value = "hf")]
    compat: CompatChoice,
    /// Replace the files of a vocabulary that is there already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    arguments.manner.threads.install()?;
    files::check_dir(&arguments.out, arguments.force)?;
    let corpus = Corpus::open(&arguments.files)?;
    let rules = rules(arguments.cased, arguments.compat.into());
    let options = LearnOptions {
        size: arguments.size,
        min_frequency: arguments.min_frequency,
        alphabet_limit: Some(arguments.alphabet_limit.unwrap_or((arguments.size / 3).max(1000))),
        special_tokens: arguments.special.clone(),
        reserved: arguments.reserved,
        ..LearnOptions::default()
    };
    let learned = learn::learn(&corpus, rules, &options, &Bars::new(arguments.manner.quiet))?;
    let tokenizer =
        Tokenizer::with_special_tokens(Vocab::from_tokens(&learned.tokens)?, rules, &arguments.special)?;
    files::save_dir(&arguments.out, arguments.force, |directory| tokenizer.save(directory))?;
    let seconds = start.elapsed().as_secs_f64();
    report(arguments, learned.tokens.len(), &learned.statistics, seconds)
}

fn report(arguments: &Arguments, tokens: usize, seen: &Statistics, seconds: f64) -> Result<()> {
    let mut out = results();
    if arguments.manner.json {
        let summary = json!({
            "tokens": tokens, "words": seen.words, "unique_words": seen.unique_words, "alphabet": seen.alphabet,
            "merges": seen.merges, "long_words": seen.long_words, "pruned_words": seen.pruned_words,
            "dropped_characters": seen.dropped_characters, "dropped_words": seen.dropped_words, "seconds": seconds,
        });
        writeln!(out, "{summary}")?;
    } else if !arguments.manner.quiet {
        writeln!(
            out,
            "{tokens} tokens from {} words ({} different, {} characters) in {seconds:.1} s: {}",
            seen.words,
            seen.unique_words,
            seen.alphabet,
            arguments.out.display()
        )?;
    }
    if !arguments.manner.quiet {
        remarks(arguments, tokens, seen);
    }
    out.flush()?;
    Ok(())
}

/// What a person should know about what was left out.
fn remarks(arguments: &Arguments, tokens: usize, seen: &Statistics) {
    if tokens < arguments.size {
        remark(format_args!(
            "note: the text gives {tokens} tokens, not {}: every pair left occurs less than {} times",
            arguments.size, arguments.min_frequency
        ));
    }
    if seen.dropped_characters > 0 {
        remark(format_args!(
            "note: {} rare characters were left out, with them {} occurrences of words; --alphabet-limit keeps more",
            seen.dropped_characters, seen.dropped_words
        ));
    }
    if seen.pruned_words > 0 {
        remark(format_args!("note: {} rare words were forgotten to bound the memory", seen.pruned_words));
    }
}
