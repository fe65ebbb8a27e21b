//! A BERT's `config.json` in and out.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::fields::{Fields, Keys, configured, parse_object, read_object, save_object, short};
use super::{Activation, Config, Positions};
use crate::Result;

/// Our own keys, for what no other library has.
const HEAD_ACT: &str = "oxibert_head_act";
const POSITIONS: &str = "oxibert_position_embedding_type";

impl Config {
    /// Loads a `config.json`.
    pub fn load(path: &Path) -> Result<Self> {
        Self::from_object(read_object(path)?, path)
    }

    /// Reads the content of a `config.json`; `path` is for the messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        Self::from_object(parse_object(bytes, path)?, path)
    }

    fn from_object(object: Map<String, Value>, path: &Path) -> Result<Self> {
        configured(Fields::new(object, "BERT"), path, Fields::config, Self::check)
    }

    /// Writes a `config.json` atomically, its keys in order, as `transformers` does.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.check()?;
        save_object(path, &self.to_json())
    }

    /// The keys and values of `config.json`.
    pub fn to_json(&self) -> BTreeMap<String, Value> {
        let mut keys = Keys::over(&self.other);
        keys.set("model_type", "bert");
        keys.set("vocab_size", self.vocab_size);
        keys.set("hidden_size", self.hidden_size);
        keys.set("num_hidden_layers", self.num_hidden_layers);
        keys.set("num_attention_heads", self.num_attention_heads);
        keys.set("intermediate_size", self.intermediate_size);
        keys.set("hidden_act", self.hidden_act.name());
        keys.set("hidden_dropout_prob", self.hidden_dropout_prob);
        keys.set("attention_probs_dropout_prob", self.attention_probs_dropout_prob);
        keys.set("classifier_dropout", self.classifier_dropout);
        keys.set("max_position_embeddings", self.max_position_embeddings);
        keys.set("type_vocab_size", self.type_vocab_size);
        keys.set("position_embedding_type", "absolute");
        keys.set("initializer_range", self.initializer_range);
        keys.set("layer_norm_eps", self.layer_norm_eps);
        keys.set("pad_token_id", self.pad_token_id);
        keys.set("tie_word_embeddings", self.tie_word_embeddings);
        self.add_optional(&mut keys);
        keys.finish()
    }

    fn add_optional(&self, keys: &mut Keys) {
        if !self.architectures.is_empty() {
            keys.set("architectures", self.architectures.clone());
        }
        if self.head_act != self.hidden_act {
            keys.set(HEAD_ACT, self.head_act.name());
        }
        if self.position_embedding_type == Positions::Sinusoidal {
            keys.set(POSITIONS, "sinusoidal");
        }
        if let Some(kind) = &self.problem_type {
            keys.set("problem_type", kind.clone());
        }
        if !self.labels.is_empty() {
            let labels = || self.labels.iter().enumerate();
            let by_id: Map<_, _> =
                labels().map(|(id, label)| (id.to_string(), label.clone().into())).collect();
            let by_label: Map<_, _> = labels().map(|(id, label)| (label.clone(), id.into())).collect();
            keys.set("id2label", by_id);
            keys.set("label2id", by_label);
        }
    }
}

impl Fields {
    fn config(mut self) -> Result<Config, String> {
        self.check_family()?;
        let hidden_act = self.activation("hidden_act")?.unwrap_or(Activation::Gelu);
        let sizes = [self.required("vocab_size")?, self.required("hidden_size")?];
        let base = Config::with_sizes(sizes[0], sizes[1], self.required("intermediate_size")?);
        Ok(Config {
            architectures: self.optional("architectures", "a list of names")?.unwrap_or_default(),
            num_hidden_layers: self.required("num_hidden_layers")?,
            num_attention_heads: self.required("num_attention_heads")?,
            hidden_act,
            head_act: self.activation(HEAD_ACT)?.unwrap_or(hidden_act),
            hidden_dropout_prob: self.number("hidden_dropout_prob")?.unwrap_or(base.hidden_dropout_prob),
            attention_probs_dropout_prob: self
                .number("attention_probs_dropout_prob")?
                .unwrap_or(base.attention_probs_dropout_prob),
            classifier_dropout: self.number("classifier_dropout")?,
            max_position_embeddings: self
                .size("max_position_embeddings")?
                .unwrap_or(base.max_position_embeddings),
            type_vocab_size: self.size("type_vocab_size")?.unwrap_or(base.type_vocab_size),
            position_embedding_type: self.positions()?,
            initializer_range: self.number("initializer_range")?.unwrap_or(base.initializer_range),
            layer_norm_eps: self.number("layer_norm_eps")?.unwrap_or(base.layer_norm_eps),
            pad_token_id: self.pad()?,
            tie_word_embeddings: self.flag("tie_word_embeddings")?.unwrap_or(true),
            labels: self.labels()?,
            problem_type: self.optional("problem_type", "a name")?,
            other: self.keys,
            ..base
        })
    }

    /// Refuses, by name, a model of another family. The first BERT configs had no `model_type`.
    fn check_family(&mut self) -> Result<(), String> {
        self.model_type("bert", "oxibert reads BERT models")?;
        for name in ["is_decoder", "add_cross_attention"] {
            if self.keys.get(name) == Some(&Value::Bool(true)) {
                return Err(format!("{name} is true, expected false: oxibert reads BERT encoders"));
            }
        }
        Ok(())
    }

    fn positions(&mut self) -> Result<Positions, String> {
        let theirs = self.optional::<String>("position_embedding_type", "a name")?;
        let ours = self.optional::<String>(POSITIONS, "a name")?;
        match ours.or(theirs).as_deref() {
            None | Some("absolute") => Ok(Positions::Absolute),
            Some("sinusoidal") => Ok(Positions::Sinusoidal),
            Some(found) => Err(format!(
                "position_embedding_type is {}, expected absolute or sinusoidal",
                short(&found.into())
            )),
        }
    }

    /// Without a word on it the padding is 0; an explicit null means that there is none.
    fn pad(&mut self) -> Result<Option<u32>, String> {
        if self.keys.contains_key("pad_token_id") { self.token("pad_token_id") } else { Ok(Some(0)) }
    }

    /// The labels in the order of their ids, which must be 0, 1, 2, … without a gap.
    fn labels(&mut self) -> Result<Vec<String>, String> {
        let Some(map) = self.optional::<Map<String, Value>>("id2label", "an object of labels")? else {
            return Ok(Vec::new());
        };
        self.keys.shift_remove("label2id");
        let label = |id: usize| match map.get(&id.to_string()) {
            Some(Value::String(label)) => Ok(label.clone()),
            Some(Value::Number(label)) => Ok(label.to_string()),
            Some(found) => Err(format!("id2label: {id} has the label {}, expected a name", short(found))),
            None => Err(format!(
                "id2label: no label for {id}; expected {} labels with the ids 0 to {}",
                map.len(),
                map.len() - 1
            )),
        };
        (0..map.len()).map(label).collect()
    }
}

#[cfg(test)]
mod tests;
