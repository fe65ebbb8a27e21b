//! What a run tells those who watch it: the live line, `metrics.jsonl`, TensorBoard, the report, the doctor.

use std::path::Path;

use super::Figures;
use crate::Result;

/// A run begins, or goes on after an interruption.
#[derive(Debug, Clone)]
pub struct Begin<'r> {
    /// What is trained, in a few words: `pretraining of mini (11.2 M parameters)`.
    pub title: &'r str,
    /// The first step will be the one behind this.
    pub step: u64,
    /// The number of steps, where it is known.
    pub steps: Option<u64>,
    /// Seconds of training before this start.
    pub seconds: f64,
    /// Floating-point operations per second of all cores, as measured; for the share of the peak.
    pub peak: Option<f64>,
}

/// One step, or the mean of several.
#[derive(Debug, Clone)]
pub struct Step<'r> {
    /// Its number, from 1.
    pub step: u64,
    /// How far the run is, 0 to 1.
    pub progress: f64,
    /// How many times the data have been seen, as a fraction.
    pub epoch: f64,
    /// The learning rate.
    pub lr: f64,
    /// The gradient's norm before clipping.
    pub gradient_norm: f64,
    /// Losses and accuracies; `loss` is what training makes smaller.
    pub figures: &'r Figures,
    /// Tokens that went through the model.
    pub tokens: u64,
    /// Floating-point operations of the matrix products.
    pub flops: u64,
    /// Seconds that it took, data included.
    pub seconds: f64,
    /// Seconds of training since the very beginning, earlier starts included.
    pub elapsed: f64,
}

impl Step<'_> {
    /// Tokens in a second.
    pub fn tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.seconds
    }

    /// Floating-point operations in a second.
    pub fn flops_per_second(&self) -> f64 {
        self.flops as f64 / self.seconds
    }
}

/// A measurement on held-out data.
#[derive(Debug, Clone)]
pub struct Evaluation<'r> {
    /// After this step.
    pub step: u64,
    /// Losses and accuracies.
    pub figures: &'r Figures,
    /// Whether it is the best so far.
    pub best: bool,
    /// Seconds of training since the very beginning.
    pub elapsed: f64,
}

/// Something that happened in a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event<'r> {
    /// The run begins or goes on.
    Begin(Begin<'r>),
    /// A step is done.
    Step(Step<'r>),
    /// The mean of the steps since the last of these, to be kept.
    Log(Step<'r>),
    /// Held-out data were measured.
    Evaluation(Evaluation<'r>),
    /// A checkpoint stands there.
    Saved {
        /// After this step.
        step: u64,
        /// Its directory.
        directory: &'r Path,
    },
    /// Something is wrong with the run; in words.
    Warning {
        /// After this step.
        step: u64,
        /// One sentence or two: what is seen, what it means, what helps.
        text: &'r str,
    },
    /// The run is over, or was asked to stop.
    End {
        /// The last step.
        step: u64,
        /// Whether all steps were taken.
        complete: bool,
        /// Seconds of training since the very beginning.
        elapsed: f64,
    },
}

/// Someone who watches a run.
pub trait Watcher {
    /// Told of every event, in order, on the thread that trains.
    fn notice(&mut self, event: &Event<'_>) -> Result<()>;
}
