//! A tiny Transformer and a tiny causal model beside PyTorch + transformers: logits, losses, every gradient, ten optimizer steps,
//! what they say.
//!
//! golden/make_transformer.py made the figures, and transformers saved the models. Neither Python nor the network is needed.

use std::path::{Path, PathBuf};

use oxibert::infer::{DecodeOptions, GenerateOptions, Generator, Translator};
use oxibert::model::causal::{self, Causal, TextBatch};
use oxibert::model::transformer::{self, PairBatch, Transformer};
use oxibert::model::{DropoutPlan, Inspection, Keep, TokenLoss, Training, Weights};
use oxibert::nn::{Gradients, Layout, Params};
use oxibert::text::{Tokenizer, Vocab};
use oxibert::train::{Optimizer, OptimizerOptions};
use serde_json::Value;

const SMOOTHING: f32 = 0.1;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn numbers(weights: &Weights, name: &str) -> Vec<f32> {
    weights.tensor(name).unwrap_or_else(|error| panic!("{error}")).data.into_owned()
}

fn data(file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(file)).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

/// The largest deviation, relative to the largest figure (or absolute where all are small).
#[track_caller]
fn close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
    let off = found.iter().zip(expected).fold(0.0f32, |most, (a, b)| most.max((a - b).abs())) / largest;
    assert!(off <= tolerance, "{what}: off by {off:e}, allowed {tolerance:e}");
}

fn training(keep: Keep) -> Training {
    Training { dropout: DropoutPlan::OFF, keep, smoothing: SMOOTHING, share: 1.0 }
}

/// Compares values of a layout with the figures, all that learn; those that checkpoints hold the other way round are there so,
/// too.
fn compare(layout: &Layout, values: &[f32], figures: &Weights, prefix: &str, tolerance: f32) {
    let tensors = oxibert::nn::tensors(layout, values);
    assert!(tensors.len() > 20);
    for tensor in tensors.iter().filter(|tensor| tensor.name != "final_logits_bias") {
        let name = format!("{prefix}{}", tensor.name);
        assert_eq!(figures.shape(&name), Some(&*tensor.shape), "{name}");
        close(&name, &tensor.data, &numbers(figures, &name), tolerance);
    }
}

fn ten_steps(
    layout: &Layout,
    mut values: Vec<f32>,
    figures: &Weights,
    mut gradients_of: impl FnMut(&[f32], &mut Gradients) -> TokenLoss,
) {
    let options = OptimizerOptions { beta2: 0.98, eps: 1e-6, ..OptimizerOptions::default() };
    let mut optimizer = Optimizer::new(layout, options);
    let mut gradients = Gradients::new(layout);
    let mut losses = Vec::new();
    for _ in 0..10 {
        gradients.begin();
        losses.push(gradients_of(&values, &mut gradients).loss as f32);
        optimizer.step(&mut values, &mut gradients, 1e-3);
    }
    close("losses", &losses, &numbers(figures, "losses"), 1e-5);
    compare(layout, &values, figures, "", 1e-4);
}

fn pairs() -> (PairBatch, Value) {
    let content = data("transformer/data.json");
    let mut batch = PairBatch::new();
    for pair in content["pairs"].as_array().unwrap() {
        batch.push(&ids(&pair["source"]), &ids(&pair["target"]));
    }
    (batch, content)
}

fn translator() -> (Transformer, Params, Weights) {
    let (model, params) = transformer::Checkpoint::open(&golden("transformer")).unwrap().load().unwrap();
    (model, params, Weights::open(&golden("transformer/figures.safetensors")).unwrap())
}

