//! `oxibert bench --model`: how fast a model answers or learns, beside what the processor could do, and where the time
//! goes.
//!
//! `weights.rs` opens the model, `workload.rs` says what goes through it, `steps.rs` runs and times it, `report.rs` tells.

mod report;
mod steps;
mod weights;
mod workload;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use oxibert_kernels::{cpu, measured_peak};

use self::report::{Report, peak_memory_mb};
use self::weights::Model;
use self::workload::Workload;
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
    /// Token ids to take instead of random ones: a JSON list of lists, or {"batches": [...]} (see the guide)
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["batch", "length"])]
    ids: Option<PathBuf>,
    /// Training steps instead of forward ones
    #[arg(long)]
    train: bool,
    /// Keeps only every layer's input while training and computes the rest again: less memory, more time
    #[arg(long, requires = "train")]
    checkpointing: bool,
    /// Multiplies in bfloat16 while training and adds in f32: less time on processors with AMX or AMD's AVX512-BF16
    #[arg(long, requires = "train")]
    bf16: bool,
    /// Writes the first outputs: the last layer's vector of every token, then the pooled vector of every sequence
    #[arg(long, value_name = "FILE.npy", conflicts_with = "train")]
    out: Option<PathBuf>,
    /// How many steps are timed [default: at least 5, and for 2 seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: Option<u32>,
    /// Tokens of a preset's vocabulary [default: 30522]
    #[arg(long, value_name = "N")]
    vocab_size: Option<usize>,
    /// One JSON object, with the time of every step
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Everything that is drawn here.
const SEED: u64 = 42;
/// How long the processor's peak is measured.
const PEAK_TIME: Duration = Duration::from_millis(500);

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    arguments.threads.install()?;
    let name = arguments.model.as_deref().context("--model DIR|PRESET is needed, or `bench tokenizer`")?;
    let model = Model::open(name, arguments.vocab_size)?;
    let config = model.config.clone();
    let workload = arguments.workload(&model)?;
    let (measured, flops) = if arguments.train {
        (steps::train(model, &workload, arguments)?, workload.training_flops(&config))
    } else {
        (steps::forward(model, &workload, arguments)?, workload.forward_flops(&config))
    };
    let memory_mb = peak_memory_mb();
    let peak = measured_peak(PEAK_TIME);
    let train = arguments.train;
    let bf16 = arguments.bf16;
    let report = Report { name, train, bf16, config, workload, measured, flops, memory_mb, peak, cpu: cpu() };
    let mut out = results();
    if arguments.json {
        writeln!(out, "{}", report.json())?
    } else {
        report.write(&mut out)?
    }
    out.flush()?;
    Ok(())
}

impl Arguments {
    fn workload(&self, model: &Model) -> Result<Workload> {
        match &self.ids {
            Some(path) => Workload::load(path, &model.config, self.train),
            None => Workload::random(&model.config, self.batch as usize, self.length as usize),
        }
    }
}
