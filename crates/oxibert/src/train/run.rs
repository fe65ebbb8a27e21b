//! The loop: passes, steps, evaluations, checkpoints, and those who watch.
//!
//! It knows nothing of the model or the data beyond [`Learner`]. What it computes is a function of the parameters at its
//! start and the learner's position; watching, evaluating and saving change nothing.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use oxibert_kernels::in_bf16;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Begin, Better, Doctor, Evaluation, Event, Figures, Learner, Moment, Optimizer, Schedule, Step, Store,
    Stored, Watcher,
};
use crate::nn::Gradients;
use crate::{Error, Result};

/// A checkpoint is written at least this often, whatever the settings: a lost quarter of an hour is too much.
const SECONDS_UNTIL_SAVED: f64 = 900.0;
/// So many steps in a row whose gradient is no number, and the run is lost.
const HOPELESS_STEPS: u32 = 20;

/// When a run is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// After so many steps.
    Steps(u64),
    /// After so many seconds of training, evaluations and saves included.
    Seconds(f64),
}

/// How often something is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Every {
    /// After every so many steps.
    Steps(u64),
    /// After every so large a share of the run.
    Share(f64),
}

impl Every {
    fn is_due(self, step: u64, before: f64, now: f64) -> bool {
        match self {
            Self::Steps(count) => step.is_multiple_of(count.max(1)),
            // Three tenths of a run are its third tenth, whatever 0.3 / 0.1 is in binary.
            Self::Share(share) => {
                let part = |progress: f64| (progress / share + 1e-9).floor();
                part(now) > part(before)
            }
        }
    }
}

/// How a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// What is trained, for those who watch.
    pub title: String,
    /// When it is over.
    pub limit: Limit,
    /// Batches of a step; their gradients' mean is taken.
    pub accumulate: u32,
    /// Steps whose mean is logged.
    pub log_every: u64,
    /// When held-out data are measured; at the end in any case.
    pub evaluate_every: Every,
    /// When a checkpoint is written; at the end in any case.
    pub save_every: Every,
    /// How many checkpoints are kept.
    pub keep: usize,
    /// Floating-point operations per second that this machine can do.
    pub peak: Option<f64>,
    /// So many evaluations in a row without a new best, and the run is over.
    pub patience: Option<u32>,
    /// Steps multiply in bfloat16 and add in f32; evaluations do not.
    pub bf16: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The last step.
    pub step: u64,
    /// Whether all of it was done; if not, it was asked to stop and has saved.
    pub complete: bool,
    /// Seconds of training since the very beginning.
    pub seconds: f64,
    /// The last evaluation.
    pub evaluation: Option<Figures>,
    /// Seconds of this start that went into steps, without evaluations and saves.
    pub step_seconds: f64,
    /// Of those, into making batches.
    pub data_seconds: f64,
}

/// What a checkpoint holds beside parameters and moments.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// Where in its data the learner stands.
    position: Value,
    /// Seconds of training.
    seconds: f64,
    /// The bits of the best figure: a decimal number might not lead back to them.
    best: Option<u64>,
    /// Evaluations since then.
    #[serde(default)]
    stale: u32,
}

/// A run: everything that a step changes.
pub struct Run<'r> {
    learner: &'r mut dyn Learner,
    values: Vec<f32>,
    gradients: Gradients,
    optimizer: Optimizer,
    schedule: Schedule,
    options: RunOptions,
    store: &'r mut Store,
    doctor: Option<Doctor>,
    watchers: Vec<&'r mut dyn Watcher>,
    step: u64,
    /// Seconds of earlier starts.
    before: f64,
    begin: Instant,
    best: Option<f64>,
    /// Evaluations since the best one.
    stale: u32,
    saved: Option<(u64, Instant)>,
    sick_steps: u32,
    window: Window,
    step_seconds: f64,
    data_seconds: f64,
}

/// The steps since the last log.
#[derive(Default)]
struct Window {
    steps: u64,
    figures: Figures,
    gradient_norm: f64,
    tokens: u64,
    flops: u64,
    seconds: f64,
}

/// The numbers of one step.
struct Done {
    lr: f64,
    gradient_norm: f64,
    figures: Figures,
    tokens: u64,
    flops: u64,
    seconds: f64,
}

impl<'r> Run<'r> {
    /// A run from these parameters on, at step 0.
    pub fn new(
        learner: &'r mut dyn Learner,
        values: Vec<f32>,
        optimizer: Optimizer,
        schedule: Schedule,
        options: RunOptions,
        store: &'r mut Store,
    ) -> Self {
        Self {
            gradients: Gradients::new(learner.layout()),
            learner,
            values,
            optimizer,
            schedule,
            options,
            store,
            doctor: None,
            watchers: Vec::new(),
            step: 0,
            before: 0.0,
            begin: Instant::now(),
            best: None,
            stale: 0,
            saved: None,
            sick_steps: 0,
            window: Window::default(),
            step_seconds: 0.0,
            data_seconds: 0.0,
        }
    }

