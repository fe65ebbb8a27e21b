//! The fixed position vectors of "Attention Is All You Need", section 3.5.

/// The table of sinusoids, row-major `[positions, width]`.
///
/// `PE(pos, 2i) = sin(pos / 10000^(2i / width))`, `PE(pos, 2i + 1) = cos(the same)`.
///
/// ```
/// let table = oxibert::model::sinusoids(2, 4);
/// assert_eq!(table[..4], [0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(table[4], 1f32.sin());
/// ```
pub fn sinusoids(positions: usize, width: usize) -> Vec<f32> {
    let mut table = Vec::with_capacity(positions * width);
    for position in 0..positions {
        for column in 0..width {
            let pair = (column - column % 2) as f64;
            // In f64, because f32 loses the angle of far positions.
            let angle = position as f64 / 10000f64.powf(pair / width as f64);
            table.push(if column % 2 == 0 { angle.sin() } else { angle.cos() } as f32);
        }
    }
    table
}

/// The same numbers in Marian's order: in every row first the sines, then the cosines.
///
/// ```
/// let table = oxibert::model::sinusoid_halves(2, 4);
/// assert_eq!(table[..4], [0.0, 0.0, 1.0, 1.0]);
/// assert_eq!(table[6], 1f32.cos());
/// ```
pub fn sinusoid_halves(positions: usize, width: usize) -> Vec<f32> {
    let mut table = sinusoids(positions, width);
    let (mut sines, mut cosines) = (Vec::new(), Vec::new());
    for row in table.chunks_exact_mut(width.max(1)) {
        sines.clear();
        cosines.clear();
        sines.extend(row.iter().step_by(2));
        cosines.extend(row.iter().skip(1).step_by(2));
        let (first, second) = row.split_at_mut(sines.len());
        first.copy_from_slice(&sines);
        second.copy_from_slice(&cosines);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_long_as_asked_and_bounded() {
        for (positions, width) in [(0, 4), (3, 0), (1, 1), (5, 7), (600, 8)] {
            let table = sinusoids(positions, width);
            assert_eq!(table.len(), positions * width);
            assert!(table.iter().all(|value| value.abs() <= 1.0));
        }
    }

    #[test]
    fn halves_hold_the_same_numbers() {
        for (positions, width) in [(0, 4), (3, 0), (3, 1), (5, 7), (6, 8)] {
            let (pairs, halves) = (sinusoids(positions, width), sinusoid_halves(positions, width));
            for (place, value) in pairs.iter().enumerate() {
                let (row, column) = (place / width, place % width);
                assert_eq!(halves[row * width + column / 2 + column % 2 * width.div_ceil(2)], *value);
            }
        }
    }

    #[test]
    fn a_pair_is_a_point_on_the_circle() {
        let table = sinusoids(50, 6);
        for pair in table.chunks_exact(2) {
            assert!((pair[0].powi(2) + pair[1].powi(2) - 1.0).abs() < 1e-6);
        }
    }
}
