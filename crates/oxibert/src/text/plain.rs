//! The plain form of encoding: every step whole, one after the other, nothing clever.
//!
//! The fast path ([`split`](super::split) and [`trie`](super::trie)) is tested against it. It is also what
//! encodes when a user's added tokens must be found in *normalized* text, which the fast path never holds.

use super::added::{Finder, Piece};
use super::normalize::{Marks, Normalizer, Span, WordSink};
use super::unicode::PUNCTUATION;
use super::vocab::{CONTINUATION, Vocab};

/// A normalized character, and the original span it came from.
type Letter = (char, Span);

/// What plain encoding needs to know.
pub(crate) struct Plain<'a> {
    pub(crate) normalizer: Normalizer,
    pub(crate) vocab: &'a Vocab,
    /// So many tokens of the vocabulary spell words; added tokens follow.
    pub(crate) pieces: usize,
    pub(crate) unk: u32,
    /// Finds the added tokens of normalized text.
    pub(crate) finder: Option<&'a Finder>,
}

impl Plain<'_> {
    /// Calls `emit` with the id and span of every token of `text`; positions count from `base`.
    pub(crate) fn encode(&self, text: &str, base: u32, mut emit: impl FnMut(u32, Span)) {
        let shift = |span: Span| Span { start: base + span.start, end: base + span.end };
        let normalized = normalize(&self.normalizer, text);
        for (piece, token) in self.added_tokens(&normalized) {
            match token {
                Some(id) => emit(id, shift(whole_span(piece))),
                None => self.words(piece).for_each(|word| {
                    self.word_pieces(word).into_iter().for_each(|(id, span)| emit(id, shift(span)));
                }),
            }
        }
    }

    fn added_tokens<'n>(&self, normalized: &'n [Letter]) -> Vec<(&'n [Letter], Option<u32>)> {
        let Some(finder) = self.finder else { return vec![(normalized, None)] };
        let text = String::from_iter(normalized.iter().map(|pair| pair.0));
        let mut pieces = Vec::new();
        let mut rest = normalized;
        finder.split(&text, |Piece { span, token }| {
            let (piece, after) = rest.split_at(text[span.range()].chars().count());
            pieces.push((piece, token));
            rest = after;
        });
        pieces
    }

    /// Splits at white space, which is dropped, and at punctuation, which stays as words of their own.
    fn words<'n>(&self, text: &'n [Letter]) -> impl Iterator<Item = &'n [Letter]> {
        let table = self.normalizer.table;
        let is_punctuation = move |pair: &Letter| table.bits(pair.0) & PUNCTUATION != 0;
        text.split(|pair| pair.0 == ' ')
            .flat_map(move |run| run.chunk_by(move |a, b| !is_punctuation(a) && !is_punctuation(b)))
            .filter(|word| !word.is_empty())
    }

    /// Greedy longest match first; a word that cannot be spelled is one `[UNK]`.
    fn word_pieces(&self, word: &[Letter]) -> Vec<(u32, Span)> {
        let unknown = vec![(self.unk, whole_span(word))];
        if word.len() > self.normalizer.rules.max_word_chars {
            return unknown;
        }
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < word.len() {
            match self.longest_piece(word, start) {
                Some((id, end)) => {
                    pieces.push((id, whole_span(&word[start..end])));
                    start = end;
                }
                None => return unknown,
            }
        }
        pieces
    }

    fn longest_piece(&self, word: &[Letter], start: usize) -> Option<(u32, usize)> {
        let prefix = if start == 0 { "" } else { CONTINUATION };
        (start + 1..=word.len()).rev().find_map(|end| {
            let text: String = prefix.chars().chain(word[start..end].iter().map(|pair| pair.0)).collect();
            self.vocab.id(&text).filter(|&id| (id as usize) < self.pieces).map(|id| (id, end))
        })
    }
}

/// The normalized form of `text`, white space as single blanks where the original has one.
pub(crate) fn normalize(normalizer: &Normalizer, text: &str) -> Vec<Letter> {
    let mut sink = Collect(Vec::new());
    let mut marks = Marks::default();
    for (at, c) in text.char_indices() {
        normalizer.feed(text, c, Span::new(at, at + c.len_utf8()), &mut marks, &mut sink);
    }
    normalizer.flush(&mut marks, &mut sink);
    sink.0
}

fn whole_span(text: &[Letter]) -> Span {
    match text {
        [first, .., last] => Span { start: first.1.start, end: last.1.end },
        [one] => one.1,
        [] => Span::default(),
    }
}

struct Collect(Vec<Letter>);

impl WordSink for Collect {
    fn push(&mut self, c: char, span: Span) {
        self.0.push((c, span));
    }

    fn single(&mut self, c: char, span: Span) {
        self.0.push((c, span));
    }

    fn end_word(&mut self) {
        let after = self.0.last().map_or(0, |last| last.1.end);
        self.0.push((' ', Span { start: after, end: after }));
    }
}
