//! Precision, recall and F1.

/// How often something was answered, meant, and both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answered and meant.
    pub right: u64,
    /// Answered.
    pub answered: u64,
    /// Meant.
    pub meant: u64,
}

impl Counts {
    /// The share of right answers; 0 where there is none.
    pub fn precision(&self) -> f64 {
        ratio(self.right as f64, self.answered as f64)
    }

    /// The share of what was meant that was answered; 0 where nothing was.
    pub fn recall(&self) -> f64 {
        ratio(self.right as f64, self.meant as f64)
    }

    /// The harmonic mean of precision and recall; 0 where there is nothing.
    pub fn f1(&self) -> f64 {
        ratio(2.0 * self.right as f64, (self.answered + self.meant) as f64)
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.answered += other.answered;
        self.meant += other.meant;
    }
}

/// 0 where there is nothing to divide by, as scikit-learn has it.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}
