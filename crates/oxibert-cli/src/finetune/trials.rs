//! One run, or several that differ in their seed or in the paper's grid, and what they came to.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use oxibert::data::files;
use oxibert::task::{Long, Task};
use oxibert::train::{Better, Figures, publish};
use serde_json::{Map, Value, json};

use super::begun::{Options, RUN_FILE};
use super::trial::{Trial, Tuned};
use super::{Base, Data, Settings, Verb};
use crate::numbers;
use crate::output::{remark, results};
use crate::tasks::{Example, Job};
use crate::watchers::listen;

/// Section A.3 of the paper.
const BATCHES: [usize; 2] = [16, 32];
const RATES: [f64; 3] = [5e-5, 3e-5, 2e-5];
const EPOCHS: [f64; 2] = [3.0, 4.0];
/// The file with the figures of all runs.
const FILE: &str = "trials.json";

/// A run that is one of several has a name, which is also its directory's.
struct Plan {
    name: Option<String>,
    settings: Settings,
}

/// Runs all that the flags ask for.
pub(super) fn run<J: Job>(
    job: &J,
    verb: &Verb,
    base: &Base,
    task: &J::Task,
    long: Long,
    data: &Data<Example<J>>,
) -> Result<()> {
    let plans = plans(verb, base.config.hidden_size)?;
    if plans.len() > 1 && !verb.resume {
        files::check_dir(&verb.out, verb.force)?;
    }
    let stop = listen()?;
    let mut done = Vec::new();
    for plan in &plans {
        let out = plan.name.as_ref().map_or_else(|| verb.out.clone(), |name| verb.out.join(name));
        // Of several runs, those that had not begun begin now.
        let resume = verb.resume && (plan.name.is_none() || out.join(RUN_FILE).exists());
        let options = Options {
            quiet: verb.manner.quiet,
            evaluate_every: verb.eval_every,
            save_every: verb.save_every,
            resume,
            force: verb.force,
            no_doctor: false,
        };
        if let (Some(name), false) = (&plan.name, verb.manner.quiet) {
            remark(format_args!("\nrun {} of {}: {name}", done.len() + 1, plans.len()));
        }
        let trial = Trial { job, task, base, data, long, settings: plan.settings.clone(), out };
        let tuned = trial.run(options, &stop)?;
        if !tuned.outcome.complete {
            return interrupted(&tuned, &verb.out, &stop);
        }
        done.push(tuned);
    }
    summarise(verb, J::NAME, task.goal(), &plans, &done, data.dev.len())
}

fn plans(verb: &Verb, width: usize) -> Result<Vec<Plan>> {
    let settings = verb.flags.decide(width)?;
    verb.flags.common.note(verb.manner.quiet);
    let mut plans = vec![Plan { name: None, settings }];
    if verb.search {
        plans = vary(&plans, &grid(), |settings, (batch, lr, epochs)| {
            (settings.batch, settings.lr, settings.epochs) = (*batch, *lr, *epochs);
            format!("batch{batch}-lr{lr:e}-epochs{epochs}")
        });
    }
    if let Some(seeds) = verb.seeds.filter(|&seeds| seeds > 1) {
        let numbers: Vec<u64> = (0..u64::from(seeds)).collect();
        plans = vary(&plans, &numbers, |settings, number| {
            settings.seed += number;
            format!("seed{}", settings.seed)
        });
    }
    Ok(plans)
}

/// Every plan with every value.
fn vary<T>(plans: &[Plan], values: &[T], change: impl Fn(&mut Settings, &T) -> String) -> Vec<Plan> {
    let varied = |plan: &Plan, value: &T| {
        let mut settings = plan.settings.clone();
        let own = change(&mut settings, value);
        Plan { name: Some(plan.name.as_ref().map_or(own.clone(), |name| format!("{name}-{own}"))), settings }
    };
    plans.iter().flat_map(|plan| values.iter().map(move |value| varied(plan, value))).collect()
}

fn grid() -> Vec<(usize, f64, f64)> {
    let pairs = BATCHES.into_iter().flat_map(|batch| RATES.map(|lr| (batch, lr)));
    pairs.flat_map(|(batch, lr)| EPOCHS.map(|epochs| (batch, lr, epochs))).collect()
}

