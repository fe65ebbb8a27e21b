//! Translation: pairs of texts, the Transformer, and how well it translates held-out sources.

use std::path::Path;

use crate::data::{Batch, Pair, by_budget};
use crate::model::transformer::{
    Checkpoint, Config, DecodeOptions, PairBatch, Transformer, Work, save, search,
};
use crate::model::{DropoutPlan, TokenLoss, Training};
use crate::nn::{Gradients, Layout, tensors};
use crate::text::{Spacing, Tokenizer};
use crate::train::{Better, Figures};
use crate::{Error, Result};

use super::teaching::{Speaker, TeachOptions, Teaching};

/// Source tokens of a batch that is translated.
const TRANSLATED_TOKENS: usize = 2048;

/// A Transformer that learns to translate.
pub type Translate<'t> = Teaching<PairSpeaker<'t>>;

/// How good translations are beside their references, by a name: `("bleu", …)`.
pub type Score<'t> = (&'static str, &'t (dyn Fn(&[String], &[String]) -> f64 + Sync));

/// A pair of texts as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPair {
    /// `[CLS] source [SEP]`.
    pub source: Vec<u32>,
    /// `[CLS] target [SEP]`.
    pub target: Vec<u32>,
}

/// A held-out pair with what the model made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// What was translated.
    pub source: String,
    /// What it should have become.
    pub reference: String,
    /// What it became.
    pub translation: String,
}

/// The pairs that a Transformer is shown, and the memory of a pass over them.
#[derive(Debug, Default)]
pub struct PairDesk {
    batch: PairBatch,
    work: Work,
}

/// The Transformer and its vocabulary.
pub struct PairSpeaker<'t> {
    model: Transformer,
    tokenizer: &'t Tokenizer,
    /// Of the targets.
    spacing: Spacing,
    /// Held-out pairs that are translated at every evaluation.
    samples: Vec<Sample>,
    score: Option<Score<'t>>,
    left_out: usize,
}

impl<'t> Teaching<PairSpeaker<'t>> {
    /// Encodes the pairs and checks that model and vocabulary fit each other. Pairs that have an empty side, or one with more
    /// tokens than the model has positions, are left out.
    pub fn new(
        config: &Config,
        tokenizer: &'t Tokenizer,
        training: &[Pair],
        dev: &[Pair],
        options: TeachOptions,
    ) -> Result<Self> {
        let (tokens, rows) = (tokenizer.vocab().len(), config.vocab_size.min(config.decoder_vocab_size));
        if tokens > rows {
            let problem =
                format!("the model has {rows}, but the tokenizer {tokens} tokens; set it to {tokens}");
            return Err(Error::setting("vocab_size", problem));
        }
        let model = Transformer::new(config);
        let targets: Vec<&str> = training.iter().map(|pair| pair.target.as_str()).collect();
        let spacing = Spacing::learn(tokenizer, &targets);
        let encoded = [training, dev].map(|pairs| encode(pairs, tokenizer, config));
        let given = training.len() + dev.len();
        let [training, dev] = encoded;
        let left_out = given - training.len() - dev.len();
        let speaker = PairSpeaker { model, tokenizer, spacing, samples: Vec::new(), score: None, left_out };
        Self::with_examples(speaker, training, dev, options)
    }

    /// Translates these pairs' sources, greedily, at every evaluation, and takes the `score` of the outcome as the goal.
    #[must_use]
    pub fn scored(mut self, pairs: &[Pair], score: Score<'t>) -> Self {
        let sample = |pair: &Pair| Sample {
            source: pair.source.clone(),
            reference: pair.target.clone(),
            translation: String::new(),
        };
        self.speaker.samples = pairs.iter().map(sample).collect();
        self.speaker.score = Some(score);
        self
    }

    /// The model.
    pub fn model(&self) -> &Transformer {
        &self.speaker.model
    }

    /// How many pairs were left out.
    pub fn left_out(&self) -> usize {
        self.speaker.left_out
    }

    /// The held-out pairs that are translated, as they were at the last evaluation.
    pub fn samples(&self) -> &[Sample] {
        &self.speaker.samples
    }
}

