//! What training begins with: a shape and a vocabulary, or a checkpoint that has both.

use std::path::Path;

use anyhow::{Result, bail};
use oxibert::data::Corpus;
use oxibert::model::{causal, transformer};
use oxibert::text::learn::{LearnOptions, learn};
use oxibert::text::{Compat, Rules, SpecialIds, Tokenizer, Vocab};

use super::Verb;
use crate::progress::Bars;

/// A kind of model that can be begun with.
pub(super) trait Shape: Sized {
    /// The names of its presets, small to large.
    fn presets() -> &'static [&'static str];
    fn preset(name: &str, tokens: usize, special: SpecialIds) -> oxibert::Result<Self>;
    /// A checkpoint's shape, and its values.
    fn open(directory: &Path) -> oxibert::Result<(Self, Vec<f32>)>;
}

impl Shape for transformer::Config {
    fn presets() -> &'static [&'static str] {
        &transformer::PRESETS
    }

    fn preset(name: &str, tokens: usize, special: SpecialIds) -> oxibert::Result<Self> {
        Self::preset(name, tokens, special)
    }

    fn open(directory: &Path) -> oxibert::Result<(Self, Vec<f32>)> {
        let checkpoint = transformer::Checkpoint::open(directory)?;
        let (_, params) = checkpoint.load()?;
        Ok((checkpoint.config, params.values))
    }
}

impl Shape for causal::Config {
    fn presets() -> &'static [&'static str] {
        &oxibert::model::PRESETS
    }

    fn preset(name: &str, tokens: usize, special: SpecialIds) -> oxibert::Result<Self> {
        Self::preset(name, tokens, special)
    }

    fn open(directory: &Path) -> oxibert::Result<(Self, Vec<f32>)> {
        let checkpoint = causal::Checkpoint::open(directory)?;
        let (_, params) = checkpoint.load()?;
        Ok((checkpoint.config, params.values))
    }
}

pub(super) struct Base<C> {
    pub(super) config: C,
    pub(super) tokenizer: Tokenizer,
    /// Absent where nothing was learned before.
    pub(super) values: Option<Vec<f32>>,
}

impl<C: Shape> Base<C> {
    /// The preset or the checkpoint that was named; a preset without a vocabulary learns one from `texts`.
    pub(super) fn open(verb: &Verb, texts: impl FnOnce() -> Result<Corpus>) -> Result<Self> {
        let model = verb.model.as_str();
        if C::presets().contains(&model) && !Path::new(model).exists() {
            let tokenizer = match &verb.vocab {
                Some(directory) => Tokenizer::load(directory)?,
                None => learned(&texts()?, verb)?,
            };
            let config = C::preset(model, tokenizer.vocab().len(), tokenizer.special())?;
            return Ok(Self { config, tokenizer, values: None });
        }
        let presets = C::presets().join(", ");
        if verb.vocab.is_some() {
            bail!("--vocab: the checkpoint {model} has its own; leave it out, or name a preset ({presets})");
        }
        if !Path::new(model).is_dir() {
            bail!("--model: {model:?} is neither a checkpoint directory nor one of {presets}");
        }
        let (config, values) = C::open(Path::new(model))?;
        Ok(Self { config, tokenizer: Tokenizer::load(Path::new(model))?, values: Some(values) })
    }
}

/// A vocabulary of the texts. Case is kept: what is said has to have it.
fn learned(texts: &Corpus, verb: &Verb) -> Result<Tokenizer> {
    let rules = Rules::cased(Compat::Hf);
    let options = LearnOptions {
        size: verb.vocab_size,
        // Rare characters would leave no room for pieces of words.
        alphabet_limit: Some((verb.vocab_size / 3).max(1000)),
        ..LearnOptions::default()
    };
    let learned = learn(texts, rules, &options, &Bars::new(verb.manner.quiet))?;
    Ok(Tokenizer::new(Vocab::from_tokens(&learned.tokens)?, rules)?)
}
