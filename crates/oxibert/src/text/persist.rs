//! The tokenizer's files, as Hugging Face has them: `tokenizer.json`, `tokenizer_config.json`, `vocab.txt`.
//!
//! Unknown keys are accepted, because these files are others' too; a value that we cannot honour is refused
//! by its name. What we write, the `tokenizers` and `transformers` libraries load.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::vocab::{CONTINUATION, Vocab};
use super::{AddedToken, Compat, Rules, SPECIAL_TOKENS, Tokenizer};
use crate::data::files;
use crate::{Error, Result};

/// The tokenizer's files in a checkpoint directory.
pub const TOKENIZER_FILES: [&str; 3] = [TOKENIZER_JSON, CONFIG_JSON, VOCAB_TXT];
const TOKENIZER_JSON: &str = "tokenizer.json";
const CONFIG_JSON: &str = "tokenizer_config.json";
const VOCAB_TXT: &str = "vocab.txt";

impl Tokenizer {
    /// Loads the tokenizer of a checkpoint directory.
    ///
    /// `tokenizer.json` comes first, `vocab.txt` stands in for it; the switches of
    /// `tokenizer_config.json` (`do_lower_case`, `strip_accents`, `tokenize_chinese_chars`) win over those of
    /// `tokenizer.json`, as in `transformers`.
    pub fn load(directory: &Path) -> Result<Self> {
        let config_path = directory.join(CONFIG_JSON);
        let config = if config_path.exists() {
            Config::parse(&read(&config_path)?, &config_path)?
        } else {
            Config::default()
        };
        let json_path = directory.join(TOKENIZER_JSON);
        if json_path.exists() {
            return Self::load_json(&json_path, &config);
        }
        let vocab_path = directory.join(VOCAB_TXT);
        if !vocab_path.exists() {
            let problem =
                "no tokenizer.json and no vocab.txt in it; expected a checkpoint directory with one of them";
            return Err(Error::content(directory, None, problem));
        }
        let rules = config.rules(Rules::uncased(config.compat.unwrap_or_default()));
        Self::load_vocab(&vocab_path, rules)
    }

    /// Loads a `vocab.txt` under these rules.
    pub fn load_vocab(path: &Path, rules: Rules) -> Result<Self> {
        in_file(path, Self::new(Vocab::load(path)?, rules))
    }

    /// Reads the content of a `tokenizer.json`; `path` is for the messages.
    pub fn parse_json(bytes: &[u8], path: &Path) -> Result<Self> {
        Self::from_json(bytes, path, &Config::default())
    }

    fn load_json(path: &Path, config: &Config) -> Result<Self> {
        Self::from_json(&read(path)?, path, config)
    }

    fn from_json(bytes: &[u8], path: &Path, config: &Config) -> Result<Self> {
        let file = TokenizerJson::parse(bytes, path)?;
        let refuse = |problem| Error::content(path, None, problem);
        let vocab = file.vocab().map_err(refuse)?;
        let rules = config.rules(file.rules(config.compat).map_err(refuse)?);
        in_file(path, Self::with_added_tokens(vocab, rules, file.added_tokens))
    }

    /// Writes the three files into `directory`, each atomically.
    pub fn save(&self, directory: &Path) -> Result<()> {
        let json = |value: Value| {
            move |out: &mut dyn std::io::Write| {
                serde_json::to_writer_pretty(&mut *out, &value)?;
                writeln!(out)
            }
        };
        files::save(&directory.join(TOKENIZER_JSON), json(self.to_json()))?;
        files::save(&directory.join(CONFIG_JSON), json(self.config_json()))?;
        files::save(&directory.join(VOCAB_TXT), |out| {
            self.pieces().try_for_each(|token| writeln!(out, "{token}"))
        })
    }

