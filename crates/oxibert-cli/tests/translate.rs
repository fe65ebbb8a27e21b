//! `oxibert finetune translate`, `translate` and `evaluate translate` from outside, with a model that knows eight sentences.

mod outside;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

const PAIRS: [(&str, &str); 8] = [
    ("Hello, how are you?", "Hallo, wie geht es dir?"),
    ("The cat sleeps on the sofa.", "Die Katze schläft auf dem Sofa."),
    ("The dog sleeps in the garden.", "Der Hund schläft im Garten."),
    ("A man reads a book.", "Ein Mann liest ein Buch."),
    ("A woman drinks tea.", "Eine Frau trinkt Tee."),
    ("I am hungry.", "Ich habe Hunger."),
    ("Good morning!", "Guten Morgen!"),
    ("We are going home.", "Wir gehen nach Hause."),
];

/// Exit code, standard output and standard error.
fn oxibert(directory: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    outside::oxibert(directory, arguments, input.as_bytes())
}

const TRAIN: [&str; 22] = [
    "finetune",
    "translate",
    "--model",
    "tiny",
    "--train",
    "pairs.tsv",
    "--dev",
    "pairs.tsv",
    "--vocab-size",
    "200",
    "--steps",
    "150",
    "--warmup",
    "30",
    "--dropout",
    "0",
    "--smoothing",
    "0",
    "--eval-every",
    "50",
    "--out",
    "model",
];

/// A directory with pairs.tsv and a model that was trained on them, and the summary of its training.
fn trained() -> &'static (TempDir, String) {
    static TRAINED: OnceLock<(TempDir, String)> = OnceLock::new();
    TRAINED.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        write_pairs(directory.path());
        let (code, summary, said) =
            oxibert(directory.path(), &[&TRAIN[..], &["--json", "--quiet"]].concat(), "");
        assert_eq!(code, 0, "{said}");
        (directory, summary)
    })
}

fn write_pairs(directory: &Path) {
    let lines: Vec<String> = PAIRS.iter().map(|(source, target)| format!("{source}\t{target}\n")).collect();
    fs::write(directory.join("pairs.tsv"), lines.concat()).unwrap();
}

fn translate(arguments: &[&str], input: &str) -> (i32, String, String) {
    let all = [&["translate", "--model", "model"], arguments].concat();
    oxibert(trained().0.path(), &all, input)
}

#[test]
fn pairs_are_learned_by_heart() {
    let (directory, summary) = trained();
    let figures: Value = serde_json::from_str(summary).unwrap();
    assert_eq!(figures["steps"], 150);
    assert!(figures["bleu"].as_f64().unwrap() > 99.0, "{figures}");
    let sources: Vec<&str> = PAIRS.iter().map(|pair| pair.0).collect();
    let targets: Vec<&str> = PAIRS.iter().map(|pair| pair.1).collect();
    let (code, lines, said) = translate(&["--quiet"], &(sources.join("\n") + "\n"));
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(lines.lines().collect::<Vec<_>>(), targets);
    let report = fs::read_to_string(directory.path().join("model/report.html")).unwrap();
    assert!(report.contains("Die Katze schläft auf dem Sofa."));
}

#[test]
fn a_line_comes_out_for_every_line() {
    let input = "\nGood morning!\n\n   \nI am hungry.\r\n\n";
    let (code, lines, _) = translate(&["--beam", "1"], input);
    assert_eq!((code, lines.as_str()), (0, "\nGuten Morgen!\n\n\nIch habe Hunger.\n\n"));
    assert_eq!(translate(&[], "").1, "");
    let many = "Good morning!\n".repeat(700);
    assert_eq!(translate(&["-"], &many).1, "Guten Morgen!\n".repeat(700));
}

