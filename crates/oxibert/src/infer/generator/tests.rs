use super::*;
use crate::model::causal::{Config, save};
use crate::text::Vocab;

const WORDS: &str = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog sat ran . , on mat a ##s ##ly quick";

fn generator() -> Generator {
    let directory = tempfile::tempdir().unwrap();
    let tokenizer = Tokenizer::uncased(Vocab::from_tokens(WORDS.split(' ')).unwrap()).unwrap();
    let config = Config {
        n_embd: 16,
        n_positions: 20,
        initializer_range: 0.3,
        ..Config::preset("tiny", tokenizer.vocab().len(), tokenizer.special()).unwrap()
    };
    save(directory.path(), &config, &Causal::new(&config).initial(5).tensors()).unwrap();
    tokenizer.save(directory.path()).unwrap();
    Generator::open(directory.path()).unwrap()
}

#[test]
fn neighbours_and_repetition_change_nothing() {
    let generator = generator();
    let texts = ["the cat", "", "a dog sat on", "cats"];
    let drawn = GenerateOptions { top_k: Some(5), ..GenerateOptions::default() };
    for options in [GenerateOptions::greedy(), drawn] {
        let together = generator.generate(&texts, &options, &()).unwrap();
        let alone: Vec<_> =
            texts.iter().flat_map(|text| generator.generate(&[text], &options, &()).unwrap()).collect();
        assert_eq!(together, alone);
    }
}

#[test]
fn what_cannot_work_is_told() {
    let generator = generator();
    let refusal = |text: &str, options: GenerateOptions| {
        generator.generate(&[text], &options, &()).unwrap_err().to_string()
    };
    let fine = GenerateOptions::default();
    assert!(refusal("a", GenerateOptions { top_p: 2.0, ..fine }).starts_with("top-p"));
    assert!(refusal(&"cat ".repeat(20), fine).contains("21 tokens with [CLS]"));
    assert!(refusal("the cat sat", GenerateOptions { max_length: Some(4), ..fine }).contains("at most 4"));
}
