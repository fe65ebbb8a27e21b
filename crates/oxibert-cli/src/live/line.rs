//! The line itself: what is on it, and what gives way where the terminal is narrow.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::numbers::{count, duration, grouped};

/// The shortest and the longest bar.
const BAR: (usize, usize) = (8, 40);

/// A run at a moment.
pub(super) struct Moment {
    pub(super) step: u64,
    pub(super) steps: Option<u64>,
    pub(super) progress: f64,
    pub(super) figures: Vec<(&'static str, f64)>,
    pub(super) tokens_per_second: f64,
    pub(super) share_of_peak: Option<f64>,
    /// Seconds.
    pub(super) left: Option<f64>,
}

impl Moment {
    /// The new moment with its figures smoothed by the old ones.
    pub(super) fn mixed(&self, mut new: Self, weight: f64) -> Self {
        for (name, value) in &mut new.figures {
            let old = self.figures.iter().find(|(known, _)| known == name).map(|(_, old)| *old);
            // What is not finite is shown at once, and forgotten at once.
            if let Some(old) = old.filter(|old| old.is_finite() && value.is_finite()) {
                *value = old + weight * (*value - old);
            }
        }
        new
    }

    /// Where it is: ` 1,234/20,000`, as long as the last one will be.
    fn at(&self) -> String {
        let step = grouped(self.step);
        match self.steps.map(grouped) {
            Some(steps) => format!("{step:>width$}/{steps}", width = steps.len()),
            None => format!("step {step}"),
        }
    }

    /// The parts behind the step, in their order; the number says who gives way first (the highest).
    fn parts(&self) -> Vec<(u8, String)> {
        let shown = self.figures.iter().filter(|(name, _)| *name == "loss" || is_share(name));
        let figure =
            |(name, value): &(&'static str, f64)| (if *name == "loss" { 1 } else { 3 }, figure(name, *value));
        let mut parts: Vec<_> = shown.map(figure).collect();
        if self.tokens_per_second.is_finite() {
            parts.push((4, format!("{:>6} tok/s", count(self.tokens_per_second as u64))));
        }
        if let Some(share) = self.share_of_peak.filter(|share| share.is_finite()) {
            parts.push((5, format!("{:>2.0} % of peak", 100.0 * share)));
        }
        if let Some(left) = self.left {
            parts.push((2, format!("{} left", duration(left))));
        }
        parts
    }
}

/// A line without a bar, for log files.
pub(super) fn plain(moment: &Moment) -> String {
    let parts = moment.parts().into_iter().map(|(_, part)| part.trim_start().to_owned());
    let at = match moment.steps {
        Some(steps) => format!("step {} of {}", grouped(moment.step), grouped(steps)),
        None => moment.at(),
    };
    [at].into_iter().chain(parts).collect::<Vec<_>>().join("  ")
}

/// The line that lives: no wider than `width`, with a bar where there is room for one.
pub(super) fn bar(moment: &Moment, width: usize) -> String {
    let (at, mut parts) = (moment.at(), moment.parts());
    let total = |parts: &[(u8, String)]| parts.iter().map(|(_, part)| 2 + part.width()).sum::<usize>();
    while at.width() + total(&parts) > width {
        let Some(rank) = parts.iter().map(|(rank, _)| *rank).max() else { break };
        let last = parts.iter().rposition(|(known, _)| *known == rank).expect("the rank is one of theirs");
        parts.remove(last);
    }
    let room = (width.saturating_sub(at.width() + total(&parts) + 2)).min(BAR.1);
    let mut line = at;
    if room >= BAR.0 {
        let done = (moment.progress.clamp(0.0, 1.0) * room as f64) as usize;
        line += &format!("  {}{}", "━".repeat(done), "╌".repeat(room - done));
    }
    parts.iter().for_each(|(_, part)| line += &format!("  {part}"));
    line
}

/// `loss 2.310  mlm loss 2.100  mlm 55.0 %`
pub(super) fn figures(figures: &[(&'static str, f64)]) -> String {
    figures.iter().map(|(name, value)| figure(name, *value)).collect::<Vec<_>>().join("  ")
}

/// Text in lines of at most `width` columns, broken between words and between Chinese characters.
pub(super) fn folded(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let (mut start, mut end) = (0, 0);
        for next in breaks(paragraph) {
            if paragraph[start..next].trim_end().width() > width && end > start {
                lines.push(paragraph[start..end].trim_end());
                start = end;
            }
            end = next;
        }
        lines.push(&paragraph[start..]);
    }
    lines.join("\n")
}

/// Where a line may end: before a word, around a wide character, but never before a mark that closes.
fn breaks(text: &str) -> impl Iterator<Item = usize> {
    let wide = |c: char| c.width() == Some(2);
    let pairs = text.char_indices().zip(text.chars().skip(1));
    let inside = pairs.filter(move |&((_, before), after)| {
        let held = after == ' ' || "，。；：、！？）”".contains(after) || "（“".contains(before);
        !held && (before == ' ' || wide(before) || wide(after))
    });
    inside.map(|((at, before), _)| at + before.len_utf8()).chain([text.len()])
}

fn figure(name: &str, value: f64) -> String {
    let words = name.replace('_', " ");
    match is_share(name) {
        true => format!("{} {:>4.1} %", words.strip_suffix(" accuracy").unwrap_or(&words), 100.0 * value),
        false => format!("{words} {value:.3}"),
    }
}

/// Whether it is shown in percent.
fn is_share(name: &str) -> bool {
    ["accuracy", "f1", "precision", "recall", "match"].iter().any(|end| name.ends_with(end))
}
