//! A character of the original text becomes characters of a word: cleaned, decomposed, lower-cased.
//!
//! This is the general path, a character at a time; [`split`](super::split) short-cuts it for ASCII.
//! Every character that comes out knows the span of the original text that it came from.

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::unicode::{CHINESE, COMBINES, CharTable, DECOMPOSES, MARK, PUNCTUATION, REMOVED, SPACE};
use super::{Compat, Rules};

/// A half-open range of bytes in the original text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// The span as a range, to slice the text with.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Takes the normalized characters and makes words of them.
pub(crate) trait WordSink {
    /// The next character of the current word.
    fn push(&mut self, c: char, span: Span);
    /// A character that ends the current word and is a word of its own.
    fn single(&mut self, c: char, span: Span);
    /// The current word, if any, is complete.
    fn end_word(&mut self);
}

/// A decomposed character that waits until its run of combining marks can be put in canonical order.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    class: u8,
    c: char,
    /// The first part of its original character: such a part takes the next original span in turn.
    first: bool,
}

/// The marks that wait for their order. Kept between texts so that its memory is reused.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    run: Vec<Waiting>,
    spans: Vec<Span>,
    last: Span,
}

/// The rules together with their character table.
#[derive(Clone, Copy)]
pub(crate) struct Normalizer {
    pub(crate) rules: Rules,
    pub(crate) table: &'static CharTable,
}

impl Normalizer {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, table: CharTable::of(rules.compat) }
    }

    /// Feeds the character `c`, which stands at `span` of `text`.
    pub(crate) fn feed(&self, text: &str, c: char, span: Span, marks: &mut Marks, sink: &mut impl WordSink) {
        let bits = self.table.bits(c);
        if self.is_removed(bits) {
            return;
        }
        if bits & SPACE != 0 {
            self.flush(marks, sink);
            sink.end_word();
        } else if self.rules.split_chinese && bits & CHINESE != 0 {
            self.flush(marks, sink);
            sink.end_word();
            self.fold(text, c, span, marks, sink);
            self.flush(marks, sink);
            sink.end_word();
        } else {
            self.fold(text, c, span, marks, sink);
        }
    }

    /// Ends a run of combining marks; call it at the end of a text.
    ///
    /// Where NFD reorders marks, Hugging Face hands out the original spans in the new order. Most marks
    /// are dropped here; the few that stay (those that are not Mn) get the same spans as there.
    pub(crate) fn flush(&self, marks: &mut Marks, sink: &mut impl WordSink) {
        if marks.run.is_empty() {
            return;
        }
        marks.run.sort_by_key(|waiting| waiting.class);
        let mut spans = marks.spans.iter();
        for waiting in &marks.run {
            if waiting.first {
                marks.last = *spans.next().expect("a span for every first part");
            }
            self.emit_decomposed(waiting.c, marks.last, sink);
        }
        marks.run.clear();
        marks.spans.clear();
    }

    pub(crate) fn is_removed(&self, bits: u8) -> bool {
        self.rules.clean_text && bits & REMOVED != 0
    }

    /// Lower case and decomposition, in the reference's order.
    fn fold(&self, text: &str, c: char, span: Span, marks: &mut Marks, sink: &mut impl WordSink) {
        if self.rules.compat == Compat::Hf || !self.rules.lowercase {
            return self.decompose(c, true, span, marks, sink);
        }
        if c == 'Σ' && is_final_sigma(text, span, |c| self.is_removed(self.table.bits(c))) {
            return self.decompose('ς', true, span, marks, sink);
        }
        for (index, lower) in c.to_lowercase().enumerate() {
            self.decompose(lower, index == 0, span, marks, sink);
        }
    }

    fn decompose(&self, c: char, first: bool, span: Span, marks: &mut Marks, sink: &mut impl WordSink) {
        if !self.rules.strip_accents {
            return self.emit(c, span, sink);
        }
        if self.table.bits(c) & DECOMPOSES == 0 {
            return self.order(c, first, span, marks, sink);
        }
        let mut first = first;
        decompose_canonical(c, |part| {
            self.order(part, first, span, marks, sink);
            first = false;
        });
    }

    /// Canonical order: a starter goes straight on, a combining mark waits for the end of its run.
    fn order(&self, c: char, first: bool, span: Span, marks: &mut Marks, sink: &mut impl WordSink) {
        if self.table.bits(c) & COMBINES == 0 {
            self.flush(marks, sink);
            marks.last = span;
            return self.emit_decomposed(c, span, sink);
        }
        marks.run.push(Waiting { class: canonical_combining_class(c), c, first });
        if first {
            marks.spans.push(span);
        }
    }

    fn emit_decomposed(&self, c: char, span: Span, sink: &mut impl WordSink) {
        if self.table.bits(c) & MARK == 0 {
            self.emit(c, span, sink);
        }
    }

    fn emit(&self, c: char, span: Span, sink: &mut impl WordSink) {
        if self.rules.lowercase && self.rules.compat == Compat::Hf {
            c.to_lowercase().for_each(|lower| self.hand_over(lower, span, sink));
        } else {
            self.hand_over(c, span, sink);
        }
    }

    fn hand_over(&self, c: char, span: Span, sink: &mut impl WordSink) {
        let bits = self.table.bits(c);
        if bits & SPACE != 0 {
            sink.end_word();
        } else if bits & PUNCTUATION != 0 {
            sink.single(c, span);
        } else {
            sink.push(c, span);
        }
    }
}

