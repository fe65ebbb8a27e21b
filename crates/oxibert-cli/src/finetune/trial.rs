//! One run of fine-tuning, from its settings to the finished model.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use oxibert::data::files;
use oxibert::model::{Checkpoint, Config};
use oxibert::nn::Params;
use oxibert::task::Long;
use oxibert::task::finetune::Finetune;
use oxibert::train::{
    About, Doctor, DoctorOptions, Every, Figures, Learner, Limit, OPTIMIZER_FILE, Optimizer, Outcome, Report,
    Run, RunOptions, Store, Stored,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Base, Data, Settings, card};
use crate::given;
use crate::numbers;
use crate::output::remark;
use crate::tasks::{Example, Job};
use crate::watchers::{Watchers, peak};

/// The file that says what a run was begun with.
pub(super) const RUN_FILE: &str = "run.json";
const VERSION: u32 = 1;
/// Lines of metrics.jsonl for a whole run, about.
const LOGS: u64 = 200;

/// Everything that one run is made of.
pub(crate) struct Trial<'a, J: Job> {
    pub(crate) job: &'a J,
    pub(crate) task: &'a J::Task,
    pub(crate) base: &'a Base,
    pub(crate) data: &'a Data<Example<J>>,
    pub(crate) long: Long,
    pub(crate) settings: Settings,
    pub(crate) out: PathBuf,
}

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

/// What came out.
pub(crate) struct Tuned {
    pub(crate) outcome: Outcome,
    /// Of the best model on the dev data.
    pub(crate) figures: Figures,
}

/// What a run was begun with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    version: u32,
    task: String,
    /// The task's own flags.
    job: Map<String, Value>,
    model: String,
    /// What tells these data and their encoding from others.
    data: String,
    settings: Settings,
}

/// Where a run begins.
struct Start {
    values: Vec<f32>,
    optimizer: Optimizer,
    store: Store,
    checkpoint: Option<Stored>,
}

