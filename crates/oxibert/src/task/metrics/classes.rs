//! One class each: accuracy, F1 and Matthews' correlation.

use super::Counts;
use super::counts::ratio;

/// How often each class was meant (row) and answered (column).
///
/// ```
/// use oxibert::task::metrics::Confusion;
///
/// let confusion = Confusion::new(2, &[1, 1, 0, 1], &[1, 0, 0, 1]);
/// assert_eq!(confusion.accuracy(), 0.75);
/// assert_eq!(confusion.f1(1), 0.8);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    counts: Vec<u64>,
}

impl Confusion {
    /// The counts of these answers.
    ///
    /// # Panics
    /// If there are not as many answers as were meant, or a class is not below `classes`.
    pub fn new(classes: usize, answered: &[u32], meant: &[u32]) -> Self {
        assert_eq!(answered.len(), meant.len(), "an answer for everything that was meant");
        let mut counts = vec![0; classes * classes];
        for (&answer, &meaning) in answered.iter().zip(meant) {
            assert!((answer as usize) < classes, "class {answer} of {classes}");
            counts[meaning as usize * classes + answer as usize] += 1;
        }
        Self { classes, counts }
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How often `answered` was said where `meant` was right.
    pub fn count(&self, meant: usize, answered: usize) -> u64 {
        self.counts[meant * self.classes + answered]
    }

    /// How often a class was right, answered and meant.
    pub fn counts(&self, class: usize) -> Counts {
        let classes = 0..self.classes;
        Counts {
            right: self.count(class, class),
            answered: classes.clone().map(|meant| self.count(meant, class)).sum(),
            meant: classes.map(|answered| self.count(class, answered)).sum(),
        }
    }

    /// The share of a class's answers that are right.
    pub fn precision(&self, class: usize) -> f64 {
        self.counts(class).precision()
    }

    /// The share of a class that was found.
    pub fn recall(&self, class: usize) -> f64 {
        self.counts(class).recall()
    }

    /// The harmonic mean of a class's precision and recall; 0 where there is nothing of it. `f1(1)` is the F1 of a task with
    /// two classes.
    pub fn f1(&self, class: usize) -> f64 {
        self.counts(class).f1()
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn right(&self) -> u64 {
        (0..self.classes).map(|class| self.count(class, class)).sum()
    }

    /// The share of right answers.
    pub fn accuracy(&self) -> f64 {
        ratio(self.right() as f64, self.total() as f64)
    }

    /// The F1 of all classes' counts together: where every text has one class, the accuracy.
    pub fn micro_f1(&self) -> f64 {
        self.accuracy()
    }

    /// The mean F1 of the classes that were meant or answered at all.
    pub fn macro_f1(&self) -> f64 {
        let counts = (0..self.classes).map(|class| self.counts(class));
        let seen: Vec<Counts> = counts.filter(|counts| counts.answered + counts.meant > 0).collect();
        ratio(seen.iter().map(Counts::f1).sum(), seen.len() as f64)
    }

    /// The correlation of answers and meanings, for any number of classes (Gorodkin, 2004); 0 where either is constant.
    pub fn matthews(&self) -> f64 {
        let (all, right) = (self.total() as f64, self.right() as f64);
        let (mut products, mut answers, mut meanings) = (0.0, 0.0, 0.0);
        for class in 0..self.classes {
            let Counts { answered, meant, .. } = self.counts(class);
            let (answered, meant) = (answered as f64, meant as f64);
            products += answered * meant;
            answers += answered * answered;
            meanings += meant * meant;
        }
        ratio(right * all - products, ((all * all - answers) * (all * all - meanings)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_meant_and_columns_answered() {
        let confusion = Confusion::new(3, &[1, 1, 0, 2, 2], &[1, 0, 0, 1, 1]);
        assert_eq!((confusion.count(0, 1), confusion.count(1, 0), confusion.count(1, 2)), (1, 0, 2));
        assert_eq!(confusion.counts(1), Counts { right: 1, answered: 2, meant: 3 });
        assert_eq!((confusion.precision(1), confusion.recall(1)), (0.5, 1.0 / 3.0));
    }

    #[test]
    fn nothing_is_no_division_by_zero() {
        let nothing = Confusion::new(2, &[], &[]);
        assert_eq!((nothing.accuracy(), nothing.macro_f1(), nothing.matthews()), (0.0, 0.0, 0.0));
        let constant = Confusion::new(2, &[1, 1], &[1, 1]);
        assert_eq!((constant.accuracy(), constant.f1(0), constant.matthews()), (1.0, 0.0, 0.0));
    }
}
