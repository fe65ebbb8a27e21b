//! Learning a WordPiece vocabulary from text.
//!
//! BERT's paper (section 3) takes WordPiece from Wu et al. (2016) and does not say how its vocabulary was learned,
//! and the code of the paper has no learner. Like Hugging Face's trainer, this one counts the words of a corpus
//! (`count`) and then merges the most frequent pair of neighbouring pieces until the vocabulary is full
//! (`merge`): byte pair encoding, with `##` before pieces that go on inside a word.
//!
//! The vocabulary depends on the text and the options alone: not on the number of threads, nor on hashing.

mod alphabet;
mod count;
mod merge;
mod table;
#[cfg(test)]
mod tests;

use alphabet::{Alphabet, Tokens};
use count::Counted;
use merge::Words;
use rustc_hash::FxHashSet;

use super::split::{Scratch, Splitter};
use super::{Rules, SPECIAL_TOKENS};
use crate::data::Corpus;
use crate::progress::{Progress, Unit};
use crate::{Error, Result};

/// What to learn.
#[derive(Clone, Debug)]
pub struct LearnOptions {
    /// How many tokens the vocabulary shall have; fewer where the text does not give more.
    pub size: usize,
    /// How often a pair must occur to become a token.
    pub min_frequency: u64,
    /// How many characters to keep, the most frequent ones; all where absent. Words with other characters encode to
    /// `[UNK]` and are left out.
    pub alphabet_limit: Option<usize>,
    /// Special tokens of your own, after the usual five.
    pub special_tokens: Vec<String>,
    /// How many `[unused0]`, `[unused1]`, … to hold free for later.
    pub reserved: usize,
    /// Longer words encode to `[UNK]` and are left out. [`learn`] takes the tokenizer's limit.
    pub max_word_chars: usize,
    /// How many distinct words to hold in memory. Beyond it the rarest so far are dropped (and
    /// [counted](Statistics::pruned_words)).
    pub max_words: usize,
    /// How many threads to count on; absent: those of the current rayon pool.
    pub threads: Option<usize>,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            size: 30_000,
            min_frequency: 2,
            alphabet_limit: None,
            special_tokens: Vec::new(),
            reserved: 0,
            max_word_chars: 100,
            max_words: 4_000_000,
            threads: None,
        }
    }
}

/// A learned vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Learned {
    /// The tokens by id: special ones, reserved ones, characters, characters inside words, merges.
    pub tokens: Vec<String>,
    /// What was seen on the way.
    pub statistics: Statistics,
}

/// What the learner saw and left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Words in the text, every occurrence counted.
    pub words: u64,
    /// Distinct words held at the end.
    pub unique_words: usize,
    /// Occurrences of words longer than [`LearnOptions::max_word_chars`].
    pub long_words: u64,
    /// How often a distinct word was dropped because there were more than [`LearnOptions::max_words`].
    pub pruned_words: u64,
    /// The occurrences that were forgotten with them.
    pub pruned_occurrences: u64,
    /// Distinct characters kept.
    pub alphabet: usize,
    /// Distinct characters dropped by [`LearnOptions::alphabet_limit`].
    pub dropped_characters: usize,
    /// Occurrences of words left out because they hold such a character.
    pub dropped_words: u64,
    /// Tokens made by merging.
    pub merges: usize,
}

/// Something that normalizes text and splits it into words: what the tokenizer does before WordPiece.
///
/// A closure `Fn(&str, &mut dyn FnMut(&str))` is one; a type of its own gets its calls inlined and can keep buffers
/// in its `Scratch`.
pub trait SplitWords: Sync {
    /// What a thread keeps from call to call.
    type Scratch: Default + Send;

    /// Gives every word of `text` (some lines) to `emit`.
    fn split_words(&self, text: &str, scratch: &mut Self::Scratch, emit: impl FnMut(&str));
}

impl<F: Fn(&str, &mut dyn FnMut(&str)) + Sync> SplitWords for F {
    type Scratch = ();

    fn split_words(&self, text: &str, _scratch: &mut (), mut emit: impl FnMut(&str)) {
        self(text, &mut emit);
    }
}

/// The tokenizer's own words.
impl SplitWords for Splitter {
    type Scratch = Scratch;

    fn split_words(&self, text: &str, scratch: &mut Scratch, mut emit: impl FnMut(&str)) {
        self.split(text, 0, scratch, |word| {
            emit(str::from_utf8(word.bytes).expect("words are made of characters"));
        });
    }
}

/// Learns a vocabulary from a corpus, for a tokenizer with these rules.
///
/// ```
/// use oxibert::data::Corpus;
/// use oxibert::text::{Compat, Rules, learn};
///
/// let corpus = Corpus::from_text("songs", "Low, lower, lowest: how low is low?");
/// let options = learn::LearnOptions::default();
/// let learned = learn::learn(&corpus, Rules::uncased(Compat::Hf), &options, &())?;
/// assert_eq!(learned.tokens[..5], ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
/// assert!(learned.tokens.iter().any(|token| token == "low"));
/// # Ok::<(), oxibert::Error>(())
/// ```
pub fn learn(
    corpus: &Corpus,
    rules: Rules,
    options: &LearnOptions,
    progress: &dyn Progress,
) -> Result<Learned> {
    let options = LearnOptions { max_word_chars: rules.max_word_chars, ..options.clone() };
    learn_with(corpus, &Splitter::new(rules), &options, progress)
}

