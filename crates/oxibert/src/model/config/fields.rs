//! The keys of a `config.json`, one after the other.
//!
//! Unknown keys are accepted and kept, because the file is others' too; a value that we cannot honour is refused by its name.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Activation;
use crate::data::files;
use crate::{Error, Result};

/// Who reads which model.
const READERS: [(&str, &str); 3] = [
    ("bert", "a BERT, which `oxibert embed`, `fill` and `predict` read"),
    ("marian", "a Transformer, which `oxibert translate` reads"),
    ("gpt2", "a causal model, which `oxibert generate` reads"),
];

/// Longer JSON than this beside a checkpoint is not what it claims to be.
pub(super) const LONGEST: u64 = 16 << 20;

/// The keys not yet read.
pub(in crate::model) struct Fields {
    pub(in crate::model) keys: Map<String, Value>,
    /// What kind of model the file should be of, for messages.
    family: &'static str,
}

impl Fields {
    pub(in crate::model) fn new(keys: Map<String, Value>, family: &'static str) -> Self {
        Self { keys, family }
    }

    /// The value of `name`; a null is as good as none.
    pub(in crate::model) fn optional<T: DeserializeOwned>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, String> {
        match self.keys.shift_remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(found) => {
                let shown = short(&found);
                serde_json::from_value(found)
                    .map(Some)
                    .map_err(|_| format!("{name} is {shown}, expected {expected}"))
            }
        }
    }

    pub(in crate::model) fn size(&mut self, name: &str) -> Result<Option<usize>, String> {
        self.optional(name, "a whole number")
    }

    pub(in crate::model) fn required(&mut self, name: &str) -> Result<usize, String> {
        let family = self.family;
        let missing = || format!("{name} is missing; expected the config.json of a {family} model");
        self.size(name)?.ok_or_else(missing)
    }

    pub(in crate::model) fn number(&mut self, name: &str) -> Result<Option<f64>, String> {
        self.optional(name, "a number")
    }

    pub(in crate::model) fn flag(&mut self, name: &str) -> Result<Option<bool>, String> {
        self.optional(name, "true or false")
    }

    pub(in crate::model) fn token(&mut self, name: &str) -> Result<Option<u32>, String> {
        self.optional(name, "a token id")
    }

    pub(in crate::model) fn activation(&mut self, name: &str) -> Result<Option<Activation>, String> {
        let Some(found) = self.optional::<String>(name, "an activation's name")? else { return Ok(None) };
        let known = Activation::from_name(&found);
        let refuse = || {
            format!(
                "{name} is {}, expected one of {}",
                short(&found.as_str().into()),
                Activation::all_names()
            )
        };
        known.map(Some).ok_or_else(refuse)
    }

    /// Refuses, by name, a model of another family. A file need not say what it is.
    pub(in crate::model) fn model_type(&mut self, expected: &str, why: &str) -> Result<(), String> {
        match self.keys.shift_remove("model_type") {
            Some(found) if found != expected => Err(match READERS.iter().find(|(name, _)| found == *name) {
                Some((name, reader)) => format!("model_type is {name:?}, {reader}; expected {expected:?}"),
                None => format!("model_type is {}, expected {expected:?}: {why}", short(&found)),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses what we do not have, by its key; to say nothing of it, or no, asks for nothing.
    pub(in crate::model) fn without(&mut self, name: &str, why: &str) -> Result<(), String> {
        match self.keys.get(name) {
            None | Some(Value::Null | Value::Bool(false)) => Ok(()),
            Some(found) if found.as_f64() == Some(0.0) => Ok(()),
            Some(found) => Err(format!("{name} is {}: {why}", short(found))),
        }
    }
}

/// A configuration that is read from a file's keys by `read`, and checked; what is wrong is told of the file.
pub(in crate::model) fn configured<C>(
    fields: Fields,
    path: &Path,
    read: impl FnOnce(Fields) -> Result<C, String>,
    check: impl FnOnce(&C) -> Result<()>,
) -> Result<C> {
    let config = read(fields).map_err(|problem| Error::content(path, None, problem))?;
    check(&config).map(|()| config).map_err(|error| in_file(error, path))
}

/// The keys of a `config.json` on their way out.
pub(in crate::model) struct Keys(BTreeMap<String, Value>);

impl Keys {
    /// Over the keys that were not ours.
    pub(in crate::model) fn over(other: &Map<String, Value>) -> Self {
        let mut keys = Self(other.clone().into_iter().collect());
        // We write f32; `transformers` makes the model in the type that stands here.
        keys.set("torch_dtype", "float32");
        keys.0.remove("dtype");
        keys
    }

    pub(in crate::model) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(in crate::model) fn finish(self) -> BTreeMap<String, Value> {
        self.0
    }
}

/// Loads a JSON object of a sensible size.
pub(in crate::model) fn read_object(path: &Path) -> Result<Map<String, Value>> {
    let file = std::fs::File::open(path).map_err(|source| Error::read(path, source))?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|source| Error::read(path, source))?;
    if bytes.len() as u64 > LONGEST {
        let problem = format!("it is longer than {LONGEST} bytes; expected a short JSON object");
        return Err(Error::content(path, None, problem));
    }
    parse_object(&bytes, path)
}

pub(in crate::model) fn parse_object(bytes: &[u8], path: &Path) -> Result<Map<String, Value>> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::content(path, Some(error.line().max(1)), format!("expected a JSON object: {error}"))
    })
}

/// A setting that cannot work, told as a problem of the file that it stands in.
fn in_file(error: Error, path: &Path) -> Error {
    match error {
        Error::Setting { name, problem } => Error::content(path, None, format!("{name}: {problem}")),
        other => other,
    }
}

/// Writes a `config.json` atomically, its keys in order, as `transformers` does.
pub(in crate::model) fn save_object(path: &Path, keys: &BTreeMap<String, Value>) -> Result<()> {
    files::save(path, |out| {
        serde_json::to_writer_pretty(&mut *out, keys)?;
        writeln!(out)
    })
}

/// A value as a message shows it.
pub(in crate::model) fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain("…".chars()).collect() }
}