    /// Someone more who watches.
    pub fn watch(mut self, watcher: &'r mut dyn Watcher) -> Self {
        self.watchers.push(watcher);
        self
    }

    /// Someone who says when the run is sick.
    pub fn consult(mut self, doctor: Doctor) -> Self {
        self.doctor = Some(doctor);
        self
    }

    /// Goes on from a checkpoint, whose parameters and moments were given to [`Run::new`].
    pub fn resume(mut self, checkpoint: &Stored) -> Result<Self> {
        let state = State::deserialize(&checkpoint.state).map_err(|error| {
            let problem = format!("its state is not one that training wrote: {error}");
            Error::content(&checkpoint.directory, None, problem)
        })?;
        self.learner.seek(&state.position)?;
        self.step = checkpoint.step;
        self.before = state.seconds;
        self.best = state.best.map(f64::from_bits);
        self.stale = state.stale;
        Ok(self)
    }

    /// Trains until the end, or until `stop` is set: then the step is finished and saved.
    pub fn train(mut self, stop: &AtomicBool) -> Result<(Outcome, Vec<f32>)> {
        self.begin = Instant::now();
        self.saved = Some((self.step, self.begin));
        let steps = match self.options.limit {
            Limit::Steps(steps) => Some(steps),
            Limit::Seconds(_) => None,
        };
        let title = self.options.title.clone();
        let (step, seconds, peak) = (self.step, self.before, self.options.peak);
        self.tell(&Event::Begin(Begin { title: &title, step, steps, seconds, peak }))?;
        let mut evaluation = None;
        while !self.is_over() && !stop.load(Ordering::Relaxed) {
            let before = self.progress();
            self.take_step()?;
            let now = self.progress();
            if now >= 1.0 || self.options.evaluate_every.is_due(self.step, before, now) {
                evaluation = self.evaluate()?.or(evaluation);
            }
            if self.is_over() || self.options.save_every.is_due(self.step, before, now) || self.is_overdue() {
                self.save()?;
            }
        }
        self.finish(evaluation)
    }

    fn finish(mut self, evaluation: Option<Figures>) -> Result<(Outcome, Vec<f32>)> {
        if self.saved.is_none_or(|(step, _)| step != self.step) {
            self.save()?;
        }
        let (step, seconds, complete) = (self.step, self.elapsed(), self.is_over());
        self.tell(&Event::End { step, complete, elapsed: seconds })?;
        let Self { step_seconds, data_seconds, values, .. } = self;
        Ok((Outcome { step, complete, seconds, evaluation, step_seconds, data_seconds }, values))
    }

    fn elapsed(&self) -> f64 {
        self.before + self.begin.elapsed().as_secs_f64()
    }

    fn progress(&self) -> f64 {
        match self.options.limit {
            Limit::Steps(steps) => self.step as f64 / steps.max(1) as f64,
            Limit::Seconds(seconds) => self.elapsed() / seconds,
        }
    }

    /// All steps are done, or they have not helped for too long.
    fn is_over(&self) -> bool {
        self.progress() >= 1.0 || self.options.patience.is_some_and(|patience| self.stale >= patience)
    }

    fn is_overdue(&self) -> bool {
        self.saved.is_none_or(|(_, when)| when.elapsed().as_secs_f64() > SECONDS_UNTIL_SAVED)
    }

    fn take_step(&mut self) -> Result<()> {
        let start = Instant::now();
        let (progress, lr) = (self.progress(), self.rate());
        self.gradients.begin();
        let mut done =
            Done { lr, gradient_norm: 0.0, figures: Figures::default(), tokens: 0, flops: 0, seconds: 0.0 };
        let passes = u64::from(self.options.accumulate.max(1));
        for number in 0..passes {
            let moment = Moment { pass: self.step * passes + number, progress };
            let Self { learner, optimizer, values, gradients, .. } = self;
            match learner.rows_ahead() {
                Some(rows) => optimizer.settle_rows(values, rows),
                None => optimizer.settle(values),
            }
            let pass = in_bf16(self.options.bf16, || learner.gradients(values, gradients, moment));
            done.figures.merge(&pass.figures);
            done.tokens += pass.tokens;
            done.flops += pass.flops;
            self.data_seconds += pass.data_seconds;
        }
        let scale = 1.0 / passes as f32;
        let Self { optimizer, values, gradients, .. } = self;
        done.gradient_norm = optimizer.step_idly(values, gradients, lr as f32, scale);
        self.step += 1;
        self.check_norm(done.gradient_norm)?;
        done.seconds = start.elapsed().as_secs_f64();
        self.step_seconds += done.seconds;
        self.log(&done)
    }

