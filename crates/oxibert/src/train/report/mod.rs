//! `report.html`: a page that shows a run, while it goes on and afterwards.
//!
//! One file without scripts or anything from a network: it can be opened from the disk, sent by mail, put on a server.
//!
//! `history.rs` remembers, `axis.rs` and `chart.rs` draw curves, `page.rs` puts everything together.

mod axis;
mod chart;
mod history;
mod names;
mod page;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::history::History;
use super::{Event, Watcher, journal};
use crate::Result;
use crate::data::files;

/// The page is written at most so often while nothing special happens.
const INTERVAL: Duration = Duration::from_secs(10);

/// What a report says of a run besides its numbers. All of it is text; nothing in it is taken for HTML.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// The page's title.
    pub title: String,
    /// The run's settings: name and value.
    pub settings: Vec<(String, String)>,
    /// Lines to compare the curves with.
    pub baselines: Vec<Baseline>,
}

/// What is reached without learning, as a dashed line: guessing by frequency, tossing a coin.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// The figure to whose chart it belongs: `mlm_loss`.
    pub figure: String,
    /// Where the line is.
    pub value: f64,
    /// What it is, in a few words.
    pub label: String,
}

/// Something to add at the end of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What is in it.
    pub body: Body,
}

/// What is in a section.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Body {
    /// Lines of text.
    Text(String),
    /// Rows of cells.
    Table {
        /// The names of the columns.
        head: Vec<String>,
        /// The rows, from the top.
        rows: Vec<Vec<String>>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Complete,
    Stopped,
}

/// A watcher that keeps `report.html` up to date.
///
/// The page is replaced as a whole, so that no browser sees half of one. It reloads itself until the run is over.
///
/// ```
/// use oxibert::train::{About, Event, Report, Watcher};
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("report.html");
/// let about = About { title: "A small BERT".into(), settings: vec![("seed".into(), "42".into())], ..About::default() };
/// let mut report = Report::create(&path, about)?;
/// report.notice(&Event::End { step: 100, complete: true, elapsed: 12.0 })?;
/// assert!(std::fs::read_to_string(&path)?.contains("A small BERT"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Report {
    path: PathBuf,
    about: About,
    history: History,
    sections: Vec<Section>,
    state: State,
    written: Instant,
}

impl Report {
    /// A report of a run that is about to begin; the page is there at once.
    pub fn create(path: &Path, about: About) -> Result<Self> {
        Self::with(path, about, History::default())
    }

    /// A report of a run that goes on after `step`. Its past is read from `journal`, a `metrics.jsonl` as
    /// [`Journal`](super::Journal) writes it; without the file the curves begin here.
    pub fn resume(path: &Path, about: About, journal: &Path, step: u64) -> Result<Self> {
        let mut history = History::default();
        journal::read(journal, step, |_, record| {
            history.take(record);
            Ok(())
        })?;
        Self::with(path, about, history)
    }

    fn with(path: &Path, about: About, history: History) -> Result<Self> {
        let (path, written) = (path.to_owned(), Instant::now());
        let mut report = Self { path, about, history, sections: Vec::new(), state: State::Running, written };
        report.save()?;
        Ok(report)
    }

    /// Adds a section at the end, in the place of one with the same title, and writes the page.
    pub fn add(&mut self, section: Section) -> Result<()> {
        match self.sections.iter_mut().find(|known| known.title == section.title) {
            Some(known) => *known = section,
            None => self.sections.push(section),
        }
        self.save()
    }

    fn save(&mut self) -> Result<()> {
        let page = page::page(&self.about, &self.history, self.state, &self.sections);
        files::save(&self.path, |out| out.write_all(page.as_bytes()))?;
        self.written = Instant::now();
        Ok(())
    }
}

impl Watcher for Report {
    fn notice(&mut self, event: &Event<'_>) -> Result<()> {
        if let Some(record) = journal::record(event) {
            self.history.take(&record);
        }
        match event {
            Event::Step(step) => {
                let history = &mut self.history;
                (history.step, history.progress, history.elapsed) = (step.step, step.progress, step.elapsed);
            }
            Event::Begin(_) => self.state = State::Running,
            Event::End { complete, .. } => {
                self.state = if *complete { State::Complete } else { State::Stopped };
            }
            _ => {}
        }
        let soon = !matches!(event, Event::Step(_) | Event::Log(_));
        if soon || self.written.elapsed() >= INTERVAL { self.save() } else { Ok(()) }
    }
}

/// A run that fails tells no end. Its report must not wait for one for ever.
impl Drop for Report {
    fn drop(&mut self) {
        if self.state == State::Running {
            self.state = State::Stopped;
            // There is nobody left to tell; the page stays as it was.
            let _ = self.save();
        }
    }
}
