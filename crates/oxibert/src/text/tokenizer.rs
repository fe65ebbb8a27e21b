//! The tokenizer: text to ids and back.
//!
//! ```text
//! text -> added tokens cut out -> normalized words -> pieces -> [CLS] A [SEP] B [SEP]
//!         added.rs                split.rs            trie.rs    here
//! ```

use std::collections::HashSet;

use rayon::prelude::*;

use super::added::{AddedToken, Finder, Piece};
use super::encoding::Encoding;
use super::normalize::{Normalizer, Span};
use super::plain::{self, Plain};
use super::split::{Scratch, Splitter, Word};
use super::trie::Trie;
use super::vocab::{CONTINUATION, Vocab};
use super::windows::{Limit, Part, Windows};
use super::{Compat, Rules};
use crate::{Error, Result};

/// The ids of the special tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialIds {
    /// `[UNK]`, for words that the vocabulary cannot spell.
    pub unk: u32,
    /// `[CLS]`, before the first text.
    pub cls: u32,
    /// `[SEP]`, after each text.
    pub sep: u32,
    /// `[PAD]`, if the vocabulary has it.
    pub pad: Option<u32>,
    /// `[MASK]`, if the vocabulary has it.
    pub mask: Option<u32>,
}

impl SpecialIds {
    fn of(vocab: &Vocab) -> Result<Self> {
        let required = |token: &str| {
            vocab.id(token).ok_or_else(|| {
                let problem = format!(
                    "no {token} among its {} tokens; BERT needs [UNK], [CLS] and [SEP] (and [PAD], [MASK]), \
                     one token a line: is this a BERT vocabulary?",
                    vocab.len()
                );
                Error::setting("vocabulary", problem)
            })
        };
        Ok(Self {
            unk: required("[UNK]")?,
            cls: required("[CLS]")?,
            sep: required("[SEP]")?,
            pad: vocab.id("[PAD]"),
            mask: vocab.id("[MASK]"),
        })
    }
}

/// Turns text into token ids as BERT does, and ids back into text.
///
/// ```
/// use oxibert::text::{Tokenizer, Vocab};
///
/// let vocab = Vocab::from_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "好"])?;
/// let tokenizer = Tokenizer::uncased(vocab)?;
/// let encoding = tokenizer.encode("Unaffable 好!");
/// assert_eq!(tokenizer.tokens(&encoding), ["[CLS]", "un", "##aff", "##able", "好", "[UNK]", "[SEP]"]);
/// assert_eq!(&"Unaffable 好!"[encoding.spans[2].range()], "aff");
/// assert_eq!(tokenizer.decode(&encoding.ids), "unaffable 好");
/// # Ok::<(), oxibert::Error>(())
/// ```
pub struct Tokenizer {
    vocab: Vocab,
    /// So many tokens of the vocabulary are WordPieces; added tokens follow.
    pieces: usize,
    special: SpecialIds,
    added: Vec<AddedToken>,
    /// The added tokens that decoding leaves out.
    silent: HashSet<u32>,
    splitter: Splitter,
    trie: Trie,
    /// The length in bytes of every token's text without `##`.
    lengths: Vec<u32>,
    finder: Option<Finder>,
    normalized_finder: Option<Finder>,
    max_length: Option<usize>,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tokenizer").field("rules", self.rules()).field("tokens", &self.vocab.len()).finish()
    }
}

impl Tokenizer {
    /// A tokenizer with these rules. In `hf` mode the special tokens are recognised inside text.
    pub fn new(vocab: Vocab, rules: Rules) -> Result<Self> {
        Self::with_special_tokens(vocab, rules, &[])
    }

    /// A tokenizer with special tokens of one's own, which the vocabulary must have, beside the usual five.
    pub fn with_special_tokens(vocab: Vocab, rules: Rules, own: &[String]) -> Result<Self> {
        let special = |token: &str| vocab.id(token).map(|id| AddedToken::special(id, token));
        let mut added: Vec<AddedToken> =
            super::SPECIAL_TOKENS.iter().filter_map(|token| special(token)).collect();
        for token in own {
            let missing = || Error::setting("special tokens", format!("{token:?} is not in the vocabulary"));
            added.push(special(token).ok_or_else(missing)?);
        }
        Self::with_added_tokens(vocab, rules, added)
    }