#[test]
fn n_best_and_json_tell_scores() {
    let (_, lines, _) = translate(&["--n-best", "3"], "Good morning!\n\n");
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    let numbers: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(numbers, ["1", "1", "1", "2"]);
    assert_eq!((rows[0][2], rows[3][2]), ("Guten Morgen!", ""));
    let scores: Vec<f64> = rows[..3].iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let (_, lines, _) = translate(&["--json", "--n-best", "2"], "Good morning!\n\n");
    let objects: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects[0]["text"], "Good morning!");
    assert_eq!(objects[0]["translations"][0]["text"], "Guten Morgen!");
    assert_eq!(objects[0]["translations"].as_array().unwrap().len(), 2);
    assert_eq!((&objects[0]["parts"], &objects[1]["parts"]), (&Value::from(1), &Value::from(0)));
    let (code, _, said) = translate(&["--n-best", "5"], "");
    assert!(code == 2 && said.contains("n-best") && said.contains("beam"), "{said}");
}

#[test]
fn what_is_too_long_or_unknown_is_told() {
    let long = format!("I am hungry.\n{}\n", "A woman drinks tea. ".repeat(200));
    let (code, lines, said) = translate(&["--beam", "1"], &long);
    assert_eq!((code, lines.lines().count()), (0, 2));
    assert!(said.contains("line 2 was longer than the model's 512 tokens"), "{said}");
    let (code, lines, said) = translate(&[], "你好。\nΚαλημέρα\nI am hungry.\n");
    assert_eq!((code, lines.lines().count()), (0, 3));
    assert!(said.contains("2 lines (the first is line 1) were written in characters"), "{said}");
    assert_eq!(translate(&["--quiet"], "Καλημέρα\n").2, "");
}

#[test]
fn the_page_shows_every_head_of_every_sentence() {
    let (code, lines, said) =
        translate(&["--attention", "pages/page.html"], "Good morning!\n\nI am hungry.\n");
    assert_eq!((code, lines.lines().count(), said.as_str()), (0, 3, ""));
    let page = fs::read_to_string(trained().0.path().join("pages/page.html")).unwrap();
    assert_eq!(page.matches("<section>").count(), 2);
    // Two layers of four heads, and their mean.
    assert_eq!(page.matches("<use href=\"#s2\"").count(), 1 + 2 * 4);
    assert!(page.contains("<h2>Good morning!</h2>") && page.contains("Guten Morgen!"));
    let (code, _, said) = translate(&["--attention", "."], "Good morning!\n");
    assert!(code == 2 && said.contains("directory"), "{said}");
}

#[test]
fn translations_are_measured() {
    let at = trained().0.path();
    let evaluate = |arguments: &[&str]| {
        oxibert(at, &[&["evaluate", "translate", "--model", "model", "--data"], arguments].concat(), "")
    };
    let (code, figures, said) = evaluate(&["pairs.tsv", "--json", "--out", "out.txt"]);
    assert_eq!(code, 0, "{said}");
    let figures: Value = serde_json::from_str(&figures).unwrap();
    assert!(
        figures["bleu"].as_f64().unwrap() > 99.0 && figures["chrf"].as_f64().unwrap() > 99.0,
        "{figures}"
    );
    assert_eq!((&figures["count"], &figures["tokenize"]), (&Value::from(8), &Value::from("13a")));
    assert_eq!(fs::read_to_string(at.join("out.txt")).unwrap().lines().count(), 8);
    let sources: Vec<&str> = PAIRS.iter().map(|pair| pair.0).collect();
    fs::write(at.join("a.en"), sources.join("\n").repeat(4)).unwrap();
    fs::write(at.join("a.xx"), sources.join("\n").replace(char::is_alphabetic, "x").repeat(4)).unwrap();
    let (code, text, said) = evaluate(&["a.en", "a.xx"]);
    assert!(code == 0 && text.contains("BLEU") && said.contains("in its direction?"), "{text}{said}");
    fs::write(at.join("short"), "one\n").unwrap();
    let (code, _, said) = evaluate(&["a.en", "short"]);
    assert!(code == 2 && said.contains("short: 1 lines"), "{said}");
}

