//! Words to pieces, and pieces to the windows that a model reads.
//!
//! ```text
//! words   Johanson     lives in Berlin
//! pieces  johan ##son  lives in berlin      every word is encoded on its own
//! tags    B-PER  -     O     O  B-LOC       a word's tag sits on its first piece
//! ```

use std::ops::RangeInclusive;

use crate::Result;
use crate::data::labelled::TaggedExample;
use crate::task::Long;
use crate::text::{Encoder, Encoding, LongText, Part, Span, Truncation};

/// `[CLS]` and `[SEP]`.
const SPECIAL: usize = 2;

/// The pieces of a text's words.
pub(super) struct Pieces {
    /// Without special tokens; spans are those of the text.
    pub(super) encoding: Encoding,
    /// Of every piece, the number of its word.
    pub(super) words: Vec<usize>,
}

impl Pieces {
    /// Encodes every word on its own, as Hugging Face's tokenizers do with `is_split_into_words`.
    pub(super) fn of(example: &TaggedExample, encoder: &mut Encoder<'_>) -> Self {
        let (mut encoding, mut words) = (Encoding::default(), Vec::new());
        for (number, word) in example.words.iter().enumerate() {
            let before = encoding.len();
            encoder.append(&example.text[word.clone()], 0, &mut encoding);
            for span in &mut encoding.spans[before..] {
                *span = Span::new(word.start + span.range().start, word.start + span.range().end);
            }
            words.resize(encoding.len(), number);
        }
        Self { encoding, words }
    }

    /// What each window shows. Windows begin with words' first pieces, unless a word is longer than a window.
    pub(super) fn windows(&self, long: &Long) -> Result<Vec<Part>> {
        let limit = long.limit(Truncation::OnlyFirst);
        let windows = limit.windows(&[self.words.len()], SPECIAL)?;
        let room = long.max_length - SPECIAL;
        match long.mode {
            LongText::Sliding { stride } if self.words.len() > room => {
                Ok(self.slide(room, stride.unwrap_or(room / 4)))
            }
            _ => Ok(windows.flatten().map(|part| self.without_half_words(part)).collect()),
        }
    }

    /// Whether a word begins with this piece, or the text is at its end.
    fn is_start(&self, at: usize) -> bool {
        at == 0 || self.words.get(at) != self.words.get(at - 1)
    }

    fn last_start(&self, mut among: RangeInclusive<usize>) -> Option<usize> {
        among.rfind(|&at| self.is_start(at))
    }

    /// Leaves out the pieces at the tail's beginning whose word begins before it.
    fn without_half_words(&self, part: Part) -> Part {
        let Part { head, tail } = part;
        let start = tail.clone().find(|&at| self.is_start(at)).unwrap_or(tail.start);
        Part { head, tail: start..tail.end }
    }

    /// Windows of up to `width` pieces that share about `overlap` with their neighbours, cut between words where possible.
    fn slide(&self, width: usize, overlap: usize) -> Vec<Part> {
        let length = self.words.len();
        let (mut parts, mut start) = (Vec::new(), 0);
        loop {
            let widest = (start + width).min(length);
            let end = self.last_start(start + 1..=widest).unwrap_or(widest);
            parts.push(Part { head: start..end, tail: 0..0 });
            if end == length {
                return parts;
            }
            let aim = end.saturating_sub(overlap).max(start + 1);
            let behind = || (aim..=end).find(|&at| self.is_start(at));
            start = self.last_start(start + 1..=aim).or_else(behind).unwrap_or(aim);
        }
    }

    /// `[CLS] pieces [SEP]`, and for each of these tokens the number of the word that it is the first one of.
    pub(super) fn window(&self, part: Part, encoder: &Encoder<'_>) -> (Encoding, Vec<Option<usize>>) {
        let special = encoder.tokenizer().special();
        let (mut sequence, mut firsts) = (Encoding::default(), vec![None]);
        sequence.push(special.cls, 0, Span::default());
        let mut last = None;
        for at in part.head.chain(part.tail) {
            let word = Some(self.words[at]);
            sequence.push(self.encoding.ids[at], 0, self.encoding.spans[at]);
            firsts.push(word.filter(|_| word != last));
            last = word;
        }
        sequence.push(special.sep, 0, Span::default());
        firsts.push(None);
        (sequence, firsts)
    }
}
