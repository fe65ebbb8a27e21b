//! A chart as SVG: the training's curve, raw and smooth, held-out data as points, baselines dashed.
//!
//! Colours and sizes are the style sheet's. The numbers under the mouse need no script: columns over the chart, each of
//! which shows its text when it is pointed at.

use std::fmt::Write;

use super::Baseline;
use super::axis::{Axis, Unit, grouped, number};
use super::history::{Curve, Point};
use super::names::{both, escaped, label};

/// The size of the drawing; the page scales it.
const SIZE: (f64, f64) = (480.0, 250.0);
/// The plot inside it: left, top, right, bottom.
const PLOT: (f64, f64, f64, f64) = (46.0, 10.0, 472.0, 224.0);
/// Ticks that a phone still has room for.
const TICKS: usize = 5;
/// Columns that show numbers under the mouse.
const PROBES: usize = 60;
/// More evaluations than these are a line without dots.
const DOTS: usize = 60;
/// A spike that is higher than this many times the height of all but the highest points is cut off, because the rest
/// would be a flat line.
const SPIKE: f64 = 6.0;

/// What is on a chart.
pub(super) struct Chart<'a> {
    pub(super) name: &'a str,
    pub(super) unit: Unit,
    pub(super) training: Option<&'a Curve>,
    pub(super) held_out: Option<&'a Curve>,
    pub(super) baselines: Vec<&'a Baseline>,
    /// Whether zero is always in sight.
    pub(super) from_zero: bool,
    /// Whether the curve is noise around a trend.
    pub(super) noisy: bool,
    /// The right end.
    pub(super) step: u64,
}

/// Where numbers stand on the drawing.
struct Plot {
    x: Axis,
    y: Axis,
    unit: Unit,
}

impl Plot {
    fn at(&self, step: u64, value: f64) -> (f64, f64) {
        let (left, top, right, bottom) = PLOT;
        let (x, y) = (self.x.place(step as f64), self.y.place(value));
        (left + x * (right - left), bottom - y * (bottom - top))
    }
}