    /// The content of `tokenizer.json`.
    fn to_json(&self) -> Value {
        let rules = self.rules();
        let vocab: Map<String, Value> =
            self.pieces().map(str::to_owned).zip((0..).map(|id: u32| id.into())).collect();
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.added_tokens(),
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": rules.clean_text,
                "handle_chinese_chars": rules.split_chinese,
                "strip_accents": strip_accents(rules),
                "lowercase": rules.lowercase,
            },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "post_processor": self.template(),
            "decoder": { "type": "WordPiece", "prefix": CONTINUATION, "cleanup": true },
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": CONTINUATION,
                "max_input_chars_per_word": rules.max_word_chars,
                "vocab": vocab,
            },
        })
    }

    /// `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`.
    fn template(&self) -> Value {
        let special =
            |token: &str, segment: u8| json!({ "SpecialToken": { "id": token, "type_id": segment } });
        let text = |name: &str, segment: u8| json!({ "Sequence": { "id": name, "type_id": segment } });
        let entry = |token: &str, id: u32| json!({ "id": token, "ids": [id], "tokens": [token] });
        let single = vec![special("[CLS]", 0), text("A", 0), special("[SEP]", 0)];
        let pair = [single.clone(), vec![text("B", 1), special("[SEP]", 1)]].concat();
        let ids = self.special();
        json!({
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": { "[CLS]": entry("[CLS]", ids.cls), "[SEP]": entry("[SEP]", ids.sep) },
        })
    }

    /// The content of `tokenizer_config.json`.
    fn config_json(&self) -> Value {
        let rules = self.rules();
        let mut config = json!({
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": rules.lowercase,
            "strip_accents": strip_accents(rules),
            "tokenize_chinese_chars": rules.split_chinese,
            "model_max_length": 512,
        });
        for (key, token) in
            ["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"].iter().zip(SPECIAL_TOKENS)
        {
            if self.vocab().id(token).is_some() {
                config[key] = token.into();
            }
        }
        if rules.compat == Compat::Google {
            config[COMPAT_KEY] = "google".into();
        }
        config
    }
}

/// Our own key in `tokenizer_config.json`: no other library has Google's mode.
const COMPAT_KEY: &str = "oxibert_compat";

/// Null means "as lower-casing says", which is how nearly every checkpoint has it.
fn strip_accents(rules: &Rules) -> Option<bool> {
    (rules.strip_accents != rules.lowercase).then_some(rules.strip_accents)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| Error::read(path, source))
}

/// Names the file in what a constructor refused.
fn in_file<T>(path: &Path, result: Result<T>) -> Result<T> {
    result.map_err(|error| match error {
        Error::Setting { name, problem } => Error::content(path, None, format!("{name}: {problem}")),
        other => other,
    })
}

fn parse<T: for<'de> Deserialize<'de>>(bytes: &[u8], path: &Path) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::content(path, Some(error.line()), error.to_string()))
}

/// What we heed of `tokenizer_config.json`.
#[derive(Debug, Default, Deserialize)]
struct Config {
    do_lower_case: Option<bool>,
    strip_accents: Option<bool>,
    tokenize_chinese_chars: Option<bool>,
    #[serde(rename = "oxibert_compat")]
    compat: Option<Compat>,
}

impl Config {
    fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        parse(bytes, path)
    }

    fn rules(&self, rules: Rules) -> Rules {
        let lowercase = self.do_lower_case.unwrap_or(rules.lowercase);
        // Without a word on accents they follow the case, where the case is what the config changes.
        let accents = if lowercase == rules.lowercase { rules.strip_accents } else { lowercase };
        Rules {
            lowercase,
            strip_accents: self.strip_accents.unwrap_or(accents),
            split_chinese: self.tokenize_chinese_chars.unwrap_or(rules.split_chinese),
            ..rules
        }
    }
}