    /// A tokenizer of the uncased (and Chinese) models, as Hugging Face's.
    pub fn uncased(vocab: Vocab) -> Result<Self> {
        Self::new(vocab, Rules::uncased(Compat::Hf))
    }

    /// A tokenizer of the cased models, as Hugging Face's.
    pub fn cased(vocab: Vocab) -> Result<Self> {
        Self::new(vocab, Rules::cased(Compat::Hf))
    }

    /// A tokenizer that finds `added` tokens in text, which `hf` mode does; `google` mode splits them.
    ///
    /// Added tokens that the vocabulary lacks are appended to it and must have the ids that follow.
    pub fn with_added_tokens(mut vocab: Vocab, rules: Rules, mut added: Vec<AddedToken>) -> Result<Self> {
        let special = SpecialIds::of(&vocab)?;
        let pieces = vocab.len();
        added.sort_by_key(|token| token.id);
        added.iter().try_for_each(|token| append_added(&mut vocab, token))?;
        Self::assemble(vocab, pieces, special, rules, added)
    }

    fn assemble(
        vocab: Vocab,
        pieces: usize,
        special: SpecialIds,
        rules: Rules,
        added: Vec<AddedToken>,
    ) -> Result<Self> {
        let trie = Trie::new(trie_entries(&vocab, pieces, &rules));
        let lengths = vocab.tokens().map(|token| strip_continuation(token).0.len() as u32).collect();
        let recognised: &[AddedToken] = if rules.compat == Compat::Hf { &added } else { &[] };
        let finder = finder(recognised, false, |content| content.to_owned())?;
        let normalized_finder = finder_normalized(recognised, &Normalizer::new(rules))?;
        let silent = added.iter().filter(|token| token.special).map(|token| token.id).collect();
        let splitter = Splitter::new(rules);
        Ok(Self {
            vocab,
            pieces,
            special,
            added,
            silent,
            splitter,
            trie,
            lengths,
            finder,
            normalized_finder,
            max_length: None,
        })
    }

    /// The same vocabulary under other rules.
    pub fn with_rules(self, rules: Rules) -> Result<Self> {
        let longest = self.max_length;
        let tokenizer = Self::assemble(self.vocab, self.pieces, self.special, rules, self.added)?;
        Ok(tokenizer.with_max_length(longest))
    }

    /// The same for a model whose sequences have at most so many tokens. It is saved with the tokenizer and cuts nothing
    /// by itself.
    pub fn with_max_length(self, max_length: Option<usize>) -> Self {
        Self { max_length, ..self }
    }

    /// The longest sequence of the model that the tokenizer belongs to, where that is known.
    pub fn max_length(&self) -> Option<usize> {
        self.max_length
    }

    /// The vocabulary.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The ids of the special tokens.
    pub fn special(&self) -> SpecialIds {
        self.special
    }

