use super::*;
use crate::model::Keep;
use crate::text::Vocab;
use crate::train::{Learner, Moment};

const WORDS: &str = "[PAD] [UNK] [CLS] [SEP] [MASK] one two three four five";

fn tokenizer() -> Tokenizer {
    Tokenizer::cased(Vocab::from_tokens(WORDS.split(' ')).unwrap()).unwrap()
}

fn options() -> TeachOptions {
    TeachOptions { tokens: 40, smoothing: 0.0, seed: 1, keep: Keep::Everything }
}

#[test]
fn every_token_of_a_long_text_is_asked_for_once() {
    let tokenizer = tokenizer();
    let config = Config { n_positions: 4, ..Config::preset("tiny", 10, tokenizer.special()).unwrap() };
    let texts = ["one two three four five one two three", "", "four"];
    let parts = encode(&texts, &tokenizer, &config);
    assert_eq!(parts, [vec![2, 5, 6, 7, 8], vec![8, 9, 5, 6, 7], vec![7, 3], vec![2, 8, 3]]);
}

#[test]
fn it_learns_what_comes_next() {
    let tokenizer = tokenizer();
    let config = Config {
        n_embd: 32,
        resid_pdrop: 0.0,
        embd_pdrop: 0.0,
        attn_pdrop: 0.0,
        ..Config::preset("tiny", 10, tokenizer.special()).unwrap()
    };
    let texts = ["one two three four five", "two three four five one", "three four five one two"];
    let mut learner = Lm::new(&config, &tokenizer, &texts, &texts, options()).unwrap();
    assert_eq!((learner.examples(), learner.held_out(), learner.tokens()), (3, 3, 18));
    let mut values = learner.model().initial(1).values;
    let mut optimizer = crate::train::Optimizer::new(learner.layout(), Default::default());
    let before = learner.evaluate(&values).unwrap().value("loss").unwrap();
    let mut gradients = Gradients::new(learner.layout());
    for pass in 0..60 {
        gradients.begin();
        learner.gradients(&values, &mut gradients, Moment { pass, progress: 0.0 });
        optimizer.step(&mut values, &mut gradients, 5e-3);
    }
    let after = learner.evaluate(&values).unwrap().value("loss").unwrap();
    // The first word of three, one of six tokens, remains a guess: ln 3 / 6.
    assert!(before > 2.0 && after < 0.25, "{before} {after}");
    let directory = tempfile::tempdir().unwrap();
    learner.save(&values, directory.path()).unwrap();
    let loaded = crate::model::causal::Checkpoint::open(directory.path()).unwrap().load().unwrap().1;
    assert_eq!(loaded.values, values);
}
