//! The shape of a causal model: what a GPT-2 `config.json` says, checked.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::model::config::{Activation, Fields, Keys, configured, parse_object, read_object, save_object};
use crate::model::config::{PRESET_SIZES, PRESETS, preset_number};
use crate::model::config::{check_deviation, check_epsilon, check_rates, check_sizes};
use crate::model::pass::Rates;
use crate::text::SpecialIds;
use crate::{Error, Result};

/// The shape and the constants of a causal model, by the names that Hugging Face's GPT-2 has for them.
///
/// The fields may be set freely; [`Config::check`] says what cannot work, and reading and writing call it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Tokens, V.
    pub vocab_size: usize,
    /// The longest sequence.
    pub n_positions: usize,
    /// Width of a token's vector, H.
    pub n_embd: usize,
    /// Blocks, L.
    pub n_layer: usize,
    /// Attention heads, A.
    pub n_head: usize,
    /// Width inside the feed-forward layer; absent: four times `n_embd`.
    pub n_inner: Option<usize>,
    /// The feed-forward layer's activation.
    pub activation_function: Activation,
    /// Dropout on what each sub-layer adds.
    pub resid_pdrop: f64,
    /// Dropout on embeddings.
    pub embd_pdrop: f64,
    /// Dropout on attention weights.
    pub attn_pdrop: f64,
    /// LayerNorm's epsilon.
    pub layer_norm_epsilon: f64,
    /// Standard deviation of initial weights.
    pub initializer_range: f64,
    /// Whether the output projection is the token embedding.
    pub tie_word_embeddings: bool,
    /// The id that a text begins with: `[CLS]`.
    pub bos_token_id: Option<u32>,
    /// The id that ends a text: `[SEP]`.
    pub eos_token_id: Option<u32>,
    /// Every other key of the file, kept as it stood.
    pub other: Map<String, Value>,
}

impl Config {
    /// The preset `name`, one of BERT's [`PRESETS`], of BERT's size: so that one direction can be
    /// compared with both.
    pub fn preset(name: &str, vocab_size: usize, special: SpecialIds) -> Result<Self> {
        let (n_layer, n_embd, n_head) = PRESET_SIZES[preset_number(name, &PRESETS)?];
        let config = Self {
            vocab_size,
            n_positions: 512,
            n_embd,
            n_layer,
            n_head,
            n_inner: None,
            activation_function: Activation::GeluTanh,
            resid_pdrop: 0.1,
            embd_pdrop: 0.1,
            attn_pdrop: 0.1,
            layer_norm_epsilon: 1e-5,
            initializer_range: 0.02,
            tie_word_embeddings: true,
            bos_token_id: Some(special.cls),
            eos_token_id: Some(special.sep),
            other: Map::new(),
        };
        config.check().map(|()| config)
    }

    /// Loads a `config.json`.
    pub fn load(path: &Path) -> Result<Self> {
        Self::from_object(read_object(path)?, path)
    }

