//! A run that is killed at any moment leaves whole checkpoints, and a model that can be used.
//!
//! The only test of its program: it starts the program once more and kills that, and between fork and exec a new process
//! holds the locks of all files that its parent has open.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use oxibert::data::files;
use oxibert::nn::Layout;
use oxibert::train::{Latest, Optimizer, OptimizerOptions, Store};
use serde_json::{Value, json};

const CHILD: &str = "OXIBERT_TEST_KILLED";

#[test]
fn a_kill_at_any_moment_leaves_whole_checkpoints() {
    if let Some(run) = std::env::var_os(CHILD) {
        return save_for_ever(Path::new(&run));
    }
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    save(&mut Store::create(&run, false).unwrap(), 1);
    let (mut rounds, mut step) = (0, 1);
    // On a slow disk the first rounds may be too short to get anywhere.
    while rounds < 20 || (step == 1 && rounds < 200) {
        step = kill_after(Duration::from_millis(30 + 13 * rounds), &run);
        rounds += 1;
    }
    assert!(step > 1, "the children got somewhere");
    save(&mut Store::open(&run).unwrap(), 1_000_000);
    for entry in fs::read_dir(run.join("checkpoints")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with("step-") && !name.contains('.'), "{name} is left");
    }
}

/// Returns the last step, which must be whole.
fn kill_after(time: Duration, run: &Path) -> u64 {
    let mut child =
        Command::new(std::env::current_exe().unwrap()).env(CHILD, run).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    let Latest { checkpoint, skipped } = Store::open(run).unwrap().latest().unwrap();
    assert_eq!(skipped, [], "after step {}", checkpoint.step);
    if let Ok(config) = fs::read(run.join("config.json")) {
        let step = serde_json::from_slice::<Value>(&config).unwrap()["step"].as_u64().unwrap();
        let weights = fs::read_to_string(run.join("model.safetensors")).unwrap();
        // The weights come first, so a kill between the two leaves those of the step after.
        assert!(
            [step, step + 1].map(weights_of).contains(&weights),
            "weights of neither {step} nor the next"
        );
    }
    checkpoint.step
}

fn weights_of(step: u64) -> String {
    format!("weights of step {step} ").repeat(10_000)
}

fn save(store: &mut Store, step: u64) {
    let optimizer = Optimizer::new(&Layout::new(Vec::new()), OptimizerOptions::default());
    let fill = |at: &Path| {
        files::save(&at.join("model.safetensors"), |out| out.write_all(weights_of(step).as_bytes()))?;
        files::save(&at.join("config.json"), |out| write!(out, "{{\"step\": {step}}}"))
    };
    let saved = store.save(step, &json!({ "position": step }), &optimizer, fill).unwrap();
    store.publish(&saved).unwrap();
    store.prune(1).unwrap();
}

/// As after a resume: the first step is one that is there already.
fn save_for_ever(run: &Path) {
    let mut store = Store::open(run).unwrap();
    let first = store.latest().unwrap().checkpoint.step;
    for step in first.. {
        save(&mut store, step);
    }
}