    /// The tokens of the vocabulary that are WordPieces, without added ones behind them.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.vocab.tokens().take(self.pieces)
    }

    /// The rules that text goes by.
    pub fn rules(&self) -> &Rules {
        self.splitter.rules()
    }

    /// The tokens that are found in the text before WordPiece.
    pub fn added_tokens(&self) -> &[AddedToken] {
        &self.added
    }

    /// `[CLS] text [SEP]`.
    pub fn encode(&self, text: &str) -> Encoding {
        self.encoder().encode(&[text])
    }

    /// `[CLS] first [SEP] second [SEP]`.
    pub fn encode_pair(&self, first: &str, second: &str) -> Encoding {
        self.encoder().encode(&[first, second])
    }

    /// Many texts at once, on all threads, in their order.
    pub fn encode_batch<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Vec<Encoding> {
        texts
            .par_iter()
            .with_min_len(16)
            .map_init(|| self.encoder(), |encoder, text| encoder.encode(&[text.as_ref()]))
            .collect()
    }

    /// An encoder, which keeps its memory from text to text.
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder { tokenizer: self, scratch: Scratch::default() }
    }

    /// The tokens of an encoding.
    pub fn tokens(&self, encoding: &Encoding) -> Vec<&str> {
        encoding.ids.iter().map(|&id| self.vocab.token(id).unwrap_or_default()).collect()
    }

    /// Whether this token continues a word.
    pub fn continues_word(&self, id: u32) -> bool {
        self.vocab.token(id).is_some_and(|token| strip_continuation(token).1)
    }

    /// The ids' text, without special tokens, with the blanks before punctuation cleaned up.
    ///
    /// Ids that the vocabulary does not have are left out.
    pub fn decode(&self, ids: &[u32]) -> String {
        let spoken = ids.iter().filter(|id| !self.silent.contains(id));
        super::decode::join(spoken.filter_map(|&id| self.vocab.token(id)))
    }

    fn word(&self, word: Word<'_>, out: &mut Encoding) {
        let before = out.ids.len();
        if is_too_long(word.bytes, self.rules().max_word_chars)
            || !self.trie.match_word(word.bytes, &mut out.ids)
        {
            out.ids.push(self.special.unk);
            out.spans.push(word.span(0, word.bytes.len()));
            return;
        }
        let mut start = 0;
        for &id in &out.ids[before..] {
            let end = start + self.lengths[id as usize] as usize;
            out.spans.push(word.span(start, end));
            start = end;
        }
    }

    fn plain(&self) -> Plain<'_> {
        Plain {
            normalizer: Normalizer::new(*self.rules()),
            vocab: &self.vocab,
            pieces: self.pieces,
            unk: self.special.unk,
            finder: self.normalized_finder.as_ref(),
        }
    }
}

/// Encodes texts one after the other and keeps its memory.
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    scratch: Scratch,
}

impl<'t> Encoder<'t> {
    /// The tokenizer whose it is.
    pub fn tokenizer(&self) -> &'t Tokenizer {
        self.tokenizer
    }

    /// `[CLS] A [SEP]`, and `B [SEP]` for every further text, each with its own segment id.
    pub fn encode(&mut self, texts: &[&str]) -> Encoding {
        let mut out = Encoding::default();
        out.push(self.tokenizer.special.cls, 0, Span::default());
        for (segment, text) in texts.iter().enumerate() {
            self.append(text, segment as u8, &mut out);
            out.push(self.tokenizer.special.sep, segment as u8, Span::default());
        }
        out
    }

    /// The tokens of `text` alone, without special tokens around them.
    pub fn pieces(&mut self, text: &str) -> Encoding {
        let mut out = Encoding::default();
        self.append(text, 0, &mut out);
        out
    }

    /// Several texts under a limit: one encoding per window, made as they are asked for.
    pub fn windows(&mut self, texts: &[&str], limit: &Limit, special: bool) -> Result<WindowEncodings<'_>> {
        let pieces: Vec<Encoding> = texts.iter().map(|text| self.pieces(text)).collect();
        let lengths: Vec<usize> = pieces.iter().map(Encoding::len).collect();
        let around = if special { texts.len() + 1 } else { 0 };
        let windows = limit.windows(&lengths, around)?;
        Ok(WindowEncodings { special: special.then_some(&self.tokenizer.special), pieces, windows })
    }

    /// Appends the tokens of `text` to `out`.
    pub fn append(&mut self, text: &str, segment: u8, out: &mut Encoding) {
        assert!(u32::try_from(text.len()).is_ok(), "a text of 4 GiB or more");
        match &self.tokenizer.finder {
            Some(finder) => finder.split(text, |piece| self.piece(text, piece, out)),
            None => self.piece(text, Piece { span: Span::new(0, text.len()), token: None }, out),
        }
        out.segments.resize(out.ids.len(), segment);
    }

    fn piece(&mut self, text: &str, piece: Piece, out: &mut Encoding) {
        let tokenizer = self.tokenizer;
        let (start, text) = (piece.span.start, &text[piece.span.range()]);
        if let Some(id) = piece.token {
            out.ids.push(id);
            out.spans.push(piece.span);
        } else if tokenizer.normalized_finder.is_some() {
            tokenizer.plain().encode(text, start, |id, span| {
                out.ids.push(id);
                out.spans.push(span);
            });
        } else {
            tokenizer.splitter.split(text, start, &mut self.scratch, |word| tokenizer.word(word, out));
        }
    }
}

