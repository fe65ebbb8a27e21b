//! The Transformer against itself: gradients by finite differences, the causal limit, caches, searches, threads, batches.

use super::*;
use crate::model::Activation;
use crate::model::tests::assert_differences;
use crate::random::Random;
use crate::text::SpecialIds;
use crate::train::{Optimizer, OptimizerOptions};

const START: u32 = 2;
const END: u32 = 3;

pub(super) fn special() -> SpecialIds {
    SpecialIds { unk: 1, cls: START, sep: END, pad: Some(0), mask: Some(4) }
}

fn config() -> Config {
    Config {
        d_model: 24,
        encoder_attention_heads: 3,
        decoder_attention_heads: 2,
        encoder_ffn_dim: 40,
        decoder_ffn_dim: 32,
        max_position_embeddings: 24,
        attention_dropout: 0.1,
        init_std: 0.3,
        ..Config::preset("tiny", 50, special()).unwrap()
    }
}

/// The forms that the options give.
fn forms() -> Vec<Config> {
    let gelu = Config { activation_function: Activation::GeluTanh, ..config() };
    vec![
        gelu.clone(),
        Config { normalize_before: true, ..gelu.clone() },
        Config { share_encoder_decoder_embeddings: false, scale_embedding: false, ..gelu.clone() },
        Config { tie_word_embeddings: false, normalize_before: true, ..gelu },
    ]
}

fn words(random: &mut Random, count: usize) -> Vec<u32> {
    (0..count).map(|_| 5 + random.below(45) as u32).collect()
}

/// Pairs of so many words on each side.
fn pairs(lengths: &[(usize, usize)], seed: u64) -> Vec<[Vec<u32>; 2]> {
    let mut random = Random::new(seed, "test pairs", 0);
    let whole = |words: Vec<u32>| [&[START], &words[..], &[END]].concat();
    lengths.iter().map(|&(n, m)| [n, m].map(|count| whole(words(&mut random, count)))).collect()
}

fn batch(pairs: &[[Vec<u32>; 2]]) -> PairBatch {
    let mut batch = PairBatch::new();
    pairs.iter().for_each(|[source, target]| batch.push(source, target));
    batch
}

const LENGTHS: [(usize, usize); 3] = [(7, 4), (2, 9), (10, 1)];

fn values(model: &Transformer) -> Vec<f32> {
    model.initial(3).values
}

fn gradients(
    model: &Transformer,
    values: &[f32],
    batch: &PairBatch,
    training: Training,
) -> (TokenLoss, Vec<f32>) {
    let mut gradients = Gradients::new(model.layout());
    let loss = model.gradients(values, &mut gradients, batch, training, &mut Work::default());
    (loss, gradients.values().to_vec())
}

fn dropping(model: &Transformer, seed: u64, keep: Keep) -> Training {
    Training { dropout: model.dropout(seed), keep, smoothing: 0.1, share: 1.0 }
}

/// (L(p + ev) - L(p - ev)) / 2e beside g.v, for one parameter at a time and with dropout (which is a function of its seed).
#[test]
fn gradients_are_finite_differences() {
    for config in forms() {
        let model = Transformer::new(&config);
        let (values, batch) = (values(&model), batch(&pairs(&LENGTHS, 1)));
        let run = |values: &[f32]| gradients(&model, values, &batch, dropping(&model, 7, Keep::Everything));
        let (_, gradient) = run(&values);
        let (constant, learned): (Vec<_>, Vec<_>) =
            model.layout().iter().partition(|(param, _)| param.name == names::LOGITS_BIAS);
        assert!(gradient[constant[0].1.clone()].iter().all(|&g| g == 0.0), "it is a constant");
        assert_differences(learned.into_iter(), &values, &gradient, |values| run(values).0.loss);
    }
}

#[test]
fn computing_again_instead_of_keeping_changes_no_bit() {
    for config in forms() {
        let model = Transformer::new(&config);
        let (values, batch) = (values(&model), batch(&pairs(&LENGTHS, 1)));
        let run = |seed, keep| gradients(&model, &values, &batch, dropping(&model, seed, keep));
        let kept = run(7, Keep::Everything);
        assert_eq!(kept, run(7, Keep::Inputs));
        assert_ne!(kept.0, run(8, Keep::Everything).0, "dropout really drops");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let config = Config::preset("tiny", 50, special()).unwrap();
    let model = Transformer::new(&config);
    let (values, pairs) = (values(&model), pairs(&[(60, 33), (12, 90), (1, 1), (40, 77)], 2));
    let batch = batch(&pairs);
    let options = DecodeOptions { max_length: Some(9), ..DecodeOptions::default() };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let found = search(&model, &values[..], &batch.source, &options, &mut Work::default()).unwrap();
            (gradients(&model, &values, &batch, dropping(&model, 1, Keep::Everything)), found)
        })
    };
    let one = with(1);
    assert!(one.0.0.loss.is_finite());
    assert!(one == with(2) && one == with(5));
}

