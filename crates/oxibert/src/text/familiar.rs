//! Whether texts look like others: the same language, the same side of a pair.
//!
//! A text is foretold by how frequent its tokens are elsewhere, and what that costs is counted per character: a foreign
//! language falls to pieces that are rare, the wrong one of two known languages consists of tokens that are rare.

use super::{Encoder, Tokenizer};

/// What a character costs that no token covers, in nats: about as much as one of many equally likely letters.
const UNKNOWN: f64 = 4.0;
/// Tokens that must have been counted before they mean anything.
const ENOUGH: u64 = 1000;

/// The frequencies of tokens in texts.
///
/// ```
/// use oxibert::text::{Familiar, Tokenizer, Vocab};
///
/// let words = ["[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog", "und", "ein", "hund", "sat"];
/// let tokenizer = Tokenizer::cased(Vocab::from_tokens(words)?)?;
/// let english = Familiar::learn(&tokenizer, &["a cat sat", "a dog sat"].repeat(200));
/// assert!(english.strangeness(&tokenizer, &["a dog", "cat sat"]).unwrap() < 1.3);
/// assert!(english.strangeness(&tokenizer, &["ein hund", "und"]).unwrap() > 1.6);
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Familiar {
    counts: Vec<u64>,
    total: u64,
    /// What the texts themselves cost.
    own: f64,
}

impl Familiar {
    /// Counts the tokens of texts.
    pub fn learn<T: AsRef<str>>(tokenizer: &Tokenizer, texts: &[T]) -> Self {
        let mut counts = vec![0; tokenizer.vocab().len()];
        let mut encoder = tokenizer.encoder();
        for text in texts {
            encoder.pieces(text.as_ref()).ids.iter().for_each(|&id| counts[id as usize] += 1);
        }
        let mut familiar = Self { total: counts.iter().sum(), counts, own: 0.0 };
        familiar.own = familiar.cost(tokenizer, texts).unwrap_or(0.0);
        familiar
    }

    /// How many times as much a character of these texts costs as one of the texts that were counted; absent where there is
    /// too little to tell.
    pub fn strangeness<T: AsRef<str>>(&self, tokenizer: &Tokenizer, texts: &[T]) -> Option<f64> {
        let cost = self.cost(tokenizer, texts)?;
        (self.total >= ENOUGH && self.own > 0.0).then_some(cost / self.own)
    }

    /// Nats per character that belongs to a token.
    fn cost<T: AsRef<str>>(&self, tokenizer: &Tokenizer, texts: &[T]) -> Option<f64> {
        let mut encoder = tokenizer.encoder();
        let costs = texts.iter().map(|text| self.cost_of(tokenizer, &mut encoder, text.as_ref()));
        let (nats, characters) = costs.fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (characters > 0).then(|| nats / characters as f64)
    }

    fn cost_of(&self, tokenizer: &Tokenizer, encoder: &mut Encoder<'_>, text: &str) -> (f64, usize) {
        let encoding = encoder.pieces(text);
        let (mut nats, mut characters) = (0.0, 0);
        for (&id, span) in encoding.ids.iter().zip(&encoding.spans) {
            let length = text[span.range()].chars().count();
            characters += length;
            nats += match id == tokenizer.special().unk {
                true => UNKNOWN * length as f64,
                false => (self.total as f64 + 1.0).ln() - (self.counts[id as usize] as f64 + 0.5).ln(),
            };
        }
        (nats, characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Vocab;

    const WORDS: &str =
        "[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog sat ran on der hund lief auf matte k ##a ##t ##o";

    #[test]
    fn too_little_says_nothing() {
        let tokenizer = Tokenizer::cased(Vocab::from_tokens(WORDS.split(' ')).unwrap()).unwrap();
        let few = Familiar::learn(&tokenizer, &["the cat sat"]);
        assert_eq!(few.strangeness(&tokenizer, &["the dog"]), None);
        let many = Familiar::learn(&tokenizer, &["the cat sat", "the dog ran on"].repeat(200));
        assert_eq!(many.strangeness(&tokenizer, &["", "  "]), None);
    }

    #[test]
    fn other_languages_are_strange_and_other_sentences_are_not() {
        let tokenizer = Tokenizer::cased(Vocab::from_tokens(WORDS.split(' ')).unwrap()).unwrap();
        let known =
            Familiar::learn(&tokenizer, &["the cat sat on", "the dog ran on", "the cat ran"].repeat(200));
        let strangeness = |text: &str| known.strangeness(&tokenizer, &[text]).unwrap();
        assert!(strangeness("the dog sat on the cat") < 1.2);
        // The other side of the pair, pieces of words, and a script that has no token.
        for text in ["der hund lief auf", "kat kato", "Ωμέγα ещё"] {
            assert!(strangeness(text) > 1.6, "{text}: {}", strangeness(text));
        }
    }
}
