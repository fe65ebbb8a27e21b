//! Texts to vectors: `oxibert embed`.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::pooling::{Pooling, normalize};
use super::sentence_transformers::{self, Wishes};
use crate::data::{Batch, by_budget};
use crate::model::{Bert, BertWork};
use crate::progress::{Progress, Unit};
use crate::text::{Limit, LongText, Part, SpecialIds, Tokenizer, Truncation};
use crate::{Error, Result};

/// Tokens of a batch: enough to fill the machine, few enough to stay in its caches.
const BATCH_TOKENS: usize = 4096;
/// The longest sequence where nothing else is said: what BERT was trained with.
const MAX_LENGTH: usize = 512;
/// `[CLS]` and `[SEP]`.
const SPECIAL: usize = 2;

/// What a text's vector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedOptions {
    /// How the tokens' vectors become one.
    pub pooling: Pooling,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// The hidden state to take: 0 is the embeddings' output, L the last layer's, which is the default.
    pub layer: Option<usize>,
    /// The most tokens of a sequence, `[CLS]` and `[SEP]` included.
    pub max_length: usize,
    /// What happens to longer texts. Sliding windows are joined: the mean of their vectors, each weighted by its
    /// number of tokens; with [`Pooling::Max`] the largest values.
    pub long: LongText,
}

/// The vectors of several texts, a row each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Embeddings {
    /// All rows, one after the other.
    pub values: Vec<f32>,
    /// The length of a row, H.
    pub width: usize,
    /// How many texts were longer than the limit.
    pub long_texts: usize,
}

impl Embeddings {
    /// The vectors, in the order of the texts.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.width)
    }
}

/// A model and its tokenizer, ready to turn texts into vectors. It can be shared between threads.
///
/// ```no_run
/// use oxibert::infer::Embedder;
///
/// let embedder = Embedder::open("all-MiniLM-L6-v2".as_ref())?;
/// let embeddings = embedder.embed(&["A man plays.", "Somebody plays."], &embedder.options(), &())?;
/// let rows: Vec<&[f32]> = embeddings.rows().collect();
/// let cosine: f32 = rows[0].iter().zip(rows[1]).map(|(a, b)| a * b).sum();
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Debug)]
pub struct Embedder {
    bert: Bert,
    tokenizer: Tokenizer,
    path: PathBuf,
    wishes: Wishes,
}

impl Embedder {
    /// Opens a checkpoint: a Hugging Face directory, or a weight file with its config.json and tokenizer beside it.
    pub fn open(path: &Path) -> Result<Self> {
        let about = std::fs::metadata(path).map_err(|source| Error::read(path, source))?;
        let directory = if about.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        // The two read different files: neither has to wait for the other.
        let (bert, tokenizer) = rayon::join(|| Bert::open(path), || Tokenizer::load(directory));
        Self::new(bert?, tokenizer?, directory)
    }

    /// The embedder of an opened model. What `directory` says about its use becomes the default.
    pub fn new(bert: Bert, tokenizer: Tokenizer, directory: &Path) -> Result<Self> {
        let wishes = sentence_transformers::read(directory)?;
        if wishes.lowercase && !tokenizer.rules().lowercase {
            let problem = "do_lower_case is true, but the tokenizer keeps upper case; expected false, or a tokenizer \
                           that lower-cases";
            return Err(Error::content(&directory.join("sentence_bert_config.json"), None, problem));
        }
        Ok(Self { bert, tokenizer, path: directory.to_owned(), wishes })
    }

