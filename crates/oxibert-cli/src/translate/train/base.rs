//! What training begins with: a shape and a vocabulary, or a checkpoint that has both.

use std::path::Path;

use anyhow::{Result, bail};
use oxibert::data::{Corpus, Pair};
use oxibert::model::transformer::{Checkpoint, Config, PRESETS};
use oxibert::text::learn::{LearnOptions, learn};
use oxibert::text::{Compat, Rules, Tokenizer, Vocab};

use super::Arguments;
use crate::progress::Bars;

pub(super) struct Base {
    pub(super) config: Config,
    pub(super) tokenizer: Tokenizer,
    /// Absent where nothing was learned before.
    pub(super) checkpoint: Option<Checkpoint>,
}

impl Base {
    pub(super) fn open(arguments: &Arguments, training: &[Pair]) -> Result<Self> {
        let model = arguments.model.as_str();
        if PRESETS.contains(&model) && !Path::new(model).exists() {
            let tokenizer = match &arguments.vocab {
                Some(directory) => Tokenizer::load(directory)?,
                None => learned(training, arguments)?,
            };
            let config = Config::preset(model, tokenizer.vocab().len(), tokenizer.special())?;
            return Ok(Self { config, tokenizer, checkpoint: None });
        }
        let presets = PRESETS.join(", ");
        if arguments.vocab.is_some() {
            bail!("--vocab: the checkpoint {model} has its own; leave it out, or name a preset ({presets})");
        }
        if !Path::new(model).is_dir() {
            bail!("--model: {model:?} is neither a checkpoint directory nor one of {presets}");
        }
        let checkpoint = Checkpoint::open(Path::new(model))?;
        let tokenizer = Tokenizer::load(Path::new(model))?;
        Ok(Self { config: checkpoint.config.clone(), tokenizer, checkpoint: Some(checkpoint) })
    }
}

/// A vocabulary of both sides together. Case is kept: it has to be translated.
fn learned(training: &[Pair], arguments: &Arguments) -> Result<Tokenizer> {
    let lines = training.iter().flat_map(|pair| [pair.source.as_str(), "\n", pair.target.as_str(), "\n"]);
    let corpus = Corpus::from_text("the training pairs", lines.collect::<String>());
    let rules = Rules::cased(Compat::Hf);
    let options = LearnOptions {
        size: arguments.vocab_size,
        // Rare characters would leave no room for pieces of words.
        alphabet_limit: Some((arguments.vocab_size / 3).max(1000)),
        ..LearnOptions::default()
    };
    let learned = learn(&corpus, rules, &options, &Bars::new(arguments.quiet))?;
    Ok(Tokenizer::new(Vocab::from_tokens(&learned.tokens)?, rules)?)
}
