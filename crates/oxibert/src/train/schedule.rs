//! The learning rate over a run: up while Adam's moments fill, then down to the end.
//!
//! The two references disagree, so both are offered by name. Both count the steps that are done before a step, so the
//! first step of a warm-up has the rate 0. With `w` of `n` steps of warm-up, the share of the peak behind it is, for a
//! linear decay:
//!
//! - Hugging Face (`get_linear_schedule_with_warmup`): `(n - done) / (n - w)`.
//! - Google (`optimization.py`): `(n - done) / n`. The decay runs from the first step on and the warm-up only stands in
//!   front of it, so the rate drops a little where the warm-up ends.

use std::f64::consts::PI;
use std::time::Duration;

use crate::{Error, Result};

/// How long the rate rises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Warmup {
    /// This share of the run, 0 to 1. In steps it is rounded as the reference does: Hugging Face's up, Google's down.
    Share(f64),
    /// This many steps.
    Steps(u64),
}

/// How the rate falls behind the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decay {
    /// In a straight line.
    Linear,
    /// As half a wave of the cosine: slowly, fast, slowly.
    Cosine,
    /// Not at all.
    Constant,
    /// As `1 / sqrt(step)`, for ever: the original Transformer's. It counts steps from 1 in both forms.
    InverseSqrt,
}

/// Whose schedule it is where the two references disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// The decay begins where the warm-up ends.
    #[default]
    HuggingFace,
    /// The decay begins with the first step, and the warm-up hides its beginning.
    Google,
}

/// What a [`Schedule`] is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduleOptions {
    /// The largest rate.
    pub peak: f64,
    /// How long it rises.
    pub warmup: Warmup,
    /// How it falls.
    pub decay: Decay,
    /// The last rate of a linear or cosine decay, as a share of the peak.
    pub end: f64,
    /// Whose form.
    pub form: Form,
}

impl Default for ScheduleOptions {
    /// Pretraining as in the paper: 1e-4, 1 % of warm-up, linear to 0.
    fn default() -> Self {
        Self {
            peak: 1e-4,
            warmup: Warmup::Share(0.01),
            decay: Decay::Linear,
            end: 0.0,
            form: Form::default(),
        }
    }
}

/// The learning rate of every step.
///
/// ```
/// use oxibert::train::{Schedule, ScheduleOptions, Warmup};
///
/// let options = ScheduleOptions { peak: 1e-3, warmup: Warmup::Steps(2), ..ScheduleOptions::default() };
/// let schedule = Schedule::new(options)?;
/// let rates = [1, 2, 3, 7, 10].map(|step| schedule.rate(step, 10));
/// assert_eq!(rates, [0.0, 0.5e-3, 1e-3, 0.5e-3, 0.125e-3]);
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule(ScheduleOptions);

impl Schedule {
    /// A schedule, or a refusal of the option that cannot work.
    pub fn new(options: ScheduleOptions) -> Result<Self> {
        let ScheduleOptions { peak, warmup, decay, end, .. } = options;
        if !(peak.is_finite() && peak > 0.0) {
            return Err(Error::setting(
                "lr",
                format!("it is {peak}; expected a number above 0, such as 1e-4"),
            ));
        }
        if !(0.0..=1.0).contains(&end) {
            return Err(Error::setting("end", format!("it is {end}; expected a share of the peak, 0 to 1")));
        }
        match warmup {
            Warmup::Share(share) if !(0.0..=1.0).contains(&share) => {
                let problem =
                    format!("it is {share}; expected a share of the run, 0 to 1, or a number of steps");
                Err(Error::setting("warmup", problem))
            }
            Warmup::Share(0.0) | Warmup::Steps(0) if decay == Decay::InverseSqrt => {
                let problem =
                    "it is 0; expected at least one step, because 1 / sqrt(step) falls from its end on";
                Err(Error::setting("warmup", problem))
            }
            _ => Ok(Self(options)),
        }
    }

