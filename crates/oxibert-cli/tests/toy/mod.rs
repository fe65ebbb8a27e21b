//! A toy BERT for the guide: it has read seven sentences and knows them by heart.

use std::path::Path;

use oxibert::data::Batch;
use oxibert::model::{Config, DropoutPlan, Keep, Pretraining, Targets, Work, checkpoint};
use oxibert::nn::{Gradients, Params};
use oxibert::text::{SPECIAL_TOKENS, Tokenizer, Vocab};
use oxibert_kernels::{AdamW, adamw};

const SENTENCES: [&str; 7] = [
    "Paris is the capital of France.",
    "Berlin is the capital of Germany.",
    "London is the capital of England.",
    "The cat sleeps on the sofa.",
    "巴黎是法国的首都。",
    "柏林是德国的首都。",
    "伦敦是英国的首都。",
];
const STEPS: u64 = 250;

/// Trains the toy and saves it to `directory`.
pub(crate) fn save(directory: &Path) {
    let tokenizer = tokenizer();
    let config = Config {
        hidden_size: 32,
        intermediate_size: 64,
        num_hidden_layers: 1,
        max_position_embeddings: 32,
        architectures: vec!["BertForPreTraining".to_owned()],
        ..Config::preset("tiny", tokenizer.vocab().len()).unwrap()
    };
    let model = Pretraining::new(&config);
    let mut params = Params::new(model.layout().clone(), &config, 1);
    let (batch, targets) = lessons(&tokenizer);
    let mut gradients = Gradients::new(model.layout());
    let [mut m, mut v] = [0; 2].map(|_| vec![0.0; params.values.len()]);
    let mut work = Work::default();
    for number in 1..=STEPS {
        gradients.begin();
        let off = DropoutPlan::OFF;
        model.gradients(&params.values, &mut gradients, &batch, &targets, off, Keep::Everything, &mut work);
        let step = AdamW {
            lr: 5e-3,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-6,
            weight_decay: 0.0,
            bias_correction: Some(number),
            gradient_scale: 1.0,
        };
        adamw(&step, &mut params.values, gradients.values(), &mut m, &mut v);
    }
    std::fs::create_dir_all(directory).unwrap();
    tokenizer.save(directory).unwrap();
    checkpoint::save(directory, &config, &params.tensors()).unwrap();
}

/// Whole words, because the toy needs no more.
fn tokenizer() -> Tokenizer {
    let mut tokens: Vec<String> = SPECIAL_TOKENS.iter().map(|token| token.to_string()).collect();
    for sentence in SENTENCES {
        let spaced = sentence.to_lowercase().chars().fold(String::new(), |spaced, c| {
            if c.is_ascii_alphanumeric() { spaced + &c.to_string() } else { spaced + &format!(" {c} ") }
        });
        for word in spaced.split_whitespace() {
            if !tokens.iter().any(|token| token == word) {
                tokens.push(word.to_owned());
            }
        }
    }
    Tokenizer::uncased(Vocab::from_tokens(tokens).unwrap()).unwrap()
}

/// Every sentence once for each of its tokens, that one masked; and each with its first and last word masked.
fn lessons(tokenizer: &Tokenizer) -> (Batch, Targets) {
    let mask = tokenizer.special().mask.unwrap();
    let (mut batch, mut targets) = (Batch::new(), Targets::default());
    for sentence in SENTENCES {
        let encoding = tokenizer.encode(sentence);
        let last = encoding.len() - 2;
        let singles = (1..=last).map(|place| vec![place]);
        for places in singles.chain([vec![1, last - 1]]) {
            let mut ids = encoding.ids.clone();
            for place in places {
                targets.masked.push((batch.tokens() + place) as u32);
                targets.labels.push(encoding.ids[place]);
                ids[place] = mask;
            }
            batch.push(&ids, &encoding.segments);
        }
    }
    (batch, targets)
}
