//! What the report remembers of a run. It is fed with the journal's records, live or read back after a restart, so that
//! both give the same page.

use serde_json::Value;

use super::super::journal::Record;

/// The most points of a curve; more cannot be told apart on a screen.
const POINTS: usize = 1000;

/// Everything a page is drawn from.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// What is trained, in the words of the run.
    pub(super) title: String,
    pub(super) step: u64,
    pub(super) steps: Option<u64>,
    /// How far the run is, 0 to 1.
    pub(super) progress: f64,
    /// Seconds of training.
    pub(super) elapsed: f64,
    /// Where this start began: progress and seconds, for the time that is left.
    pub(super) began: (f64, f64),
    /// Floating-point operations per second that the machine can do.
    pub(super) peak: Option<f64>,
    /// Every number of the training, in the order of its first appearance.
    pub(super) training: Vec<(String, Curve)>,
    /// Every number of held-out data.
    pub(super) held_out: Vec<(String, Curve)>,
    pub(super) evaluations: Vec<Measured>,
    /// After which step, in which words.
    pub(super) warnings: Vec<(u64, String)>,
}

/// An evaluation: a row of the table.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) step: u64,
    pub(super) elapsed: f64,
    pub(super) best: bool,
    pub(super) figures: Vec<(String, f64)>,
}

impl History {
    /// Takes a record of the journal.
    pub(super) fn take(&mut self, record: &Record) {
        self.step = whole(record, "step").unwrap_or(self.step);
        self.elapsed = real(record, "seconds").unwrap_or(self.elapsed);
        match record.get("kind").and_then(Value::as_str) {
            Some("begin") => self.begin(record),
            Some("step") => {
                self.progress = real(record, "progress").unwrap_or(self.progress);
                add(&mut self.training, self.step, numbers(record));
            }
            Some("evaluation") => {
                let figures: Vec<_> = numbers(record).map(|(name, value)| (name.to_owned(), value)).collect();
                add(&mut self.held_out, self.step, numbers(record));
                let best = record.get("best").and_then(Value::as_bool).unwrap_or(false);
                self.evaluations.push(Measured { step: self.step, elapsed: self.elapsed, best, figures });
            }
            Some("warning") => self.warnings.push((self.step, text(record, "text"))),
            _ => {}
        }
    }

    fn begin(&mut self, record: &Record) {
        self.title = text(record, "title");
        self.steps = whole(record, "steps");
        self.peak = real(record, "peak_flops_per_second");
        self.began = (self.progress, self.elapsed);
    }

    /// Seconds that are left, once this start has come far enough to tell.
    pub(super) fn left(&self) -> Option<f64> {
        let (progress, seconds) = (self.progress - self.began.0, self.elapsed - self.began.1);
        (progress > 0.0 && seconds > 0.0).then(|| (1.0 - self.progress) * seconds / progress)
    }

    /// The share of the machine's peak at which the last steps computed.
    pub(super) fn share_of_peak(&self) -> Option<f64> {
        Some(curve(&self.training, "flops_per_second")?.last()? / self.peak?)
    }
}

/// The curve of this name.
pub(super) fn curve<'c>(curves: &'c [(String, Curve)], name: &str) -> Option<&'c Curve> {
    curves.iter().find(|(known, _)| known == name).map(|(_, curve)| curve)
}

/// What is in a record besides its numbers, or is no curve.
const NO_CURVES: [&str; 6] = ["kind", "step", "progress", "tokens", "seconds", "best"];

/// The numbers of a record; one that is not finite was written as `null`.
fn numbers(record: &Record) -> impl Iterator<Item = (&str, f64)> {
    let curves = record.iter().filter(|(name, _)| !NO_CURVES.contains(&name.as_str()));
    curves.map(|(name, value)| (name.as_str(), value.as_f64().unwrap_or(f64::NAN)))
}

fn add<'n>(curves: &mut Vec<(String, Curve)>, step: u64, numbers: impl Iterator<Item = (&'n str, f64)>) {
    for (name, value) in numbers {
        match curves.iter_mut().find(|(known, _)| known == name) {
            Some((_, curve)) => curve.add(step, value),
            None => {
                let mut curve = Curve::default();
                curve.add(step, value);
                curves.push((name.to_owned(), curve));
            }
        }
    }
}

fn real(record: &Record, name: &str) -> Option<f64> {
    record.get(name).and_then(Value::as_f64)
}

fn whole(record: &Record, name: &str) -> Option<u64> {
    record.get(name).and_then(Value::as_u64)
}

