//! Checkpoints that are cut off, changed, missing, half replaced, or never finished.

use std::error::Error as _;

use serde_json::json;

use super::*;
use crate::model::names::{Block, Kind, Param};
use crate::nn::{Gradients, Layout};
use crate::train::OptimizerOptions;

/// An optimizer that has taken `steps` steps.
fn optimizer(steps: u64) -> Optimizer {
    let param = Param { name: "w".into(), shape: vec![3], block: Block::Task, kind: Kind::Weight };
    let layout = Layout::new(vec![param]);
    let mut optimizer = Optimizer::new(&layout, OptimizerOptions::default());
    let (mut values, mut gradients) = ([1.0; 3], Gradients::from_values(&layout, vec![0.1, 0.2, 0.3]));
    (0..steps).for_each(|_| _ = optimizer.step(&mut values, &mut gradients, 1e-3));
    optimizer
}

fn write(path: &Path, content: &str) -> Result<()> {
    files::save(path, |out| out.write_all(content.as_bytes()))
}

/// The files of a model; every step's are others.
fn model(step: u64) -> impl FnOnce(&Path) -> Result<()> {
    move |at| {
        write(&at.join("config.json"), &format!("{{\"step\": {step}}}"))?;
        write(&at.join("model.safetensors"), &"weights ".repeat(step as usize % 7 + 1))?;
        write(&at.join("1_Pooling/config.json"), "{}")?;
        write(&at.join("vocab.txt"), "[PAD]\n")
    }
}

fn save(store: &mut Store, step: u64) -> PathBuf {
    store.save(step, &json!({ "position": step * 10 }), &optimizer(step % 10), model(step)).unwrap()
}

/// A run with checkpoints of these steps.
fn run(steps: &[u64]) -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("run"), false).unwrap();
    steps.iter().for_each(|&step| _ = save(&mut store, step));
    (directory, store)
}

fn names(directory: &Path) -> Vec<String> {
    let listed = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All files below a directory, with what is in them.
fn content(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let names = checksums::files_below(directory).unwrap();
    names.into_iter().map(|name| (name.clone(), fs::read(directory.join(name)).unwrap())).collect()
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in content(from) {
        fs::create_dir_all(to.join(&name).parent().unwrap()).unwrap();
        fs::write(to.join(name), bytes).unwrap();
    }
}

fn whole_message(error: &Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |message, cause| format!("{message}: {cause}"))
}

#[test]
fn what_is_saved_comes_back() {
    let (directory, store) = run(&[100, 207]);
    drop(store);
    let store = Store::open(&directory.path().join("run")).unwrap();
    let Latest { checkpoint, skipped } = store.latest().unwrap();
    assert_eq!((checkpoint.step, checkpoint.state, skipped), (207, json!({ "position": 2070 }), vec![]));
    assert_eq!(names(&store.checkpoints()), ["step-000000100", "step-000000207"]);
    let path = checkpoint.directory.join(OPTIMIZER_FILE);
    let loaded = Optimizer::load(&path, &optimizer(0).layout().clone(), OptimizerOptions::default()).unwrap();
    assert_eq!(loaded.steps(), 7);
}

#[test]
fn any_damage_is_found_and_the_one_before_is_used() {
    type Damage = fn(&Path);
    let cut: Damage = |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    };
    let flip: Damage = |path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, &bytes).unwrap();
    };
    let remove: Damage = |path| fs::remove_file(path).unwrap();
    let (_directory, mut store) = run(&[1, 2]);
    let files = checksums::files_below(&store.place(2)).unwrap();
    assert_eq!(files.len(), 7);
    for file in &files {
        for damage in [cut, flip, remove] {
            let damaged = save(&mut store, 3);
            damage(&damaged.join(file));
            let Latest { checkpoint, skipped } = store.latest().unwrap();
            assert_eq!(checkpoint.step, 2);
            assert_eq!(skipped.len(), 1);
            assert_eq!(skipped[0].directory, damaged);
            // A flipped bit in checksums.json may show in any file's sum.
            assert!(file == "checksums.json" || skipped[0].reason.contains(file), "{file}: {skipped:?}");
        }
    }
    fs::remove_file(store.place(2).join("config.json")).unwrap();
    fs::remove_dir_all(store.place(1)).unwrap();
    let none = store.latest().unwrap_err().to_string();
    assert!(none.contains("none of the checkpoints (2) can be used; in the newest, "), "{none}");
    assert!(none.ends_with("start the run again with --force"), "{none}");
}

