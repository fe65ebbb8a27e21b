//! `oxibert convert`: any checkpoint that we read to a clean Hugging Face directory, widened if so wished.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use oxibert::data::files;
use oxibert::infer::use_files;
use oxibert::model::checkpoint::{CONFIG_FILE, Tensor};
use oxibert::model::{Checkpoint, Config, Parts, names};
use oxibert::text::{TOKENIZER_FILES, Tokenizer};
use serde_json::{Value, json};

use crate::hub;
use crate::numbers::{bytes, count};
use crate::output::{remark, results};
use crate::replace::{OTHER_TOKENIZER_FILES, save_checkpoint};

/// Any checkpoint to a clean directory: model.safetensors in F32, config.json, tokenizer
///
/// Reads safetensors and pytorch_model.bin, whole or sharded, F32, F16, BF16 or F64, old and new names. With
/// --positions and --segments the tables of positions and segments grow: old inputs give the same outputs, new
/// rows are copies of old ones and want some training. The directory appears whole or not at all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert convert old/pytorch_model.bin --out clean
  oxibert convert bert-base --positions 1024 --segments 4 --out bert-long
  oxibert convert google-bert/bert-base-uncased --out here      fetched from the hub first")]
pub(crate) struct Arguments {
    /// A checkpoint directory, a weight file with config.json beside it, or the name of a model of the hub
    #[arg(value_name = "IN")]
    input: String,
    /// Where to write; must be new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The longest sequence, at least as many tokens as now
    #[arg(long, value_name = "N")]
    positions: Option<usize>,
    /// How many segments, at least as many as now
    #[arg(long, value_name = "K")]
    segments: Option<usize>,
    /// Replace the files of a checkpoint that is there already
    #[arg(long)]
    force: bool,
    /// The summary as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    files::check_dir(&arguments.out, arguments.force)?;
    let input = hub::resolve(&arguments.input)?;
    let checkpoint = Checkpoint::open(&input)?;
    let old = &checkpoint.config;
    checkpoint.weights.check(&names::parameters(old, Parts::default()))?;
    let positions = arguments.positions.unwrap_or(old.max_position_embeddings);
    let (config, tensors) = checkpoint.widen(positions, arguments.segments.unwrap_or(old.type_vocab_size))?;
    let is_sick = |tensor: &&Tensor<'_>| tensor.data.iter().any(|value| !value.is_finite());
    for tensor in tensors.iter().filter(is_sick) {
        remark(format_args!("note: tensor {:?} has values that are not finite; they stay so", tensor.name));
    }
    let source = if input.is_dir() { &*input } else { input.parent().unwrap_or(Path::new("")) };
    save_checkpoint(&arguments.out, arguments.force, |directory| {
        oxibert::model::checkpoint::save(directory, &config, &tensors)?;
        let about_use = use_files(source)?;
        about_use
            .iter()
            .filter(|file| *file != CONFIG_FILE)
            .try_for_each(|file| copy(source, directory, file))?;
        save_tokenizer(source, directory, &config, arguments.positions)
    })?;
    let parameters = tensors.iter().map(|tensor| tensor.data.len() as u64).sum();
    report(arguments, &config, tensors.len(), parameters)
}

/// The tokenizer's files: those that are there as they are, the others made from them.
fn save_tokenizer(
    source: &Path,
    directory: &Path,
    config: &Config,
    positions: Option<usize>,
) -> oxibert::Result<()> {
    let here: Vec<&str> = TOKENIZER_FILES.into_iter().filter(|file| source.join(file).exists()).collect();
    if here.is_empty() {
        return Ok(());
    }
    match Tokenizer::load(source) {
        Ok(tokenizer) => {
            let longest = tokenizer.max_length().unwrap_or(config.max_position_embeddings);
            tokenizer.with_max_length(Some(longest)).save(directory)?;
        }
        Err(error) => {
            remark(format_args!("note: the tokenizer is copied, but oxibert cannot use it: {error}"))
        }
    }
    here.into_iter().chain(OTHER_TOKENIZER_FILES).try_for_each(|file| copy(source, directory, file))?;
    let config = directory.join("tokenizer_config.json");
    match positions {
        Some(positions) if config.exists() => set_longest(&config, positions),
        _ => Ok(()),
    }
}

/// The file as it is, if it is there.
fn copy(source: &Path, directory: &Path, file: &str) -> oxibert::Result<()> {
    let from = source.join(file);
    match fs::read(&from) {
        Ok(content) => files::save(&directory.join(file), |out| out.write_all(&content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(oxibert::Error::read(from, error)),
    }
}

/// Lets the tokenizer make sequences as long as the widened model takes.
fn set_longest(path: &Path, positions: usize) -> oxibert::Result<()> {
    let content = fs::read(path).map_err(|error| oxibert::Error::read(path, error))?;
    let Ok(Value::Object(mut keys)) = serde_json::from_slice(&content) else { return Ok(()) };
    keys.insert("model_max_length".to_owned(), positions.into());
    files::save(path, |out| {
        serde_json::to_writer_pretty(&mut *out, &keys)?;
        writeln!(out)
    })
}

fn report(arguments: &Arguments, config: &Config, tensors: usize, parameters: u64) -> Result<()> {
    let mut out = results();
    let (positions, segments) = (config.max_position_embeddings, config.type_vocab_size);
    if arguments.json {
        let summary = json!({
            "out": arguments.out, "tensors": tensors, "parameters": parameters, "bytes": 4 * parameters,
            "positions": positions, "segments": segments,
        });
        writeln!(out, "{summary}")?;
    } else {
        let (numbers, size) = (count(parameters), bytes(4 * parameters));
        writeln!(
            out,
            "{tensors} tensors, {numbers} parameters, {size}, {positions} positions, {segments} segments: {}",
            arguments.out.display()
        )?;
    }
    out.flush().context("cannot write the summary")?;
    Ok(())
}
