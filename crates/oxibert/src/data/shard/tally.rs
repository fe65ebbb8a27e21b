//! What is counted of finished shards, for `prepared.json`.

use super::{Builder, Frequent, PREPARED_VERSION, Prepared};

/// Counts of everything that was written so far.
#[derive(Debug)]
pub(crate) struct Tally {
    documents: u64,
    one_sentence_documents: u64,
    /// How often each token occurs.
    counts: Vec<u64>,
    /// How many sentences have 2^i to 2^(i + 1) - 1 tokens.
    sentence_lengths: Vec<u64>,
}

impl Tally {
    pub(crate) fn new(vocab_size: usize) -> Self {
        Self {
            documents: 0,
            one_sentence_documents: 0,
            counts: vec![0; vocab_size],
            sentence_lengths: Vec::new(),
        }
    }

    /// Adds a shard that is complete.
    pub(crate) fn add(&mut self, shard: &Builder) {
        self.documents += shard.document_count() as u64;
        self.one_sentence_documents += shard.document_lengths().filter(|&length| length == 1).count() as u64;
        for length in shard.sentence_lengths() {
            let bucket = length.ilog2() as usize;
            if bucket >= self.sentence_lengths.len() {
                self.sentence_lengths.resize(bucket + 1, 0);
            }
            self.sentence_lengths[bucket] += 1;
        }
        shard.ids().for_each(|id| self.counts[id as usize] += 1);
    }

    /// How often a token occurred.
    pub(crate) fn count(&self, id: u32) -> u64 {
        self.counts[id as usize]
    }

    /// What is known of the shards alone. The `special` tokens are no part of the distribution.
    pub(crate) fn prepared(&self, fingerprint: u64, special: &[u32]) -> Prepared {
        let mut counts = self.counts.clone();
        special.iter().for_each(|&id| counts[id as usize] = 0);
        Prepared {
            version: PREPARED_VERSION,
            documents: self.documents,
            one_sentence_documents: self.one_sentence_documents,
            sentences: self.sentence_lengths.iter().sum(),
            tokens: self.counts.iter().sum(),
            sentence_lengths: self.sentence_lengths.clone(),
            unigram_entropy: entropy(&counts),
            most_frequent: most_frequent(&counts),
            vocab_size: self.counts.len() as u32,
            vocab_fingerprint: fingerprint,
            ..Prepared::default()
        }
    }
}

/// In nats: the loss of a model that knows how frequent each token is and nothing else.
fn entropy(counts: &[u64]) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let term = |&count: &u64| {
        let share = count as f64 / total;
        -share * share.ln()
    };
    counts.iter().filter(|&&count| count > 0).map(term).sum::<f64>().max(0.0)
}

fn most_frequent(counts: &[u64]) -> Option<Frequent> {
    let total: u64 = counts.iter().sum();
    // Of equally frequent tokens the one with the smallest id.
    let (id, &count) = counts.iter().enumerate().rev().max_by_key(|(_, count)| **count)?;
    (count > 0).then(|| Frequent { id: id as u32, share: count as f64 / total as f64 })
}