/// The encodings of the windows over one or several texts.
pub struct WindowEncodings<'t> {
    special: Option<&'t SpecialIds>,
    pieces: Vec<Encoding>,
    windows: Windows,
}

impl Iterator for WindowEncodings<'_> {
    type Item = Encoding;

    fn next(&mut self) -> Option<Encoding> {
        let parts = self.windows.next()?;
        let mut out = Encoding::default();
        if let Some(special) = self.special {
            out.push(special.cls, 0, Span::default());
        }
        for (segment, (pieces, Part { head, tail })) in self.pieces.iter().zip(parts).enumerate() {
            for at in head.chain(tail) {
                out.push(pieces.ids[at], segment as u8, pieces.spans[at]);
            }
            if let Some(special) = self.special {
                out.push(special.sep, segment as u8, Span::default());
            }
        }
        Some(out)
    }
}

/// A token's text without `##`, and whether it had it.
fn strip_continuation(token: &str) -> (&str, bool) {
    match token.strip_prefix(CONTINUATION) {
        Some(text) if !text.is_empty() => (text, true),
        _ => (token, false),
    }
}

/// The tokens that words are spelled with, without those that are longer than any word.
fn trie_entries<'v>(
    vocab: &'v Vocab,
    pieces: usize,
    rules: &Rules,
) -> impl Iterator<Item = (&'v [u8], bool, u32)> {
    let longest = rules.max_word_chars;
    (0..).zip(vocab.tokens().take(pieces)).filter_map(move |(id, token)| {
        let (text, continues) = strip_continuation(token);
        let text = text.as_bytes();
        (!text.is_empty() && !is_too_long(text, longest)).then_some((text, continues, id))
    })
}

fn append_added(vocab: &mut Vocab, token: &AddedToken) -> Result<()> {
    let refuse = |problem: String| Error::setting("added tokens", problem);
    match vocab.id(&token.content) {
        Some(id) if id == token.id => Ok(()),
        Some(id) => Err(refuse(format!("{:?} has id {} but is token {id} already", token.content, token.id))),
        None if token.id as usize != vocab.len() => Err(refuse(format!(
            "{:?} has id {}, expected {}: added tokens follow the vocabulary without a gap",
            token.content,
            token.id,
            vocab.len()
        ))),
        None => vocab
            .push(&token.content)
            .map(drop)
            .map_err(|first| refuse(format!("{:?} stands twice (id {})", token.content, first.first))),
    }
}

fn is_too_long(word: &[u8], longest: usize) -> bool {
    let is_character = |byte: &&u8| **byte & 0xC0 != 0x80;
    word.len() > longest && word.iter().filter(is_character).count() > longest
}

fn finder(
    added: &[AddedToken],
    normalized: bool,
    pattern: impl Fn(&str) -> String,
) -> Result<Option<Finder>> {
    let tokens: Vec<AddedToken> = added
        .iter()
        .filter(|token| token.normalized == normalized && !token.content.is_empty())
        .cloned()
        .collect();
    let patterns: Vec<String> = tokens.iter().map(|token| pattern(&token.content)).collect();
    if patterns.is_empty() {
        return Ok(None);
    }
    Finder::new(&patterns, tokens).map(Some).map_err(|problem| Error::setting("added tokens", problem))
}

fn finder_normalized(added: &[AddedToken], normalizer: &Normalizer) -> Result<Option<Finder>> {
    finder(added, true, |content| plain::normalize(normalizer, content).iter().map(|pair| pair.0).collect())
}
