//! `oxibert finetune lm`: texts to a causal model, which says each token from those before it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use oxibert::data::Corpus;
use oxibert::model::causal::Config;
use oxibert::task::lm::Lm;
use serde_json::Map;

use super::settings::Settings;
use super::{Base, Lesson, Verb, hold_out};
use crate::lines;
use crate::watchers::listen;

/// Texts to a model that goes on with them, from left to right
///
/// A line is a text. The model with the lowest loss on dev texts ends up in the output directory, with its tokenizer;
/// `transformers` loads it as GPT2LMHeadModel, `oxibert generate` goes on with texts. Its shapes are BERT's, so that one
/// direction can be compared with both.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert finetune lm --model mini --train stories.txt --out teller --time-budget 30m
  oxibert finetune lm --model tiny --vocab DIR --train a.txt.gz b.txt --dev dev.txt --out teller
  oxibert finetune lm --model teller --train more.txt --out teller-more --lr 1e-4")]
pub(crate) struct Arguments {
    /// Texts to learn from, a line each; plain, gzip or zstd
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    train: Vec<PathBuf>,
    /// Texts to measure with: the best model on them is kept [default: some of --train]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    dev: Vec<PathBuf>,
    #[command(flatten)]
    verb: Verb,
}

/// GPT-2 had none.
const SMOOTHING: f32 = 0.0;
/// Words of the text that the model can be tried with.
const WORDS: usize = 3;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { train, dev, verb } = arguments;
    verb.manner.threads.install()?;
    let all = lines::with_text(train)?;
    let [training, dev] = if dev.is_empty() { hold_out(all) } else { [all, lines::with_text(dev)?] };
    let base: Base<Config> =
        Base::open(verb, || Ok(Corpus::from_text("the training texts", training.join("\n"))))?;
    let settings = verb.flags.decide(base.config.n_embd, SMOOTHING)?;
    verb.flags.common.note(verb.manner.quiet);
    let config = configure(base.config, &settings)?;
    let mut learner = Lm::new(&config, &base.tokenizer, &training, &dev, settings.data())?;
    let lesson =
        Lesson { verb, name: "lm", job: Map::new(), settings: &settings, tokenizer: &base.tokenizer };
    let taught = lesson.teach(&mut learner, base.values, &*listen()?)?;
    let words: Vec<&str> = training[0].split_whitespace().take(WORDS).collect();
    verb.summarise(&taught, &words.join(" "), "generate")
}

/// The configuration with what this run changes about it.
fn configure(mut config: Config, settings: &Settings) -> Result<Config> {
    if let Some(rate) = settings.dropout {
        (config.resid_pdrop, config.embd_pdrop, config.attn_pdrop) = (rate, rate, rate);
    }
    config.check()?;
    Ok(config)
}
