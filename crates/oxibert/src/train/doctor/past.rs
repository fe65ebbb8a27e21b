//! What a doctor knows of a run that goes on: its journal is read again, and nothing is said.

use std::path::Path;

use serde_json::Value;

use super::{Doctor, DoctorOptions};
use crate::Result;
use crate::train::journal::{self, Record};
use crate::train::{Begin, Evaluation, Event, Figures, Step};

/// The figures that are examined.
const EXAMINED: [&str; 4] = ["loss", "mlm_loss", "nsp_accuracy", "sop_accuracy"];

impl Doctor {
    /// A doctor who knows what `journal` says of the run up to `step`, and does not repeat what was said then. The journal
    /// holds means of some steps, and those are taken for steps.
    pub fn resume(options: DoctorOptions, journal: &Path, step: u64) -> Result<Self> {
        let mut doctor = Self::new(options);
        journal::read(journal, step, |_, record| {
            doctor.read(record);
            Ok(())
        })?;
        Ok(doctor)
    }

    fn read(&mut self, record: &Record) {
        let step = record.get("step").and_then(Value::as_u64).unwrap_or(0);
        let number = |name| record.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let figures = &figures(record);
        match record.get("kind").and_then(Value::as_str) {
            Some("begin") => {
                let steps = record.get("steps").and_then(Value::as_u64);
                self.examine(&Event::Begin(Begin { title: "", step, steps, seconds: 0.0, peak: None }));
            }
            Some("step") => {
                let step = Step {
                    step,
                    progress: number("progress"),
                    epoch: number("epoch"),
                    lr: number("lr"),
                    gradient_norm: number("gradient_norm"),
                    figures,
                    tokens: 0,
                    flops: 0,
                    seconds: 0.0,
                    elapsed: 0.0,
                };
                self.examine(&Event::Step(step.clone()));
                self.examine(&Event::Log(step));
            }
            Some("evaluation") => {
                self.examine(&Event::Evaluation(Evaluation { step, figures, best: false, elapsed: 0.0 }));
            }
            _ => {}
        }
    }
}

/// A record's figures; one that was not finite was written as `null`.
fn figures(record: &Record) -> Figures {
    let mut figures = Figures::default();
    for name in EXAMINED {
        if let Some(value) = record.get(name) {
            figures.add(name, value.as_f64().unwrap_or(f64::NAN), 1.0);
        }
    }
    figures
}
