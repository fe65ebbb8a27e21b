//! The shape of a Transformer: what a Marian `config.json` says, checked.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::data::Batch;
use crate::model::config::{Activation, Fields, Keys, configured, parse_object, read_object, save_object};
use crate::model::config::{check_deviation, check_rates, check_sizes, preset_number};
use crate::model::pass::Rates;
use crate::text::SpecialIds;
use crate::{Error, Result};

/// The presets' names, small to large.
pub const PRESETS: [&str; 4] = ["tiny", "small", "base", "big"];

/// Layers of each side, model size, attention heads, dropout; the feed-forward size is always four times the model's. `base`
/// and `big` are the paper's (table 3); the smaller ones are for two cores and an hour.
const PRESET_SIZES: [(usize, usize, usize, f64); 4] =
    [(2, 128, 4, 0.1), (3, 256, 4, 0.1), (6, 512, 8, 0.1), (6, 1024, 16, 0.3)];

/// LayerNorm's epsilon, for which Marian has no key: PyTorch's default.
pub(super) const LAYER_NORM_EPS: f64 = 1e-5;

/// The shape and the constants of a Transformer, by the names that Hugging Face's Marian has for them.
///
/// The fields may be set freely; [`Config::check`] says what cannot work, and reading and writing call it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Tokens of the source, V; where the embeddings are shared, of both sides.
    pub vocab_size: usize,
    /// Tokens of the target.
    pub decoder_vocab_size: usize,
    /// Width of a token's vector, H.
    pub d_model: usize,
    /// Blocks of the encoder.
    pub encoder_layers: usize,
    /// Attention heads of the encoder.
    pub encoder_attention_heads: usize,
    /// Width inside the encoder's feed-forward layers.
    pub encoder_ffn_dim: usize,
    /// Blocks of the decoder.
    pub decoder_layers: usize,
    /// Attention heads of the decoder.
    pub decoder_attention_heads: usize,
    /// Width inside the decoder's feed-forward layers.
    pub decoder_ffn_dim: usize,
    /// The feed-forward layers' activation.
    pub activation_function: Activation,
    /// Dropout on embeddings and on what each sub-layer adds.
    pub dropout: f64,
    /// Dropout on attention weights.
    pub attention_dropout: f64,
    /// The longest sequence.
    pub max_position_embeddings: usize,
    /// Whether the tokens' rows are multiplied by sqrt(H).
    pub scale_embedding: bool,
    /// Whether source and target have one embedding.
    pub share_encoder_decoder_embeddings: bool,
    /// Whether the output projection is the target's embedding.
    pub tie_word_embeddings: bool,
    /// Whether LayerNorm stands before every sub-layer instead of behind it. `transformers` has no such Marian; the key is that
    /// of fairseq, and of mBART.
    pub normalize_before: bool,
    /// Standard deviation of initial weights.
    pub init_std: f64,
    /// The id of `[PAD]`.
    pub pad_token_id: u32,
    /// The id that ends a target: `[SEP]`.
    pub eos_token_id: u32,
    /// The id that a target begins with: `[CLS]`.
    pub decoder_start_token_id: u32,
    /// Every other key of the file, kept as it stood.
    pub other: Map<String, Value>,
}

impl Config {
    /// The preset `name` (one of [`PRESETS`]) for a vocabulary of `vocab_size` tokens that both sides share.
    ///
    /// ```
    /// use oxibert::model::transformer::Config;
    /// # let special = oxibert::text::SpecialIds { unk: 1, cls: 2, sep: 3, pad: Some(0), mask: Some(4) };
    /// let base = Config::preset("base", 37000, special)?;
    /// assert_eq!((base.encoder_layers, base.d_model, base.decoder_ffn_dim), (6, 512, 2048));
    /// # Ok::<(), oxibert::Error>(())
    /// ```
    pub fn preset(name: &str, vocab_size: usize, special: SpecialIds) -> Result<Self> {
        let (layers, d_model, heads, dropout) = PRESET_SIZES[preset_number(name, &PRESETS)?];
        let config = Self {
            vocab_size,
            decoder_vocab_size: vocab_size,
            d_model,
            encoder_layers: layers,
            encoder_attention_heads: heads,
            encoder_ffn_dim: 4 * d_model,
            decoder_layers: layers,
            decoder_attention_heads: heads,
            decoder_ffn_dim: 4 * d_model,
            activation_function: Activation::Relu,
            dropout,
            attention_dropout: 0.0,
            max_position_embeddings: 512,
            scale_embedding: true,
            share_encoder_decoder_embeddings: true,
            tie_word_embeddings: true,
            normalize_before: false,
            // The paper's code draws embeddings so, and square matrices (Xavier's rule).
            init_std: (d_model as f64).sqrt().recip(),
            pad_token_id: special.pad.unwrap_or(special.sep),
            eos_token_id: special.sep,
            decoder_start_token_id: special.cls,
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
        configured(Fields::new(object, "Marian"), path, read, Self::check)
    }

    /// Writes a `config.json` atomically, its keys in order, as `transformers` does.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.check()?;
        save_object(path, &self.to_json())
    }

