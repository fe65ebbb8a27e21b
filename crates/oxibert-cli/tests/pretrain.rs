//! `oxibert pretrain` from outside: killed and resumed, asked to stop, out of disk, refused.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxibert::random::Random;
use oxibert::world::{Language, World};

/// A run of a few seconds in a debug build.
const RUN: [&str; 11] = [
    "pretrain",
    "shards",
    "--config",
    "config.json",
    "--steps",
    "24",
    "--batch",
    "4",
    "--length",
    "32",
    "--quiet",
];

fn oxibert(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxibert"));
    command.args(arguments).current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    oxibert(directory, arguments).output().unwrap()
}

fn done(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one line that an error must be.
fn refused(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    said.lines().last().unwrap_or_default().to_owned()
}

/// A corpus, its vocabulary, its shards and the shape of a very small BERT.
fn prepare(directory: &Path) {
    let mut corpus = Vec::new();
    World::new(7).write_corpus(&[Language::English, Language::Chinese], 40, &mut corpus).unwrap();
    fs::write(directory.join("corpus.txt"), corpus).unwrap();
    done(directory, &["vocab", "corpus.txt", "--size", "1200", "--out", "vocab", "--quiet"]);
    done(directory, &["prepare", "corpus.txt", "--model", "vocab", "--out", "shards", "--quiet"]);
    let tokens = fs::read_to_string(directory.join("vocab/vocab.txt")).unwrap().lines().count();
    let config = format!(
        "{{\"model_type\": \"bert\", \"vocab_size\": {tokens}, \"hidden_size\": 32, \"num_hidden_layers\": 2, \
         \"num_attention_heads\": 2, \"intermediate_size\": 64, \"max_position_embeddings\": 64}}"
    );
    fs::write(directory.join("config.json"), config).unwrap();
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

/// The same run with one word of the command replaced.
fn replaced<'a>(old: &str, new: &'a str) -> Vec<&'a str> {
    RUN.iter().map(|&word| if word == old { new } else { word }).collect()
}

/// The bytes that must not depend on how the run went: the model, and all that the next step would start from.
fn result(directory: &Path, run: &str) -> Vec<Vec<u8>> {
    let newest = fs::read_dir(directory.join(run).join("checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .max()
        .unwrap();
    assert!(newest.ends_with("step-000000024"), "{}", newest.display());
    let read = |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    vec![
        read(&directory.join(run).join("model.safetensors")),
        read(&newest.join("model.safetensors")),
        read(&newest.join("optimizer.safetensors")),
        read(&directory.join(run).join("best/model.safetensors")),
    ]
}

#[test]
fn a_run_killed_at_any_moment_ends_with_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let every = ["--save-every", "1", "--eval-every", "5", "--threads", "2"];
    done(at, &[&with(&every)[..], &["--out", "whole"]].concat());
    let expected = result(at, "whole");

    let one = [&every[..4], &["--threads", "1"]].concat();
    done(at, &[&with(&one)[..], &["--out", "one-thread"]].concat());
    assert!(result(at, "one-thread") == expected, "one thread and two give different bytes");

    // A checkpoint after every step: many of the kills fall into the writing of one.
    let mut moments = Random::new(1, "kill", 0);
    let mut kills = 0;
    loop {
        let begun = at.join("killed/run.json").exists();
        let resume: &[&str] = if begun { &["--resume"] } else { &["--force"] };
        let arguments = [&with(&every)[..], &["--out", "killed"], resume].concat();
        let mut child = oxibert(at, &arguments).spawn().unwrap();
        // On a busy machine a run needs longer to begin: the later, the more patience.
        std::thread::sleep(Duration::from_millis(u64::from(moments.between(10, 250 + 10 * kills))));
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
        kills += 1;
        assert!(kills < 500, "the run does not get on");
    }
    assert!(kills >= 3, "only {kills} kills: the run was too short");
    assert!(result(at, "killed") == expected, "after {kills} kills the bytes differ");
    // Each step's figures are there once, whatever was killed.
    let steps = |run: &str| -> Vec<u64> {
        let text = fs::read_to_string(at.join(run).join("metrics.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.filter(|line| line["kind"] == "evaluation").map(|line| line["step"].as_u64().unwrap()).collect()
    };
    assert_eq!(steps("killed"), steps("whole"));
}

#[test]
fn a_torn_checkpoint_is_told_and_the_one_before_it_used() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    done(at, &with(&["--save-every", "6", "--out", "run"]));
    let expected = result(at, "run");
    let torn = at.join("run/checkpoints/step-000000024/optimizer.safetensors");
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..bytes.len() / 2]).unwrap();
    let output = run(at, &with(&["--save-every", "6", "--out", "run", "--resume"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("step-000000024") && said.contains("optimizer.safetensors"), "{said}");
    assert!(result(at, "run") == expected);
}

#[cfg(unix)]
#[test]
fn a_polite_signal_saves_and_says_how_to_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    let mut child =
        oxibert(at, &[&replaced("24", "100000")[..], &["--out", "run"]].concat()).spawn().unwrap();
    while !at.join("run/metrics.jsonl").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("oxibert pretrain shards --out run --resume"), "{said}");
    assert!(at.join("run/model.safetensors").exists() && at.join("run/report.html").exists());
    assert_eq!(fs::read_dir(at.join("run/checkpoints")).unwrap().count(), 1);
}

