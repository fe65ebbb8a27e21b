//! Lines of text; blank ones stand between documents.

use super::{Boundary, Form, Paragraph, Piece, ReadPieces};
use crate::Result;
use crate::data::Blocks;
use crate::data::corpus::Input;

/// Where a piece of text stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    boundary: Boundary,
    /// The first line that is not blank begins a document.
    begins: bool,
    /// The first line goes on with one that was too long for a piece.
    continues: bool,
}

/// Gives out blocks, and notes where documents begin.
pub(super) struct Reader<'d> {
    blocks: Blocks<'d>,
    boundary: Boundary,
    begins: bool,
}

impl<'d> Reader<'d> {
    pub(super) fn new(input: &'d Input, boundary: Boundary) -> Self {
        Self { blocks: Blocks::new(std::slice::from_ref(input)), boundary, begins: true }
    }

    #[cfg(test)]
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.blocks.set_limit(limit);
    }
}

impl ReadPieces for Reader<'_> {
    fn next_piece(&mut self) -> Result<Option<Piece>> {
        let Some(block) = self.blocks.next().transpose()? else { return Ok(None) };
        let place = Place { boundary: self.boundary, begins: self.begins, continues: block.continues };
        self.begins = begins_behind(&block.text, place);
        Ok(Some(Piece { path: block.path, text: block.text, line: block.line, form: Form::Text(place) }))
    }

    fn consumed(&self) -> u64 {
        self.blocks.consumed()
    }
}

/// Whether the first line behind this text begins a document.
fn begins_behind(text: &str, place: Place) -> bool {
    let written = text.trim_end().len();
    let line_ends = memchr::memchr_iter(b'\n', &text.as_bytes()[written..]).count();
    // The first line end is that of the last line which is not blank, if there is one.
    let blank = line_ends > usize::from(written > 0 || place.continues);
    (blank && place.boundary == Boundary::BlankLine) || (written == 0 && place.begins)
}

/// The lines of a piece.
pub(super) fn paragraphs(text: &str, place: Place, each: &mut impl FnMut(Paragraph<'_>)) {
    let mut begins = place.begins;
    for (number, line) in text.split_terminator('\n').enumerate() {
        let line = line.trim();
        if !line.is_empty() {
            each(Paragraph { text: line, begins });
            begins = false;
        } else if place.boundary == Boundary::BlankLine && !(number == 0 && place.continues) {
            begins = true;
        }
    }
}
