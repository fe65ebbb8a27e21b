//! What the doctor remembers of a run's numbers.

use std::collections::VecDeque;

use super::WINDOW;

/// Norms whose median is kept; long enough to outlast a burst, short enough to follow the fall in the beginning.
const NORMS_KEPT: usize = 129;

/// The mean of the last numbers, and the best mean so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    last: VecDeque<f64>,
    first: Option<f64>,
    best: Option<f64>,
}

impl Recent {
    /// Takes a number, where there is one.
    pub(super) fn add(&mut self, value: Option<f64>) {
        let Some(value) = value else { return };
        if self.last.len() == WINDOW {
            self.last.pop_front();
        }
        self.last.push_back(value);
        self.first = self.first.or(Some(value));
        if let Some(mean) = self.mean() {
            self.best = Some(self.best.map_or(mean, |best| best.min(mean)));
        }
    }

    /// The mean of a full window.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.last.len() == WINDOW).then(|| self.last.iter().sum::<f64>() / WINDOW as f64)
    }

    /// The first number of all.
    pub(super) fn first(&self) -> Option<f64> {
        self.first
    }

    /// The lowest mean so far.
    pub(super) fn best(&self) -> Option<f64> {
        self.best
    }
}

/// The median of the last numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Median(VecDeque<f64>);

impl Median {
    pub(super) fn add(&mut self, value: f64) {
        if self.0.len() == NORMS_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn value(&self) -> Option<f64> {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}
