//! The shape of a BERT: what `config.json` says, checked.
//!
//! The fields are Hugging Face's, so that a reader of `config.json` finds them here. The sizes of the paper
//! (section 3, "Model Architecture") and of the smaller releases come as presets.

mod fields;
mod json;

use serde_json::{Map, Value};

pub(super) use fields::{Fields, Keys, configured, parse_object, read_object, save_object};

use super::names::{self, Parts};
use crate::data::{Batch, Targets};
use crate::{Error, Result};

/// The presets' names, small to large.
pub const PRESETS: [&str; 6] = ["tiny", "mini", "small", "medium", "base", "large"];

/// Layers, hidden size, attention heads; the feed-forward size is always four times the hidden size.
pub(super) const PRESET_SIZES: [(usize, usize, usize); 6] =
    [(2, 128, 2), (4, 256, 4), (4, 512, 8), (8, 512, 8), (12, 768, 12), (24, 1024, 16)];

/// The shape and the constants of a BERT, by Hugging Face's names.
///
/// The fields may be set freely; [`Config::check`] says what cannot work, and reading and writing call it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The classes that `transformers` builds from this, such as `BertForPreTraining`.
    pub architectures: Vec<String>,
    /// Tokens, V.
    pub vocab_size: usize,
    /// Width of a token's vector, H.
    pub hidden_size: usize,
    /// Encoder blocks, L.
    pub num_hidden_layers: usize,
    /// Attention heads, A.
    pub num_attention_heads: usize,
    /// Width inside the feed-forward layer, I.
    pub intermediate_size: usize,
    /// The feed-forward layer's activation.
    pub hidden_act: Activation,
    /// The MLM head's activation, which `transformers` has no key for: there it is always `hidden_act`.
    /// Ours is `oxibert_head_act`, written where the two differ.
    pub head_act: Activation,
    /// Dropout on embeddings and on what each sub-layer adds.
    pub hidden_dropout_prob: f64,
    /// Dropout on attention weights.
    pub attention_probs_dropout_prob: f64,
    /// Dropout before a task's head; `hidden_dropout_prob` where it is absent.
    pub classifier_dropout: Option<f64>,
    /// The longest sequence.
    pub max_position_embeddings: usize,
    /// Segments.
    pub type_vocab_size: usize,
    /// Where a token's position comes from.
    pub position_embedding_type: Positions,
    /// Standard deviation of initial weights.
    pub initializer_range: f64,
    /// LayerNorm's epsilon.
    pub layer_norm_eps: f64,
    /// The id of `[PAD]`, where there is one.
    pub pad_token_id: Option<u32>,
    /// Whether the MLM head's decoder is the token embedding.
    pub tie_word_embeddings: bool,
    /// A task's labels in the order of their ids (`id2label` and `label2id` in the file); empty without a task.
    pub labels: Vec<String>,
    /// A classifier's kind: `regression`, `single_label_classification` or `multi_label_classification`.
    pub problem_type: Option<String>,
    /// Every other key of the file, kept as it stood.
    pub other: Map<String, Value>,
}

/// The non-linear functions that a checkpoint may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `x Φ(x)` by the error function: `gelu`, also called `gelu_python`.
    Gelu,
    /// The same approximated by tanh: `gelu_new`, also called `gelu_pytorch_tanh`, `gelu_fast`, `gelu_accurate`.
    GeluTanh,
    /// `max(x, 0)`: `relu`.
    Relu,
    /// `tanh`.
    Tanh,
}

impl From<Activation> for oxibert_kernels::Activation {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::Gelu => Self::Gelu,
            Activation::GeluTanh => Self::GeluTanh,
            Activation::Relu => Self::Relu,
            Activation::Tanh => Self::Tanh,
        }
    }
}

/// Where a token's position comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Positions {
    /// A learned table, `absolute` in the file: BERT's way.
    Absolute,
    /// The Transformer's sinusoids. `transformers` has no such BERT, so the file says `absolute`, holds the
    /// table as a tensor, and our own key `oxibert_position_embedding_type` says `sinusoidal`.
    Sinusoidal,
}

