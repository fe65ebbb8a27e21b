//! Making a model better: the optimizer and its learning rate, the checkpoints of a run, and what it tells those who watch.

mod events;
mod figures;
mod optimizer;
mod schedule;
mod store;

pub use events::{Begin, Evaluation, Event, Step, Watcher};
pub use figures::Figures;
pub use optimizer::{Algorithm, Optimizer, OptimizerOptions};
pub use schedule::{Decay, Form, Schedule, ScheduleOptions, Warmup, parse_duration};
pub use store::{Damaged, Latest, OPTIMIZER_FILE, Store, Stored};