    /// The original Transformer's: `d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)`.
    pub fn transformer(d_model: usize, warmup: u64) -> Result<Self> {
        let peak = (d_model as f64 * warmup.max(1) as f64).powf(-0.5);
        let warmup = Warmup::Steps(warmup);
        Self::new(ScheduleOptions {
            peak,
            warmup,
            decay: Decay::InverseSqrt,
            end: 0.0,
            form: Form::default(),
        })
    }

    /// What it is made of.
    pub fn options(&self) -> &ScheduleOptions {
        &self.0
    }

    /// The rate of `step`, from 1, in a run of `total` steps.
    pub fn rate(&self, step: u64, total: u64) -> f64 {
        let warmup = self.warmup_steps(total);
        if self.0.decay == Decay::InverseSqrt {
            return self.inverse_sqrt(step as f64, warmup.max(1) as f64);
        }
        self.decayed(step.saturating_sub(1) as f64, warmup as f64, total as f64)
    }

    /// The rate of `step`, from 1, in a run that ends with a time budget: `progress` is the share of the budget, 0 to 1,
    /// that is used up when the step begins. How many steps a warm-up that is given in steps is of the whole run, is
    /// estimated from the steps until now.
    pub fn rate_at(&self, step: u64, progress: f64) -> f64 {
        let progress = progress.clamp(0.0, 1.0);
        let done = step.saturating_sub(1) as f64;
        match (self.0.warmup, self.0.decay) {
            (Warmup::Steps(steps), Decay::InverseSqrt) => self.inverse_sqrt(step as f64, steps as f64),
            (Warmup::Share(share), Decay::InverseSqrt) => self.inverse_sqrt(progress, share),
            (Warmup::Steps(0), _) => self.decayed(progress, 0.0, 1.0),
            (Warmup::Share(share), _) => self.decayed(progress, share, 1.0),
            (Warmup::Steps(steps), _) => {
                let total = if progress > 0.0 { done / progress } else { f64::INFINITY };
                self.decayed(done, steps as f64, total)
            }
        }
    }

    fn warmup_steps(&self, total: u64) -> u64 {
        match (self.0.warmup, self.0.form) {
            (Warmup::Steps(steps), _) => steps,
            (Warmup::Share(share), Form::HuggingFace) => (share * total as f64).ceil() as u64,
            (Warmup::Share(share), Form::Google) => (share * total as f64) as u64,
        }
    }

    /// The rate when `done` of `total` is over; `warmup` is in the same unit, whichever it is.
    fn decayed(&self, done: f64, warmup: f64, total: f64) -> f64 {
        let ScheduleOptions { peak, decay, end, form, .. } = self.0;
        if done < warmup {
            return peak * (done / warmup);
        }
        let start = if form == Form::HuggingFace { warmup } else { 0.0 };
        let gone = if total > start { ((done - start) / (total - start)).min(1.0) } else { 1.0 };
        let left = match decay {
            Decay::Linear => 1.0 - gone,
            Decay::Cosine => 0.5 * (1.0 + (PI * gone).cos()),
            Decay::Constant | Decay::InverseSqrt => 1.0,
        };
        peak * (end + (1.0 - end) * left)
    }

    /// With the peak `(d_model * warmup)^-0.5` this is the paper's formula.
    fn inverse_sqrt(&self, now: f64, warmup: f64) -> f64 {
        self.0.peak * (now / warmup).min((warmup / now).sqrt())
    }
}

/// Reads a length of time: `90s`, `30m`, `2h`, `1h30m`, `1.5h`.
///
/// ```
/// use oxibert::train::parse_duration;
/// assert_eq!(parse_duration("1h30m")?.as_secs(), 5400);
/// assert!(parse_duration("90").unwrap_err().to_string().contains("90s, 30m, 2h or 1h30m"));
/// # Ok::<(), oxibert::Error>(())
/// ```
pub fn parse_duration(text: &str) -> Result<Duration> {
    let seconds = seconds_of(text).filter(|seconds| *seconds > 0.0);
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
        let problem =
            format!("{text:?} is no length of time above 0; expected one such as 90s, 30m, 2h or 1h30m");
        Error::setting("duration", problem)
    })
}