    /// The keys and values of `config.json`.
    pub fn to_json(&self) -> BTreeMap<String, Value> {
        let mut keys = Keys::over(&self.other);
        keys.set("model_type", "marian");
        keys.set("architectures", vec!["MarianMTModel"]);
        keys.set("is_encoder_decoder", true);
        keys.set("vocab_size", self.vocab_size);
        keys.set("decoder_vocab_size", self.decoder_vocab_size);
        keys.set("d_model", self.d_model);
        keys.set("encoder_layers", self.encoder_layers);
        keys.set("encoder_attention_heads", self.encoder_attention_heads);
        keys.set("encoder_ffn_dim", self.encoder_ffn_dim);
        keys.set("decoder_layers", self.decoder_layers);
        keys.set("decoder_attention_heads", self.decoder_attention_heads);
        keys.set("decoder_ffn_dim", self.decoder_ffn_dim);
        keys.set("activation_function", self.activation_function.name());
        keys.set("dropout", self.dropout);
        keys.set("attention_dropout", self.attention_dropout);
        keys.set("max_position_embeddings", self.max_position_embeddings);
        keys.set("scale_embedding", self.scale_embedding);
        keys.set("share_encoder_decoder_embeddings", self.share_encoder_decoder_embeddings);
        keys.set("tie_word_embeddings", self.tie_word_embeddings);
        keys.set("normalize_before", self.normalize_before);
        keys.set("init_std", self.init_std);
        keys.set("pad_token_id", self.pad_token_id);
        keys.set("eos_token_id", self.eos_token_id);
        keys.set("forced_eos_token_id", self.eos_token_id);
        keys.set("bos_token_id", Value::Null);
        keys.set("decoder_start_token_id", self.decoder_start_token_id);
        keys.finish()
    }

    /// Refuses a batch that one side of the model cannot take: ids or positions beyond its tables, empty sequences.
    pub fn check_batch(&self, batch: &Batch, vocab_size: usize) -> Result<()> {
        batch.check_ids(vocab_size)?;
        batch.check_lengths(self.max_position_embeddings, "cut it into shorter ones")
    }

    /// Floating-point operations of a forward pass over a pair of these lengths, matrix products alone; a training step takes
    /// three times as many.
    pub fn flops(&self, source: usize, target: usize) -> u64 {
        let [h, n, m] = [self.d_model, target, source].map(|size| size as u64);
        let feed_forward = |inner: usize| 2 * h * inner as u64;
        // The four projections, and Q K^T and the weights times V.
        let encoder = m * (4 * h * h + feed_forward(self.encoder_ffn_dim) + 2 * m * h);
        // Keys and values over the source are the source's to compute; a causal query sees half of the target.
        let decoder =
            n * (6 * h * h + feed_forward(self.decoder_ffn_dim) + n * h + 2 * m * h) + m * 2 * h * h;
        let output = n * h * self.decoder_vocab_size as u64;
        2 * (encoder * self.encoder_layers as u64 + decoder * self.decoder_layers as u64 + output)
    }

    pub(crate) fn rates(&self) -> Rates {
        Rates { embeddings: self.dropout, hidden: self.dropout, attention: self.attention_dropout, head: 0.0 }
    }

    /// Refuses what cannot work: which field, what was expected, what was found.
    pub fn check(&self) -> Result<()> {
        self.check_sizes()?;
        check_deviation("init_std", self.init_std)?;
        check_rates(&[("dropout", self.dropout), ("attention_dropout", self.attention_dropout)])?;
        self.check_tokens()
    }

