//! The page: tiles, warnings, charts, tables, settings, in one file without scripts.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use super::axis::{Unit, clock, grouped, number};
use super::chart::Chart;
use super::history::{History, Measured, curve};
use super::names::{LR, NORM, SPEED, both, escaped, label, unit};
use super::{About, Body, Section, State};

/// How often the browser looks for a newer page, in seconds.
const REFRESH: u32 = 10;
/// Evaluations in the table: the last ones, and the best before them.
const ROWS: usize = 20;
/// Warnings on the page: the last ones. A run that falls ill again and again fills no book.
const WARNINGS: usize = 12;
/// Numbers of a step that are no figure of the model.
const NO_FIGURES: [&str; 5] = ["epoch", LR, NORM, SPEED, "flops_per_second"];

/// The whole page.
pub(super) fn page(about: &About, history: &History, state: State, sections: &[Section]) -> String {
    let mut out = head(about, state);
    header(&mut out, about, history, state);
    out.push_str(&tiles(history, state));
    warnings(&mut out, history);
    charts(&mut out, about, history);
    evaluations(&mut out, history);
    sections.iter().for_each(|section| add_section(&mut out, section));
    settings(&mut out, about);
    let _ = write!(
        out,
        "<footer>oxibert {} · {} {}</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        both("updated", "更新于"),
        utc(SystemTime::now())
    );
    out
}

fn head(about: &About, state: State) -> String {
    let refresh = match state {
        State::Running => format!("<meta http-equiv=\"refresh\" content=\"{REFRESH}\">\n"),
        _ => String::new(),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{refresh}<title>{}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n",
        escaped(&about.title),
        include_str!("style.css")
    )
}

fn header(out: &mut String, about: &About, history: &History, state: State) {
    let (class, words) = match state {
        State::Running => ("running", both("running", "进行中")),
        State::Complete => ("complete", both("complete", "已完成")),
        State::Stopped => ("stopped", both("stopped", "已停止")),
    };
    let title = if history.title == about.title { String::new() } else { escaped(&history.title) };
    let _ = write!(
        out,
        "<header>\n<h1>{}</h1>\n<p><span class=\"state {class}\">{words}</span>{title}</p>\n</header>\n",
        escaped(&about.title)
    );
    if state != State::Complete && (history.steps.is_some() || history.progress > 0.0) {
        let percent = 100.0 * history.progress.clamp(0.0, 1.0);
        let _ = writeln!(out, "<div class=\"bar\"><i style=\"width:{percent:.1}%\"></i></div>");
    }
}

fn tiles(history: &History, state: State) -> String {
    let mut out = String::from("<dl class=\"tiles\">\n");
    let mut tile = |name: String, value: String, more: String| {
        let _ = writeln!(out, "<div><dt>{name}</dt><dd><b>{value}</b>{more}</dd></div>");
    };
    let of = history.steps.map(|steps| format!("/ {}", grouped(steps as i64)));
    tile(both("Step", "步"), grouped(history.step as i64), of.unwrap_or_default());
    for name in figures(history) {
        if name == "loss" || unit(name) == Unit::Percent {
            let (value, more) = figure_tile(history, name);
            tile(label(name), value, more);
        }
    }
    if let Some(speed) = curve(&history.training, SPEED).and_then(|speed| speed.last()) {
        tile(label(SPEED), number(speed, Unit::Count), String::new());
    }
    if let Some(share) = history.share_of_peak() {
        let peak = history.peak.map_or(0.0, |peak| peak / 1e9);
        tile(
            both("Share of peak", "峰值占比"),
            format!("{:.0} %", 100.0 * share),
            format!("{peak:.0} GFLOP/s"),
        );
    }
    let left = history.left().filter(|_| state == State::Running);
    let left = left.map(|left| format!("{} {}", both("left", "剩余"), clock(left)));
    tile(both("Time", "用时"), clock(history.elapsed), left.unwrap_or_default());
    out + "</dl>\n"
}

/// Held-out data where there are any, because they are what counts; the training's number under them.
fn figure_tile(history: &History, name: &str) -> (String, String) {
    let training = curve(&history.training, name).and_then(|curve| curve.smooth(false).last().copied()?);
    let held_out = curve(&history.held_out, name).and_then(|curve| curve.last());
    let training = training.map(|value| number(value, unit(name)));
    match (held_out, training) {
        (Some(held_out), training) => {
            let more = training.map(|value| format!("<br>{} {value}", both("training", "训练")));
            (number(held_out, unit(name)), both("held-out", "留出") + &more.unwrap_or_default())
        }
        (None, Some(training)) => (training, both("training", "训练")),
        (None, None) => ("–".to_owned(), String::new()),
    }
}