    /// The model.
    pub fn bert(&self) -> &Bert {
        &self.bert
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// How this checkpoint wants to be used: what its directory says in the files of sentence-transformers, else the
    /// mean of up to 512 tokens, as it is.
    pub fn options(&self) -> EmbedOptions {
        let positions = self.bert.config().max_position_embeddings;
        EmbedOptions {
            pooling: self.wishes.pooling.unwrap_or_default(),
            normalize: self.wishes.normalize,
            layer: None,
            max_length: self.wishes.max_length.unwrap_or(MAX_LENGTH).min(positions),
            long: LongText::Head,
        }
    }

    /// Refuses options that this model cannot follow.
    pub fn check(&self, options: &EmbedOptions) -> Result<()> {
        let config = self.bert.config();
        let (layers, positions) = (config.num_hidden_layers, config.max_position_embeddings);
        if let Some(layer) = options.layer.filter(|&layer| layer > layers) {
            let problem =
                format!("{layer} is too large: 0 is the embeddings' output, {layers} the last layer's");
            return Err(Error::setting("layer", problem));
        }
        if options.max_length > positions {
            let problem = format!(
                "{} is too long: the model has {positions} positions; `oxibert convert --positions` widens it",
                options.max_length
            );
            return Err(Error::setting("max-length", problem));
        }
        if options.pooling == Pooling::Pooler {
            if options.layer.is_some_and(|layer| layer < layers) {
                let problem = "the pooler stands on the last layer; take mean, cls or max of another one";
                return Err(Error::setting("pooling", problem));
            }
            if !self.bert.has_pooler() {
                let problem = "the checkpoint has no pooler; take mean, cls or max";
                return Err(Error::setting("pooling", problem));
            }
        }
        // A text that is too long for any window: refuses a stride without a step forward.
        options.limit().windows(&[options.max_length], SPECIAL).map(|_| ())
    }

    /// The vectors of `texts`, in their order.
    ///
    /// They do not depend on which texts are embedded together, nor on the number of threads, to the bit. An empty
    /// text is `[CLS] [SEP]`. A vector that is not finite is an error that names the sick tensor.
    pub fn embed<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        options: &EmbedOptions,
        progress: &dyn Progress,
    ) -> Result<Embeddings> {
        self.check(options)?;
        let pieces = self.tokenize(texts)?;
        let plan = Plan::new(&pieces, &options.limit())?;
        let width = self.bert.config().hidden_size;
        let mut out =
            Embeddings { values: vec![0.0; texts.len() * width], width, long_texts: plan.long_texts };
        progress.begin("embedding", Some(texts.len() as u64), Unit::Items);
        let done = self.run(&pieces, &plan, options, progress, &mut out);
        progress.end();
        done?;
        self.check_finite(&out)?;
        if options.normalize {
            out.values.par_chunks_exact_mut(width).for_each(normalize);
        }
        Ok(out)
    }

    /// Each text's ids, without special tokens.
    fn tokenize<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<Vec<u32>>> {
        if texts.iter().any(|text| u32::try_from(text.as_ref().len()).is_err()) {
            return Err(Error::setting("text", "a text of 4 GiB or more; cut it into smaller ones"));
        }
        let encode = |encoder: &mut crate::text::Encoder<'_>, text: &T| encoder.pieces(text.as_ref()).ids;
        Ok(texts.par_iter().with_min_len(16).map_init(|| self.tokenizer.encoder(), encode).collect())
    }

    fn run(
        &self,
        pieces: &[Vec<u32>],
        plan: &Plan,
        options: &EmbedOptions,
        progress: &dyn Progress,
        out: &mut Embeddings,
    ) -> Result<()> {
        let (mut batch, mut work, mut pooled) = (Batch::new(), BertWork::default(), Vec::new());
        for windows in plan.batches() {
            batch.clear();
            windows.iter().for_each(|window| window.push(pieces, self.tokenizer.special(), &mut batch));
            self.bert.config().check_batch(&batch)?;
            self.pool(&batch, options, &mut work, &mut pooled)?;
            for (window, vector) in windows.iter().zip(pooled.chunks_exact(out.width)) {
                let row = &mut out.values[window.text * out.width..][..out.width];
                let share = window.tokens as f32 / plan.tokens[window.text] as f32;
                options.pooling.join(row, vector, share, window.first);
            }
            progress.advance(windows.iter().filter(|window| window.last).count() as u64);
        }
        Ok(())
    }

