//! Documents into chunks: which sentences make an example, and where the first text ends.

use rayon::prelude::*;

use super::{ExampleOptions, Objective};
use crate::data::shard::{Document, Shards};
use crate::random::Random;

/// The sentences of one example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) document: u32,
    /// Its first sentence.
    pub(super) first: u32,
    /// So many sentences are the first text.
    pub(super) a: u32,
    /// So many that follow are the second; none where it comes from another document (or there is none).
    pub(super) b: u32,
    /// How many tokens the example shall have, without special ones.
    pub(super) target: u32,
}

/// The chunks of all documents, one document after the other.
pub(super) fn of_all(shards: &Shards, documents: &[u32], options: &ExampleOptions, seed: u64) -> Vec<Chunk> {
    let of_one = |&number: &u32| {
        let random = Random::new(seed, "pretraining chunks", number.into());
        let mut cutter = Cutter::new(shards.document(number as usize), number, options, random);
        cutter.cut();
        cutter.chunks
    };
    documents.par_iter().with_min_len(64).flat_map_iter(of_one).collect()
}

struct Cutter<'s> {
    document: Document<'s>,
    number: u32,
    objective: Objective,
    target: usize,
    random: Random,
    chunks: Vec<Chunk>,
}

impl<'s> Cutter<'s> {
    fn new(document: Document<'s>, number: u32, options: &ExampleOptions, mut random: Random) -> Self {
        let room = options.room();
        // Drawn once per document, as in Google's code.
        let short = random.chance(options.short_probability);
        let target = if short { random.between(2, room as u32) as usize } else { room };
        Self { document, number, objective: options.objective, target, random, chunks: Vec::new() }
    }

    fn cut(&mut self) {
        let mut first = 0;
        while first < self.document.sentences() {
            let count = self.count(first);
            first += match self.objective {
                Objective::Mlm => self.single(first, count),
                Objective::MlmNsp => self.next_sentence(first, count),
                Objective::Sop => self.sentence_order(first, count),
            };
        }
    }

    /// How many sentences from `first` on reach the target. Pairs go beyond it and are cut (Google's way); a single text
    /// stops before, unless its first sentence alone is too long.
    fn count(&self, first: usize) -> usize {
        let (mut count, mut tokens) = (0, 0);
        while first + count < self.document.sentences() && tokens < self.target {
            tokens += self.document.length(first + count);
            count += 1;
        }
        if self.objective == Objective::Mlm && tokens > self.target && count > 1 { count - 1 } else { count }
    }

    fn push(&mut self, first: usize, a: usize, b: usize) {
        let [first, a, b, target] = [first, a, b, self.target].map(|n| n as u32);
        self.chunks.push(Chunk { document: self.number, first, a, b, target });
    }

    /// Each of these returns how many sentences were used up.
    fn single(&mut self, first: usize, count: usize) -> usize {
        self.push(first, count, 0);
        count
    }

    /// The second text is another document's with p = 0.5, and the sentences that it replaces are used again.
    fn next_sentence(&mut self, first: usize, count: usize) -> usize {
        let a = self.split(count);
        let random = count == 1 || self.random.chance(0.5);
        self.push(first, a, if random { 0 } else { count - a });
        if random { a } else { count }
    }

    /// A single sentence has no order: it is left out.
    fn sentence_order(&mut self, first: usize, count: usize) -> usize {
        if count > 1 {
            let a = self.split(count);
            self.push(first, a, count - a);
        }
        count
    }

    fn split(&mut self, count: usize) -> usize {
        if count < 2 { 1 } else { self.random.between(1, count as u32 - 1) as usize }
    }
}
