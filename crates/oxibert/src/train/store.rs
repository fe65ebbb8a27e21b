//! The checkpoints of a training run: whole or not there, checked before they are used, never all gone.
//!
//! ```text
//! DIR/config.json, model.safetensors, …     the newest checkpoint's model, for everybody
//! DIR/best/                                 the same of the best one
//! DIR/checkpoints/step-000000100/           that model,
//!     optimizer.safetensors                 the moments,
//!     training.json                         the step, and what the task needs to go on,
//!     checksums.json                        and what all of these must be
//! DIR/.lock                                 held while a run trains into DIR
//! ```
//!
//! A checkpoint is written under a hidden name and then renamed, so a kill at any moment leaves whole ones and hidden
//! leftovers, which the next save removes. A step that is saved again stands as `step-….new` for the moment in which the old
//! one goes.

mod checksums;
mod open;
mod publish;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::checksums::Checksums;
pub use self::publish::publish;
use super::Optimizer;
use crate::data::files;
use crate::{Error, Result};

/// The optimizer's state in a checkpoint.
pub const OPTIMIZER_FILE: &str = "optimizer.safetensors";
const TRAINING_FILE: &str = "training.json";
const VERSION: u32 = 1;
/// Behind the name of a checkpoint that is about to replace the one of the same step.
const NEW: &str = ".new";

/// The checkpoints of one run, locked against other runs while this value lives.
///
/// ```
/// use oxibert::data::files;
/// use oxibert::nn::Layout;
/// use oxibert::train::{Optimizer, OptimizerOptions, Store};
/// use serde_json::json;
/// # let directory = tempfile::tempdir()?;
/// # let run = directory.path().join("run");
/// let optimizer = Optimizer::new(&Layout::new(Vec::new()), OptimizerOptions::default());
/// let mut store = Store::create(&run, false)?;
/// let saved = store.save(100, &json!({ "epoch": 1 }), &optimizer, |at| {
///     files::save(&at.join("model.safetensors"), |out| out.write_all(b"the model"))
/// })?;
/// store.publish(&saved)?;
/// store.prune(2)?;
/// drop(store);
///
/// let latest = Store::open(&run)?.latest()?;
/// assert_eq!((latest.checkpoint.step, &latest.checkpoint.state["epoch"]), (100, &json!(1)));
/// assert!(run.join("model.safetensors").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Steps whose checkpoints were written or verified by this value.
    good: BTreeSet<u64>,
    /// Absent where the file system has no locks.
    _lock: Option<File>,
}

/// A checkpoint that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// After this step.
    pub step: u64,
    /// Its directory.
    pub directory: PathBuf,
    /// What the task saved with it.
    pub state: Value,
}

/// A checkpoint that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Its directory.
    pub directory: PathBuf,
    /// Which of its files is wrong, and how.
    pub reason: String,
}

/// The checkpoint to go on from.
#[derive(Debug, Clone, PartialEq)]
pub struct Latest {
    /// The newest that is whole.
    pub checkpoint: Stored,
    /// Those that are newer, but damaged; newest first.
    pub skipped: Vec<Damaged>,
}

/// `training.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Training {
    version: u32,
    step: u64,
    state: Value,
}

/// A directory with a checkpoint's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    step: u64,
    /// Saved again, and not yet in the old one's place.
    new: bool,
    path: PathBuf,
}

impl Store {
    /// The run's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Saves the checkpoint of `step`, as a whole or not at all: `fill` writes the model's files into the directory that
    /// it is given, the optimizer's state and `state` (whatever the task needs to go on) join them. Numbers in `state`
    /// that must come back bit for bit shall be whole ones. Returns the checkpoint's directory.
    ///
    /// An error says which checkpoint is the last good one; nothing but the new one is touched.
    pub fn save(
        &mut self,
        step: u64,
        state: &Value,
        optimizer: &Optimizer,
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let training = Training { version: VERSION, step, state: state.clone() };
        let written = self.write(step, |at| {
            fill(at)?;
            optimizer.save(&at.join(OPTIMIZER_FILE))?;
            write_json(&at.join(TRAINING_FILE), &training)?;
            Checksums::of(at)?.save(at)
        });
        written.map_err(|source| self.unsaved(step, source))
    }

    fn write(&mut self, step: u64, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        files::remove_leftovers(&self.checkpoints());
        self.settle()?;
        let place = self.place(step);
        if !place.exists() {
            files::save_dir(&place, false, fill)?;
        } else {
            let new = with_ending(&place);
            files::save_dir(&new, false, fill)?;
            replace(&new, &place)?;
        }
        self.good.insert(step);
        Ok(place)
    }

    /// Finishes what a kill interrupted between the new checkpoint of a step and the end of the old one.
    fn settle(&self) -> Result<()> {
        for entry in self.entries()?.into_iter().filter(|entry| entry.new) {
            match entry.verify() {
                Ok(_) => replace(&entry.path, &self.place(entry.step))?,
                Err(_) => files::remove_dir(&entry.path)?,
            }
        }
        Ok(())
    }

    /// Whether any checkpoint was written, damaged ones included.
    pub fn has_checkpoints(&self) -> Result<bool> {
        Ok(!self.entries()?.is_empty())
    }

