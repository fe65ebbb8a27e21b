//! Our figures beside those that the official programs gave for the same cases: `figures.json` names them and their versions.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Stored {
    classes: Vec<Classes>,
    multi_label: Vec<Sets>,
    calibration: Vec<Certainty>,
    correlation: Vec<Numbers>,
    entities: Vec<Tags>,
    squad: Vec<Answer>,
    cmrc: Vec<Answer>,
}

#[derive(Deserialize)]
struct Classes {
    classes: usize,
    answered: Vec<u32>,
    meant: Vec<u32>,
    accuracy: f64,
    micro_f1: f64,
    macro_f1: f64,
    matthews: f64,
    precision: Vec<f64>,
    recall: Vec<f64>,
    f1: Vec<f64>,
}

#[derive(Deserialize)]
struct Sets {
    classes: usize,
    answered: Vec<Vec<usize>>,
    meant: Vec<Vec<usize>>,
    accuracy: f64,
    micro_f1: f64,
    macro_f1: f64,
    f1: Vec<f64>,
}

#[derive(Deserialize)]
struct Certainty {
    confidences: Vec<f64>,
    right: Vec<bool>,
    /// Of the bins that are not empty.
    confidence: Vec<f64>,
    accuracy: Vec<f64>,
    error: f64,
}

#[derive(Deserialize)]
struct Numbers {
    x: Vec<f64>,
    y: Vec<f64>,
    pearson: f64,
    spearman: f64,
}

#[derive(Deserialize)]
struct Tags {
    /// A string of tags for each sentence.
    answered: Vec<String>,
    meant: Vec<String>,
    precision: f64,
    recall: f64,
    f1: f64,
    /// Precision, recall and F1 of each kind.
    kinds: BTreeMap<String, [f64; 3]>,
}

#[derive(Deserialize)]
struct Answer {
    answer: String,
    right: Vec<String>,
    exact: f64,
    f1: f64,
}

fn stored() -> Stored {
    serde_json::from_str(include_str!("figures.json")).unwrap()
}

#[track_caller]
fn same(ours: impl IntoIterator<Item = f64>, theirs: &[f64]) {
    let ours: Vec<f64> = ours.into_iter().collect();
    let close = |(ours, theirs): (&f64, &f64)| (ours - theirs).abs() < 1e-9;
    assert!(
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(close),
        "{ours:?}, expected {theirs:?}"
    );
}

#[test]
fn classes_are_those_of_scikit_learn() {
    for case in stored().classes {
        let confusion = Confusion::new(case.classes, &case.answered, &case.meant);
        let ours = [confusion.accuracy(), confusion.micro_f1(), confusion.macro_f1(), confusion.matthews()];
        same(ours, &[case.accuracy, case.micro_f1, case.macro_f1, case.matthews]);
        same((0..case.classes).map(|class| confusion.precision(class)), &case.precision);
        same((0..case.classes).map(|class| confusion.recall(class)), &case.recall);
        same((0..case.classes).map(|class| confusion.f1(class)), &case.f1);
    }
}

#[test]
fn sets_of_classes_are_those_of_scikit_learn() {
    for case in stored().multi_label {
        let mut counts = MultiLabel::new(case.classes);
        case.answered.iter().zip(&case.meant).for_each(|(answered, meant)| counts.add(answered, meant));
        let ours = [counts.accuracy(), counts.micro_f1(), counts.macro_f1()];
        same(ours, &[case.accuracy, case.micro_f1, case.macro_f1]);
        same((0..case.classes).map(|class| counts.counts(class).f1()), &case.f1);
    }
}

#[test]
fn calibration_is_that_of_scikit_learn() {
    for case in stored().calibration {
        let bins = calibration(&case.confidences, &case.right);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), case.right.len() as u64);
        let full = || bins.iter().filter(|bin| bin.count > 0);
        same(full().map(|bin| bin.confidence), &case.confidence);
        same(full().map(|bin| bin.accuracy), &case.accuracy);
        same([calibration_error(&bins)], &[case.error]);
    }
}

#[test]
fn correlations_are_those_of_scipy() {
    for case in stored().correlation {
        same([pearson(&case.x, &case.y), spearman(&case.x, &case.y)], &[case.pearson, case.spearman]);
    }
}

#[test]
fn entities_are_those_of_conlleval() {
    for case in stored().entities {
        let mut entities = Entities::default();
        let found = |tags: &String| spans(&tags.split(' ').collect::<Vec<_>>());
        case.answered
            .iter()
            .zip(&case.meant)
            .for_each(|(answered, meant)| entities.add(&found(answered), &found(meant)));
        same(
            [entities.precision(), entities.recall(), entities.f1()],
            &[case.precision, case.recall, case.f1],
        );
        assert!(entities.kinds.keys().eq(case.kinds.keys()), "{:?}", entities.kinds);
        for (kind, counts) in &entities.kinds {
            same([counts.precision(), counts.recall(), counts.f1()], &case.kinds[kind]);
        }
    }
}

#[test]
fn answers_are_those_of_the_official_scripts() {
    let stored = stored();
    for (scorer, cases) in [(Scorer::Squad, stored.squad), (Scorer::Cmrc, stored.cmrc)] {
        for case in cases {
            let AnswerScore { exact, f1 } = score_answer(scorer, &case.answer, &case.right);
            let told = format!("{scorer:?} of {:?} for {:?}", case.answer, case.right);
            assert_eq!(exact, case.exact, "{told}");
            assert!((f1 - case.f1).abs() < 1e-9, "{told}: {f1}, expected {}", case.f1);
        }
    }
}
