//! Tokens that are found in the text before anything else happens to it: `[MASK]`, and what users added.

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};

use super::Span;

/// A token beside the WordPiece vocabulary, as `tokenizer.json` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedToken {
    /// Its id.
    pub id: u32,
    /// Its text.
    pub content: String,
    /// Only found where no word character stands beside it.
    pub single_word: bool,
    /// Takes the white space on its left along.
    pub lstrip: bool,
    /// Takes the white space on its right along.
    pub rstrip: bool,
    /// Found in the normalized text rather than in the original.
    pub normalized: bool,
    /// Left out when ids are decoded.
    pub special: bool,
}

impl AddedToken {
    /// A special token such as `[MASK]`: found as it is in the original text.
    pub fn special(id: u32, content: &str) -> Self {
        Self {
            id,
            content: content.to_owned(),
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
            special: true,
        }
    }
}

/// Finds added tokens, leftmost first, the longest where several begin.
#[derive(Debug, Clone)]
pub(crate) struct Finder {
    automaton: AhoCorasick,
    tokens: Vec<AddedToken>,
}

/// A stretch of text: an added token, or what lies between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) span: Span,
    pub(crate) token: Option<u32>,
}

impl Finder {
    /// A finder of `tokens` by their `patterns`, or the reason why there cannot be one.
    pub(crate) fn new(patterns: &[String], tokens: Vec<AddedToken>) -> Result<Self, String> {
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns)
            .map_err(|error| error.to_string())?;
        Ok(Self { automaton, tokens })
    }

    /// Calls `on_piece` for the pieces of `text`, in order; they cover it.
    pub(crate) fn split(&self, text: &str, mut on_piece: impl FnMut(Piece)) {
        let mut done = 0;
        for found in self.automaton.find_iter(text) {
            let token = &self.tokens[found.pattern()];
            let Some((start, end)) = widen(token, text, found.start(), found.end(), done) else { continue };
            if done < start {
                on_piece(Piece { span: Span::new(done, start), token: None });
            }
            on_piece(Piece { span: Span::new(start, end), token: Some(token.id) });
            done = end;
        }
        if done < text.len() {
            on_piece(Piece { span: Span::new(done, text.len()), token: None });
        }
    }
}

/// The token's reach with the white space it takes along; none if it must be a word and is not.
fn widen(token: &AddedToken, text: &str, start: usize, end: usize, done: usize) -> Option<(usize, usize)> {
    let (before, after) = (&text[..start], &text[end..]);
    let touches = before.ends_with(is_word) || after.starts_with(is_word);
    if token.single_word && touches {
        return None;
    }
    let start = if token.lstrip { before.trim_end().len().max(done) } else { start };
    let end = if token.rstrip { text.len() - after.trim_start().len() } else { end };
    // White space that the token before took along is gone.
    Some((start.max(done), end))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
