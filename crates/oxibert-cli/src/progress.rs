//! Progress bars on standard error.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use oxibert::progress::{Progress, Unit};

/// A bar per stage; nothing where standard error is no terminal or `--quiet` is given.
pub(crate) struct Bars {
    quiet: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bars {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, bar: Mutex::new(None) }
    }
}

impl Progress for Bars {
    fn begin(&self, stage: &str, total: Option<u64>, unit: Unit) {
        let target = if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(total, target).with_message(stage.to_owned());
        bar.set_style(style(total.is_some(), unit));
        bar.enable_steady_tick(Duration::from_millis(200));
        *self.bar.lock().expect("no thread panics while it draws") = Some(bar);
    }

    fn advance(&self, n: u64) {
        if let Some(bar) = &*self.bar.lock().expect("no thread panics while it draws") {
            bar.inc(n);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar.lock().expect("no thread panics while it draws").take() {
            bar.finish_and_clear();
        }
    }
}

/// Whether a bar can be drawn: it needs a terminal of its own, not one that results scroll through.
pub(crate) fn has_room(quiet: bool, results_to_file: bool) -> bool {
    let scrolls = !results_to_file && std::io::stdout().is_terminal();
    !quiet && !scrolls && std::io::stderr().is_terminal()
}

/// A stage that began before and goes on afterwards.
pub(crate) struct Within<'a>(pub(crate) &'a Bars);

impl Progress for Within<'_> {
    fn begin(&self, _stage: &str, _total: Option<u64>, _unit: Unit) {}
    fn advance(&self, n: u64) {
        self.0.advance(n);
    }
    fn end(&self) {}
}

fn style(total_known: bool, unit: Unit) -> ProgressStyle {
    let template = match (total_known, unit) {
        (true, Unit::Bytes) => {
            "{msg:<18} {wide_bar} {bytes:>10} of {total_bytes:<10} {bytes_per_sec:>12} {eta:>4}"
        }
        (true, Unit::Items) => {
            "{msg:<18} {wide_bar} {human_pos:>10} of {human_len:<10} {per_sec:>12} {eta:>4}"
        }
        (false, Unit::Bytes) => "{msg:<18} {spinner} {bytes} {bytes_per_sec}",
        (false, Unit::Items) => "{msg:<18} {spinner} {human_pos} {per_sec}",
    };
    ProgressStyle::with_template(template).expect("a template known to be right").progress_chars("━━╌")
}
