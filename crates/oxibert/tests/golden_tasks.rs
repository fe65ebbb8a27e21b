//! The heads of fine-tuning beside PyTorch + transformers: logits, losses and every gradient.
//!
//! golden/make_tasks.py made the figures from the encoder and the batch of golden/make.py.

use std::path::{Path, PathBuf};

use oxibert::data::Batch;
use oxibert::model::{Checkpoint, DropoutPlan, Head, Keep, TaskModel, TaskStep, TaskWork, Weights};
use oxibert::nn::{Gradients, Params};
use oxibert_kernels::{IGNORE, cross_entropy};
use serde_json::Value;

const TOLERANCE: f32 = 2e-5;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn batch() -> Batch {
    let file: Value = serde_json::from_slice(&std::fs::read(golden("batch.json")).unwrap()).unwrap();
    let list = |value: &Value| -> Vec<u32> { serde_json::from_value(value.clone()).unwrap() };
    let mut batch = Batch::new();
    for sequence in file["sequences"].as_array().unwrap() {
        let segments: Vec<u8> =
            list(&sequence["segments"]).into_iter().map(|segment| segment as u8).collect();
        batch.push(&list(&sequence["ids"]), &segments);
    }
    batch
}

#[track_caller]
fn close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1.0f32, |most, value| most.max(value.abs()));
    let off = found.iter().zip(expected).fold(0.0f32, |most, (a, b)| most.max((a - b).abs())) / largest;
    assert!(off <= TOLERANCE, "{what}: off by {off:e}, allowed {TOLERANCE:e}");
}

/// Logits, loss and gradients of one head; `loss` turns logits into the mean loss's gradient. It reads those of all rows, or of
/// `asked` alone.
fn compare(name: &str, head: Head, asked: &[u32], loss: impl Fn(&mut [f32], &Batch) -> f64) {
    let figures = Weights::open(&golden("tasks.safetensors")).unwrap();
    let figure = |key: &str| figures.tensor(&format!("{name}.{key}")).unwrap().data.into_owned();
    let Checkpoint { config, weights } = Checkpoint::open(&golden("model.safetensors")).unwrap();
    let model = TaskModel::new(&config, head);
    let Params { layout, mut values } =
        Params::load_known(model.layout().clone(), &config, &weights, 1).unwrap();
    for (param, range) in layout.iter().filter(|(param, _)| !weights.contains(&param.name)) {
        values[range].copy_from_slice(&figure(&param.name));
    }
    let (batch, mut work) = (batch(), TaskWork::default());
    close(&format!("{name} logits"), model.logits(&values, &batch, &mut work), &figure("logits"));
    let asked = [None, Some(asked)].into_iter().filter(|asked| *asked != Some(&[]));
    for (asked, keep) in asked.flat_map(|asked| [(asked, Keep::Everything), (asked, Keep::Inputs)]) {
        let mut gradients = Gradients::new(model.layout());
        let step = TaskStep { batch: &batch, asked, dropout: DropoutPlan::OFF, keep };
        let found = model.gradients(&values, &mut gradients, step, &mut work, |logits| loss(logits, &batch));
        close(&format!("{name} loss"), &[found as f32], &figure("loss"));
        let gradients = gradients.values();
        for (param, range) in layout.iter() {
            close(
                &format!("{name} {}", param.name),
                &gradients[range],
                &figure(&format!("grad.{}", param.name)),
            );
        }
    }
}

#[test]
fn classes() {
    compare("sequence", Head::Sequence(3), &[], |logits, _| {
        cross_entropy(logits, &[0, 1, 2, 0], 0.0, 0.25).loss / 4.0
    });
}

#[test]
fn tags() {
    let tag = |row: usize, at: usize| if at.is_multiple_of(3) { IGNORE } else { ((row + at) % 5) as u32 };
    let labels: Vec<u32> = batch()
        .offsets
        .windows(2)
        .enumerate()
        .flat_map(|(row, ends)| (0..ends[1] - ends[0]).map(move |at| tag(row, at)))
        .collect();
    let asked: Vec<u32> =
        (0..).zip(&labels).filter(|&(_, &label)| label != IGNORE).map(|(row, _)| row).collect();
    compare("tokens", Head::Tokens(5), &asked, |logits, _| {
        let count = asked.len();
        cross_entropy(logits, &labels, 0.0, 1.0 / count as f32).loss / count as f64
    });
}

#[test]
fn spans() {
    let places = [[1, 4], [0, 0], [3, 9], [2, 2]];
    compare("span", Head::Span, &[], |logits, batch| {
        let mut sum = 0.0;
        for (ends, places) in batch.offsets.windows(2).zip(places) {
            let rows = &mut logits[2 * ends[0]..2 * ends[1]];
            for (side, place) in places.into_iter().enumerate() {
                let mut scores: Vec<f32> = rows.iter().skip(side).step_by(2).copied().collect();
                sum += cross_entropy(&mut scores, &[place], 0.0, 0.125).loss / 8.0;
                rows.iter_mut().skip(side).step_by(2).zip(scores).for_each(|(to, score)| *to = score);
            }
        }
        sum
    });
}

#[test]
fn choices() {
    compare("choice", Head::Sequence(1), &[], |logits, _| {
        logits
            .chunks_exact_mut(2)
            .zip([1, 0])
            .map(|(row, right)| cross_entropy(row, &[right], 0.0, 0.5).loss / 2.0)
            .sum()
    });
}
