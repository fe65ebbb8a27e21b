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
    fn a_pair_is_a_point_on_the_circle() {
        let table = sinusoids(50, 6);
        for pair in table.chunks_exact(2) {
            assert!((pair[0].powi(2) + pair[1].powi(2) - 1.0).abs() < 1e-6);
        }
    }
}
