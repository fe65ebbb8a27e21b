//! Where blanks stand between tokens. WordPiece forgets them, so that they are learned from texts: "¿Qué?" and "T-Shirt" are
//! not "¿ Qué?" and "T - Shirt", but which marks stick to their neighbours depends on the language.
//!
//! Neighbouring tokens are told apart by what they are: words, numbers, Chinese characters, or a mark, each for itself. Whether
//! two kinds mostly stand without a blank is all that is remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::vocab::CONTINUATION;
use super::{Encoding, Tokenizer};
use crate::data::files;
use crate::{Error, Result};

/// The file in a checkpoint directory.
pub const SPACING_FILE: &str = "spacing.json";

/// Which neighbours stand without a blank between them.
///
/// ```
/// use oxibert::text::{Spacing, Tokenizer, Vocab};
///
/// let words = ["[UNK]", "[CLS]", "[SEP]", "¿", "qué", "?", "sí", ",", "el", "gato"];
/// let tokenizer = Tokenizer::cased(Vocab::from_tokens(words)?)?;
/// let spacing = Spacing::learn(&tokenizer, &["¿qué?", "sí, el gato"]);
/// let ids = tokenizer.encode("sí, ¿el gato?").ids;
/// assert_eq!(spacing.join(&tokenizer, &ids), "sí, ¿el gato?");
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spacing {
    /// Kinds of the left and of the right neighbour.
    glued: BTreeSet<(String, String)>,
}

/// Gives every token of a text its kind; those of quotation marks alternate between opening and closing.
#[derive(Default)]
struct Kinds {
    quotes: usize,
}

impl Spacing {
    /// From texts as they are written.
    pub fn learn<T: AsRef<str>>(tokenizer: &Tokenizer, texts: &[T]) -> Self {
        let mut counts: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
        let mut encoder = tokenizer.encoder();
        for text in texts {
            count(text.as_ref(), tokenizer, &encoder.pieces(text.as_ref()), &mut counts);
        }
        let mostly = counts.into_iter().filter(|(_, [glued, apart])| glued > apart);
        Self { glued: mostly.map(|(kinds, _)| kinds).collect() }
    }

    /// The ids' text, without special tokens. Ids that the vocabulary does not have are left out.
    pub fn join(&self, tokenizer: &Tokenizer, ids: &[u32]) -> String {
        let is_silent =
            |id: u32| tokenizer.added_tokens().iter().any(|token| token.special && token.id == id);
        let (mut text, mut kinds, mut before) = (String::new(), Kinds::default(), None::<String>);
        for &id in ids.iter().filter(|&&id| !is_silent(id)) {
            let Some(token) = tokenizer.vocab().token(id) else { continue };
            let continues = tokenizer.continues_word(id);
            let word = if continues { token.strip_prefix(CONTINUATION).unwrap_or(token) } else { token };
            let kind = kinds.next(word);
            let glued = |before: &String| self.glued.contains(&(before.clone(), kind.clone()));
            if before.as_ref().is_some_and(|before| !continues && !glued(before)) {
                text.push(' ');
            }
            text.push_str(word);
            before = Some(kind);
        }
        text
    }

    /// Loads what a checkpoint directory holds, if it holds it.
    pub fn load(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(SPACING_FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::read(path, error)),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            let problem = format!("it is not what oxibert wrote: {error}; remove it, and marks stand apart");
            Error::content(&path, Some(error.line().max(1)), problem)
        })
    }

    /// Writes it into a checkpoint directory, atomically.
    pub fn save(&self, directory: &Path) -> Result<()> {
        files::save(&directory.join(SPACING_FILE), |out| {
            serde_json::to_writer(&mut *out, self)?;
            writeln!(out)
        })
    }
}

/// Counts a text's neighbours: [glued, apart].
fn count(
    text: &str,
    tokenizer: &Tokenizer,
    encoding: &Encoding,
    counts: &mut BTreeMap<(String, String), [u64; 2]>,
) {
    let mut kinds = Kinds::default();
    let mut before: Option<(String, usize)> = None;
    for (&id, span) in encoding.ids.iter().zip(&encoding.spans) {
        let span = span.range();
        let kind = kinds.next(&text[span.clone()]);
        if let Some((before, end)) = before.filter(|_| !tokenizer.continues_word(id)) {
            let apart = usize::from(span.start > end);
            counts.entry((before, kind.clone())).or_default()[apart] += 1;
        }
        before = Some((kind, span.end));
    }
}

