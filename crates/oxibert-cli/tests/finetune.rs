//! `finetune`, `evaluate` and `predict` from outside: every task learned, told about, resumed, refused.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxibert::random::Random;
use serde_json::{Value, json};

const NAMES: [&str; 6] = ["ann", "ben", "carl", "dora", "emil", "fred"];
const PLACES: [&str; 6] = ["rome", "paris", "oslo", "bern", "cairo", "lima"];
/// Enough to learn the toy tasks by heart, in seconds.
const FAST: [&str; 7] = ["--lr", "2e-3", "--batch", "8", "--max-length", "32", "--quiet"];

fn oxibert(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxibert"));
    command.args(arguments).current_dir(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(directory: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = oxibert(directory, arguments).spawn().unwrap();
    // A command that refuses its flags reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn done(directory: &Path, arguments: &[&str], input: &str) -> String {
    let output = run(directory, arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one line that an error must be.
fn refused(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments, "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said.lines().last().unwrap_or_default().to_owned()
}

fn object(line: &str) -> Value {
    serde_json::from_str(line.trim()).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

/// The command that learns `task` from nothing.
fn learn<'a>(task: &'a str, file: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = [
        "finetune", task, "--model", "tiny", "--vocab", "vocab", "--train", file, "--dev", file, "--out", out,
    ];
    base.iter().chain(&FAST).chain(more).copied().collect()
}

/// Toy data for every task, and a vocabulary of their words.
fn prepare(directory: &Path) {
    let mut random = Random::new(5, "toy data", 0);
    let (mut classes, mut tags, mut squad, mut choices) =
        ("sentence\tlabel\n".to_owned(), String::new(), Vec::new(), String::new());
    for number in 0..48 {
        let (name, place) = (*random.pick(&NAMES), *random.pick(&PLACES));
        let (word, label) = if number % 2 == 0 { ("good", "positive") } else { ("bad", "negative") };
        writeln!(classes, "{place} was {word} for {name}\t{label}").unwrap();
        writeln!(tags, "{name} B-PER\nlives O\nin O\n{place} B-LOC\n").unwrap();
        let context = format!("{name} lives in {place}.");
        let answer = json!({ "text": place, "answer_start": context.find(place).unwrap() });
        let question =
            json!({ "id": number.to_string(), "question": format!("where is {name}?"), "answers": [answer] });
        squad.push(json!({ "context": context, "qas": [question] }));
        let right = number % 2;
        let endings = if right == 0 { ["good", "bad"] } else { ["bad", "good"] };
        let line = json!({ "context": format!("{name} likes {place}"), "choices": endings, "label": right });
        writeln!(choices, "{line}").unwrap();
    }
    fs::write(directory.join("classes.tsv"), classes).unwrap();
    fs::write(directory.join("tags.txt"), tags).unwrap();
    let squad = json!({ "data": [{ "title": "toy", "paragraphs": squad }] });
    fs::write(directory.join("squad.json"), squad.to_string()).unwrap();
    fs::write(directory.join("choices.jsonl"), choices).unwrap();
    fs::create_dir(directory.join("vocab")).unwrap();
    let words =
        ["was", "good", "bad", "for", "lives", "in", "where", "is", "likes", ".", "?", ",", "a", "the"];
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    let tokens: Vec<&str> = special.iter().chain(&words).chain(&NAMES).chain(&PLACES).copied().collect();
    fs::write(directory.join("vocab/vocab.txt"), tokens.join("\n") + "\n").unwrap();
}

#[test]
fn classes_are_learned_told_and_explained() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let figures =
        object(&done(at, &learn("classify", "classes.tsv", "model", &["--epochs", "8", "--json"]), ""));
    assert_eq!((&figures["accuracy"], &figures["count"]), (&json!(1.0), &json!(48)), "{figures}");
    for file in ["config.json", "model.safetensors", "vocab.txt", "README.md", "report.html", "metrics.jsonl"]
    {
        assert!(at.join("model").join(file).exists(), "{file}");
    }
    let report = fs::read_to_string(at.join("model/report.html")).unwrap();
    assert!(
        report.contains("Confusion matrix") && report.contains("Calibration"),
        "the report shows findings"
    );
    let config = object(&fs::read_to_string(at.join("model/config.json")).unwrap());
    assert_eq!(config["architectures"], json!(["BertForSequenceClassification"]));
    assert_eq!(config["id2label"], json!({ "0": "negative", "1": "positive" }));

    let scores = object(&done(
        at,
        &["evaluate", "classify", "--model", "model", "--data", "classes.tsv", "--json"],
        "",
    ));
    for name in ["accuracy", "f1", "macro_f1", "matthews"] {
        assert_eq!(scores[name], json!(1.0), "{scores}");
    }
    assert!(scores["seconds"].as_f64().unwrap() > 0.0);
    let said = done(
        at,
        &["predict", "classify", "--model", "model", "--json"],
        "rome was good for ann\noslo was bad for ben\n",
    );
    let lines: Vec<Value> = said.lines().map(object).collect();
    assert_eq!((&lines[0]["label"], &lines[1]["label"]), (&json!("positive"), &json!("negative")));
    assert!(lines[0]["scores"]["positive"].as_f64().unwrap() > 0.5);
    let plain = done(at, &["predict", "classify", "--model", "model", "-"], "rome was good for ann\n");
    assert!(plain.starts_with("positive ") && plain.ends_with("\trome was good for ann\n"), "{plain:?}");
}

#[test]
fn tags_answers_and_choices_are_learned() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let tagged = object(&done(at, &learn("tag", "tags.txt", "names", &["--epochs", "6", "--json"]), ""));
    assert_eq!(tagged["entity_f1"], json!(1.0), "{tagged}");
    let said = object(&done(at, &["predict", "tag", "--model", "names", "--json"], "Ann lives in Rome\n"));
    let entity = &said["entities"][1];
    assert_eq!((&entity["text"], &entity["label"]), (&json!("Rome"), &json!("LOC")), "{said}");
    assert_eq!((&entity["start"], &entity["end"]), (&json!(13), &json!(17)));

    let answered =
        object(&done(at, &learn("answer", "squad.json", "reader", &["--epochs", "8", "--json"]), ""));
    assert_eq!(answered["exact_match"], json!(1.0), "{answered}");
    let question = json!({ "question": "Where is Ben?", "context": "Ben lives in Oslo." });
    let said =
        object(&done(at, &["predict", "answer", "--model", "reader", "--json"], &format!("{question}\n")));
    assert_eq!(
        (&said["answer"], &said["start"], &said["end"]),
        (&json!("Oslo"), &json!(13), &json!(17)),
        "{said}"
    );

    let chosen =
        object(&done(at, &learn("choose", "choices.jsonl", "chooser", &["--epochs", "8", "--json"]), ""));
    assert_eq!(chosen["accuracy"], json!(1.0), "{chosen}");
    let choices = json!({ "context": "ann likes rome", "choices": ["bad", "good"] });
    let said =
        object(&done(at, &["predict", "choose", "--model", "chooser", "--json"], &format!("{choices}\n")));
    assert_eq!(said["choice"], json!(1), "{said}");
    assert_eq!(said["scores"].as_array().unwrap().len(), 2);
}

/// The bytes that must not depend on how the run went.
fn result(directory: &Path, run: &str) -> Vec<Vec<u8>> {
    let read = |name: &str| fs::read(directory.join(run).join(name)).unwrap();
    vec![read("model.safetensors"), read("best/model.safetensors")]
}

#[test]
fn a_killed_run_ends_with_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let every = ["--epochs", "4", "--save-every", "1", "--eval-every", "5", "--layer-decay", "0.9"];
    done(at, &learn("classify", "classes.tsv", "whole", &every), "");
    let mut moments = Random::new(1, "kill", 0);
    let mut kills = 0;
    loop {
        let begun = at.join("killed/run.json").exists();
        let more = [&every[..], &[if begun { "--resume" } else { "--force" }]].concat();
        let mut child = oxibert(at, &learn("classify", "classes.tsv", "killed", &more)).spawn().unwrap();
        // On a busy machine a run needs longer to begin: the later, the more patience.
        std::thread::sleep(Duration::from_millis(u64::from(moments.between(30, 300 + 10 * kills))));
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
        kills += 1;
        assert!(kills < 200, "it never ends");
    }
    assert!(result(at, "killed") == result(at, "whole"), "after {kills} kills the bytes differ");
}

#[test]
fn bfloat16_learns_too_with_the_same_bytes_for_any_threads() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let exact = ["--epochs", "8", "--json"];
    done(at, &learn("classify", "classes.tsv", "exact", &exact), "");
    for (out, threads) in [("one", "1"), ("two", "2")] {
        let more = [&exact[..], &["--bf16", "--threads", threads]].concat();
        let figures = object(&done(at, &learn("classify", "classes.tsv", out, &more), ""));
        assert_eq!(figures["accuracy"], json!(1.0), "{figures}");
    }
    assert!(result(at, "one") == result(at, "two"), "the bytes depend on the threads");
    assert!(result(at, "one") != result(at, "exact"), "nothing was rounded");
}

