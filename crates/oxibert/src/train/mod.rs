//! Making a model better: the loop, the optimizer and its learning rate, the checkpoints of a run, and those who watch it.
//!
//! A [`Run`] trains a [`Learner`] and tells [`Event`]s to its [`Watcher`]s: [`Journal`] writes `metrics.jsonl`,
//! [`TensorBoard`] event files, [`Report`] a page; the command line draws a line. [`Doctor`] looks at the same events and
//! says what is wrong.

mod doctor;
mod events;
mod figures;
mod journal;
mod learner;
mod optimizer;
mod report;
mod run;
mod schedule;
mod store;
mod tensorboard;

pub use doctor::{Doctor, DoctorOptions, MaskingShares};
pub use events::{Begin, Evaluation, Event, Step, Watcher};
pub use figures::Figures;
pub use journal::Journal;
pub(crate) use learner::read_position;
pub use learner::{Better, Learner, Moment, Pass};
pub use optimizer::{Algorithm, Optimizer, OptimizerOptions};
pub use report::{About, Baseline, Body, Report, Section};
pub use run::{Every, Limit, Outcome, Run, RunOptions};
pub use schedule::{Decay, Form, Schedule, ScheduleOptions, Warmup, parse_duration};
pub use store::{Damaged, Latest, OPTIMIZER_FILE, Store, Stored, publish};
pub use tensorboard::TensorBoard;
