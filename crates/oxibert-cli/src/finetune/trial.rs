//! One run of fine-tuning, from its settings to the finished model.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use oxibert::data::files;
use oxibert::model::{Checkpoint, Config};
use oxibert::nn::Params;
use oxibert::task::Long;
use oxibert::task::finetune::Finetune;
use oxibert::train::{
    Every, Figures, Learner, Limit, OPTIMIZER_FILE, Optimizer, Outcome, Report, RunOptions, Store, Stored,
};

use super::begun::{Options, Recipe, Start};
use super::{Base, Data, Settings, card};
use crate::given;
use crate::numbers;
use crate::output::short_name;
use crate::tasks::{Example, Job};
use crate::watchers::peak;

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

/// What came out.
pub(crate) struct Tuned {
    pub(crate) outcome: Outcome,
    /// Of the best model on the dev data.
    pub(crate) figures: Figures,
}

impl<J: Job> Trial<'_, J> {
    /// Learns until the end, or until `stop` is set.
    pub(crate) fn run(&self, options: Options, stop: &AtomicBool) -> Result<Tuned> {
        let config = self.config();
        let (training, dev) = (&self.data.training[..], &self.data.dev[..]);
        let mut learner =
            Finetune::new(self.task, &config, &self.base.tokenizer, training, dev, self.settings.data()?)?;
        let start = self.start(&learner, options)?;
        let (schedule, settings) = (self.settings.schedule()?, given::list(&self.settings));
        let run_options = self.run_options(&learner, options);
        let (outcome, store, mut report) =
            start.train(&mut learner, schedule, settings, run_options, options, stop)?;
        let figures = match outcome.complete {
            true => self.finish(&mut learner, &store, &mut report, &outcome)?,
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
            short_name(&self.base.name),
            J::NAME,
            numbers::grouped(learner.items() as u64)
        )
    }

    fn run_options(&self, learner: &Finetune<'_, J::Task>, options: Options) -> RunOptions {
        let Settings { epochs, accumulate, patience, bf16, .. } = self.settings;
        let batches = learner.batches_per_epoch() as f64 * epochs;
        let steps = (batches / f64::from(accumulate)).ceil().max(1.0) as u64;
        let epoch = Every::Share(1.0 / epochs);
        RunOptions {
            title: self.title(learner),
            limit: Limit::Steps(steps),
            accumulate,
            log_every: (steps / LOGS).max(1),
            evaluate_every: options.evaluate_every.map_or(epoch, Every::Steps),
            save_every: options.save_every.map_or(epoch, Every::Steps),
            keep: 1,
            peak: peak(bf16),
            patience,
            bf16,
        }
    }

    /// A new run, or where an interrupted one stands.
    fn start(&self, learner: &Finetune<'_, J::Task>, options: Options) -> Result<Start> {
        let (job, data) = (given::given(self.job), learner.fingerprint());
        let recipe = Recipe::new(J::NAME, job, &self.base.name, data, self.settings.clone());
        let (store, checkpoint) = recipe.begin(&self.out, options)?;
        let Some(checkpoint) = checkpoint else { return self.at_first(learner, store) };
        let layout = learner.model().layout().clone();
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
