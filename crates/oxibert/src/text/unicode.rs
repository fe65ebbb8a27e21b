//! What the tokenizer asks of a character, as one byte of bits per code point.
//!
//! Two tables, because the two references disagree (see [`Compat`]): Hugging Face's `tokenizers` carries
//! the character categories of an old Unicode version and the decompositions of Unicode 9, and checkpoints
//! are used with exactly those; Google's original asks Python's `unicodedata`, which is current.
//! The ranges in `unicode_tables.rs` are generated; the tests below compare every code point with the
//! crates they were made from, and write the file anew when asked to (see CONTRIBUTING.md).

use std::sync::LazyLock;

use super::Compat;
use super::unicode_tables::{GOOGLE, HF};

/// Separates words.
pub(crate) const SPACE: u8 = 1;
/// Dropped when text is cleaned: control and format characters, U+0000, U+FFFD.
pub(crate) const REMOVED: u8 = 2;
/// A word of its own.
pub(crate) const PUNCTUATION: u8 = 4;
/// A Chinese character: a word of its own where Chinese is split.
pub(crate) const CHINESE: u8 = 8;
/// A non-spacing mark (Mn): dropped when accents are stripped.
pub(crate) const MARK: u8 = 16;
/// Has a canonical decomposition.
pub(crate) const DECOMPOSES: u8 = 32;
/// Has a canonical combining class other than 0, so that NFD may reorder it.
pub(crate) const COMBINES: u8 = 64;

/// Below this code point a flat array answers; above it lie few, long ranges.
const FLAT: usize = 0x2_0000;

/// A run of code points with the same bits: first, last, bits.
pub(super) type Range = (u32, u32, u8);

/// The bits of every character under one compatibility mode.
pub(crate) struct CharTable {
    flat: Box<[u8]>,
    ranges: &'static [Range],
}

impl CharTable {
    fn new(ranges: &'static [Range]) -> Self {
        let mut flat = vec![0; FLAT].into_boxed_slice();
        for &(first, last, bits) in ranges.iter().take_while(|range| (range.0 as usize) < FLAT) {
            flat[first as usize..=(last as usize).min(FLAT - 1)].fill(bits);
        }
        Self { flat, ranges }
    }

    /// The table of a compatibility mode, built once per process.
    pub(crate) fn of(compat: Compat) -> &'static Self {
        static TABLES: [LazyLock<CharTable>; 2] =
            [LazyLock::new(|| CharTable::new(HF)), LazyLock::new(|| CharTable::new(GOOGLE))];
        match compat {
            Compat::Hf => &TABLES[0],
            Compat::Google => &TABLES[1],
        }
    }

    /// The bits of `c`.
    #[inline]
    pub(crate) fn bits(&self, c: char) -> u8 {
        match self.flat.get(c as usize) {
            Some(&bits) => bits,
            None => self.bits_above(c as u32),
        }
    }

    fn bits_above(&self, c: u32) -> u8 {
        let after = self.ranges.partition_point(|range| range.0 <= c);
        self.ranges[..after].last().filter(|range| c <= range.1).map_or(0, |range| range.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use unicode_categories::UnicodeCategories;
    use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

    fn is_chinese(c: char, last_extension_starts: u32) -> bool {
        matches!(c as u32, 0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
            || (last_extension_starts..=0x2CEAF).contains(&(c as u32))
    }

    fn bits(pairs: [(bool, u8); 7]) -> u8 {
        pairs.iter().filter(|pair| pair.0).map(|pair| pair.1).sum()
    }

    fn kept_blank(c: char) -> bool {
        matches!(c, '\t' | '\n' | '\r')
    }

    /// What the `tokenizers` crate computes, from the crates it computes it with.
    fn hf(c: char) -> u8 {
        use unicode_normalization_alignments::char as old;
        let mut parts = Vec::new();
        old::decompose_canonical(c, |part| parts.push(part));
        bits([
            (c.is_whitespace(), SPACE),
            (matches!(c, '\0' | '\u{fffd}') || (!kept_blank(c) && c.is_other()), REMOVED),
            (c.is_ascii_punctuation() || c.is_punctuation(), PUNCTUATION),
            (is_chinese(c, 0x2B920), CHINESE),
            (c.is_mark_nonspacing(), MARK),
            (parts != [c], DECOMPOSES),
            (old::canonical_combining_class(c) != 0, COMBINES),
        ])
    }

    /// What Google's tokenization.py computes. Its `split()` also separates at Zl and Zp.
    fn google(c: char) -> u8 {
        use unicode_normalization::char as new;
        let mut parts = Vec::new();
        new::decompose_canonical(c, |part| parts.push(part));
        let category = c.general_category();
        let control = matches!(category, GeneralCategory::Control | GeneralCategory::Format);
        bits([
            (kept_blank(c) || c.general_category_group() == GeneralCategoryGroup::Separator, SPACE),
            (matches!(c, '\0' | '\u{fffd}') || (!kept_blank(c) && control), REMOVED),
            (
                c.is_ascii_punctuation() || c.general_category_group() == GeneralCategoryGroup::Punctuation,
                PUNCTUATION,
            ),
            (is_chinese(c, 0x2B820), CHINESE),
            (category == GeneralCategory::NonspacingMark, MARK),
            (parts != [c], DECOMPOSES),
            (new::canonical_combining_class(c) != 0, COMBINES),
        ])
    }

    fn ranges(of: fn(char) -> u8) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for c in '\0'..=char::MAX {
            let (point, bits) = (c as u32, of(c));
            match ranges.last_mut() {
                Some(last) if last.2 == bits && last.1 + 1 == point => last.1 = point,
                _ if bits != 0 => ranges.push((point, point, bits)),
                _ => {}
            }
        }
        ranges
    }

    fn source(name: &str, ranges: &[Range]) -> String {
        let mut text = format!("pub(super) static {name}: &[Range] = &[\n");
        for row in ranges.chunks(4) {
            let cells: Vec<_> = row.iter().map(|(a, b, bits)| format!("({a:#x}, {b:#x}, {bits})")).collect();
            writeln!(text, "    {},", cells.join(", ")).unwrap();
        }
        text + "];\n"
    }

    #[test]
    fn every_code_point_has_the_bits_of_its_reference() {
        let (hf_ranges, google_ranges) = (ranges(hf), ranges(google));
        if std::env::var_os("OXIBERT_REGENERATE").is_some() {
            let text = format!(
                "//! Generated by the tests of `unicode.rs`; do not edit.\n\nuse super::unicode::Range;\n\n\
                 #[rustfmt::skip]\n{}\n#[rustfmt::skip]\n{}",
                source("HF", &hf_ranges),
                source("GOOGLE", &google_ranges)
            );
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/text/unicode_tables.rs");
            std::fs::write(path, text).unwrap();
            return;
        }
        for (compat, reference) in [(Compat::Hf, hf as fn(char) -> u8), (Compat::Google, google)] {
            let table = CharTable::of(compat);
            for c in '\0'..=char::MAX {
                assert_eq!(table.bits(c), reference(c), "{compat:?} U+{:04X}", c as u32);
            }
        }
    }
}
