//! How good are translations? BLEU and chrF of a whole corpus, equal to sacreBLEU's figures.
//!
//! BLEU (Papineni et al., 2002) counts how many word n-grams of the translations stand in the references; chrF (Popović, 2015)
//! does so with characters, in both directions. Both add up counts over all sentences before they divide. A published
//! figure means something only if words are cut as everybody cuts them, so the rules are sacreBLEU's (Post, 2018), to the
//! letter: `translation/tokens.rs` has the two ways to cut, `translation/sacrebleu.json` the figures that the tests hold us to.

mod tokens;

use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use rustc_hash::FxHashMap;

use crate::{Error, Result};

/// The longest n-grams of BLEU, in words.
const WORDS: usize = 4;
/// The longest n-grams of chrF, in characters.
const CHARACTERS: usize = 6;
/// How many times as much recall counts as precision in chrF: the 2 of chrF2.
const BETA: f64 = 2.0;

/// How a sentence is cut into the words that BLEU counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tokenization {
    /// `13a`: at blanks and punctuation, as the NIST script mteval-v13a does; for languages with blanks between words.
    #[default]
    Mteval13a,
    /// `zh`: every Chinese character is a word, the rest is cut as in `13a`.
    Chinese,
}

impl Tokenization {
    /// The one that suits these references: `zh` if most of their letters are Chinese characters.
    ///
    /// ```
    /// use oxibert::task::metrics::translation::Tokenization;
    /// assert_eq!(Tokenization::suited_to(&["他每天喝 1 杯 tea。"]), Tokenization::Chinese);
    /// assert_eq!(Tokenization::suited_to(&["He reads 论语."]), Tokenization::Mteval13a);
    /// ```
    pub fn suited_to<S: AsRef<str>>(references: &[S]) -> Self {
        let letters =
            || references.iter().flat_map(|text| text.as_ref().chars()).filter(|c| c.is_alphabetic());
        let chinese = letters().filter(|&c| tokens::is_han(c)).count();
        if 2 * chinese > letters().count() { Self::Chinese } else { Self::Mteval13a }
    }
}

impl fmt::Display for Tokenization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mteval13a => "13a",
            Self::Chinese => "zh",
        })
    }
}

impl FromStr for Tokenization {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "13a" => Ok(Self::Mteval13a),
            "zh" => Ok(Self::Chinese),
            _ => Err(Error::setting("tokenization", format!("{name:?} is neither 13a nor zh"))),
        }
    }
}

/// BLEU and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bleu {
    /// From 0 to 100: brevity penalty times the geometric mean of the precisions.
    pub score: f64,
    /// In percent, of n-grams of one to four words.
    pub precisions: [f64; WORDS],
    /// Below 1 where the translations are shorter than the references.
    pub brevity_penalty: f64,
    /// Words of all translations.
    pub hypothesis_length: usize,
    /// Words of all references.
    pub reference_length: usize,
}

/// BLEU of a corpus: `hypotheses[i]` translates what `references[i]` translates.
///
/// Case counts. Where no n-gram of a length is right, its precision is smoothed as mteval-v13a does (`exp`); without
/// any n-gram of four words the score is 0.
///
/// ```
/// use oxibert::task::metrics::translation::{Tokenization, bleu};
///
/// let of = bleu(&["The dog bit the man."], &["The dog had bit the man."], Tokenization::Mteval13a);
/// assert_eq!(format!("{:.2}", of.score), "51.15");
/// assert_eq!((of.hypothesis_length, of.reference_length), (6, 7));
/// ```
///
/// # Panics
/// If there are not as many references as hypotheses.
pub fn bleu<H, R>(hypotheses: &[H], references: &[R], tokenization: Tokenization) -> Bleu
where
    H: AsRef<str>,
    R: AsRef<str>,
{
    assert_eq!(hypotheses.len(), references.len(), "every translation needs its reference");
    let mut found = [Overlap::default(); WORDS];
    let (mut hypothesis_length, mut reference_length) = (0, 0);
    for (hypothesis, reference) in hypotheses.iter().zip(references) {
        let [hypothesis, reference] =
            [hypothesis.as_ref(), reference.as_ref()].map(|text| tokens::separate(text, tokenization));
        let [hypothesis, reference] = [&hypothesis, &reference].map(|text| tokens::words(text));
        hypothesis_length += hypothesis.len();
        reference_length += reference.len();
        for (n, found) in (1..).zip(&mut found) {
            found.add(&hypothesis, &reference, n);
        }
    }
    let brevity_penalty = brevity_penalty(hypothesis_length, reference_length);
    let precisions = precisions(&found);
    // A precision of zero has the logarithm of minus infinity, and the score is zero.
    let mean = precisions.iter().map(|p| p.ln()).sum::<f64>() / WORDS as f64;
    Bleu {
        score: brevity_penalty * mean.exp(),
        precisions,
        brevity_penalty,
        hypothesis_length,
        reference_length,
    }
}

