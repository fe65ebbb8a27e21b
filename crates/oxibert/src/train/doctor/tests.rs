//! Sick runs, each with its warning, and healthy ones, which hear nothing.

use super::*;
use crate::random::Random;
use crate::train::{Figures, Journal, Watcher as _};
use std::path::PathBuf;

const OPTIONS: DoctorOptions = DoctorOptions { unigram_entropy: Some(6.0) };

/// A made-up run: steps with a log after every tenth and an evaluation after every hundredth.
struct Run {
    doctor: Doctor,
    steps: u64,
    said: Vec<String>,
    /// A run that is interrupted after every so many steps, and its journal.
    interrupted: Option<(u64, PathBuf)>,
}

impl Run {
    fn new(steps: u64) -> Self {
        let mut doctor = Doctor::new(OPTIONS);
        let begin = Begin { title: "test", step: 0, steps: Some(steps), seconds: 0.0, peak: None };
        assert!(doctor.examine(&Event::Begin(begin)).is_empty());
        Self { doctor, steps, said: Vec::new(), interrupted: None }
    }

    /// One that is interrupted after every `every` steps.
    fn interrupted(steps: u64, every: u64, journal: PathBuf) -> Self {
        let begin = Begin { title: "test", step: 0, steps: Some(steps), seconds: 0.0, peak: None };
        Journal::create(&journal).unwrap().notice(&Event::Begin(begin)).unwrap();
        Self { interrupted: Some((every, journal)), ..Self::new(steps) }
    }

    /// An event that a journal keeps.
    fn tell(&mut self, event: &Event<'_>, step: u64) {
        self.said.extend(self.doctor.examine(event));
        if let Some((_, journal)) = &self.interrupted {
            Journal::resume(journal, step).unwrap().notice(event).unwrap();
        }
    }

    /// Takes all steps; `at` gives the state of each from how far the run is.
    fn take(mut self, at: impl Fn(u64, f64) -> State) -> Vec<String> {
        for number in 1..=self.steps {
            let state = at(number, number as f64 / self.steps as f64);
            let figures = figures(&state.figures);
            let step = Step {
                step: number,
                progress: number as f64 / self.steps as f64,
                epoch: 0.0,
                lr: state.lr,
                gradient_norm: state.norm,
                figures: &figures,
                tokens: 1,
                flops: 1,
                seconds: 1.0,
                elapsed: 1.0,
            };
            self.said.extend(self.doctor.examine(&Event::Step(step.clone())));
            if number.is_multiple_of(10) {
                self.doctor.enter_part(state.part);
                self.tell(&Event::Log(step), number);
            }
            if number.is_multiple_of(100) {
                let mut held_out = Figures::default();
                held_out.add("loss", state.held_out, 1.0);
                let evaluation = Evaluation { step: number, figures: &held_out, best: false, elapsed: 1.0 };
                self.tell(&Event::Evaluation(evaluation), number);
            }
            if let Some((every, journal)) = &self.interrupted
                && number.is_multiple_of(*every)
            {
                self.doctor = Doctor::resume(OPTIONS, journal, number).unwrap();
            }
        }
        self.said
    }
}