impl<J: Job> Trial<'_, J> {
    /// Learns until the end, or until `stop` is set.
    pub(crate) fn run(&self, options: Options, stop: &AtomicBool) -> Result<Tuned> {
        let config = self.config();
        let (training, dev) = (&self.data.training[..], &self.data.dev[..]);
        let mut learner =
            Finetune::new(self.task, &config, &self.base.tokenizer, training, dev, self.settings.data()?)?;
        let Start { values, optimizer, mut store, checkpoint } = self.start(&learner, options)?;
        let title = self.title(&learner);
        let about =
            About { title: title.clone(), settings: given::list(&self.settings), baselines: Vec::new() };
        let step = checkpoint.as_ref().map(|checkpoint| checkpoint.step);
        let page = self.out.join("report.html");
        let mut watchers = Watchers::new(&self.out, &page, about, options.quiet, step)?;
        let run_options = self.run_options(title, &learner, options);
        let schedule = self.settings.schedule()?;
        let mut run = Run::new(&mut learner, values, optimizer, schedule, run_options, &mut store);
        if !options.no_doctor {
            run = run.consult(Doctor::new(DoctorOptions::default()));
        }
        if let Some(checkpoint) = &checkpoint {
            run = run.resume(checkpoint)?;
        }
        let Watchers { journal, tensorboard, report, live } = &mut watchers;
        let (outcome, _) = run.watch(journal).watch(tensorboard).watch(report).watch(live).train(stop)?;
        let figures = match outcome.complete {
            true => self.finish(&mut learner, &store, &mut watchers.report, &outcome)?,
            false => Figures::default(),
        };
        Ok(Tuned { outcome, figures })
    }

    /// The encoder's configuration with what this run changes about it.
    fn config(&self) -> Config {
        let mut config = self.base.config.clone();
        self.settings.apply(&mut config);
        self.long.save(&mut config);
        config
    }

    fn title(&self, learner: &Finetune<'_, J::Task>) -> String {
        let parameters = numbers::count(learner.model().layout().len() as u64);
        format!(
            "fine-tuning of {} to {}, {parameters} parameters, {} items",
            self.base.name,
            J::NAME,
            numbers::grouped(learner.items() as u64)
        )
    }

    fn run_options(&self, title: String, learner: &Finetune<'_, J::Task>, options: Options) -> RunOptions {
        let Settings { epochs, accumulate, patience, .. } = self.settings;
        let batches = learner.batches_per_epoch() as f64 * epochs;
        let steps = (batches / f64::from(accumulate)).ceil().max(1.0) as u64;
        let epoch = Every::Share(1.0 / epochs);
        RunOptions {
            title,
            limit: Limit::Steps(steps),
            accumulate,
            log_every: (steps / LOGS).max(1),
            evaluate_every: options.evaluate_every.map_or(epoch, Every::Steps),
            save_every: options.save_every.map_or(epoch, Every::Steps),
            keep: 1,
            peak: peak(),
            patience,
        }
    }

    fn recipe(&self, learner: &Finetune<'_, J::Task>) -> Recipe {
        Recipe {
            version: VERSION,
            task: J::NAME.to_owned(),
            job: given::fields(self.job),
            model: self.base.name.clone(),
            data: learner.fingerprint(),
            settings: self.settings.clone(),
        }
    }

    /// A new run, or where an interrupted one stands.
    fn start(&self, learner: &Finetune<'_, J::Task>, options: Options) -> Result<Start> {
        let recipe = self.recipe(learner);
        let store = if options.resume {
            check_same(&recipe, &self.out)?;
            Store::open(&self.out)?
        } else {
            let store = Store::create(&self.out, options.force)?;
            files::save(&self.out.join(RUN_FILE), |file| Ok(serde_json::to_writer_pretty(file, &recipe)?))?;
            store
        };
        if !store.has_checkpoints()? {
            return self.at_first(learner, store);
        }
        let latest = store.latest()?;
        for skipped in &latest.skipped {
            let (directory, reason) = (skipped.directory.display(), &skipped.reason);
            remark(format_args!("note: {directory} is damaged ({reason}); going back"));
        }
        let (layout, checkpoint) = (learner.model().layout().clone(), latest.checkpoint);
        let values = Params::load(layout, &Checkpoint::open(&checkpoint.directory)?.weights)?;
        let state = checkpoint.directory.join(OPTIMIZER_FILE);
        let optimizer = Optimizer::load(&state, &values.layout, self.settings.optimizer())?;
        self.begin(learner, values, optimizer, store, Some(checkpoint))
    }

    fn at_first(&self, learner: &Finetune<'_, J::Task>, store: Store) -> Result<Start> {
        let (model, seed) = (learner.model(), self.settings.seed);
        let layout = model.layout().clone();
        let values = match &self.base.weights {
            Some(weights) => Params::load_known(layout, model.config(), weights, seed)?,
            None => Params::new(layout, model.config(), seed),
        };
        let optimizer = Optimizer::new(&values.layout, self.settings.optimizer());
        self.begin(learner, values, optimizer, store, None)
    }

    fn begin(
        &self,
        learner: &Finetune<'_, J::Task>,
        params: Params,
        optimizer: Optimizer,
        store: Store,
        checkpoint: Option<Stored>,
    ) -> Result<Start> {
        let share = self.settings.share(learner.model().config().num_hidden_layers)?;
        Ok(Start { values: params.values, optimizer: optimizer.with_rates(share), store, checkpoint })
    }

    /// The best model is measured once more, told about, and put into the run's directory.
    fn finish(
        &self,
        learner: &mut Finetune<'_, J::Task>,
        store: &Store,
        report: &mut Report,
        outcome: &Outcome,
    ) -> Result<Figures> {
        let best = store.best();
        if !best.exists() {
            return Ok(Figures::default());
        }
        let Checkpoint { mut config, weights } = Checkpoint::open(&best)?;
        let params = Params::load(learner.model().layout().clone(), &weights)?;
        learner.evaluate(&params.values);
        let figures = learner.settle(&mut config);
        config.save(&best.join("config.json"))?;
        let text = card::write(self, &figures, outcome);
        files::save(&best.join("README.md"), |file| file.write_all(text.as_bytes()))?;
        store.publish(&best)?;
        learner.findings().into_iter().try_for_each(|section| report.add(section))?;
        Ok(figures)
    }
}

/// A run goes on only with what it was begun with.
fn check_same(recipe: &Recipe, out: &Path) -> Result<()> {
    let path = out.join(RUN_FILE);
    if !path.exists() {
        bail!(
            "--resume: there is no run in {} ({RUN_FILE} is missing); leave --resume out to begin one",
            out.display()
        );
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let before: Recipe = serde_json::from_str(&text)
        .with_context(|| format!("{}: not what a run of this version writes", path.display()))?;
    if (&before.task, &before.model) != (&recipe.task, &recipe.model) {
        bail!(
            "--resume: the run in {} was begun as {} of {}, not as {} of {}",
            out.display(),
            before.task,
            before.model,
            recipe.task,
            recipe.model
        );
    }
    given::check(&before.settings, &given::fields(&recipe.settings))?;
    if before.data != recipe.data || before.job != recipe.job {
        bail!(
            "--resume: the run in {} was begun with other data, or other flags about them; name those, or begin a new run \
             elsewhere",
            out.display()
        );
    }
    Ok(())
}
