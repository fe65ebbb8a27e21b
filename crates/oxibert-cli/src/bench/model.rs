//! `oxibert bench --model`: how fast a model answers or learns, beside what the processor could do, and where the time
//! goes.
//!
//! A forward step is the encoder over one batch. A training step is what pretraining does for one batch: both heads,
//! dropout, all gradients, their norm, AdamW. Token ids are random: they change nothing about the work.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use oxibert::data::Batch;
use oxibert::model::{
    Bert, BertWork, Checkpoint, Config, DropoutPlan, Keep, Kind, PRESETS, Pretraining, Targets, Weights, Work,
};
use oxibert::nn::Params;
use oxibert::random::Random;
use oxibert_kernels::profile::{self, Kernel};
use oxibert_kernels::{AdamW, Cpu, adamw, clear, cpu, measured_peak, squared_norm};
use serde_json::{Map, Value, json};

use crate::choices::Threads;
use crate::output::results;

#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// A checkpoint directory, or a preset with new weights: tiny, mini, small, medium, base or large
    #[arg(long, value_name = "DIR|PRESET")]
    model: Option<String>,
    /// Sequences of a step
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batch: u32,
    /// Tokens of a sequence
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    length: u32,
    /// Training steps instead of forward ones
    #[arg(long)]
    train: bool,
    /// Tokens of a preset's vocabulary [default: 30522]
    #[arg(long, value_name = "N")]
    vocab_size: Option<usize>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// The vocabulary of bert-base-uncased.
const VOCAB_SIZE: usize = 30_522;
/// Everything that is drawn here.
const SEED: u64 = 42;
/// How long the processor's peak is measured.
const PEAK_TIME: Duration = Duration::from_millis(500);
/// Masked tokens of a sequence: the paper's share, and the most that Google's code takes.
const MASKED_SHARE: f64 = 0.15;
const MOST_MASKED: usize = 20;

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    arguments.threads.install()?;
    let name = arguments.model.as_deref().context("--model DIR|PRESET is needed, or `bench tokenizer`")?;
    let model = Model::open(name, arguments.vocab_size)?;
    let batch = random_batch(&model.config, arguments.batch as usize, arguments.length as usize)?;
    let config = model.config.clone();
    let encoder = config.flops_per_token(arguments.length as usize) * batch.tokens() as u64;
    let (measured, flops) = if arguments.train {
        let targets = random_targets(&config, &batch);
        let head = config.mlm_flops_per_token() * targets.masked.len() as u64;
        (train(model, &batch, &targets)?, 3 * (encoder + head))
    } else {
        (forward(model, &batch)?, encoder)
    };
    let memory_mb = peak_memory_mb();
    let peak = measured_peak(PEAK_TIME);
    let report = Report { arguments, name, config, measured, flops, memory_mb, peak, cpu: cpu() };
    let mut out = results();
    if arguments.json {
        writeln!(out, "{}", report.json())?
    } else {
        report.write(&mut out)?
    }
    out.flush()?;
    Ok(())
}

/// What is measured: a shape, and the weights if there are any.
struct Model {
    config: Config,
    weights: Option<Weights>,
}

impl Model {
    /// What lies there, or else the preset of this name.
    fn open(name: &str, vocab_size: Option<usize>) -> Result<Self> {
        let path = Path::new(name);
        if !path.exists() {
            if !PRESETS.contains(&name) {
                bail!("--model: {name:?} is neither a checkpoint nor one of {}", PRESETS.join(", "));
            }
            let config = Config::preset(name, vocab_size.unwrap_or(VOCAB_SIZE))?;
            return Ok(Self { config, weights: None });
        }
        if vocab_size.is_some() {
            bail!("--vocab-size goes with a preset; {name} has its own vocabulary");
        }
        let Checkpoint { config, weights } = Checkpoint::open(path)?;
        Ok(Self { config, weights: Some(weights) })
    }

    fn bert(self) -> Result<Bert> {
        let Self { config, weights } = self;
        let weights = match weights {
            Some(weights) => weights,
            None => {
                let layout = Pretraining::new(&config).layout().clone();
                Weights::of(&Params::new(layout, &config, SEED).tensors())?
            }
        };
        Ok(Bert::new(config, weights)?)
    }

