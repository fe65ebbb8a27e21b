//! `inspect` and `convert`, on a tiny checkpoint.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::{NOWHERE, config, error, make_checkpoint, stdout};
use oxibert::model::{Checkpoint, Parts, names};
use oxibert::text::Tokenizer;
use serde_json::{Value, json};

fn oxibert(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    common::oxibert(arguments, NOWHERE, home.path())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn inspect_json(path: &Path) -> Value {
    serde_json::from_str(&stdout(&oxibert(&["inspect", text(path), "--json"]))).unwrap()
}

/// A safetensors file with the values of `model.safetensors` in half precision and in the old names, as PyTorch
/// and TensorFlow left them.
fn make_half(from: &Path, to: &Path) {
    let checkpoint = Checkpoint::open(from).unwrap();
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for tensor in checkpoint.weights.tensors() {
        let tensor = tensor.unwrap();
        let start = data.len();
        // The upper halves of these short numbers are the numbers: BF16.
        data.extend(tensor.data.iter().flat_map(|value| (value.to_bits() >> 16).to_le_bytes()[..2].to_vec()));
        let name = tensor.name.trim_start_matches("bert.").replace("LayerNorm.weight", "LayerNorm.gamma");
        let offsets = [start, data.len()];
        header.insert(name, json!({ "dtype": "BF16", "shape": tensor.shape, "data_offsets": offsets }));
    }
    let header = serde_json::to_vec(&header).unwrap();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(to.join("model.safetensors"), [&length[..], &header, &data].concat()).unwrap();
    fs::copy(from.join("config.json"), to.join("config.json")).unwrap();
}

#[test]
fn a_checkpoint_is_told_by_its_blocks() {
    let directory = tempfile::tempdir().unwrap();
    make_checkpoint(directory.path());
    let all = config().parameter_count(Parts::PRETRAINING) as u64;
    let shown = stdout(&oxibert(&["inspect", text(directory.path())]));
    for expected in [
        "hidden_size              4",
        "layers 0-1  308  32 tensors  154 each",
        "NSP head",
        "as stored  1.74 kB  F32",
        "per token of a sequence of 128 tokens",
        "case                 uncased",
        "[MASK]               4",
    ] {
        assert!(shown.contains(expected), "{expected:?} in\n{shown}");
    }
    assert!(!shown.contains("note:"), "{shown}");
    let json = inspect_json(directory.path());
    assert_eq!(json["parameters"]["total"], all);
    assert_eq!(json["parameters"]["bytes_f32"], 4 * all);
    assert_eq!(json["parameters"]["blocks"][1]["block"], "layer 0");
    assert_eq!(json["flops_per_token"]["encoder"], config().flops_per_token(128));
    assert_eq!(json["tensors"].as_array().unwrap().len(), 46);
    assert_eq!(json["tokenizer"]["special_ids"]["[SEP]"], 3);
    assert_eq!(json["config"]["hidden_size"], 4);
}

#[test]
fn single_files_are_known_by_what_they_are() {
    let directory = tempfile::tempdir().unwrap();
    make_checkpoint(directory.path());
    let file = |name: &str| directory.path().join(name);
    let weights = stdout(&oxibert(&["inspect", text(&file("model.safetensors"))]));
    assert!(weights.contains("bert.embeddings.word_embeddings.weight"), "{weights}");
    assert!(weights.lines().any(|line| line.ends_with("F32  [8, 4]")), "{weights}");
    for (name, kind) in
        [("vocab.txt", "vocabulary"), ("tokenizer.json", "tokenizer"), ("config.json", "config")]
    {
        assert_eq!(inspect_json(&file(name))["kind"], kind);
    }
    assert_eq!(inspect_json(&file("vocab.txt"))["tokenizer"]["continuations"], 1);
    assert_eq!(inspect_json(&file("tokenizer.json"))["tokenizer"]["cased"], false);
}

#[test]
fn what_does_not_fit_together_is_noted() {
    let directory = tempfile::tempdir().unwrap();
    make_checkpoint(directory.path());
    let deep = oxibert::model::Config { num_hidden_layers: 3, vocab_size: 7, ..config() };
    deep.save(&directory.path().join("config.json")).unwrap();
    let shown = stdout(&oxibert(&["inspect", text(directory.path())]));
    assert!(shown.contains("note: ") && shown.contains("layer.2.attention.self.query.weight"), "{shown}");
    assert!(shown.contains("the tokenizer has 8 tokens, but the model's vocab_size is 7"), "{shown}");
    let refused =
        error(&oxibert(&["convert", text(directory.path()), "--out", text(&directory.path().join("x"))]));
    assert!(refused.contains("layer.2.attention"), "{refused}");
}

#[test]
fn bad_paths_and_files_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let refused = |path: &Path| error(&oxibert(&["inspect", text(path)]));
    assert!(refused(directory.path()).contains("nothing to inspect in it; expected config.json"));
    assert!(refused(&file("nobody.bin")).contains("oxibert pull"));
    fs::write(file("short.safetensors"), b"short").unwrap();
    assert!(refused(&file("short.safetensors")).contains("short.safetensors"));
    fs::write(file("broken.json"), b"{").unwrap();
    assert!(refused(&file("broken.json")).contains("broken.json: no JSON"));
    fs::write(file("gpt.json"), br#"{"model_type": "roberta"}"#).unwrap();
    assert!(refused(&file("gpt.json")).contains("model_type is \"roberta\""));
    fs::write(file("x.index.json"), br#"{"weight_map": {}}"#).unwrap();
    assert!(refused(&file("x.index.json")).contains("name its directory"));
}

#[test]
fn another_number_type_and_old_names_become_a_clean_directory() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (first, half, out) = (at("first"), at("half"), at("out"));
    fs::create_dir_all(&half).unwrap();
    make_checkpoint(&first);
    make_half(&first, &half);
    assert_eq!(
        inspect_json(&half)["parameters"]["dtypes"]["BF16"],
        2 * config().parameter_count(Parts::PRETRAINING)
    );
    // By its weight file, too.
    let said = stdout(&oxibert(&["convert", text(&half.join("model.safetensors")), "--out", text(&out)]));
    assert!(said.starts_with("46 tensors, 434 parameters, 1.74 kB, 3 positions, 2 segments: "), "{said}");
    assert_eq!(
        fs::read(out.join("model.safetensors")).unwrap(),
        fs::read(first.join("model.safetensors")).unwrap()
    );
    assert!(!out.join("vocab.txt").exists());
    let again = error(&oxibert(&["convert", text(&first), "--out", text(&out)]));
    assert!(again.contains("--force"), "{again}");
    stdout(&oxibert(&["convert", text(&first), "--out", text(&out), "--force"]));
    assert_eq!(fs::read(out.join("vocab.txt")).unwrap(), fs::read(first.join("vocab.txt")).unwrap());
}

#[test]
fn more_positions_and_segments() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (first, wide) = (at("first"), at("wide"));
    make_checkpoint(&first);
    // The files that a directory lacks are made.
    fs::remove_file(first.join("tokenizer.json")).unwrap();
    let widen = |positions: &str, out: &Path| {
        oxibert(&[
            "convert",
            text(&first),
            "--positions",
            positions,
            "--segments",
            "4",
            "--out",
            text(out),
            "--json",
        ])
    };
    let json: Value = serde_json::from_str(&stdout(&widen("5", &wide))).unwrap();
    assert_eq!((&json["positions"], &json["segments"]), (&json!(5), &json!(4)));
    let checkpoint = Checkpoint::open(&wide).unwrap();
    checkpoint.weights.check(&names::parameters(&checkpoint.config, Parts::PRETRAINING)).unwrap();
    let table = checkpoint.weights.tensor(names::POSITION_EMBEDDINGS).unwrap();
    assert_eq!((table.shape[0], &table.data[..4]), (5, &table.data[12..16]));
    let settings = fs::read_to_string(wide.join("tokenizer_config.json")).unwrap();
    assert!(settings.contains("\"model_max_length\": 5"), "{settings}");
    assert_eq!(Tokenizer::load(&wide).unwrap().vocab().len(), 8);
    assert!(wide.join("tokenizer.json").exists());
    let refused = error(&widen("2", &at("narrow")));
    assert!(refused.contains("positions: 2 asked for, but the model has 3"), "{refused}");
    assert!(!at("narrow").exists());
}