impl Config {
    /// The preset `name` (one of [`PRESETS`]) for a vocabulary of `vocab_size` tokens.
    ///
    /// ```
    /// let base = oxibert::model::Config::preset("base", 30522)?;
    /// assert_eq!((base.num_hidden_layers, base.hidden_size), (12, 768));
    /// # Ok::<(), oxibert::Error>(())
    /// ```
    pub fn preset(name: &str, vocab_size: usize) -> Result<Self> {
        let (layers, hidden, heads) = PRESET_SIZES[preset_number(name, &PRESETS)?];
        let config = Self {
            architectures: vec!["BertForPreTraining".to_owned()],
            num_hidden_layers: layers,
            num_attention_heads: heads,
            ..Self::with_sizes(vocab_size, hidden, 4 * hidden)
        };
        config.check().map(|()| config)
    }

    /// Refuses a batch that the model cannot take: ids, segments or positions beyond its tables, empty sequences.
    pub fn check_batch(&self, batch: &Batch) -> Result<()> {
        batch.check_ids(self.vocab_size)?;
        if let Some(segment) =
            batch.segments.iter().find(|&&segment| segment as usize >= self.type_vocab_size)
        {
            let problem = format!(
                "segment {segment}, but the model has {} segment(s); `oxibert convert --segments` widens it",
                self.type_vocab_size
            );
            return Err(Error::setting("batch", problem));
        }
        let way_out = "cut it or widen the model with `oxibert convert --positions`";
        batch.check_lengths(self.max_position_embeddings, way_out)
    }

    /// BERT's constants, the defaults of google-research/bert and `transformers`.
    fn with_sizes(vocab_size: usize, hidden_size: usize, intermediate_size: usize) -> Self {
        Self {
            architectures: Vec::new(),
            vocab_size,
            hidden_size,
            num_hidden_layers: 1,
            num_attention_heads: 1,
            intermediate_size,
            hidden_act: Activation::Gelu,
            head_act: Activation::Gelu,
            hidden_dropout_prob: 0.1,
            attention_probs_dropout_prob: 0.1,
            classifier_dropout: None,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            position_embedding_type: Positions::Absolute,
            initializer_range: 0.02,
            layer_norm_eps: 1e-12,
            pad_token_id: Some(0),
            tie_word_embeddings: true,
            labels: Vec::new(),
            problem_type: None,
            other: Map::new(),
        }
    }