/// Names of losses and accuracies, `loss` first.
fn figures(history: &History) -> Vec<&str> {
    let all = history.training.iter().chain(&history.held_out).map(|(name, _)| name.as_str());
    let mut names: Vec<&str> = Vec::new();
    for name in all.filter(|name| !NO_FIGURES.contains(name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| *name != "loss");
    names
}

fn warnings(out: &mut String, history: &History) {
    if history.warnings.is_empty() {
        return;
    }
    let _ = writeln!(out, "<section class=\"ill\"><h2>{}</h2>", both("Warnings", "警告"));
    let first = history.warnings.len().saturating_sub(WARNINGS);
    for (_, text) in &history.warnings[first..] {
        let _ = writeln!(out, "<p>{}</p>", escaped(text).replace('\n', "<br>"));
    }
    out.push_str("</section>\n");
}

fn charts(out: &mut String, about: &About, history: &History) {
    let chart = |name| {
        let baselines = about.baselines.iter().filter(|baseline| baseline.figure == name);
        Chart {
            name,
            unit: unit(name),
            training: curve(&history.training, name),
            held_out: curve(&history.held_out, name),
            baselines: baselines.collect(),
            from_zero: [LR, NORM, SPEED].contains(&name),
            noisy: name != LR,
            step: history.step,
        }
    };
    out.push_str("<section class=\"charts\">\n");
    let names = figures(history).into_iter().chain([LR, NORM, SPEED]);
    names.filter_map(|name| chart(name).draw()).for_each(|drawn| out.push_str(&drawn));
    out.push_str("</section>\n");
}

fn evaluations(out: &mut String, history: &History) {
    let all = &history.evaluations;
    let Some(last) = all.last() else { return };
    // The last row that was the best when it was measured is the best of all.
    let best = all.iter().rposition(|row| row.best);
    let first = all.len().saturating_sub(ROWS);
    let shown = best.filter(|&best| best < first).into_iter().chain(first..all.len());
    let names: Vec<&str> = last.figures.iter().map(|(name, _)| name.as_str()).collect();
    let _ = write!(
        out,
        "<h2>{}</h2>\n<div class=\"card\"><table>\n<thead><tr><th>{}</th>",
        both("Evaluations on held-out data", "留出数据上的评估"),
        both("Step", "步")
    );
    for name in &names {
        let _ = write!(out, "<th>{}</th>", label(name));
    }
    let _ = writeln!(out, "<th>{}</th></tr></thead>\n<tbody>", both("Time", "用时"));
    shown.for_each(|at| add_row(out, &all[at], &names, best == Some(at)));
    out.push_str("</tbody></table></div>\n");
    if first > 0 {
        let words = both("the last of", "仅显示最近的；总数");
        let _ = writeln!(out, "<p class=\"remark\">{words} {}</p>", all.len());
    }
}

fn add_row(out: &mut String, row: &Measured, names: &[&str], best: bool) {
    let (class, star) = if best { (" class=\"best\"", " ★") } else { ("", "") };
    let _ = write!(out, "<tr{class}><td>{}{star}</td>", grouped(row.step as i64));
    for name in names {
        let value = row.figures.iter().find(|(known, _)| known == name).map_or(f64::NAN, |figure| figure.1);
        let _ = write!(out, "<td>{}</td>", number(value, unit(name)));
    }
    let _ = writeln!(out, "<td>{}</td></tr>", clock(row.elapsed));
}

fn settings(out: &mut String, about: &About) {
    if about.settings.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{}</h2>\n<dl class=\"card settings\">", both("Settings", "设置"));
    for (name, value) in &about.settings {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
    }
    out.push_str("</dl>\n");
}

fn add_section(out: &mut String, section: &Section) {
    let _ = writeln!(out, "<h2>{}</h2>", escaped(&section.title));
    match &section.body {
        Body::Text(text) => {
            let _ = writeln!(out, "<div class=\"card\"><pre>{}</pre></div>", escaped(text));
        }
        Body::Table { head, rows } => {
            let cells = |tag: &str, row: &[String]| {
                let cell = |text: &String| format!("<{tag}>{}</{tag}>", escaped(text));
                row.iter().map(cell).collect::<String>()
            };
            let _ = write!(
                out,
                "<div class=\"card\"><table class=\"words\">\n<thead><tr>{}</tr></thead>\n<tbody>\n",
                cells("th", head)
            );
            for row in rows {
                let _ = writeln!(out, "<tr>{}</tr>", cells("td", row));
            }
            out.push_str("</tbody></table></div>\n");
        }
    }
}

/// `2026-01-31 14:05 UTC`
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (minutes, days) = (seconds / 60 % 1440, seconds / 86_400);
    let (year, month, day) = date(days);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// The date so many days after 1970-01-01: years are counted from March, so that the leap day is the last of its year
/// (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_827_640), "2000-02-29 12:34 UTC");
        assert_eq!(at(1_798_761_599), "2026-12-31 23:59 UTC");
    }
}
