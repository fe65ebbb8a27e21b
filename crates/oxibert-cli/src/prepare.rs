//! `oxibert prepare`: documents to shards of token ids.

mod summary;
mod warnings;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::{Args, ValueEnum};
use oxibert::data::prepare::{LineIs, PrepareOptions, prepare};
use oxibert::data::shard::Prepared;
use oxibert::data::{Boundary, DocumentOptions, Documents, Format, files};
use serde_json::json;

use self::warnings::warnings;
use crate::choices::{Manner, TokenizerChoice, note_case};
use crate::output::{remark, results};
use crate::progress::Bars;

/// Documents to token ids: what pretraining reads
///
/// Documents are split into sentences, sentences into tokens, on all cores and in bounded memory. The directory gets
/// the tokens in files that are mapped into memory, prepared.json (what is in them) and the tokenizer. It does not
/// depend on the number of threads.
#[derive(Debug, Args)]
#[command(after_help = "\
Text files have a blank line between documents and a sentence or a paragraph on each line.

Examples:
  oxibert prepare corpus/*.txt --model my-vocab --out prepared
  oxibert prepare books/*.txt.gz --documents file --vocab vocab.txt --out prepared
  oxibert prepare wiki.jsonl.zst news.parquet --column text --model DIR --dedup --out prepared
  zcat huge.jsonl.gz | oxibert prepare - --format jsonl --model my-vocab --out prepared")]
pub(crate) struct Arguments {
    /// Text or JSON lines (plain, gzip or zstd), or Parquet; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    tokenizer: TokenizerChoice,
    /// Where to write; must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// What the files are
    #[arg(long, value_enum, default_value = "auto")]
    format: FormatChoice,
    /// The field of JSON objects, or the column of Parquet files, that holds a document's text
    #[arg(long, value_name = "NAME", default_value = "text")]
    column: String,
    /// Where a document of a text file ends
    #[arg(long, value_enum, default_value = "blank")]
    documents: BoundaryChoice,
    /// What becomes of a line
    #[arg(long, value_enum, default_value = "split")]
    sentences: SentencesChoice,
    /// Leave out lines that have stood before
    #[arg(long)]
    dedup: bool,
    /// Replace what was prepared there before
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    manner: Manner,
}

/// `--format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatChoice {
    /// As the name says: .jsonl, .ndjson, .json (and .gz, .zst of them), .parquet; anything else is text
    Auto,
    /// Lines of text
    Text,
    /// A JSON object on every line, a document in each
    Jsonl,
    /// A document in each row
    Parquet,
}

/// `--documents`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum BoundaryChoice {
    /// At a blank line, and at the end of the file
    Blank,
    /// At the end of the file
    File,
}

/// `--sentences`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SentencesChoice {
    /// It is a paragraph and is split into sentences
    Split,
    /// It is a sentence
    Line,
}

impl Arguments {
    fn reading(&self) -> DocumentOptions {
        DocumentOptions {
            format: match self.format {
                FormatChoice::Auto => Format::Auto,
                FormatChoice::Text => Format::Text,
                FormatChoice::Jsonl => Format::JsonLines,
                FormatChoice::Parquet => Format::Parquet,
            },
            boundary: match self.documents {
                BoundaryChoice::Blank => Boundary::BlankLine,
                BoundaryChoice::File => Boundary::File,
            },
            column: self.column.clone(),
        }
    }

    fn preparing(&self) -> PrepareOptions {
        let line_is = match self.sentences {
            SentencesChoice::Split => LineIs::Paragraph,
            SentencesChoice::Line => LineIs::Sentence,
        };
        PrepareOptions { line_is, dedup: self.dedup, ..PrepareOptions::default() }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.manner.threads.install()?;
    files::check_dir(&arguments.out, arguments.force)?;
    let documents = Documents::open(&arguments.files, &arguments.reading())?;
    let tokenizer = arguments.tokenizer.load()?;
    if !arguments.manner.quiet {
        note_case(&tokenizer);
    }
    let (options, bars) = (arguments.preparing(), Bars::new(arguments.manner.quiet));
    let start = Instant::now();
    let prepared = prepare(&documents, &tokenizer, &options, &arguments.out, arguments.force, &bars)?;
    report(arguments, &prepared, start.elapsed().as_secs_f64())
}

fn report(arguments: &Arguments, prepared: &Prepared, seconds: f64) -> Result<()> {
    let warnings = warnings(prepared);
    let mut out = results();
    if arguments.manner.json {
        let mut object = serde_json::to_value(prepared)?;
        object["seconds"] = seconds.into();
        object["warnings"] = json!(warnings);
        writeln!(out, "{object}")?;
    } else if !arguments.manner.quiet {
        summary::write(prepared, seconds, &arguments.out, &mut out)?;
    }
    out.flush()?;
    if !arguments.manner.quiet {
        warnings.iter().for_each(|warning| remark(format_args!("warning: {warning}")));
    }
    Ok(())
}
