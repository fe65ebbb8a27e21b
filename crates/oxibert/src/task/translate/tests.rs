use super::*;
use crate::model::Keep;
use crate::text::Vocab;
use crate::train::{Learner, Moment};

const WORDS: &str = "[PAD] [UNK] [CLS] [SEP] [MASK] one two three four five eins zwei drei vier fünf";

fn tokenizer() -> Tokenizer {
    Tokenizer::cased(Vocab::from_tokens(WORDS.split(' ')).unwrap()).unwrap()
}

fn pairs() -> Vec<Pair> {
    let numbers = [("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf")];
    let pair = |line: usize| {
        let words = (0..1 + line % 4).map(|place| numbers[(line * 3 + place * 2) % 5]);
        let (source, target): (Vec<&str>, Vec<&str>) = words.unzip();
        Pair { source: source.join(" "), target: target.join(" "), line }
    };
    (0..40).map(pair).collect()
}

fn config(tokenizer: &Tokenizer) -> Config {
    let tokens = tokenizer.vocab().len();
    Config { d_model: 32, dropout: 0.0, ..Config::preset("tiny", tokens, tokenizer.special()).unwrap() }
}

fn options() -> TeachOptions {
    TeachOptions { tokens: 60, smoothing: 0.0, seed: 1, keep: Keep::Everything }
}

#[test]
fn pairs_begin_and_end_and_those_that_do_not_fit_are_left_out() {
    let tokenizer = tokenizer();
    let config = Config { max_position_embeddings: 5, ..config(&tokenizer) };
    let pair = |source: &str, target: &str| Pair { source: source.into(), target: target.into(), line: 1 };
    let pairs =
        [pair("one two", "eins"), pair("", "eins"), pair("one", " "), pair("one one one one", "eins")];
    let learner = Translate::new(&config, &tokenizer, &pairs, &[], options()).unwrap();
    assert_eq!((learner.examples(), learner.left_out(), learner.tokens()), (1, 3, 4 + 2));
    let encoded = encode(&pairs, &tokenizer, &config);
    assert_eq!(encoded, [EncodedPair { source: vec![2, 5, 6, 3], target: vec![2, 10, 3] }]);
    let refusal =
        Translate::new(&config, &tokenizer, &pairs[1..2], &[], options()).err().unwrap().to_string();
    assert!(refusal.starts_with("train: not one example"), "{refusal}");
}

/// Trains for so many steps from a position on; returns the parameters and where it stands.
fn train(
    learner: &mut Translate<'_>,
    mut values: Vec<f32>,
    steps: std::ops::Range<u64>,
) -> (Vec<f32>, serde_json::Value) {
    let mut gradients = Gradients::new(learner.layout());
    for pass in steps {
        gradients.begin();
        let report = learner.gradients(&values, &mut gradients, Moment { pass, progress: 0.0 });
        assert!(report.tokens > 0 && report.tokens <= 60 && report.flops > 0);
        values.iter_mut().zip(gradients.values()).for_each(|(value, gradient)| *value -= 0.1 * gradient);
    }
    (values, learner.position())
}

#[test]
fn a_run_that_goes_on_is_the_run() {
    let tokenizer = tokenizer();
    let config = Config { dropout: 0.1, ..config(&tokenizer) };
    let pairs = pairs();
    let learner = || Translate::new(&config, &tokenizer, &pairs, &pairs[..5], options()).unwrap();
    let start = learner().model().initial(1).values;
    let whole = train(&mut learner(), start.clone(), 0..30);
    let (half, position) = train(&mut learner(), start, 0..13);
    let mut second = learner();
    second.seek(&position).unwrap();
    assert_eq!(train(&mut second, half, 13..30), whole);
    assert!(second.epochs() > 1.0);
    assert!(second.seek(&serde_json::json!({ "epoch": 0, "index": 40 })).is_err());
    assert!(second.seek(&serde_json::json!("nowhere")).is_err());
}

