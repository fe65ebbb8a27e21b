//! Any number of classes at once: the accuracy of whole sets, micro and macro F1.

use super::Counts;
use super::counts::ratio;

/// Counts of every class, and of the sets that are right as a whole.
///
/// ```
/// use oxibert::task::metrics::MultiLabel;
///
/// let mut counts = MultiLabel::new(3);
/// counts.add(&[0, 2], &[0, 2]);
/// counts.add(&[1], &[]);
/// assert_eq!((counts.accuracy(), counts.micro_f1()), (0.5, 0.8));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MultiLabel {
    classes: Vec<Counts>,
    right: u64,
    total: u64,
}

impl MultiLabel {
    /// No answers yet.
    pub fn new(classes: usize) -> Self {
        Self { classes: vec![Counts::default(); classes], right: 0, total: 0 }
    }

    /// Adds the classes that were answered for something, and those that hold; in any order, each once.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn add(&mut self, answered: &[usize], meant: &[usize]) {
        answered.iter().for_each(|&class| self.classes[class].answered += 1);
        meant.iter().for_each(|&class| self.classes[class].meant += 1);
        let right: Vec<usize> = answered.iter().copied().filter(|class| meant.contains(class)).collect();
        right.iter().for_each(|&class| self.classes[class].right += 1);
        self.right += u64::from(right.len() == answered.len() && right.len() == meant.len());
        self.total += 1;
    }

    /// How often a class was right, answered and meant.
    pub fn counts(&self, class: usize) -> Counts {
        self.classes[class]
    }

    /// The share of answers in which every class is right.
    pub fn accuracy(&self) -> f64 {
        ratio(self.right as f64, self.total as f64)
    }

    /// The F1 of all classes' counts together.
    pub fn micro_f1(&self) -> f64 {
        let mut all = Counts::default();
        self.classes.iter().for_each(|&counts| all += counts);
        all.f1()
    }

    /// The mean F1 of all classes, also of those that were neither meant nor answered.
    pub fn macro_f1(&self) -> f64 {
        ratio(self.classes.iter().map(Counts::f1).sum(), self.classes.len() as f64)
    }
}
