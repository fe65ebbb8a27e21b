//! `oxibert demo` from outside: what a person who stops it is left with. The rest is run by the guide's own page.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn oxibert(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxibert"));
    command.args(arguments).current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A demo that gets a Ctrl-C when its training has begun.
fn interrupted(directory: &Path) -> Output {
    let mut child = oxibert(directory, &["demo", "--steps", "1000000", "--json"]).spawn().unwrap();
    while !directory.join("demo/model/metrics.jsonl").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

#[test]
fn a_demo_that_is_stopped_says_what_is_there_and_how_to_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let output = interrupted(at);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("\n  oxibert pretrain demo/shards --out demo/model --resume\n"), "{said}");
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(figures["complete"], false);
    assert!(
        figures["nsp_accuracy"].is_null() && figures["pretraining_steps"].as_u64().unwrap() > 0,
        "{figures}"
    );
    assert!(at.join("demo/model/model.safetensors").exists() && at.join("demo/report.html").exists());

    // What it says works: the run is found, with what it was begun with.
    let resume = ["pretrain", "demo/shards", "--out", "demo/model", "--resume", "--steps", "7"];
    let refused = oxibert(at, &resume).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("the run was begun with 1000000"), "{said}");

    // And a new demo takes the place of the stopped one.
    let again = oxibert(at, &["demo", "--steps", "1", "--json"]).output().unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(figures["complete"], true, "{}", String::from_utf8_lossy(&again.stderr));
}