/// Numbers with units, each unit at most once and the larger ones first.
fn seconds_of(text: &str) -> Option<f64> {
    const UNITS: [(char, f64); 4] = [('d', 86_400.0), ('h', 3_600.0), ('m', 60.0), ('s', 1.0)];
    let (mut rest, mut seconds, mut next) = (text.trim(), 0.0, 0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit = rest[end..].chars().next()?;
        let place = next + UNITS[next..].iter().position(|(known, _)| *known == unit)?;
        seconds += number * UNITS[place].1;
        next = place + 1;
        rest = &rest[end + 1..];
    }
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(warmup: Warmup, decay: Decay, form: Form) -> Schedule {
        Schedule::new(ScheduleOptions { peak: 2e-4, warmup, decay, end: 0.0, form }).unwrap()
    }

    #[track_caller]
    fn assert_shares(schedule: Schedule, total: u64, shares: &[f64]) {
        for (share, step) in shares.iter().zip(1..) {
            let rate = schedule.rate(step, total);
            assert!((rate - 2e-4 * share).abs() < 1e-15, "step {step}: {rate}, expected 2e-4 * {share}");
        }
    }

    /// `current_step / 4`, then `(10 - current_step) / 6`, for `current_step` from 0.
    #[test]
    fn linear_is_hugging_faces() {
        let shares = [0.0, 0.25, 0.5, 0.75, 1.0, 5.0 / 6.0, 4.0 / 6.0, 0.5, 2.0 / 6.0, 1.0 / 6.0, 0.0, 0.0];
        assert_shares(schedule(Warmup::Steps(4), Decay::Linear, Form::HuggingFace), 10, &shares);
        // ceil(0.31 * 10) = 4.
        assert_shares(schedule(Warmup::Share(0.31), Decay::Linear, Form::HuggingFace), 10, &shares);
        assert_shares(schedule(Warmup::Share(0.0), Decay::Linear, Form::HuggingFace), 4, &[1.0, 0.75, 0.5]);
    }

    /// `global_step / 4` while it is below 4, then `1 - global_step / 10`.
    #[test]
    fn linear_is_googles() {
        let shares = [0.0, 0.25, 0.5, 0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0];
        assert_shares(schedule(Warmup::Steps(4), Decay::Linear, Form::Google), 10, &shares);
        // int(0.49 * 10) = 4.
        assert_shares(schedule(Warmup::Share(0.49), Decay::Linear, Form::Google), 10, &shares);
    }

    /// `0.5 * (1 + cos(pi * (current_step - 2) / 8))`.
    #[test]
    fn cosine_is_hugging_faces() {
        let eighth = 0.961_939_766_255_643_4; // 0.5 + 0.5 cos(pi / 8)
        let quarter = 0.853_553_390_593_273_8; // 0.5 + sqrt(2) / 4
        let shares = [0.0, 0.5, 1.0, eighth, quarter];
        assert_shares(schedule(Warmup::Steps(2), Decay::Cosine, Form::HuggingFace), 10, &shares);
        let last = schedule(Warmup::Steps(2), Decay::Cosine, Form::HuggingFace).rate(7, 10);
        assert!((last - 1e-4).abs() < 1e-15, "half way it is half");
    }

    #[test]
    fn a_constant_rate_and_an_end_above_zero() {
        let constant = schedule(Warmup::Steps(2), Decay::Constant, Form::HuggingFace);
        assert_shares(constant, 5, &[0.0, 0.5, 1.0, 1.0, 1.0, 1.0]);
        let options = ScheduleOptions {
            end: 0.1,
            ..*schedule(Warmup::Steps(0), Decay::Linear, Form::Google).options()
        };
        assert_shares(Schedule::new(options).unwrap(), 2, &[1.0, 0.55, 0.1, 0.1]);
    }

    /// 512^-0.5 * 4000^-1.5 = 1.746928e-7; 512^-0.5 * 4000^-0.5 = 6.987712e-4; half of it at four times the step.
    #[test]
    fn inverse_sqrt_is_the_transformers() {
        let schedule = Schedule::transformer(512, 4000).unwrap();
        for (step, expected) in [(1, 1.746_928_107e-7), (4000, 6.987_712_43e-4), (16_000, 3.493_856_214e-4)] {
            let rate = schedule.rate(step, 100_000);
            assert!((rate / expected - 1.0).abs() < 1e-8, "step {step}: {rate}");
            assert_eq!(rate, schedule.rate_at(step, 0.3));
        }
    }

    #[test]
    fn progress_in_time_gives_the_rates_of_steps() {
        for form in [Form::HuggingFace, Form::Google] {
            for decay in [Decay::Linear, Decay::Cosine, Decay::Constant] {
                for warmup in [Warmup::Share(0.25), Warmup::Steps(25), Warmup::Steps(0), Warmup::Share(0.0)] {
                    let schedule = schedule(warmup, decay, form);
                    for step in 1..=101 {
                        let (by_step, by_time) =
                            (schedule.rate(step, 100), schedule.rate_at(step, (step - 1) as f64 / 100.0));
                        assert!((by_step - by_time).abs() < 1e-15, "{warmup:?} {decay:?} {form:?} {step}");
                    }
                }
            }
        }
        let slow_start = schedule(Warmup::Steps(0), Decay::Linear, Form::HuggingFace);
        assert!(
            (slow_start.rate_at(1, 0.5) - 1e-4).abs() < 1e-15,
            "half of the time went before the first step"
        );
        assert_eq!(slow_start.rate_at(9, 2.0), 0.0);
    }

    #[test]
    fn no_input_gives_a_rate_that_is_no_rate() {
        for decay in [Decay::Linear, Decay::Cosine, Decay::Constant, Decay::InverseSqrt] {
            for warmup in [Warmup::Share(1.0), Warmup::Share(1e-9), Warmup::Steps(1), Warmup::Steps(u64::MAX)]
            {
                let schedule = schedule(warmup, decay, Form::HuggingFace);
                for (step, total, progress) in
                    [(0, 0, 0.0), (1, 0, 0.0), (1, 1, 1.0), (7, 3, 0.0), (u64::MAX, 9, 1.0)]
                {
                    let rates = [schedule.rate(step, total), schedule.rate_at(step, progress)];
                    assert!(rates.iter().all(|rate| (0.0..=2e-4).contains(rate)), "{rates:?}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let refused = |options| Schedule::new(options).unwrap_err().to_string();
        let fine = ScheduleOptions::default();
        assert!(refused(ScheduleOptions { peak: f64::NAN, ..fine }).starts_with("lr: it is NaN; expected"));
        assert!(refused(ScheduleOptions { peak: 0.0, ..fine }).starts_with("lr: it is 0; expected"));
        assert!(refused(ScheduleOptions { end: 1.5, ..fine }).starts_with("end: it is 1.5; expected"));
        let warmup = Warmup::Share(-0.1);
        assert!(refused(ScheduleOptions { warmup, ..fine }).starts_with("warmup: it is -0.1; expected"));
        assert!(Schedule::transformer(512, 0).unwrap_err().to_string().starts_with("warmup: it is 0"));
    }

    #[test]
    fn durations_are_numbers_with_units() {
        let seconds = |text| parse_duration(text).map(|time| time.as_secs_f64()).ok();
        for (text, expected) in [
            ("90s", 90.0),
            ("30m", 1800.0),
            ("2h", 7200.0),
            ("1h30m", 5400.0),
            ("1d2h3m4.5s", 93_784.5),
            (" 1.5h ", 5400.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "90",
            "h",
            "1x",
            "-1h",
            "30m1h",
            "1h1h",
            "0s",
            "1e99d",
            "1.2.3s",
            "1 h",
            "١h",
            "99999999999999999999d",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