#[test]
fn a_pair_is_the_same_alone_and_among_others() {
    for config in forms() {
        let model = Transformer::new(&config);
        let (values, pairs) = (values(&model), pairs(&LENGTHS, 1));
        let mut work = Work::default();
        let together = model.logits(&values, &batch(&pairs), &mut work, None).to_vec();
        let mut rest = &together[..];
        for pair in &pairs {
            let alone = model.logits(&values, &batch(std::slice::from_ref(pair)), &mut work, None);
            assert_eq!(alone, &rest[..alone.len()]);
            rest = &rest[alone.len()..];
        }
    }
}

/// Nothing that is said may depend on what comes behind it.
#[test]
fn a_later_token_never_changes_an_earlier_output() {
    for config in forms() {
        let model = Transformer::new(&config);
        let (values, [source, target]) = (values(&model), pairs(&[(6, 9)], 1).remove(0));
        let logits = |target: &[u32]| {
            let pair = [source.clone(), target.to_vec()];
            model.logits(&values, &batch(&[pair]), &mut Work::default(), None).to_vec()
        };
        let before = logits(&target);
        for place in 1..target.len() - 1 {
            let mut changed = target.clone();
            changed[place] = 5 + (target[place] + 1) % 45;
            let after = logits(&changed);
            assert_eq!(before[..place * 50], after[..place * 50], "changed at {place}");
            assert_ne!(before[place * 50..(place + 1) * 50], after[place * 50..(place + 1) * 50]);
        }
    }
}

#[test]
fn every_source_token_changes_every_output() {
    let model = Transformer::new(&config());
    let (values, [source, target]) = (values(&model), pairs(&[(6, 5)], 1).remove(0));
    let logits = |source: &[u32]| {
        let pair = [source.to_vec(), target.clone()];
        model.logits(&values, &batch(&[pair]), &mut Work::default(), None).to_vec()
    };
    let before = logits(&source);
    for place in 0..source.len() {
        let mut changed = source.clone();
        changed[place] = 5 + (source[place] + 1) % 45;
        let after = logits(&changed);
        assert!(before.chunks(50).zip(after.chunks(50)).all(|(before, after)| before != after));
    }
}

/// Token by token with caches, all pairs at once, beside the whole targets at once.
#[test]
fn cached_equals_uncached() {
    for config in forms() {
        let model = Transformer::new(&config);
        let (values, pairs) = (values(&model), pairs(&LENGTHS, 1));
        let batch = batch(&pairs);
        let whole = model.logits(&values, &batch, &mut Work::default(), None).to_vec();
        let mut work = Work::default();
        model.begin(&values[..], &batch.source, &mut work);
        let mut rows: Vec<Option<u32>> = vec![None; pairs.len()];
        for place in 0..11 {
            let given =
                |pair: usize| &batch.target.ids[batch.target.offsets[pair]..batch.target.offsets[pair + 1]];
            let live: Vec<usize> = (0..pairs.len()).filter(|&pair| place < given(pair).len()).collect();
            let next: Vec<Next> = live
                .iter()
                .map(|&pair| Next { sequence: pair, parent: rows[pair], token: given(pair)[place] })
                .collect();
            let first = work.decoding.rows();
            let logits = model.step(&values[..], &next, &mut work);
            for ((&pair, row), logits) in live.iter().zip(first..).zip(logits.chunks_exact(50)) {
                rows[pair] = Some(row);
                let expected = &whole[(batch.target.offsets[pair] + place) * 50..][..50];
                for (found, expected) in logits.iter().zip(expected) {
                    assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{found} {expected}");
                }
            }
        }
    }
}

