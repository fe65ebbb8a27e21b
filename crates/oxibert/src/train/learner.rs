//! What can be trained: the loop knows no more of a model and its data than this.

use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Doctor, Figures};
use crate::nn::{Gradients, Layout};
use crate::{Error, Result};

/// Where a run stands when a pass begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// How many passes were made before; what is dropped follows from it.
    pub pass: u64,
    /// How far the run is, 0 to 1.
    pub progress: f64,
}

/// What a pass over one batch has to tell.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// Losses and accuracies; `loss` is what training makes smaller.
    pub figures: Figures,
    /// Tokens that went through the model.
    pub tokens: u64,
    /// Floating-point operations of the matrix products.
    pub flops: u64,
    /// Seconds that went into making the batch.
    pub data_seconds: f64,
}

/// Whether a figure shall fall or rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// A loss.
    Lower,
    /// An accuracy.
    Higher,
}

impl Better {
    /// Whether `new` beats `old`.
    pub fn is_better(self, new: f64, old: f64) -> bool {
        match self {
            Self::Lower => new < old,
            Self::Higher => new > old,
        }
    }
}

/// A model with its data and its loss.
pub trait Learner {
    /// The layout of the parameters.
    fn layout(&self) -> &Layout;

    /// Which rows of tables of embeddings the next pass reads, as places among the parameters; `None` if it may read any. Called right
    /// before [`Learner::gradients`]: the other rows need not be up to date then.
    fn rows_ahead(&mut self) -> Option<&[Range<usize>]> {
        None
    }

    /// Adds the gradient of the next batch's mean loss.
    fn gradients(&mut self, values: &[f32], gradients: &mut Gradients, moment: Moment) -> Pass;

    /// Measures held-out data, where there are any.
    fn evaluate(&mut self, values: &[f32]) -> Option<Figures>;

    /// The figure of an evaluation by which the best model is known.
    fn goal(&self) -> (&'static str, Better);

    /// How often the data have been seen, as a fraction.
    fn epochs(&self) -> f64;

    /// Where in the data the run stands, to go on from.
    fn position(&self) -> Value;

    /// Goes on from a position.
    fn seek(&mut self, position: &Value) -> Result<()>;

    /// What the doctor should see of the data; asked at every log.
    fn consult(&self, _doctor: &mut Doctor) -> Option<String> {
        None
    }

    /// Writes the model's files into a directory.
    fn save(&self, values: &[f32], directory: &Path) -> Result<()>;
}

/// What [`Learner::position`] wrote, read again.
pub(crate) fn read_position<P: DeserializeOwned>(position: &Value) -> Result<P> {
    P::deserialize(position)
        .map_err(|error| Error::setting("position", format!("the checkpoint's place in the data: {error}")))
}
