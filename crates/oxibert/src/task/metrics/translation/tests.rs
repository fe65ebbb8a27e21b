//! Our figures beside sacreBLEU's, which `figures.py` wrote down.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Stored {
    sacrebleu: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    tokenize: String,
    hypotheses: Vec<String>,
    references: Vec<String>,
    /// The hypotheses as sacreBLEU cuts them.
    words: Vec<String>,
    score: f64,
    precisions: [f64; WORDS],
    brevity_penalty: f64,
    hypothesis_length: usize,
    reference_length: usize,
    chrf: f64,
}

fn stored() -> Stored {
    serde_json::from_str(include_str!("sacrebleu.json")).expect("our own file")
}

/// Equal but for the last digits, which depend on the order of a sum and on the system's logarithm.
fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-11 * (1.0 + theirs.abs())
}

#[test]
fn words_are_those_of_sacrebleu() {
    for case in stored().cases {
        let tokenization = case.tokenize.parse().expect("13a or zh");
        assert_eq!(case.words.len(), case.hypotheses.len());
        for (hypothesis, theirs) in case.hypotheses.iter().zip(&case.words) {
            let ours = tokens::words(&tokens::separate(hypothesis, tokenization)).join(" ");
            assert_eq!(ours, *theirs, "{}: {hypothesis:?}", case.name);
        }
    }
}

#[test]
fn figures_are_those_of_sacrebleu() {
    let stored = stored();
    assert!(stored.cases.len() >= 40, "{}", stored.cases.len());
    for case in stored.cases {
        let ours = bleu(&case.hypotheses, &case.references, case.tokenize.parse().expect("13a or zh"));
        let place = format!("{} beside sacreBLEU {}: {ours:?}", case.name, stored.sacrebleu);
        assert!(close(ours.score, case.score), "{place}, expected {}", case.score);
        for (ours, theirs) in ours.precisions.iter().zip(case.precisions) {
            assert!(close(*ours, theirs), "{place}, expected {:?}", case.precisions);
        }
        assert!(
            close(ours.brevity_penalty, case.brevity_penalty),
            "{place}, expected {}",
            case.brevity_penalty
        );
        let lengths = (ours.hypothesis_length, ours.reference_length);
        assert_eq!(lengths, (case.hypothesis_length, case.reference_length), "{place}");
        let ours = chrf(&case.hypotheses, &case.references);
        assert!(close(ours, case.chrf), "{place}: chrF {ours}, expected {}", case.chrf);
    }
}

/// sacreBLEU refuses an empty corpus; nothing translated is worth nothing here.
#[test]
fn an_empty_corpus_scores_nothing() {
    let none: [&str; 0] = [];
    let ours = bleu(&none, &none, Tokenization::Mteval13a);
    assert_eq!((ours.score, ours.hypothesis_length, ours.reference_length), (0.0, 0, 0));
    assert_eq!(chrf(&none, &none), 0.0);
}

#[test]
#[should_panic(expected = "every translation needs its reference")]
fn a_missing_reference_is_a_bug() {
    bleu(&["one", "two"], &["one"], Tokenization::Mteval13a);
}

#[test]
fn names_are_those_of_sacrebleu() {
    for tokenization in [Tokenization::Mteval13a, Tokenization::Chinese] {
        assert_eq!(tokenization.to_string().parse::<Tokenization>().unwrap(), tokenization);
    }
    let refused = "intl".parse::<Tokenization>().unwrap_err().to_string();
    assert!(refused.contains("13a") && refused.contains("zh"), "{refused}");
}

proptest! {
    #[test]
    fn figures_stay_in_their_range(pairs in prop::collection::vec((".{0,24}", ".{0,24}"), 0..5)) {
        let (hypotheses, references): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
        for tokenization in [Tokenization::Mteval13a, Tokenization::Chinese] {
            let ours = bleu(&hypotheses, &references, tokenization);
            prop_assert!((0.0..=100.0 + 1e-9).contains(&ours.score), "{:?}", ours);
            prop_assert!((0.0..=1.0).contains(&ours.brevity_penalty), "{:?}", ours);
        }
        let ours = chrf(&hypotheses, &references);
        prop_assert!((0.0..=100.0 + 1e-9).contains(&ours), "{}", ours);
    }

    #[test]
    fn a_perfect_translation_is_perfect(text in "[a-z]{1,5}( [a-z]{1,5}){3,8}") {
        let ours = bleu(&[&text], &[&text], Tokenization::Mteval13a);
        prop_assert!(close(ours.score, 100.0) && close(chrf(&[&text], &[&text]), 100.0));
    }
}