    /// All parameters of pretraining; what the checkpoint lacks (often a head) is new.
    fn params(&self, model: &Pretraining) -> Result<Params> {
        let mut params = Params::new(model.layout().clone(), &self.config, SEED);
        if let Some(weights) = &self.weights {
            let Params { layout, values } = &mut params;
            for (param, range) in layout.iter().filter(|(param, _)| weights.contains(&param.name)) {
                weights.read_into(&param.name, &param.shape, &mut values[range])?;
            }
        }
        Ok(params)
    }
}

fn random_batch(config: &Config, sequences: usize, length: usize) -> Result<Batch> {
    let mut random = Random::new(SEED, "bench tokens", 0);
    let mut batch = Batch::new();
    for _ in 0..sequences {
        let ids: Vec<u32> = (0..length).map(|_| random.below(config.vocab_size as u64) as u32).collect();
        batch.push(&ids, &vec![0; length]);
    }
    config.check_batch(&batch)?;
    Ok(batch)
}

fn random_targets(config: &Config, batch: &Batch) -> Targets {
    let mut random = Random::new(SEED, "bench targets", 0);
    let mut targets = Targets::default();
    for ends in batch.offsets.windows(2) {
        let length = ends[1] - ends[0];
        let masked = ((length as f64 * MASKED_SHARE).round() as usize).clamp(1, MOST_MASKED);
        let mut places: Vec<u32> = (ends[0] as u32..ends[1] as u32).collect();
        random.shuffle(&mut places);
        places.truncate(masked);
        places.sort_unstable();
        targets.masked.extend(places);
        targets.next.push(random.below(2) as u32);
    }
    targets.labels = targets.masked.iter().map(|_| random.below(config.vocab_size as u64) as u32).collect();
    targets
}

/// The seconds of every step, sorted, and how they are spent.
struct Measured {
    seconds: Vec<f64>,
    kernels: [(Kernel, Duration); Kernel::ALL.len()],
    parameters: usize,
}

fn measure(parameters: usize, mut step: impl FnMut()) -> Measured {
    step(); // to warm up: memory is touched, matrices are packed
    profile::start();
    let seconds = super::rounds(step);
    Measured { seconds, kernels: profile::stop(), parameters }
}

fn forward(model: Model, batch: &Batch) -> Result<Measured> {
    let bert = model.bert()?;
    let mut work = BertWork::default();
    Ok(measure(bert.parameter_count(), || {
        std::hint::black_box(bert.hidden(batch, &mut work, None));
    }))
}

fn train(model: Model, batch: &Batch, targets: &Targets) -> Result<Measured> {
    let pretraining = Pretraining::new(&model.config);
    let Params { layout, mut values } = model.params(&pretraining)?;
    let [mut gradients, mut m, mut v] = [0; 3].map(|_| vec![0.0f32; values.len()]);
    let (mut work, mut number) = (Work::default(), 0);
    Ok(measure(values.len(), || {
        number += 1;
        clear(&mut gradients);
        let dropout = DropoutPlan::new(&model.config, number);
        pretraining.gradients(&values, &mut gradients, batch, targets, dropout, Keep::Everything, &mut work);
        let norm = squared_norm(&gradients).sqrt() as f32;
        for (param, range) in layout.iter() {
            let step = optimizer(param.kind, norm, number);
            let [m, v] = [&mut m, &mut v].map(|moments| &mut moments[range.clone()]);
            adamw(&step, &mut values[range.clone()], &gradients[range], m, v);
        }
    }))
}

/// AdamW as BERT is pretrained with it (appendix A.2 of the paper), gradients clipped to norm 1.
fn optimizer(kind: Kind, norm: f32, number: u64) -> AdamW {
    let decays = matches!(kind, Kind::Weight | Kind::Embedding);
    AdamW {
        lr: 1e-4,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-6,
        weight_decay: if decays { 0.01 } else { 0.0 },
        bias_correction: Some(number),
        gradient_scale: 1.0 / norm.max(1.0),
    }
}

