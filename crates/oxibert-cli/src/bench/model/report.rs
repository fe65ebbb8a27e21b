//! What was measured, for people and for programs.

use std::fs;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use oxibert::model::Config;
use oxibert_kernels::Cpu;
use oxibert_kernels::profile::Kernel;
use serde_json::{Map, Value, json};

use super::super::median;
use super::steps::Measured;
use super::workload::Workload;

pub(super) struct Report<'a> {
    pub(super) name: &'a str,
    pub(super) train: bool,
    pub(super) bf16: bool,
    pub(super) config: Config,
    pub(super) workload: Workload,
    pub(super) measured: Measured,
    /// Floating-point operations of a step.
    pub(super) flops: u64,
    pub(super) memory_mb: Option<f64>,
    pub(super) peak: f64,
    pub(super) cpu: Cpu,
}

impl Report<'_> {
    fn sorted(&self) -> Vec<f64> {
        let mut seconds = self.measured.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds
    }

    fn median(&self) -> f64 {
        median(&self.sorted())
    }

    fn best(&self) -> f64 {
        self.sorted()[0]
    }

    fn sequences_per_s(&self) -> f64 {
        self.workload.sequences() as f64 / self.median()
    }

    fn tokens_per_s(&self) -> f64 {
        self.workload.tokens() as f64 / self.median()
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

    pub(super) fn json(&self) -> Value {
        let kernels = self.shares().into_iter().map(|(name, share)| (name.to_owned(), share.into()));
        let Workload { batches, .. } = &self.workload;
        json!({
            "model": self.name, "train": self.train, "bf16": self.bf16,
            "batches": batches.len(), "sequences": self.workload.sequences(), "tokens": self.workload.tokens(),
            "parameters": self.measured.parameters,
            "tokens_per_s": self.tokens_per_s(), "sequences_per_s": self.sequences_per_s(),
            "gflops_per_s": self.gflops(), "peak_gflops_per_s": self.peak, "share_of_peak": self.gflops() / self.peak,
            "step_ms": { "median": 1e3 * self.median(), "best": 1e3 * self.best() },
            "steps": self.measured.seconds.len(), "seconds": self.measured.seconds, "losses": self.measured.losses,
            "peak_memory_mb": self.memory_mb,
            "isa": self.cpu.isa.to_string(), "threads": self.cpu.threads,
            "kernels": kernels.collect::<Map<_, _>>(),
        })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> Result<()> {
        let (median, best, steps) = (1e3 * self.median(), 1e3 * self.best(), self.measured.seconds.len());
        let (gflops, peak) = (self.gflops(), self.peak);
        self.write_head(out)?;
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

    fn write_head(&self, out: &mut dyn Write) -> Result<()> {
        let what = match (self.train, self.bf16) {
            (false, _) => "forward",
            (true, false) => "training",
            (true, true) => "training (bfloat16)",
        };
        let threads = self.cpu.threads;
        let (millions, layers) = (self.measured.parameters as f64 / 1e6, self.config.num_hidden_layers);
        let (arch, isa) = (std::env::consts::ARCH, self.cpu.isa);
        let (name, width, shape) = (self.name, self.config.hidden_size, self.shape());
        writeln!(out, "{name}: {layers} layers of {width}, {millions:.1} million parameters")?;
        writeln!(out, "{what} steps of {shape}, {arch} {isa}, {threads} thread(s)\n")?;
        Ok(())
    }

    /// `8 x 128 tokens`, or how much it is together where lengths differ.
    fn shape(&self) -> String {
        let Workload { batches, .. } = &self.workload;
        let (sequences, tokens) = (self.workload.sequences(), self.workload.tokens());
        let length = tokens / sequences;
        let even = |ends: &[usize]| ends[1] - ends[0] == length;
        match &batches[..] {
            [batch] if batch.offsets.windows(2).all(even) => format!("{sequences} x {length} tokens"),
            [_] => format!("{sequences} sequences, {tokens} tokens"),
            _ => format!("{sequences} sequences, {tokens} tokens in {} batches", batches.len()),
        }
    }
}

/// The most memory that this process had, where the system tells.
pub(super) fn peak_memory_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