fn brevity_penalty(hypothesis: usize, reference: usize) -> f64 {
    match hypothesis {
        _ if hypothesis >= reference => 1.0,
        0 => 0.0,
        _ => (1.0 - reference as f64 / hypothesis as f64).exp(),
    }
}

/// The precisions in percent. Each length without a match counts as half a match, then a quarter, and so on; unless
/// nothing matches at all.
fn precisions(found: &[Overlap; WORDS]) -> [f64; WORDS] {
    let mut precisions = [0.0; WORDS];
    if found.iter().all(|found| found.matched == 0) {
        return precisions;
    }
    let mut share = 1.0;
    for (precision, found) in precisions.iter_mut().zip(found).take_while(|(_, found)| found.hypothesis > 0) {
        let matched = match found.matched {
            0 => {
                share /= 2.0;
                share
            }
            matched => matched as f64,
        };
        *precision = 100.0 * matched / found.hypothesis as f64;
    }
    precisions
}

/// chrF2 of a corpus, from 0 to 100: n-grams of one to six characters, blanks left out, recall twice as important as
/// precision.
///
/// ```
/// use oxibert::task::metrics::translation::chrf;
/// assert_eq!(chrf(&["Guten Tag!"], &["Guten  Tag!"]), 100.0);
/// assert!(chrf(&["Gute Tage"], &["Guten Tag"]) > chrf(&["Hallo"], &["Guten Tag"]));
/// ```
///
/// # Panics
/// If there are not as many references as hypotheses.
pub fn chrf<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[R]) -> f64 {
    assert_eq!(hypotheses.len(), references.len(), "every translation needs its reference");
    let mut found = [Overlap::default(); CHARACTERS];
    for (hypothesis, reference) in hypotheses.iter().zip(references) {
        let [hypothesis, reference] = [hypothesis.as_ref(), reference.as_ref()]
            .map(|text| text.chars().filter(|&c| !tokens::is_blank(c)).collect::<Vec<char>>());
        for (n, found) in (1..).zip(&mut found) {
            // A reference too short for n-grams of this length says nothing about them.
            if reference.len() >= n {
                found.add(&hypothesis, &reference, n);
            }
        }
    }
    f_score(&found)
}

/// The F score of the mean precision and the mean recall over the lengths that both sides have.
fn f_score(found: &[Overlap]) -> f64 {
    let (mut precision, mut recall, mut lengths) = (0.0, 0.0, 0.0);
    for found in found.iter().filter(|found| found.hypothesis > 0 && found.reference > 0) {
        precision += found.matched as f64 / found.hypothesis as f64;
        recall += found.matched as f64 / found.reference as f64;
        lengths += 1.0;
    }
    if precision + recall == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (precision / lengths, recall / lengths);
    let weight = BETA * BETA;
    100.0 * (1.0 + weight) * precision * recall / (weight * precision + recall)
}

/// How many n-grams of one length there are, and how many are the same on both sides.
#[derive(Debug, Clone, Copy, Default)]
struct Overlap {
    hypothesis: usize,
    reference: usize,
    matched: usize,
}

impl Overlap {
    /// Adds the n-grams of a sentence; one that the reference has twice can be right twice.
    fn add<T: Hash + Eq>(&mut self, hypothesis: &[T], reference: &[T], n: usize) {
        let mut left: FxHashMap<&[T], usize> = FxHashMap::default();
        for gram in reference.windows(n) {
            *left.entry(gram).or_default() += 1;
            self.reference += 1;
        }
        for gram in hypothesis.windows(n) {
            self.hypothesis += 1;
            if let Some(count) = left.get_mut(gram).filter(|count| **count > 0) {
                *count -= 1;
                self.matched += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
