//! Numbers as people read them: three digits and a unit.

/// `110 M`: a count.
pub(crate) fn count(number: u64) -> String {
    scaled(number).trim_end().to_owned()
}

/// `438 MB`: a size in memory or on the disk, by powers of ten.
pub(crate) fn bytes(number: u64) -> String {
    format!("{}B", scaled(number))
}

/// `2 m 14 s`: how long something took.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) if seconds < 10.0 => format!("{seconds:.1} s"),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} m {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} m"),
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
    fn durations_have_two_units_at_most() {
        let shown = [0.04, 9.96, 59.7, 134.0, 3600.0, 7384.0].map(duration);
        assert_eq!(shown, ["0.0 s", "10.0 s", "1 m 00 s", "2 m 14 s", "1 h 00 m", "2 h 03 m"]);
    }

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
}
