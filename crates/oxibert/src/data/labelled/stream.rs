//! An input line by line, in which a line that is not text spoils no other.
//!
//! ([`Lines`](crate::data::Lines) end at such a line: right for a corpus, wrong for a stream of requests.)

use std::path::Path;
use std::sync::Arc;

use crate::data::Corpus;
use crate::data::corpus::Source;
use crate::{Error, Result};

/// So much is read at a time, at most.
const CHUNK: usize = 1 << 16;
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Numbered lines (from 1) without their ends, each as soon as it has arrived. Ends after an error of the system; goes on
/// after a line that is not UTF-8.
pub struct Stream {
    source: Source,
    /// What has been read; given out up to `at`.
    bytes: Vec<u8>,
    at: usize,
    /// The number of the last line that was given out.
    line: usize,
    ended: bool,
}

impl Stream {
    /// Opens a file, or standard input (`-`); a byte order mark is passed over.
    pub fn open(path: &Path) -> Result<Self> {
        let corpus = Corpus::open([path])?;
        let source = Source::open(&corpus.inputs()[0], &Arc::default())?;
        let mut stream = Self { source, bytes: Vec::new(), at: 0, line: 0, ended: false };
        stream.read_on()?;
        if stream.bytes.starts_with(BOM) {
            stream.at = BOM.len();
        }
        Ok(stream)
    }

    /// What the input is called in messages.
    pub(super) fn name(&self) -> Arc<Path> {
        self.source.name.clone()
    }

    /// All that has not been given out.
    pub(super) fn rest(mut self) -> Result<Vec<u8>> {
        while !self.ended {
            self.read_on()?;
        }
        self.bytes.drain(..self.at);
        Ok(self.bytes)
    }

    fn read_on(&mut self) -> Result<()> {
        self.bytes.drain(..self.at);
        self.at = 0;
        let known = self.bytes.len();
        // As much again, so that a long line is not searched for its end again and again.
        self.bytes.resize(known + known.max(CHUNK), 0);
        let read = self.source.read_some(&mut self.bytes[known..]);
        let more = read.as_ref().map_or(0, |&read| read);
        self.ended = more == 0;
        self.bytes.truncate(known + more);
        read.map(drop)
    }
}

impl Iterator for Stream {
    type Item = Result<(usize, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        let length = loop {
            let rest = &self.bytes[self.at..];
            match memchr::memchr(b'\n', rest) {
                Some(length) => break length + 1,
                None if self.ended => break rest.len(),
                None => {}
            }
            if let Err(error) = self.read_on() {
                self.bytes.clear();
                return Some(Err(error));
            }
        };
        if length == 0 {
            return None;
        }
        let line = &self.bytes[self.at..self.at + length];
        self.at += length;
        self.line += 1;
        let text = text(line).map_err(|problem| Error::content(&self.source.name, Some(self.line), problem));
        Some(text.map(|text| (self.line, text)))
    }
}

/// A line's text, without its end.
fn text(line: &[u8]) -> Result<String, String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    std::str::from_utf8(line).map(str::to_owned).map_err(|error| not_utf8("line", line, error.valid_up_to()))
}

/// Says which byte of a line or a cell is no text, and the way out.
pub(super) fn not_utf8(of: &str, bytes: &[u8], at: usize) -> String {
    format!(
        "byte {} of the {of} (0x{:02X}) is not UTF-8; convert the file first, e.g. iconv -f LATIN1 -t UTF-8 (or from GB18030, \
         UTF-16, …)",
        at + 1,
        bytes[at]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        std::fs::write(&path, bytes).unwrap();
        let shown = |line: Result<(usize, String)>| match line {
            Ok((number, text)) => format!("{number}:{text}"),
            Err(error) => error.to_string().split_once("/t:").unwrap().1[..9].to_owned(),
        };
        Stream::open(&path).unwrap().map(shown).collect()
    }

    #[test]
    fn marks_and_line_ends_are_not_text() {
        assert_eq!(lines("\u{feff}a\r\n\nb".as_bytes()), ["1:a", "2:", "3:b"]);
        assert_eq!(lines("a\n".as_bytes()), ["1:a"]);
        assert!(lines(b"").is_empty() && lines(BOM).is_empty());
    }

    #[test]
    fn a_bad_line_spoils_no_other() {
        assert_eq!(lines(b"a\nb\xff\nc"), ["1:a", "2: byte 2", "3:c"]);
    }

    #[test]
    fn a_long_line_is_whole() {
        let long = "wort ".repeat(CHUNK);
        assert!(
            lines(format!("a\n{long}\nb").as_bytes()) == ["1:a".into(), format!("2:{long}"), "3:b".into()]
        );
    }
}
