//! The vocabulary: tokens and their ids, as in `vocab.txt`, one token a line, the line is the id.

use std::collections::hash_map::Entry;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::data::files;
use crate::{Error, Result};

/// What the special tokens are called in every BERT vocabulary, in the order a new vocabulary has them.
pub const SPECIAL_TOKENS: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// What a piece that continues a word begins with.
pub const CONTINUATION: &str = "##";

/// Tokens and their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocab {
    tokens: Vec<Arc<str>>,
    ids: FxHashMap<Arc<str>, u32>,
}

/// A token that stands twice: where it stood first.
#[derive(Debug)]
pub(crate) struct Duplicate {
    pub(crate) first: u32,
}

impl Vocab {
    /// A vocabulary of these tokens; the first has id 0.
    pub fn from_tokens<T: AsRef<str>>(tokens: impl IntoIterator<Item = T>) -> Result<Self> {
        let tokens = tokens.into_iter();
        let mut vocab = Self::with_capacity(tokens.size_hint().0);
        for token in tokens {
            let token = token.as_ref();
            vocab.push(token).map_err(|duplicate| {
                let problem = format!(
                    "token {token:?} stands twice (ids {} and {}); keep one of them",
                    duplicate.first,
                    vocab.len()
                );
                Error::setting("vocabulary", problem)
            })?;
        }
        Ok(vocab)
    }

    fn with_capacity(tokens: usize) -> Self {
        let ids = FxHashMap::with_capacity_and_hasher(tokens, Default::default());
        Self { tokens: Vec::with_capacity(tokens), ids }
    }

    /// Reads a `vocab.txt`.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|source| Error::read(path, source))?;
        Self::parse(&bytes, path)
    }

    /// Reads the content of a `vocab.txt`; `path` is for the messages.
    ///
    /// A line loses ASCII white space at its end. Empty lines may stand at the end of the file only:
    /// between tokens they would shift every id behind them.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let mut vocab = Self::with_capacity(memchr::memchr_iter(b'\n', bytes).count());
        let mut empty_line = None;
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let at = Some(index + 1);
            let token = parse_line(line).map_err(|problem| Error::content(path, at, problem))?;
            if token.is_empty() {
                empty_line = empty_line.or(at);
                continue;
            }
            if empty_line.is_some() {
                return Err(Error::content(
                    path,
                    empty_line,
                    "empty line between tokens; every line is one token, and its number is the token's id: \
                     write a token such as [unused0] there or remove the line",
                ));
            }
            vocab.push(token).map_err(|duplicate| {
                let problem = format!(
                    "token {token:?} stands twice (first on line {}); remove or rename one of the two",
                    duplicate.first + 1
                );
                Error::content(path, at, problem)
            })?;
        }
        Ok(vocab)
    }

    /// Writes a `vocab.txt`, atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        files::save(path, |out| self.tokens.iter().try_for_each(|token| writeln!(out, "{token}")))
    }

    pub(crate) fn push(&mut self, token: &str) -> Result<u32, Duplicate> {
        let id = self.tokens.len() as u32;
        let token: Arc<str> = token.into();
        match self.ids.entry(token.clone()) {
            Entry::Occupied(first) => Err(Duplicate { first: *first.get() }),
            Entry::Vacant(place) => {
                place.insert(id);
                self.tokens.push(token);
                Ok(id)
            }
        }
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is no token at all.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token with this id.
    pub fn token(&self, id: u32) -> Option<&str> {
        self.tokens.get(id as usize).map(|token| &**token)
    }

    /// The id of this token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    /// Whether it has letters with upper and lower case, but upper case alone: lower-cased text is strange to it. The
    /// tokens in brackets, `[CLS]` and the like, do not count.
    pub fn is_upper_case_only(&self) -> bool {
        let in_brackets = |token: &&str| token.starts_with('[') && token.ends_with(']');
        let mut letters = self.tokens().filter(|token| !in_brackets(token)).flat_map(str::chars);
        let mut upper = false;
        letters.all(|letter| {
            upper |= letter.is_uppercase();
            !letter.is_lowercase()
        }) && upper
    }

    /// A number that differs where two vocabularies differ: 64-bit FNV-1a over the tokens in order, each with a line end
    /// behind it, which is the usual `vocab.txt` byte for byte.
    ///
    /// ```
    /// use oxibert::text::Vocab;
    /// assert_eq!(Vocab::from_tokens([""; 0])?.fingerprint(), 0xcbf2_9ce4_8422_2325);
    /// assert_ne!(Vocab::from_tokens(["a", "bc"])?.fingerprint(), Vocab::from_tokens(["ab", "c"])?.fingerprint());
    /// # Ok::<(), oxibert::Error>(())
    /// ```
    pub fn fingerprint(&self) -> u64 {
        let bytes = self.tokens().flat_map(|token| token.bytes().chain([b'\n']));
        bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// All tokens, in the order of their ids.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tokens.iter().map(|token| &**token)
    }
}

fn parse_line(line: &[u8]) -> Result<&str, String> {
    let token = str::from_utf8(line).map_err(|error| {
        format!("not UTF-8 (byte {}); a vocab.txt is UTF-8 text, one token a line", error.valid_up_to() + 1)
    })?;
    Ok(token.trim_end_matches([' ', '\t', '\r']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Vocab> {
        Vocab::parse(text, Path::new("vocab.txt"))
    }

    fn refusal(text: &[u8]) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_line_is_a_token_and_its_number_the_id() {
        let vocab = parse(b"[PAD]\r\n[UNK] \nthe\n\n\n").unwrap();
        assert_eq!(vocab.tokens().collect::<Vec<_>>(), ["[PAD]", "[UNK]", "the"]);
        assert_eq!((vocab.id("the"), vocab.token(2), vocab.id("no")), (Some(2), Some("the"), None));
    }

    #[test]
    fn what_cannot_be_a_vocabulary_is_refused_with_its_line() {
        assert!(refusal(b"a\nb\na\n").starts_with("vocab.txt:3: token \"a\" stands twice (first on line 1)"));
        assert!(refusal(b"a\n\nb\n").starts_with("vocab.txt:2: empty line between tokens"));
        assert!(refusal(b"a\nb\xff\n").starts_with("vocab.txt:2: not UTF-8 (byte 2)"));
    }

    #[test]
    fn saved_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vocab.txt");
        let vocab = Vocab::from_tokens(["[UNK]", "好", "##ing"]).unwrap();
        vocab.save(&path).unwrap();
        assert_eq!(Vocab::load(&path).unwrap(), vocab);
    }
    #[test]
    fn upper_case_alone() {
        let only = |tokens: &[&str]| Vocab::from_tokens(tokens).unwrap().is_upper_case_only();
        assert!(only(&["[CLS]", "[unused1]", "A", "##B", "1", "好"]));
        assert!(!only(&["[CLS]", "A", "b"]));
        assert!(!only(&["[CLS]", "好", "1"]), "no letters that have a case");
    }
}
