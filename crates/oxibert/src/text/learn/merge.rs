//! The second half of learning: again and again, the most frequent pair of neighbours becomes one token.
//!
//! The count of a pair is the number of places where its two symbols stand side by side, each times the count of its
//! word; places may overlap (`aaa` holds `a a` twice). A merge replaces them from left to right (`aaa` becomes
//! `aa a`). After it every count is what counting anew would give; the tests do count anew.
//!
//! Nothing is counted anew here: a merge visits the places of its pair, and changes the counts of the pairs beside
//! them. The heap is lazy: an entry whose count has fallen since is put back when it is met.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::alphabet::Tokens;
use crate::progress::Progress;

/// A slot from here on holds no symbol. Two of them follow each word: the halves of its count, 31 bits each.
const END: u32 = 1 << 31;

/// What lies between the ends of a symbol.
const INSIDE: u32 = u32::MAX;

/// All words in one vector, a slot per character, so that a merge moves nothing and a place keeps its number.
///
/// A symbol stands in the first and in the last of its slots. With the lengths of symbols known, both neighbours of
/// a place are therefore found without links, in the cache line that is already there.
pub(super) struct Words {
    slots: Vec<u32>,
}

impl Words {
    pub(super) fn new() -> Self {
        // The first word, too, has a slot before it.
        Self { slots: vec![END] }
    }

    /// Adds a word whose symbols (one per character) `spell` appends, unless `spell` refuses.
    pub(super) fn push(&mut self, count: u64, spell: impl FnOnce(&mut Vec<u32>) -> bool) -> bool {
        let start = self.slots.len();
        let spelled = spell(&mut self.slots);
        if self.slots.len() - start > 1 {
            self.slots.extend([END | (count >> 31) as u32, END | count as u32]);
        } else {
            // A single symbol has no neighbour to merge with.
            self.slots.truncate(start);
        }
        spelled
    }

    /// The count of the word whose symbols end before `end`.
    fn count(&self, end: usize) -> u64 {
        u64::from(self.slots[end] & !END) << 31 | u64::from(self.slots[end + 1] & !END)
    }
}

/// Two symbols as one number; the smaller number is the smaller pair.
fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// A pair of neighbours: its count, and a list of the places where it stands (or stood: lists are not cleaned up).
struct Pair {
    count: u64,
    /// Where its list lies in [`Merger::lists`].
    first: usize,
    listed: u32,
    /// How many places the current merge adds to the list.
    coming: u32,
}

/// The state between merges.
struct Merger {
    words: Words,
    /// The slots that a symbol takes.
    lengths: Vec<u32>,
    ids: FxHashMap<u64, u32>,
    pairs: Vec<Pair>,
    /// The lists of all pairs. Almost always a pair gets all its places from one merge, so a list is one piece.
    lists: Vec<u32>,
    /// (count when pushed, pair, its index): the greatest count first, then the smaller pair.
    heap: BinaryHeap<(u64, Reverse<u64>, u32)>,
    min_frequency: u64,
    /// The pairs that the current merge makes, and their places.
    gained: Vec<(u64, u32)>,
    added: Vec<(u32, u32)>,
}

/// Merges until there are `size` tokens or no pair is frequent enough.
pub(super) fn merge(
    words: Words,
    tokens: &mut Tokens,
    size: usize,
    min_frequency: u64,
    progress: &dyn Progress,
) {
    // All symbols so far are single characters.
    let lengths = vec![1; tokens.list.len()];
    let mut merger = Merger::new(words, lengths, min_frequency);
    while tokens.list.len() < size {
        let Some((pair, index)) = merger.best() else { break };
        let (left, right) = ((pair >> 32) as u32, pair as u32);
        let Some(token) = tokens.merged(left, right) else { continue };
        let before = tokens.list.len();
        // `ab c` and `a bc` make the same token: the second merge adds none, but it is done.
        let merged = tokens.intern(token);
        merger.apply(left, right, index, merged);
        progress.advance((tokens.list.len() - before) as u64);
    }
}

impl Merger {
    fn new(words: Words, lengths: Vec<u32>, min_frequency: u64) -> Self {
        let mut merger = Self {
            words: Words::new(),
            lengths,
            ids: FxHashMap::default(),
            pairs: Vec::new(),
            lists: Vec::new(),
            heap: BinaryHeap::new(),
            min_frequency,
            gained: Vec::new(),
            added: Vec::new(),
        };
        let mut start = 1;
        while let Some(length) = words.slots[start..].iter().position(|&slot| slot >= END) {
            let end = start + length;
            let count = words.count(end);
            for at in start..end - 1 {
                merger.gain(key(words.slots[at], words.slots[at + 1]), at, count);
            }
            start = end + 2;
        }
        merger.words = words;
        merger.settle();
        merger
    }