impl Chart<'_> {
    /// The chart as HTML; nothing where there are no numbers.
    pub(super) fn draw(&self) -> Option<String> {
        let plot = Plot { x: Axis::exact(0.0, self.step as f64, TICKS), y: self.range()?, unit: self.unit };
        let mut svg = String::new();
        let (width, height) = SIZE;
        let _ = write!(svg, "<svg viewBox=\"0 0 {width} {height}\" role=\"img\">");
        grid(&mut svg, &plot);
        self.draw_baselines(&mut svg, &plot);
        self.draw_training(&mut svg, &plot);
        self.draw_held_out(&mut svg, &plot);
        self.draw_labels(&mut svg, &plot);
        self.draw_probes(&mut svg, &plot);
        svg.push_str("</svg>");
        let (title, keys) = (label(self.name), self.keys());
        Some(format!(
            "<figure><figcaption><h3>{title}</h3><ul class=\"keys\">{keys}</ul></figcaption>{svg}</figure>\n"
        ))
    }

    /// The y axis around all that is drawn.
    fn range(&self) -> Option<Axis> {
        let curves = self.training.iter().chain(&self.held_out);
        let points: Vec<&Point> =
            curves.flat_map(|curve| curve.points()).filter(|point| point.mean().is_some()).collect();
        if points.is_empty() {
            return None;
        }
        let mut highs: Vec<f64> = points.iter().map(|point| point.high).collect();
        highs.sort_by(f64::total_cmp);
        let lowest = points.iter().map(|point| point.low).fold(f64::INFINITY, f64::min);
        let (most, highest) = (highs[highs.len() * 98 / 100], highs[highs.len() - 1]);
        if self.noisy && self.from_zero && lowest > 0.0 && highest > 10.0 * SPIKE * most {
            return Some(Axis::powers(lowest, highest));
        }
        let values = self.baselines.iter().map(|baseline| baseline.value).filter(|value| value.is_finite());
        let (mut low, mut high) = (lowest, highest.min(lowest + SPIKE * (most - lowest)).max(most));
        values.for_each(|value| (low, high) = (low.min(value), high.max(value)));
        if self.from_zero {
            low = low.min(0.0);
        }
        Some(Axis::around(low, high, TICKS))
    }

    fn draw_training(&self, svg: &mut String, plot: &Plot) {
        let Some(curve) = self.training else { return };
        if !self.noisy {
            let means = curve.points().iter().map(|point| Some((point.step, point.mean()?)));
            path(svg, "train", means.map(|point| point.map(|(step, value)| plot.at(step, value))));
            return;
        }
        if curve.points().len() >= 50 {
            let swings = curve.points().iter().enumerate().flat_map(|(at, point)| swing(at, point, plot));
            path(svg, "raw", swings);
        }
        let smooth = curve.points().iter().zip(curve.smooth(plot.y.logarithmic));
        path(svg, "train", smooth.map(|(point, mean)| mean.map(|mean| plot.at(point.step, mean))));
    }

    fn draw_held_out(&self, svg: &mut String, plot: &Plot) {
        let Some(curve) = self.held_out else { return };
        let points: Vec<_> =
            curve.points().iter().map(|point| Some(plot.at(point.step, point.mean()?))).collect();
        path(svg, "held", points.iter().copied());
        if points.len() <= DOTS {
            for (x, y) in points.into_iter().flatten() {
                let _ = write!(svg, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>");
            }
        }
    }

    fn draw_baselines(&self, svg: &mut String, plot: &Plot) {
        let (left, _, right, _) = PLOT;
        for (y, _) in self.baselines(plot) {
            let _ = write!(svg, "<path class=\"base\" d=\"M{left} {y:.1}H{right}\"/>");
        }
    }

    /// The baselines' labels, over the curves.
    fn draw_labels(&self, svg: &mut String, plot: &Plot) {
        let (_, top, right, _) = PLOT;
        let mut last = f64::NEG_INFINITY;
        for (y, baseline) in self.baselines(plot) {
            // A label stands on its line, or under it where there is no room or another label.
            let above = y - top > 18.0 && (y - last).abs() > 18.0;
            let (x, place) = (right - 4.0, if above { y - 5.0 } else { y + 15.0 });
            last = y;
            let label = escaped(&baseline.label);
            let _ = write!(svg, "<text class=\"note\" x=\"{x}\" y=\"{place:.1}\">{label}</text>");
        }
    }

    fn baselines(&self, plot: &Plot) -> impl Iterator<Item = (f64, &Baseline)> {
        let finite = self.baselines.iter().filter(|baseline| baseline.value.is_finite());
        finite.map(|baseline| (plot.at(0, baseline.value).1, *baseline))
    }

    /// What the colours mean, with the last number of each.
    fn keys(&self) -> String {
        let last = |curve: &Curve| match (self.noisy, curve.smooth(false).last()) {
            (true, Some(Some(mean))) => *mean,
            _ => curve.last().unwrap_or(f64::NAN),
        };
        let key = |class: &str, name: &str, value: f64| {
            format!("<li class=\"{class}\">{name} <b>{}</b></li>", number(value, self.unit))
        };
        match (self.training, self.held_out) {
            (Some(training), None) => key("train", "", last(training)),
            (training, held_out) => {
                let training = training.map(|curve| key("train", &both("training", "训练"), last(curve)));
                let held_out = held_out
                    .map(|curve| key("held", &both("held-out", "留出"), curve.last().unwrap_or(f64::NAN)));
                training.unwrap_or_default() + &held_out.unwrap_or_default()
            }
        }
    }

    /// Columns that show the numbers of their step when the mouse is over them.
    fn draw_probes(&self, svg: &mut String, plot: &Plot) {
        let Some(curve) = self.training.or(self.held_out) else { return };
        let (points, smooth) = (curve.points(), curve.smooth(plot.y.logarithmic));
        let each = points.len().div_ceil(PROBES);
        // From the end, so that the last number is one of those that can be read.
        let mut chosen: Vec<usize> = (0..points.len()).rev().step_by(each.max(1)).collect();
        chosen.reverse();
        let xs: Vec<f64> = chosen.iter().map(|&at| plot.at(points[at].step, 0.0).0).collect();
        for (at, &index) in chosen.iter().enumerate() {
            let left = if at == 0 { PLOT.0 } else { (xs[at - 1] + xs[at]) / 2.0 };
            let right = xs.get(at + 1).map_or(PLOT.2, |next| (xs[at] + next) / 2.0);
            let value = if self.noisy { smooth[index] } else { points[index].mean() };
            if let Some(value) = value {
                self.draw_probe(svg, plot, (left, right), points[index].step, value);
            }
        }
    }

    fn draw_probe(&self, svg: &mut String, plot: &Plot, (left, right): (f64, f64), step: u64, value: f64) {
        let ((x, y), (start, top, end, bottom)) = (plot.at(step, value), PLOT);
        let (place, anchor) = if x < (start + end) / 2.0 { (x + 6.0, "start") } else { (x - 6.0, "end") };
        let held_out = self.training.and(self.held_out).and_then(|curve| {
            let before = curve.points().iter().rev().find(|point| point.step <= step)?;
            Some(format!(" <tspan class=\"h\">{}</tspan>", number(before.mean()?, self.unit)))
        });
        let class = if self.training.is_some() { "t" } else { "h" };
        let _ = write!(
            svg,
            "<g class=\"probe\"><rect x=\"{left:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{}\"/>\
             <path d=\"M{x:.1} {top}V{bottom}\"/><circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>\
             <text x=\"{place:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{} <tspan class=\"{class}\">{}</tspan>{}</text></g>",
            (right - left).max(0.0),
            bottom - top,
            top + 12.0,
            grouped(step as i64),
            number(value, self.unit),
            held_out.unwrap_or_default()
        );
    }
}

