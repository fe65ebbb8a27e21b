//! `oxibert evaluate lm`: how well a causal model foretells texts.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;
use oxibert::model::TokenLoss;
use oxibert::model::causal::Checkpoint;
use oxibert::task::lm::foretell;
use oxibert::text::Tokenizer;
use serde_json::json;

use crate::choices::{Manner, directory, note_case};
use crate::lines;
use crate::output::results;
use crate::progress::Bars;

/// How well a causal model foretells texts: each token from those before it
///
/// A line is a text. The perplexity is that of tokens, the end of each text among them: it can be compared between models of
/// one vocabulary.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert evaluate lm --model teller --data dev.txt
  oxibert evaluate lm --model teller --data a.txt.gz b.txt --json")]
pub(crate) struct Arguments {
    /// A checkpoint directory of `oxibert finetune lm`, or of a GPT2LMHeadModel with a WordPiece vocabulary
    #[arg(long, value_name = "DIR")]
    model: String,
    /// Texts, a line each; plain, gzip or zstd
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    data: Vec<PathBuf>,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.manner.threads.install()?;
    let texts = lines::with_text(&arguments.data)?;
    let model: &Path = directory(&arguments.model)?;
    let (checkpoint, tokenizer) = (Checkpoint::open(model)?, Tokenizer::load(model)?);
    if !arguments.manner.quiet {
        note_case(&tokenizer);
    }
    let begin = Instant::now();
    let told = foretell(&checkpoint, &tokenizer, &texts, &Bars::new(arguments.manner.quiet))?;
    ensure!(told.tokens > 0, "{}: no token in it that can be foretold", arguments.data[0].display());
    ensure!(
        told.loss.is_finite(),
        "{}: the model says no numbers; `oxibert inspect` shows its tensors",
        arguments.model
    );
    write(told, texts.len(), begin.elapsed().as_secs_f64(), arguments.manner.json)
}

fn write(told: TokenLoss, count: usize, seconds: f64, as_json: bool) -> Result<()> {
    let TokenLoss { loss, correct, tokens } = told;
    let (perplexity, accuracy) = (loss.exp(), correct as f64 / tokens as f64);
    let mut out = results();
    if as_json {
        let all = json!({
            "perplexity": perplexity, "loss": loss, "accuracy": accuracy, "tokens": tokens, "count": count,
            "seconds": seconds,
        });
        writeln!(out, "{all}")?;
    } else {
        writeln!(out, "{:<20} {perplexity:.3}", "perplexity")?;
        writeln!(out, "{:<20} {loss:.4}", "loss")?;
        writeln!(out, "{:<20} {accuracy:.4}", "accuracy")?;
        writeln!(out, "{:<20} {count} of {tokens} tokens in {seconds:.1} s", "texts")?;
    }
    Ok(out.flush()?)
}
