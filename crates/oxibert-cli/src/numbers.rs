//! Numbers as people read them: three digits and a unit.

/// `110 M`: a count.
pub(crate) fn count(number: u64) -> String {
    scaled(number).trim_end().to_owned()
}

/// `438 MB`: a size in memory or on the disk, by powers of ten.
pub(crate) fn bytes(number: u64) -> String {
    format!("{}B", scaled(number))
}

/// `12,345`: a number that people compare digit by digit.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 step`, `2,000 steps`.
pub(crate) fn steps(number: u64) -> String {
    format!("{} {}", grouped(number), if number == 1 { "step" } else { "steps" })
}

/// `45 s`, `12 min`, `3 h 05 min`, `2 days 4 h`: how long something takes.
pub(crate) fn duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match minutes {
        _ if seconds < 59.5 => format!("{seconds:.0} s"),
        0..60 => format!("{minutes} min"),
        60..2880 => format!("{} h {:02} min", minutes / 60, minutes % 60),
        _ => format!("{} days {} h", minutes / 1440, minutes / 60 % 24),
    }
}

/// Three digits, a blank and the unit's prefix.
fn scaled(number: u64) -> String {
    let mut value = number as f64;
    for prefix in ["", "k", "M", "G", "T", "P"] {
        // What would be rounded up to four digits takes the next prefix.
        if value < 999.5 {
            let digits = match value {
                _ if prefix.is_empty() || value >= 99.95 => 0,
                _ if value >= 9.995 => 1,
                _ => 2,
            };
            return format!("{value:.digits$} {prefix}");
        }
        value /= 1000.0;
    }
    format!("{value:.0} E")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1.00 k"),
            (9_996, "10.0 k"),
            (99_960, "100 k"),
            (999_600, "1.00 M"),
            (109_482_240, "109 M"),
            (335_141_888, "335 M"),
        ];
        for (number, expected) in cases {
            assert_eq!(count(number), expected);
        }
        assert_eq!((bytes(512), bytes(437_928_960)), ("512 B".into(), "438 MB".into()));
        assert_eq!(count(u64::MAX), "18 E");
    }

    #[test]
    fn thousands_are_set_apart() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        cases.iter().for_each(|(number, expected)| assert_eq!(grouped(*number), *expected));
    }

    #[test]
    fn one_step_is_no_steps() {
        assert_eq!([1, 0, 2000].map(steps), ["1 step", "0 steps", "2,000 steps"]);
    }

    #[test]
    fn durations() {
        let cases = [
            (0.4, "0 s"),
            (59.4, "59 s"),
            (59.6, "1 min"),
            (3_569.0, "59 min"),
            (3_590.0, "1 h 00 min"),
            (11_100.0, "3 h 05 min"),
            (187_200.0, "2 days 4 h"),
        ];
        cases.iter().for_each(|(seconds, expected)| assert_eq!(duration(*seconds), *expected));
    }
}