    fn check_sizes(&self) -> Result<()> {
        check_sizes(&[
            ("vocab_size", self.vocab_size, 1 << 24),
            ("decoder_vocab_size", self.decoder_vocab_size, 1 << 24),
            ("d_model", self.d_model, 1 << 16),
            ("encoder_layers", self.encoder_layers, 1 << 10),
            ("decoder_layers", self.decoder_layers, 1 << 10),
            ("encoder_attention_heads", self.encoder_attention_heads, 1 << 10),
            ("decoder_attention_heads", self.decoder_attention_heads, 1 << 10),
            ("encoder_ffn_dim", self.encoder_ffn_dim, 1 << 20),
            ("decoder_ffn_dim", self.decoder_ffn_dim, 1 << 20),
            ("max_position_embeddings", self.max_position_embeddings, 1 << 20),
        ])?;
        for heads in [self.encoder_attention_heads, self.decoder_attention_heads] {
            if !self.d_model.is_multiple_of(heads) {
                let problem =
                    format!("it is {}, expected a multiple of {heads} attention heads", self.d_model);
                return Err(Error::setting("d_model", problem));
            }
        }
        Ok(())
    }

    fn check_tokens(&self) -> Result<()> {
        let (source, target) = (self.vocab_size, self.decoder_vocab_size);
        if self.share_encoder_decoder_embeddings && source != target {
            let problem = format!("it is {target}, but vocab_size is {source} and the embeddings are shared");
            return Err(Error::setting("decoder_vocab_size", problem));
        }
        for (name, id, tokens) in [
            ("pad_token_id", self.pad_token_id, source.min(target)),
            ("eos_token_id", self.eos_token_id, target),
            ("decoder_start_token_id", self.decoder_start_token_id, target),
        ] {
            if id as usize >= tokens {
                let problem = format!("it is {id}, but there are {tokens} tokens; expected an id below that");
                return Err(Error::setting(name, problem));
            }
        }
        Ok(())
    }
}

/// Marian's defaults stand where a key is missing.
fn read(mut fields: Fields) -> Result<Config, String> {
    fields.model_type("marian", "oxibert reads Transformers in the form of MarianMTModel")?;
    for name in ["activation_dropout", "encoder_layerdrop", "decoder_layerdrop"] {
        fields.without(name, "expected 0; oxibert has no such dropout")?;
    }
    for name in ["normalize_embedding", "add_bias_logits"] {
        fields.without(name, "expected false; oxibert's Transformer has none")?;
    }
    let vocab_size = fields.required("vocab_size")?;
    let pad_token_id = fields.token("pad_token_id")?.ok_or("pad_token_id is missing; expected a token id")?;
    Ok(Config {
        vocab_size,
        decoder_vocab_size: fields.size("decoder_vocab_size")?.unwrap_or(vocab_size),
        d_model: fields.required("d_model")?,
        encoder_layers: fields.required("encoder_layers")?,
        encoder_attention_heads: fields.required("encoder_attention_heads")?,
        encoder_ffn_dim: fields.required("encoder_ffn_dim")?,
        decoder_layers: fields.required("decoder_layers")?,
        decoder_attention_heads: fields.required("decoder_attention_heads")?,
        decoder_ffn_dim: fields.required("decoder_ffn_dim")?,
        activation_function: fields.activation("activation_function")?.unwrap_or(Activation::Gelu),
        dropout: fields.number("dropout")?.unwrap_or(0.1),
        attention_dropout: fields.number("attention_dropout")?.unwrap_or(0.0),
        max_position_embeddings: fields.size("max_position_embeddings")?.unwrap_or(1024),
        scale_embedding: fields.flag("scale_embedding")?.unwrap_or(false),
        share_encoder_decoder_embeddings: fields.flag("share_encoder_decoder_embeddings")?.unwrap_or(true),
        tie_word_embeddings: fields.flag("tie_word_embeddings")?.unwrap_or(true),
        normalize_before: fields.flag("normalize_before")?.unwrap_or(false),
        init_std: fields.number("init_std")?.unwrap_or(0.02),
        pad_token_id,
        eos_token_id: fields.token("eos_token_id")?.unwrap_or(0),
        decoder_start_token_id: fields.token("decoder_start_token_id")?.unwrap_or(pad_token_id),
        other: fields.keys,
    })
}
