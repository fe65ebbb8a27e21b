//! Writes `report.html`, `metrics.jsonl` and an event file of a made-up run, to look at what watchers draw:
//!
//! ```sh
//! cargo run -p oxibert --example report -- DIRECTORY [running|complete|sick]
//! ```

use std::path::{Path, PathBuf};

use oxibert::random::Random;
use oxibert::train::{
    About, Baseline, Begin, Body, Doctor, DoctorOptions, Evaluation, Event, Figures, Journal, Report,
    Section, Step, TensorBoard, Watcher,
};

const STEPS: u64 = 20_000;
const UNIGRAM: f64 = 6.21;

fn main() -> oxibert::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| "made-up-run".into()));
    let state = arguments.next().unwrap_or_else(|| "complete".into());
    let mut run = Run {
        doctor: Doctor::new(DoctorOptions { unigram_entropy: Some(UNIGRAM) }),
        report: Report::create(&directory.join("report.html"), about())?,
        others: vec![
            Box::new(Journal::create(&directory.join("metrics.jsonl"))?),
            Box::new(TensorBoard::create(&directory.join("tensorboard"))?),
        ],
        sick: state == "sick",
    };
    run.take(if state == "running" { 13_370 } else { STEPS })?;
    if state == "running" {
        std::mem::forget(run.report); // As a kill would: its last page stays.
        return Ok(());
    }
    run.report.add(examples())
}

fn about() -> About {
    let settings = [
        ("model", "mini: 4 layers, 256 wide, 4 heads"),
        ("parameters", "11.2 M"),
        ("corpus", "语料/corpus.txt, 41.2 MB"),
        ("vocabulary", "30,522"),
        ("batch", "64 sequences of at most 128 tokens"),
        ("learning rate", "5e-4, warm-up 10 %, then linear"),
        ("masking", "15 %, whole words"),
        ("seed", "42"),
        ("threads", "2"),
    ];
    let baseline =
        |figure: &str, value, label: &str| Baseline { figure: figure.into(), value, label: label.into() };
    About {
        title: "Pretraining a small BERT / 预训练小型 BERT".into(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        baselines: vec![
            baseline("mlm_loss", UNIGRAM, "guessing by frequency / 按词频猜测 6.21"),
            baseline("mlm_accuracy", 0.062, "always the most frequent / 总猜最常见的词元 6.2 %"),
            baseline("nsp_accuracy", 0.5, "a coin / 掷硬币 50 %"),
        ],
    }
}

fn examples() -> Section {
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    Section {
        title: "Filled masks / 填空示例".into(),
        body: Body::Table {
            head: row(["Text / 文本", "Guesses / 猜测", "Truth / 原词"]),
            rows: vec![
                row(["The miller went to the [MASK] at dawn.", "mill 41 %, market 22 %, river 9 %", "mill"]),
                row(["渔夫在[MASK]边修补渔网。", "河 63 %，湖 18 %，海 7 %", "河"]),
            ],
        },
    }
}

struct Run {
    doctor: Doctor,
    report: Report,
    others: Vec<Box<dyn Watcher>>,
    sick: bool,
}

impl Run {
    fn take(&mut self, steps: u64) -> oxibert::Result<()> {
        let title = "pretraining of mini (11.2 M parameters)";
        self.tell(&Event::Begin(Begin {
            title,
            step: 0,
            steps: Some(STEPS),
            seconds: 0.0,
            peak: Some(1.4e11),
        }))?;
        for step in (10..=steps).step_by(10) {
            let figures = self.figures(step, 1.0);
            let state = self.step(step, &figures);
            self.tell(&Event::Step(state.clone()))?;
            self.tell(&Event::Log(state))?;
            if step % 1000 == 0 {
                let figures = self.figures(step, 0.05);
                let elapsed = 0.21 * step as f64;
                self.tell(&Event::Evaluation(Evaluation {
                    step,
                    figures: &figures,
                    best: step != 19_000,
                    elapsed,
                }))?;
                self.tell(&Event::Saved { step, directory: Path::new("checkpoint") })?;
            }
        }
        if steps == STEPS {
            self.tell(&Event::End { step: steps, complete: true, elapsed: 0.21 * steps as f64 })?;
        }
        Ok(())
    }

    /// Curves as real runs have them: a steep fall, a plateau at the unigram entropy, then learning.
    fn figures(&self, step: u64, noise: f64) -> Figures {
        let mut random = Random::new(7, "made-up run", (step as f64 / noise) as u64);
        let mut swing = || noise * (random.unit() + random.unit() + random.unit() - 1.5);
        let (at, held_out) = (step as f64, if noise < 1.0 { 0.06 } else { 0.0 });
        let learned = 1.0 / (1.0 + (-(at - 3500.0) / 900.0).exp()) * (1.0 - 0.35 * (-at / 6000.0).exp());
        let mut mlm = 6.25 + 4.1 * (-at / 150.0).exp() - 4.1 * learned + held_out + 0.25 * swing();
        let mut nsp = 0.5 + 0.46 * (1.0 - (-(at / 4000.0).powi(2)).exp()) + 0.05 * swing() - held_out / 6.0;
        if self.sick {
            nsp = 0.5 + 0.03 * swing();
            mlm += if at > 15_000.0 { (at - 15_000.0) / 800.0 } else { 0.0 };
        }
        let nsp_loss = 0.69 * (1.0 - (nsp.min(0.99) - 0.5) * 1.9);
        let mut figures = Figures::default();
        figures.add("loss", mlm + nsp_loss, 1.0);
        figures.add("mlm_loss", mlm, 1.0);
        figures.add("mlm_accuracy", 0.06 + 0.52 * learned - held_out / 8.0 + 0.03 * swing(), 1.0);
        figures.add("nsp_loss", nsp_loss, 1.0);
        figures.add("nsp_accuracy", nsp.min(1.0), 1.0);
        figures
    }

    fn step<'f>(&self, step: u64, figures: &'f Figures) -> Step<'f> {
        let mut random = Random::new(7, "made-up pace", step);
        let at = step as f64;
        let progress = at / STEPS as f64;
        let norm = 0.9 + 4.0 * (-at / 400.0).exp() + 0.5 * random.unit();
        let burst = if self.sick && (15_400..15_440).contains(&step) { 900.0 } else { 1.0 };
        Step {
            step,
            progress,
            epoch: 6.0 * progress,
            lr: 5e-4 * (10.0 * progress).min((1.0 - progress) / 0.9),
            gradient_norm: norm * burst,
            figures,
            tokens: 10 * 7_800,
            flops: 210_000_000_000,
            seconds: 1.95 + 0.25 * random.unit() + if random.chance(0.02) { 0.8 } else { 0.0 },
            elapsed: 0.21 * at,
        }
    }

    fn tell(&mut self, event: &Event<'_>) -> oxibert::Result<()> {
        let warnings = self.doctor.examine(event);
        self.pass_on(event)?;
        let step = if let Event::Step(step) | Event::Log(step) = event { step.step } else { 0 };
        warnings.iter().try_for_each(|text| self.pass_on(&Event::Warning { step, text }))
    }

    fn pass_on(&mut self, event: &Event<'_>) -> oxibert::Result<()> {
        self.report.notice(event)?;
        self.others.iter_mut().try_for_each(|watcher| watcher.notice(event))
    }
}
