//! Texts in another language: `oxibert translate`.
//!
//! ```text
//! texts -> parts that fit, by length -> batches of a token budget -> beam search -> tokens -> texts, in input order
//! ```

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use oxibert_kernels::{side_by_side, threads};
use rayon::prelude::*;

use crate::data::{Batch, by_budget};
use crate::model::transformer::{
    Checkpoint, DecodeOptions, Hypothesis, PairBatch, Transformer, Work, names, search,
};
use crate::model::{Inspection, Param};
use crate::nn::frozen::Frozen;
use crate::progress::{Progress, Unit};
use crate::text::sentences::sentences;
use crate::text::{Encoder, Spacing, Tokenizer, join_sentences};
use crate::{Error, Result};

/// Source tokens times hypotheses of a batch: enough to fill the machine, few enough to stay in its caches.
const BATCH_TOKENS: usize = 4096;
/// With fewer batches for each thread than this, a thread could be left without work for long; threads then share each product.
const FEW: usize = 2;
/// `[CLS]` and `[SEP]`.
const SPECIAL: usize = 2;

/// A text in another language.
#[derive(Debug, Clone, PartialEq)]
pub struct Translation {
    /// What it says.
    pub text: String,
    /// The logarithm of its probability, corrected for its length: the higher, the surer the model was. 0 where there was
    /// nothing to translate; the parts' mean where there were several.
    pub score: f64,
    /// Its tokens.
    pub tokens: Vec<String>,
    /// In how many parts the text was translated: more than one where it was too long for the model, and none where it was
    /// empty.
    pub parts: usize,
}

/// Which tokens of a source the tokens of its translation looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// The source's tokens, `[CLS]` and `[SEP]` included.
    pub source: Vec<String>,
    /// The translation's tokens and, at last, `[SEP]`: those that were said.
    pub target: Vec<String>,
    /// Attention heads, A.
    pub heads: usize,
    /// For each layer of the decoder, the weights `[A, target, source]`; the weights of a target's token add up to 1.
    pub layers: Vec<Vec<f32>>,
}

/// A model and its tokenizer, ready to translate. It can be shared between threads.
///
/// ```no_run
/// use oxibert::infer::{DecodeOptions, Translator};
///
/// let translator = Translator::open("en-de".as_ref())?;
/// let found = translator.translate(&["Hello, how are you?"], &DecodeOptions::default(), &())?;
/// println!("{}", found[0][0].text);
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Debug)]
pub struct Translator {
    model: Transformer,
    numbers: Frozen,
    tokenizer: Tokenizer,
    spacing: Option<Spacing>,
}

/// What the model reads at once: a text, or a part of a long one.
struct Part {
    /// Its place among all.
    number: usize,
    text: usize,
    /// Without `[CLS]` and `[SEP]`.
    ids: Vec<u32>,
    found: Vec<Hypothesis>,
}

/// What the threads that translate share.
struct Desk {
    /// Parts of each text that are not translated yet.
    left: Vec<usize>,
    /// Memory that nobody uses just now.
    works: Vec<Work>,
    /// The first thing that went wrong; the rest is then left alone.
    failure: Option<Error>,
}

impl Desk {
    /// Memory for a batch; none if there is no use in going on.
    fn take(&mut self) -> Option<Work> {
        self.failure.is_none().then(|| self.works.pop().unwrap_or_default())
    }

    /// Notes a batch as done; how many texts were finished by it.
    fn put_back(&mut self, work: Work, outcome: Result<()>, batch: &[Part]) -> u64 {
        self.works.push(work);
        if let Err(failure) = outcome {
            self.failure.get_or_insert(failure);
            return 0;
        }
        let mut finished = 0;
        for part in batch {
            self.left[part.text] -= 1;
            finished += u64::from(self.left[part.text] == 0);
        }
        finished
    }
}

