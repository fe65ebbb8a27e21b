//! Flags that several verbs share, each with one meaning.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use oxibert::text::{Compat, Rules, Tokenizer};
use oxibert::train::{Decay, Warmup};
use oxibert_kernels::bf16_pays;
use serde::{Deserialize, Serialize};

use crate::hub;
use crate::output::remark;

/// `--compat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompatChoice {
    /// As Hugging Face's tokenizers: how published checkpoints are used
    Hf,
    /// As Google's original code: words up to 200 characters, special tokens inside text are split
    Google,
}

impl From<CompatChoice> for Compat {
    fn from(choice: CompatChoice) -> Self {
        match choice {
            CompatChoice::Hf => Self::Hf,
            CompatChoice::Google => Self::Google,
        }
    }
}

/// How a learning rate falls behind its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DecayChoice {
    /// In a straight line to zero
    Linear,
    /// Along half a cosine to zero
    Cosine,
    /// Not at all
    Constant,
    /// As 1 / sqrt(step), the original Transformer's
    InverseSqrt,
}

impl From<DecayChoice> for Decay {
    fn from(choice: DecayChoice) -> Self {
        match choice {
            DecayChoice::Linear => Self::Linear,
            DecayChoice::Cosine => Self::Cosine,
            DecayChoice::Constant => Self::Constant,
            DecayChoice::InverseSqrt => Self::InverseSqrt,
        }
    }
}

/// A share of a run below 1, a number of steps from 1 on.
pub(crate) fn warmup(value: f64) -> Warmup {
    if value < 1.0 { Warmup::Share(value) } else { Warmup::Steps(value.round() as u64) }
}

/// What every training can be asked for.
#[derive(Debug, Clone, Default, Args, Serialize)]
pub(crate) struct CommonFlags {
    /// Batches of a step: more of them need no more memory [default: 1]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub(crate) accumulate: Option<u32>,
    /// The largest norm that the gradient may have; 0 is no limit [default: 1]
    #[arg(long, value_name = "NORM", help_heading = "Training")]
    pub(crate) clip: Option<f64>,
    /// Dropout instead of what the configuration says
    #[arg(long, value_name = "RATE", help_heading = "Training")]
    pub(crate) dropout: Option<f64>,
    /// Compute activations again instead of keeping them: a third more time, much less memory
    #[arg(long, help_heading = "Training")]
    pub(crate) checkpointing: bool,
    /// Multiply in bfloat16, add in f32: less time on processors with AMX or AMD's AVX512-BF16; evaluations stay in f32
    #[arg(long, help_heading = "Training")]
    pub(crate) bf16: bool,
}

impl CommonFlags {
    /// Says so where a flag is no use on this machine.
    pub(crate) fn note(&self, quiet: bool) {
        note_bf16(self.bf16, quiet);
    }
}

/// Says so where `--bf16` is no use on this machine.
pub(crate) fn note_bf16(bf16: bool, quiet: bool) {
    if bf16 && !quiet && !bf16_pays() {
        remark(format_args!(
            "note: --bf16: this processor has no fast instructions for it (AMX, or AMD's AVX512-BF16); leave it out: that is faster, and exact"
        ));
    }
}

/// Which tokenizer.
#[derive(Debug, Args)]
pub(crate) struct TokenizerChoice {
    /// A checkpoint directory with tokenizer.json or vocab.txt, or a model's name on the Hugging Face hub
    #[arg(long, value_name = "DIR|NAME", required_unless_present = "vocab", conflicts_with = "vocab")]
    model: Option<String>,
    /// A vocab.txt, one token a line
    #[arg(long, value_name = "FILE")]
    vocab: Option<PathBuf>,
    /// Keep upper case and accents (with --vocab; a checkpoint says so itself)
    #[arg(long, conflicts_with = "model")]
    cased: bool,
    /// Whose tokenizer to follow where the two references disagree [default: the checkpoint's, or hf]
    #[arg(long, value_enum)]
    compat: Option<CompatChoice>,
}

impl TokenizerChoice {
    pub(crate) fn load(&self) -> Result<Tokenizer> {
        let compat = self.compat.map(Compat::from);
        if let Some(path) = &self.vocab {
            let rules = rules(self.cased, compat.unwrap_or_default());
            return Ok(Tokenizer::load_vocab(path, rules)?);
        }
        let model = self.model.as_deref().context("--model or --vocab is needed")?;
        let tokenizer = Tokenizer::load(&hub::resolve_tokenizer(model)?)?;
        match compat {
            Some(compat) if compat != tokenizer.rules().compat => {
                let max_word_chars = compat.max_word_chars();
                let rules = Rules { compat, max_word_chars, ..*tokenizer.rules() };
                Ok(tokenizer.with_rules(rules)?)
            }
            _ => Ok(tokenizer),
        }
    }
}

pub(crate) fn rules(cased: bool, compat: Compat) -> Rules {
    if cased { Rules::cased(compat) } else { Rules::uncased(compat) }
}

/// What is said when a vocabulary of upper-case letters meets lower-cased text, and everything becomes [UNK].
pub(crate) fn case_problem(tokenizer: &Tokenizer) -> Option<&'static str> {
    (tokenizer.rules().lowercase && tokenizer.vocab().is_upper_case_only()).then_some(
        "the tokenizer lower-cases text, but its vocabulary has upper-case letters only; for a cased model write \
         {\"do_lower_case\": false} to tokenizer_config.json in its directory (or use --cased with --vocab)",
    )
}

/// Says it.
pub(crate) fn note_case(tokenizer: &Tokenizer) {
    if let Some(problem) = case_problem(tokenizer) {
        remark(format_args!("note: {problem}"));
    }
}

/// `--threads`.
#[derive(Debug, Default, Args)]
pub(crate) struct Threads {
    /// How many threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl Threads {
    /// Sets the number of threads of this process; returns it.
    pub(crate) fn install(&self) -> Result<usize> {
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = self.threads {
            pool = pool.num_threads(threads.into());
        }
        pool.build_global().context("cannot start the threads")?;
        Ok(rayon::current_num_threads())
    }
}

/// How a verb that works for a while goes about it, and what it says meanwhile and at the end.
#[derive(Debug, Default, Args)]
pub(crate) struct Manner {
    #[command(flatten)]
    pub(crate) threads: Threads,
    /// No progress and no summary
    #[arg(long)]
    pub(crate) quiet: bool,
    /// What came out, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A checkpoint directory of a model that says tokens. The hub is not asked: such models there have no WordPiece vocabulary.
pub(crate) fn directory(model: &str) -> Result<&Path> {
    let path = Path::new(model);
    ensure!(path.is_dir(), "--model: {model:?} is no checkpoint directory");
    Ok(path)
}

/// The inputs of a verb that reads text: standard input if none is named, and said so to a person.
pub(crate) fn inputs(files: &[PathBuf]) -> Vec<PathBuf> {
    if !files.is_empty() {
        return files.to_vec();
    }
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        remark(format_args!("reading from the terminal; end with Ctrl-D"));
    }
    vec!["-".into()]
}
