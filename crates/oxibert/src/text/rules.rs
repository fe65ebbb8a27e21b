//! Which reference the tokenizer follows, and its switches: the table "Tokenizer" of BERT's recipe as types.

use serde::{Deserialize, Serialize};

/// The reference whose behaviour is reproduced where the two disagree.
///
/// | rule | [`Hf`](Compat::Hf) | [`Google`](Compat::Google) |
/// |---|---|---|
/// | longest word before `[UNK]` | 100 characters | 200 |
/// | white space | Unicode White_Space | Zs, Zl, Zp, tab, newline, carriage return |
/// | removed | categories Cc, Cf, Co | Cc, Cf |
/// | lower-casing | after accents are stripped, a character at a time | before, with the final sigma |
/// | special tokens inside text | recognised | split like other text |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compat {
    /// Hugging Face's `tokenizers`: how published checkpoints are used. The default.
    #[default]
    Hf,
    /// Google's original `tokenization.py`.
    Google,
}

impl Compat {
    /// The longest word, in characters, that is matched at all; a longer one is `[UNK]`.
    pub fn max_word_chars(self) -> usize {
        match self {
            Self::Hf => 100,
            Self::Google => 200,
        }
    }
}

/// How text becomes words, before words become pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The reference that is followed.
    pub compat: Compat,
    /// Upper case becomes lower case.
    pub lowercase: bool,
    /// Text is decomposed (NFD) and loses its non-spacing marks: é becomes e.
    pub strip_accents: bool,
    /// Control characters are removed.
    pub clean_text: bool,
    /// Each Chinese character is a word of its own.
    pub split_chinese: bool,
    /// The longest word, in characters, that is matched at all; a longer one is `[UNK]`.
    pub max_word_chars: usize,
}

impl Rules {
    /// The rules of the uncased and the Chinese BERT models.
    pub fn uncased(compat: Compat) -> Self {
        Self {
            compat,
            lowercase: true,
            strip_accents: true,
            clean_text: true,
            split_chinese: true,
            max_word_chars: compat.max_word_chars(),
        }
    }

    /// The rules of the cased BERT models.
    pub fn cased(compat: Compat) -> Self {
        Self { lowercase: false, strip_accents: false, ..Self::uncased(compat) }
    }
}