#[test]
fn several_runs_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let seeds = object(&done(
        at,
        &learn("classify", "classes.tsv", "seeds", &["--epochs", "1", "--seeds", "2", "--json"]),
        "",
    ));
    assert_eq!(seeds["runs"].as_array().unwrap().len(), 2);
    assert_eq!((&seeds["runs"][0]["run"], &seeds["runs"][1]["run"]), (&json!("seed42"), &json!("seed43")));
    assert!(seeds["over_runs"]["accuracy"]["deviation"].is_number(), "{seeds}");
    assert!(at.join("seeds/model.safetensors").exists() && at.join("seeds/trials.json").exists());
    let frozen = ["--epochs", "1", "--freeze", "1", "--patience", "1", "--eval-every", "1", "--lr", "1e-9"];
    let command: Vec<&str> = learn("classify", "classes.tsv", "frozen", &[])
        .into_iter()
        .filter(|w| !["--lr", "2e-3"].contains(w))
        .collect();
    done(at, &[&command[..], &frozen].concat(), "");
    let lines = fs::read_to_string(at.join("frozen/metrics.jsonl")).unwrap();
    assert!(
        lines.lines().filter(|line| line.contains("evaluation")).count() < 6,
        "it had no patience: {lines}"
    );
}

#[test]
fn what_cannot_work_is_refused_with_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    done(at, &learn("classify", "classes.tsv", "model", &["--epochs", "1"]), "");
    let says = |arguments: &[&str], words: &str| {
        let line = refused(at, arguments);
        assert!(line.starts_with("error: ") && line.contains(words), "{arguments:?}: {line}");
    };
    says(&learn("classify", "classes.tsv", "model", &[]), "model");
    says(&learn("classify", "nothing.tsv", "other", &[]), "nothing.tsv");
    says(&learn("classify", "classes.tsv", "other", &["--label", "stars"]), "stars");
    says(&learn("classify", "classes.tsv", "other", &["--freeze", "9"]), "the model has 2");
    says(
        &learn("classify", "classes.tsv", "other", &["--freeze", "half"]),
        "expected embeddings or a number",
    );
    says(&learn("classify", "classes.tsv", "other", &["--regression"]), "is no number");
    says(&learn("classify", "classes.tsv", "model", &["--resume", "--epochs", "2"]), "--epochs");
    fs::write(at.join("ragged.txt"), "ann B-PER\nlives\n").unwrap();
    says(&learn("tag", "ragged.txt", "other", &[]), "ragged.txt:2");
    says(&["finetune", "classify", "--model", "tiny", "--train", "classes.tsv", "--out", "other"], "--vocab");
    says(&["evaluate", "tag", "--model", "model", "--data", "tags.txt"], "BertForTokenClassification");
    says(&["predict", "answer", "--model", "model"], "BertForQuestionAnswering");
    assert!(!at.join("other").exists(), "nothing is left of what was refused");
}

