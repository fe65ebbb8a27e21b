//! The largest elements of a row: the likeliest tokens of a step of decoding.

use crate::arch::versions;
use crate::math;
use crate::scratch::with_scratch;

/// Elements that are looked at together: their largest tells fast that most blocks hold nothing of interest.
const BLOCK: usize = 64;

/// The `count` largest values with their places, the largest first, of equal ones the first; NaN is none of them.
pub fn top(values: &[f32], count: usize) -> Vec<(u32, f32)> {
    with_scratch(values.len().div_ceil(BLOCK), |maxima| {
        largest_of_blocks(values, maxima);
        // As many blocks hold something so large: what is looked for is not smaller.
        let mut blocks = Best::new(count, f32::NEG_INFINITY);
        maxima.iter().for_each(|&largest| blocks.offer(0, largest));
        let mut best = Best::new(count, blocks.least);
        for (block, values) in values.chunks(BLOCK).enumerate() {
            if maxima[block] >= best.least {
                (0..).zip(values).for_each(|(at, &value)| best.offer((block * BLOCK) as u32 + at, value));
            }
        }
        best.list
    })
}

/// The largest of what was offered, sorted.
struct Best {
    list: Vec<(u32, f32)>,
    count: usize,
    /// What is smaller is not among them.
    least: f32,
}

impl Best {
    fn new(count: usize, least: f32) -> Self {
        Self { list: Vec::with_capacity(count + 1), count, least }
    }

    #[inline]
    fn offer(&mut self, at: u32, value: f32) {
        if value > self.least || (value == self.least && self.list.len() < self.count) {
            self.insert(at, value);
        }
    }

    fn insert(&mut self, at: u32, value: f32) {
        let place = self.list.partition_point(|(_, before)| *before >= value);
        self.list.insert(place, (at, value));
        self.list.truncate(self.count);
        if self.list.len() == self.count {
            self.least = self.list.last().map_or(f32::INFINITY, |(_, value)| *value);
        }
    }
}

versions! {
    /// The largest element of every block of `values`; minus infinity where all are NaN.
    fn largest_of_blocks(values: &[f32], maxima: &mut [f32]) {
        for (block, largest) in values.chunks(BLOCK).zip(maxima) {
            *largest = math::max(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;

    #[test]
    fn the_largest_come_first_and_nan_never() {
        let ties: Vec<f32> = (0..1000).map(|i| ((i * 37) % 101) as f32).collect();
        for values in [ties, noise(1003, 1)] {
            let mut sorted: Vec<(u32, f32)> = (0..).zip(values.iter().copied()).collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            for count in [0, 1, 2, 5, 64, 300, 1000] {
                assert_eq!(top(&values, count), sorted[..count], "{count}");
            }
            assert_eq!(top(&values, 4000), sorted);
        }
        assert_eq!(top(&[f32::NAN, 1.0, f32::NAN], 2), [(1, 1.0)]);
        assert_eq!(top(&[f32::NEG_INFINITY, 1.0], 2), [(1, 1.0), (0, f32::NEG_INFINITY)]);
        assert!(top(&[f32::NAN; 700], 2).is_empty());
    }

    #[test]
    fn one_that_comes_late_is_found() {
        for at in [63, 64, 65, 500, 767, 768, 799] {
            let mut values = vec![0.0; 800];
            values[at] = 1.0;
            assert_eq!(top(&values, 2), [(at as u32, 1.0), (0, 0.0)]);
        }
    }
}
