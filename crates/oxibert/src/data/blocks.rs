//! A corpus in pieces of about 1 MiB that end at line ends, so that memory stays bounded and cores stay busy.
//!
//! Where a block ends depends on the bytes of the files alone: never on how much a `read` returned or on
//! threads. That is what makes everything counted from blocks the same on every run.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::corpus::{Input, Source};
use crate::{Error, Result};

/// The size that no block passes.
pub const BLOCK_BYTES: usize = 1 << 20;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// A piece of one file: whole lines, except where a single line is longer than [`BLOCK_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The text, with its line ends.
    pub text: String,
    /// The file, as it was named.
    pub path: Arc<Path>,
    /// The number (from 1) of the line in which the block begins.
    pub line: usize,
    /// Whether the block goes on in the middle of the line in which the block before it ended.
    pub continues: bool,
}

/// The blocks of a corpus, in order; see [`Corpus::blocks`](super::Corpus::blocks). Ends after the first error.
///
/// ```
/// use oxibert::data::Corpus;
/// let corpus = Corpus::from_text("notes", "one\ntwo\n");
/// let blocks = corpus.blocks().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(blocks[0].text, "one\ntwo\n");
/// assert_eq!(blocks[0].line, 1);
/// # Ok::<(), oxibert::Error>(())
/// ```
pub struct Blocks<'c> {
    inputs: VecDeque<&'c Input>,
    file: Option<OpenFile>,
    consumed: Arc<AtomicU64>,
    limit: usize,
}

impl<'c> Blocks<'c> {
    pub(super) fn new(inputs: &'c [Input]) -> Self {
        Self { inputs: inputs.iter().collect(), file: None, consumed: Arc::default(), limit: BLOCK_BYTES }
    }

    /// The bytes taken from disk so far, in the terms of [`Corpus::size`](super::Corpus::size).
    pub fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    fn advance(&mut self) -> Result<Option<Block>> {
        loop {
            if let Some(file) = &mut self.file {
                if let Some(block) = file.block(self.limit)? {
                    return Ok(Some(block));
                }
                self.file = None;
            }
            let Some(input) = self.inputs.pop_front() else { return Ok(None) };
            self.file = Some(OpenFile::new(Source::open(input, &self.consumed)?));
        }
    }
}

impl Iterator for Blocks<'_> {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.file = None;
            self.inputs.clear();
        }
        next.transpose()
    }
}

/// The file being read, and where in it the next block begins.
struct OpenFile {
    source: Source,
    /// Bytes read but not given out: what followed the last cut.
    rest: Vec<u8>,
    line: usize,
    /// How many bytes of that line have been given out (or skipped as a byte order mark).
    column: usize,
    begun: bool,
    continues: bool,
}

impl OpenFile {
    fn new(source: Source) -> Self {
        Self { source, rest: Vec::new(), line: 1, column: 0, begun: false, continues: false }
    }

    fn block(&mut self, limit: usize) -> Result<Option<Block>> {
        let mut bytes = vec![0; limit];
        let rest = std::mem::take(&mut self.rest);
        bytes[..rest.len()].copy_from_slice(&rest);
        let length = rest.len() + self.source.fill(&mut bytes[rest.len()..])?;
        bytes.truncate(length);
        if !self.begun {
            self.skip_mark(&mut bytes);
        }
        if length < limit {
            // The end of the file: all that is left is the last block.
            return if bytes.is_empty() { Ok(None) } else { self.give(bytes).map(Some) };
        }
        let cut = match memchr::memrchr(b'\n', &bytes) {
            Some(end) => end + 1,
            None => self.cut_line(&bytes)?,
        };
        self.rest = bytes.split_off(cut);
        self.give(bytes).map(Some)
    }

    fn skip_mark(&mut self, bytes: &mut Vec<u8>) {
        self.begun = true;
        if bytes.starts_with(BOM) {
            bytes.drain(..BOM.len());
            self.column = BOM.len();
        }
    }

    /// Where to cut a line that is too long: where no word is torn apart, if there is such a place.
    fn cut_line(&self, bytes: &[u8]) -> Result<usize> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // The last character goes on after the buffer.
            Err(e) if e.error_len().is_none() => {
                std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default()
            }
            Err(e) => return Err(self.not_utf8(bytes, e.valid_up_to())),
        };
        let last = |wanted: fn(char) -> bool| {
            text.char_indices().rev().find(|&(_, c)| wanted(c)).map(|(at, c)| at + c.len_utf8())
        };
        Ok(last(char::is_whitespace).or_else(|| last(stands_alone)).unwrap_or(text.len()))
    }

    fn give(&mut self, bytes: Vec<u8>) -> Result<Block> {
        let text = String::from_utf8(bytes)
            .map_err(|e| self.not_utf8(e.as_bytes(), e.utf8_error().valid_up_to()))?;
        let block =
            Block { path: self.source.name.clone(), line: self.line, continues: self.continues, text };
        let bytes = block.text.as_bytes();
        self.line += memchr::memchr_iter(b'\n', bytes).count();
        self.column = match memchr::memrchr(b'\n', bytes) {
            Some(end) => bytes.len() - end - 1,
            None => self.column + bytes.len(),
        };
        self.continues = !block.text.ends_with('\n');
        Ok(block)
    }

    fn not_utf8(&self, bytes: &[u8], at: usize) -> Error {
        let before = &bytes[..at];
        let line = self.line + memchr::memchr_iter(b'\n', before).count();
        let column = match memchr::memrchr(b'\n', before) {
            Some(end) => at - end,
            None => self.column + at + 1,
        };
        let utf16 = line == 1 && column == 1 && matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let encoding = if utf16 { "UTF-16" } else { "LATIN1" };
        let problem = format!(
            "byte {column} of the line (0x{:02X}) is not UTF-8; convert the file first, e.g. iconv -f {encoding} \
             -t UTF-8{}",
            bytes[at],
            if utf16 { "" } else { " (or from GB18030, CP1252, …)" },
        );
        Error::content(&self.source.name, Some(line), problem)
    }
}

