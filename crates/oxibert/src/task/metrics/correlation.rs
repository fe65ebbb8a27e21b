//! Pearson's and Spearman's correlation.

use super::counts::ratio;

/// The correlation of two lists of numbers; 0 where one of them is constant.
///
/// ```
/// assert_eq!(oxibert::task::metrics::pearson(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]), 1.0);
/// ```
///
/// # Panics
/// If they are not equally long.
pub fn pearson(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "a number for every number");
    // The mean of equal numbers may not be that number, so that their deviations would be noise.
    let is_constant = |values: &[f64]| values.iter().all(|value| *value == values[0]);
    if is_constant(x) || is_constant(y) {
        return 0.0;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    ratio(xy, (xx * yy).sqrt()).clamp(-1.0, 1.0)
}

/// The correlation of the ranks; equal numbers share the mean of their ranks.
///
/// # Panics
/// If they are not equally long.
pub fn spearman(x: &[f64], y: &[f64]) -> f64 {
    pearson(&ranks(x), &ranks(y))
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = below as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&number| ranks[number] = rank);
        below += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_shared_by_equals() {
        assert_eq!(ranks(&[10.0, 20.0, 20.0, 5.0]), [2.0, 3.5, 3.5, 1.0]);
        assert_eq!(ranks(&[0.0, -0.0, -1.0]), [2.5, 2.5, 1.0]);
    }

    #[test]
    fn what_is_constant_correlates_with_nothing() {
        assert_eq!(pearson(&[0.1; 3], &[1.0, 2.0, 3.0]), 0.0);
        assert_eq!((pearson(&[], &[]), spearman(&[1.0], &[2.0])), (0.0, 0.0));
        assert!((spearman(&[1.0, 2.0, 9.0], &[9.0, 4.0, 3.0]) + 1.0).abs() < 1e-12);
    }
}
