//! Every parameter of a BERT: its name, its shape and what it is. Written once, here. (Those of the Transformer and of the
//! causal model are in their own rooms.)
//!
//! The names are Hugging Face's, in the form of the models with heads (`bert.encoder.layer.0.…`). Checkpoints
//! also come without the prefix (GPT-2's too) and with TensorFlow's old words for LayerNorm: [`canonical`] maps them.
//!
//! A linear layer's weight is `[outputs, inputs]`, as PyTorch stores it.

use std::borrow::Cow;

use super::config::{Config, Positions};
use super::{causal, transformer};

/// The token embedding's name: the tied MLM decoder is this table too.
pub const WORD_EMBEDDINGS: &str = "bert.embeddings.word_embeddings.weight";
/// The position table's name.
pub const POSITION_EMBEDDINGS: &str = "bert.embeddings.position_embeddings.weight";
/// The segment table's name.
pub const SEGMENT_EMBEDDINGS: &str = "bert.embeddings.token_type_embeddings.weight";
/// The MLM head's output bias where the decoder is the token embedding.
pub const MLM_BIAS: &str = "cls.predictions.bias";
/// The MLM head's own decoder, where it is not tied, …
pub const MLM_DECODER: &str = "cls.predictions.decoder.weight";
/// … and that decoder's bias, which `transformers` 5 reads there (before, it was one with [`MLM_BIAS`]).
pub const MLM_DECODER_BIAS: &str = "cls.predictions.decoder.bias";

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Hugging Face's name.
    pub name: String,
    /// Its shape, outermost first.
    pub shape: Vec<usize>,
    /// The part of the model that it belongs to.
    pub block: Block,
    /// What it is: this decides its initial value and its weight decay.
    pub kind: Kind,
}

/// The parts of a model, in the order of the forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Block {
    /// Token, position and segment tables and their LayerNorm.
    Embeddings,
    /// The encoder block of this number.
    Layer(usize),
    /// The decoder block of this number.
    Decoder(usize),
    /// What stands on the blocks of a model that says tokens: the last LayerNorm, the projection to the vocabulary.
    Output,
    /// `tanh(W h_[CLS] + b)`.
    Pooler,
    /// Masked-language-model head.
    Mlm,
    /// Next-sentence head.
    Nsp,
    /// A task's head.
    Task,
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A table of rows.
    Embedding,
    /// A linear layer's matrix.
    Weight,
    /// The same, which checkpoints hold the other way round, `[inputs, outputs]`: GPT-2's `Conv1D`.
    Transposed,
    /// A bias.
    Bias,
    /// LayerNorm's factor, 1 at first.
    NormWeight,
    /// LayerNorm's summand, 0 at first.
    NormBias,
}

/// What there is beside the embeddings and the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// The pooler.
    pub pooler: bool,
    /// The masked-language-model head.
    pub mlm: bool,
    /// The next-sentence head (which reads the pooler's output).
    pub nsp: bool,
}

impl Parts {
    /// What pretraining needs: all of them.
    pub const PRETRAINING: Self = Self { pooler: true, mlm: true, nsp: true };
}

impl Param {
    /// How many numbers it holds.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its shape in a checkpoint.
    pub fn stored_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if self.kind == Kind::Transposed {
            shape.reverse();
        }
        shape
    }
}

impl Kind {
    /// Whether weight decay pulls on it: not on biases and LayerNorm, as in google-research/bert.
    pub fn decays(self) -> bool {
        matches!(self, Self::Embedding | Self::Weight | Self::Transposed)
    }
}

/// All parameters of `config` with these parts, in the order of the forward pass.
pub fn parameters(config: &Config, parts: Parts) -> Vec<Param> {
    let mut list = List::new(config.hidden_size);
    list.embeddings(config);
    for layer in 0..config.num_hidden_layers {
        list.layer(layer, config.intermediate_size);
    }
    if parts.pooler {
        list.square(Block::Pooler, "bert.pooler.dense");
    }
    if parts.mlm {
        list.mlm(config);
    }
    if parts.nsp {
        list.linear(Block::Nsp, "cls.seq_relationship", 2, config.hidden_size);
    }
    list.params
}

/// The head of classification, tagging and multiple choice (the last with one output): `classifier`.
pub fn classifier(config: &Config, outputs: usize) -> Vec<Param> {
    task_head(config, "classifier", outputs)
}

/// The head of answer spans, a start and an end score per token: `qa_outputs`.
pub fn qa_outputs(config: &Config) -> Vec<Param> {
    task_head(config, "qa_outputs", 2)
}

fn task_head(config: &Config, name: &str, outputs: usize) -> Vec<Param> {
    let mut list = List::new(config.hidden_size);
    list.linear(Block::Task, name, outputs, config.hidden_size);
    list.params
}

