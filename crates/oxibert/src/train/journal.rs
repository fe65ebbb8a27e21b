//! `metrics.jsonl`: every number of a run, one JSON object per line, for programs and for a report after a restart.
//!
//! A line is one write without a buffer, so that whoever follows the file (`tail -f`) sees it at once and a kill tears
//! at most the last one.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Event, Figures, Step, Watcher};
use crate::data::files::{self, NewFile};
use crate::{Error, Result};

/// A watcher that appends to `metrics.jsonl`.
///
/// Lines have a `kind`: `begin`, `step` (the mean of the steps since the last line), `evaluation`, `saved`, `warning`,
/// `end`. A number that is not finite is `null`.
///
/// ```
/// use oxibert::train::{Event, Figures, Evaluation, Journal, Watcher};
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("metrics.jsonl");
/// let mut figures = Figures::default();
/// figures.add("loss", 4.5, 2.0);
/// let mut journal = Journal::create(&path)?;
/// journal.notice(&Event::Evaluation(Evaluation { step: 7, figures: &figures, best: true, elapsed: 1.5 }))?;
/// let line = std::fs::read_to_string(&path)?;
/// assert_eq!(line, "{\"kind\":\"evaluation\",\"step\":7,\"loss\":2.25,\"best\":true,\"seconds\":1.5}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins a journal; one that stands there is replaced.
    pub fn create(path: &Path) -> Result<Self> {
        files::save(path, |_| Ok(()))?;
        Self::append(path)
    }

    /// Goes on with a journal after `step`: what was written of later steps is dropped, because it will happen again.
    /// A line that a kill cut short is dropped too; a journal that does not exist begins.
    pub fn resume(path: &Path, step: u64) -> Result<Self> {
        let mut kept = NewFile::create(path)?;
        read(path, step, |line, _| {
            kept.write_all(line)
                .and_then(|()| kept.write_all(b"\n"))
                .map_err(|source| Error::write(path, source))
        })?;
        kept.finish()?;
        Self::append(path)
    }

    fn append(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).open(path);
        Ok(Self { path: path.to_owned(), file: file.map_err(|source| Error::write(path, source))? })
    }
}

impl Watcher for Journal {
    fn notice(&mut self, event: &Event<'_>) -> Result<()> {
        let Some(record) = record(event) else { return Ok(()) };
        let line = Value::Object(record).to_string() + "\n";
        self.file.write_all(line.as_bytes()).map_err(|source| Error::write(&self.path, source))?;
        if matches!(event, Event::Saved { .. } | Event::End { .. }) {
            // After a power cut the journal should reach as far as the checkpoint. A file system that cannot promise
            // that (a pipe, some networks) has the line all the same.
            let _ = self.file.sync_data();
        }
        Ok(())
    }
}

/// An object of the journal.
pub(super) type Record = Map<String, Value>;

/// Calls `each` with the lines (without their end) of all steps up to `step`. Lines that are no objects with a step are
/// passed over: a kill or a power cut may leave such, and none is worth a run. A missing file has no lines.
pub(super) fn read(path: &Path, step: u64, mut each: impl FnMut(&[u8], &Record) -> Result<()>) -> Result<()> {
    let file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|source| Error::read(path, source))?,
    };
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(|source| Error::read(path, source))?;
        let Ok(record) = serde_json::from_slice::<Record>(&line) else { continue };
        if record.get("step").and_then(Value::as_u64).is_some_and(|at| at <= step) {
            each(&line, &record)?;
        }
    }
    Ok(())
}

/// What the journal writes of an event; nothing of a single step.
pub(super) fn record(event: &Event<'_>) -> Option<Record> {
    let value = match event {
        Event::Step(_) => return None,
        Event::Log(step) => return Some(logged(step)),
        Event::Begin(begin) => json!({
            "kind": "begin", "step": begin.step, "steps": begin.steps, "title": begin.title,
            "peak_flops_per_second": begin.peak, "seconds": begin.seconds,
        }),
        Event::Evaluation(evaluation) => {
            let mut record = object(json!({ "kind": "evaluation", "step": evaluation.step }));
            add(&mut record, evaluation.figures);
            record.extend(object(json!({ "best": evaluation.best, "seconds": evaluation.elapsed })));
            return Some(record);
        }
        Event::Saved { step, directory } => {
            json!({ "kind": "saved", "step": step, "directory": directory.display().to_string() })
        }
        Event::Warning { step, text } => json!({ "kind": "warning", "step": step, "text": text }),
        Event::End { step, complete, elapsed } => {
            json!({ "kind": "end", "step": step, "complete": complete, "seconds": elapsed })
        }
    };
    Some(object(value))
}

