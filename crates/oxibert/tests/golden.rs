//! A tiny BERT beside PyTorch + transformers: hidden states, logits, losses, every gradient, ten optimizer steps.
//!
//! golden/make.py made the figures; golden/README.md says what each is. Neither Python nor the network is needed here.

use std::path::{Path, PathBuf};

use oxibert::data::Batch;
use oxibert::model::{
    Activation, Checkpoint, Config, DropoutPlan, Inspection, Keep, Pretraining, Targets, Weights, Work,
};
use oxibert::nn::{Gradients, Params};
use oxibert::train::{Optimizer, OptimizerOptions};
use serde_json::Value;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn figures(file: &str) -> Weights {
    Weights::open(&golden(file)).unwrap()
}

fn numbers(weights: &Weights, name: &str) -> Vec<f32> {
    weights.tensor(name).unwrap_or_else(|error| panic!("{error}")).data.into_owned()
}

fn data() -> (Batch, Targets) {
    let file: Value = serde_json::from_slice(&std::fs::read(golden("batch.json")).unwrap()).unwrap();
    let list = |value: &Value| -> Vec<u32> { serde_json::from_value(value.clone()).unwrap() };
    let (mut batch, mut targets) = (Batch::new(), Targets::default());
    for sequence in file["sequences"].as_array().unwrap() {
        let start = batch.tokens() as u32;
        let segments: Vec<u8> =
            list(&sequence["segments"]).into_iter().map(|segment| segment as u8).collect();
        batch.push(&list(&sequence["ids"]), &segments);
        targets.masked.extend(list(&sequence["masked"]).iter().map(|place| start + place));
        targets.labels.extend(list(&sequence["labels"]));
        targets.next.push(sequence["next"].as_u64().unwrap() as u32);
    }
    (batch, targets)
}

fn load(config: &Config, weights: &Weights) -> (Pretraining, Params) {
    let model = Pretraining::new(config);
    let params = Params::load(model.layout().clone(), weights).unwrap();
    (model, params)
}

/// The largest deviation, relative to the largest figure (or absolute where all are small).
fn deviation(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
    found.iter().zip(expected).fold(0.0f32, |most, (a, b)| most.max((a - b).abs())) / largest
}

#[track_caller]
fn close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    let deviation = deviation(found, expected);
    assert!(deviation <= tolerance, "{what}: off by {deviation:e}, allowed {tolerance:e}");
}

#[test]
fn forward_gives_pytorchs_figures() {
    let Checkpoint { config, weights } = Checkpoint::open(&golden("")).unwrap();
    let (model, params) = load(&config, &weights);
    let (batch, targets) = data();
    let figures = figures("figures.safetensors");
    let mut seen = Inspection::default();
    let mut work = Work::default();
    let (mlm, nsp) = model.logits(&params.values, &batch, &targets.masked, &mut work, Some(&mut seen));
    close("MLM logits", mlm, &numbers(&figures, "mlm_logits"), 1e-5);
    close("NSP logits", nsp, &numbers(&figures, "nsp_logits"), 1e-5);
    for (layer, hidden) in seen.hidden_states.iter().enumerate() {
        close("hidden states", hidden, &numbers(&figures, &format!("hidden.{layer}")), 1e-5);
    }
    for (layer, weights) in seen.attentions.iter().enumerate() {
        close("attention", weights, &numbers(&figures, &format!("attention.{layer}")), 1e-5);
    }
    let losses = model.evaluate(&params.values, &batch, &targets, &mut work);
    close("MLM loss", &[losses.mlm as f32], &numbers(&figures, "mlm_loss"), 1e-5);
    close("NSP loss", &[losses.nsp as f32], &numbers(&figures, "nsp_loss"), 1e-5);
}

#[test]
fn every_gradient_is_pytorchs() {
    let Checkpoint { config, weights } = Checkpoint::open(&golden("")).unwrap();
    let (model, params) = load(&config, &weights);
    let (batch, targets) = data();
    let figures = figures("figures.safetensors");
    let mut gradients = Gradients::new(model.layout());
    let mut work = Work::default();
    let losses = model.gradients(
        &params.values,
        &mut gradients,
        &batch,
        &targets,
        DropoutPlan::OFF,
        Keep::Everything,
        &mut work,
    );
    close("loss", &[losses.total() as f32], &numbers(&figures, "loss"), 1e-5);
    let gradients = gradients.values();
    for (param, range) in model.layout().iter() {
        close(&param.name, &gradients[range], &numbers(&figures, &format!("grad.{}", param.name)), 1e-5);
    }
}

#[test]
fn ten_steps_are_pytorchs_and_googles() {
    let figures = figures("steps.safetensors");
    for (variant, bias_correction) in [("hf", true), ("google", false)] {
        let Checkpoint { config, weights } = Checkpoint::open(&golden("")).unwrap();
        let (model, mut params) = load(&config, &weights);
        let (batch, targets) = data();
        let options = OptimizerOptions { bias_correction, ..OptimizerOptions::default() };
        let mut optimizer = Optimizer::new(model.layout(), options);
        let mut gradients = Gradients::new(model.layout());
        let mut work = Work::default();
        let mut losses = Vec::new();
        for _ in 0..10 {
            gradients.begin();
            let loss = model.gradients(
                &params.values,
                &mut gradients,
                &batch,
                &targets,
                DropoutPlan::OFF,
                Keep::Inputs,
                &mut work,
            );
            losses.push(loss.total() as f32);
            optimizer.step(&mut params.values, &mut gradients, 1e-3);
        }
        close("losses", &losses, &numbers(&figures, &format!("loss.{variant}")), 1e-5);
        for (param, range) in model.layout().iter() {
            let expected = numbers(&figures, &format!("{variant}.{}", param.name));
            close(&param.name, &params.values[range], &expected, 1e-4);
        }
    }
}

#[test]
fn variants_give_pytorchs_figures() {
    let Checkpoint { config, weights } = Checkpoint::open(&golden("")).unwrap();
    let figures = figures("figures.safetensors");
    let (batch, targets) = data();
    for (name, activation) in [("gelu_new", Activation::GeluTanh), ("relu", Activation::Relu)] {
        let config = Config { hidden_act: activation, head_act: activation, ..config.clone() };
        let (model, params) = load(&config, &weights);
        check_variant(name, &model, &params, &batch, &targets, &figures);
    }
    let untied = Config { tie_word_embeddings: false, ..config };
    let model = Pretraining::new(&untied);
    let mut params = Params { layout: model.layout().clone(), values: vec![0.0; model.layout().len()] };
    for (param, range) in model.layout().iter() {
        params.values[range].copy_from_slice(&match param.name.as_str() {
            "cls.predictions.decoder.weight" => numbers(&figures, "untied.decoder"),
            name => numbers(&weights, name),
        });
    }
    check_variant("untied", &model, &params, &batch, &targets, &figures);
}

fn check_variant(
    name: &str,
    model: &Pretraining,
    params: &Params,
    batch: &Batch,
    targets: &Targets,
    figures: &Weights,
) {
    let figure = |what: &str| numbers(figures, &format!("variant.{name}.{what}"));
    let mut seen = Inspection::default();
    let mut work = Work::default();
    let (mlm, _) = model.logits(&params.values, batch, &targets.masked, &mut work, Some(&mut seen));
    close("MLM logits", mlm, &figure("mlm_logits"), 1e-5);
    close("last layer", seen.hidden_states.last().unwrap(), &figure("last"), 1e-5);
    let losses = model.evaluate(&params.values, batch, targets, &mut work);
    close("loss", &[losses.total() as f32], &figure("loss"), 1e-5);
}