    /// Width of one attention head, D.
    pub fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }

    /// How many labels a task's head has; two where the file does not say, as in `transformers`.
    pub fn num_labels(&self) -> usize {
        let stated = || self.other.get("num_labels").and_then(Value::as_u64).and_then(|n| n.try_into().ok());
        if self.labels.is_empty() { stated().unwrap_or(2) } else { self.labels.len() }
    }

    /// How many numbers are learned in these parts.
    pub fn parameter_count(&self, parts: Parts) -> usize {
        names::parameters(self, parts).iter().map(names::Param::len).sum()
    }

    /// Floating-point operations of the encoder's forward pass, per token of a sequence of `length` tokens.
    ///
    /// A multiplication and an addition count as two. Only matrix products count, as in all published figures;
    /// a training step takes three times as many.
    pub fn flops_per_token(&self, length: usize) -> u64 {
        let [hidden, inner, length] = [self.hidden_size, self.intermediate_size, length].map(|n| n as u64);
        let projections = 4 * hidden * hidden + 2 * hidden * inner;
        let attention = 2 * length * hidden; // Q K^T and the weights times V
        2 * (projections + attention) * self.num_hidden_layers as u64
    }

    /// Floating-point operations of the encoder's forward pass over a batch.
    pub fn flops_of(&self, batch: &Batch) -> u64 {
        let lengths = batch.offsets.windows(2).map(|ends| ends[1] - ends[0]);
        lengths.map(|length| self.flops_per_token(length) * length as u64).sum()
    }

    /// Floating-point operations of a training step's forward pass over a batch, where heads read `rows` alone (each once, in
    /// any order): the last block does little more than keys and values for the others.
    pub(crate) fn flops_of_chosen(&self, batch: &Batch, rows: impl Iterator<Item = u32>) -> u64 {
        let [hidden, inner] = [self.hidden_size, self.intermediate_size].map(|n| n as u64);
        let of_row =
            |length: usize| 2 * (2 * hidden * hidden + 2 * hidden * inner + 2 * length as u64 * hidden);
        let length = |sequence: usize| batch.offsets[sequence + 1] - batch.offsets[sequence];
        let sequence_of = |row: u32| batch.offsets.partition_point(|&begin| begin <= row as usize) - 1;
        let all: u64 = (0..batch.sequences()).map(length).map(|length| length as u64 * of_row(length)).sum();
        let read: u64 = rows.map(|row| of_row(length(sequence_of(row)))).sum();
        self.flops_of(batch) - all + read
    }

    /// Floating-point operations of pretraining's forward pass over a batch, the MLM head's among them.
    pub fn flops_of_pretraining(&self, batch: &Batch, targets: &Targets) -> u64 {
        let is_first = |row: u32| batch.offsets.binary_search(&(row as usize)).is_ok();
        let others = targets.masked.iter().copied().filter(|&row| !is_first(row));
        self.flops_of_chosen(batch, batch.firsts().chain(others))
            + self.mlm_flops_per_token() * targets.masked.len() as u64
    }

    /// Floating-point operations of the MLM head's forward pass, per predicted token.
    pub fn mlm_flops_per_token(&self) -> u64 {
        let [hidden, vocab] = [self.hidden_size, self.vocab_size].map(|n| n as u64);
        2 * hidden * (hidden + vocab)
    }

    /// Refuses what cannot work: which field, what was expected, what was found.
    pub fn check(&self) -> Result<()> {
        self.check_sizes()?;
        self.check_numbers()?;
        match self.pad_token_id {
            Some(id) if id as usize >= self.vocab_size => Err(Error::setting(
                "pad_token_id",
                format!("it is {id}, but vocab_size is {}; expected an id below that", self.vocab_size),
            )),
            _ => Ok(()),
        }
    }

    fn check_sizes(&self) -> Result<()> {
        check_sizes(&[
            ("vocab_size", self.vocab_size, 1 << 24),
            ("hidden_size", self.hidden_size, 1 << 16),
            ("num_hidden_layers", self.num_hidden_layers, 1 << 10),
            ("num_attention_heads", self.num_attention_heads, 1 << 10),
            ("intermediate_size", self.intermediate_size, 1 << 20),
            ("max_position_embeddings", self.max_position_embeddings, 1 << 20),
            ("type_vocab_size", self.type_vocab_size, 1 << 16),
        ])?;
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        if hidden % heads == 0 {
            return Ok(());
        }
        let problem =
            format!("it is {hidden}, expected a multiple of num_attention_heads, of which there are {heads}");
        Err(Error::setting("hidden_size", problem))
    }

    fn check_numbers(&self) -> Result<()> {
        check_epsilon("layer_norm_eps", self.layer_norm_eps)?;
        check_deviation("initializer_range", self.initializer_range)?;
        check_rates(&[
            ("hidden_dropout_prob", self.hidden_dropout_prob),
            ("attention_probs_dropout_prob", self.attention_probs_dropout_prob),
            ("classifier_dropout", self.classifier_dropout.unwrap_or(0.0)),
        ])
    }
}

/// Which of the presets this name means.
pub(super) fn preset_number(name: &str, presets: &[&str]) -> Result<usize> {
    presets.iter().position(|preset| *preset == name).ok_or_else(|| {
        let problem = format!("there is no {name:?}; choose one of {}", presets.join(", "));
        Error::setting("preset", problem)
    })
}

