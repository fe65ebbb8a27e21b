//! The work that all threads share: a piece of text to sentences of ids.

use super::LineIs;
use super::duplicates::line_hash;
use crate::Result;
use crate::data::Piece;
use crate::text::sentences::sentences;
use crate::text::{Encoder, Encoding, Tokenizer, Words};

/// Turns pieces into ids, on any thread.
pub(super) struct PieceEncoder<'t> {
    tokenizer: &'t Tokenizer,
    words: Words,
    line_is: LineIs,
}

/// A piece, encoded.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) ids: Vec<u32>,
    pub(super) continues: Vec<bool>,
    /// Where each sentence ends among the ids.
    pub(super) sentence_ends: Vec<usize>,
    pub(super) lines: Vec<Line>,
}

/// A line that was not blank.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) hash: u64,
    pub(super) bytes: usize,
    /// Where it ends among the sentences.
    pub(super) end: usize,
    /// Whether it begins a document.
    pub(super) begins: bool,
}

impl<'t> PieceEncoder<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer, line_is: LineIs) -> Self {
        Self { tokenizer, words: Words::new(tokenizer), line_is }
    }

    pub(super) fn encode(&self, piece: &Piece) -> Result<Encoded> {
        let mut out = Encoded::default();
        let (mut encoder, mut scratch) = (self.tokenizer.encoder(), Encoding::default());
        piece.paragraphs(|paragraph| {
            let mut sentence = |text| self.sentence(text, &mut encoder, &mut scratch, &mut out);
            match self.line_is {
                LineIs::Paragraph => sentences(paragraph.text).for_each(&mut sentence),
                LineIs::Sentence => sentence(paragraph.text),
            }
            out.lines.push(Line {
                hash: line_hash(paragraph.text),
                bytes: paragraph.text.len(),
                end: out.sentence_ends.len(),
                begins: paragraph.begins,
            });
        })?;
        Ok(out)
    }

    fn sentence(&self, text: &str, encoder: &mut Encoder<'t>, scratch: &mut Encoding, out: &mut Encoded) {
        scratch.clear();
        encoder.append(text, 0, scratch);
        // Control characters alone are no sentence.
        if !scratch.is_empty() {
            out.ids.extend_from_slice(&scratch.ids);
            self.words.mark(text, scratch, &mut out.continues);
            out.sentence_ends.push(out.ids.len());
        }
    }
}