/// A checkpoint's name for a parameter as this list has it.
///
/// ```
/// use oxibert::model::names::canonical;
/// assert_eq!(canonical("encoder.layer.0.output.LayerNorm.gamma"), "bert.encoder.layer.0.output.LayerNorm.weight");
/// assert_eq!(canonical("cls.predictions.bias"), "cls.predictions.bias");
/// assert_eq!(canonical("h.0.ln_1.weight"), "transformer.h.0.ln_1.weight");
/// ```
pub fn canonical(name: &str) -> Cow<'_, str> {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let prefix = if begins(&["embeddings.", "encoder.", "pooler."]) {
        "bert."
    } else if begins(&["wte.", "wpe.", "h.", "ln_f."]) {
        "transformer."
    } else {
        ""
    };
    let old =
        |word, new| name.strip_suffix(word).filter(|stem| stem.ends_with("LayerNorm")).map(|s| (s, new));
    match old(".gamma", ".weight").or_else(|| old(".beta", ".bias")) {
        Some((stem, suffix)) => Cow::Owned(format!("{prefix}{stem}{suffix}")),
        None if prefix.is_empty() => Cow::Borrowed(name),
        None => Cow::Owned(format!("{prefix}{name}")),
    }
}

/// The block that a parameter of this name belongs to, if it is one of our models'.
///
/// ```
/// use oxibert::model::names::{Block, block};
/// assert_eq!(block("bert.encoder.layer.7.output.dense.bias"), Some(Block::Layer(7)));
/// assert_eq!(block("model.decoder.layers.2.fc1.bias"), Some(Block::Decoder(2)));
/// assert_eq!(block("somebody.else.weight"), None);
/// ```
pub fn block(name: &str) -> Option<Block> {
    type Numbered = fn(usize) -> Block;
    let numbered: [(&str, Numbered); 4] = [
        ("bert.encoder.layer.", Block::Layer),
        ("model.encoder.layers.", Block::Layer),
        ("model.decoder.layers.", Block::Decoder),
        ("transformer.h.", Block::Decoder),
    ];
    for (beginning, block) in numbered {
        if let Some(rest) = name.strip_prefix(beginning) {
            return rest.split_once('.').and_then(|(number, _)| number.parse().ok()).map(block);
        }
    }
    let beginnings = [
        ("bert.embeddings.", Block::Embeddings),
        ("model.shared.", Block::Embeddings),
        ("model.encoder.embed_", Block::Embeddings),
        ("model.decoder.embed_", Block::Embeddings),
        ("transformer.wte.", Block::Embeddings),
        ("transformer.wpe.", Block::Embeddings),
        ("model.encoder.layer_norm.", Block::Output),
        ("model.decoder.layer_norm.", Block::Output),
        ("transformer.ln_f.", Block::Output),
        ("lm_head.", Block::Output),
        ("final_logits_bias", Block::Output),
        ("bert.pooler.", Block::Pooler),
        ("cls.predictions.", Block::Mlm),
        ("cls.seq_relationship.", Block::Nsp),
        ("classifier.", Block::Task),
        ("qa_outputs.", Block::Task),
    ];
    beginnings.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, block)| *block)
}

/// The other names under which the same parameter may stand.
pub(super) fn aliases(name: &str) -> &'static [&'static str] {
    match name {
        MLM_BIAS => &[MLM_DECODER_BIAS],
        MLM_DECODER_BIAS => &[MLM_BIAS],
        _ => transformer::names::aliases(name).or_else(|| causal::names::aliases(name)).unwrap_or_default(),
    }
}

/// A list of parameters under construction.
pub(super) struct List {
    pub(super) params: Vec<Param>,
    hidden: usize,
}

impl List {
    pub(super) fn new(hidden: usize) -> Self {
        Self { params: Vec::new(), hidden }
    }

    pub(super) fn push(&mut self, block: Block, kind: Kind, name: impl Into<String>, shape: &[usize]) {
        self.params.push(Param { name: name.into(), shape: shape.to_vec(), block, kind });
    }

    pub(super) fn linear(&mut self, block: Block, name: &str, outputs: usize, inputs: usize) {
        self.push(block, Kind::Weight, format!("{name}.weight"), &[outputs, inputs]);
        self.push(block, Kind::Bias, format!("{name}.bias"), &[outputs]);
    }

    /// A linear layer that checkpoints hold the other way round.
    pub(super) fn transposed(&mut self, block: Block, name: &str, outputs: usize, inputs: usize) {
        self.push(block, Kind::Transposed, format!("{name}.weight"), &[outputs, inputs]);
        self.push(block, Kind::Bias, format!("{name}.bias"), &[outputs]);
    }

    /// A linear layer from H to H.
    pub(super) fn square(&mut self, block: Block, name: &str) {
        self.linear(block, name, self.hidden, self.hidden);
    }

    /// Linear layers from H to H. Matrices first, then biases: side by side, they are one matrix to the layers.
    pub(super) fn squares(&mut self, block: Block, names: [String; 3]) {
        for (suffix, kind, shape) in
            [("weight", Kind::Weight, &[self.hidden; 2][..]), ("bias", Kind::Bias, &[self.hidden])]
        {
            for name in &names {
                self.push(block, kind, format!("{name}.{suffix}"), shape);
            }
        }
    }

