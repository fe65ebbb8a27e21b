//! Where a number stands on a chart, and round numbers beside it.

/// A range of numbers with round ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    pub(super) logarithmic: bool,
    pub(super) ticks: Vec<f64>,
    /// The distance between ticks, for as many digits as tell them apart.
    step: f64,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Number,
    /// A share of 1, shown as one of 100.
    Percent,
    /// Whole things, thousands as `k`.
    Count,
}

impl Axis {
    /// From a round number at or under `low` to one at or over `high`.
    pub(super) fn around(low: f64, high: f64, ticks: usize) -> Self {
        let (low, high) = widened(low, high);
        let step = round_step((high - low) / ticks as f64);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        Self::from_ticks(first * step, last * step, step)
    }

    /// From `low` to `high` exactly, with the round numbers between.
    pub(super) fn exact(low: f64, high: f64, ticks: usize) -> Self {
        let (low, high) = widened(low, high);
        Self::from_ticks(low, high, round_step((high - low) / ticks as f64))
    }

    fn from_ticks(low: f64, high: f64, step: f64) -> Self {
        let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        // Products, not sums: no rounding errors pile up.
        let ticks = (first..=last).map(|k| k as f64 * step).collect();
        Self { low, high, logarithmic: false, ticks, step }
    }

    /// Powers of ten around two positive numbers.
    pub(super) fn powers(low: f64, high: f64) -> Self {
        let (first, last) = (low.log10().floor() as i32, (high.log10().ceil() as i32));
        let last = last.max(first + 1);
        let each = ((last - first) as usize).div_ceil(6);
        let ticks = (first..=last).step_by(each).map(|power| 10f64.powi(power)).collect();
        Self { low: 10f64.powi(first), high: 10f64.powi(last), logarithmic: true, ticks, step: 0.0 }
    }

    /// The place of a number, 0 at the low end and 1 at the high one.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        place.clamp(0.0, 1.0)
    }

    /// What is written beside a tick.
    pub(super) fn label(&self, tick: f64, unit: Unit) -> String {
        if self.logarithmic {
            return short(tick);
        }
        let largest = self.low.abs().max(self.high.abs());
        match unit {
            Unit::Percent => format!("{:.*} %", digits(100.0 * self.step), 100.0 * tick),
            _ if tick == 0.0 => "0".to_owned(),
            _ if largest >= 1e6 => format!("{:.*}M", digits(self.step / 1e6), tick / 1e6),
            _ if largest >= 1e4 => format!("{:.*}k", digits(self.step / 1e3), tick / 1e3),
            _ if largest < 1e-2 => scientific(tick),
            _ => format!("{:.*}", digits(self.step), tick),
        }
    }
}

/// A range of some width, also around a single number.
fn widened(low: f64, high: f64) -> (f64, f64) {
    if high - low > 1e-9 * high.abs().max(low.abs()) {
        return (low, high);
    }
    match low {
        0.0 => (0.0, 1.0),
        // A constant stands in the middle, with zero in sight.
        _ if low > 0.0 => (0.0, 2.0 * high),
        _ => (2.0 * low, 0.0),
    }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= step * (1.0 - 1e-9));
    times.unwrap_or(10.0) * power
}

/// The digits behind the point that a multiple of `step` needs.
fn digits(step: f64) -> usize {
    (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize
}

/// `2.5e-5`, without needless zeros.
fn scientific(value: f64) -> String {
    let text = format!("{value:.1e}");
    text.replace(".0e", "e")
}

/// Three digits or so of any number.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-2..1e6).contains(&size) => scientific(value),
        size if size >= 100.0 => grouped(value.round() as i64),
        size if size >= 10.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        size if size < 1.0 => format!("{value:.3}").trim_end_matches('0').to_owned(),
        _ => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// A number by itself: in a tile, in a table, under the mouse.
pub(super) fn number(value: f64, unit: Unit) -> String {
    match unit {
        _ if !value.is_finite() => "–".to_owned(),
        Unit::Percent => format!("{:.1} %", 100.0 * value),
        Unit::Count if value.abs() >= 99_950.0 => short_count(value),
        Unit::Count => grouped(value.round() as i64),
        Unit::Number => match value.abs() {
            0.0 => "0".to_owned(),
            size if !(1e-3..1e5).contains(&size) => format!("{value:.2e}"),
            size if size < 0.1 => format!("{value:.4}"),
            size if size < 100.0 => format!("{value:.3}"),
            _ => format!("{value:.1}"),
        },
    }
}

fn short_count(value: f64) -> String {
    match value.abs() {
        size if size < 999_500.0 => format!("{:.0}k", value / 1e3),
        size if size < 1e9 => format!("{:.2}M", value / 1e6),
        _ => format!("{:.2}G", value / 1e9),
    }
}

/// `12,000`
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1:05:09`; hours, minutes, seconds, read the same in every language.
pub(super) fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, unit: Unit) -> String {
        axis.ticks.iter().map(|&tick| axis.label(tick, unit)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_and_as_many_as_asked_for() {
        let cases = [
            (1.93, 9.8, Unit::Number, "0 2 4 6 8 10"),
            (0.5, 0.93, Unit::Percent, "50 % 60 % 70 % 80 % 90 % 100 %"),
            (0.912, 0.938, Unit::Percent, "91 % 92 % 93 % 94 %"),
            (0.0, 1e-4, Unit::Number, "0 2e-5 4e-5 6e-5 8e-5 1e-4"),
            (0.0, 13_400.0, Unit::Count, "0 5k 10k 15k"),
            (0.0, 2.4e6, Unit::Count, "0 0.5M 1.0M 1.5M 2.0M 2.5M"),
            (-3.0, 4.0, Unit::Number, "-4 -2 0 2 4"),
        ];
        for (low, high, unit, expected) in cases {
            assert_eq!(labels(&Axis::around(low, high, 5), unit), expected);
        }
        assert_eq!(labels(&Axis::exact(1.0, 8_765.0, 5), Unit::Count), "2000 4000 6000 8000");
        assert_eq!(labels(&Axis::powers(0.3, 5_000.0), Unit::Number), "0.1 1 10 100 1,000 10,000");
    }

    #[test]
    fn a_single_number_has_room() {
        for value in [0.0, 1e-4, 7.0, -2.0] {
            let axis = Axis::around(value, value, 5);
            assert!(axis.ticks.len() > 2 && (0.0..=1.0).contains(&axis.place(value)), "{axis:?}");
        }
    }

    #[test]
    fn places_are_shares_of_the_range() {
        let axis = Axis::around(0.0, 10.0, 5);
        assert_eq!([-1.0, 0.0, 2.5, 10.0, 99.0].map(|value| axis.place(value)), [0.0, 0.0, 0.25, 1.0, 1.0]);
        assert!((Axis::powers(1.0, 100.0).place(10.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(
            [2.41312, 0.05, 1234.5, 9.87e-5].map(|v| number(v, Unit::Number)),
            ["2.413", "0.0500", "1234.5", "9.87e-5"]
        );
        assert_eq!(number(0.5421, Unit::Percent), "54.2 %");
        assert_eq!(
            [950.0, 12_345.0, 123_456.0, 2.5e6].map(|v| number(v, Unit::Count)),
            ["950", "12,345", "123k", "2.50M"]
        );
        assert_eq!(number(f64::NAN, Unit::Percent), "–");
        assert_eq!((clock(3909.4), clock(7.0)), ("1:05:09".into(), "0:00:07".into()));
    }
}
