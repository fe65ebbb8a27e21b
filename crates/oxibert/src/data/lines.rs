//! A corpus line by line, without an allocation per line.

use std::path::Path;

use super::{Block, Blocks};
use crate::Result;

/// One line of a corpus, without its terminator (`\n` or `\r\n`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'l> {
    /// The text, however long.
    pub text: &'l str,
    /// The number in its file, from 1.
    pub number: usize,
    /// The file, as it was named.
    pub path: &'l Path,
}

/// The lines of a corpus; see [`Corpus::lines`](super::Corpus::lines).
///
/// Lines are lent, so this is no [`Iterator`]: ask [`next_line`](Self::next_line) in a `while let`. A line is
/// always whole; memory therefore holds a block or two and the longest line.
pub struct Lines<'c> {
    blocks: Blocks<'c>,
    block: Block,
    /// How much of `block` has been given out.
    at: usize,
    /// The number of the line that begins there.
    number: usize,
    /// The block after a last line without a line end: only it tells that the line does not go on.
    ahead: Option<Block>,
    /// A line that no single block holds.
    joined: String,
}

impl<'c> Lines<'c> {
    pub(super) fn new(blocks: Blocks<'c>) -> Self {
        let block = Block { text: String::new(), path: Path::new("").into(), line: 1, continues: false };
        Self { blocks, block, at: 0, number: 1, ahead: None, joined: String::new() }
    }

    /// The bytes taken from disk so far, in the terms of [`Corpus::size`](super::Corpus::size).
    pub fn consumed(&self) -> u64 {
        self.blocks.consumed()
    }

    /// The next line, or `None` after the last.
    ///
    /// ```
    /// use oxibert::data::Corpus;
    /// let corpus = Corpus::from_text("notes", "one\r\n\ntwo");
    /// let mut lines = corpus.lines();
    /// assert_eq!(lines.next_line()?.unwrap().text, "one");
    /// assert_eq!(lines.next_line()?.unwrap().text, "");
    /// assert_eq!(lines.next_line()?.unwrap().number, 3);
    /// assert!(lines.next_line()?.is_none());
    /// # Ok::<(), oxibert::Error>(())
    /// ```
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        if self.at == self.block.text.len() {
            let next = match self.ahead.take() {
                Some(block) => Some(block),
                None => self.blocks.next().transpose()?,
            };
            let Some(block) = next else { return Ok(None) };
            self.number = block.line;
            self.begin(block);
        }
        let number = self.number;
        self.number += 1;
        let text = match self.take_line() {
            (from, to, true) => &self.block.text[from..to],
            (from, to, false) => {
                self.join(from, to)?;
                self.joined.as_str()
            }
        };
        Ok(Some(Line { text: text.strip_suffix('\r').unwrap_or(text), number, path: &self.block.path }))
    }

    fn begin(&mut self, block: Block) {
        self.block = block;
        self.at = 0;
    }

    /// Steps over the rest of the current line within the block: from, to, and whether its end was there.
    fn take_line(&mut self) -> (usize, usize, bool) {
        let from = self.at;
        let rest = &self.block.text.as_bytes()[from..];
        match memchr::memchr(b'\n', rest) {
            Some(length) => {
                self.at = from + length + 1;
                (from, from + length, true)
            }
            None => {
                self.at = self.block.text.len();
                (from, self.at, false)
            }
        }
    }

    /// Collects a line that begins in this block and does not end in it.
    fn join(&mut self, from: usize, to: usize) -> Result<()> {
        self.joined.clear();
        self.joined.push_str(&self.block.text[from..to]);
        while let Some(block) = self.blocks.next().transpose()? {
            if !block.continues {
                self.ahead = Some(block);
                break;
            }
            self.begin(block);
            let (from, to, ended) = self.take_line();
            self.joined.push_str(&self.block.text[from..to]);
            if ended {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{BLOCK_BYTES, Corpus};

    #[test]
    fn a_line_of_several_blocks_is_whole() {
        let long = "wort ".repeat(BLOCK_BYTES / 2);
        let corpus = Corpus::from_text("t", format!("first\n{long}\r\nlast"));
        let mut lines = corpus.lines();
        let mut got = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            got.push((line.number, line.text.to_owned()));
        }
        assert!(got == [(1, "first".to_owned()), (2, long), (3, "last".to_owned())]);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_standard_library(text in "[a\n\r ,月]{0,60}", limit in 4usize..12) {
            let corpus = Corpus::from_text("t", text.clone());
            let mut lines = corpus.lines();
            lines.blocks.set_limit(limit);
            let mut want = text.split_terminator('\n').enumerate();
            while let Some(line) = lines.next_line().unwrap() {
                let (i, want) = want.next().unwrap();
                prop_assert_eq!(line.text, want.strip_suffix('\r').unwrap_or(want));
                prop_assert_eq!(line.number, i + 1);
            }
            prop_assert!(want.next().is_none());
        }
    }
}