/// The most memory that this process had, where the system tells.
fn peak_memory_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

struct Report<'a> {
    arguments: &'a Arguments,
    name: &'a str,
    config: Config,
    measured: Measured,
    flops: u64,
    memory_mb: Option<f64>,
    peak: f64,
    cpu: Cpu,
}

impl Report<'_> {
    fn median(&self) -> f64 {
        super::median(&self.measured.seconds)
    }

    fn best(&self) -> f64 {
        self.measured.seconds[0]
    }

    fn sequences_per_s(&self) -> f64 {
        f64::from(self.arguments.batch) / self.median()
    }

    fn tokens_per_s(&self) -> f64 {
        self.sequences_per_s() * f64::from(self.arguments.length)
    }

    fn gflops(&self) -> f64 {
        self.flops as f64 / self.median() / 1e9
    }

    /// Name and share of the time, largest first; kernels that did not run are left out, `other` is what is between.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        let total: f64 = self.measured.seconds.iter().sum();
        let share = |(kernel, time): (Kernel, Duration)| (kernel.name(), time.as_secs_f64() / total);
        let mut shares: Vec<_> = self.measured.kernels.map(share).into_iter().filter(|s| s.1 > 0.0).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let known: f64 = shares.iter().map(|share| share.1).sum();
        shares.push(("other", (1.0 - known).max(0.0)));
        shares
    }

    fn json(&self) -> Value {
        let Arguments { batch, length, train, .. } = self.arguments;
        let kernels = self.shares().into_iter().map(|(name, share)| (name.to_owned(), share.into()));
        json!({
            "model": self.name, "train": train, "batch": batch, "length": length,
            "parameters": self.measured.parameters,
            "tokens_per_s": self.tokens_per_s(), "sequences_per_s": self.sequences_per_s(),
            "gflops_per_s": self.gflops(), "peak_gflops_per_s": self.peak, "share_of_peak": self.gflops() / self.peak,
            "step_ms": { "median": 1e3 * self.median(), "best": 1e3 * self.best() },
            "steps": self.measured.seconds.len(), "peak_memory_mb": self.memory_mb,
            "isa": self.cpu.isa.to_string(), "threads": self.cpu.threads,
            "kernels": kernels.collect::<Map<_, _>>(),
        })
    }

    fn write(&self, out: &mut dyn Write) -> Result<()> {
        let Arguments { batch, length, train, .. } = self.arguments;
        let (what, threads) = (if *train { "training" } else { "forward" }, self.cpu.threads);
        let (millions, layers) = (self.measured.parameters as f64 / 1e6, self.config.num_hidden_layers);
        let (arch, isa) = (std::env::consts::ARCH, self.cpu.isa);
        writeln!(
            out,
            "{}: {layers} layers of {}, {millions:.1} million parameters",
            self.name, self.config.hidden_size
        )?;
        writeln!(out, "{what} steps of {batch} x {length} tokens, {arch} {isa}, {threads} thread(s)\n")?;
        let (median, best, steps) = (1e3 * self.median(), 1e3 * self.best(), self.measured.seconds.len());
        let (gflops, peak) = (self.gflops(), self.peak);
        writeln!(out, "time        {median:.1} ms per step (median of {steps}), {best:.1} at best")?;
        writeln!(
            out,
            "speed       {:.0} tokens/s, {:.1} sequences/s",
            self.tokens_per_s(),
            self.sequences_per_s()
        )?;
        let percent = 100.0 * gflops / peak;
        writeln!(out, "arithmetic  {gflops:.1} GFLOP/s, {percent:.0} % of the measured peak of {peak:.1}")?;
        if let Some(memory) = self.memory_mb {
            writeln!(out, "memory      {memory:.0} MB at most")?;
        }
        writeln!(out, "\n{:<12}{:>7}{:>11}", "kernel", "share", "per step")?;
        let mean = 1e3 * self.measured.seconds.iter().sum::<f64>() / steps as f64;
        for (name, share) in self.shares() {
            writeln!(out, "{name:<12}{:>5.1} %{:>8.2} ms", 100.0 * share, share * mean)?;
        }
        Ok(())
    }
}
