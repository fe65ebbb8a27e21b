//! Making a model better: the optimizer, and what a run tells those who watch it.
//!
//! A run tells [`Event`]s to its [`Watcher`]s: [`Journal`] writes `metrics.jsonl`, [`TensorBoard`] event files,
//! [`Report`] a page; the command line draws a line. [`Doctor`] looks at the same events and says what is wrong.

mod doctor;
mod events;
mod figures;
mod journal;
mod optimizer;
mod report;
mod tensorboard;

pub use doctor::{Doctor, DoctorOptions, MaskingShares};
pub use events::{Begin, Evaluation, Event, Step, Watcher};
pub use figures::Figures;
pub use journal::Journal;
pub use optimizer::{Optimizer, OptimizerOptions};
pub use report::{About, Baseline, Body, Report, Section};
pub use tensorboard::TensorBoard;
