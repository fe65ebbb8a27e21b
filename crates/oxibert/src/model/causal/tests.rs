//! The causal model against itself. (Its gradients are compared with PyTorch's in tests/golden_transformer.rs.)

use super::*;
use crate::model::tests::assert_differences;
use crate::random::Random;
use crate::text::SpecialIds;
use crate::train::{Optimizer, OptimizerOptions};

const TOKENS: usize = 50;

fn config() -> Config {
    let special = SpecialIds { unk: 1, cls: 2, sep: 3, pad: Some(0), mask: Some(4) };
    Config {
        n_embd: 24,
        n_head: 3,
        n_positions: 16,
        initializer_range: 0.3,
        ..Config::preset("tiny", TOKENS, special).unwrap()
    }
}

fn texts(lengths: &[usize], seed: u64) -> Vec<Vec<u32>> {
    let mut random = Random::new(seed, "test texts", 0);
    let mut words = |count: usize| (0..count).map(|_| 5 + random.below(45) as u32).collect::<Vec<_>>();
    lengths.iter().map(|&length| [&[2], &words(length)[..], &[3]].concat()).collect()
}

fn batch(texts: &[Vec<u32>]) -> TextBatch {
    let mut batch = TextBatch::new();
    texts.iter().for_each(|text| batch.push(text));
    batch
}

fn gradients(model: &Causal, values: &[f32], batch: &TextBatch, keep: Keep) -> (TokenLoss, Vec<f32>) {
    let mut gradients = Gradients::new(model.layout());
    let training = Training { dropout: model.dropout(7), keep, smoothing: 0.1, share: 1.0 };
    let loss = model.gradients(values, &mut gradients, batch, training, &mut Work::default());
    (loss, gradients.values().to_vec())
}

/// With dropout, which is a function of its seed.
#[test]
fn gradients_are_finite_differences() {
    for tied in [true, false] {
        let model = Causal::new(&Config { tie_word_embeddings: tied, ..config() });
        let (values, batch) = (model.initial(3).values, batch(&texts(&[9, 4, 12], 1)));
        let run = |values: &[f32]| gradients(&model, values, &batch, Keep::Everything);
        let loss = |values: &[f32]| run(values).0.loss;
        assert_differences(model.layout().iter(), &values, &run(&values).1, loss);
    }
}

#[test]
fn keeping_threads_and_neighbours_change_no_bit() {
    let model = Causal::new(&config());
    let (values, texts) = (model.initial(3).values, texts(&[9, 4, 12], 1));
    let both = batch(&texts);
    let kept = gradients(&model, &values, &both, Keep::Everything);
    assert_eq!(kept, gradients(&model, &values, &both, Keep::Inputs));
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(kept, pool.install(|| gradients(&model, &values, &both, Keep::Everything)));
    }
    let mut work = Work::default();
    let together = model.logits(&values, &both.given, &mut work, None).to_vec();
    let alone = |text: &Vec<u32>| {
        model.logits(&values, &batch(std::slice::from_ref(text)).given, &mut Work::default(), None).to_vec()
    };
    assert_eq!(together, texts.iter().flat_map(alone).collect::<Vec<_>>());
}

#[test]
fn a_later_token_never_changes_an_earlier_output() {
    let model = Causal::new(&config());
    let (values, text) = (model.initial(3).values, texts(&[10], 1).remove(0));
    let logits = |text: &[u32]| {
        model.logits(&values, &batch(&[text.to_vec()]).given, &mut Work::default(), None).to_vec()
    };
    let before = logits(&text);
    for place in 1..text.len() - 1 {
        let mut changed = text.clone();
        changed[place] = 5 + (text[place] + 1) % 45;
        let after = logits(&changed);
        assert_eq!(before[..place * TOKENS], after[..place * TOKENS], "changed at {place}");
        assert_ne!(before[place * TOKENS..], after[place * TOKENS..]);
    }
}

/// The likeliest next token, from whole passes.
fn greedy(model: &Causal, values: &[f32], given: &[u32], most: usize) -> Vec<u32> {
    let mut text = given.to_vec();
    while text.len() < most {
        let mut batch = Batch::new();
        batch.push_ids(&text);
        let mut work = Work::default();
        let logits = model.logits(values, &batch, &mut work, None);
        let last = &logits[logits.len() - TOKENS..];
        let (best, _) = last.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        if best == 3 {
            break;
        }
        text.push(best as u32);
    }
    text.split_off(given.len())
}