#[test]
fn nothing_of_the_model_before_stays_beside_the_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (first, bare, out) = (at("first"), at("bare"), at("out"));
    make_checkpoint(&first);
    make_checkpoint(&out);
    fs::write(out.join("modules.json"), "[]").unwrap();
    fs::write(out.join("my-notes.txt"), "mine").unwrap();
    fs::create_dir(&bare).unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(first.join(file), bare.join(file)).unwrap();
    }
    let forced = oxibert(&["convert", text(&bare), "--out", text(&out), "--force"]);
    stdout(&forced);
    let note = String::from_utf8(forced.stderr).unwrap();
    let removed = "removed tokenizer.json, tokenizer_config.json, vocab.txt, modules.json of the model";
    assert!(note.contains(removed), "{note}");
    let mut left: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["config.json", "model.safetensors", "my-notes.txt"]);
    let again = oxibert(&["convert", text(&first), "--out", text(&out), "--force"]);
    assert!(stdout(&again).contains("46 tensors") && again.stderr.is_empty(), "{again:?}");
    // In its own place a checkpoint loses nothing.
    stdout(&oxibert(&["convert", text(&out), "--out", text(&out), "--force"]));
    assert!(Tokenizer::load(&out).is_ok());
}

#[test]
fn a_clean_directory_is_used_as_the_first_one_was() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (first, out) = (at("first"), at("out"));
    make_checkpoint(&first);
    fs::remove_file(first.join("tokenizer_config.json")).unwrap();
    fs::create_dir(first.join("1_Pooling")).unwrap();
    fs::write(first.join("1_Pooling/config.json"), r#"{"pooling_mode": "max"}"#).unwrap();
    fs::write(first.join("special_tokens_map.json"), "{}").unwrap();
    stdout(&oxibert(&["convert", text(&first), "--out", text(&out)]));
    assert_eq!(fs::read_to_string(out.join("special_tokens_map.json")).unwrap(), "{}");
    // Made anew, it says how many positions the model has.
    assert_eq!(Tokenizer::load(&out).unwrap().max_length(), Some(3));
    fs::write(at("text"), "un un\n").unwrap();
    let embed =
        |model: &Path| stdout(&oxibert(&["embed", text(&at("text")), "--json", "--model", text(model)]));
    assert_eq!(embed(&first), embed(&out));
    fs::remove_dir_all(out.join("1_Pooling")).unwrap();
    assert_ne!(embed(&first), embed(&out));
}

