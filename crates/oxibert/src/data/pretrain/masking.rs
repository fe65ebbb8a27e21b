//! Which tokens are predicted, and what the model sees in their place.

use super::{Example, ExampleIds, ExampleOptions};
use crate::random::Random;

/// Of the chosen tokens, 80 % become `[MASK]`, 10 % a random token, 10 % stay: drawn per token, also within words.
const MASKED: f64 = 0.8;
const KEPT_OF_REST: f64 = 0.5;

/// How many tokens were chosen and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaskCounts {
    /// All tokens, special ones included.
    pub tokens: u64,
    /// Those to predict.
    pub chosen: u64,
    /// Of these, shown as `[MASK]`.
    pub masked: u64,
    /// Of these, shown as a random token.
    pub random: u64,
}

impl MaskCounts {
    /// Adds another example's counts.
    pub fn merge(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.chosen += other.chosen;
        self.masked += other.masked;
        self.random += other.random;
    }
}

/// Chooses tokens of the example and replaces them.
pub(super) fn mask(
    options: &ExampleOptions,
    ids: &ExampleIds,
    random: &mut Random,
    example: &mut Example,
) -> MaskCounts {
    let budget = budget(options, example.ids.len());
    choose(options, ids, budget, random, example);
    let mut counts = MaskCounts {
        tokens: example.ids.len() as u64,
        chosen: example.masked.len() as u64,
        ..Default::default()
    };
    example.labels.clear();
    for &place in &example.masked {
        let token = &mut example.ids[place as usize];
        example.labels.push(*token);
        if random.chance(MASKED) {
            *token = ids.mask;
            counts.masked += 1;
        } else if !random.chance(KEPT_OF_REST) {
            *token = random.below(ids.vocab_size.into()) as u32;
            counts.random += 1;
        }
    }
    counts
}

/// How many tokens of an example are predicted: at least one, half a token is rounded to even (as Python does).
fn budget(options: &ExampleOptions, length: usize) -> usize {
    let wanted = (options.mask_rate * length as f64).round_ties_even() as usize;
    wanted.max(1).min(options.most_predictions())
}

/// Writes the chosen places, in order, to `example.masked`.
fn choose(
    options: &ExampleOptions,
    ids: &ExampleIds,
    budget: usize,
    random: &mut Random,
    example: &mut Example,
) {
    let words = words(options, ids, example);
    let mut order: Vec<u32> = (0..words.len() as u32).collect();
    random.shuffle(&mut order);
    let mut taken = vec![false; words.len()];
    let masked = &mut example.masked;
    masked.clear();
    for &first in &order {
        let first = first as usize;
        if masked.len() == budget {
            break;
        }
        let count = if options.ngram > 1 { run_length(options.ngram, random) } else { 1 };
        let run = fitting_run(&words, &taken, first, count, budget - masked.len());
        for word in first..first + run {
            taken[word] = true;
            masked.extend(words[word].0..words[word].1);
        }
    }
    masked.sort_unstable();
}

/// The words of an example, as places from and to: tokens, or whole words. Special tokens are none.
fn words(options: &ExampleOptions, ids: &ExampleIds, example: &Example) -> Vec<(u32, u32)> {
    let mut words: Vec<(u32, u32)> = Vec::with_capacity(example.ids.len());
    let tokens = example.ids.iter().zip(&example.continues);
    for (place, (&id, &continues)) in (0..).zip(tokens) {
        if ids.is_special(id) {
            continue;
        }
        match words.last_mut() {
            Some(word) if options.whole_word && continues && word.1 == place => word.1 += 1,
            _ => words.push((place, place + 1)),
        }
    }
    words
}

/// How many words from `first` on are taken: neighbours that are free, and no more tokens than are left.
fn fitting_run(words: &[(u32, u32)], taken: &[bool], first: usize, count: usize, left: usize) -> usize {
    let mut tokens = 0;
    let mut run = 0;
    while run < count && first + run < words.len() && !taken[first + run] {
        let (from, to) = words[first + run];
        let neighbours = run == 0 || words[first + run - 1].1 == from;
        tokens += (to - from) as usize;
        if !neighbours || tokens > left {
            break;
        }
        run += 1;
    }
    run
}

/// 1 to `most`, n with a probability of 1/n over their sum (ALBERT).
fn run_length(most: u32, random: &mut Random) -> usize {
    let sum: f64 = (1..=most).map(|n| 1.0 / f64::from(n)).sum();
    let mut rest = random.unit() * sum;
    for n in 1..most {
        rest -= 1.0 / f64::from(n);
        if rest < 0.0 {
            return n as usize;
        }
    }
    most as usize
}
