//! Whether a model is as often right as it is sure.

use super::counts::ratio;

const BINS: usize = 10;

/// Answers about as sure as each other.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// They are surer than this (or as sure, in the first bin),
    pub from: f64,
    /// and at most as sure as this.
    pub to: f64,
    /// How sure they are, on the mean; 0 where there are none.
    pub confidence: f64,
    /// The share of right ones; 0 where there are none.
    pub accuracy: f64,
    /// How many they are.
    pub count: u64,
}

/// Sorts answers by their probabilities into ten bins of equal width.
///
/// ```
/// use oxibert::task::metrics::calibration;
///
/// let bins = calibration(&[0.95, 0.97, 0.55], &[true, false, true]);
/// assert_eq!((bins.len(), bins[9].count, bins[9].accuracy, bins[5].accuracy), (10, 2, 0.5, 1.0));
/// ```
///
/// # Panics
/// If there are not as many of both.
pub fn calibration(confidences: &[f64], right: &[bool]) -> Vec<Bin> {
    assert_eq!(confidences.len(), right.len(), "right or wrong, for every answer");
    let edge = |number: usize| number as f64 / BINS as f64;
    let mut bins: Vec<Bin> =
        (0..BINS).map(|number| Bin { from: edge(number), to: edge(number + 1), ..Bin::default() }).collect();
    for (&confidence, &right) in confidences.iter().zip(right) {
        let bin = &mut bins[(1..BINS).filter(|&number| edge(number) < confidence).count()];
        bin.confidence += confidence;
        bin.accuracy += f64::from(u8::from(right));
        bin.count += 1;
    }
    for bin in &mut bins {
        bin.confidence = ratio(bin.confidence, bin.count as f64);
        bin.accuracy = ratio(bin.accuracy, bin.count as f64);
    }
    bins
}

/// By how much bins are surer or less sure than right, on the mean of their answers (Guo et al., "On Calibration of Modern Neural
/// Networks", 2017).
pub fn calibration_error(bins: &[Bin]) -> f64 {
    let count: u64 = bins.iter().map(|bin| bin.count).sum();
    let gap = |bin: &Bin| bin.count as f64 * (bin.confidence - bin.accuracy).abs();
    ratio(bins.iter().map(gap).sum(), count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_bin_below() {
        let bins = calibration(&[0.0, 0.1, 0.3, 0.300_001, 1.0], &[false; 5]);
        let counts: Vec<u64> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [2, 0, 1, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!((bins[3].from, bins[3].to), (0.3, 0.4));
        assert_eq!(calibration_error(&calibration(&[], &[])), 0.0);
        assert!((calibration_error(&bins) - (0.1 + 0.3 + 0.300_001 + 1.0) / 5.0).abs() < 1e-12);
    }
}