/// Characters that BERT makes words of their own, so that a text may be cut after them.
fn stands_alone(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' // general punctuation
            | '\u{3001}'..='\u{303f}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Chinese
            | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;

    use super::super::Corpus;
    use super::*;

    fn blocks(text: &[u8], limit: usize) -> Result<Vec<Block>> {
        let input = Input::Memory { name: Path::new("t").into(), text: text.into() };
        let inputs = [input];
        let mut blocks = Blocks::new(&inputs);
        blocks.set_limit(limit);
        blocks.collect()
    }

    fn texts(text: &str, limit: usize) -> Vec<String> {
        blocks(text.as_bytes(), limit).unwrap().into_iter().map(|block| block.text).collect()
    }

    #[test]
    fn blocks_end_at_line_ends_and_long_lines_where_no_word_is_torn() {
        assert_eq!(texts("ab\ncd\nef\n", 7), ["ab\ncd\n", "ef\n"]);
        assert_eq!(texts("a bc de\n", 6), ["a bc ", "de\n"]);
        assert_eq!(texts("ab,cde", 6), ["ab,", "cde"]);
        assert_eq!(texts("月光霜", 8), ["月光", "霜"]);
        assert_eq!(texts("abéé", 5), ["abé", "é"]);
        assert_eq!(texts("", 8), [""; 0]);
    }

    #[test]
    fn blocks_know_their_lines() {
        let got: Vec<_> = blocks(b"a\nb\nlong line\nc", 6)
            .unwrap()
            .into_iter()
            .map(|b| (b.text, b.line, b.continues))
            .collect();
        let want = [("a\nb\n", 1, false), ("long ", 3, false), ("line\n", 3, true), ("c", 4, false)];
        assert_eq!(got, want.map(|(text, line, continues)| (text.to_owned(), line, continues)));
    }

    #[test]
    fn bad_bytes_are_named_exactly() {
        let message = |text: &[u8], limit| blocks(text, limit).unwrap_err().to_string();
        assert!(message(b"ok\nab\xe9c\n", 64).starts_with("t:2: byte 3 of the line (0xE9)"));
        assert!(message(b"\xef\xbb\xbfab\xe9", 64).starts_with("t:1: byte 6 "));
        assert!(message(b"aaa bbb ccc \xff", 5).starts_with("t:1: byte 13 "));
        assert!(message(b"cut \xe6\x9c", 64).starts_with("t:1: byte 5 "));
        assert!(message(b"\xff\xfeh\0i\0", 64).ends_with("iconv -f UTF-16 -t UTF-8"));
    }

    #[test]
    fn an_error_ends_the_blocks() {
        let corpus = Corpus::open([Path::new("Cargo.toml"), Path::new("Cargo.toml")]).unwrap();
        let mut blocks = corpus.blocks();
        blocks.set_limit(16);
        blocks.next().unwrap().unwrap();
        blocks.file.as_mut().unwrap().rest = vec![0xff];
        assert!(blocks.by_ref().any(|block| block.is_err()));
        assert!(blocks.next().is_none());
    }

    /// Gives one byte at a time, as a slow pipe may.
    struct Dribble(io::Cursor<Vec<u8>>);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(1);
            self.0.read(&mut buffer[..n])
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_block_is_bounded(
            text in "[a-c\n\r ,é月😀]{0,80}", limit in 4usize..20
        ) {
            let blocks = blocks(text.as_bytes(), limit).unwrap();
            let mut line = 1;
            for block in &blocks {
                prop_assert!(!block.text.is_empty() && block.text.len() <= limit);
                prop_assert_eq!(block.line, line);
                line += block.text.matches('\n').count();
            }
            prop_assert_eq!(blocks.iter().map(|b| b.text.as_str()).collect::<String>(), text);
        }

        #[test]
        fn the_size_of_reads_does_not_matter(text in "[a-c\n ,月]{0,80}", limit in 4usize..20) {
            let whole = blocks(text.as_bytes(), limit).unwrap();
            let slow = Dribble(io::Cursor::new(text.into_bytes()));
            let mut file = OpenFile::new(Source::new(Path::new("t").into(), slow, &Arc::default()).unwrap());
            let mut dribbled = Vec::new();
            while let Some(block) = file.block(limit).unwrap() {
                dribbled.push(block);
            }
            prop_assert_eq!(dribbled, whole);
        }
    }
}