impl Kinds {
    /// Words are one kind, numbers another; a mark is its own.
    fn next(&mut self, word: &str) -> String {
        match word.chars().next() {
            Some('"') => {
                self.quotes += 1;
                if self.quotes % 2 == 1 { "\" opening".to_owned() } else { "\" closing".to_owned() }
            }
            Some(c) if is_chinese(c) => "字".to_owned(),
            Some(c) if c.is_numeric() => "number".to_owned(),
            Some(c) if c.is_alphabetic() => "word".to_owned(),
            _ => word.to_owned(),
        }
    }
}

/// Sentences one after the other, with a blank between them unless the one before ends in Chinese.
pub(crate) fn join_sentences(sentences: &[String]) -> String {
    let ends_chinese =
        |text: &String| text.chars().next_back().is_some_and(|c| is_chinese(c) || is_full_width(c));
    let mut joined = String::new();
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        if !joined.is_empty() && !ends_chinese(&joined) {
            joined.push(' ');
        }
        joined.push_str(sentence);
    }
    joined
}

/// Marks as wide as an ideograph.
fn is_full_width(c: char) -> bool {
    matches!(c, '\u{FF01}'..='\u{FF60}')
}

/// Ideographs, which stand side by side.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Vocab;

    const WORDS: &str =
        "[PAD] [UNK] [CLS] [SEP] [MASK] T Shirt - \" ' . , : 3 5 ¿ ? Ein Mann in ##nen im s it 漢 字 。";

    fn tokenizer() -> Tokenizer {
        Tokenizer::cased(Vocab::from_tokens(WORDS.split(' ')).unwrap()).unwrap()
    }

    const TEXTS: [&str; 5] = [
        "Ein Mann im T-Shirt.",
        "\"Ein Mann, 3.5 Mann\": 3, 5",
        "¿it's it? \"Ein\" it's",
        "漢字。漢字漢字。",
        "Ein \"Mann\" 3.5 3.5 3,5 innen",
    ];

    #[test]
    fn sentences_stand_apart_unless_they_are_chinese() {
        let join =
            |sentences: &[&str]| join_sentences(&sentences.iter().map(|&s| s.to_owned()).collect::<Vec<_>>());
        assert_eq!(join(&["Ein Mann.", "", "¿Qué?", "Sí"]), "Ein Mann. ¿Qué? Sí");
        assert_eq!(join(&["漢字。", "漢字！", "漢"]), "漢字。漢字！漢");
        assert_eq!(join(&[]), "");
    }

    #[test]
    fn blanks_come_back() {
        let tokenizer = tokenizer();
        let spacing = Spacing::learn(&tokenizer, &TEXTS);
        for text in
            ["Ein Mann im T-Shirt.", "¿Ein Mann? \"it's Mann\": im 3.5", "漢字。漢", "innen", "", "3 Mann, T"]
        {
            assert_eq!(spacing.join(&tokenizer, &tokenizer.encode(text).ids), text);
        }
    }

    #[test]
    fn what_was_never_seen_stands_apart() {
        let tokenizer = tokenizer();
        let ids = tokenizer.encode("T-Shirt, innen.").ids;
        assert_eq!(Spacing::default().join(&tokenizer, &ids), "T - Shirt , innen .");
    }

    #[test]
    fn the_file_leads_back() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Spacing::load(directory.path()).unwrap(), None);
        let spacing = Spacing::learn(&tokenizer(), &TEXTS);
        spacing.save(directory.path()).unwrap();
        assert_eq!(Spacing::load(directory.path()).unwrap(), Some(spacing));
        std::fs::write(directory.path().join(SPACING_FILE), "{\"glued\": 3}").unwrap();
        let refusal = Spacing::load(directory.path()).unwrap_err().to_string();
        assert!(refusal.contains("spacing.json:1") && refusal.contains("remove it"), "{refusal}");
    }
}