#[test]
fn sick_weights_are_told_when_they_are_converted() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    make_checkpoint(&at("first"));
    let weights = at("first").join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&weights, bytes).unwrap();
    let converted = oxibert(&["convert", text(&at("first")), "--out", text(&at("out"))]);
    stdout(&converted);
    let note = String::from_utf8(converted.stderr).unwrap();
    assert_eq!(
        note,
        "note: tensor \"cls.seq_relationship.weight\" has values that are not finite; they stay so\n"
    );
}

#[test]
fn a_vocabulary_of_upper_case_is_no_uncased_one() {
    let directory = tempfile::tempdir().unwrap();
    make_checkpoint(directory.path());
    fs::remove_file(directory.path().join("tokenizer.json")).unwrap();
    fs::remove_file(directory.path().join("tokenizer_config.json")).unwrap();
    let vocab = fs::read_to_string(directory.path().join("vocab.txt")).unwrap();
    fs::write(directory.path().join("vocab.txt"), vocab.replace("un", "UN").replace("##aff", "##AFF"))
        .unwrap();
    let fill = || oxibert(&["fill", "[MASK]", "--model", text(directory.path())]);
    let said = String::from_utf8(fill().stderr).unwrap();
    assert!(
        said.contains("note: the tokenizer lower-cases text") && said.contains("do_lower_case"),
        "{said}"
    );
    let notes = inspect_json(directory.path())["notes"].to_string();
    assert!(notes.contains("upper-case letters only"), "{notes}");
    fs::write(directory.path().join("tokenizer_config.json"), r#"{"do_lower_case": false}"#).unwrap();
    assert!(fill().stderr.is_empty());
}