    /// The newest checkpoint that is whole, after all of its checksums. Damaged ones are skipped and told of; if there is
    /// no other, that is an error.
    pub fn latest(&self) -> Result<Latest> {
        let mut skipped = Vec::new();
        for entry in self.entries()? {
            match entry.verify() {
                Ok(checkpoint) => return Ok(Latest { checkpoint, skipped }),
                Err(reason) => skipped.push(Damaged { directory: entry.path, reason }),
            }
        }
        let problem = match skipped.first() {
            None => "no checkpoint is in it; start the run again with --force".to_owned(),
            Some(Damaged { directory, reason }) => format!(
                "none of the checkpoints ({}) can be used; in the newest, {}, {reason}; start the run again with --force",
                skipped.len(),
                directory.display()
            ),
        };
        Err(Error::content(&self.checkpoints(), None, problem))
    }

    /// Removes checkpoints, oldest first, until the newest `keep` good ones are left, at least one. Damaged ones between
    /// those stay; they do not count. Returns the steps whose checkpoints went.
    pub fn prune(&mut self, keep: usize) -> Result<Vec<u64>> {
        self.settle()?;
        let mut good = 0;
        let mut behind = Vec::new();
        for entry in self.entries()? {
            if good >= keep.max(1) {
                behind.push(entry);
            } else if self.good.contains(&entry.step) || entry.verify().is_ok() {
                self.good.insert(entry.step);
                good += 1;
            }
        }
        let mut gone = Vec::new();
        for entry in behind.into_iter().rev() {
            files::remove_dir(&entry.path)?;
            self.good.remove(&entry.step);
            gone.push(entry.step);
        }
        Ok(gone)
    }

    /// Shows the model of a checkpoint in the run's own directory, so that the directory can be used as a model at any
    /// time: every file is replaced atomically, `config.json` last. The optimizer's state stays where it is.
    pub fn publish(&self, checkpoint: &Path) -> Result<()> {
        publish::publish(checkpoint, &self.directory)
    }

    /// Writes the model of `step`, of which there need be no checkpoint, into `best/`.
    pub fn save_best(&self, step: u64, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let written = files::with_temporary_dir(&self.best(), fill, |at| publish::publish(at, &self.best()));
        written.map_err(|source| self.unsaved(step, source))
    }

    /// Where the best model stands, once there is one.
    pub fn best(&self) -> PathBuf {
        self.directory.join("best")
    }

    fn checkpoints(&self) -> PathBuf {
        checkpoints(&self.directory)
    }

    fn place(&self, step: u64) -> PathBuf {
        self.checkpoints().join(format!("step-{step:09}"))
    }

    fn entries(&self) -> Result<Vec<Entry>> {
        entries(&self.checkpoints())
    }

    fn unsaved(&self, step: u64, source: Error) -> Error {
        let last = match self.latest() {
            Ok(Latest { checkpoint: Stored { step, directory, .. }, .. }) => {
                format!("the last good one is step {step} at {}", directory.display())
            }
            Err(_) => "there is no earlier one".to_owned(),
        };
        let rescue = format!("{last}; {}, then go on with --resume", remedy(&source));
        Error::Unsaved { step, rescue, source: Box::new(source) }
    }
}

/// What helps against an error of the operating system.
fn remedy(error: &Error) -> &'static str {
    let kind = match error {
        Error::Write { source, .. } | Error::Read { source, .. } => source.kind(),
        _ => ErrorKind::Other,
    };
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk",
        ErrorKind::FileTooLarge => "allow larger files (ulimit -f)",
        _ => "remove the cause",
    }
}

impl Entry {
    /// Reads all of the checkpoint; what is wrong with it is said in words.
    fn verify(&self) -> Result<Stored, String> {
        checksums::verify(&self.path)?;
        let Training { version, step, state } = read_json(&self.path.join(TRAINING_FILE))?;
        if version != VERSION {
            return Err(format!("{TRAINING_FILE} has the version {version}, expected {VERSION}"));
        }
        if step != self.step {
            return Err(format!("{TRAINING_FILE} says that it is of step {step}"));
        }
        Ok(Stored { step, directory: self.path.clone(), state })
    }
}

fn checkpoints(directory: &Path) -> PathBuf {
    directory.join("checkpoints")
}

/// The checkpoints in a directory, newest first. Where the directory is not there, neither are they.
fn entries(checkpoints: &Path) -> Result<Vec<Entry>> {
    let refused = |source| Error::read(checkpoints, source);
    let mut found = Vec::new();
    let listed = match fs::read_dir(checkpoints) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        listed => listed.map_err(refused)?,
    };
    for entry in listed {
        let entry = entry.map_err(refused)?;
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_prefix("step-")) else { continue };
        let (digits, new) = name.strip_suffix(NEW).map_or((name, false), |digits| (digits, true));
        if let Some(step) = digits.parse().ok().filter(|step: &u64| format!("{step:09}") == digits) {
            found.push(Entry { step, new, path: entry.path() });
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found)
}

fn with_ending(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(NEW);
    name.into()
}

/// Puts a whole checkpoint in the place of the one of the same step: there is always one of the two.
fn replace(new: &Path, place: &Path) -> Result<()> {
    if place.exists() {
        files::remove_dir(place)?;
    }
    files::rename_dir(new, place)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    files::save(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Reads a file of ours; the problem names it.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let name = path.file_name().unwrap_or_default().display();
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{name} is missing"),
        _ => format!("{name} cannot be read: {error}"),
    })?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{name} is damaged: {error}"))
}