#[test]
fn the_oldest_go_first_and_the_newest_good_one_never() {
    let (directory, mut store) = run(&[1, 2, 3, 4]);
    assert_eq!(store.prune(2).unwrap(), [1, 2]);
    assert_eq!(store.prune(2).unwrap(), [0u64; 0]);
    save(&mut store, 5);
    fs::remove_file(store.place(5).join("vocab.txt")).unwrap();
    drop(store); // Whoever comes next does not know what is good.
    let mut store = Store::open(&directory.path().join("run")).unwrap();
    assert_eq!(store.prune(0).unwrap(), [3]);
    assert_eq!(names(&store.checkpoints()), ["step-000000004", "step-000000005"]);
    assert_eq!(store.latest().unwrap().checkpoint.step, 4);
    save(&mut store, 5);
    assert_eq!(store.prune(1).unwrap(), [4]);
}

#[test]
fn a_step_can_be_saved_again() {
    let (_directory, mut store) = run(&[1, 2]);
    store.save(2, &json!("again"), &optimizer(3), model(9)).unwrap();
    assert_eq!(store.latest().unwrap().checkpoint.state, json!("again"));
    assert_eq!(names(&store.checkpoints()), ["step-000000001", "step-000000002"]);
}

#[test]
fn a_kill_while_a_step_is_replaced_loses_nothing() {
    let (_directory, mut store) = run(&[1, 2]);
    let (old, new) = (store.place(2), with_ending(&store.place(2)));
    copy(&old, &new);
    assert_eq!(store.latest().unwrap().checkpoint.directory, new, "both stand, the new one counts");
    fs::remove_dir_all(&old).unwrap();
    assert_eq!(store.latest().unwrap().checkpoint.directory, new, "the old one is gone already");
    save(&mut store, 3);
    assert_eq!(names(&store.checkpoints()), ["step-000000001", "step-000000002", "step-000000003"]);
    copy(&old, &new);
    fs::remove_file(new.join("vocab.txt")).unwrap();
    assert_eq!(store.prune(3).unwrap(), [0u64; 0], "a damaged new one does not replace a good old one");
    assert_eq!(names(&store.checkpoints()), ["step-000000001", "step-000000002", "step-000000003"]);
    assert_eq!(store.latest().unwrap().skipped, []);
}

#[cfg(unix)]
#[test]
fn leftovers_of_killed_writers_vanish() {
    let (_directory, mut store) = run(&[1]);
    let half = store.checkpoints().join(".step-000000002.999-0.tmp");
    copy(&store.place(1), &half);
    assert_eq!(store.latest().unwrap().checkpoint.step, 1, "they are no checkpoints");
    save(&mut store, 3);
    assert_eq!(names(&store.checkpoints()), ["step-000000001", "step-000000003"]);
}

#[test]
fn the_run_is_a_model_at_any_time() {
    let (_directory, mut store) = run(&[1]);
    let published = ["1_Pooling", "config.json", "model.safetensors", "vocab.txt"];
    fs::write(store.directory().join("tokenizer.json"), "of another model").unwrap();
    fs::write(store.directory().join("notes.txt"), "mine").unwrap();
    for step in [1, 2, 2, 1] {
        let saved = save(&mut store, step);
        store.publish(&saved).unwrap();
        store.publish(&saved).unwrap();
        store.save_best(step, model(step)).unwrap();
        assert_eq!(names(store.directory()).len(), 4 + published.len(), "{:?}", names(store.directory()));
        assert_eq!(names(&store.best()), published);
        for name in ["config.json", "model.safetensors", "1_Pooling/config.json"] {
            let expected = fs::read(saved.join(name)).unwrap();
            assert_eq!(fs::read(store.directory().join(name)).unwrap(), expected);
            assert_eq!(fs::read(store.best().join(name)).unwrap(), expected);
        }
    }
    assert!(store.directory().join("notes.txt").exists());
    fs::remove_dir_all(store.place(1)).unwrap();
    assert!(store.directory().join("model.safetensors").exists(), "it outlives its checkpoint");
}

#[test]
fn the_configuration_comes_last() {
    let (_directory, mut store) = run(&[]);
    let saved = save(&mut store, 1);
    fs::create_dir_all(store.directory().join("model.safetensors/in the way")).unwrap();
    let refused = store.publish(&saved).unwrap_err();
    assert!(refused.to_string().contains("model.safetensors"), "{refused}");
    assert!(!store.directory().join("config.json").exists());
}

