//! `oxibert inspect`: what is in a checkpoint, a weight file, a vocabulary, a tokenizer or a configuration.
//!
//! A [`Report`] is put together first, with whatever there is; `--json` is that report, and `inspect/text.rs` draws it.

mod shape;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use oxibert::model::checkpoint::{CONFIG_FILE, WEIGHT_FILES};
use oxibert::model::{Block, Weights, names};
use oxibert::text::{SPECIAL_TOKENS, TOKENIZER_FILES, Tokenizer, Vocab};
use serde::Serialize;
use serde_json::Value;

use crate::choices::case_problem;
use crate::output::results;
use shape::Shape;

/// What is in a checkpoint: configuration, parameters, memory, FLOPs, tokenizer
///
/// Only the tables of contents are read, so that a checkpoint of any size is told in no time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert inspect bert-base-uncased/
  oxibert inspect model.safetensors                 all tensors: name, type, shape
  oxibert inspect vocab.txt
  oxibert inspect DIR --json | jq .parameters")]
pub(crate) struct Arguments {
    /// A checkpoint directory, a .safetensors or pytorch_model.bin file, a vocab.txt, tokenizer.json or config.json
    path: PathBuf,
    /// One JSON object with everything, all tensors included
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let report = Report::of(&arguments.path)?;
    let mut out = results();
    if arguments.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        text::write(&report, &mut out)?;
    }
    out.flush()?;
    Ok(())
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    path: PathBuf,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flops_per_token: Option<Flops>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenizer: Option<TokenizerFacts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tensors: Vec<TensorFacts>,
    /// What does not fit together.
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Parameters {
    total: u64,
    /// In memory, where everything is f32.
    bytes_f32: u64,
    /// On the disk, in the types that stand there; absent where there are no weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_stored: Option<u64>,
    /// Bytes by number type.
    dtypes: BTreeMap<&'static str, u64>,
    blocks: Vec<BlockFacts>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct BlockFacts {
    block: String,
    #[serde(skip)]
    layer: Option<Layer>,
    tensors: usize,
    parameters: u64,
}

/// The place of a layer among its like.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Layer {
    kind: &'static str,
    number: usize,
}

/// Matrix products of a forward pass: BERT's by parts, because its head reads few tokens; another model's together.
#[derive(Debug, Serialize)]
struct Flops {
    length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoder: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mlm_head_per_masked_token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<u64>,
}

#[derive(Debug, Serialize)]
struct TensorFacts {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct TokenizerFacts {
    tokens: usize,
    /// Pieces that continue a word.
    continuations: usize,
    /// Absent where only a vocabulary is known, which does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    cased: Option<bool>,
    /// Tokens that only cased text can give.
    with_upper_case: usize,
    special_ids: BTreeMap<&'static str, Option<u32>>,
    added_tokens: usize,
}

impl Report {
    fn of(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Self::of_directory(path);
        }
        // Asked for first, so that a wrong path is told as such whatever its ending.
        fs::metadata(path).with_context(|| {
            format!("cannot read {} (a model of the hub is fetched with `oxibert pull`)", path.display())
        })?;
        let mut report = Self { path: path.to_owned(), ..Self::default() };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => {
                report.kind = "vocabulary";
                report.tokenizer = Some(TokenizerFacts::of_vocab(&Vocab::load(path)?));
            }
            Some("json") => report.add_json(path)?,
            _ => {
                report.kind = "weights";
                report.add_weights(&Weights::open(path)?);
            }
        }
        Ok(report)
    }

    fn of_directory(path: &Path) -> Result<Self> {
        let mut report = Self { path: path.to_owned(), kind: "checkpoint", ..Self::default() };
        let has = |file: &&str| path.join(file).exists();
        let (config, weights) = (has(&CONFIG_FILE), WEIGHT_FILES.iter().any(has));
        let tokenizer = TOKENIZER_FILES.iter().any(has);
        if !(config || weights || tokenizer) {
            bail!(
                "{}: nothing to inspect in it; expected {CONFIG_FILE}, {} or {}",
                path.display(),
                WEIGHT_FILES.join(", "),
                TOKENIZER_FILES.join(", ")
            );
        }
        let config = config.then(|| Shape::load(&path.join(CONFIG_FILE))).transpose()?;
        if let Some(config) = &config {
            report.add_config(config);
        }
        if weights {
            let weights = Weights::open(path)?;
            report.add_weights(&weights);
            if let Some(Err(error)) = config.as_ref().map(|config| config.fit(&weights)) {
                report.notes.push(error.to_string());
            }
        } else if config.is_some() {
            report.notes.push("there are no weights: the numbers are those of config.json".to_owned());
        }
        if tokenizer {
            report.add_tokenizer(&Tokenizer::load(path)?, config.as_ref());
        }
        Ok(report)
    }

    /// The keys decide what a JSON file is, because names can be anything.
    fn add_json(&mut self, path: &Path) -> Result<()> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let object: Value =
            serde_json::from_slice(&bytes).with_context(|| format!("{}: no JSON", path.display()))?;
        if object.get("weight_map").is_some() {
            bail!("{}: it is the index of a sharded checkpoint; name its directory", path.display());
        }
        if object.get("model").is_some() || object.get("added_tokens").is_some() {
            self.kind = "tokenizer";
            self.add_tokenizer(&Tokenizer::parse_json(&bytes, path)?, None);
            return Ok(());
        }
        self.kind = "config";
        self.add_config(&Shape::parse(&bytes, path)?);
        Ok(())
    }

    /// Until weights say better, the parameters are those that the configuration asks for.
    fn add_config(&mut self, config: &Shape) {
        self.config = Some(config.fields());
        let params = config.parameters();
        self.parameters = Some(Parameters::of(params.iter().map(|param| (&*param.name, param.len() as u64))));
        self.flops_per_token = Some(config.flops());
    }

    fn add_weights(&mut self, weights: &Weights) {
        let tensor = |name: &str| {
            let (dtype, shape) = (weights.dtype(name)?, weights.shape(name)?.to_vec());
            Some((TensorFacts { name: name.to_owned(), dtype: dtype.name(), shape }, dtype))
        };
        let tensors: Vec<_> = weights.names().filter_map(tensor).collect();
        let len = |tensor: &TensorFacts| tensor.shape.iter().product::<usize>() as u64;
        let floats = || tensors.iter().filter(|(_, dtype)| dtype.is_float());
        let mut parameters = Parameters::of(floats().map(|(tensor, _)| (&*tensor.name, len(tensor))));
        for (tensor, dtype) in floats() {
            *parameters.dtypes.entry(dtype.name()).or_default() += len(tensor) * dtype.size() as u64;
        }
        parameters.bytes_stored = Some(parameters.dtypes.values().sum());
        self.parameters = Some(parameters);
        let others: Vec<&str> =
            tensors.iter().filter(|(_, dtype)| !dtype.is_float()).map(|(tensor, _)| &*tensor.name).collect();
        if !others.is_empty() {
            self.notes.push(format!("no parameters, because not of a float type: {}", others.join(", ")));
        }
        self.tensors = tensors.into_iter().map(|(tensor, _)| tensor).collect();
    }

    fn add_tokenizer(&mut self, tokenizer: &Tokenizer, config: Option<&Shape>) {
        let facts = TokenizerFacts {
            cased: Some(!tokenizer.rules().lowercase),
            added_tokens: tokenizer.added_tokens().len(),
            ..TokenizerFacts::of_vocab(tokenizer.vocab())
        };
        if let Some(known) = config.map(Shape::vocab_size).filter(|known| *known < facts.tokens) {
            self.notes.push(format!(
                "the tokenizer has {} tokens, but the model's vocab_size is {known}: ids from there on have no embedding",
                facts.tokens
            ));
        }
        self.notes.extend(case_problem(tokenizer).map(str::to_owned));
        self.tokenizer = Some(facts);
    }
}

