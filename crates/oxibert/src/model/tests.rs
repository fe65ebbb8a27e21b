//! The whole model against itself: gradients by finite differences, batches, threads, memory for time.

use super::names::{Parts, parameters};
use super::*;
use crate::data::Batch;
use crate::nn::{Gradients, Layout, Params};
use crate::random::Random;
use crate::train::{Optimizer, OptimizerOptions};

pub(super) fn config() -> Config {
    Config {
        hidden_size: 24,
        num_attention_heads: 3,
        intermediate_size: 40,
        num_hidden_layers: 3,
        max_position_embeddings: 16,
        ..Config::preset("tiny", 50).unwrap()
    }
}

/// Ragged sequences with masked places and next-sentence labels.
pub(super) fn data(lengths: &[usize], seed: u64) -> (Batch, Targets) {
    let mut random = Random::new(seed, "test batch", 0);
    let (mut batch, mut targets) = (Batch::new(), Targets::default());
    for &length in lengths {
        let start = batch.tokens() as u32;
        let ids: Vec<u32> = (0..length).map(|_| 5 + random.below(45) as u32).collect();
        let segments: Vec<u8> = (0..length).map(|at| u8::from(at > length / 2)).collect();
        batch.push(&ids, &segments);
        for place in [1, length / 2].into_iter().filter(|&place| place < length) {
            targets.masked.push(start + place as u32);
            targets.labels.push(5 + random.below(45) as u32);
        }
        targets.next.push(random.below(2) as u32);
    }
    (batch, targets)
}

/// A model far from its start, where gradients are not tiny.
fn model(config: &Config) -> (Pretraining, Vec<f32>) {
    let model = Pretraining::new(config);
    let config = Config { initializer_range: 0.3, ..config.clone() };
    let layout = Layout::new(parameters(&config, Parts::PRETRAINING));
    let values = Params::new(layout, &config, 3).values;
    (model, values)
}

fn gradients(
    model: &Pretraining,
    values: &[f32],
    data: &(Batch, Targets),
    dropout: DropoutPlan,
    keep: Keep,
) -> (Losses, Vec<f32>) {
    let mut gradients = Gradients::new(model.layout());
    let losses =
        model.gradients(values, &mut gradients, &data.0, &data.1, dropout, keep, &mut Work::default());
    (losses, gradients.values().to_vec())
}

/// With dropout, which is a function of its seed.
#[test]
fn gradients_are_finite_differences() {
    for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Tanh] {
        for tied in [true, false] {
            let config = Config {
                hidden_act: activation,
                head_act: activation,
                tie_word_embeddings: tied,
                ..config()
            };
            let (model, values) = model(&config);
            let data = data(&[9, 4, 12], 1);
            let dropout = DropoutPlan::new(&config, 7);
            let run = |values: &[f32]| gradients(&model, values, &data, dropout, Keep::Everything);
            let loss = |values: &[f32]| run(values).0.total();
            assert_differences(model.layout().iter(), &values, &run(&values).1, loss);
        }
    }
}

/// (L(p + ev) - L(p - ev)) / 2e beside g.v, for one parameter at a time.
pub(super) fn assert_differences<'p>(
    params: impl Iterator<Item = (&'p names::Param, std::ops::Range<usize>)>,
    values: &[f32],
    gradient: &[f32],
    loss: impl Fn(&[f32]) -> f64,
) {
    const STEP: f32 = 2e-3;
    for (number, (param, range)) in params.enumerate() {
        let mut random = Random::new(9, "direction", number as u64);
        let direction: Vec<f32> = range.clone().map(|_| random.unit() as f32 - 0.5).collect();
        let moved = |sign: f32| {
            let mut values = values.to_vec();
            let moved = values[range.clone()].iter_mut().zip(&direction);
            moved.for_each(|(value, d)| *value += sign * STEP * d);
            loss(&values)
        };
        let expected = (moved(1.0) - moved(-1.0)) / (2.0 * f64::from(STEP));
        let found: f64 = gradient[range.clone()].iter().zip(&direction).map(|(g, d)| f64::from(g * d)).sum();
        let size = gradient[range].iter().map(|g| f64::from(g * g)).sum::<f64>().sqrt();
        assert!(
            (expected - found).abs() < 0.01 * size.max(0.05),
            "{}: differences {expected}, gradient {found}, its norm {size}",
            param.name
        );
    }
}

