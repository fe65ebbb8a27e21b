//! What a model is trained for, one file each: its data, its loss, its figures.

pub mod answer;
pub(crate) mod ask;
pub mod choose;
pub mod classify;
mod example;
pub mod finetune;
mod halves;
pub mod lm;
mod long;
pub mod metrics;
pub mod pretrain;
pub mod tag;
pub mod teaching;
pub mod translate;

pub use example::{Item, Target, UNTAGGED};
pub use long::{Long, Pool};

use crate::Result;
use crate::model::Config;
pub use crate::model::Head;
use crate::text::Encoder;
use crate::train::{Better, Figures, Section};

/// Something that a model with a head can be fine-tuned for.
///
/// ```text
/// example -> items -> sequences -> logits -> answer
///               \________ loss _______/        \____ figures
/// ```
pub trait Task: Sync {
    /// What is labelled: a text with its class, a paragraph with its question.
    type Example: Send + Sync;
    /// What the model says about an example.
    type Answer: Send;

    /// Which numbers the model says.
    fn head(&self) -> Head;

    /// Makes a configuration this task's: the architecture's name, the labels and all that a prediction needs to know.
    fn configure(&self, config: &mut Config);

    /// An example's items, as training learns and prediction reads them: the same for both. Several where a long text has
    /// several windows.
    fn items(&self, example: &Self::Example, encoder: &mut Encoder<'_>) -> Result<Vec<Item>>;

    /// How much an item counts where the mean of losses is taken over several.
    fn weight(&self, _item: &Item) -> f64 {
        1.0
    }

    /// The loss of items with known targets, summed; the logits become its gradient times `scale`, or stay as they are where
    /// that is 0. `logits` has the rows of all sequences
    /// (heads of sequences) or of all tokens of all sequences (heads of tokens), one item after the other.
    fn loss(&self, items: &[&Item], logits: &mut [f32], scale: f32) -> f64;

    /// The answer that the logits of all of an example's items give: for each item, the rows of its sequences.
    fn answer(&self, example: &Self::Example, items: &[Item], logits: &[&[f32]]) -> Self::Answer;

    /// How good the answers are, by the names of `evaluate --json`. Examples without a label are passed over.
    fn figures(&self, examples: &[Self::Example], answers: &[Self::Answer]) -> Figures;

    /// The figure by which the best model is known.
    fn goal(&self) -> (&'static str, Better);

    /// Writes into the finished model's configuration what its answers on labelled examples have shown, such as from where
    /// on a question counts as not answerable. The answers become those that the finished model gives.
    fn settle(&self, _examples: &[Self::Example], _answers: &mut [Self::Answer], _config: &mut Config) {}

    /// What a report shows beyond the figures: a confusion matrix, the worst mistakes, calibration.
    fn findings(&self, _examples: &[Self::Example], _answers: &[Self::Answer]) -> Vec<Section> {
        Vec::new()
    }
}