/// The lowest and the highest number of a point, in turns, so that a thinned curve still shows its noise.
fn swing(at: usize, point: &Point, plot: &Plot) -> Vec<Option<(f64, f64)>> {
    if point.mean().is_none() {
        return vec![None];
    }
    let ends = if at.is_multiple_of(2) { [point.low, point.high] } else { [point.high, point.low] };
    let mut ends = ends.to_vec();
    ends.dedup();
    ends.into_iter().map(|value| Some(plot.at(point.step, value))).collect()
}

/// A line through points; nothing is drawn over a gap.
fn path(svg: &mut String, class: &str, points: impl Iterator<Item = Option<(f64, f64)>>) {
    let _ = write!(svg, "<path class=\"{class}\" d=\"");
    let mut pen = 'M';
    for point in points {
        match point {
            Some((x, y)) => {
                let _ = write!(svg, "{pen}{x:.1} {y:.1}");
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    svg.push_str("\"/>");
}

fn grid(svg: &mut String, plot: &Plot) {
    let (left, top, right, bottom) = PLOT;
    for &tick in &plot.y.ticks {
        let (_, y) = plot.at(0, tick);
        let text = plot.y.label(tick, plot.unit);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/><text class=\"y\" x=\"{}\" y=\"{:.1}\">{text}</text>",
            left - 6.0,
            y + 4.0
        );
    }
    for &tick in &plot.x.ticks {
        let (x, _) = plot.at(tick as u64, 0.0);
        let text = plot.x.label(tick, Unit::Count);
        let _ = write!(svg, "<text class=\"x\" x=\"{x:.1}\" y=\"{}\">{text}</text>", bottom + 18.0);
    }
    let _ = write!(svg, "<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>");
}