/// The likeliest next token, from whole passes.
fn greedy(model: &Transformer, values: &[f32], source: &[u32], most: usize) -> Vec<u32> {
    let mut target = vec![START];
    while target.len() <= most {
        let pair = [source.to_vec(), [&target[..], &[END]].concat()];
        let mut work = Work::default();
        let logits = model.logits(values, &batch(&[pair]), &mut work, None);
        let last = &logits[logits.len() - 50..];
        let (best, _) = last.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        if best as u32 == END {
            break;
        }
        target.push(best as u32);
    }
    target.split_off(1)
}

#[test]
fn a_beam_of_one_is_greedy() {
    for config in forms() {
        let model = Transformer::new(&config);
        let (values, pairs) = (values(&model), pairs(&[(7, 1), (2, 1), (10, 1), (5, 1)], 4));
        let options = DecodeOptions { max_length: Some(12), ..DecodeOptions::GREEDY };
        let found =
            search(&model, &values[..], &batch(&pairs).source, &options, &mut Work::default()).unwrap();
        for ([source, _], found) in pairs.iter().zip(&found) {
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].ids, greedy(&model, &values, source, 12));
        }
    }
}

/// The log-probability of a target, with the whole of it given; of the end too if it `ended`.
fn log_probability(model: &Transformer, values: &[f32], source: &[u32], ids: &[u32], ended: bool) -> f64 {
    let pair = [source.to_vec(), [&[START], ids, &[END]].concat()];
    let mut work = Work::default();
    let mut batch = batch(&[pair]);
    let said = ids.len() + usize::from(ended);
    let logits = model.logits(values, &batch, &mut work, None);
    batch.labels.truncate(said);
    let row = |(logits, &label): (&[f32], &u32)| {
        let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
        f64::from(logits[label as usize]) - sum.ln()
    };
    logits.chunks_exact(model.config().decoder_vocab_size).zip(&batch.labels).map(row).sum()
}

#[test]
fn teacher_forcing_gives_the_scores_of_the_search() {
    for config in forms() {
        let model = Transformer::new(&config);
        let (values, pairs) = (values(&model), pairs(&LENGTHS, 5));
        let options = DecodeOptions { n_best: 4, max_length: Some(8), ..DecodeOptions::default() };
        let found =
            search(&model, &values[..], &batch(&pairs).source, &options, &mut Work::default()).unwrap();
        for ([source, _], found) in pairs.iter().zip(&found) {
            assert!(!found.is_empty() && found.len() <= 4);
            assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
            for one in found {
                let expected = log_probability(&model, &values, source, &one.ids, one.ended);
                assert!((one.log_probability - expected).abs() < 1e-4, "{one:?} {expected}");
            }
        }
    }
}

/// With a beam that loses nothing, the search must find the best of all targets of up to two tokens.
#[test]
fn a_beam_as_wide_as_everything_finds_the_best() {
    let config = Config { vocab_size: 9, decoder_vocab_size: 9, ..config() };
    let model = Transformer::new(&config);
    let values = values(&model);
    let source = vec![START, 5, 8, END];
    let options = DecodeOptions { beam: 100, n_best: 100, max_length: Some(2), ..DecodeOptions::default() };
    let mut batch = Batch::new();
    batch.push_ids(&source);
    let found = search(&model, &values[..], &batch, &options, &mut Work::default()).unwrap().remove(0);
    let best = found.iter().find(|one| one.ended).unwrap();
    let others = || (0..9).filter(|&id| id != END);
    let mut targets: Vec<Vec<u32>> = vec![vec![]];
    targets.extend(others().map(|id| vec![id]));
    for ids in targets {
        let log_probability = log_probability(&model, &values, &source, &ids, true);
        let score = log_probability / ((6 + ids.len()) as f64 / 6.0).powf(0.6);
        assert!(score <= best.score + 1e-5, "{ids:?} {score} {best:?}");
        assert!(found.iter().any(|one| one.ended && one.ids == ids));
    }
}

#[test]
fn what_is_found_does_not_depend_on_the_others() {
    let model = Transformer::new(&config());
    let (values, pairs) = (values(&model), pairs(&[(7, 1), (2, 1), (10, 1), (5, 1), (1, 1)], 6));
    let options = DecodeOptions { n_best: 3, max_length: Some(10), ..DecodeOptions::default() };
    let find = |pairs: &[[Vec<u32>; 2]]| {
        search(&model, &values[..], &batch(pairs).source, &options, &mut Work::default()).unwrap()
    };
    let together = find(&pairs);
    let alone: Vec<_> = pairs.iter().flat_map(|pair| find(std::slice::from_ref(pair))).collect();
    assert_eq!(together, alone);
}