#[test]
fn each_sharing_can_be_switched_off_but_not_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    write_pairs(directory.path());
    let train = |out: &str, model: &str, flags: &[&str]| {
        let short = ["finetune", "translate", "--train", "pairs.tsv", "--dev", "pairs.tsv", "--steps", "1"];
        let all = [&short[..], &["--model", model, "--out", out], flags].concat();
        oxibert(directory.path(), &all, "")
    };
    let form = |out: &str, flags: &[&str]| {
        let (code, _, said) = train(out, "tiny", &[&["--vocab-size", "200", "--quiet"], flags].concat());
        assert_eq!(code, 0, "{said}");
        let config = fs::read_to_string(directory.path().join(out).join("config.json")).unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        let translated = oxibert(directory.path(), &["translate", "--model", out, "--quiet"], "A man\n");
        assert_eq!((translated.0, translated.1.lines().count()), (0, 1), "{}", translated.2);
        (config["share_encoder_decoder_embeddings"].clone(), config["tie_word_embeddings"].clone())
    };
    assert_eq!(form("shared", &[]), (true.into(), true.into()));
    assert_eq!(form("source", &["--separate", "source"]), (false.into(), true.into()));
    assert_eq!(form("both", &["--separate", "source,output"]), (false.into(), false.into()));
    let (code, _, said) = train("more", "shared", &["--separate", "output"]);
    assert!(
        code == 2 && said.contains("--separate output: the checkpoint shared was trained without it"),
        "{said}"
    );
    let (code, _, said) = train("more", "both", &["--separate", "output", "--quiet"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn dev_data_of_other_languages_are_pointed_at() {
    let directory = tempfile::tempdir().unwrap();
    write_pairs(directory.path());
    let pairs = fs::read_to_string(directory.path().join("pairs.tsv")).unwrap();
    let swapped: String = PAIRS.iter().map(|(source, target)| format!("{target}\t{source}\n")).collect();
    let other = "Una mujer bebe té.\tEt kvinne drikker te.\n".repeat(8);
    for (name, text) in [("train.tsv", pairs.repeat(60)), ("swapped.tsv", swapped), ("other.tsv", other)] {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let notes = |dev: &str| {
        let data = ["--train", "train.tsv", "--dev", dev, "--vocab-size", "200", "--steps", "1", "--force"];
        let all = [&["finetune", "translate", "--model", "tiny", "--out", "model"], &data[..]].concat();
        let (code, _, said) = oxibert(directory.path(), &all, "");
        assert_eq!(code, 0, "{said}");
        said.matches("look like another language").count()
    };
    assert_eq!((notes("pairs.tsv"), notes("swapped.tsv"), notes("other.tsv")), (0, 2, 2));
}

#[test]
fn a_vocabulary_without_case_is_pointed_at() {
    let directory = tempfile::tempdir().unwrap();
    write_pairs(directory.path());
    let vocab = ["vocab", "pairs.tsv", "--size", "150", "--out", "folded", "--quiet"];
    assert_eq!(oxibert(directory.path(), &vocab, "").0, 0);
    let said = |vocab: &[&str], out: &str| {
        let all = [&TRAIN[..8], vocab, &["--steps", "1", "--out", out]].concat();
        oxibert(directory.path(), &all, "").2
    };
    assert!(said(&["--vocab", "folded"], "lower").contains("neither upper case nor accents"));
    assert!(!said(&["--vocab-size", "200"], "cased").contains("neither upper case"));
}

#[test]
fn an_interrupted_run_goes_on_only_with_its_own_data() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write_pairs(at);
    let short: Vec<&str> =
        TRAIN.iter().map(|&argument| if argument == "150" { "4" } else { argument }).collect();
    assert_eq!(oxibert(at, &short, "").0, 0);
    let (code, _, said) = oxibert(at, &short, "");
    assert!(code == 2 && said.contains("--force"), "{said}");
    let (code, _, said) = oxibert(at, &[&short[..], &["--resume", "--lr", "0.5"]].concat(), "");
    assert!(code == 2 && said.contains("--lr"), "{said}");
    fs::write(at.join("pairs.tsv"), "one\teins\ntwo\tzwei\n").unwrap();
    let (code, _, said) = oxibert(at, &[&short[..], &["--resume"]].concat(), "");
    assert!(code == 2 && said.contains("other data"), "{said}");
    let (code, _, said) =
        oxibert(at, &["finetune", "translate", "--model", "huge", "--train", "pairs.tsv", "--out", "x"], "");
    assert!(code == 2 && said.contains("tiny, small, base, big"), "{said}");
}
