//! `oxibert finetune lm`, `evaluate lm` and `generate` from outside, with a model that knows four sentences.

mod outside;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

const TEXTS: [&str; 4] = [
    "Anna reads a book in the garden.",
    "Peter drinks tea with his sister.",
    "The old ship sails over the sea.",
    "We never sleep before midnight.",
];

/// Exit code, standard output and standard error.
fn oxibert(directory: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    outside::oxibert(directory, arguments, input.as_bytes())
}

const TRAIN: [&str; 20] = [
    "finetune",
    "lm",
    "--model",
    "tiny",
    "--train",
    "texts.txt",
    "--dev",
    "texts.txt",
    "--vocab-size",
    "200",
    "--steps",
    "60",
    "--warmup",
    "10",
    "--dropout",
    "0",
    "--eval-every",
    "20",
    "--out",
    "model",
];

/// A directory with texts.txt and a model that was trained on them, and the summary of its training.
fn trained() -> &'static (TempDir, Value) {
    static TRAINED: OnceLock<(TempDir, Value)> = OnceLock::new();
    TRAINED.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("texts.txt"), TEXTS.join("\n")).unwrap();
        let (code, summary, said) =
            oxibert(directory.path(), &[&TRAIN[..], &["--json", "--quiet"]].concat(), "");
        assert_eq!(code, 0, "{said}");
        (directory, serde_json::from_str(&summary).unwrap())
    })
}

fn generate(arguments: &[&str], input: &str) -> (i32, String, String) {
    let all = [&["generate", "--model", "model"], arguments].concat();
    oxibert(trained().0.path(), &all, input)
}

#[test]
fn texts_are_learned_by_heart_and_gone_on_with() {
    let figures = &trained().1;
    assert_eq!(figures["steps"], 60);
    assert!(
        figures["loss"].as_f64().unwrap() < 0.5 && figures["perplexity"].as_f64().unwrap() < 2.0,
        "{figures}"
    );
    let beginnings = "Anna reads\nPeter\nThe old ship \nWe never sle\n";
    let (code, lines, said) = generate(&["--top-k", "1"], beginnings);
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(lines.lines().collect::<Vec<_>>(), TEXTS);
    let (_, one, _) = generate(&["--top-k", "1", "--json"], "Peter drinks\n");
    let object: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(
        (&object["text"], &object["continuation"]),
        (&"Peter drinks".into(), &" tea with his sister.".into())
    );
}

#[test]
fn known_texts_are_foretold_and_others_are_not() {
    let (at, figures) = trained();
    fs::write(at.path().join("other.txt"), "midnight sister sea\n\nthe book sleeps").unwrap();
    let evaluate = |file: &str| {
        let (code, line, said) =
            oxibert(at.path(), &["evaluate", "lm", "--model", "model", "--data", file, "--json"], "");
        assert_eq!((code, said.as_str()), (0, ""));
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let (known, other) = (evaluate("texts.txt"), evaluate("other.txt"));
    let number = |object: &Value, name: &str| object[name].as_f64().unwrap();
    // The run measured the same texts before it kept the model.
    assert!((number(&known, "loss") - number(figures, "loss")).abs() < 1e-6, "{known} {figures}");
    assert!((number(&known, "perplexity") - number(&known, "loss").exp()).abs() < 1e-9);
    assert_eq!((&known["count"], &other["count"]), (&4.into(), &2.into()));
    assert!(number(&other, "loss") > 2.0 * number(&known, "loss"), "{other}");
    let (code, _, said) =
        oxibert(at.path(), &["evaluate", "lm", "--model", "model", "--data", "none.txt"], "");
    assert!(code == 2 && said.contains("none.txt"), "{said}");
}

#[test]
fn what_is_drawn_follows_from_line_and_seed() {
    let draw = |seed: &str, input: &str| {
        generate(&["--temperature", "3", "--seed", seed, "--max-length", "20"], input).1
    };
    let (together, alone) = (draw("1", "Anna\n\nWe\n"), draw("1", "We\n"));
    assert_eq!(together.lines().count(), 3);
    assert_eq!(together.lines().last(), alone.lines().last());
    assert_ne!(draw("1", "Anna\nPeter\nWe\n"), draw("2", "Anna\nPeter\nWe\n"));
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |arguments: &[&str], input: &str| {
        let (code, _, said) = generate(arguments, input);
        assert_eq!(code, 2, "{said}");
        said
    };
    assert!(refused(&["--top-p", "0"], "").contains("top-p"));
    assert!(refused(&["--max-length", "3"], "Anna reads a book.\n").contains("at most 3"));
    assert!(refused(&[], &"tea ".repeat(600)).contains("at most 512"));
    let at = trained().0.path();
    let (code, _, said) = oxibert(at, &["translate", "--model", "model"], "tea\n");
    assert!(code == 2 && said.contains("gpt2"), "{said}");
    let (code, _, said) = oxibert(at, &["generate", "--model", "nowhere/"], "tea\n");
    assert!(code == 2 && said.contains("no checkpoint directory"), "{said}");
}