#[test]
fn a_bad_line_does_not_lose_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    done(at, &learn("choose", "choices.jsonl", "chooser", &["--epochs", "1"]), "");
    let good = json!({ "context": "ann likes rome", "choices": ["bad", "good"] });
    let said = done(
        at,
        &["predict", "choose", "--model", "chooser", "--json"],
        &format!("{good}\nnonsense\n{good}\n"),
    );
    let lines: Vec<Value> = said.lines().map(object).collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[1]["error"].is_string() && lines[1]["line"] == json!(2), "{said}");
    assert_eq!(lines[0], lines[2]);
    let output = run(at, &["evaluate", "classify", "--model", "chooser", "--data", "classes.tsv"], "");
    assert_eq!(output.status.code(), Some(2), "another task's checkpoint is refused");
}

#[test]
fn a_model_of_pairs_reads_pairs() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let rows = ["ann likes rome\tben likes oslo\tother", "ann likes rome\tann likes rome\tsame"];
    fs::write(
        at.join("pairs.tsv"),
        format!("sentence1\tsentence2\tlabel\n{}\n", [rows; 8].concat().join("\n")),
    )
    .unwrap();
    done(at, &learn("classify", "pairs.tsv", "model", &["--epochs", "1"]), "");
    let predict = ["predict", "classify", "--model", "model", "--json"];
    let said = done(at, &predict, "ann likes rome\tben likes oslo\nann likes rome\n");
    let lines: Vec<Value> = said.lines().map(object).collect();
    assert!(lines[1]["error"].as_str().unwrap().contains("expected a pair"), "{said}");
    let pair = json!({ "sentence1": "ann likes rome", "sentence2": "ben likes oslo" });
    let same = done(at, &[&predict[..], &["--format", "jsonl"]].concat(), &format!("{pair}\n"));
    assert_eq!(object(&same), lines[0]);
    let single = run(at, &["evaluate", "classify", "--model", "model", "--data", "classes.tsv"], "");
    let said = String::from_utf8_lossy(&single.stderr);
    assert!(said.contains("fine-tuned on pairs of texts, these are single texts"), "{said}");
}

#[test]
fn a_slow_pipe_is_answered_line_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    done(at, &learn("classify", "classes.tsv", "model", &["--epochs", "1"]), "");
    let mut child = oxibert(at, &["predict", "classify", "--model", "model", "--json"]).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(output).lines();
    // Each answer must be there before the next line is written; a line as short as "a" too.
    for line in ["a", "rome was good for ann", "oslo was bad"] {
        writeln!(input, "{line}").unwrap();
        assert!(object(&answers.next().unwrap().unwrap())["label"].is_string(), "{line}");
    }
    drop(input);
    assert!(answers.next().is_none() && child.wait().unwrap().success());
}

#[test]
fn labels_that_training_had_not_are_told_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    done(at, &learn("classify", "classes.tsv", "model", &["--epochs", "8"]), "");
    fs::write(
        at.join("new.tsv"),
        "sentence\tlabel\nrome was good for ann\tpositive\noslo was bad for ben\tmixed\n",
    )
    .unwrap();
    let output = run(at, &["evaluate", "classify", "--model", "model", "--data", "new.tsv", "--json"], "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("\"mixed\" (1 times) was not in the training data"), "{said}");
    assert_eq!(object(&String::from_utf8_lossy(&output.stdout))["accuracy"], json!(0.5));
}