/// Learns a vocabulary of words that something else splits off.
pub fn learn_with<S: SplitWords>(
    corpus: &Corpus,
    splitter: &S,
    options: &LearnOptions,
    progress: &dyn Progress,
) -> Result<Learned> {
    let tokens = options.first_tokens()?;
    let mut statistics = Statistics::default();
    let counted = match options.threads {
        None => count::count(corpus, splitter, options, &mut statistics, progress),
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| Error::setting("threads", format!("cannot start {threads} threads: {e}")))?
            .install(|| count::count(corpus, splitter, options, &mut statistics, progress)),
    }?;
    let tokens = grow(counted, tokens, options, &mut statistics, progress)?;
    Ok(Learned { tokens, statistics })
}

/// From counted words to the full vocabulary.
fn grow(
    counted: Counted,
    tokens: Vec<String>,
    options: &LearnOptions,
    statistics: &mut Statistics,
    progress: &dyn Progress,
) -> Result<Vec<String>> {
    let (kept, dropped) = counted.characters.select(options.alphabet_limit);
    (statistics.alphabet, statistics.dropped_characters) = (kept.len(), dropped);
    if kept.is_empty() {
        return Err(no_words(statistics, options));
    }
    let mut tokens = Tokens::new(tokens);
    let special = tokens.list.len();
    let alphabet = Alphabet::new(&kept, &counted.characters.continuing(&kept), &mut tokens);
    let least = tokens.list.len();
    if least > options.size {
        return Err(too_small(options.size, special, least));
    }
    let words = spell(counted, &alphabet, statistics);
    progress.begin("merging", Some((options.size - least) as u64), Unit::Items);
    merge::merge(words, &mut tokens, options.size, options.min_frequency, progress);
    progress.end();
    statistics.merges = tokens.list.len() - least;
    Ok(tokens.list)
}

fn spell(counted: Counted, alphabet: &Alphabet, statistics: &mut Statistics) -> Words {
    let mut words = Words::new();
    for table in counted.tables {
        for (word, _, count) in table.iter() {
            if !words.push(count, |symbols| alphabet.spell(word, symbols)) {
                statistics.dropped_words += count;
            }
        }
    }
    words
}

fn no_words(statistics: &Statistics, options: &LearnOptions) -> Error {
    let problem = match statistics.long_words {
        0 => "the text has no words; is it empty, or the wrong file?".to_owned(),
        n => format!(
            "all {n} words are longer than {} characters; raise --max-word-chars",
            options.max_word_chars
        ),
    };
    Error::setting("input", problem)
}

fn too_small(size: usize, special: usize, least: usize) -> Error {
    let problem = format!(
        "{size} is too small for {special} special tokens and {} characters; take at least {least}, or keep fewer \
         characters with --alphabet-limit",
        least - special
    );
    Error::setting("size", problem)
}

impl LearnOptions {
    /// Checks the options; gives the tokens that do not depend on the text.
    fn first_tokens(&self) -> Result<Vec<String>> {
        let refuse = |name, problem: &str| Err(Error::setting(name, problem));
        if self.min_frequency == 0 {
            return refuse("min_frequency", "0 would merge pairs that never occur; take 1 or more");
        }
        if self.alphabet_limit == Some(0) {
            return refuse("alphabet_limit", "0 would keep no characters; take 1 or more, or give no limit");
        }
        if self.max_word_chars == 0 {
            return refuse("max_word_chars", "0 would leave out every word; BERT takes 100");
        }
        if self.max_words < 2 {
            return refuse("max_words", "too few to learn from; take 2 or more");
        }
        // Merging numbers the places of all words with 32 bits.
        let places = self.max_word_chars.saturating_add(2).saturating_mul(self.max_words);
        if places > u32::MAX as usize - 1 {
            return refuse(
                "max_words",
                "max_words x (max_word_chars + 2) must stay below 2^32; lower one of them",
            );
        }
        if self.threads == Some(0) {
            return refuse("threads", "0 threads can do nothing; take 1 or more");
        }
        let special = SPECIAL_TOKENS.len() + self.special_tokens.len();
        let least = special.saturating_add(self.reserved);
        if least > self.size {
            let problem = format!(
                "{} is too small for {special} special and {} reserved tokens; take more than {least}",
                self.size, self.reserved
            );
            return Err(Error::setting("size", problem));
        }
        self.special()
    }

    fn special(&self) -> Result<Vec<String>> {
        let mut tokens: Vec<String> = SPECIAL_TOKENS.map(str::to_owned).into();
        tokens.extend(self.special_tokens.iter().cloned());
        tokens.extend((0..self.reserved).map(|i| format!("[unused{i}]")));
        let mut seen = FxHashSet::default();
        for token in &tokens {
            let problem = if token.is_empty() {
                "a token must not be empty".to_owned()
            } else if token.contains(char::is_whitespace) {
                format!("{token:?} contains white space, which a token cannot")
            } else if !seen.insert(token) {
                format!("{token} is there twice (the five of BERT and the [unusedN] are added by themselves)")
            } else {
                continue;
            };
            return Err(Error::setting("special_tokens", problem));
        }
        Ok(tokens)
    }
}
