//! Everyone who watches a run: metrics.jsonl, TensorBoard, the report and the live line; and how a person stops it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use oxibert::train::{About, Doctor, DoctorOptions, Journal, Report, TensorBoard};

use crate::live::Live;

/// How long the machine's peak is measured.
const PEAK_TIME: Duration = Duration::from_millis(100);

const METRICS: &str = "metrics.jsonl";

pub(crate) struct Watchers {
    pub(crate) journal: Journal,
    pub(crate) tensorboard: TensorBoard,
    pub(crate) report: Report,
    pub(crate) live: Live,
}

impl Watchers {
    /// For a run in `directory` from `step` on, which is absent for a new one.
    pub(crate) fn new(
        directory: &Path,
        report: &Path,
        about: About,
        quiet: bool,
        step: Option<u64>,
    ) -> Result<Self> {
        let (metrics, tensorboard) = (directory.join(METRICS), directory.join("tensorboard"));
        let live = Live::new(quiet);
        Ok(match step {
            None => Self {
                journal: Journal::create(&metrics)?,
                tensorboard: TensorBoard::create(&tensorboard)?,
                report: Report::create(report, about)?,
                live,
            },
            Some(step) => Self {
                journal: Journal::resume(&metrics, step)?,
                tensorboard: TensorBoard::resume(&tensorboard, step)?,
                report: Report::resume(report, about, &metrics, step)?,
                live,
            },
        })
    }
}

/// Who says when the run in `directory` is sick. One that goes on after `step` is known to the doctor.
pub(crate) fn doctor(options: DoctorOptions, directory: &Path, step: Option<u64>) -> Result<Doctor> {
    Ok(match step {
        None => Doctor::new(options),
        Some(step) => Doctor::resume(options, &directory.join(METRICS), step)?,
    })
}

/// Ctrl-C and a polite kill finish the step; a second Ctrl-C ends at once, and the last checkpoint stays.
pub(crate) fn listen() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signal_hook::consts::TERM_SIGNALS.iter().copied() {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .context("cannot listen for signals")?;
    }
    Ok(stop)
}

/// Floating-point operations per second that this machine can do in f32: a measure for training in f32 only.
pub(crate) fn peak(bf16: bool) -> Option<f64> {
    (!bf16).then(|| 1e9 * oxibert_kernels::measured_peak(PEAK_TIME))
}