/// A limit on the size of files stands for a disk that is full.
#[cfg(unix)]
#[test]
fn a_full_disk_keeps_the_last_good_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    done(at, &with(&["--save-every", "12", "--out", "run"]));
    let before = result(at, "run");
    fs::remove_dir_all(at.join("run/checkpoints/step-000000024")).unwrap();
    let command = format!(
        "trap '' XFSZ; ulimit -f 40; exec {} {} --out run --resume",
        env!("CARGO_BIN_EXE_oxibert"),
        RUN.join(" ")
    );
    let output = Command::new("bash").args(["-c", &command]).current_dir(at).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("step-000000012") || said.contains("step 12"), "{said}");
    done(at, &with(&["--save-every", "12", "--out", "run", "--resume"]));
    assert!(result(at, "run") == before);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    prepare(at);
    done(at, &with(&["--out", "run"]));
    let before = result(at, "run");
    assert!(refused(at, &with(&["--out", "run"])).contains("--resume"), "--out exists");
    assert!(refused(at, &with(&["--out", "nowhere", "--resume"])).contains("no run in nowhere"));
    assert!(
        refused(at, &with(&["--out", "run", "--resume", "--lr", "0.5"]))
            .contains("--lr: the run was begun with 0.001")
    );
    let other = ["pretrain", "shards", "--config", "tiny", "--out", "run", "--resume"];
    assert!(refused(at, &other).contains("--config: hidden_size is 128"), "{}", refused(at, &other));

    let small =
        fs::read_to_string(at.join("config.json")).unwrap().replace("\"vocab_size\": 1", "\"vocab_size\": ");
    fs::write(at.join("small.json"), small).unwrap();
    let refusal = refused(at, &["pretrain", "shards", "--config", "small.json", "--out", "new"]);
    assert!(refusal.contains("vocab_size"), "{refusal}");
    assert!(
        refused(at, &["pretrain", "shards", "--config", "gigantic", "--out", "new"]).contains("tiny, mini")
    );
    assert!(refused(at, &["pretrain", "vocab", "--out", "new"]).contains("oxibert prepare"));
    let longer = [&replaced("32", "9999")[..], &["--out", "new"]].concat();
    assert!(refused(at, &longer).contains("64 positions"));
    assert!(refused(at, &with(&["--out", "new", "--mask-rate", "2"])).contains("mask rate"));
    assert!(!at.join("new").exists(), "a refused run leaves a directory");

    // Shards of another vocabulary.
    done(at, &["vocab", "corpus.txt", "--size", "1100", "--out", "vocab2", "--quiet"]);
    done(at, &["prepare", "corpus.txt", "--model", "vocab2", "--out", "shards2", "--quiet"]);
    let refusal = refused(at, &["pretrain", "shards2", "--out", "run", "--resume"]);
    assert!(refusal.contains("not the shards"), "{refusal}");
    let refusal = refused(at, &["pretrain", "shards2", "--model", "run", "--out", "new"]);
    assert!(refusal.contains("another vocabulary"), "{refusal}");
    fs::copy(at.join("vocab/tokenizer.json"), at.join("shards2/tokenizer.json")).unwrap();
    let refusal = refused(at, &["pretrain", "shards2", "--config", "tiny", "--out", "new"]);
    assert!(refusal.contains("another vocabulary") && !at.join("new").exists(), "{refusal}");
    assert!(result(at, "run") == before);
}