fn figures(values: &[(&'static str, f64)]) -> Figures {
    let mut figures = Figures::default();
    values.iter().for_each(|(name, value)| figures.add(name, *value, 1.0));
    figures
}

fn unit(seed: u64, index: u64) -> f64 {
    Random::new(seed, "doctor", index).unit()
}

struct State {
    lr: f64,
    norm: f64,
    figures: Vec<(&'static str, f64)>,
    held_out: f64,
    part: usize,
}

/// A good run with noise: from 8 nats over the plateau to 2, the pairs from 50 % to 95 %.
fn healthy(step: u64, progress: f64) -> State {
    let noise = |index: u64| unit(42, 10 * step + index) - 0.5;
    let trend = 2.0 + 6.0 * (-6.0 * progress).exp();
    let loss = trend + 0.6 * noise(0);
    let pairs = 0.95 - 0.45 * (-8.0 * progress).exp() + 0.1 * noise(1);
    State {
        lr: 1e-4 * (10.0 * progress).min(1.0) * (1.0 - progress),
        norm: 1.0 + 5.0 * (-20.0 * progress).exp() + (2.0 * noise(2)).exp(),
        figures: vec![("loss", loss + 0.3), ("mlm_loss", loss), ("nsp_accuracy", pairs)],
        held_out: trend + 0.4 + 0.05 * noise(3),
        part: 0,
    }
}

fn with(state: State, name: &'static str, value: f64) -> State {
    let figures =
        state.figures.into_iter().map(|(known, old)| (known, if known == name { value } else { old }));
    State { figures: figures.collect(), ..state }
}

fn only(said: Vec<String>, part: &str) {
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].contains(part), "{said:#?}");
    let lines: Vec<_> = said[0].lines().collect();
    assert_eq!(lines.len(), 2, "English and Chinese");
    assert!(lines[0].is_ascii() && !lines[1].is_ascii() && !said[0].contains("  "));
}

#[test]
fn healthy_runs_hear_nothing() {
    for steps in [50, 400, 3_000, 20_000] {
        assert_eq!(Run::new(steps).take(healthy), Vec::<String>::new(), "{steps} steps");
    }
}

#[test]
fn fine_tuning_to_almost_no_loss_is_healthy() {
    let said = Run::new(2_000).take(|step, progress| {
        let noise = unit(7, step);
        let loss = 0.7 * (-10.0 * progress).exp() + 0.1 * noise;
        State { lr: 1e-5, norm: 1.0 + noise, figures: vec![("loss", loss)], held_out: 0.3, part: 0 }
    });
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn numbers_that_are_none() {
    let said = Run::new(500).take(|step, progress| match step {
        200.. => with(healthy(step, progress), "loss", f64::NAN),
        _ => healthy(step, progress),
    });
    only(said, "Step 200: the loss is NaN");
}

#[test]
fn a_burst_is_told_again_when_it_comes_again() {
    let said = Run::new(500).take(|step, progress| {
        let burst = matches!(step, 200..=203 | 400);
        State { norm: if burst { 1_000.0 } else { 1.0 }, ..healthy(step, progress) }
    });
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(
        said[0].contains("Step 200: the gradient's norm is 1000.000, 1000 times")
            && said[1].contains("Step 400")
    );
}

#[test]
fn a_run_that_diverges() {
    let said = Run::new(2_000).take(|step, progress| match step {
        1_000.. => with(healthy(step, progress), "loss", 7.5),
        _ => healthy(step, progress),
    });
    only(said, "far above its best of 2.");
}

#[test]
fn another_part_may_begin_with_a_higher_loss() {
    let said = Run::new(2_000).take(|step, progress| match step {
        1_000.. => State { part: 1, ..with(healthy(step, progress), "loss", 7.5) },
        _ => healthy(step, progress),
    });
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn a_model_that_knows_frequencies_only() {
    let said = Run::new(3_000).take(|step, progress| with(healthy(step, progress), "mlm_loss", 5.95));
    only(said, "Step 1000: the masked-token loss is 5.950, no better than the 6.000");
}

#[test]
fn sentences_by_the_toss_of_a_coin() {
    let said = Run::new(3_000).take(|step, progress| with(healthy(step, progress), "nsp_accuracy", 0.501));
    only(said, "right in 50.1 % of cases");
}

#[test]
fn a_rate_of_zero() {
    let said = Run::new(1_000)
        .take(|step, progress| State { lr: if step > 300 { 0.0 } else { 1e-4 }, ..healthy(step, progress) });
    only(said, "Step 303: the learning rate is zero though only 30 %");
}

#[test]
fn held_out_data_get_worse() {
    let said = Run::new(2_000)
        .take(|step, progress| State { held_out: 4.0 + (progress - 0.3).abs(), ..healthy(step, progress) });
    only(said, "The model learns the training data by heart");
}

#[test]
fn masking_that_is_not_what_was_asked_for() {
    let mut doctor = Doctor::new(DoctorOptions::default());
    let bert = MaskingShares { chosen: 0.15, masked: 0.8, random: 0.1, kept: 0.1, tokens: 0 };
    let near = MaskingShares { chosen: 0.148, masked: 0.81, random: 0.095, kept: 0.095, tokens: 1_000_000 };
    assert_eq!(doctor.examine_masking(&bert, &near), None);
    assert_eq!(doctor.examine_masking(&bert, &MaskingShares { chosen: 0.05, tokens: 20, ..bert }), None);
    let off = MaskingShares { chosen: 0.11, masked: 0.9, ..near };
    let said = doctor.examine_masking(&bert, &off).unwrap();
    assert!(said.contains("chosen 11.0 % instead of 15.0 %, [MASK] 90.0 % instead of 80.0 %"), "{said}");
    assert_eq!(doctor.examine_masking(&bert, &off), None);
}

#[test]
fn a_restart_forgets_nothing_and_repeats_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let journal = dir.path().join("metrics.jsonl");
    let run = |every| Run::interrupted(2_000, every, journal.clone());
    for every in [100, 130] {
        assert_eq!(run(every).take(healthy), Vec::<String>::new(), "every {every} steps");
        let said = run(every).take(|step, progress| State {
            held_out: 4.0 + (progress - 0.3).abs(),
            ..healthy(step, progress)
        });
        only(said, "The model learns the training data by heart");
        let said = run(every).take(|step, progress| with(healthy(step, progress), "mlm_loss", 5.95));
        only(said, "no better than the 6.000");
    }
    let none = dir.path().join("none.jsonl");
    assert!(Doctor::resume(OPTIONS, &none, 7).is_ok(), "a journal that is gone is no reason to stop");
}