fn lock(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cuts parts, which come in order of their length, into batches of a token budget.
fn batches(parts: &mut [Part], beam: usize) -> Vec<&mut [Part]> {
    let lengths: Vec<usize> = parts.iter().map(|part| (part.ids.len() + SPECIAL) * beam).collect();
    let (mut rest, mut batches) = (parts, Vec::new());
    for run in by_budget(&lengths, BATCH_TOKENS, |&tokens| tokens) {
        let (now, later) = std::mem::take(&mut rest).split_at_mut(run.len());
        rest = later;
        batches.push(now);
    }
    batches
}

impl Translator {
    /// Opens a checkpoint directory: a MarianMTModel with a WordPiece tokenizer.
    pub fn open(directory: &Path) -> Result<Self> {
        let translator = Self::new(Checkpoint::open(directory)?, Tokenizer::load(directory)?)?;
        Ok(Self { spacing: Spacing::load(directory)?, ..translator })
    }

    /// The same, multiplying in bfloat16 and adding in f32: faster where the processor has instructions for it, scores differ a little.
    pub fn in_bf16(self) -> Self {
        Self { numbers: self.numbers.in_bf16(), ..self }
    }

    /// The translator of an opened model.
    pub fn new(checkpoint: Checkpoint, tokenizer: Tokenizer) -> Result<Self> {
        let Checkpoint { config, weights } = checkpoint;
        let (tokens, rows) = (tokenizer.vocab().len(), config.vocab_size.min(config.decoder_vocab_size));
        if tokens > rows {
            let problem = format!("it has {tokens} tokens, but the model has {rows}; take the model's own");
            return Err(Error::setting("tokenizer", problem));
        }
        let model = Transformer::with_bias(&config, weights.contains(names::LOGITS_BIAS));
        let numbers = Frozen::new(weights, model.layout().clone())?;
        Ok(Self { model, numbers, tokenizer, spacing: None })
    }

    /// The model.
    pub fn model(&self) -> &Transformer {
        &self.model
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The best translations of each text, the best first, in the order of the texts.
    ///
    /// They do not depend on which texts are translated together, nor on the number of threads. An empty text has one empty
    /// translation. A text that is too long for the model is translated sentence by sentence, and a sentence in pieces only where that alone is
    /// too long; its parts are joined.
    pub fn translate<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        options: &DecodeOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Translation>>> {
        options.check()?;
        let mut parts = self.parts(texts)?;
        parts.sort_by_key(|part| std::cmp::Reverse(part.ids.len()));
        progress.begin("translating", Some(texts.len() as u64), Unit::Items);
        let done = self.run(&mut parts, texts.len(), options, progress);
        progress.end();
        done?;
        parts.sort_by_key(|part| part.number);
        let mut of_text: Vec<Vec<Part>> = texts.iter().map(|_| Vec::new()).collect();
        parts.into_iter().for_each(|part| of_text[part.text].push(part));
        Ok(of_text.iter().map(|parts| self.join(parts)).collect())
    }

    /// Each text's ids in parts that the model can take.
    fn parts<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<Part>> {
        if texts.iter().any(|text| u32::try_from(text.as_ref().len()).is_err()) {
            return Err(Error::setting("text", "a text of 4 GiB or more; cut it into smaller ones"));
        }
        let room = self.model.config().max_position_embeddings.saturating_sub(SPECIAL).max(1);
        let cut = |encoder: &mut Encoder<'_>, text: &T| cut(text.as_ref(), room, encoder);
        let ids: Vec<Vec<Vec<u32>>> =
            texts.par_iter().with_min_len(16).map_init(|| self.tokenizer.encoder(), cut).collect();
        let of_texts = ids
            .into_iter()
            .enumerate()
            .flat_map(|(text, parts)| parts.into_iter().map(move |ids| (text, ids)));
        Ok(of_texts
            .enumerate()
            .map(|(number, (text, ids))| Part { number, text, ids, found: Vec::new() })
            .collect())
    }

    /// Finds the targets of all parts. Many batches go side by side, one per thread: threads that shared every small product of
    /// every step would mostly wait for each other.
    fn run(
        &self,
        parts: &mut [Part],
        texts: usize,
        options: &DecodeOptions,
        progress: &dyn Progress,
    ) -> Result<()> {
        let mut left = vec![0usize; texts];
        parts.iter().for_each(|part| left[part.text] += 1);
        progress.advance(left.iter().filter(|&&parts| parts == 0).count() as u64);
        let desk = Mutex::new(Desk { left, works: Vec::new(), failure: None });
        let one = |batch: &mut [Part]| {
            let Some(mut work) = lock(&desk).take() else { return };
            let found = self.search(batch, options, &mut work);
            progress.advance(lock(&desk).put_back(work, found, batch));
        };
        let batches = batches(parts, options.beam);
        if batches.len() < FEW * threads() {
            batches.into_iter().for_each(one);
        } else {
            side_by_side(batches.into_iter(), one);
        }
        desk.into_inner().unwrap_or_else(PoisonError::into_inner).failure.map_or(Ok(()), Err)
    }

    /// Finds a batch's targets; explains an output that is no number by the tensor that is sick, if one is.
    fn search(&self, parts: &mut [Part], options: &DecodeOptions, work: &mut Work) -> Result<()> {
        let mut batch = Batch::new();
        parts.iter().for_each(|part| batch.push_ids(&self.whole(&part.ids)));
        let found = search(&self.model, &self.numbers, &batch, options, work).map_err(|error| {
            let params: Vec<Param> = self.model.layout().iter().map(|(param, _)| param.clone()).collect();
            self.numbers.weights().check_finite(&params).err().unwrap_or(error)
        })?;
        parts.iter_mut().zip(found).for_each(|(part, found)| part.found = found);
        Ok(())
    }

    /// `[CLS] ids [SEP]`.
    fn whole(&self, ids: &[u32]) -> Vec<u32> {
        let special = self.tokenizer.special();
        [&[special.cls], ids, &[special.sep]].concat()
    }

    /// The translations of a text from those of its parts: the best of all, the second best of all, …
    fn join(&self, parts: &[Part]) -> Vec<Translation> {
        let Some(count) = parts.iter().map(|part| part.found.len()).min() else {
            return vec![Translation { text: String::new(), score: 0.0, tokens: Vec::new(), parts: 0 }];
        };
        let rank = |rank: usize| {
            let found = || parts.iter().map(|part| &part.found[rank]);
            let texts: Vec<String> = found().map(|one| self.decode(&one.ids)).collect();
            Translation {
                text: join_sentences(&texts),
                score: found().map(|one| one.score).sum::<f64>() / parts.len() as f64,
                tokens: found().flat_map(|one| self.names(&one.ids)).collect(),
                parts: parts.len(),
            }
        };
        (0..count).map(rank).collect()
    }

    /// With the blanks of the target's language where they were learned, else by the tokenizer's rules.
    fn decode(&self, ids: &[u32]) -> String {
        match &self.spacing {
            Some(spacing) => spacing.join(&self.tokenizer, ids),
            None => self.tokenizer.decode(ids),
        }
    }

    fn names(&self, ids: &[u32]) -> Vec<String> {
        ids.iter().map(|&id| self.tokenizer.vocab().token(id).unwrap_or_default().to_owned()).collect()
    }

    /// Which of the source's tokens each token of its translation looked at. The text must be one that was translated in one
    /// part, and `tokens` its translation's.
    pub fn alignment(&self, text: &str, tokens: &[String]) -> Result<Alignment> {
        let config = self.model.config();
        let source = self.tokenizer.encode(text).ids;
        let id = |token: &String| {
            let unknown = || Error::setting("tokens", format!("{token:?} is not in the model's vocabulary"));
            self.tokenizer.vocab().id(token).ok_or_else(unknown)
        };
        let target = tokens.iter().map(id).collect::<Result<Vec<u32>>>()?;
        let whole = [&[config.decoder_start_token_id], &target[..], &[config.eos_token_id]].concat();
        let mut batch = PairBatch::new();
        batch.push(&source, &whole);
        self.model.check(&batch)?;
        let mut seen = Inspection::default();
        self.model.logits_of(&self.numbers, &batch, &mut Work::default(), Some(&mut seen));
        Ok(Alignment {
            source: self.names(&source),
            target: self.names(&whole[1..]),
            heads: config.decoder_attention_heads,
            layers: seen.cross_attentions,
        })
    }
}

/// A text's ids; in several parts of at most `room` where it has more; none where it has none. The parts are its sentences, which is what
/// models have learned to translate, and pieces of those that are too long by themselves.
fn cut(text: &str, room: usize, encoder: &mut Encoder<'_>) -> Vec<Vec<u32>> {
    let ids = encoder.pieces(text).ids;
    if ids.len() <= room {
        return if ids.is_empty() { Vec::new() } else { vec![ids] };
    }
    let mut parts: Vec<Vec<u32>> = Vec::new();
    for sentence in sentences(text) {
        parts.extend(encoder.pieces(sentence).ids.chunks(room).map(<[u32]>::to_vec));
    }
    parts
}

#[cfg(test)]
mod tests;