/// Refuses sizes that are 0 or above any model's: they keep a hostile file from asking for the moon.
pub(super) fn check_sizes(sizes: &[(&'static str, usize, usize)]) -> Result<()> {
    match sizes.iter().find(|(_, found, most)| *found == 0 || found > most) {
        None => Ok(()),
        Some((name, found, most)) => {
            Err(Error::setting(name, format!("it is {found}, expected 1 to {most}")))
        }
    }
}

/// Refuses shares to be dropped that leave nothing.
pub(super) fn check_rates(rates: &[(&'static str, f64)]) -> Result<()> {
    match rates.iter().find(|(_, share)| !(0.0..1.0).contains(share)) {
        None => Ok(()),
        Some((name, share)) => {
            Err(Error::setting(name, format!("it is {share}, expected 0 or more and below 1")))
        }
    }
}

/// Refuses a standard deviation of initial weights that is none.
pub(super) fn check_deviation(name: &'static str, deviation: f64) -> Result<()> {
    if deviation >= 0.0 && deviation.is_finite() {
        return Ok(());
    }
    Err(Error::setting(name, format!("it is {deviation}, expected 0 or more")))
}

/// Refuses an epsilon of LayerNorm that is none.
pub(super) fn check_epsilon(name: &'static str, epsilon: f64) -> Result<()> {
    if epsilon > 0.0 && epsilon < 1.0 {
        return Ok(());
    }
    Err(Error::setting(name, format!("it is {epsilon}, expected between 0 and 1")))
}

impl Activation {
    /// Every spelling that Hugging Face has for them; the first of each is the one we write.
    const NAMES: [(&'static str, Self); 8] = [
        ("gelu", Self::Gelu),
        ("gelu_new", Self::GeluTanh),
        ("relu", Self::Relu),
        ("tanh", Self::Tanh),
        ("gelu_python", Self::Gelu),
        ("gelu_pytorch_tanh", Self::GeluTanh),
        ("gelu_fast", Self::GeluTanh),
        ("gelu_accurate", Self::GeluTanh),
    ];

    /// The activation of this name, if we have it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(spelling, _)| *spelling == name).map(|(_, activation)| *activation)
    }

    /// Its name in `config.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu_new",
            Self::Relu => "relu",
            Self::Tanh => "tanh",
        }
    }

    /// All names, for messages.
    fn all_names() -> String {
        Self::NAMES.map(|(name, _)| name).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_published_sizes() {
        let model = Parts { pooler: true, ..Parts::default() };
        // google-research/bert's and Hugging Face's counts of BertModel with 30522 tokens.
        let published = [4_385_920, 11_170_560, 28_763_648, 41_373_184, 109_482_240, 335_141_888];
        for (name, expected) in PRESETS.iter().zip(published) {
            let config = Config::preset(name, 30522).unwrap();
            assert_eq!(config.parameter_count(model), expected, "{name}");
            assert_eq!(config.head_size(), 64, "{name}");
        }
        let refused = Config::preset("huge", 30522).unwrap_err().to_string();
        assert_eq!(
            refused,
            "preset: there is no \"huge\"; choose one of tiny, mini, small, medium, base, large"
        );
        assert!(Config::preset("tiny", 0).unwrap_err().to_string().starts_with("vocab_size: it is 0"));
    }

    #[test]
    fn flops_are_those_of_the_matrix_products() {
        let base = Config::preset("base", 30522).unwrap();
        // 12 blocks of 7.08 M weights, twice each, and 12 * 4 * 128 * 768 for attention.
        assert_eq!(base.flops_per_token(128), 12 * (2 * 7_077_888 + 4 * 128 * 768));
        assert_eq!(base.mlm_flops_per_token(), 2 * (768 * 768 + 768 * 30522));
    }

    #[test]
    fn names_of_activations_lead_back() {
        for (name, activation) in Activation::NAMES {
            assert_eq!(Activation::from_name(name), Some(activation));
            assert_eq!(Activation::from_name(activation.name()), Some(activation));
        }
        assert_eq!(Activation::from_name("silu"), None);
    }

    #[test]
    fn what_cannot_work_is_refused_by_field() {
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::preset("tiny", 100).unwrap();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert!(
            refused(|c| c.num_attention_heads = 3).starts_with("hidden_size: it is 128, expected a mult")
        );
        assert!(
            refused(|c| c.hidden_size = usize::MAX).starts_with("hidden_size: it is 18446744073709551615")
        );
        assert!(refused(|c| c.type_vocab_size = 0).contains("expected 1 to 65536"));
        assert!(refused(|c| c.hidden_dropout_prob = 1.0).contains("below 1"));
        assert!(refused(|c| c.classifier_dropout = Some(f64::NAN)).contains("classifier_dropout"));
        assert!(refused(|c| c.layer_norm_eps = 0.0).contains("layer_norm_eps"));
        assert!(refused(|c| c.initializer_range = f64::INFINITY).contains("initializer_range"));
        assert!(refused(|c| c.pad_token_id = Some(100)).contains("vocab_size is 100"));
    }

    #[test]
    fn what_the_model_lacks_is_refused() {
        let config = Config { max_position_embeddings: 3, ..Config::preset("tiny", 10).unwrap() };
        let refusal = |ids: &[u32], segment: u8| {
            let mut batch = Batch::new();
            batch.push(ids, &vec![segment; ids.len()]);
            config.check_batch(&batch).unwrap_err().to_string()
        };
        assert!(refusal(&[10], 0).contains("token id 10"));
        assert!(refusal(&[1], 2).contains("segment 2"));
        assert!(refusal(&[1, 1, 1, 1], 0).contains("3 positions"));
        assert!(refusal(&[], 0).contains("no tokens"));
    }
}
