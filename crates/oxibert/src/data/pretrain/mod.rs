//! Pretraining examples from shards: masked tokens and sentence pairs, made while training.
//!
//! ```text
//! Shards -> chunks of each document (chunks.rs) -> shuffled -> pairs (pairs.rs) -> masked (masking.rs) -> Feed (feed.rs)
//! ```
//!
//! Everything drawn is a function of (seed, epoch, example), so that any example can be made again, on any machine and
//! after any interruption; nothing is written to the disk. The rules are those of google-research/bert's
//! `create_pretraining_data.py`, with what came later as options: whole words, n-grams, sentence order (ALBERT).

mod chunks;
mod feed;
mod masking;
mod pairs;
#[cfg(test)]
mod tests;

pub use feed::{BatchSize, Feed, Position};
pub use masking::MaskCounts;

use super::shard::Shards;
use crate::random::Random;
use crate::{Error, Result};
use chunks::Chunk;

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Objective {
    /// Masked tokens, and whether the second text follows the first (BERT).
    MlmNsp,
    /// Masked tokens alone (RoBERTa).
    Mlm,
    /// Masked tokens, and whether two texts that belong together are in order (ALBERT).
    Sop,
}

impl Objective {
    /// Whether an example is a pair of texts with a class.
    pub fn has_pairs(self) -> bool {
        self != Self::Mlm
    }
}

/// How examples are made; the defaults are BERT's.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleOptions {
    /// What is predicted.
    pub objective: Objective,
    /// The most tokens of an example, `[CLS]` and `[SEP]` included.
    pub length: usize,
    /// The share of tokens that are predicted.
    pub mask_rate: f64,
    /// The most tokens of an example that are predicted; absent: `mask_rate` of `length`, rounded up (20 of 128, 77 of 512).
    pub max_predictions: Option<usize>,
    /// How many documents are cut into shorter examples, so that the model knows short texts too.
    pub short_probability: f64,
    /// Whether all pieces of a word are masked together; Chinese words too.
    pub whole_word: bool,
    /// The most neighbouring words that are masked together; shorter runs are likelier (1/n).
    pub ngram: u32,
    /// How many different maskings there are: every epoch has its own where absent, Google's data have ten.
    pub static_copies: Option<u64>,
    /// The seed.
    pub seed: u64,
}

impl Default for ExampleOptions {
    fn default() -> Self {
        Self {
            objective: Objective::MlmNsp,
            length: 128,
            mask_rate: 0.15,
            max_predictions: None,
            short_probability: 0.1,
            whole_word: false,
            ngram: 1,
            static_copies: None,
            seed: 42,
        }
    }
}

impl ExampleOptions {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        let share = |name, value: f64, most: f64| match value > 0.0 && value <= most {
            true => Ok(()),
            false => {
                Err(Error::setting(name, format!("it is {value}, expected more than 0 and at most {most}")))
            }
        };
        share("mask rate", self.mask_rate, 0.9)?;
        if !(0.0..=1.0).contains(&self.short_probability) {
            let problem = format!("it is {}, expected 0 to 1", self.short_probability);
            return Err(Error::setting("short-sequence probability", problem));
        }
        for (name, value, least) in [
            ("length", self.length as u64, 8),
            ("n-gram", self.ngram.into(), 1),
            ("static copies", self.static_copies.unwrap_or(1), 1),
            ("max predictions", self.max_predictions.unwrap_or(1) as u64, 1),
        ] {
            if value < least {
                return Err(Error::setting(name, format!("it is {value}, expected at least {least}")));
            }
        }
        Ok(())
    }

    /// The most tokens of an example that are predicted.
    pub fn most_predictions(&self) -> usize {
        self.max_predictions.unwrap_or_else(|| (self.mask_rate * self.length as f64).ceil() as usize)
    }

    /// Tokens that are left for text.
    fn room(&self) -> usize {
        self.length - if self.objective.has_pairs() { 3 } else { 2 }
    }

    /// The epoch whose random numbers this epoch takes.
    fn masking_epoch(&self, epoch: u64) -> u64 {
        self.static_copies.map_or(epoch, |copies| epoch % copies)
    }
}

/// The ids that examples are built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExampleIds {
    /// `[CLS]`.
    pub cls: u32,
    /// `[SEP]`.
    pub sep: u32,
    /// `[MASK]`.
    pub mask: u32,
    /// `[PAD]`, which is never predicted.
    pub pad: Option<u32>,
    /// `[UNK]`, which is never predicted.
    pub unk: u32,
    /// The number of tokens, of which random ones are drawn.
    pub vocab_size: u32,
}