/// What we heed of `tokenizer.json`. What names its family is kept as it is until [`check_family`] has seen it.
#[derive(Debug, Deserialize)]
struct TokenizerJson<'a> {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
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
    fn parse(bytes: &'a [u8], path: &Path) -> Result<Self> {
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
    fn vocab(&self) -> Result<Vocab, String> {
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

    fn rules(&self, compat: Option<Compat>) -> Result<Rules, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: [&str; 9] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "É", "好"];

    fn tokenizer(rules: Rules) -> Tokenizer {
        Tokenizer::new(Vocab::from_tokens(TOKENS).unwrap(), rules).unwrap()
    }

    fn refusal(change: impl FnOnce(&mut Value)) -> String {
        let mut file = tokenizer(Rules::uncased(Compat::Hf)).to_json();
        change(&mut file);
        let bytes = serde_json::to_vec(&file).unwrap();
        Tokenizer::parse_json(&bytes, Path::new("tokenizer.json")).unwrap_err().to_string()
    }

    #[test]
    fn saved_is_loaded_with_all_rules() {
        let uncased = Rules::uncased(Compat::Hf);
        for rules in [
            uncased,
            Rules::cased(Compat::Hf),
            Rules::uncased(Compat::Google),
            Rules { strip_accents: false, split_chinese: false, ..uncased },
            Rules { lowercase: false, ..uncased },
        ] {
            let directory = tempfile::tempdir().unwrap();
            tokenizer(rules).save(directory.path()).unwrap();
            assert_eq!(Tokenizer::load(directory.path()).unwrap().rules(), &rules);
            std::fs::remove_file(directory.path().join(TOKENIZER_JSON)).unwrap();
            let loaded = Tokenizer::load(directory.path()).unwrap();
            assert_eq!((loaded.rules(), loaded.vocab().len()), (&rules, TOKENS.len()));
        }
    }

    #[test]
    fn hugging_face_loads_what_we_save() {
        let directory = tempfile::tempdir().unwrap();
        let ours = tokenizer(Rules::uncased(Compat::Hf));
        ours.save(directory.path()).unwrap();
        let theirs = tokenizers::Tokenizer::from_file(directory.path().join(TOKENIZER_JSON)).unwrap();
        let (first, second) = ("Unaff [MASK]", "好 x");
        let expected = theirs.encode((first, second), true).unwrap();
        let found = ours.encode_pair(first, second);
        assert_eq!(found.ids, expected.get_ids());
        assert_eq!(
            found.segments.iter().map(|&segment| segment.into()).collect::<Vec<u32>>(),
            expected.get_type_ids()
        );
        assert_eq!(ours.decode(&found.ids), theirs.decode(&found.ids, true).unwrap());
    }

    #[test]
    fn we_load_what_hugging_face_saves() {
        let ours = tokenizer(Rules::cased(Compat::Hf));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(TOKENIZER_JSON);
        ours.save(directory.path()).unwrap();
        let mut theirs = tokenizers::Tokenizer::from_file(&path).unwrap();
        theirs.add_tokens([tokenizers::AddedToken::from("wordhoard", false)]).unwrap();
        theirs.save(&path, true).unwrap();
        let loaded = Tokenizer::load(directory.path()).unwrap();
        let text = "un WORDHOARD wordhoard [SEP]";
        assert_eq!(loaded.encode(text).ids, theirs.encode(text, true).unwrap().get_ids());
        assert_eq!(loaded.vocab().id("wordhoard"), Some(TOKENS.len() as u32));
    }

    #[test]
    fn other_families_are_refused_by_name() {
        assert!(
            refusal(|file| file["model"]["type"] = "BPE".into())
                .starts_with("tokenizer.json: model.type is \"BPE\", expected WordPiece")
        );
        assert!(refusal(|file| file["normalizer"]["type"] = "Sequence".into()).contains("normalizer.type"));
        assert!(
            refusal(|file| file["pre_tokenizer"]["type"] = "Whitespace".into())
                .contains("pre_tokenizer.type")
        );
        assert!(
            refusal(|file| file["post_processor"]["single"][0]["SpecialToken"]["id"] = "<s>".into())
                .contains("<s>")
        );
        assert!(refusal(|file| *file = json!({})).contains("no \"model\""));
    }

    #[test]
    fn ids_must_be_whole() {
        assert!(refusal(|file| file["model"]["vocab"]["un"] = 99.into()).contains("has id 99"));
        assert!(refusal(|file| file["model"]["vocab"]["un"] = 6.into()).contains("share the id 6"));
        assert!(refusal(|file| file["added_tokens"][0]["content"] = "[NEW]".into()).contains("added tokens"));
    }

    #[test]
    fn a_directory_without_a_tokenizer_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let problem = Tokenizer::load(directory.path()).unwrap_err().to_string();
        assert!(problem.contains("no tokenizer.json and no vocab.txt"), "{problem}");
    }
}
