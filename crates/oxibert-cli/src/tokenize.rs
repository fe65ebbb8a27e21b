//! `oxibert tokenize`: text to tokens, ids and offsets.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use oxibert::data::{Corpus, Lines};
use oxibert::text::{Encoder, Encoding, Limit, LongText, Tokenizer, Truncation};
use rayon::prelude::*;
use serde::Serialize;

use crate::choices::{Threads, TokenizerChoice, inputs, note_case};
use crate::output::results;
use crate::table;

/// Text to tokens, ids and offsets: a text per line
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'Unaffable, 你好!' | oxibert tokenize --vocab vocab.txt
  oxibert tokenize reviews.txt --model bert-base-uncased --json > tokens.jsonl
  oxibert tokenize book.txt --model DIR --max-length 512 --long sliding --stride 128 --json
  oxibert tokenize pairs.tsv --model DIR --pair --max-length 128
  echo '101 7592 2088 102' | oxibert tokenize --model DIR --decode")]
pub(crate) struct Arguments {
    /// Text files, plain, gzip or zstd; - is standard input, which is also the default
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    tokenizer: TokenizerChoice,
    /// A line has two texts with a tab between them
    #[arg(long)]
    pair: bool,
    /// The most tokens of a sequence, [CLS] and [SEP] included; longer ones are cut
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// What stays of a text that is too long: head, tail, head+tail, or all of it in sliding windows
    #[arg(long, value_name = "MODE", default_value = "head", requires = "max_length")]
    long: LongText,
    /// How many tokens two sliding windows share [default: a quarter of the window]
    #[arg(long, value_name = "N")]
    stride: Option<usize>,
    /// Which text of a pair gives way: longest-first, only-first, only-second or none
    #[arg(long, value_name = "WHICH", default_value = "longest-first", requires = "max_length")]
    truncation: Truncation,
    /// No [CLS] and [SEP] around the texts
    #[arg(long)]
    no_special: bool,
    /// The other way round: lines of ids become text
    #[arg(long, conflicts_with_all = ["pair", "max_length", "no_special", "json"])]
    decode: bool,
    /// One JSON object per text (per window with --long sliding)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Lines that are encoded at once, on all threads.
const BATCH_LINES: usize = 4096;
const BATCH_BYTES: usize = 4 << 20;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.threads.install()?;
    let tokenizer = arguments.tokenizer.load()?;
    note_case(&tokenizer);
    let job = Job::new(arguments, &tokenizer)?;
    let corpus = Corpus::open(inputs(&arguments.files))?;
    let mut out = results();
    let mut lines = corpus.lines();
    if matches!(job.limit.long, LongText::Sliding { .. }) {
        job.one_by_one(&mut lines, &mut out)?;
    } else {
        job.in_batches(&mut lines, &mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// What to do with each line.
struct Job<'a> {
    tokenizer: &'a Tokenizer,
    limit: Limit,
    pair: bool,
    special: bool,
    decode: bool,
    json: bool,
    width: usize,
}

impl<'a> Job<'a> {
    fn new(arguments: &Arguments, tokenizer: &'a Tokenizer) -> Result<Self> {
        let long = match (arguments.long, arguments.stride) {
            (LongText::Sliding { .. }, stride) => LongText::Sliding { stride },
            (long, None) => long,
            (_, Some(_)) => bail!("--stride goes with --long sliding"),
        };
        let max_length = arguments.max_length.unwrap_or(usize::MAX);
        let limit = Limit { max_length, truncation: arguments.truncation, long };
        let special = !arguments.no_special;
        let texts = if arguments.pair { 2 } else { 1 };
        // Refuses a limit that no text could keep, before anything is read.
        limit.windows(&vec![0; texts], if special { texts + 1 } else { 0 })?;
        let Arguments { pair, decode, json, .. } = *arguments;
        Ok(Self { tokenizer, limit, pair, special, decode, json, width: table::width() })
    }

    /// Windows of a long text can be many: they are written as they are made.
    fn one_by_one(&self, lines: &mut Lines<'_>, out: &mut dyn Write) -> Result<()> {
        let mut encoder = self.tokenizer.encoder();
        while let Some(line) = lines.next_line()? {
            self.line(&mut encoder, line.text, out)
                .with_context(|| format!("{}:{}", line.path.display(), line.number))?;
        }
        Ok(())
    }

    fn in_batches(&self, lines: &mut Lines<'_>, out: &mut dyn Write) -> Result<()> {
        loop {
            let batch = next_batch(lines)?;
            if batch.is_empty() {
                return Ok(());
            }
            let encode = |encoder: &mut Encoder<'_>, (place, text): &(String, String)| {
                let mut written = Vec::new();
                self.line(encoder, text, &mut written).with_context(|| place.clone()).map(|()| written)
            };
            let written: Vec<Result<Vec<u8>>> =
                batch.par_iter().with_min_len(16).map_init(|| self.tokenizer.encoder(), encode).collect();
            for text in written {
                out.write_all(&text?)?;
            }
        }
    }

    fn line(&self, encoder: &mut Encoder<'_>, line: &str, out: &mut dyn Write) -> Result<()> {
        if self.decode {
            writeln!(out, "{}", self.tokenizer.decode(&parse_ids(line, self.tokenizer)?))?;
            return Ok(());
        }
        let texts = self.texts(line)?;
        for (window, encoding) in encoder.windows(&texts, &self.limit, self.special)?.enumerate() {
            if self.json {
                self.write_json(&texts, &encoding, window, out)?;
            } else {
                self.write_table(&texts, &encoding, window, out)?;
            }
        }
        Ok(())
    }

    fn texts<'t>(&self, line: &'t str) -> Result<Vec<&'t str>> {
        if !self.pair {
            return Ok(vec![line]);
        }
        let columns: Vec<&str> = line.split('\t').collect();
        ensure!(
            columns.len() == 2,
            "{} column(s), expected two texts with one tab between them (--pair)",
            columns.len()
        );
        Ok(columns)
    }

    fn write_json(
        &self,
        texts: &[&str],
        encoding: &Encoding,
        window: usize,
        out: &mut dyn Write,
    ) -> Result<()> {
        let object = JsonLine {
            ids: &encoding.ids,
            tokens: self.tokenizer.tokens(encoding),
            offsets: encoding.char_spans(texts).iter().map(|span| [span.start, span.end]).collect(),
            segments: &encoding.segments,
            window: self.is_sliding().then_some(window),
        };
        serde_json::to_writer(&mut *out, &object)?;
        writeln!(out)?;
        Ok(())
    }

    fn write_table(
        &self,
        texts: &[&str],
        encoding: &Encoding,
        window: usize,
        out: &mut dyn Write,
    ) -> Result<()> {
        if self.is_sliding() {
            writeln!(out, "window {window}")?;
        }
        table::write(&table::of_encoding(self.tokenizer, texts, encoding), self.width, out)?;
        writeln!(out)?;
        Ok(())
    }

    fn is_sliding(&self) -> bool {
        matches!(self.limit.long, LongText::Sliding { .. })
    }
}

/// The machine-readable form of an encoding.
#[derive(Serialize)]
struct JsonLine<'a> {
    ids: &'a [u32],
    tokens: Vec<&'a str>,
    offsets: Vec<[u32; 2]>,
    segments: &'a [u8],
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
}

/// Some lines, each with its place for messages.
fn next_batch(lines: &mut Lines<'_>) -> Result<Vec<(String, String)>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH_LINES && bytes < BATCH_BYTES {
        let Some(line) = lines.next_line()? else { break };
        bytes += line.text.len();
        batch.push((format!("{}:{}", line.path.display(), line.number), line.text.to_owned()));
    }
    Ok(batch)
}

fn parse_ids(line: &str, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let last = tokenizer.vocab().len().saturating_sub(1);
    let parse = |word: &str| {
        let id: Option<u32> = word.parse().ok();
        id.filter(|&id| id as usize <= last).with_context(|| {
            format!("{word:?} is no token id; expected numbers from 0 to {last}, blanks between")
        })
    };
    line.split_whitespace().map(parse).collect()
}
