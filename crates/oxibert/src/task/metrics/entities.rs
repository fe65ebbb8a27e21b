//! Precision, recall and F1 of entities: one is right if its ends and its kind are.

use std::collections::{BTreeMap, HashSet};

use super::{Counts, Span};

/// Counts of entities over sentences.
///
/// ```
/// use oxibert::task::metrics::{Entities, spans};
///
/// let mut entities = Entities::default();
/// entities.add(&spans(&["B-PER", "I-PER", "O", "B-LOC"]), &spans(&["B-PER", "I-PER", "O", "O"]));
/// assert_eq!((entities.precision(), entities.recall()), (0.5, 1.0));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entities {
    /// Answered and meant.
    pub right: u64,
    /// Answered.
    pub answered: u64,
    /// Meant.
    pub meant: u64,
    /// The same of each kind.
    pub kinds: BTreeMap<String, Counts>,
}

impl Entities {
    /// Adds a sentence.
    pub fn add(&mut self, answered: &[Span], meant: &[Span]) {
        let known: HashSet<&Span> = meant.iter().collect();
        for span in answered {
            let counts = Counts { right: u64::from(known.contains(span)), answered: 1, meant: 0 };
            self.count(&span.kind, counts);
        }
        meant.iter().for_each(|span| self.count(&span.kind, Counts { right: 0, answered: 0, meant: 1 }));
    }

    fn count(&mut self, kind: &str, counts: Counts) {
        self.right += counts.right;
        self.answered += counts.answered;
        self.meant += counts.meant;
        *self.kinds.entry(kind.to_owned()).or_default() += counts;
    }

    /// Entities of all kinds.
    pub fn counts(&self) -> Counts {
        Counts { right: self.right, answered: self.answered, meant: self.meant }
    }

    /// The share of answered entities that are right.
    pub fn precision(&self) -> f64 {
        self.counts().precision()
    }

    /// The share of meant entities that were found.
    pub fn recall(&self) -> f64 {
        self.counts().recall()
    }

    /// The harmonic mean of precision and recall; 0 where there is nothing.
    pub fn f1(&self) -> f64 {
        self.counts().f1()
    }
}

#[cfg(test)]
mod tests {
    use super::super::spans;
    use super::*;

    #[test]
    fn whole_entities_are_counted() {
        let mut entities = Entities::default();
        entities.add(&spans(&["B-PER", "I-PER", "O", "B-LOC"]), &spans(&["B-PER", "I-PER", "O", "B-ORG"]));
        entities.add(&spans(&["B-PER", "O"]), &spans(&["B-PER", "I-PER"]));
        assert_eq!(entities.counts(), Counts { right: 1, answered: 3, meant: 3 });
        assert_eq!(entities.kinds["PER"], Counts { right: 1, answered: 2, meant: 2 });
        assert_eq!(entities.kinds["ORG"], Counts { right: 0, answered: 0, meant: 1 });
        assert_eq!(Entities::default().f1(), 0.0);
    }
}
