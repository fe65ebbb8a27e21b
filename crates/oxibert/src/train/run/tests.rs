//! The loop with a learner of eight numbers: what is done when, and that an interruption changes nothing.

use std::cell::Cell;
use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::data::files;
use crate::model::names::{Block, Kind, Param};
use crate::nn::Layout;
use crate::random::Random;
use crate::train::{DoctorOptions, OptimizerOptions, Pass, ScheduleOptions, Warmup};

/// Draws its parameters to a point that jitters from batch to batch.
struct Toy {
    layout: Layout,
    batches: u64,
    /// From this batch on, gradients are no numbers.
    sick_from: u64,
    /// Whether a batch teaches a quarter of the numbers only; then also whether it says so.
    sparse: Option<bool>,
    evaluations: Cell<u64>,
}

impl Toy {
    fn new() -> Self {
        let param =
            Param { name: "x".to_owned(), shape: vec![8, 1], block: Block::Embeddings, kind: Kind::Weight };
        let layout = Layout::new(vec![param]);
        Self { layout, batches: 0, sick_from: u64::MAX, sparse: None, evaluations: Cell::new(0) }
    }
}

impl Learner for Toy {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn gradients(&mut self, values: &[f32], gradients: &mut Gradients, moment: Moment) -> Pass {
        let mut random = Random::new(1, "toy", self.batches ^ moment.pass << 32);
        self.batches += 1;
        let mut loss = 0.0;
        let (batch, sparse) = (self.batches as usize, self.sparse);
        let is_taught = |place: usize| sparse.is_none() || place % 4 == batch % 4;
        let place = self.layout.place("x", 1);
        let taught: Vec<u32> = (0..8).filter(|&place| is_taught(place as usize)).collect();
        let gradients = match sparse {
            Some(true) => gradients.rows(&place, 1, &taught),
            _ => gradients.adding(&place),
        };
        for (place, (value, gradient)) in values.iter().zip(gradients).enumerate() {
            if !is_taught(place) {
                continue;
            }
            let distance = f64::from(*value) - 1.0 - 0.1 * random.unit();
            loss += distance * distance;
            *gradient += if self.batches > self.sick_from { f32::NAN } else { 2.0 * distance as f32 };
        }
        let mut figures = Figures::default();
        figures.add("loss", loss, 1.0);
        Pass { figures, tokens: 8, flops: 16, data_seconds: 0.0 }
    }

    fn evaluate(&mut self, values: &[f32]) -> Option<Figures> {
        self.evaluations.set(self.evaluations.get() + 1);
        let mut figures = Figures::default();
        figures.add("loss", values.iter().map(|&value| (f64::from(value) - 1.05).powi(2)).sum(), 1.0);
        Some(figures)
    }

    fn goal(&self) -> (&'static str, Better) {
        ("loss", Better::Lower)
    }

    fn epochs(&self) -> f64 {
        self.batches as f64 / 10.0
    }

    fn position(&self) -> Value {
        json!(self.batches)
    }

    fn seek(&mut self, position: &Value) -> Result<()> {
        self.batches = position.as_u64().ok_or_else(|| Error::setting("position", "no number"))?;
        Ok(())
    }

    fn save(&self, values: &[f32], directory: &Path) -> Result<()> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        files::save(&directory.join("model.safetensors"), |out| out.write_all(&bytes))
    }
}

/// Writes down what it is told, and asks to stop after a step.
struct Notes<'s> {
    said: Vec<String>,
    stop: &'s AtomicBool,
    stop_after: u64,
}

impl Watcher for Notes<'_> {
    fn notice(&mut self, event: &Event<'_>) -> Result<()> {
        let line = match event {
            Event::Begin(begin) => format!("begin {}", begin.step),
            Event::Step(step) => {
                if step.step == self.stop_after {
                    self.stop.store(true, Ordering::Relaxed);
                }
                return Ok(());
            }
            Event::Log(step) => format!("log {} of {} tokens", step.step, step.tokens),
            Event::Evaluation(evaluation) => format!("evaluation {} {}", evaluation.step, evaluation.best),
            Event::Saved { step, .. } => format!("saved {step}"),
            Event::Warning { step, .. } => format!("warning {step}"),
            Event::End { step, complete, .. } => format!("end {step} {complete}"),
        };
        self.said.push(line);
        Ok(())
    }
}

fn options(steps: u64) -> RunOptions {
    RunOptions {
        title: "toy".to_owned(),
        limit: Limit::Steps(steps),
        accumulate: 2,
        log_every: 5,
        evaluate_every: Every::Share(0.25),
        save_every: Every::Steps(8),
        keep: 2,
        peak: None,
        patience: None,
        bf16: false,
    }
}