fn logged(step: &Step<'_>) -> Record {
    let mut record = object(json!({
        "kind": "step", "step": step.step, "progress": step.progress, "epoch": step.epoch,
        "lr": step.lr, "gradient_norm": step.gradient_norm,
    }));
    add(&mut record, step.figures);
    record.extend(object(json!({
        "tokens": step.tokens, "tokens_per_second": step.tokens_per_second(),
        "flops_per_second": step.flops_per_second(), "seconds": step.elapsed,
    })));
    record
}

fn add(record: &mut Record, figures: &Figures) {
    record.extend(figures.iter().map(|(name, value)| (name.to_owned(), value.into())));
}

fn object(value: Value) -> Record {
    match value {
        Value::Object(record) => record,
        other => unreachable!("{other} is no object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Begin;
    use std::fs;

    fn log(journal: &mut Journal, step: u64, loss: f64) {
        let mut figures = Figures::default();
        figures.add("loss", loss, 1.0);
        let step = Step {
            step,
            progress: 0.5,
            epoch: 1.25,
            lr: 1e-4,
            gradient_norm: f64::INFINITY,
            figures: &figures,
            tokens: 100,
            flops: 600,
            seconds: 2.0,
            elapsed: 30.0,
        };
        journal.notice(&Event::Step(step.clone())).unwrap();
        journal.notice(&Event::Log(step)).unwrap();
    }

    fn records(path: &Path) -> Vec<Record> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn one_object_per_event_that_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs/1/metrics.jsonl");
        let mut journal = Journal::create(&path).unwrap();
        let begin = Begin { title: "a \"run\"", step: 0, steps: None, seconds: 0.0, peak: Some(1e9) };
        journal.notice(&Event::Begin(begin)).unwrap();
        log(&mut journal, 10, f64::NAN);
        journal.notice(&Event::Warning { step: 10, text: "two\nlines" }).unwrap();
        journal.notice(&Event::Saved { step: 10, directory: Path::new("somewhere") }).unwrap();
        journal.notice(&Event::End { step: 10, complete: true, elapsed: 31.0 }).unwrap();

        let records = records(&path);
        let kinds: Vec<_> = records.iter().map(|record| record["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["begin", "step", "warning", "saved", "end"]);
        let names: Vec<_> = records[1].keys().map(String::as_str).collect();
        let expected = "kind step progress epoch lr gradient_norm loss tokens tokens_per_second flops_per_second seconds";
        assert_eq!(names.join(" "), expected);
        assert_eq!(records[1]["tokens_per_second"], 50.0);
        assert!(records[1]["loss"].is_null() && records[1]["gradient_norm"].is_null());
    }

    #[test]
    fn resuming_drops_later_steps_and_torn_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        let mut journal = Journal::create(&path).unwrap();
        (1..=5).for_each(|step| log(&mut journal, 10 * step, 2.0));
        drop(journal);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"\xff\0\0\n{\"kind\":\"step\",\"step\":60,\"lo").unwrap();
        drop(file);

        let mut journal = Journal::resume(&path, 30).unwrap();
        log(&mut journal, 31, 1.0);
        let steps: Vec<_> = records(&path).iter().map(|record| record["step"].as_u64().unwrap()).collect();
        assert_eq!(steps, [10, 20, 30, 31]);
    }

    #[test]
    fn a_missing_journal_begins_and_a_new_one_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        log(&mut Journal::resume(&path, 30).unwrap(), 31, 1.0);
        assert_eq!(records(&path).len(), 1);
        Journal::create(&path).unwrap();
        assert_eq!(records(&path).len(), 0);
    }
}
