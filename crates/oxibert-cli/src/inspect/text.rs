//! A report for people: short tables, numbers with three digits.

use std::io::{self, Write};

use oxibert::text::SPECIAL_TOKENS;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{BlockFacts, Flops, Layer, Parameters, Report, TokenizerFacts};
use crate::numbers::{bytes, count};

/// The keys of config.json that say what a model is; `--json` has them all.
const MAIN_FIELDS: [&str; 32] = [
    "architectures",
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    // A Transformer's.
    "decoder_vocab_size",
    "d_model",
    "encoder_layers",
    "encoder_attention_heads",
    "encoder_ffn_dim",
    "decoder_layers",
    "decoder_attention_heads",
    "decoder_ffn_dim",
    "normalize_before",
    "scale_embedding",
    "share_encoder_decoder_embeddings",
    // A causal model's.
    "n_embd",
    "n_layer",
    "n_head",
    "n_inner",
    "n_positions",
    "layer_norm_epsilon",
    "activation_function",
    "oxibert_head_act",
    "max_position_embeddings",
    "oxibert_position_embedding_type",
    "type_vocab_size",
    "layer_norm_eps",
    "tie_word_embeddings",
    "id2label",
];

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", report.path.display(), report.kind)?;
    if let Some(config) = &report.config {
        let shown = |name: &&str| config.get(*name).map(|value| vec![name.to_string(), plain(value)]);
        section("configuration", &MAIN_FIELDS.iter().filter_map(shown).collect::<Vec<_>>(), out)?;
    }
    if let Some(parameters) = &report.parameters {
        section("parameters", &blocks(parameters), out)?;
        section("memory", &memory(parameters), out)?;
    }
    if let Some(flops) = &report.flops_per_token {
        section("compute, forward", &compute(flops), out)?;
    }
    if let Some(facts) = &report.tokenizer {
        section("tokenizer", &tokenizer(facts), out)?;
    }
    // A directory is told by its blocks: hundreds of tensors would hide everything else.
    if report.kind == "weights" {
        let row = |tensor: &super::TensorFacts| {
            vec![tensor.name.clone(), tensor.dtype.to_owned(), format!("{:?}", tensor.shape)]
        };
        section("tensors", &report.tensors.iter().map(row).collect::<Vec<_>>(), out)?;
    }
    if !report.notes.is_empty() {
        writeln!(out)?;
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

/// A title and its rows, aligned column by column.
fn section(title: &str, rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{title}")?;
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    for row in rows {
        let padded = row.iter().zip(&widths).map(|(cell, width)| {
            let blanks = width - cell.width();
            format!("  {cell}{:blanks$}", "")
        });
        writeln!(out, "{}", padded.collect::<String>().trim_end())?;
    }
    Ok(())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(items) => items.values().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A row per block; neighbouring layers of one size share a row.
fn blocks(parameters: &Parameters) -> Vec<Vec<String>> {
    let alike = |one: &BlockFacts, next: &BlockFacts| {
        one.layer.is_some()
            && one.layer.map(|layer| Layer { number: layer.number + 1, ..layer }) == next.layer
            && (one.tensors, one.parameters) == (next.tensors, next.parameters)
    };
    let row = |group: &[BlockFacts]| {
        let (first, all) = (&group[0], group.iter().map(|block| block.parameters).sum());
        let (name, each) = match (group.len(), first.layer) {
            (many @ 2.., Some(Layer { kind, number })) => {
                let last = number + many - 1;
                (format!("{kind}s {number}-{last}"), format!("{} each", count(first.parameters)))
            }
            _ => (first.block.clone(), String::new()),
        };
        let tensors: usize = group.iter().map(|block| block.tensors).sum();
        vec![name, count(all), tensors_of(tensors), each]
    };
    let mut rows: Vec<_> = parameters.blocks.chunk_by(alike).map(row).collect();
    let tensors: usize = parameters.blocks.iter().map(|block| block.tensors).sum();
    rows.push(vec![
        "total".to_owned(),
        count(parameters.total),
        tensors_of(tensors),
        format!("{} parameters", parameters.total),
    ]);
    rows
}

fn tensors_of(number: usize) -> String {
    format!("{number} tensor{}", if number == 1 { "" } else { "s" })
}

fn memory(parameters: &Parameters) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["as f32".to_owned(), bytes(parameters.bytes_f32)]];
    if let Some(stored) = parameters.bytes_stored {
        let dtypes: Vec<&str> = parameters.dtypes.keys().copied().collect();
        rows.push(vec!["as stored".to_owned(), bytes(stored), dtypes.join(", ")]);
    }
    rows
}

fn compute(flops: &Flops) -> Vec<Vec<String>> {
    let of_sequences = format!("per token of a sequence of {} tokens", flops.length);
    let rows = [
        ("encoder", flops.encoder, &*of_sequences),
        ("MLM head", flops.mlm_head_per_masked_token, "per masked token"),
        ("all", flops.all, &of_sequences),
    ];
    let row = |(name, number, of): (&str, Option<u64>, &str)| {
        Some(vec![name.to_owned(), format!("{}FLOP", spaced(count(number?))), of.to_owned()])
    };
    rows.into_iter().filter_map(row).collect()
}

/// `999 ` or `1.23 M`: ready for a unit.
fn spaced(count: String) -> String {
    if count.contains(' ') { count } else { count + " " }
}

fn tokenizer(facts: &TokenizerFacts) -> Vec<Vec<String>> {
    let upper = format!("{} tokens with upper case", facts.with_upper_case);
    let case = match facts.cased {
        Some(true) => format!("cased ({upper})"),
        Some(false) => format!("uncased ({upper})"),
        None if facts.with_upper_case > 0 => format!("{upper}: for cased text, it seems"),
        None => "no token with upper case: for uncased text, it seems".to_owned(),
    };
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("tokens", facts.tokens.to_string()),
        row("inside words (##)", facts.continuations.to_string()),
        row("case", case),
    ];
    if facts.added_tokens > 0 {
        rows.push(row("found in text whole", format!("{} added tokens", facts.added_tokens)));
    }
    let shown = |token: &str| match facts.special_ids.get(token) {
        Some(Some(id)) => id.to_string(),
        _ => "missing".to_owned(),
    };
    rows.extend(SPECIAL_TOKENS.map(|token| row(token, shown(token))));
    rows
}