fn interrupted(tuned: &Tuned, out: &Path, stop: &AtomicBool) -> Result<()> {
    debug_assert!(stop.load(Ordering::Relaxed), "only a person ends a run early");
    remark(format_args!(
        "stopped after step {}, saved. Go on with the same command and --resume (in {})",
        tuned.outcome.step,
        out.display()
    ));
    Ok(())
}

fn summarise(
    verb: &Verb,
    task: &str,
    (goal, better): (&str, Better),
    plans: &[Plan],
    done: &[Tuned],
    count: usize,
) -> Result<()> {
    let value = |tuned: &Tuned| tuned.figures.value(goal).unwrap_or(f64::NAN);
    let best = (1..done.len()).fold(0, |best, number| {
        if better.is_better(value(&done[number]), value(&done[best])) { number } else { best }
    });
    let summary = json(plans, done, best, count);
    if let Some(name) = &plans[best].name {
        publish(&verb.out.join(name).join("best"), &verb.out)?;
        files::save(&verb.out.join(FILE), |file| Ok(serde_json::to_writer_pretty(file, &summary)?))?;
    }
    let mut out = results();
    if verb.manner.json {
        writeln!(out, "{summary}")?;
    } else if !verb.manner.quiet {
        tell(&mut out, plans, done, best)?;
        let place = verb.out.display();
        writeln!(out, "The model is in {place}. Try it:")?;
        writeln!(out, "  oxibert predict {task} --model {place} < YOUR_FILE")?;
    }
    Ok(out.flush()?)
}

/// The figures of one run; of several, each one's, their mean and their deviation.
fn json(plans: &[Plan], done: &[Tuned], best: usize, count: usize) -> Value {
    let one = |plan: &Plan, tuned: &Tuned| {
        let mut all = Map::new();
        all.extend(plan.name.iter().map(|name| ("run".to_owned(), json!(name))));
        all.extend(tuned.figures.iter().map(|(name, value)| (name.to_owned(), json!(value))));
        all.insert("steps".to_owned(), json!(tuned.outcome.step));
        all.insert("seconds".to_owned(), json!(tuned.outcome.seconds));
        Value::Object(all)
    };
    let runs: Vec<Value> = plans.iter().zip(done).map(|(plan, tuned)| one(plan, tuned)).collect();
    let mut summary = runs[best].clone();
    summary["count"] = json!(count);
    if runs.len() > 1 {
        let spread = spread(done).into_iter();
        let pair = |(name, mean, deviation)| (name, json!({ "mean": mean, "deviation": deviation }));
        summary["over_runs"] = Value::Object(spread.map(pair).collect());
        summary["runs"] = Value::Array(runs);
    }
    summary
}

/// Each figure's mean over the runs and its standard deviation (of a sample).
fn spread(done: &[Tuned]) -> Vec<(String, f64, f64)> {
    let names: Vec<&str> = done[0].figures.iter().map(|(name, _)| name).collect();
    let of = |name: &&str| {
        let values: Vec<f64> = done.iter().filter_map(|tuned| tuned.figures.value(name)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        ((*name).to_owned(), mean, (squares / (values.len().max(2) - 1) as f64).sqrt())
    };
    names.iter().map(of).collect()
}

fn tell(out: &mut dyn Write, plans: &[Plan], done: &[Tuned], best: usize) -> Result<()> {
    let widest = plans.iter().filter_map(|plan| plan.name.as_ref()).map(String::len).max().unwrap_or(0);
    for (number, (plan, tuned)) in plans.iter().zip(done).enumerate() {
        let name = plan.name.as_deref().unwrap_or("");
        let mark = if plans.len() > 1 && number == best { "  the best" } else { "" };
        let time = numbers::duration(tuned.outcome.seconds);
        writeln!(out, "{name:widest$}  {}  ({time}){mark}", told(&tuned.figures))?;
    }
    if done.len() > 1 {
        let parts: Vec<String> = spread(done)
            .iter()
            .map(|(name, mean, deviation)| format!("{} {mean:.4} ± {deviation:.4}", name.replace('_', " ")))
            .collect();
        writeln!(out, "{:widest$}  {}", "mean", parts.join("  "))?;
    }
    Ok(())
}

fn told(figures: &Figures) -> String {
    let parts: Vec<String> =
        figures.iter().map(|(name, value)| format!("{} {value:.4}", name.replace('_', " "))).collect();
    parts.join("  ")
}
