//! How a checkpoint directory wants to be used, where it says so in the files of sentence-transformers.
//!
//! | file | what is taken from it |
//! |---|---|
//! | `modules.json` | where the pooling is described, and whether vectors are normalized |
//! | `1_Pooling/config.json` | the pooling |
//! | `sentence_bert_config.json` | the longest sequence |
//!
//! These are others' files: unknown keys are accepted, and what would change the vectors and we do not have is refused
//! by name.

use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Pooling;
use crate::{Error, Result};

/// What a directory says; nothing where it says nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    pub(super) pooling: Option<Pooling>,
    pub(super) normalize: bool,
    pub(super) max_length: Option<usize>,
    /// Text is lower-cased before the tokenizer sees it.
    pub(super) lowercase: bool,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    path: String,
    r#type: String,
}

#[derive(Deserialize)]
struct Lengths {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

/// The file that says which other files there are.
pub const MODULES_FILE: &str = "modules.json";
const LENGTHS_FILE: &str = "sentence_bert_config.json";

/// The files, below `directory`, that say how the checkpoint in it wants to be used, whether they are there or not: whoever
/// copies the checkpoint copies them too.
pub fn use_files(directory: &Path) -> Result<Vec<String>> {
    let modules = modules(directory)?;
    Ok(vec![MODULES_FILE.to_owned(), LENGTHS_FILE.to_owned(), pooling_file(&modules)])
}

fn modules(directory: &Path) -> Result<Vec<Module>> {
    let path = directory.join(MODULES_FILE);
    let modules: Vec<Module> = json(&path)?.unwrap_or_default();
    let leads_out = |module: &&Module| Path::new(&module.path).components().any(|part| !is_plain(part));
    match modules.iter().find(leads_out) {
        Some(Module { path: out, .. }) => {
            Err(Error::content(&path, None, format!("path {out:?} leads out of the directory")))
        }
        None => Ok(modules),
    }
}

fn is_plain(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}

impl Module {
    /// `Pooling` of `sentence_transformers.models.Pooling`.
    fn kind(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }
}

fn pooling_file(modules: &[Module]) -> String {
    let named = modules.iter().rfind(|module| module.kind() == "Pooling");
    match named.map_or("1_Pooling", |module| &module.path) {
        "" => "config.json".to_owned(),
        path => format!("{path}/config.json"),
    }
}

/// The files of `directory`.
pub(super) fn read(directory: &Path) -> Result<Wishes> {
    let mut wishes = Wishes::default();
    let modules = modules(directory)?;
    for module in &modules {
        match module.kind() {
            "Transformer" | "Pooling" => {}
            "Normalize" => wishes.normalize = true,
            _ => return Err(unknown_module(&directory.join(MODULES_FILE), &module.r#type)),
        }
    }
    let pooling_path = directory.join(pooling_file(&modules));
    if let Some(config) = json::<Map<String, Value>>(&pooling_path)? {
        wishes.pooling = Some(pooling_of(&config).map_err(|p| Error::content(&pooling_path, None, p))?);
    }
    if let Some(lengths) = json::<Lengths>(&directory.join(LENGTHS_FILE))? {
        wishes.max_length = lengths.max_seq_length;
        wishes.lowercase = lengths.do_lower_case;
    }
    Ok(wishes)
}

fn unknown_module(path: &Path, kind: &str) -> Error {
    let problem = format!(
        "module {kind:?} is not supported, expected Transformer, Pooling and Normalize only; \
         for the vectors of the BERT inside, take a copy of the directory without this file"
    );
    Error::content(path, None, problem)
}

/// A small file; `None` where there is none.
fn json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::read(path, error)),
    };
    let refuse =
        |error: serde_json::Error| Error::content(path, Some(error.line().max(1)), error.to_string());
    serde_json::from_slice(&bytes).map(Some).map_err(refuse)
}

/// `{"pooling_mode": "mean"}`, or `{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false, …}`.
fn pooling_of(config: &Map<String, Value>) -> Result<Pooling, String> {
    if let Some(mode) = config.get("pooling_mode").and_then(Value::as_str) {
        return by_name(mode);
    }
    let chosen = config.iter().filter(|(_, value)| **value == Value::Bool(true));
    let modes: Vec<&str> = chosen.filter_map(|(key, _)| key.strip_prefix("pooling_mode_")).collect();
    match modes[..] {
        [] => Ok(Pooling::default()),
        [mode] => by_name(mode.split('_').next().filter(|_| mode != "mean_sqrt_len_tokens").unwrap_or(mode)),
        _ => Err(format!("several poolings ({}), expected one: name one with --pooling", modes.join(", "))),
    }
}

fn by_name(mode: &str) -> Result<Pooling, String> {
    match mode {
        "mean" => Ok(Pooling::Mean),
        "cls" => Ok(Pooling::Cls),
        "max" => Ok(Pooling::Max),
        _ => Err(format!("pooling {mode:?} is not supported, expected mean, cls or max")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_files(files: &[(&str, &str)]) -> Result<Wishes> {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        read(directory.path())
    }

    #[test]
    fn what_a_directory_says_is_taken() {
        assert_eq!(read_files(&[]).unwrap(), Wishes::default());
        let modules = r#"[
            {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "path": "pool", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#;
        let pooling = r#"{"word_embedding_dimension": 8, "pooling_mode_cls_token": true,
            "pooling_mode_mean_tokens": false, "include_prompt": true}"#;
        let lengths = r#"{"max_seq_length": 128, "do_lower_case": false}"#;
        let files = [
            ("modules.json", modules),
            ("pool/config.json", pooling),
            ("sentence_bert_config.json", lengths),
        ];
        let wishes =
            Wishes { pooling: Some(Pooling::Cls), normalize: true, max_length: Some(128), lowercase: false };
        assert_eq!(read_files(&files).unwrap(), wishes);
        let alone = read_files(&[("1_Pooling/config.json", r#"{"pooling_mode": "max"}"#)]).unwrap();
        assert_eq!((alone.pooling, alone.normalize), (Some(Pooling::Max), false));
    }

    #[test]
    fn what_we_do_not_have_is_refused_by_name() {
        let refusal = |name, content| read_files(&[(name, content)]).unwrap_err().to_string();
        let pooling = |content| refusal("1_Pooling/config.json", content);
        assert!(pooling(r#"{"pooling_mode_mean_sqrt_len_tokens": true}"#).contains("mean_sqrt_len_tokens"));
        assert!(pooling(r#"{"pooling_mode_lasttoken": true}"#).contains("lasttoken"));
        let both = pooling(r#"{"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}"#);
        assert!(both.contains("mean_tokens, max_tokens"), "{both}");
        assert!(pooling("[").contains("1_Pooling/config.json:1"));
        let dense =
            refusal("modules.json", r#"[{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]"#);
        assert!(dense.contains("models.Dense"), "{dense}");
    }
    #[test]
    fn a_module_does_not_lead_out_of_the_directory() {
        for path in ["../other", "/etc"] {
            let modules =
                format!(r#"[{{"path": "{path}", "type": "sentence_transformers.models.Pooling"}}]"#);
            let refusal = read_files(&[("modules.json", &modules)]).unwrap_err().to_string();
            assert!(refusal.contains("leads out of the directory"), "{refusal}");
        }
    }
}
