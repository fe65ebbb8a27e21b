//! `tokenizer.json` in: what of it we heed, and which tokenizers are refused by name.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};

use super::parse;
use crate::text::vocab::{CONTINUATION, Vocab};
use crate::text::{AddedToken, Compat, Rules};
use crate::{Error, Result};

/// What we heed of `tokenizer.json`. What names its family is kept as it is until [`check_family`] has seen it.
#[derive(Debug, Deserialize)]
pub(super) struct TokenizerJson<'a> {
    #[serde(default)]
    pub(super) added_tokens: Vec<AddedToken>,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(borrow)]
    model: Model<'a>,
}

#[derive(Debug, Deserialize)]
struct Normalizer {
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

#[derive(Debug, Deserialize)]
struct Model<'a> {
    #[serde(default)]
    r#type: Value,
    #[serde(default)]
    unk_token: Value,
    #[serde(default)]
    continuing_subword_prefix: Value,
    #[serde(default = "hundred")]
    max_input_chars_per_word: usize,
    #[serde(borrow)]
    vocab: Ids<'a>,
}

fn hundred() -> usize {
    Compat::Hf.max_word_chars()
}

/// The tokens and their ids in the order of the file: a hash table of tens of thousands of strings, to be read once and
/// thrown away, would be a good part of a cold start.
#[derive(Debug)]
struct Ids<'a>(Vec<(Cow<'a, str>, u32)>);

impl<'de: 'a, 'a> Deserialize<'de> for Ids<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(Cow<'de, str>, u32)>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object of tokens and their ids")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some((Token(token), id)) = map.next_entry()? {
                    pairs.push((token, id));
                }
                Ok(pairs)
            }
        }
        from.deserialize_map(Pairs).map(Self)
    }
}

/// A string, borrowed from the file where it has no escapes in it.
#[derive(Deserialize)]
struct Token<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> TokenizerJson<'a> {
    pub(super) fn parse(bytes: &'a [u8], path: &Path) -> Result<Self> {
        let refuse = |problem| Error::content(path, None, problem);
        match serde_json::from_slice::<Self>(bytes) {
            Ok(file) => check_family(&file.family()).map(|()| file).map_err(refuse),
            // A file of another family may have another form; then its name says more than the first difference.
            Err(error) => {
                check_family(&parse(bytes, path)?).map_err(refuse)?;
                Err(Error::content(path, Some(error.line()), error.to_string()))
            }
        }
    }

    /// The file without its vocabulary.
    fn family(&self) -> Value {
        json!({
            "normalizer": self.normalizer,
            "pre_tokenizer": self.pre_tokenizer,
            "post_processor": self.post_processor,
            "model": {
                "type": self.model.r#type,
                "unk_token": self.model.unk_token,
                "continuing_subword_prefix": self.model.continuing_subword_prefix,
            },
        })
    }

    /// The tokens in the order of their ids, which must be 0, 1, 2, … without a gap.
    pub(super) fn vocab(&self) -> Result<Vocab, String> {
        let count = self.model.vocab.0.len();
        let mut tokens: Vec<Option<&str>> = vec![None; count];
        for (token, id) in &self.model.vocab.0 {
            let place = tokens.get_mut(*id as usize).ok_or_else(|| {
                format!(
                    "model.vocab: {token:?} has id {id}, but {count} tokens must have the ids 0 to {}",
                    count - 1
                )
            })?;
            if let Some(other) = place.replace(token) {
                return Err(format!(
                    "model.vocab: {token:?} and {other:?} share the id {id}; every id stands once"
                ));
            }
        }
        // Every id stands once and none is beyond the last: there is no gap.
        Vocab::from_tokens(tokens.iter().map(|token| token.unwrap_or_default()))
            .map_err(|error| error.to_string())
    }

    pub(super) fn rules(&self, compat: Option<Compat>) -> Result<Rules, String> {
        let compat = compat.unwrap_or_default();
        let longest = self.model.max_input_chars_per_word;
        let rules = Rules { max_word_chars: longest, ..Rules::cased(compat) };
        let normalizer: Option<Normalizer> =
            Option::deserialize(&self.normalizer).map_err(|error| format!("normalizer: {error}"))?;
        Ok(match normalizer {
            Some(normalizer) => Rules {
                lowercase: normalizer.lowercase,
                strip_accents: normalizer.strip_accents.unwrap_or(normalizer.lowercase),
                clean_text: normalizer.clean_text,
                split_chinese: normalizer.handle_chinese_chars,
                ..rules
            },
            None => Rules { clean_text: false, split_chinese: false, ..rules },
        })
    }
}

/// Refuses, by name, a tokenizer of another family.
fn check_family(file: &Value) -> Result<(), String> {
    let expect = |place: &str, found: &Value, expected: &[&str]| match found.as_str() {
        Some(name) if expected.contains(&name) => Ok(()),
        None if found.is_null() => Ok(()),
        _ => Err(format!(
            "{place} is {found}, expected {}: oxibert reads tokenizers of the BERT family (WordPiece)",
            expected.join(" or ")
        )),
    };
    if file["model"].is_null() {
        return Err(
            "no \"model\" in it; expected a tokenizer.json as Hugging Face's libraries write it".into()
        );
    }
    expect("model.type", &file["model"]["type"], &["WordPiece"])?;
    expect("model.unk_token", &file["model"]["unk_token"], &["[UNK]"])?;
    expect("model.continuing_subword_prefix", &file["model"]["continuing_subword_prefix"], &[CONTINUATION])?;
    expect("normalizer.type", &file["normalizer"]["type"], &["BertNormalizer"])?;
    expect("pre_tokenizer.type", &file["pre_tokenizer"]["type"], &["BertPreTokenizer"])?;
    expect(
        "post_processor.type",
        &file["post_processor"]["type"],
        &["TemplateProcessing", "BertProcessing"],
    )?;
    check_template(&file["post_processor"])
}

/// The special tokens around a text must be `[CLS]` before and `[SEP]` after it.
fn check_template(processor: &Value) -> Result<(), String> {
    let around = match processor["type"].as_str() {
        Some("TemplateProcessing") => {
            let single = processor["single"].as_array().map(Vec::as_slice).unwrap_or_default();
            single.iter().filter_map(|part| part["SpecialToken"]["id"].as_str()).collect()
        }
        Some(_) => {
            [&processor["cls"][0], &processor["sep"][0]].iter().filter_map(|token| token.as_str()).collect()
        }
        None => vec!["[CLS]", "[SEP]"],
    };
    if around == ["[CLS]", "[SEP]"] {
        return Ok(());
    }
    Err(format!("post_processor puts {around:?} around a text, expected [\"[CLS]\", \"[SEP]\"]"))
}