    pub(super) fn layer_norm(&mut self, block: Block, name: &str) {
        let shape = [self.hidden];
        self.push(block, Kind::NormWeight, format!("{name}.weight"), &shape);
        self.push(block, Kind::NormBias, format!("{name}.bias"), &shape);
    }

    fn embeddings(&mut self, config: &Config) {
        let block = Block::Embeddings;
        let hidden = self.hidden;
        self.push(block, Kind::Embedding, WORD_EMBEDDINGS, &[config.vocab_size, hidden]);
        // Sinusoids are computed, not learned.
        if config.position_embedding_type == Positions::Absolute {
            self.push(block, Kind::Embedding, POSITION_EMBEDDINGS, &[config.max_position_embeddings, hidden]);
        }
        self.push(block, Kind::Embedding, SEGMENT_EMBEDDINGS, &[config.type_vocab_size, hidden]);
        self.layer_norm(block, "bert.embeddings.LayerNorm");
    }

    fn layer(&mut self, layer: usize, inner: usize) {
        let block = Block::Layer(layer);
        let at = |part: &str| format!("bert.encoder.layer.{layer}.{part}");
        self.squares(block, ["query", "key", "value"].map(|part| at(&format!("attention.self.{part}"))));
        self.square(block, &at("attention.output.dense"));
        self.layer_norm(block, &at("attention.output.LayerNorm"));
        self.linear(block, &at("intermediate.dense"), inner, self.hidden);
        self.linear(block, &at("output.dense"), self.hidden, inner);
        self.layer_norm(block, &at("output.LayerNorm"));
    }

    fn mlm(&mut self, config: &Config) {
        let block = Block::Mlm;
        self.square(block, "cls.predictions.transform.dense");
        self.layer_norm(block, "cls.predictions.transform.LayerNorm");
        if config.tie_word_embeddings {
            self.push(block, Kind::Bias, MLM_BIAS, &[config.vocab_size]);
        } else {
            self.linear(block, "cls.predictions.decoder", config.vocab_size, config.hidden_size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn tiny() -> Config {
        Config::preset("tiny", 100).unwrap()
    }

    fn names(params: &[Param]) -> Vec<&str> {
        params.iter().map(|param| param.name.as_str()).collect()
    }

    #[test]
    fn one_layer_has_hugging_faces_sixteen_tensors() {
        let params = parameters(&tiny(), Parts::default());
        let layer: Vec<_> = params.iter().filter(|param| param.block == Block::Layer(1)).collect();
        assert_eq!(layer.len(), 16);
        assert_eq!(layer[0].name, "bert.encoder.layer.1.attention.self.query.weight");
        assert_eq!(
            (layer[10].name.as_str(), &layer[10].shape[..]),
            ("bert.encoder.layer.1.intermediate.dense.weight", &[512, 128][..])
        );
        assert_eq!(layer[15].name, "bert.encoder.layer.1.output.LayerNorm.bias");
        assert_eq!(params.len(), 5 + 2 * 16);
    }

    #[test]
    fn names_stand_once_and_are_canonical() {
        let untied = Config { tie_word_embeddings: false, ..tiny() };
        for config in [tiny(), untied] {
            let params = parameters(&config, Parts::PRETRAINING);
            let unique: HashSet<&str> = names(&params).into_iter().collect();
            assert_eq!(unique.len(), params.len());
            assert!(unique.iter().all(|name| canonical(name) == *name));
            assert!(params.iter().all(|param| block(&param.name) == Some(param.block)));
            assert!(params.iter().all(|param| param.kind.decays() == (param.shape.len() == 2)));
        }
    }

    #[test]
    fn options_change_the_list() {
        let untied = Config { tie_word_embeddings: false, ..tiny() };
        let mlm = Parts { mlm: true, ..Parts::default() };
        assert_eq!(names(&parameters(&tiny(), mlm)).last(), Some(&MLM_BIAS));
        assert!(names(&parameters(&untied, mlm)).ends_with(&[MLM_DECODER, MLM_DECODER_BIAS]));
        let fixed = Config { position_embedding_type: Positions::Sinusoidal, ..tiny() };
        assert!(!names(&parameters(&fixed, mlm)).contains(&POSITION_EMBEDDINGS));
        let head = classifier(&tiny(), 3);
        assert_eq!(
            (names(&head), head[0].len(), head[1].len()),
            (vec!["classifier.weight", "classifier.bias"], 3 * 128, 3)
        );
        assert_eq!(names(&qa_outputs(&tiny())), ["qa_outputs.weight", "qa_outputs.bias"]);
        assert!(head.iter().chain(&qa_outputs(&tiny())).all(|param| block(&param.name) == Some(Block::Task)));
    }

    #[test]
    fn old_words_are_changed_only_where_they_mean_layer_norm() {
        assert_eq!(canonical("bert.embeddings.LayerNorm.beta"), "bert.embeddings.LayerNorm.bias");
        assert_eq!(
            canonical("cls.predictions.transform.LayerNorm.gamma"),
            "cls.predictions.transform.LayerNorm.weight"
        );
        assert_eq!(canonical("something.beta"), "something.beta");
        assert_eq!(canonical("pooler.dense.bias"), "bert.pooler.dense.bias");
    }
}