impl PairSpeaker<'_> {
    /// Translates the samples' sources; `None` where the model says no numbers.
    fn translate(&mut self, values: &[f32]) -> Option<()> {
        let most = self.model.config().max_position_embeddings;
        let texts: Vec<&str> = self.samples.iter().map(|sample| sample.source.as_str()).collect();
        let sources: Vec<Vec<u32>> =
            self.tokenizer.encode_batch(&texts).into_iter().map(|encoding| cut(encoding.ids, most)).collect();
        let (mut translations, mut work) = (Vec::with_capacity(sources.len()), Work::default());
        for run in by_budget(&sources, TRANSLATED_TOKENS, Vec::len) {
            let mut batch = Batch::new();
            run.iter().for_each(|ids| batch.push_ids(ids));
            let found = search(&self.model, values, &batch, &DecodeOptions::GREEDY, &mut work).ok()?;
            translations.extend(found.iter().map(|found| self.spacing.join(self.tokenizer, &found[0].ids)));
        }
        self.samples.iter_mut().zip(translations).for_each(|(sample, text)| sample.translation = text);
        Some(())
    }
}

impl Speaker for PairSpeaker<'_> {
    type Example = EncodedPair;
    type Desk = PairDesk;

    fn layout(&self) -> &Layout {
        self.model.layout()
    }

    /// The end of a target is asked for, but not given.
    fn tokens(&self, pair: &EncodedPair) -> usize {
        pair.source.len() + pair.target.len() - 1
    }

    fn width(&self) -> usize {
        self.model.config().d_model
    }

    fn asked(&self, pair: &EncodedPair) -> usize {
        pair.target.len() - 1
    }

    fn ids<'e>(&self, pair: &'e EncodedPair) -> [&'e [u32]; 2] {
        [&pair.source, &pair.target]
    }

    fn flops(&self, pair: &EncodedPair) -> u64 {
        self.model.config().flops(pair.source.len(), pair.target.len() - 1)
    }

    fn show<'e>(&self, pairs: impl Iterator<Item = &'e EncodedPair>, desk: &mut PairDesk) {
        desk.batch.clear();
        pairs.for_each(|pair| desk.batch.push(&pair.source, &pair.target));
    }

    fn dropout(&self, seed: u64) -> DropoutPlan {
        self.model.dropout(seed)
    }

    fn gradients(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        training: Training,
        desk: &mut PairDesk,
    ) -> TokenLoss {
        self.model.gradients(values, gradients, &desk.batch, training, &mut desk.work)
    }

    fn evaluate(&self, values: &[f32], desk: &mut PairDesk) -> TokenLoss {
        self.model.evaluate(values, &desk.batch, 0.0, &mut desk.work)
    }

    fn measure(&mut self, values: &[f32], figures: &mut Figures) {
        let Some((name, score)) = self.score else { return };
        if self.samples.is_empty() || self.translate(values).is_none() {
            return;
        }
        let column =
            |text: fn(&Sample) -> &String| self.samples.iter().map(|s| text(s).clone()).collect::<Vec<_>>();
        let value = score(&column(|sample| &sample.translation), &column(|sample| &sample.reference));
        figures.add(name, value, 1.0);
    }

    fn goal(&self) -> (&'static str, Better) {
        match self.score {
            Some((name, _)) if !self.samples.is_empty() => (name, Better::Higher),
            _ => ("loss", Better::Lower),
        }
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.model.initial(seed).values
    }

    fn save(&self, values: &[f32], directory: &Path) -> Result<()> {
        save(directory, self.model.config(), &tensors(self.model.layout(), values))?;
        self.spacing.save(directory)?;
        self.tokenizer.save(directory)
    }

    fn load(&self, directory: &Path) -> Result<Vec<f32>> {
        Checkpoint::open(directory)?.load().map(|(_, params)| params.values)
    }
}

/// Pairs as ids, without those that the model cannot take.
fn encode(pairs: &[Pair], tokenizer: &Tokenizer, config: &Config) -> Vec<EncodedPair> {
    let column = |text: fn(&Pair) -> &String| {
        let texts: Vec<&str> = pairs.iter().map(|pair| text(pair).as_str()).collect();
        tokenizer.encode_batch(&texts)
    };
    let (sources, targets) = (column(|pair| &pair.source), column(|pair| &pair.target));
    let most = config.max_position_embeddings;
    let pair = |(source, mut target): (Vec<u32>, Vec<u32>)| {
        let words = 3..=most;
        let fits = words.contains(&source.len()) && words.contains(&target.len());
        let last = target.len() - 1;
        (target[0], target[last]) = (config.decoder_start_token_id, config.eos_token_id);
        fits.then_some(EncodedPair { source, target })
    };
    sources.into_iter().zip(targets).filter_map(|(s, t)| pair((s.ids, t.ids))).collect()
}

/// The first `most` tokens, the last of them being the text's last: its end.
fn cut(mut ids: Vec<u32>, most: usize) -> Vec<u32> {
    if let (true, Some(&end)) = (ids.len() > most, ids.last()) {
        ids.truncate(most - 1);
        ids.push(end);
    }
    ids
}

#[cfg(test)]
mod tests;