#[test]
fn a_model_that_says_no_numbers_is_told() {
    let model = Transformer::new(&config());
    let values = vec![f32::NAN; model.layout().len()];
    let source = batch(&pairs(&LENGTHS, 1)).source;
    let found = search(&model, &values[..], &source, &DecodeOptions::GREEDY, &mut Work::default());
    assert!(found.unwrap_err().to_string().contains("not a number"));
}

#[test]
fn one_batch_is_learned_by_heart_and_said() {
    for normalize_before in [false, true] {
        let config = Config { normalize_before, init_std: 0.05, ..config() };
        let model = Transformer::new(&config);
        let mut params = model.initial(1);
        let pairs = pairs(&LENGTHS, 1);
        let batch = batch(&pairs);
        let mut optimizer = Optimizer::new(model.layout(), OptimizerOptions::default());
        let mut gradients = Gradients::new(model.layout());
        let mut work = Work::default();
        for _ in 0..120 {
            gradients.begin();
            let training =
                Training { dropout: DropoutPlan::OFF, keep: Keep::Everything, smoothing: 0.0, share: 1.0 };
            model.gradients(&params.values, &mut gradients, &batch, training, &mut work);
            optimizer.step(&mut params.values, &mut gradients, 5e-3);
        }
        let loss = model.evaluate(&params.values, &batch, 0.0, &mut work);
        assert!(loss.loss < 0.1 && loss.correct == loss.tokens, "{loss:?}");
        let options = DecodeOptions::default();
        let found = search(&model, &params.values[..], &batch.source, &options, &mut work).unwrap();
        for ([_, target], found) in pairs.iter().zip(&found) {
            assert_eq!(found[0].ids, target[1..target.len() - 1]);
        }
    }
}

#[test]
fn a_checkpoint_leads_back() {
    for config in forms() {
        let directory = tempfile::tempdir().unwrap();
        let model = Transformer::new(&config);
        let params = model.initial(3);
        save(directory.path(), &config, &params.tensors()).unwrap();
        let checkpoint = Checkpoint::open(directory.path()).unwrap();
        assert_eq!(Config { other: Default::default(), ..checkpoint.config.clone() }, config);
        let (again, loaded) = checkpoint.load().unwrap();
        assert_eq!((loaded.values, again.layout().len()), (params.values, model.layout().len()));
        // With fewer layers than weights it would silently be another model.
        Config { decoder_layers: 1, ..config }.save(&directory.path().join("config.json")).unwrap();
        let refusal = Checkpoint::open(directory.path()).unwrap_err().to_string();
        assert!(refusal.contains("decoder_layers in config.json is 1"), "{refusal}");
    }
}

#[test]
fn what_we_cannot_honour_is_refused_by_name() {
    let refusal = |key: &str, value: serde_json::Value| {
        let mut keys = config().to_json();
        keys.insert(key.to_owned(), value);
        Config::parse(&serde_json::to_vec(&keys).unwrap(), "config.json".as_ref()).unwrap_err().to_string()
    };
    assert!(refusal("model_type", "bert".into()).contains("expected \"marian\""));
    assert!(refusal("activation_function", "swish".into()).contains("activation_function is \"swish\""));
    assert!(refusal("activation_dropout", 0.1.into()).contains("activation_dropout is 0.1"));
    assert!(refusal("d_model", 25.into()).contains("d_model: it is 25, expected a multiple of 3"));
    assert!(refusal("decoder_vocab_size", 51.into()).contains("embeddings are shared"));
    assert!(refusal("eos_token_id", 50.into()).contains("there are 50 tokens"));
    assert!(refusal("dropout", 1.0.into()).contains("below 1"));
    assert!(
        Config::preset("huge", 50, special()).unwrap_err().to_string().contains("tiny, small, base, big")
    );
}

#[test]
fn batches_that_the_model_cannot_take_are_refused() {
    let model = Transformer::new(&config());
    let refusal = |source: &[u32], target: &[u32]| {
        let pair = [source.to_vec(), target.to_vec()];
        model.check(&batch(&[pair])).unwrap_err().to_string()
    };
    assert!(refusal(&[50], &[2, 3]).contains("token id 50"));
    assert!(refusal(&[5], &[2; 26]).contains("24 positions"));
    assert!(refusal(&[], &[2, 3]).contains("no tokens"));
}