/// Runs the toy in `directory`, from its newest checkpoint on if there is one, until `stop_after`.
fn run(
    directory: &Path,
    toy: &mut Toy,
    options: RunOptions,
    stop_after: u64,
) -> (Result<(Outcome, Vec<f32>)>, Vec<String>) {
    let mut store = match directory.exists() {
        true => Store::open(directory).unwrap(),
        false => Store::create(directory, false).unwrap(),
    };
    let checkpoint = store.has_checkpoints().unwrap().then(|| store.latest().unwrap().checkpoint);
    let mut optimizer = Optimizer::new(&toy.layout, OptimizerOptions::default());
    let mut values = vec![0.0; 8];
    if let Some(Stored { directory, .. }) = &checkpoint {
        optimizer = Optimizer::load(
            &directory.join(super::super::OPTIMIZER_FILE),
            &toy.layout,
            OptimizerOptions::default(),
        )
        .unwrap();
        let bytes = std::fs::read(directory.join("model.safetensors")).unwrap();
        values = bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    }
    let schedule =
        Schedule::new(ScheduleOptions { peak: 0.1, warmup: Warmup::Share(0.1), ..Default::default() })
            .unwrap();
    let stop = AtomicBool::new(false);
    let mut notes = Notes { said: Vec::new(), stop: &stop, stop_after };
    let mut run = Run::new(toy, values, optimizer, schedule, options, &mut store);
    if let Some(checkpoint) = &checkpoint {
        run = run.resume(checkpoint).unwrap();
    }
    let result = run.consult(Doctor::new(DoctorOptions::default())).watch(&mut notes).train(&stop);
    (result, notes.said)
}

#[test]
fn zeros_that_are_passed_over_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let values = |sparse: bool, accumulate: u32| {
        let mut toy = Toy { sparse: Some(sparse), ..Toy::new() };
        let options = RunOptions { accumulate, ..options(20) };
        let path = directory.path().join(format!("{sparse} {accumulate}"));
        run(&path, &mut toy, options, u64::MAX).0.unwrap().1
    };
    for accumulate in [1, 2, 5] {
        let all = values(false, accumulate);
        assert!(all.iter().all(|&value| value != 0.0));
        assert_eq!(values(true, accumulate), all, "{accumulate} batches a step");
    }
}

#[test]
fn steps_logs_evaluations_and_saves_come_when_they_are_due() {
    let directory = tempfile::tempdir().unwrap();
    let (result, said) = run(&directory.path().join("run"), &mut Toy::new(), options(20), u64::MAX);
    let (outcome, values) = result.unwrap();
    assert_eq!((outcome.step, outcome.complete), (20, true));
    let evaluated = said.iter().filter(|line| line.starts_with("evaluation")).count();
    assert_eq!(evaluated, 4, "{said:?}");
    let rest: Vec<&str> =
        said.iter().map(String::as_str).filter(|line| !line.starts_with("evaluation")).collect();
    let wanted = [
        "begin 0",
        "log 5 of 80 tokens",
        "saved 8",
        "log 10 of 80 tokens",
        "log 15 of 80 tokens",
        "saved 16",
        "log 20 of 80 tokens",
        "saved 20",
        "end 20 true",
    ];
    assert_eq!(rest, wanted);
    assert!(values.iter().all(|value| (0.5..1.5).contains(value)), "{values:?}");
    let kept = std::fs::read_dir(directory.path().join("run/checkpoints")).unwrap().count();
    assert_eq!(kept, 2);
    assert!(
        directory.path().join("run/model.safetensors").exists() && directory.path().join("run/best").is_dir()
    );
}

#[test]
fn an_interrupted_run_ends_with_the_same_bits() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, _) = run(&directory.path().join("whole"), &mut Toy::new(), options(20), u64::MAX);
    let parts = directory.path().join("parts");
    for stop_after in [3, 11, 12] {
        let (part, said) = run(&parts, &mut Toy::new(), options(20), stop_after);
        assert_eq!(
            (part.unwrap().0.step, said.last().unwrap().as_str()),
            (stop_after, &*format!("end {stop_after} false"))
        );
    }
    let (last, said) = run(&parts, &mut Toy::new(), options(20), u64::MAX);
    assert_eq!(said[0], "begin 12");
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(last.unwrap().1), bits(whole.unwrap().1));
}

#[test]
fn a_finished_run_does_nothing_more() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("run");
    run(&at, &mut Toy::new(), options(8), u64::MAX).0.unwrap();
    let mut toy = Toy::new();
    let (outcome, said) = run(&at, &mut toy, options(8), u64::MAX);
    assert!(outcome.unwrap().0.complete);
    assert_eq!((said, toy.evaluations.get()), (vec!["begin 8".to_owned(), "end 8 true".to_owned()], 0));
}

#[test]
fn a_time_budget_ends_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let limited = RunOptions { limit: Limit::Seconds(0.2), ..options(0) };
    let (result, _) = run(&directory.path().join("run"), &mut Toy::new(), limited, u64::MAX);
    let outcome = result.unwrap().0;
    assert!(outcome.complete && outcome.step > 1 && (0.2..20.0).contains(&outcome.seconds), "{outcome:?}");
}

#[test]
fn gradients_that_are_no_numbers_change_nothing_and_end_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("run");
    let mut toy = Toy { sick_from: 20, ..Toy::new() };
    let (result, said) = run(&at, &mut toy, options(100), u64::MAX);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("20 steps in a row") && error.contains("--lr"), "{error}");
    assert!(said.iter().any(|line| line.starts_with("warning")), "{said:?}");
    let bytes = std::fs::read(at.join("model.safetensors")).unwrap();
    let finite = bytes.chunks_exact(4).all(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).is_finite());
    assert!(finite, "the last checkpoint is sick");
}
