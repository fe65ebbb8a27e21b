//! A word of the world: one meaning with its form in every language.
//!
//! Simulation handles words as meanings; only the languages ([`super::english`], [`super::chinese`]) look at
//! the forms. A further language is a further field here, filled in the tables of [`super::lexicon`].

/// One meaning, its base form in each language, and what the languages must know to inflect it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// English base form: singular, infinitive or positive.
    pub(crate) english: &'static str,
    /// Chinese form.
    pub(crate) chinese: &'static str,
    /// How it is counted or located.
    pub(crate) grammar: Grammar,
}

/// How a word is counted or located.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Grammar {
    /// Neither: adjectives, verbs, names, phrases.
    Plain,
    /// Counted one by one: "three hats", 三顶帽子.
    Count {
        /// Chinese measure word.
        measure: &'static str,
    },
    /// Counted by a unit in English: "three sacks of flour", 三袋面粉. The unit "pair" makes a plural: "the boots were".
    Mass {
        /// English unit.
        unit: &'static str,
        /// Chinese measure word.
        measure: &'static str,
    },
    /// Somewhere to be: "by the well", 水井边.
    Spot {
        /// English preposition.
        at: &'static str,
        /// Chinese word of place that follows the noun.
        locative: &'static str,
    },
}

/// A word that is neither counted nor located.
pub(crate) const fn plain(english: &'static str, chinese: &'static str) -> Word {
    Word { english, chinese, grammar: Grammar::Plain }
}

/// A thing counted one by one.
pub(crate) const fn count(english: &'static str, measure: &'static str, chinese: &'static str) -> Word {
    Word { english, chinese, grammar: Grammar::Count { measure } }
}

/// A thing counted by a unit.
pub(crate) const fn mass(
    unit: &'static str,
    english: &'static str,
    measure: &'static str,
    chinese: &'static str,
) -> Word {
    Word { english, chinese, grammar: Grammar::Mass { unit, measure } }
}

/// Somewhere to be.
pub(crate) const fn spot(
    at: &'static str,
    english: &'static str,
    chinese: &'static str,
    locative: &'static str,
) -> Word {
    Word { english, chinese, grammar: Grammar::Spot { at, locative } }
}

impl Word {
    /// The Chinese measure word; none for what is not counted.
    pub(crate) fn measure(&self) -> &'static str {
        match self.grammar {
            Grammar::Count { measure } | Grammar::Mass { measure, .. } => measure,
            Grammar::Plain | Grammar::Spot { .. } => "",
        }
    }

    /// Whether English treats the bare noun as a plural ("the boots were").
    pub(crate) fn is_pair(&self) -> bool {
        matches!(self.grammar, Grammar::Mass { unit: "pair", .. })
    }
}