    fn rate(&self) -> f64 {
        match self.options.limit {
            Limit::Steps(steps) => self.schedule.rate(self.step + 1, steps),
            Limit::Seconds(_) => self.schedule.rate_at(self.step + 1, self.progress()),
        }
    }

    /// A gradient that is no number changes nothing; many of them end the run.
    fn check_norm(&mut self, norm: f64) -> Result<()> {
        if norm.is_finite() {
            self.sick_steps = 0;
            return Ok(());
        }
        self.sick_steps += 1;
        if self.sick_steps < HOPELESS_STEPS {
            return Ok(());
        }
        let problem = format!(
            "the gradient of {HOPELESS_STEPS} steps in a row, up to step {}, is not a number; begin anew with a lower --lr or a \
             longer --warmup",
            self.step
        );
        Err(Error::setting("training", problem))
    }

    fn log(&mut self, done: &Done) -> Result<()> {
        let window = &mut self.window;
        window.steps += 1;
        window.figures.merge(&done.figures);
        window.gradient_norm += done.gradient_norm;
        window.tokens += done.tokens;
        window.flops += done.flops;
        window.seconds += done.seconds;
        let step = self.describe(done);
        self.tell(&Event::Step(step))?;
        if !self.step.is_multiple_of(self.options.log_every.max(1)) {
            return Ok(());
        }
        let window = std::mem::take(&mut self.window);
        let mean = Done {
            lr: done.lr,
            gradient_norm: window.gradient_norm / window.steps as f64,
            figures: window.figures,
            tokens: window.tokens,
            flops: window.flops,
            seconds: window.seconds,
        };
        let step = self.describe(&mean);
        self.tell(&Event::Log(step))
    }

    fn describe<'d>(&self, done: &'d Done) -> Step<'d> {
        Step {
            step: self.step,
            progress: self.progress().min(1.0),
            epoch: self.learner.epochs(),
            lr: done.lr,
            gradient_norm: done.gradient_norm,
            figures: &done.figures,
            tokens: done.tokens,
            flops: done.flops,
            seconds: done.seconds,
            elapsed: self.elapsed(),
        }
    }

    fn evaluate(&mut self) -> Result<Option<Figures>> {
        self.optimizer.settle(&mut self.values);
        let Some(figures) = self.learner.evaluate(&self.values) else { return Ok(None) };
        let (goal, better) = self.learner.goal();
        let best = figures.value(goal).is_some_and(|value| self.improve(value, better));
        self.stale = if best { 0 } else { self.stale + 1 };
        if best {
            let (learner, values) = (&*self.learner, &self.values);
            self.store.save_best(self.step, |directory| learner.save(values, directory))?;
        }
        let (step, elapsed) = (self.step, self.elapsed());
        self.tell(&Event::Evaluation(Evaluation { step, figures: &figures, best, elapsed }))?;
        Ok(Some(figures))
    }

    fn improve(&mut self, value: f64, better: Better) -> bool {
        let improved = value.is_finite() && self.best.is_none_or(|best| better.is_better(value, best));
        if improved {
            self.best = Some(value);
        }
        improved
    }

    fn save(&mut self) -> Result<()> {
        self.optimizer.settle(&mut self.values);
        let state = State {
            position: self.learner.position(),
            seconds: self.elapsed(),
            best: self.best.map(f64::to_bits),
            stale: self.stale,
        };
        let (learner, values) = (&*self.learner, &self.values);
        let fill = |at: &Path| learner.save(values, at);
        let directory = self.store.save(self.step, &json!(state), &self.optimizer, fill)?;
        self.store.publish(&directory)?;
        self.store.prune(self.options.keep)?;
        self.saved = Some((self.step, Instant::now()));
        self.tell(&Event::Saved { step: self.step, directory: &directory })
    }

    fn tell(&mut self, event: &Event<'_>) -> Result<()> {
        self.watchers.iter_mut().try_for_each(|watcher| watcher.notice(event))?;
        let Some(doctor) = &mut self.doctor else { return Ok(()) };
        // The learner first: it knows whether these figures can be compared with those before.
        let told = if matches!(event, Event::Log(_)) { self.learner.consult(doctor) } else { None };
        let warnings = doctor.examine(event).into_iter().chain(told);
        for text in warnings {
            let warning = Event::Warning { step: self.step, text: &text };
            self.watchers.iter_mut().try_for_each(|watcher| watcher.notice(&warning))?;
        }
        Ok(())
    }
}
