//! Once warm, a training step allocates nothing: forward with dropout, both heads, backward, the optimizer; nor does the
//! Transformer's.
//!
//! The allocator of this test program counts, on every thread. So the cases take turns, in one test.

#[path = "../../oxibert-kernels/tests/counting/mod.rs"]
mod counting;

use oxibert::data::Batch;
use oxibert::model::transformer::{self, PairBatch, Transformer};
use oxibert::model::{Config, DropoutPlan, Keep, Pretraining, Targets, Work};
use oxibert::nn::{Gradients, Params};
use oxibert::random::Random;
use oxibert::train::{Algorithm, Optimizer, OptimizerOptions};

const LENGTHS: [usize; 4] = [60, 17, 1, 33];

/// Sequences of different lengths with masked places and next-sentence labels.
fn data(vocab: u64, seed: u64) -> (Batch, Targets) {
    let mut random = Random::new(seed, "test batch", 0);
    let (mut batch, mut targets) = (Batch::new(), Targets::default());
    for length in LENGTHS {
        let start = batch.tokens() as u32;
        let ids: Vec<u32> = (0..length).map(|_| random.below(vocab) as u32).collect();
        let segments: Vec<u8> = (0..length).map(|at| u8::from(at > length / 2)).collect();
        batch.push(&ids, &segments);
        targets.masked.extend((0..length as u32).step_by(7).map(|place| start + place));
        targets.next.push(random.below(2) as u32);
    }
    targets.labels.extend(targets.masked.iter().map(|_| random.below(vocab) as u32));
    (batch, targets)
}

/// A model in training.
struct Training {
    model: Pretraining,
    params: Params,
    gradients: Gradients,
    optimizer: Optimizer,
    work: Work,
    batch: Batch,
    targets: Targets,
    keep: Keep,
}

impl Training {
    fn new((keep, algorithm): Case) -> Self {
        let options = OptimizerOptions { algorithm, ..OptimizerOptions::default() };
        let config = Config::preset("tiny", 500).unwrap();
        let model = Pretraining::new(&config);
        let params = Params::new(model.layout().clone(), &config, 1);
        let (batch, targets) = data(500, 2);
        Self {
            gradients: Gradients::new(model.layout()),
            optimizer: Optimizer::new(model.layout(), options),
            work: Work::default(),
            model,
            params,
            batch,
            targets,
            keep,
        }
    }

    fn step(&mut self, number: u64) {
        let Self { model, params, gradients, optimizer, work, batch, targets, keep } = self;
        gradients.begin();
        let dropout = DropoutPlan::new(model.config(), number);
        let losses = model.gradients(&params.values, gradients, batch, targets, dropout, *keep, work);
        assert!(losses.mlm > 0.0 && losses.nsp > 0.0);
        optimizer.step(&mut params.values, gradients, 1e-3);
    }

    /// Allocations of one step, on all threads.
    fn allocations(&mut self, number: u64) -> usize {
        counting::allocations(|| self.step(number))
    }
}

type Case = (Keep, Algorithm);

const CASES: [Case; 2] = [(Keep::Everything, Algorithm::AdamW), (Keep::Inputs, Algorithm::Lamb)];

#[test]
fn a_warm_step_allocates_nothing() {
    CASES.into_iter().for_each(on_one_thread);
    CASES.into_iter().for_each(on_two_threads);
    [(false, Keep::Everything), (true, Keep::Inputs)].into_iter().for_each(of_the_transformer);
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    CASES.into_iter().for_each(from_outside);
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn on_one_thread(case: Case) {
    pool(1).install(|| {
        let mut training = Training::new(case);
        assert!(training.allocations(0) > 10, "the allocator counts");
        for number in 1..6 {
            assert_eq!(training.allocations(number), 0, "step {number}, {case:?}");
        }
    });
}

/// A thread warms up when it gets its first task of each kind, and which thread gets it is chance. So here the steps must
/// come to rest: ten in a row without an allocation.
fn on_two_threads(case: Case) {
    pool(2).install(|| {
        let mut training = Training::new(case);
        let mut quiet = 0;
        for number in 0..200 {
            quiet = if training.allocations(number) == 0 { quiet + 1 } else { 0 };
            if quiet == 10 {
                return;
            }
        }
        panic!("no ten steps in a row without an allocation in 200, {case:?}");
    });
}

/// A caller outside of any pool.
fn from_outside(case: Case) {
    let mut training = Training::new(case);
    training.step(0);
    for number in 1..6 {
        assert_eq!(training.allocations(number), 0, "step {number}, {case:?}");
    }
}

/// Encoder, decoder and output, post-norm and pre-norm.
fn of_the_transformer((normalize_before, keep): (bool, Keep)) {
    let special = oxibert::text::SpecialIds { unk: 1, cls: 2, sep: 3, pad: Some(0), mask: Some(4) };
    let preset = transformer::Config::preset("tiny", 500, special).unwrap();
    let model = Transformer::new(&transformer::Config { normalize_before, attention_dropout: 0.1, ..preset });
    let values = model.initial(1).values;
    let mut batch = PairBatch::new();
    let mut random = Random::new(3, "test batch", 0);
    let mut ids = |length: usize| (0..length).map(|_| random.below(500) as u32).collect::<Vec<_>>();
    LENGTHS.iter().for_each(|&length| batch.push(&ids(length), &ids(length / 2 + 2)));
    let (mut gradients, mut work) = (Gradients::new(model.layout()), transformer::Work::default());
    pool(1).install(|| {
        for number in 0..6 {
            let training =
                oxibert::model::Training { dropout: model.dropout(number), keep, smoothing: 0.1, share: 1.0 };
            let allocations = counting::allocations(|| {
                gradients.begin();
                model.gradients(&values, &mut gradients, &batch, training, &mut work);
            });
            assert!((number == 0) == (allocations > 0), "step {number}: {allocations}, {keep:?}");
        }
    });
}