impl Parameters {
    /// Of names and numbers of values; stored bytes are for those who have weights to add.
    fn of<'n>(params: impl Iterator<Item = (&'n str, u64)>) -> Self {
        // None, the tensors that no model has, comes last.
        let mut blocks: BTreeMap<(bool, Option<Block>), BlockFacts> = BTreeMap::new();
        for (name, len) in params {
            let block = names::block(name);
            let facts = blocks.entry((block.is_none(), block)).or_insert_with(|| BlockFacts {
                block: block_name(block),
                layer: layer(block),
                tensors: 0,
                parameters: 0,
            });
            facts.tensors += 1;
            facts.parameters += len;
        }
        let blocks: Vec<BlockFacts> = blocks.into_values().collect();
        let total = blocks.iter().map(|block| block.parameters).sum();
        Self { total, bytes_f32: 4 * total, bytes_stored: None, dtypes: BTreeMap::new(), blocks }
    }
}

fn layer(block: Option<Block>) -> Option<Layer> {
    match block {
        Some(Block::Layer(number)) => Some(Layer { kind: "layer", number }),
        Some(Block::Decoder(number)) => Some(Layer { kind: "decoder layer", number }),
        _ => None,
    }
}

fn block_name(block: Option<Block>) -> String {
    if let Some(Layer { kind, number }) = layer(block) {
        return format!("{kind} {number}");
    }
    let name = match block {
        Some(Block::Embeddings) => "embeddings",
        Some(Block::Output) => "output",
        Some(Block::Pooler) => "pooler",
        Some(Block::Mlm) => "MLM head",
        Some(Block::Nsp) => "NSP head",
        Some(Block::Task) => "task head",
        _ => "other tensors",
    };
    name.to_owned()
}

impl TokenizerFacts {
    fn of_vocab(vocab: &Vocab) -> Self {
        let has_upper = |token: &&str| token.chars().any(char::is_uppercase) && !is_special(token);
        Self {
            tokens: vocab.len(),
            continuations: vocab.tokens().filter(|token| token.starts_with("##")).count(),
            cased: None,
            with_upper_case: vocab.tokens().filter(has_upper).count(),
            special_ids: SPECIAL_TOKENS.into_iter().map(|token| (token, vocab.id(token))).collect(),
            added_tokens: 0,
        }
    }
}

/// `[CLS]`, `[unused12]` and the like.
fn is_special(token: &str) -> bool {
    token.len() > 2 && token.starts_with('[') && token.ends_with(']')
}