impl ExampleIds {
    /// Those of a vocabulary's special tokens; without `[MASK]` there is nothing to predict.
    pub fn new(special: crate::text::SpecialIds, vocab_size: usize) -> Result<Self> {
        let missing = || Error::setting("vocabulary", "it has no [MASK], which pretraining needs; add it");
        Ok(Self {
            cls: special.cls,
            sep: special.sep,
            mask: special.mask.ok_or_else(missing)?,
            pad: special.pad,
            unk: special.unk,
            vocab_size: vocab_size as u32,
        })
    }

    fn is_special(&self, id: u32) -> bool {
        [self.cls, self.sep, self.mask, self.unk].contains(&id) || self.pad == Some(id)
    }
}

/// One example.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Example {
    /// Token ids as the model sees them, masked.
    pub ids: Vec<u32>,
    /// Segments, 0 and 1.
    pub segments: Vec<u8>,
    /// Whether a token goes on with the word of the one before it.
    pub continues: Vec<bool>,
    /// The places that are predicted, in order.
    pub masked: Vec<u32>,
    /// The tokens that stood there.
    pub labels: Vec<u32>,
    /// 0 if the second text follows the first (or is in order), 1 if not; absent without pairs.
    pub next: Option<u32>,
}

/// The examples of one epoch, in their order.
#[derive(Debug)]
pub(crate) struct Epoch {
    /// Where this epoch's random numbers begin.
    seed: u64,
    chunks: Vec<Chunk>,
}

/// All examples of some documents.
#[derive(Debug)]
pub struct Examples<'s> {
    shards: &'s Shards,
    documents: Vec<u32>,
    ids: ExampleIds,
    options: ExampleOptions,
}

impl<'s> Examples<'s> {
    /// Examples of the documents of these numbers. Pairs need two documents at least.
    pub fn new(
        shards: &'s Shards,
        documents: Vec<u32>,
        ids: ExampleIds,
        options: ExampleOptions,
    ) -> Result<Self> {
        options.check()?;
        let least = if options.objective == Objective::MlmNsp { LEAST_DOCUMENTS } else { 1 };
        if documents.len() < least {
            let problem = format!(
                "{} document(s), but next-sentence prediction takes sentences of another document and needs two: separate \
                 documents by blank lines, or choose the objective mlm or sop",
                documents.len()
            );
            return Err(Error::setting("data", problem));
        }
        Ok(Self { shards, documents, ids, options })
    }

    /// How they are made.
    pub fn options(&self) -> &ExampleOptions {
        &self.options
    }

    /// Cuts all documents into this epoch's chunks and shuffles them.
    pub(crate) fn epoch(&self, epoch: u64) -> Epoch {
        let seed =
            Random::new(self.options.seed, "pretraining epoch", self.options.masking_epoch(epoch)).bits();
        let mut chunks = chunks::of_all(self.shards, &self.documents, &self.options, seed);
        Random::new(self.options.seed, "example order", epoch).shuffle(&mut chunks);
        Epoch { seed, chunks }
    }

    /// Makes example `index` of an epoch; the memory of `example` is used again.
    pub(crate) fn make(&self, epoch: &Epoch, index: usize, example: &mut Example) -> MaskCounts {
        let chunk = &epoch.chunks[index];
        let key = u64::from(chunk.document) << 32 | u64::from(chunk.first);
        let mut random = Random::new(epoch.seed, "pretraining example", key);
        self.pair(chunk, &mut random, example);
        masking::mask(&self.options, &self.ids, &mut random, example)
    }
}

impl Epoch {
    /// How many examples it has.
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }
}

/// Sentence pairs need two documents to draw from, in either part.
const LEAST_DOCUMENTS: usize = 2;

/// Parts `0..documents` into those for training and those held out: two at least, or none where there are fewer than four
/// or the share is 0. Which ones depends on their number alone, so that every run holds out the same.
pub fn hold_out(documents: usize, share: f64) -> (Vec<u32>, Vec<u32>) {
    let wanted = (documents as f64 * share).round() as usize;
    let count = match documents >= 2 * LEAST_DOCUMENTS && share > 0.0 {
        true => wanted.clamp(LEAST_DOCUMENTS, documents - LEAST_DOCUMENTS),
        false => 0,
    };
    let mut order: Vec<(u64, u32)> = (0..documents as u32)
        .map(|number| (Random::new(0, "held-out document", number.into()).bits(), number))
        .collect();
    order.sort_unstable();
    let numbers = |part: &[(u64, u32)]| {
        let mut numbers: Vec<u32> = part.iter().map(|pair| pair.1).collect();
        numbers.sort_unstable();
        numbers
    };
    (numbers(&order[count..]), numbers(&order[..count]))
}
