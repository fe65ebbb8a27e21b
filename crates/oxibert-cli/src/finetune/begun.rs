//! What a run was begun with, where it begins (anew, or where it was interrupted), and everyone who watches it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use oxibert::data::files;
use oxibert::train::{
    About, DoctorOptions, Learner, Optimizer, Outcome, Report, Run, RunOptions, Schedule, Store, Stored,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::given;
use crate::output::remark;
use crate::watchers::{Watchers, doctor};

/// The file that says what a run was begun with.
pub(super) const RUN_FILE: &str = "run.json";
const VERSION: u32 = 1;

/// The flags that change nothing about the model.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    pub(crate) quiet: bool,
    pub(crate) evaluate_every: Option<u64>,
    pub(crate) save_every: Option<u64>,
    pub(crate) resume: bool,
    pub(crate) force: bool,
    /// Nobody is told that the run is sick: it is meant to be short.
    pub(crate) no_doctor: bool,
}

/// What a run was begun with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recipe<S> {
    version: u32,
    task: String,
    /// The task's own flags.
    job: Map<String, Value>,
    model: String,
    /// What tells these data and their encoding from others.
    data: String,
    settings: S,
}

impl<S: Serialize + DeserializeOwned> Recipe<S> {
    pub(super) fn new(task: &str, job: Map<String, Value>, model: &str, data: String, settings: S) -> Self {
        Self { version: VERSION, task: task.to_owned(), job, model: model.to_owned(), data, settings }
    }

    /// The directory of a new run, or that of an interrupted one with the last checkpoint that is whole.
    pub(super) fn begin(&self, out: &Path, options: Options) -> Result<(Store, Option<Stored>)> {
        let store = if options.resume {
            self.check_same(out)?;
            Store::open(out)?
        } else {
            let store = Store::create(out, options.force)?;
            files::save(&out.join(RUN_FILE), |file| Ok(serde_json::to_writer_pretty(file, self)?))?;
            store
        };
        if !store.has_checkpoints()? {
            return Ok((store, None));
        }
        let latest = store.latest()?;
        for skipped in &latest.skipped {
            let (directory, reason) = (skipped.directory.display(), &skipped.reason);
            remark(format_args!("note: {directory} is damaged ({reason}); going back"));
        }
        Ok((store, Some(latest.checkpoint)))
    }

    /// A run goes on only with what it was begun with.
    fn check_same(&self, out: &Path) -> Result<()> {
        let (path, place) = (out.join(RUN_FILE), out.display());
        if !path.exists() {
            bail!(
                "--resume: there is no run in {place} ({RUN_FILE} is missing); leave --resume out to begin one"
            );
        }
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let foreign = || format!("{}: not what a run of this task and version writes", path.display());
        let before: Self = serde_json::from_str(&text).with_context(foreign)?;
        if (&before.task, &before.model) != (&self.task, &self.model) {
            bail!(
                "--resume: the run in {place} was begun as {} of {}, not as {} of {}",
                before.task,
                before.model,
                self.task,
                self.model
            );
        }
        given::check(&before.settings, &given::fields(&self.settings))?;
        if before.data != self.data || before.job != self.job {
            bail!(
                "--resume: the run in {place} was begun with other data, or other flags about them; name those, or begin a \
                 new run elsewhere"
            );
        }
        Ok(())
    }
}

/// Where a run begins.
pub(super) struct Start {
    pub(super) values: Vec<f32>,
    pub(super) optimizer: Optimizer,
    pub(super) store: Store,
    pub(super) checkpoint: Option<Stored>,
}

impl Start {
    /// Learns until the end, or until `stop` is set; the report can be added to.
    pub(super) fn train(
        self,
        learner: &mut dyn Learner,
        schedule: Schedule,
        settings: Vec<(String, String)>,
        run_options: RunOptions,
        options: Options,
        stop: &AtomicBool,
    ) -> Result<(Outcome, Store, Report)> {
        let Self { values, optimizer, mut store, checkpoint } = self;
        let about = About { title: run_options.title.clone(), settings, baselines: Vec::new() };
        let (out, step) = (store.directory(), checkpoint.as_ref().map(|checkpoint| checkpoint.step));
        let mut watchers = Watchers::new(out, &out.join("report.html"), about, options.quiet, step)?;
        let doctor = (!options.no_doctor).then(|| doctor(DoctorOptions::default(), out, step)).transpose()?;
        let mut run = Run::new(learner, values, optimizer, schedule, run_options, &mut store);
        if let Some(doctor) = doctor {
            run = run.consult(doctor);
        }
        if let Some(checkpoint) = &checkpoint {
            run = run.resume(checkpoint)?;
        }
        let Watchers { journal, tensorboard, report, live } = &mut watchers;
        let (outcome, _) = run.watch(journal).watch(tensorboard).watch(report).watch(live).train(stop)?;
        Ok((outcome, store, watchers.report))
    }
}