#[test]
fn computing_again_instead_of_keeping_changes_no_bit() {
    let config = config();
    let (model, values) = model(&config);
    let data = data(&[9, 4, 12], 1);
    let dropout = DropoutPlan::new(&config, 7);
    let kept = gradients(&model, &values, &data, dropout, Keep::Everything);
    assert_eq!(kept, gradients(&model, &values, &data, dropout, Keep::Inputs));
    assert_ne!(kept.0, gradients(&model, &values, &data, DropoutPlan::new(&config, 8), Keep::Everything).0);
    assert_ne!(kept.0, gradients(&model, &values, &data, DropoutPlan::OFF, Keep::Everything).0);
}

/// The masked-token head works on blocks of rows; a batch of several blocks must be the mean of its halves.
#[test]
fn a_batch_of_many_masked_tokens_is_the_mean_of_its_halves() {
    let (model, values) = model(&config());
    let run = |seeds: &[u64]| {
        let (mut batch, mut targets) = (Batch::new(), Targets::default());
        for &seed in seeds {
            let (half, half_targets) = data(&[12; 200], seed);
            let start = batch.tokens() as u32;
            for ends in half.offsets.windows(2) {
                let segments: Vec<u8> = half.segments[ends[0]..ends[1]].iter().map(|&s| s as u8).collect();
                batch.push(&half.ids[ends[0]..ends[1]], &segments);
            }
            targets.masked.extend(half_targets.masked.iter().map(|at| start + at));
            targets.labels.extend(half_targets.labels);
        }
        gradients(&model, &values, &(batch, targets), DropoutPlan::OFF, Keep::Everything)
    };
    let (both, [one, two]) = (run(&[1, 2]), [run(&[1]), run(&[2])]);
    assert!((both.0.mlm - (one.0.mlm + two.0.mlm) / 2.0).abs() < 1e-9);
    assert_eq!(both.0.mlm_correct, one.0.mlm_correct + two.0.mlm_correct);
    for ((both, one), two) in both.1.iter().zip(&one.1).zip(&two.1) {
        assert!((both - (one + two) / 2.0).abs() < 1e-5, "{both} beside {one} and {two}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let config = Config::preset("tiny", 50).unwrap();
    let (model, values) = model(&config);
    let data = data(&[60, 33, 128, 1, 77], 2);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| gradients(&model, &values, &data, DropoutPlan::new(&config, 1), Keep::Everything))
    };
    let one = with(1);
    assert!(one.0.total().is_finite());
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}

#[test]
fn a_sequence_is_the_same_alone_and_among_others() {
    let config = config();
    let (model, values) = model(&config);
    let (batch, _) = data(&[9, 4, 12], 1);
    let mut work = Work::default();
    let mut together = Inspection::default();
    model.logits(&values, &batch, &[], &mut work, Some(&mut together));
    for number in 0..batch.sequences() {
        let range = batch.offsets[number]..batch.offsets[number + 1];
        let mut alone = Batch::new();
        let segments: Vec<u8> = batch.segments[range.clone()].iter().map(|&segment| segment as u8).collect();
        alone.push(&batch.ids[range.clone()], &segments);
        let mut found = Inspection::default();
        model.logits(&values, &alone, &[], &mut work, Some(&mut found));
        for (alone, together) in found.hidden_states.iter().zip(&together.hidden_states) {
            assert_eq!(alone[..], together[range.start * 24..range.end * 24]);
        }
    }
}

#[test]
fn one_batch_is_learned_by_heart() {
    let config = config();
    let model = Pretraining::new(&config);
    let mut params = Params::new(model.layout().clone(), &config, 1);
    let (batch, targets) = data(&[9, 4, 12], 1);
    let mut optimizer = Optimizer::new(model.layout(), OptimizerOptions::default());
    let mut gradients = Gradients::new(model.layout());
    let mut work = Work::default();
    let first = model.evaluate(&params.values, &batch, &targets, &mut work);
    for step in 0..120 {
        gradients.begin();
        let dropout = DropoutPlan::new(&config, step);
        model.gradients(
            &params.values,
            &mut gradients,
            &batch,
            &targets,
            dropout,
            Keep::Everything,
            &mut work,
        );
        optimizer.step(&mut params.values, &mut gradients, 3e-3);
    }
    let last = model.evaluate(&params.values, &batch, &targets, &mut work);
    assert!(first.total() > 4.0 && last.total() < 0.2, "{first:?} {last:?}");
    assert_eq!((last.mlm_correct, last.nsp_correct), (targets.labels.len(), 3));
}
