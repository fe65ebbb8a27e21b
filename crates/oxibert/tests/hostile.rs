//! Inputs that make careless tokenizers quadratic. Nothing is timed: a quadratic step would take hours here.

use oxibert::data::Corpus;
use oxibert::text::learn::{LearnOptions, learn};
use oxibert::text::{Compat, Limit, LongText, Rules, Tokenizer, Vocab};

const MEGABYTE: usize = 1 << 20;

fn tokenizer(tokens: impl IntoIterator<Item = String>, rules: Rules) -> Tokenizer {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(String::from);
    Tokenizer::new(Vocab::from_tokens(special.into_iter().chain(tokens)).unwrap(), rules).unwrap()
}

fn repeat(part: &str) -> String {
    part.repeat(MEGABYTE / part.len())
}

#[test]
fn a_megabyte_of_anything_is_encoded() {
    let pieces = ["a", "##a", "aa", "##aa", "好", ".", "[", "]", "e", "##e"].map(String::from);
    let texts = [
        "a",
        "aé",
        "好",
        ".",
        "[",
        "[MASK",
        "[MASK]",
        "\u{301}",
        "e\u{301}\u{316}",
        "\u{302e}\u{f71}",
        "\0",
        "Σ",
        "'Σ",
        " ",
        "가",
        "\u{344}",
    ];
    for compat in [Compat::Hf, Compat::Google] {
        for rules in [Rules::uncased(compat), Rules::cased(compat)] {
            let tokenizer = tokenizer(pieces.clone(), rules);
            for text in texts.map(repeat) {
                let encoding = tokenizer.encode(&text);
                assert_eq!(encoding.char_spans(&[&text]).len(), encoding.len());
                assert!(encoding.len() <= text.len() + 2);
            }
        }
    }
}

#[test]
fn vocabularies_with_long_and_nested_tokens_are_built() {
    let nested = (1..=100).flat_map(|length| ["a".repeat(length), format!("##{}", "a".repeat(length))]);
    let branches = (0..20_000).map(|number| format!("##{}{number}", "a".repeat(90)));
    let giant = [repeat("a"), format!("##{}", repeat("a"))];
    let tokenizer = tokenizer(nested.chain(branches).chain(giant), Rules::uncased(Compat::Hf));
    assert_eq!(tokenizer.encode(&"a".repeat(100)).len(), 3);
    assert_eq!(tokenizer.encode(&"a".repeat(101)).ids[1], tokenizer.special().unk);
}

#[test]
fn windows_with_the_largest_overlap_come_one_at_a_time() {
    let tokenizer = tokenizer(["a".to_owned()], Rules::uncased(Compat::Hf));
    let text = repeat("a ");
    let limit = Limit { long: LongText::Sliding { stride: Some(509) }, ..Limit::new(512) };
    let mut encoder = tokenizer.encoder();
    let windows = encoder.windows(&[&text], &limit, true).unwrap();
    assert!(windows.take(1000).all(|window| window.len() == 512));
}

#[test]
fn a_vocabulary_is_learned_from_hostile_text() {
    for text in ["a", "好", "\u{301}", "ab ", "\n", "aé"].map(repeat) {
        let corpus = Corpus::from_text("hostile", text + " a b");
        let options = LearnOptions { size: 100, ..LearnOptions::default() };
        learn(&corpus, Rules::uncased(Compat::Hf), &options, &()).unwrap();
    }
}