    /// Reads the content of a `config.json`; `path` is for the messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        Self::from_object(parse_object(bytes, path)?, path)
    }

    fn from_object(object: Map<String, Value>, path: &Path) -> Result<Self> {
        configured(Fields::new(object, "GPT-2"), path, read, Self::check)
    }

    /// Writes a `config.json` atomically, its keys in order, as `transformers` does.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.check()?;
        save_object(path, &self.to_json())
    }

    /// The keys and values of `config.json`.
    pub fn to_json(&self) -> BTreeMap<String, Value> {
        let mut keys = Keys::over(&self.other);
        keys.set("model_type", "gpt2");
        keys.set("architectures", vec!["GPT2LMHeadModel"]);
        keys.set("vocab_size", self.vocab_size);
        keys.set("n_positions", self.n_positions);
        keys.set("n_embd", self.n_embd);
        keys.set("n_layer", self.n_layer);
        keys.set("n_head", self.n_head);
        keys.set("n_inner", self.n_inner);
        keys.set("activation_function", self.activation_function.name());
        keys.set("resid_pdrop", self.resid_pdrop);
        keys.set("embd_pdrop", self.embd_pdrop);
        keys.set("attn_pdrop", self.attn_pdrop);
        keys.set("layer_norm_epsilon", self.layer_norm_epsilon);
        keys.set("initializer_range", self.initializer_range);
        keys.set("tie_word_embeddings", self.tie_word_embeddings);
        keys.set("bos_token_id", self.bos_token_id);
        keys.set("eos_token_id", self.eos_token_id);
        keys.finish()
    }

    /// Width inside the feed-forward layers, I.
    pub fn inner(&self) -> usize {
        self.n_inner.unwrap_or(4 * self.n_embd)
    }

    /// Floating-point operations of a forward pass over a sequence, matrix products alone; a training step takes three times
    /// as many.
    pub fn flops(&self, length: usize) -> u64 {
        let [h, inner, n] = [self.n_embd, self.inner(), length].map(|size| size as u64);
        // A causal query sees half of the keys.
        let block = 4 * h * h + 2 * h * inner + n * h;
        2 * n * (block * self.n_layer as u64 + h * self.vocab_size as u64)
    }

    pub(crate) fn rates(&self) -> Rates {
        Rates { embeddings: self.embd_pdrop, hidden: self.resid_pdrop, attention: self.attn_pdrop, head: 0.0 }
    }

    /// Refuses what cannot work: which field, what was expected, what was found.
    pub fn check(&self) -> Result<()> {
        check_sizes(&[
            ("vocab_size", self.vocab_size, 1 << 24),
            ("n_positions", self.n_positions, 1 << 20),
            ("n_embd", self.n_embd, 1 << 16),
            ("n_layer", self.n_layer, 1 << 10),
            ("n_head", self.n_head, 1 << 10),
            ("n_inner", self.inner(), 1 << 20),
        ])?;
        if !self.n_embd.is_multiple_of(self.n_head) {
            let problem =
                format!("it is {}, expected a multiple of n_head, which is {}", self.n_embd, self.n_head);
            return Err(Error::setting("n_embd", problem));
        }
        check_epsilon("layer_norm_epsilon", self.layer_norm_epsilon)?;
        check_deviation("initializer_range", self.initializer_range)?;
        check_rates(&[
            ("resid_pdrop", self.resid_pdrop),
            ("embd_pdrop", self.embd_pdrop),
            ("attn_pdrop", self.attn_pdrop),
        ])?;
        for (name, id) in [("bos_token_id", self.bos_token_id), ("eos_token_id", self.eos_token_id)] {
            if let Some(id) = id.filter(|&id| id as usize >= self.vocab_size) {
                let problem =
                    format!("it is {id}, but vocab_size is {}; expected an id below that", self.vocab_size);
                return Err(Error::setting(name, problem));
            }
        }
        Ok(())
    }
}

/// GPT-2's defaults stand where a key is missing.
fn read(mut fields: Fields) -> Result<Config, String> {
    fields.model_type("gpt2", "oxibert reads causal models in the form of GPT2LMHeadModel")?;
    for name in ["scale_attn_by_inverse_layer_idx", "add_cross_attention"] {
        fields.without(name, "expected false; oxibert's causal model has no such attention")?;
    }
    if fields.flag("scale_attn_weights")? == Some(false) {
        return Err("scale_attn_weights is false, expected true".to_owned());
    }
    Ok(Config {
        vocab_size: fields.required("vocab_size")?,
        n_positions: fields.size("n_positions")?.unwrap_or(1024),
        n_embd: fields.required("n_embd")?,
        n_layer: fields.required("n_layer")?,
        n_head: fields.required("n_head")?,
        n_inner: fields.size("n_inner")?,
        activation_function: fields.activation("activation_function")?.unwrap_or(Activation::GeluTanh),
        resid_pdrop: fields.number("resid_pdrop")?.unwrap_or(0.1),
        embd_pdrop: fields.number("embd_pdrop")?.unwrap_or(0.1),
        attn_pdrop: fields.number("attn_pdrop")?.unwrap_or(0.1),
        layer_norm_epsilon: fields.number("layer_norm_epsilon")?.unwrap_or(1e-5),
        initializer_range: fields.number("initializer_range")?.unwrap_or(0.02),
        tie_word_embeddings: fields.flag("tie_word_embeddings")?.unwrap_or(true),
        bos_token_id: fields.token("bos_token_id")?,
        eos_token_id: fields.token("eos_token_id")?,
        other: fields.keys,
    })
}
