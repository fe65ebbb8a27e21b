//! Words and their counts: an open-addressing table whose words lie in one long string.
//!
//! Looking a word up allocates nothing, and a hundred million occurrences of a hundred thousand words cost the
//! memory of a hundred thousand words.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A word's hash. The seed is fixed, so tables are built alike on every run. rustc-hash mixes strings as wyhash
/// does; its weak inputs, which cancel the seeds, are not UTF-8 and cannot occur in words.
#[inline]
pub(super) fn hash(word: &str) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(word.as_bytes());
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

/// The first bytes of a word as a number. Together with the length it stands for a word of up to eight bytes.
#[inline]
fn head(word: &[u8]) -> u64 {
    let four =
        |at: usize| u64::from(u32::from_le_bytes([word[at], word[at + 1], word[at + 2], word[at + 3]]));
    match word.len() {
        4.. => four(0) | four(word.len().min(8) - 4) << 32,
        3 => u64::from(word[0]) | u64::from(word[1]) << 8 | u64::from(word[2]) << 16,
        2 => u64::from(word[0]) | u64::from(word[1]) << 8,
        1 => u64::from(word[0]),
        0 => 0,
    }
}

#[derive(Clone, Copy)]
struct Entry {
    count: u64,
    /// The [`head`] of the word: most words are compared without looking at their bytes.
    head: u64,
    start: usize,
    length: u32,
    hash: u32,
}

/// A table of distinct words with counts.
pub(super) struct WordTable {
    /// 0 = empty, else `hash << 32 | entry + 1`: most probes are decided without leaving this array.
    slots: Vec<u64>,
    entries: Vec<Entry>,
    words: String,
}

impl WordTable {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; 1 << 10], entries: Vec::new(), words: String::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets the words and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
        self.entries.clear();
        self.words.clear();
    }

    /// Adds `n` occurrences of a word with the given [`hash`].
    #[inline]
    pub(super) fn add(&mut self, word: &str, hash: u32, n: u64) {
        let head = head(word.as_bytes());
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return self.insert(at, word, hash, n);
            }
            if (slot >> 32) as u32 == hash {
                let entry = &mut self.entries[slot as u32 as usize - 1];
                let same = entry.head == head && entry.length as usize == word.len();
                if same && (word.len() <= 8 || self.words[entry.start..].starts_with(word)) {
                    entry.count += n;
                    return;
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, at: usize, word: &str, hash: u32, n: u64) {
        let (start, length) = (self.words.len(), word.len() as u32);
        let entry = Entry { count: n, head: head(word.as_bytes()), start, length, hash };
        self.words.push_str(word);
        self.entries.push(entry);
        self.slots[at] = u64::from(hash) << 32 | self.entries.len() as u64;
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        for (i, entry) in self.entries.iter().enumerate() {
            let mut at = entry.hash as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = u64::from(entry.hash) << 32 | (i + 1) as u64;
        }
        self.slots = slots;
    }

    /// All words with hash and count, in the order in which they were first added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u32, u64)> {
        self.entries.iter().map(|e| (&self.words[e.start..e.start + e.length as usize], e.hash, e.count))
    }

    /// Adds those of the other's words that belong to shard `shard` of `shards`, by the upper bits of the hash
    /// (the lower ones choose the slot).
    pub(super) fn add_shard(&mut self, other: &Self, shard: usize, shards: usize) {
        for (word, hash, count) in other.iter() {
            if (u64::from(hash) * shards as u64) >> 32 == shard as u64 {
                self.add(word, hash, count);
            }
        }
    }

    /// Keeps the words that occur more than `floor` times, in a table of fitting size; tells of the others.
    pub(super) fn prune(&mut self, floor: u64, mut dropped: impl FnMut(&str, u64)) {
        let mut kept = Self::new();
        for (word, hash, count) in self.iter() {
            if count > floor {
                kept.add(word, hash, count);
            } else {
                dropped(word, count);
            }
        }
        *self = kept;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn content(table: &WordTable) -> BTreeMap<String, u64> {
        table.iter().map(|(word, _, count)| (word.to_owned(), count)).collect()
    }

    proptest! {
        #[test]
        fn counts_as_a_map_does(words in prop::collection::vec("[ab]{1,12}", 0..2000), shards in 1usize..5) {
            let mut want = BTreeMap::new();
            let mut table = WordTable::new();
            for word in &words {
                *want.entry(word.clone()).or_insert(0) += 1;
                table.add(word, hash(word), 1);
            }
            prop_assert_eq!(&content(&table), &want);

            let mut together = BTreeMap::new();
            for shard in 0..shards {
                let mut part = WordTable::new();
                part.add_shard(&table, shard, shards);
                part.add_shard(&table, shard, shards);
                together.extend(content(&part));
            }
            want.values_mut().for_each(|count| *count *= 2);
            prop_assert_eq!(&together, &want);
        }
    }

    #[test]
    fn pruning_keeps_the_frequent_and_names_the_rest() {
        let mut table = WordTable::new();
        for i in 0..5000u64 {
            let word = format!("w{i}");
            table.add(&word, hash(&word), i % 3);
        }
        let mut dropped = 0;
        table.prune(1, |_, count| dropped += 1 + 10_000 * u64::from(count > 1));
        assert_eq!((table.len() as u64 + dropped, dropped), (5000, 3334));
        table.add("w2", hash("w2"), 5);
        assert_eq!(content(&table)["w2"], 7);
    }

    #[test]
    fn numbered_words_do_not_collide() {
        // Where hashing is weak, words that differ in a few bits share slots and lookups become walks.
        let hashes: std::collections::HashSet<_> =
            (0..100_000).map(|i| hash(&format!("{i:032b}")) & 0xfffff).collect();
        assert!(hashes.len() > 94_000, "{}", hashes.len()); // a perfect hash gives about 95 300
    }
}