/// The gradient of a first batch of so many tokens, on so many threads.
fn gradient(config: &Config, tokenizer: &Tokenizer, tokens: usize, threads: usize) -> Vec<f32> {
    let pairs: Vec<Pair> = std::iter::repeat_with(pairs).take(3).flatten().collect();
    let options = TeachOptions { tokens, ..options() };
    let mut learner = Translate::new(config, tokenizer, &pairs, &[], options).unwrap();
    let values = learner.model().initial(1).values;
    let mut gradients = Gradients::new(learner.layout());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let pass = pool.install(|| learner.gradients(&values, &mut gradients, Moment { pass: 0, progress: 0.0 }));
    assert!(pass.tokens as usize > tokens - 12, "the budget is used");
    gradients.values().to_vec()
}

#[test]
fn halves_of_a_batch_have_its_gradient_on_any_number_of_threads() {
    let tokenizer = tokenizer();
    let config = config(&tokenizer);
    let dropping = Config { dropout: 0.1, ..config.clone() };
    let alone = gradient(&dropping, &tokenizer, 600, 1);
    for threads in [2, 3, 4] {
        assert!(gradient(&dropping, &tokenizer, 600, threads) == alone, "{threads} threads");
    }
    let pairs: Vec<Pair> = std::iter::repeat_with(pairs).take(3).flatten().collect();
    let options = TeachOptions { tokens: 600, ..options() };
    let mut learner = Translate::new(&config, &tokenizer, &pairs, &[], options).unwrap();
    let values = learner.model().initial(1).values;
    let mut whole = Gradients::new(learner.layout());
    let mut batch = PairBatch::new();
    for number in learner.next_examples() {
        let pair = &learner.training[number];
        batch.push(&pair.source, &pair.target);
    }
    let training = Training { dropout: DropoutPlan::OFF, keep: Keep::Everything, smoothing: 0.0, share: 1.0 };
    learner.model().gradients(&values, &mut whole, &batch, training, &mut Work::default());
    let (whole, cut) = (whole.values(), gradient(&config, &tokenizer, 600, 2));
    let largest = whole.iter().fold(0.0f32, |most, g| most.max(g.abs()));
    assert!(cut != whole, "two sums instead of one");
    assert!(cut.iter().zip(whole).all(|(cut, whole)| (cut - whole).abs() < 1e-5 * largest));
}

#[test]
fn it_learns_to_count_and_is_saved_as_it_is_used() {
    let tokenizer = tokenizer();
    let pairs = pairs();
    let exact = |found: &[String], wanted: &[String]| {
        100.0 * found.iter().zip(wanted).filter(|(found, wanted)| found == wanted).count() as f64
            / wanted.len() as f64
    };
    let mut learner = Translate::new(&config(&tokenizer), &tokenizer, &pairs, &pairs, options())
        .unwrap()
        .scored(&pairs[..20], ("bleu", &exact));
    assert_eq!(learner.goal(), ("bleu", Better::Higher));
    let mut values = learner.model().initial(1).values;
    let before = learner.evaluate(&values).unwrap();
    let mut optimizer = crate::train::Optimizer::new(learner.layout(), Default::default());
    let mut gradients = Gradients::new(learner.layout());
    for pass in 0..150 {
        gradients.begin();
        learner.gradients(&values, &mut gradients, Moment { pass, progress: 0.0 });
        optimizer.step(&mut values, &mut gradients, 3e-3);
    }
    let after = learner.evaluate(&values).unwrap();
    assert!(
        before.value("bleu").unwrap() < 20.0 && after.value("bleu").unwrap() > 90.0,
        "{before:?} {after:?}"
    );
    assert!(after.value("perplexity").unwrap() < 1.2);
    let sample = &learner.samples()[3];
    assert_eq!(sample.translation, sample.reference);
    let directory = tempfile::tempdir().unwrap();
    learner.save(&values, directory.path()).unwrap();
    let (model, params) =
        crate::model::transformer::Checkpoint::open(directory.path()).unwrap().load().unwrap();
    assert_eq!((params.values, model.config().eos_token_id), (values, 3));
    assert!(Tokenizer::load(directory.path()).is_ok());
}
