//! Normalized words, one after the other, each with the way back to its place in the original text.
//!
//! Runs of ASCII, most of most texts, are classified by a table of 128 actions and lower-cased as bytes;
//! everything else goes through the [`Normalizer`]. No memory is allocated per word.

use super::Rules;
use super::normalize::{Marks, Normalizer, Span, WordSink};
use super::unicode::{CHINESE, PUNCTUATION, SPACE};

/// What an ASCII byte does. A byte of a word is its own (lower-cased) value; the others lie above ASCII.
type Action = u8;
const END_WORD: Action = 0x80;
const SINGLE: Action = 0x81;
const DROP: Action = 0x82;

/// A word of normalized text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    /// The normalized UTF-8.
    pub(crate) bytes: &'a [u8],
    place: Place<'a>,
}

/// Where a word's bytes come from.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    /// Byte for byte from this position on.
    At(u32),
    /// A span for every byte.
    Spans(&'a [Span]),
}

impl Word<'_> {
    /// The span of the original text behind the bytes `start..end`, which must not be empty.
    #[inline]
    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        match self.place {
            Place::At(place) => Span { start: place + start as u32, end: place + end as u32 },
            Place::Spans(spans) => Span { start: spans[start].start, end: spans[end - 1].end },
        }
    }
}

/// The memory that splitting needs, reused from text to text.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    marks: Marks,
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// Splits text into normalized words.
pub(crate) struct Splitter {
    normalizer: Normalizer,
    ascii: [Action; 128],
}

impl Splitter {
    pub(crate) fn new(rules: Rules) -> Self {
        let normalizer = Normalizer::new(rules);
        Self { ascii: std::array::from_fn(|byte| ascii_action(&normalizer, byte as u8)), normalizer }
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.normalizer.rules
    }

    /// Calls `on_word` for every word of `text`, in order; positions count from `base`.
    pub(crate) fn split(&self, text: &str, base: u32, scratch: &mut Scratch, on_word: impl FnMut(Word<'_>)) {
        let Scratch { marks, bytes, spans } = scratch;
        let mut words = Words { bytes, spans, start: 0, next: 0, base, straight: true, on_word };
        let source = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = source.get(at) {
            if byte < 0x80 && self.ascii[byte as usize] == DROP {
                at += 1; // first of all, so that it does not end a run of marks
            } else if byte < 0x80 {
                self.normalizer.flush(marks, &mut words);
                at = self.ascii_run(source, at, &mut words);
            } else {
                let c = text[at..].chars().next().expect("a character at every boundary");
                let span = Span::new(at, at + c.len_utf8());
                at = span.end as usize;
                if self.is_plain_chinese(c) {
                    self.normalizer.flush(marks, &mut words);
                    words.single(c, span);
                } else {
                    self.normalizer.feed(text, c, span, marks, &mut words);
                }
            }
        }
        self.normalizer.flush(marks, &mut words);
        words.end_word();
    }

    /// The ASCII bytes from `at` to the next other byte.
    #[inline]
    fn ascii_run<F: FnMut(Word<'_>)>(&self, source: &[u8], mut at: usize, words: &mut Words<'_, F>) -> usize {
        while let Some(&byte) = source.get(at).filter(|byte| byte.is_ascii()) {
            match self.ascii[byte as usize] {
                END_WORD => words.end_word(),
                SINGLE => words.single(byte as char, Span::new(at, at + 1)),
                DROP => {}
                _ => {
                    at = self.ascii_letters(source, at, words);
                    continue;
                }
            }
            at += 1;
        }
        at
    }

    #[inline]
    fn ascii_letters<F>(&self, source: &[u8], start: usize, words: &mut Words<'_, F>) -> usize {
        words.begin_bytes(start as u32);
        let mut at = start;
        while let Some(&byte) = source.get(at).filter(|byte| byte.is_ascii()) {
            let action = self.ascii[byte as usize];
            if action >= 0x80 {
                break;
            }
            words.bytes.push(action);
            at += 1;
        }
        words.end_bytes(start as u32, at as u32);
        at
    }

    /// A Chinese character that nothing changes: most of a Chinese text.
    #[inline]
    fn is_plain_chinese(&self, c: char) -> bool {
        self.normalizer.rules.split_chinese && self.normalizer.table.bits(c) == CHINESE
    }
}

fn ascii_action(normalizer: &Normalizer, byte: u8) -> Action {
    let folded = if normalizer.rules.lowercase { byte.to_ascii_lowercase() } else { byte };
    let bits = normalizer.table.bits(byte as char);
    if normalizer.is_removed(bits) {
        DROP
    } else if bits & SPACE != 0 {
        END_WORD
    } else if bits & PUNCTUATION != 0 {
        SINGLE
    } else {
        folded
    }
}

/// The word under way.
///
/// While its bytes stand in the original as they are (or with another case), only the start is kept;
/// the first byte that does not turns to a span per byte.
struct Words<'s, F> {
    bytes: &'s mut Vec<u8>,
    spans: &'s mut Vec<Span>,
    /// Where the word starts, while it is straight.
    start: u32,
    /// Where the next byte must come from for the word to stay straight.
    next: u32,
    base: u32,
    straight: bool,
    on_word: F,
}

impl<F> Words<'_, F> {
    /// Bytes that come straight from `start` on will be pushed.
    fn begin_bytes(&mut self, start: u32) {
        if self.bytes.is_empty() {
            self.start = start;
        } else if self.straight && self.next != start {
            self.bend();
        }
    }

    /// The bytes of `start..end` have been pushed.
    fn end_bytes(&mut self, start: u32, end: u32) {
        self.next = end;
        if !self.straight {
            let base = self.base;
            self.spans.extend((start..end).map(|at| Span { start: base + at, end: base + at + 1 }));
        }
    }

    /// Gives every byte so far a span of its own.
    fn bend(&mut self) {
        self.straight = false;
        let start = self.base + self.start;
        self.spans.clear();
        let mut at = 0;
        while at < self.bytes.len() {
            let width = utf8_width(self.bytes[at]);
            let span = Span { start: start + at as u32, end: start + (at + width) as u32 };
            self.spans.extend(std::iter::repeat_n(span, width));
            at += width;
        }
    }
}

impl<F: FnMut(Word<'_>)> WordSink for Words<'_, F> {
    fn push(&mut self, c: char, span: Span) {
        let width = c.len_utf8();
        if self.bytes.is_empty() {
            self.start = span.start;
            self.next = span.start;
        }
        if self.straight && (self.next != span.start || span.end - span.start != width as u32) {
            self.bend();
        }
        self.next = span.end;
        self.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        if !self.straight {
            let span = Span { start: self.base + span.start, end: self.base + span.end };
            self.spans.extend(std::iter::repeat_n(span, width));
        }
    }

    #[inline]
    fn single(&mut self, c: char, span: Span) {
        self.end_word();
        self.push(c, span);
        self.end_word();
    }

    #[inline]
    fn end_word(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let place = if self.straight { Place::At(self.base + self.start) } else { Place::Spans(self.spans) };
        (self.on_word)(Word { bytes: self.bytes, place });
        self.bytes.clear();
        self.spans.clear();
        self.straight = true;
    }
}

/// The length of the UTF-8 character that begins with this byte.
fn utf8_width(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}