#[test]
fn a_best_model_needs_no_checkpoint() {
    let (_directory, store) = run(&[]);
    store.save_best(1, model(1)).unwrap();
    let failed = store.save_best(1, |at| {
        write(&at.join("model.safetensors"), "half")?;
        Err(Error::setting("test", "it failed"))
    });
    assert!(failed.is_err());
    store.save_best(3, model(3)).unwrap();
    assert_eq!(fs::read(store.best().join("config.json")).unwrap(), b"{\"step\": 3}");
    assert_eq!(names(store.directory()), [".lock", "best", "checkpoints"]);
}

#[test]
fn a_save_that_fails_touches_nothing_and_says_what_is_left() {
    let (_directory, mut store) = run(&[]);
    let full = || std::io::Error::from(ErrorKind::StorageFull);
    let fail = |at: &Path| {
        write(&at.join("model.safetensors"), "half")?;
        Err(Error::write(at.join("config.json"), full()))
    };
    let message = whole_message(&store.save(1, &json!(null), &optimizer(1), fail).unwrap_err());
    assert!(
        message.contains("step 1 was not saved; there is no earlier one; make room on the disk"),
        "{message}"
    );
    for step in [1, 2] {
        save(&mut store, step);
    }
    let before = content(store.directory());
    for step in [2, 3] {
        let message = whole_message(&store.save(step, &json!(null), &optimizer(1), fail).unwrap_err());
        let place = store.place(2);
        let last = format!("was not saved; the last good one is step 2 at {}; make room", place.display());
        assert!(message.contains(&last) && message.contains("--resume: cannot write"), "{message}");
        assert!(content(store.directory()) == before && names(&store.checkpoints()).len() == 2);
    }
}

/// A device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let (_directory, mut store) = run(&[4]);
    let fill = |_: &Path| files::save(Path::new("/dev/full"), |out| out.write_all(&[0; 1 << 20]));
    let message = whole_message(&store.save(5, &json!(null), &optimizer(1), fill).unwrap_err());
    assert!(message.contains("step 4 at ") && message.contains("make room on the disk"), "{message}");
    assert!(message.contains("No space left on device"), "{message}");
    assert_eq!(store.latest().unwrap().checkpoint.step, 4);
}

#[test]
fn a_new_run_wants_a_place_of_its_own() {
    let (directory, store) = run(&[7]);
    let path = store.directory().to_owned();
    store.save_best(7, model(7)).unwrap();
    store.publish(&store.place(7)).unwrap();
    let in_use = Store::open(&path).unwrap_err().to_string();
    assert!(in_use.contains("another run is training into it"), "{in_use}");
    assert!(Store::create(&path, true).unwrap_err().to_string().contains("another run"));
    assert_eq!(store.latest().unwrap().checkpoint.step, 7, "force stops at the lock");
    drop(store);
    let taken = Store::create(&path, false).unwrap_err().to_string();
    assert!(taken.contains("up to step 7; go on with --resume") && taken.contains("--force"), "{taken}");
    let store = Store::create(&path, true).unwrap();
    assert!(store.latest().unwrap_err().to_string().contains("no checkpoint is in it"));
    assert!(!store.best().exists());
    drop(store);
    fs::write(directory.path().join("letter"), "mine").unwrap();
    let foreign = Store::create(directory.path(), false).unwrap_err().to_string();
    assert!(foreign.contains("it already exists and holds") && foreign.contains("--force"), "{foreign}");
    assert!(!directory.path().join("checkpoints").exists());
    let on_a_file = Store::create(&directory.path().join("letter"), true).unwrap_err().to_string();
    assert!(on_a_file.contains("a file stands"), "{on_a_file}");
    let no_run = Store::open(&directory.path().join("nowhere")).unwrap_err().to_string();
    assert!(no_run.contains("no training run is in it"), "{no_run}");
}

#[test]
fn a_run_that_ended_before_its_first_checkpoint_leaves_the_place_free() {
    let (_directory, store) = run(&[]);
    let path = store.directory().to_owned();
    drop(store);
    fs::create_dir(checkpoints(&path).join(".step-000000001.9-0.tmp")).unwrap();
    Store::create(&path, false).unwrap();
}