/// Unicode's Final_Sigma, which Python's `lower()` applies: a cased letter before, none after.
///
/// Both scans stop at the first letter that counts, so that a text of nothing but sigmas stays linear.
fn is_final_sigma(text: &str, span: Span, is_removed: impl Fn(char) -> bool) -> bool {
    let counts = |c: &char| !is_removed(*c) && !is_case_ignorable(*c);
    let before = text[..span.start as usize].chars().rev().find(counts);
    let after = text[span.end as usize..].chars().find(counts);
    before.is_some_and(is_cased) && !after.is_some_and(is_cased)
}

/// The standard library keeps these two properties to itself, but its lower-casing of Σ shows them.
fn is_cased(c: char) -> bool {
    String::from_iter([c, 'Σ']).to_lowercase().ends_with('ς')
}

fn is_case_ignorable(c: char) -> bool {
    // Between a cased letter and Σ: final if it is skipped or cased; alone before Σ: final if it is cased
    // and not skipped.
    String::from_iter(['a', c, 'Σ']).to_lowercase().ends_with('ς') && !is_cased(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::plain;
    use crate::text::split::{Scratch, Splitter};
    use proptest::prelude::*;
    use tokenizers::normalizer::Range;
    use tokenizers::normalizers::BertNormalizer;
    use tokenizers::{NormalizedString, Normalizer as _};

    /// What Hugging Face's normalizer makes of `text`: characters and the original bytes behind them.
    fn reference(rules: &Rules, text: &str) -> Vec<(char, Span)> {
        let normalizer = BertNormalizer::new(
            rules.clean_text,
            rules.split_chinese,
            Some(rules.strip_accents),
            rules.lowercase,
        );
        let mut normalized = NormalizedString::from(text);
        normalizer.normalize(&mut normalized).unwrap();
        let place = |at: usize, c: char| {
            let range = normalized.convert_offsets(Range::Normalized(at..at + c.len_utf8())).unwrap();
            Span::new(range.start, range.end)
        };
        let text = normalized.get().to_owned();
        text.char_indices().map(|(at, c)| (c, place(at, c))).collect()
    }

    fn without_blanks(text: Vec<(char, Span)>) -> Vec<(char, Span)> {
        let is_blank = |c: char| c.is_whitespace();
        text.into_iter()
            .map(|(c, span)| if is_blank(c) { (' ', Span::default()) } else { (c, span) })
            .collect()
    }

    fn hf_rules() -> Vec<Rules> {
        let uncased = Rules::uncased(Compat::Hf);
        vec![
            uncased,
            Rules::cased(Compat::Hf),
            Rules { strip_accents: false, ..uncased },
            Rules { lowercase: false, ..uncased },
            Rules { clean_text: false, split_chinese: false, ..uncased },
        ]
    }

    fn check(rules: Rules, text: &str) {
        let found = without_blanks(plain::normalize(&Normalizer::new(rules), text));
        assert_eq!(found, without_blanks(reference(&rules, text)), "{rules:?} {text:?}");
    }

    #[test]
    fn every_character_is_normalized_as_hugging_face_does() {
        let characters: Vec<char> = ('\0'..=char::MAX).collect();
        for rules in hf_rules() {
            for chunk in characters.chunks(512) {
                let text: String = chunk.iter().flat_map(|&c| ['x', c, 'y', ' ', c, ' ']).collect();
                check(rules, &text);
            }
        }
    }

    /// Strings that are rich in what makes normalization hard.
    fn hard_text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[a-zA-Z .,!?'-]{0,6}",
            "[àéîõüÅßſİıΣσςǅﬁKÅ]{1,4}",
            // Combining marks of many classes, some not Mn, some with decompositions of their own.
            "[\u{300}-\u{36f}\u{344}\u{f71}-\u{f76}\u{302a}-\u{302f}\u{1d165}-\u{1d172}\u{5b0}-\u{5bd}]{1,6}",
            "[\u{1d15e}-\u{1d164}\u{ac00}-\u{ac20}\u{1100}-\u{1110}\u{fb1d}-\u{fb4e}]{1,3}",
            "[\u{4e00}-\u{4e20}\u{f900}-\u{f910}\u{2f800}-\u{2f810}、。，！]{1,4}",
            "[\0\u{1}\u{85}\u{ad}\u{200b}-\u{200f}\u{2028}\u{3000}\u{fffd}\u{e000}\t\r\n]{1,3}",
            any::<String>(),
        ];
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn text_is_normalized_as_hugging_face_does(text in hard_text()) {
            hf_rules().into_iter().for_each(|rules| check(rules, &text));
        }

        #[test]
        fn fast_words_are_the_plain_words(text in hard_text(), google: bool, base in 0u32..9) {
            let compat = if google { Compat::Google } else { Compat::Hf };
            for rules in [Rules::uncased(compat), Rules::cased(compat)] {
                let normalizer = Normalizer::new(rules);
                let table = normalizer.table;
                let normalized = plain::normalize(&normalizer, &text);
                let mut expected = Vec::new();
                for run in normalized.split(|pair| pair.0 == ' ') {
                    let single = |c: char| table.bits(c) & PUNCTUATION != 0;
                    for word in run.chunk_by(|a, b| !single(a.0) && !single(b.0)).filter(|word| !word.is_empty()) {
                        let letters: String = word.iter().map(|pair| pair.0).collect();
                        expected.push((letters, word[0].1.start + base, word[word.len() - 1].1.end + base));
                    }
                }
                let mut found = Vec::new();
                Splitter::new(rules).split(&text, base, &mut Scratch::default(), |word| {
                    let span = word.span(0, word.bytes.len());
                    found.push((String::from_utf8(word.bytes.to_vec()).unwrap(), span.start, span.end));
                });
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn google_lower_cases_before_it_decomposes_and_knows_the_final_sigma() {
        let lower = |text: &str| -> String {
            plain::normalize(&Normalizer::new(Rules::uncased(Compat::Google)), text)
                .iter()
                .map(|pair| pair.0)
                .collect()
        };
        assert_eq!(lower("ΟΔΥΣΣΕΥΣ"), "οδυσσευς");
        assert_eq!(lower("ΟΔΥΣ. Σ ΣΑΣ'"), "οδυς. σ σας'");
        assert_eq!(lower("Α\u{1}Σ"), "ας");
        assert_eq!(lower("İstanbul Ünal"), "istanbul unal");
    }

    #[test]
    fn texts_of_nothing_but_marks_or_sigmas_stay_linear() {
        for text in ["\u{301}\u{316}".repeat(200_000), "Σ".repeat(400_000), "'".repeat(400_000) + "Σ"] {
            plain::normalize(&Normalizer::new(Rules::uncased(Compat::Google)), &text);
            plain::normalize(&Normalizer::new(Rules::uncased(Compat::Hf)), &text);
        }
    }
}
