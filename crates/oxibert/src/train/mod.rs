//! Making a model better: the optimizer, and what a run tells those who watch it.

mod events;
mod figures;
mod optimizer;

pub use events::{Begin, Evaluation, Event, Step, Watcher};
pub use figures::Figures;
pub use optimizer::{Optimizer, OptimizerOptions};
