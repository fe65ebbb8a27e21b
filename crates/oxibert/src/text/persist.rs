//! The tokenizer's files, as Hugging Face has them: `tokenizer.json`, `tokenizer_config.json`, `vocab.txt`.
//!
//! Unknown keys are accepted, because these files are others' too; a value that we cannot honour is refused
//! by its name. What we write, the `tokenizers` and `transformers` libraries load.

mod json;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::json::TokenizerJson;
use super::vocab::{CONTINUATION, Vocab};
use super::{Compat, Rules, SPECIAL_TOKENS, Tokenizer};
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
        Ok(Self::load_vocab(&vocab_path, rules)?.with_max_length(config.max_length()))
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
        let tokenizer = in_file(path, Self::with_added_tokens(vocab, rules, file.added_tokens))?;
        Ok(tokenizer.with_max_length(config.max_length()))
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
        });
        if let Some(longest) = self.max_length() {
            config[LONGEST_KEY] = longest.into();
        }
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

/// The model's longest sequence.
const LONGEST_KEY: &str = "model_max_length";

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
    #[serde(default)]
    model_max_length: Value,
    #[serde(rename = "oxibert_compat")]
    compat: Option<Compat>,
}

impl Config {
    fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        parse(bytes, path)
    }

    /// `transformers` writes 10^30 where it does not know.
    fn max_length(&self) -> Option<usize> {
        self.model_max_length.as_u64().filter(|&longest| longest < 1 << 32).map(|longest| longest as usize)
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