    /// A vector for each sequence of the batch.
    fn pool(
        &self,
        batch: &Batch,
        options: &EmbedOptions,
        work: &mut BertWork,
        pooled: &mut Vec<f32>,
    ) -> Result<()> {
        pooled.clear();
        if options.pooling == Pooling::Pooler {
            pooled.extend_from_slice(self.bert.pooled(batch, work)?);
            return Ok(());
        }
        let width = self.bert.config().hidden_size;
        let layer = options.layer.unwrap_or(self.bert.config().num_hidden_layers);
        let hidden = self.bert.hidden_of(layer, batch, work); // [N, H]
        pooled.resize(batch.sequences() * width, 0.0);
        pooled.par_chunks_exact_mut(width).zip(batch.offsets.par_windows(2)).for_each(|(out, ends)| {
            options.pooling.pool(&hidden[ends[0] * width..ends[1] * width], out);
        });
        Ok(())
    }

    fn check_finite(&self, out: &Embeddings) -> Result<()> {
        let finite = |row: &[f32]| row.iter().fold(true, |all, value| all & value.is_finite());
        let Some(text) = out.rows().position(|row| !finite(row)) else { return Ok(()) };
        self.bert.check_finite()?;
        let problem = format!(
            "the embedding of text {} is not finite, though all weights are: they are too large for 32-bit numbers",
            text + 1
        );
        Err(Error::content(&self.path, None, problem))
    }
}

impl EmbedOptions {
    fn limit(&self) -> Limit {
        Limit { max_length: self.max_length, truncation: Truncation::default(), long: self.long }
    }
}

/// What the model sees at once: a text, or a part of a long one.
struct Window {
    text: usize,
    part: Part,
    /// With `[CLS]` and `[SEP]`.
    tokens: usize,
    first: bool,
    last: bool,
}

impl Window {
    fn push(&self, pieces: &[Vec<u32>], special: SpecialIds, batch: &mut Batch) {
        let pieces = &pieces[self.text];
        let parts = [&pieces[self.part.head.clone()], &pieces[self.part.tail.clone()]];
        let ids = [&[special.cls], parts[0], parts[1], &[special.sep]].concat();
        batch.push_ids(&ids);
    }
}

/// Which windows of which texts, the longest first.
struct Plan {
    windows: Vec<Window>,
    /// How many tokens the windows of each text have together.
    tokens: Vec<usize>,
    long_texts: usize,
}

impl Plan {
    fn new(pieces: &[Vec<u32>], limit: &Limit) -> Result<Self> {
        let mut plan = Self { windows: Vec::new(), tokens: vec![0; pieces.len()], long_texts: 0 };
        for (text, pieces) in pieces.iter().enumerate() {
            plan.long_texts += usize::from(pieces.len() + SPECIAL > limit.max_length);
            let begin = plan.windows.len();
            for parts in limit.windows(&[pieces.len()], SPECIAL)? {
                let part = parts.into_iter().next().expect("a part of the only text");
                let tokens = part.head.len() + part.tail.len() + SPECIAL;
                plan.tokens[text] += tokens;
                plan.windows.push(Window { text, part, tokens, first: false, last: false });
            }
            plan.windows[begin].first = true;
            plan.windows.last_mut().expect("a window for every text").last = true;
        }
        // Stable: the windows of a text, of which only the last may be shorter, stay in their order.
        plan.windows.sort_by_key(|window| std::cmp::Reverse(window.tokens));
        Ok(plan)
    }

    /// As many windows at a time as the budget has room for, but at least one.
    fn batches(&self) -> impl Iterator<Item = &[Window]> {
        by_budget(&self.windows, BATCH_TOKENS, |window| window.tokens)
    }
}

#[cfg(test)]
mod tests;
