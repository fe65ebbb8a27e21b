//! What encoding gives: ids, segments and places in the original text; and rectangles of them.

use super::Span;

/// An encoded text, or several joined.
///
/// The three lists have one entry per token. Special tokens that were put in (`[CLS]`, `[SEP]`) have an empty
/// span at 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Encoding {
    /// Token ids.
    pub ids: Vec<u32>,
    /// The text each token belongs to: 0 for the first, 1 for the second, and so on.
    pub segments: Vec<u8>,
    /// The bytes of the original text (of its segment) behind each token.
    pub spans: Vec<Span>,
}

impl Encoding {
    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The spans counted in characters (Unicode code points) instead of bytes.
    ///
    /// `texts` are the texts that were encoded, one per segment.
    pub fn char_spans<T: AsRef<str>>(&self, texts: &[T]) -> Vec<Span> {
        let mut spans = self.spans.clone();
        for (segment, text) in texts.iter().enumerate() {
            let mut counter = CharCounter::new(text.as_ref());
            for (span, _) in spans.iter_mut().zip(&self.segments).filter(|pair| *pair.1 as usize == segment) {
                *span = Span { start: counter.chars_before(span.start), end: counter.chars_before(span.end) };
            }
        }
        spans
    }

    /// Removes all tokens and keeps the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.segments.clear();
        self.spans.clear();
    }

    pub(crate) fn push(&mut self, id: u32, segment: u8, span: Span) {
        self.ids.push(id);
        self.segments.push(segment);
        self.spans.push(span);
    }
}

/// Byte positions to character positions, for questions that mostly go forward.
struct CharCounter<'t> {
    text: &'t str,
    ascii: bool,
    byte: usize,
    chars: u32,
}

impl<'t> CharCounter<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, ascii: text.is_ascii(), byte: 0, chars: 0 }
    }

    fn chars_before(&mut self, byte: u32) -> u32 {
        if self.ascii {
            return byte;
        }
        let byte = byte as usize;
        if byte < self.byte {
            // Back a little (the start of the same token) or to 0 (a special token).
            let back = self.text[byte..self.byte].chars().count() as u32;
            (self.byte, self.chars) = if byte == 0 { return 0 } else { (byte, self.chars - back) };
        } else {
            self.chars += self.text[self.byte..byte].chars().count() as u32;
            self.byte = byte;
        }
        self.chars
    }
}

/// How far the rows of a [`Rectangle`] are filled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// To the longest row.
    #[default]
    Longest,
    /// To this length, or to the longest row if that is longer.
    Length(usize),
}

/// Encodings as rows of one length, for callers who need rectangles. Our own engine does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rectangle {
    /// The number of rows.
    pub rows: usize,
    /// The length of every row.
    pub length: usize,
    /// Token ids, row by row.
    pub ids: Vec<u32>,
    /// Segment ids, row by row; 0 where padded.
    pub segments: Vec<u8>,
    /// 1 where there is a token, 0 where padded.
    pub attention_mask: Vec<u8>,
}

impl Rectangle {
    /// Fills `encodings` up with `pad`.
    pub fn new(encodings: &[Encoding], padding: Padding, pad: u32) -> Self {
        let longest = encodings.iter().map(Encoding::len).max().unwrap_or(0);
        let length = match padding {
            Padding::Longest => longest,
            Padding::Length(length) => length.max(longest),
        };
        let rows = encodings.len();
        let mut ids = vec![pad; rows * length];
        let mut segments = vec![0; rows * length];
        let mut attention_mask = vec![0; rows * length];
        for (row, encoding) in encodings.iter().enumerate() {
            let cells = row * length..row * length + encoding.len();
            ids[cells.clone()].copy_from_slice(&encoding.ids);
            segments[cells.clone()].copy_from_slice(&encoding.segments);
            attention_mask[cells].fill(1);
        }
        Self { rows, length, ids, segments, attention_mask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding(ids: &[u32]) -> Encoding {
        Encoding { ids: ids.to_vec(), segments: vec![1; ids.len()], spans: vec![Span::default(); ids.len()] }
    }

    #[test]
    fn rows_are_filled_up_and_masked() {
        let rows = Rectangle::new(&[encoding(&[7, 8]), encoding(&[9])], Padding::Longest, 0);
        assert_eq!((rows.rows, rows.length), (2, 2));
        assert_eq!(rows.ids, [7, 8, 9, 0]);
        assert_eq!(rows.segments, [1, 1, 1, 0]);
        assert_eq!(rows.attention_mask, [1, 1, 1, 0]);
        assert_eq!(Rectangle::new(&[encoding(&[7])], Padding::Length(3), 5).ids, [7, 5, 5]);
        assert!(Rectangle::new(&[], Padding::Longest, 0).ids.is_empty());
    }

    #[test]
    fn characters_are_counted_in_the_segments_own_text() {
        let mut encoding = Encoding::default();
        encoding.push(2, 0, Span::default());
        encoding.push(5, 0, Span::new(3, 6));
        encoding.push(6, 0, Span::new(3, 7));
        encoding.push(3, 0, Span::default());
        encoding.push(7, 1, Span::new(2, 3));
        let spans = encoding.char_spans(&["你好a", "éa"]);
        let pairs: Vec<_> = spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(pairs, [(0, 0), (1, 2), (1, 3), (0, 0), (1, 2)]);
    }
}
