//! What stood at `[MASK]`? The task that BERT is pretrained on ("Task #1: Masked LM" of the paper), asked of a model.
//!
//! ```text
//! text -> ids, the places of [MASK] -> Bert::mlm_logits -> softmax over the vocabulary -> the likeliest tokens
//! ```

use std::path::Path;

use crate::data::Batch;
use crate::model::{Bert, BertWork};
use crate::text::{CONTINUATION, Encoding, Span, Tokenizer};
use crate::{Error, Result};

/// How the gap is written.
const MASK: &str = "[MASK]";

/// A model that fills gaps.
///
/// ```no_run
/// use oxibert::infer::Filler;
///
/// let filler = Filler::open("bert-base-uncased".as_ref())?;
/// for mask in filler.fill("Paris is the [MASK] of France.", 5)? {
///     println!("{}", mask.candidates[0].text);
/// }
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Debug)]
pub struct Filler {
    tokenizer: Tokenizer,
    bert: Bert,
    mask: u32,
}

/// One `[MASK]` of a text, and what may have stood there.
#[derive(Debug, Clone, PartialEq)]
pub struct Mask {
    /// Which token it is, `[CLS]` being 0.
    pub token_index: usize,
    /// Its bytes in the text.
    pub span: Span,
    /// Its characters (Unicode code points) in the text.
    pub chars: Span,
    /// The likeliest tokens, likeliest first; of equally likely ones the smaller id.
    pub candidates: Vec<Candidate>,
}

/// A token that may have stood at a `[MASK]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The token, with `##` if it continues a word.
    pub token: String,
    /// Its id.
    pub id: u32,
    /// How likely it is; those of the whole vocabulary add up to 1.
    pub probability: f32,
    /// The text with this one `[MASK]` filled.
    pub text: String,
}

impl Filler {
    /// Opens a checkpoint directory with its tokenizer.
    pub fn open(directory: &Path) -> Result<Self> {
        Self::new(Tokenizer::load(directory)?, Bert::open(directory)?)
    }

    /// A model and the tokenizer that belongs to it.
    pub fn new(tokenizer: Tokenizer, bert: Bert) -> Result<Self> {
        let Some(mask) = tokenizer.special().mask else {
            let problem = format!(
                "no {MASK} among its {} tokens; take the vocabulary that the model was pretrained with",
                tokenizer.vocab().len()
            );
            return Err(Error::setting("vocabulary", problem));
        };
        bert.check_mlm()?;
        Ok(Self { tokenizer, bert, mask })
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The model.
    pub fn bert(&self) -> &Bert {
        &self.bert
    }

    /// For every `[MASK]` of `text`, in their order, the `top` likeliest tokens.
    pub fn fill(&self, text: &str, top: usize) -> Result<Vec<Mask>> {
        self.fill_with(text, top, &mut BertWork::default())
    }

    /// The same in memory that is kept from text to text.
    pub fn fill_with(&self, text: &str, top: usize, work: &mut BertWork) -> Result<Vec<Mask>> {
        let encoding = self.encode(text);
        let places: Vec<u32> =
            (0..).zip(&encoding.ids).filter(|pair| *pair.1 == self.mask).map(|pair| pair.0).collect();
        self.check(&encoding, &places)?;
        let batch = Batch::of([&encoding]);
        self.bert.config().check_batch(&batch)?;
        let logits = self.bert.mlm_logits(&batch, &places, work)?; // [M, V]
        if logits.iter().any(|logit| !logit.is_finite()) {
            return Err(self.not_finite());
        }
        let tokens = self.bert.config().vocab_size;
        oxibert_kernels::softmax(logits, tokens);
        let chars = encoding.char_spans(&[text]);
        let mask = |(&place, probabilities): (&u32, &[f32])| {
            let (token_index, span) = (place as usize, encoding.spans[place as usize]);
            let candidates = likeliest(probabilities, self.tokenizer.vocab().len(), top);
            let candidates = candidates.into_iter().map(|id| self.candidate(text, span, id, probabilities));
            Mask { token_index, span, chars: chars[token_index], candidates: candidates.collect() }
        };
        Ok(places.iter().zip(logits.chunks_exact(tokens)).map(mask).collect())
    }

    /// `[CLS] text [SEP]`; `[MASK]` is found under all rules, also under Google's, which would split it.
    fn encode(&self, text: &str) -> Encoding {
        let special = self.tokenizer.special();
        let mut encoder = self.tokenizer.encoder();
        let mut encoding = Encoding::default();
        encoding.push(special.cls, 0, Span::default());
        let mut start = 0;
        for part in text.split(MASK) {
            let pieces = encoder.pieces(part);
            for (&id, span) in pieces.ids.iter().zip(&pieces.spans) {
                let span = span.range();
                encoding.push(id, 0, Span::new(start + span.start, start + span.end));
            }
            let end = start + part.len();
            if end < text.len() {
                encoding.push(self.mask, 0, Span::new(end, end + MASK.len()));
            }
            start = end + MASK.len();
        }
        encoding.push(special.sep, 0, Span::default());
        encoding
    }

    fn check(&self, encoding: &Encoding, places: &[u32]) -> Result<()> {
        if places.is_empty() {
            let problem = format!(
                "no {MASK} in it; write {MASK} where a word is wanted: Paris is the {MASK} of France."
            );
            return Err(Error::setting("text", problem));
        }
        let most = self.bert.config().max_position_embeddings;
        if encoding.len() <= most {
            return Ok(());
        }
        let problem = format!(
            "{} tokens with [CLS] and [SEP], but the model takes at most {most}; give the part around {MASK} only",
            encoding.len()
        );
        Err(Error::setting("text", problem))
    }

    fn candidate(&self, text: &str, span: Span, id: u32, probabilities: &[f32]) -> Candidate {
        let token = self.tokenizer.vocab().token(id).unwrap_or_default();
        Candidate {
            token: token.to_owned(),
            id,
            probability: probabilities[id as usize],
            text: filled(text, span, token, self.tokenizer.continues_word(id)),
        }
    }

    fn not_finite(&self) -> Error {
        let problem = "the model's output is not finite although its weights are: they are too large";
        let overflow = || Error::setting("model", problem);
        self.bert.check_finite().err().unwrap_or_else(overflow)
    }
}

/// The text with `token` at `span`; a piece that continues a word joins the word before it.
fn filled(text: &str, span: Span, token: &str, continues: bool) -> String {
    let (before, after) = (&text[..span.range().start], &text[span.range().end..]);
    match token.strip_prefix(CONTINUATION) {
        Some(piece) if continues => format!("{}{piece}{after}", before.trim_end()),
        _ => format!("{before}{token}{after}"),
    }
}

/// The ids of the `top` largest probabilities among the first `tokens`, largest first.
///
/// A model may have more rows than its tokenizer has tokens, to make their number round: those are no candidates.
fn likeliest(probabilities: &[f32], tokens: usize, top: usize) -> Vec<u32> {
    let order = |a: &u32, b: &u32| {
        let [pa, pb] = [a, b].map(|&id| probabilities[id as usize]);
        pb.total_cmp(&pa).then(a.cmp(b))
    };
    let mut ids: Vec<u32> = (0..probabilities.len().min(tokens) as u32).collect();
    if top < ids.len() {
        // A selection is linear; only the chosen few are sorted.
        ids.select_nth_unstable_by(top, order);
        ids.truncate(top);
    }
    ids.sort_unstable_by(order);
    ids
}

#[cfg(test)]
mod tests;
