//! `oxibert fill`: what stood at [MASK]?

use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;
use oxibert::data::Corpus;
use oxibert::infer::{Candidate, Filler, Mask};
use oxibert::model::BertWork;
use oxibert::text::Span;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::choices::{Threads, inputs, note_case};
use crate::hub;
use crate::output::results;

/// The likeliest words for every [MASK] of a text
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert fill 'Paris is the [MASK] of France.' --model bert-base-uncased
  oxibert fill '[MASK] is the capital of [MASK].' 'I [MASK] you.' --model DIR --top 3
  oxibert fill --model DIR --json < texts.txt")]
pub(crate) struct Arguments {
    /// Texts with [MASK] where a word is wanted; - or none: a text per line of standard input
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
    /// A checkpoint directory with a masked-language-model head and its tokenizer, or a model's name on the hub
    #[arg(long, value_name = "DIR|NAME")]
    model: String,
    /// How many candidates for each [MASK]
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// One JSON object per text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.threads.install()?;
    let mut job = Job {
        filler: Filler::open(&hub::resolve(&arguments.model)?)?,
        work: BertWork::default(),
        top: arguments.top as usize,
        json: arguments.json,
        first: true,
        out: results(),
    };
    note_case(job.filler.tokenizer());
    if arguments.texts.is_empty() {
        job.standard_input()?;
    }
    for (number, text) in arguments.texts.iter().enumerate() {
        match text.as_str() {
            "-" => job.standard_input()?,
            text if arguments.texts.len() == 1 => job.text(text)?,
            text => job.text(text).with_context(|| format!("text {}", number + 1))?,
        }
    }
    job.out.flush()?;
    Ok(())
}

struct Job<W: Write> {
    filler: Filler,
    work: BertWork,
    top: usize,
    json: bool,
    first: bool,
    out: W,
}

impl<W: Write> Job<W> {
    fn standard_input(&mut self) -> Result<()> {
        let corpus = Corpus::open(inputs(&[]))?;
        let mut lines = corpus.lines();
        while let Some(line) = lines.next_line()? {
            self.text(line.text).with_context(|| format!("{}:{}", line.path.display(), line.number))?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let masks = self.filler.fill_with(text, self.top, &mut self.work)?;
        if self.json {
            return write_json(text, &masks, &mut self.out);
        }
        if !std::mem::take(&mut self.first) {
            writeln!(self.out)?;
        }
        write_table(text, &masks, &mut self.out)
    }
}

/// The machine-readable form of a filled text.
#[derive(Serialize)]
struct JsonLine<'a> {
    text: &'a str,
    masks: Vec<JsonMask<'a>>,
}

#[derive(Serialize)]
struct JsonMask<'a> {
    token_index: usize,
    start: u32,
    end: u32,
    candidates: Vec<JsonCandidate<'a>>,
}

#[derive(Serialize)]
struct JsonCandidate<'a> {
    token: &'a str,
    id: u32,
    probability: f32,
    text: &'a str,
}

impl<'a> JsonMask<'a> {
    fn of(mask: &'a Mask) -> Self {
        let Span { start, end } = mask.chars;
        let candidates = mask.candidates.iter().map(JsonCandidate::of).collect();
        Self { token_index: mask.token_index, start, end, candidates }
    }
}

impl<'a> JsonCandidate<'a> {
    fn of(candidate: &'a Candidate) -> Self {
        let Candidate { token, id, probability, text } = candidate;
        Self { token, id: *id, probability: *probability, text }
    }
}

fn write_json(text: &str, masks: &[Mask], out: &mut dyn Write) -> Result<()> {
    let line = JsonLine { text, masks: masks.iter().map(JsonMask::of).collect() };
    serde_json::to_writer(&mut *out, &line)?;
    writeln!(out)?;
    Ok(())
}

/// Characters of the longest bar.
const BAR: usize = 10;

fn write_table(text: &str, masks: &[Mask], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{text}")?;
    let all = || masks.iter().flat_map(|mask| &mask.candidates);
    let widest = all().map(|candidate| candidate.token.width()).max().unwrap_or(0);
    for (number, mask) in masks.iter().enumerate() {
        if masks.len() > 1 {
            writeln!(out, "[MASK] {} of {}", number + 1, masks.len())?;
        }
        for candidate in &mask.candidates {
            let blanks = widest - candidate.token.width();
            writeln!(
                out,
                "{:6.2} %  {}  {}{:blanks$}  {}",
                100.0 * candidate.probability,
                bar(candidate.probability),
                candidate.token,
                "",
                candidate.text
            )?;
        }
    }
    Ok(())
}

/// `BAR` characters, of which a share of `probability` is full.
fn bar(probability: f32) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (probability.clamp(0.0, 1.0) * (8 * BAR) as f32).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    bar += EIGHTHS[eighths % 8];
    let blanks = BAR - eighths.div_ceil(8);
    bar + &" ".repeat(blanks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_one_width() {
        for (probability, expected) in [
            (0.0, "          "),
            (0.001, "          "),
            (0.013, "▏         "),
            (0.5, "█████     "),
            (0.99, "█████████▉"),
            (1.0, "██████████"),
        ] {
            assert_eq!(bar(probability), expected);
        }
    }
}
