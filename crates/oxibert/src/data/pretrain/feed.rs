//! Batches for a training run, one after the other, from any position on.

use serde::{Deserialize, Serialize};

use super::{Epoch, Example, Examples, MaskCounts};
use crate::data::{Batch, Targets};

/// How much goes into a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    /// So many examples.
    Sequences(usize),
    /// As many examples as have so many tokens together; one at least.
    Tokens(usize),
}

/// Where in the data a run stands: the next example.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// How often all data have been seen.
    pub epoch: u64,
    /// The example in this epoch.
    pub index: usize,
}

/// Examples in batches, epoch after epoch.
#[derive(Debug)]
pub struct Feed<'s> {
    examples: Examples<'s>,
    epoch: Epoch,
    position: Position,
    example: Example,
    counts: MaskCounts,
}

impl<'s> Feed<'s> {
    /// Goes on from `position`.
    pub fn new(examples: Examples<'s>, position: Position) -> Self {
        let epoch = examples.epoch(position.epoch);
        Self { examples, epoch, position, example: Example::default(), counts: MaskCounts::default() }
    }

    /// The next example's place.
    pub fn position(&self) -> Position {
        self.position
    }

    /// How many examples the current epoch has.
    pub fn epoch_length(&self) -> usize {
        self.epoch.len()
    }

    /// How often the data have been seen, as a fraction.
    pub fn epochs(&self) -> f64 {
        self.position.epoch as f64 + self.position.index as f64 / self.epoch.len().max(1) as f64
    }

    /// What was masked since this feed began.
    pub fn counts(&self) -> MaskCounts {
        self.counts
    }

    /// Fills the next batch. An epoch that ends within it is followed by the next.
    ///
    /// # Panics
    /// If there are no examples at all.
    pub fn next(&mut self, size: BatchSize, batch: &mut Batch, targets: &mut Targets) {
        batch.clear();
        targets.clear();
        loop {
            self.turn_page();
            let counts = self.examples.make(&self.epoch, self.position.index, &mut self.example);
            let tokens = batch.tokens() + self.example.ids.len();
            if matches!(size, BatchSize::Tokens(most) if tokens > most && batch.sequences() > 0) {
                return;
            }
            self.counts.merge(counts);
            self.append(batch, targets);
            self.position.index += 1;
            if matches!(size, BatchSize::Sequences(most) if batch.sequences() >= most) {
                return;
            }
        }
    }

    fn turn_page(&mut self) {
        if self.position.index < self.epoch.len() {
            return;
        }
        self.position = Position { epoch: self.position.epoch + 1, index: 0 };
        self.epoch = self.examples.epoch(self.position.epoch);
        assert!(self.epoch.len() > 0, "an epoch without examples");
    }

    fn append(&self, batch: &mut Batch, targets: &mut Targets) {
        let Example { ids, segments, masked, labels, next, .. } = &self.example;
        let start = batch.tokens() as u32;
        batch.push(ids, segments);
        targets.masked.extend(masked.iter().map(|place| start + place));
        targets.labels.extend_from_slice(labels);
        targets.next.extend(*next);
    }
}
