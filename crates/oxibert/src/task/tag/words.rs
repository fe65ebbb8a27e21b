//! What is tagged, words or characters, and how raw text is cut into them.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::LazyLock;

use crate::data::labelled::TaggedExample;
use crate::text::{SPECIAL_TOKENS, Tokenizer, Vocab};
use crate::{Error, Result};

/// From this share of one-character words on, data are tagged by character. English has less than a tenth of them.
const CHARACTERS: f64 = 0.9;

/// What has a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Words, as in CoNLL's English data.
    #[default]
    Words,
    /// Every character, as in most Chinese data.
    Characters,
}

const NAMES: [(&str, Unit); 2] = [("words", Unit::Words), ("characters", Unit::Characters)];

impl FromStr for Unit {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        NAMES
            .iter()
            .find(|known| known.0 == name)
            .map(|known| known.1)
            .ok_or_else(|| Error::setting("unit", format!("{name:?} is not known; one of words, characters")))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|known| known.1 == *self).map_or("", |known| known.0);
        out.write_str(name)
    }
}

impl Unit {
    /// What these data tag: characters where nearly all words with letters are single ones.
    pub(super) fn of(examples: &[TaggedExample]) -> Self {
        let (mut words, mut single) = (0, 0);
        for example in examples {
            for word in example.words.iter().map(|word| &example.text[word.clone()]) {
                if word.chars().any(char::is_alphabetic) {
                    words += 1;
                    single += usize::from(word.chars().nth(1).is_none());
                }
            }
        }
        if words > 0 && single as f64 >= CHARACTERS * words as f64 { Self::Characters } else { Self::Words }
    }
}

/// The words of raw text.
#[derive(Debug)]
pub struct Words;

impl Words {
    /// The bytes of every word of `text`: every character that is no white space, or the words that BERT's own splitter
    /// sees, in which punctuation marks and Chinese characters stand alone.
    ///
    /// ```
    /// use oxibert::task::tag::{Unit, Words};
    ///
    /// let text = "Mr. Müller, 北京";
    /// let words: Vec<&str> = Words::of(text, Unit::Words).into_iter().map(|word| &text[word]).collect();
    /// assert_eq!(words, ["Mr", ".", "Müller", ",", "北", "京"]);
    /// ```
    pub fn of(text: &str, unit: Unit) -> Vec<Range<usize>> {
        /// It knows no word: each is one `[UNK]`, whose span is the word's.
        static SPLITTER: LazyLock<Tokenizer> = LazyLock::new(|| {
            let vocab = Vocab::from_tokens(SPECIAL_TOKENS).expect("five different tokens");
            Tokenizer::cased(vocab).expect("all that BERT needs")
        });
        match unit {
            Unit::Words => SPLITTER.encoder().pieces(text).spans.iter().map(|span| span.range()).collect(),
            Unit::Characters => {
                let visible = text.char_indices().filter(|(_, c)| !c.is_whitespace());
                visible.map(|(at, c)| at..at + c.len_utf8()).collect()
            }
        }
    }
}