    /// The most frequent pair.
    fn best(&mut self) -> Option<(u64, u32)> {
        while let Some((count, Reverse(pair), index)) = self.heap.pop() {
            if self.pairs[index as usize].count == count {
                return Some((pair, index));
            }
            self.offer(pair, index);
        }
        None
    }

    fn offer(&mut self, pair: u64, index: u32) {
        let count = self.pairs[index as usize].count;
        if count >= self.min_frequency {
            self.heap.push((count, Reverse(pair), index));
        }
    }

    /// Replaces the pair by `merged` wherever it stands.
    fn apply(&mut self, left: u32, right: u32, index: u32, merged: u32) {
        let (first, second) = (self.lengths[left as usize], self.lengths[right as usize]);
        let known = self.lengths.len().max(merged as usize + 1);
        self.lengths.resize(known, 0);
        self.lengths[merged as usize] = first + second;
        let pair = &self.pairs[index as usize];
        let mut gone = 0;
        for i in pair.first..pair.first + pair.listed as usize {
            let at = self.lists[i] as usize;
            // A symbol only ever grows: where `left` no longer begins, it is part of something longer.
            if self.words.slots[at] == left && self.words.slots[at + first as usize] == right {
                gone += self.merge_at(at, (left, right), merged);
            }
        }
        // Every place was merged, or overlapped one that was and was counted down there.
        let pair = &mut self.pairs[index as usize];
        pair.count -= gone;
        pair.listed = 0;
        debug_assert_eq!(pair.count, 0);
        self.settle();
    }

    /// Merges one place; returns the count of its word.
    fn merge_at(&mut self, at: usize, (left, right): (u32, u32), merged: u32) -> u64 {
        let middle = at + self.lengths[left as usize] as usize;
        let end = middle + self.lengths[right as usize] as usize;
        let count = self.count_after(end);
        let (before, after) = (self.words.slots[at - 1], self.words.slots[end]);
        if before < END {
            self.lose(key(before, left), count);
            self.gain(key(before, merged), at - self.lengths[before as usize] as usize, count);
        }
        if after < END {
            self.lose(key(right, after), count);
            self.gain(key(merged, after), at, count);
        }
        let slots = &mut self.words.slots;
        (slots[middle - 1], slots[middle]) = (INSIDE, INSIDE);
        (slots[at], slots[end - 1]) = (merged, merged);
        count
    }

    /// The count of the word in which a symbol begins, or which ends, at `at`.
    fn count_after(&self, mut at: usize) -> u64 {
        while self.words.slots[at] < END {
            at += self.lengths[self.words.slots[at] as usize] as usize;
        }
        self.words.count(at)
    }

    fn lose(&mut self, pair: u64, count: u64) {
        let index = self.ids[&pair];
        self.pairs[index as usize].count -= count;
    }

    fn gain(&mut self, key: u64, at: usize, count: u64) {
        let index = *self.ids.entry(key).or_insert_with(|| {
            self.pairs.push(Pair { count: 0, first: 0, listed: 0, coming: 0 });
            (self.pairs.len() - 1) as u32
        });
        let pair = &mut self.pairs[index as usize];
        pair.count += count;
        if pair.coming == 0 {
            self.gained.push((key, index));
        }
        pair.coming += 1;
        self.added.push((index, at as u32));
    }

    /// Ends a merge: writes the lists of the pairs it made, and offers those pairs to the heap.
    fn settle(&mut self) {
        for &(_, index) in &self.gained {
            let pair = &mut self.pairs[index as usize];
            let first = self.lists.len();
            self.lists.extend_from_within(pair.first..pair.first + pair.listed as usize);
            self.lists.resize(self.lists.len() + pair.coming as usize, 0);
            pair.first = first;
        }
        for (index, at) in self.added.drain(..) {
            let pair = &mut self.pairs[index as usize];
            self.lists[pair.first + pair.listed as usize] = at;
            pair.listed += 1;
        }
        for (key, index) in std::mem::take(&mut self.gained) {
            let pair = &mut self.pairs[index as usize];
            if std::mem::take(&mut pair.coming) < pair.listed {
                // Places of two merges; what overlaps must still be met from left to right.
                self.lists[pair.first..pair.first + pair.listed as usize].sort_unstable();
            }
            self.offer(key, index);
        }
    }
}
