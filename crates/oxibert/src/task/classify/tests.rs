use super::*;
use crate::task::Pool;
use crate::text::{LongText, Tokenizer, Vocab};

fn example(texts: &[&str], labels: &[&str]) -> TextExample {
    let owned = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect();
    TextExample { texts: owned(texts), labels: owned(labels), line: 7 }
}

fn learn(labels: &[&[&str]], kind: Kind) -> Result<(Classify, Vec<String>)> {
    let examples: Vec<_> = labels.iter().map(|labels| example(&["a b"], labels)).collect();
    Classify::learn(&examples, kind, false, Long::new(8))
}

fn tokenizer() -> Tokenizer {
    let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d"];
    Tokenizer::uncased(Vocab::from_tokens(tokens).unwrap()).unwrap()
}

#[test]
fn labels_have_a_stable_order() {
    let (task, notes) = learn(&[&["10"], &["2"], &["2"], &["10"]], Kind::Single).unwrap();
    assert_eq!((task.labels(), notes.len()), (&["2".to_owned(), "10".to_owned()][..], 0));
    let (task, notes) = learn(&[&["good"], &["bad"], &["good"]], Kind::Single).unwrap();
    assert_eq!(task.labels(), ["bad", "good"]);
    assert!(notes[0].contains("\"bad\" has a single example"), "{notes:?}");
}

#[test]
fn what_cannot_be_learned_is_refused() {
    let refusal = |labels: &[&[&str]], kind| learn(labels, kind).unwrap_err().to_string();
    assert!(refusal(&[&["x"], &["x"]], Kind::Single).contains("a single class"), "one class");
    assert!(refusal(&[&["1.5"], &["high"]], Kind::Regression).contains("line 7: \"high\" is no number"));
}

#[test]
fn texts_become_items_with_targets() {
    let (task, _) = learn(&[&["x"], &["y"]], Kind::Single).unwrap();
    let tokenizer = tokenizer();
    let items = task.items(&example(&["a b", "c"], &["y"]), &mut tokenizer.encoder()).unwrap();
    assert_eq!(items[0].sequences[0].ids, [2, 5, 6, 3, 7, 3]);
    assert_eq!(items[0].target, Target::Class(1));
    let unseen = task.items(&example(&["a"], &["z"]), &mut tokenizer.encoder()).unwrap();
    assert_eq!(unseen[0].target, Target::Unknown);
    assert_eq!(task.unknown_labels(&[example(&["a"], &["z"])]), [("z", 1)]);
}

#[test]
fn windows_of_a_long_text_are_items() {
    let long = Long { mode: LongText::Sliding { stride: Some(1) }, pool: Pool::Max, ..Long::new(5) };
    let examples = [example(&["a"], &["x"]), example(&["a"], &["y"])];
    let (task, _) = Classify::learn(&examples, Kind::Single, false, long).unwrap();
    let tokenizer = tokenizer();
    let text = example(&["a b c d a"], &["x"]);
    let items = task.items(&text, &mut tokenizer.encoder()).unwrap();
    let middles: Vec<&[u32]> = items.iter().map(|item| &item.sequences[0].ids[1..4]).collect();
    assert_eq!(middles, [&[5, 6, 7][..], &[7, 8, 5]]);
    let answer = task.answer(&text, &items, &[&[3.0, 0.0], &[0.0, 1.0]]);
    assert_eq!(answer.classes, [0]);
}

/// The gradient by finite differences, for each kind of target.
#[test]
fn gradients_are_those_of_the_losses() {
    let multi = learn(&[&["x", "y"], &["z"]], Kind::Multi).unwrap().0;
    let single = learn(&[&["x"], &["y"], &["z"]], Kind::Single).unwrap().0;
    let number = learn(&[&["1"], &["2"]], Kind::Regression).unwrap().0;
    let weighted = Classify { weights: vec![0.5, 2.0, 1.0], ..single.clone() };
    let cases = [
        (&single, Target::Class(2), vec![0.3, -1.0, 0.7]),
        (&weighted, Target::Class(1), vec![0.3, -1.0, 0.7]),
        (&multi, Target::Classes(vec![1.0, 0.0, 1.0]), vec![0.3, -1.0, 0.7]),
        (&number, Target::Value(2.5), vec![0.3]),
    ];
    for (task, target, logits) in cases {
        let item = Item { sequences: Vec::new(), target };
        let loss = |logits: &[f32]| task.loss(&[&item], &mut logits.to_vec(), 0.0);
        let mut gradient = logits.clone();
        task.loss(&[&item], &mut gradient, 2.0);
        for place in 0..logits.len() {
            let shifted = |by: f32| {
                let mut logits = logits.clone();
                logits[place] += by;
                loss(&logits)
            };
            let wanted = 2.0 * (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
            assert!((f64::from(gradient[place]) - wanted).abs() < 1e-3, "{:?}", item.target);
        }
    }
}

#[test]
fn figures_count_labels_that_training_did_not_have_as_wrong() {
    let (task, _) = learn(&[&["x"], &["y"]], Kind::Single).unwrap();
    let examples = [example(&["a"], &["x"]), example(&["a"], &["y"]), example(&["a"], &["z"])];
    let answer = |class: usize| Classified { classes: vec![class], scores: vec![0.6, 0.4] };
    let figures = task.figures(&examples, &[answer(0), answer(1), answer(1)]);
    assert!((figures.value("accuracy").unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert!(!task.findings(&examples, &[answer(0), answer(1), answer(1)]).is_empty());
}

#[test]
fn a_configuration_keeps_the_task() {
    for kind in [Kind::Single, Kind::Multi, Kind::Regression] {
        let labels: &[&[&str]] = if kind == Kind::Regression { &[&["1"], &["2"]] } else { &[&["x"], &["y"]] };
        let (task, _) = learn(labels, kind).unwrap();
        let mut config = Config::preset("tiny", 9).unwrap();
        task.configure(&mut config);
        let again = Classify::of(&config, Long::new(8));
        assert_eq!((again.kind(), again.head()), (kind, task.head()));
    }
}
