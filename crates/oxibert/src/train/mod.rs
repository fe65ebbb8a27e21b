//! Making a model better: the optimizer.

mod optimizer;

pub use optimizer::{Optimizer, OptimizerOptions};