#[test]
fn the_transformers_forward_is_pytorchs() {
    let (model, params, figures) = translator();
    let (batch, _) = pairs();
    let (mut work, mut seen) = (transformer::Work::default(), Inspection::default());
    model.check(&batch).unwrap();
    let logits = model.logits(&params.values, &batch, &mut work, Some(&mut seen));
    close("logits", logits, &numbers(&figures, "logits"), 1e-5);
    for (layer, hidden) in seen.hidden_states.iter().enumerate() {
        close("hidden states", hidden, &numbers(&figures, &format!("hidden.{layer}")), 1e-5);
    }
    assert_eq!((seen.hidden_states.len(), seen.cross_attentions.len()), (3, 2));
    for (layer, weights) in seen.cross_attentions.iter().enumerate() {
        close("attention", weights, &numbers(&figures, &format!("cross.{layer}")), 1e-5);
    }
    for (name, smoothing) in [("loss", SMOOTHING), ("plain_loss", 0.0)] {
        let loss = model.evaluate(&params.values, &batch, smoothing, &mut work);
        close(name, &[loss.loss as f32], &numbers(&figures, name), 1e-5);
    }
}

#[test]
fn every_gradient_of_the_transformer_is_pytorchs() {
    let (model, params, figures) = translator();
    let (batch, _) = pairs();
    for keep in [Keep::Everything, Keep::Inputs] {
        let mut gradients = Gradients::new(model.layout());
        let mut work = transformer::Work::default();
        let loss = model.gradients(&params.values, &mut gradients, &batch, training(keep), &mut work);
        close("loss", &[loss.loss as f32], &numbers(&figures, "loss"), 1e-5);
        compare(model.layout(), gradients.values(), &figures, "grad.", 1e-5);
    }
}

#[test]
fn ten_steps_of_the_transformer_are_pytorchs() {
    let (model, params, _) = translator();
    let (batch, _) = pairs();
    let figures = Weights::open(&golden("transformer/steps.safetensors")).unwrap();
    let mut work = transformer::Work::default();
    ten_steps(model.layout(), params.values, &figures, |values, gradients| {
        model.gradients(values, gradients, &batch, training(Keep::Everything), &mut work)
    });
}

#[test]
fn embeddings_that_are_not_shared_give_pytorchs_figures() {
    let (model, _, figures) = translator();
    let (batch, _) = pairs();
    for (name, tied) in [("tied", true), ("apart", false)] {
        let config = transformer::Config {
            share_encoder_decoder_embeddings: false,
            tie_word_embeddings: tied,
            ..model.config().clone()
        };
        let model = Transformer::new(&config);
        let mut values = vec![0.0; model.layout().len()];
        for (param, range) in model.layout().iter().filter(|(param, _)| param.name != "final_logits_bias") {
            values[range].copy_from_slice(&numbers(&figures, &format!("variant.{name}.{}", param.name)));
        }
        let mut work = transformer::Work::default();
        let logits = model.logits(&values, &batch, &mut work, None);
        close(name, logits, &numbers(&figures, &format!("variant.{name}.logits")), 1e-5);
        let loss = model.evaluate(&values, &batch, SMOOTHING, &mut work).loss as f32;
        close(name, &[loss], &numbers(&figures, &format!("variant.{name}.loss")), 1e-5);
    }
}

fn texts() -> (TextBatch, Value) {
    let content = data("causal/data.json");
    let mut batch = TextBatch::new();
    content["texts"].as_array().unwrap().iter().for_each(|text| batch.push(&ids(text)));
    (batch, content)
}

fn speaker() -> (Causal, Params, Weights) {
    let (model, params) = causal::Checkpoint::open(&golden("causal")).unwrap().load().unwrap();
    (model, params, Weights::open(&golden("causal/figures.safetensors")).unwrap())
}