fn text(record: &Record, name: &str) -> String {
    record.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Numbers over steps. When it grows too long, neighbours become one point that remembers how far they swung.
#[derive(Debug, Clone, Default)]
pub(super) struct Curve {
    points: Vec<Point>,
    /// How many numbers a point holds, as a power of two.
    doublings: u32,
}

/// Some neighbouring numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// The last one's step.
    pub(super) step: u64,
    /// The lowest and the highest.
    pub(super) low: f64,
    pub(super) high: f64,
    sum: f64,
    /// How many of them are finite.
    finite: u32,
    count: u32,
}

impl Point {
    fn new(step: u64, value: f64) -> Self {
        let finite = value.is_finite();
        let (low, high) = if finite { (value, value) } else { (f64::INFINITY, f64::NEG_INFINITY) };
        let sum = if finite { value } else { 0.0 };
        Self { step, low, high, sum, finite: finite.into(), count: 1 }
    }

    fn merge(&mut self, later: &Self) {
        self.step = later.step;
        self.low = self.low.min(later.low);
        self.high = self.high.max(later.high);
        self.sum += later.sum;
        self.finite += later.finite;
        self.count += later.count;
    }

    /// The mean, if any of the numbers is finite.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.finite > 0).then(|| self.sum / f64::from(self.finite))
    }
}

impl Curve {
    pub(super) fn add(&mut self, step: u64, value: f64) {
        let point = Point::new(step, value);
        match self.points.last_mut() {
            Some(last) if last.count < 1 << self.doublings => last.merge(&point),
            _ => self.points.push(point),
        }
        if self.points.len() > POINTS {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.doublings += 1;
        let pairs = self.points.chunks(2).map(|pair| {
            let mut point = pair[0];
            pair[1..].iter().for_each(|later| point.merge(later));
            point
        });
        self.points = pairs.collect();
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }

    /// The last number; that of a thinned curve is a mean.
    pub(super) fn last(&self) -> Option<f64> {
        self.points.last().and_then(Point::mean)
    }

    /// The smooth curve: at every point the mean of its neighbours. The window is a fiftieth of the curve to either
    /// side. At the left end it is symmetric, because a loss falls steeply there and more neighbours to the right would
    /// pull it down; at the right end it is not, so that the last points stay smooth.
    ///
    /// `geometric` means are for logarithmic axes, where an arithmetic one would follow a spike alone.
    pub(super) fn smooth(&self, geometric: bool) -> Vec<Option<f64>> {
        let half = self.points.len() / 50;
        let mean = |at: usize| {
            self.points[at].mean()?;
            let reach = half.min(at);
            let window = &self.points[at - reach..(at + reach + 1).min(self.points.len())];
            let finite = window.iter().filter_map(Point::mean).map(|v| if geometric { v.ln() } else { v });
            let (sum, count) = finite.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            Some(if geometric { (sum / count).exp() } else { sum / count })
        };
        (0..self.points.len()).map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_is_thinned_and_keeps_its_swings() {
        let mut curve = Curve::default();
        (1..=100_000)
            .for_each(|step| curve.add(step, if step == 70_001 { 900.0 } else { step as f64 / 1e5 }));
        let points = curve.points();
        assert!((400..=POINTS).contains(&points.len()), "{}", points.len());
        assert_eq!(points.last().unwrap().step, 100_000);
        assert!(points.windows(2).all(|pair| pair[0].step < pair[1].step));
        assert_eq!(points.iter().map(|point| point.high).fold(0.0, f64::max), 900.0);
        assert!((points[0].mean().unwrap() - points[0].step as f64 / 2e5).abs() < 1e-5);
    }

    #[test]
    fn numbers_that_are_none_leave_gaps() {
        let mut curve = Curve::default();
        [1.0, f64::NAN, 3.0].into_iter().enumerate().for_each(|(step, value)| curve.add(step as u64, value));
        assert_eq!(curve.smooth(false), [Some(1.0), None, Some(3.0)]);
        assert_eq!(curve.last(), Some(3.0));
    }

    #[test]
    fn smoothing_takes_noise_away_but_not_the_fall() {
        let mut curve = Curve::default();
        let value =
            |step: u64| 8.0 * (-(step as f64) / 20.0).exp() + if step.is_multiple_of(2) { 0.5 } else { -0.5 };
        (0..500).for_each(|step| curve.add(step, value(step)));
        let smooth = curve.smooth(false);
        assert_eq!(smooth[0], Some(8.5));
        assert!(smooth[200..].iter().all(|value| value.unwrap().abs() < 0.1));
    }
}