#[test]
fn cached_greedy_is_uncached_greedy_and_texts_do_not_disturb_each_other() {
    let model = Causal::new(&config());
    let values = model.initial(3).values;
    let given: Vec<Vec<u32>> =
        texts(&[3, 1, 7, 0], 2).into_iter().map(|mut text| text.drain(..text.len() - 1).collect()).collect();
    let options = GenerateOptions { max_length: Some(14), ..GenerateOptions::greedy() };
    let said = generate(&model, &values[..], &given, &options, &mut Work::default()).unwrap();
    for (given, said) in given.iter().zip(&said) {
        assert_eq!(*said, greedy(&model, &values, given, 14));
    }
    for options in
        [options, GenerateOptions { top_p: 0.8, max_length: Some(14), ..GenerateOptions::default() }]
    {
        let together = generate(&model, &values[..], &given, &options, &mut Work::default()).unwrap();
        let alone = |given: &Vec<u32>| {
            let given = std::slice::from_ref(given);
            generate(&model, &values[..], given, &options, &mut Work::default()).unwrap().remove(0)
        };
        assert_eq!(together, given.iter().map(alone).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_drawn_follows_from_the_seed() {
    let model = Causal::new(&config());
    let values = model.initial(3).values;
    let draw = |seed| {
        let options = GenerateOptions { seed, ..GenerateOptions::default() };
        generate(&model, &values[..], &[vec![2, 9]], &options, &mut Work::default()).unwrap()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert!(draw(1)[0].len() <= 14, "as many positions as there are");
}

#[test]
fn one_text_is_learned_by_heart_and_said() {
    let model = Causal::new(&Config { initializer_range: 0.05, ..config() });
    let mut params = model.initial(1);
    let text = texts(&[12], 1).remove(0);
    let batch = batch(std::slice::from_ref(&text));
    let mut optimizer = Optimizer::new(model.layout(), OptimizerOptions::default());
    let mut work = Work::default();
    for _ in 0..100 {
        let mut gradients = Gradients::new(model.layout());
        let training =
            Training { dropout: DropoutPlan::OFF, keep: Keep::Everything, smoothing: 0.0, share: 1.0 };
        model.gradients(&params.values, &mut gradients, &batch, training, &mut work);
        optimizer.step(&mut params.values, &mut gradients, 5e-3);
    }
    let given = vec![text[..2].to_vec()];
    let said = generate(&model, &params.values[..], &given, &GenerateOptions::greedy(), &mut work).unwrap();
    assert_eq!(said[0], text[2..text.len() - 1]);
}

#[test]
fn a_checkpoint_leads_back_and_holds_matrices_the_other_way_round() {
    for tied in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let config = Config { tie_word_embeddings: tied, ..config() };
        let model = Causal::new(&config);
        let params = model.initial(3);
        save(directory.path(), &config, &params.tensors()).unwrap();
        let checkpoint = Checkpoint::open(directory.path()).unwrap();
        assert_eq!(checkpoint.weights.shape("transformer.h.0.attn.c_attn.weight"), Some(&[24, 72][..]));
        assert_eq!(checkpoint.load().unwrap().1.values, params.values);
        Config { n_layer: 1, ..config }.save(&directory.path().join("config.json")).unwrap();
        let refusal = Checkpoint::open(directory.path()).unwrap_err().to_string();
        assert!(refusal.contains("n_layer in config.json is 1"), "{refusal}");
    }
}

#[test]
fn names_stand_once_and_tell_their_block() {
    use crate::model::names as all;
    for tied in [true, false] {
        let params = names::parameters(&Config { tie_word_embeddings: tied, ..config() });
        let unique: std::collections::HashSet<&str> = params.iter().map(|param| &*param.name).collect();
        assert_eq!(unique.len(), params.len());
        assert!(params.iter().all(|param| all::block(&param.name) == Some(param.block)));
        assert!(params.iter().all(|param| all::canonical(&param.name) == param.name));
        let bare = params.iter().filter_map(|param| param.name.strip_prefix("transformer."));
        assert!(bare.into_iter().all(|name| all::canonical(name) == format!("transformer.{name}")));
    }
}

#[test]
fn what_we_cannot_honour_is_refused_by_name() {
    let refusal = |key: &str, value: serde_json::Value| {
        let mut keys = config().to_json();
        keys.insert(key.to_owned(), value);
        Config::parse(&serde_json::to_vec(&keys).unwrap(), "config.json".as_ref()).unwrap_err().to_string()
    };
    assert!(refusal("model_type", "bert".into()).contains("expected \"gpt2\""));
    assert!(refusal("scale_attn_weights", false.into()).contains("scale_attn_weights"));
    assert!(refusal("add_cross_attention", true.into()).contains("add_cross_attention is true"));
    assert!(refusal("n_embd", 25.into()).contains("n_embd: it is 25"));
    assert!(refusal("eos_token_id", 50.into()).contains("vocab_size is 50"));
}