#[test]
fn the_causal_models_forward_is_pytorchs() {
    let (model, params, figures) = speaker();
    let (batch, _) = texts();
    let (mut work, mut seen) = (causal::Work::default(), Inspection::default());
    model.check(&batch.given).unwrap();
    let logits = model.logits(&params.values, &batch.given, &mut work, Some(&mut seen));
    close("logits", logits, &numbers(&figures, "logits"), 1e-5);
    assert_eq!((seen.hidden_states.len(), seen.attentions.len()), (3, 2));
    for (layer, hidden) in seen.hidden_states.iter().enumerate() {
        close("hidden states", hidden, &numbers(&figures, &format!("hidden.{layer}")), 1e-5);
    }
    for (layer, weights) in seen.attentions.iter().enumerate() {
        close("attention", weights, &numbers(&figures, &format!("attention.{layer}")), 1e-5);
    }
    let loss = model.evaluate(&params.values, &batch, 0.0, &mut work);
    close("loss", &[loss.loss as f32], &numbers(&figures, "plain_loss"), 1e-5);
}

#[test]
fn every_gradient_of_the_causal_model_is_pytorchs() {
    let (model, params, figures) = speaker();
    let (batch, _) = texts();
    for keep in [Keep::Everything, Keep::Inputs] {
        let mut gradients = Gradients::new(model.layout());
        let mut work = causal::Work::default();
        model.gradients(&params.values, &mut gradients, &batch, training(keep), &mut work);
        compare(model.layout(), gradients.values(), &figures, "grad.", 1e-5);
    }
}

#[test]
fn ten_steps_of_the_causal_model_are_pytorchs() {
    let (model, params, _) = speaker();
    let (batch, _) = texts();
    let figures = Weights::open(&golden("causal/steps.safetensors")).unwrap();
    let mut work = causal::Work::default();
    ten_steps(model.layout(), params.values, &figures, |values, gradients| {
        model.gradients(values, gradients, &batch, training(Keep::Inputs), &mut work)
    });
}

/// A vocabulary whose token 7 is the word w7.
fn tokenizer() -> Tokenizer {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned);
    let words = (5..40).map(|id| format!("w{id}"));
    Tokenizer::uncased(Vocab::from_tokens(special.into_iter().chain(words)).unwrap()).unwrap()
}

fn text(tokenizer: &Tokenizer, ids: &[u32]) -> String {
    let words: Vec<&str> = ids.iter().map(|&id| tokenizer.vocab().token(id).unwrap()).collect();
    words.join(" ")
}

#[test]
fn greedy_translations_are_transformers() {
    let checkpoint = transformer::Checkpoint::open(&golden("transformer")).unwrap();
    let translator = Translator::new(checkpoint, tokenizer()).unwrap();
    let content = data("transformer/data.json");
    let words = |pair: &Value| {
        let source = ids(&pair["source"]);
        text(translator.tokenizer(), &source[1..source.len() - 1])
    };
    let sources: Vec<String> = content["pairs"].as_array().unwrap().iter().map(words).collect();
    let options = DecodeOptions { max_length: Some(11), ..DecodeOptions::GREEDY };
    let found = translator.translate(&sources, &options, &()).unwrap();
    for (found, expected) in found.iter().zip(content["greedy"].as_array().unwrap()) {
        let mut expected = ids(expected);
        expected.retain(|&id| id != 3); // the end
        assert_eq!(found[0].tokens.join(" "), text(translator.tokenizer(), &expected[1..]));
    }
}

#[test]
fn greedy_texts_are_transformers() {
    let checkpoint = causal::Checkpoint::open(&golden("causal")).unwrap();
    let generator = Generator::new(checkpoint, tokenizer()).unwrap();
    let content = data("causal/data.json");
    let given = |text: &Value| generator.tokenizer().vocab().token(ids(text)[1]).unwrap().to_owned();
    let beginnings: Vec<String> = content["texts"].as_array().unwrap().iter().map(given).collect();
    let options = GenerateOptions { max_length: Some(12), ..GenerateOptions::greedy() };
    let found = generator.generate(&beginnings, &options, &()).unwrap();
    for (found, expected) in found.iter().zip(content["greedy"].as_array().unwrap()) {
        assert_eq!(found.trim_start(), generator.tokenizer().decode(&ids(expected)[2..]));
    }
}
