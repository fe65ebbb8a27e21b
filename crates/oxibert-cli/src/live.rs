//! A training run at the terminal: one line that lives, and lines above it that stay.
//!
//! Evaluations, checkpoints and warnings stay. Where standard error is no terminal (a log file), there are plain lines,
//! not too many of them. `--quiet` lets only warnings through.

mod line;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use oxibert::Result;
use oxibert::train::{Begin, Event, Step, Watcher};

use self::line::{Moment, bar, figures, folded, plain};
use crate::numbers::{duration, grouped, steps};
use crate::table;

/// Plain lines come at most so often.
const INTERVAL: Duration = Duration::from_secs(10);
/// The weight of a new step in the numbers of the line: a steady line, but never far behind.
const NEW: f64 = 0.1;

/// A watcher that draws.
pub(crate) struct Live {
    screen: Screen,
    out: Box<dyn Write>,
    begin: Start,
    /// The smoothed numbers of the last steps.
    moment: Option<Moment>,
    /// Tokens, operations and seconds of the last steps, the older the lighter.
    speed: (f64, f64, f64),
}

enum Screen {
    Quiet,
    /// When the last line was written.
    Plain(Option<Instant>),
    Terminal(ProgressBar),
}

/// What is known from the beginning.
#[derive(Default)]
struct Start {
    steps: Option<u64>,
    seconds: f64,
    progress: Option<f64>,
    peak: Option<f64>,
}

impl Live {
    /// Draws on standard error.
    pub(crate) fn new(quiet: bool) -> Self {
        let screen = match quiet {
            true => Screen::Quiet,
            false if io::stderr().is_terminal() => Screen::Terminal(living_line()),
            false => Screen::Plain(None),
        };
        Self::on(screen, Box::new(io::stderr()))
    }

    fn on(screen: Screen, out: Box<dyn Write>) -> Self {
        Self { screen, out, begin: Start::default(), moment: None, speed: (0.0, 0.0, 0.0) }
    }

    /// A line that stays.
    fn say(&mut self, line: &str) {
        match &self.screen {
            Screen::Quiet => {}
            Screen::Terminal(bar) => bar.println(line),
            // Nobody is left to tell if standard error is gone.
            Screen::Plain(_) => drop(writeln!(self.out, "{line}")),
        }
    }

    fn warn(&mut self, text: &str) {
        const WORD: &str = "warning: ";
        let indent = |text: &str| format!("{WORD}{}", text.replace('\n', "\n         "));
        match &self.screen {
            Screen::Terminal(bar) => bar.println(indent(&folded(text, table::width() - 1 - WORD.len()))),
            _ => drop(writeln!(self.out, "{}", indent(text))),
        }
    }

    fn begin(&mut self, begin: &Begin<'_>) {
        let Begin { title, step, steps, seconds, peak } = *begin;
        self.begin = Start { steps, seconds, progress: None, peak };
        match step {
            0 => self.say(title),
            _ => self.say(&format!("{title}, on from step {}", grouped(step))),
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        let now = self.moment_of(step);
        let mut moment = match self.moment.take() {
            Some(before) => before.mixed(now, NEW),
            None => now,
        };
        let (tokens, flops, seconds) = &mut self.speed;
        *tokens = *tokens * (1.0 - NEW) + step.tokens as f64;
        *flops = *flops * (1.0 - NEW) + step.flops as f64;
        *seconds = *seconds * (1.0 - NEW) + step.seconds;
        moment.tokens_per_second = *tokens / *seconds;
        moment.share_of_peak = self.begin.peak.map(|peak| *flops / *seconds / peak);
        if let Screen::Terminal(living) = &self.screen {
            // One column less: some terminals wrap a line that is exactly full.
            living.set_message(bar(&moment, table::width() - 1));
        }
        self.moment = Some(moment);
    }

    fn logged(&mut self, step: &Step<'_>) {
        let Screen::Plain(last) = &mut self.screen else { return };
        if last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        let line = plain(&self.moment_of(step));
        self.say(&line);
    }

    fn moment_of(&mut self, step: &Step<'_>) -> Moment {
        // The first step's end is where the clock of this start is read from: what came before is loading.
        let first = *self.begin.progress.get_or_insert_with(|| {
            self.begin.seconds = step.elapsed;
            step.progress
        });
        let (progress, seconds) = (step.progress - first, step.elapsed - self.begin.seconds);
        Moment {
            step: step.step,
            steps: self.begin.steps,
            progress: step.progress,
            figures: step.figures.iter().collect(),
            tokens_per_second: step.tokens_per_second(),
            share_of_peak: self.begin.peak.map(|peak| step.flops_per_second() / peak),
            left: (progress > 0.0).then(|| (1.0 - step.progress) * seconds / progress),
        }
    }

    fn end(&mut self, step: u64, complete: bool, elapsed: f64) {
        if let Screen::Terminal(bar) = &self.screen {
            bar.set_message("");
        }
        let word = if complete { "done" } else { "stopped" };
        self.say(&format!("{word} after {}, {}", steps(step), duration(elapsed)));
        if let Screen::Terminal(bar) = &self.screen {
            bar.finish_and_clear();
        }
    }
}

fn living_line() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template("{msg}").expect("a template known to be right"))
}

impl Watcher for Live {
    fn notice(&mut self, event: &Event<'_>) -> Result<()> {
        match event {
            Event::Begin(begin) => self.begin(begin),
            Event::Step(step) => self.step(step),
            Event::Log(step) => self.logged(step),
            Event::Evaluation(evaluation) => {
                let best = if evaluation.best { "  best so far" } else { "" };
                let figures = figures(&evaluation.figures.iter().collect::<Vec<_>>());
                self.say(&format!("step {}  held-out {figures}{best}", grouped(evaluation.step)));
            }
            Event::Saved { step, directory } => {
                self.say(&format!("step {}  saved in {}", grouped(*step), directory.display()));
            }
            Event::Warning { text, .. } => self.warn(text),
            Event::End { step, complete, elapsed } => self.end(*step, *complete, *elapsed),
            _ => {}
        }
        Ok(())
    }
}
