//! What goes through the model in one step: random token ids, or those of a file that other programs read too.
//!
//! A list of sequences is batched as `embed` does it: the longest first, as many as a budget of tokens has room for.
//! Batches of a file stay as they are. All of them together are one step of `bench`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use oxibert::data::Batch;
use oxibert::model::{Config, Targets};
use oxibert::random::Random;
use serde::Deserialize;

use super::SEED;

/// Tokens of a batch of `embed`.
const BATCH_TOKENS: usize = 4096;
/// Masked tokens of a sequence: the paper's share, and the most that Google's code takes.
const MASKED_SHARE: f64 = 0.15;
const MOST_MASKED: usize = 20;

/// The batches of a step.
pub(super) struct Workload {
    pub(super) batches: Vec<Batch>,
    /// For each batch, what the model shall have said.
    pub(super) targets: Vec<Targets>,
    /// For each sequence of the batches, its number in the file.
    pub(super) numbers: Vec<usize>,
}

/// `{"batches": [...]}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchesFile {
    batches: Vec<FileBatch>,
}

/// Sequences; for training, which places of each are predicted, the tokens that stood there, and each sequence's class.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBatch {
    ids: Vec<Vec<u32>>,
    #[serde(default)]
    masked: Vec<Vec<u32>>,
    #[serde(default)]
    labels: Vec<Vec<u32>>,
    #[serde(default)]
    next: Vec<u32>,
}

impl Workload {
    /// One batch of random ids.
    pub(super) fn random(config: &Config, sequences: usize, length: usize) -> Result<Self> {
        let mut random = Random::new(SEED, "bench tokens", 0);
        let mut draw = || random.below(config.vocab_size as u64) as u32;
        let ids: Vec<Vec<u32>> = (0..sequences).map(|_| (0..length).map(|_| draw()).collect()).collect();
        let batch = batch_of(&ids, 0..sequences);
        config.check_batch(&batch)?;
        let targets = vec![random_targets(config, &batch)];
        Ok(Self { batches: vec![batch], targets, numbers: (0..sequences).collect() })
    }

    /// What a file says: a list of sequences (for training they are one batch with random targets), or batches.
    pub(super) fn load(path: &Path, config: &Config, train: bool) -> Result<Self> {
        let place = || format!("--ids {}", path.display());
        let text = fs::read_to_string(path).with_context(place)?;
        let form = "expected [[101, 7592, 102], ...] or {\"batches\": [{\"ids\": [[...]], ...}, ...]}";
        let workload = if text.trim_start().starts_with('[') {
            let ids = serde_json::from_str(&text).context(form).with_context(place)?;
            Self::of_sequences(ids, config, train)
        } else {
            let file: BatchesFile = serde_json::from_str(&text).context(form).with_context(place)?;
            Self::of_batches(file, config, train)
        };
        workload.with_context(place)
    }

    fn of_sequences(ids: Vec<Vec<u32>>, config: &Config, train: bool) -> Result<Self> {
        ensure!(!ids.is_empty(), "no sequence in it; expected one at least");
        let mut numbers: Vec<usize> = (0..ids.len()).collect();
        let budget = if train { usize::MAX } else { BATCH_TOKENS };
        if !train {
            numbers.sort_by_key(|&number| std::cmp::Reverse(ids[number].len()));
        }
        let batches: Vec<Batch> = within(budget, &ids, &numbers)
            .into_iter()
            .map(|numbers| batch_of(&ids, numbers.iter().copied()))
            .collect();
        batches.iter().try_for_each(|batch| config.check_batch(batch))?;
        let targets = batches.iter().map(|batch| random_targets(config, batch)).collect();
        Ok(Self { batches, targets, numbers })
    }

    fn of_batches(file: BatchesFile, config: &Config, train: bool) -> Result<Self> {
        let mut workload = Self { batches: Vec::new(), targets: Vec::new(), numbers: Vec::new() };
        for (number, given) in file.batches.iter().enumerate() {
            let place = || format!("batch {number}");
            let batch = batch_of(&given.ids, 0..given.ids.len());
            config.check_batch(&batch).with_context(place)?;
            let targets = given.targets(config, &batch).with_context(place)?;
            let nothing = targets.masked.is_empty() && targets.next.is_empty();
            ensure!(
                !(train && nothing),
                "batch {number}: --train needs \"masked\" and \"labels\", or \"next\""
            );
            workload.batches.push(batch);
            workload.targets.push(targets);
        }
        workload.numbers = (0..workload.sequences()).collect();
        ensure!(workload.sequences() > 0, "no sequence in it; expected one at least");
        Ok(workload)
    }

    pub(super) fn sequences(&self) -> usize {
        self.batches.iter().map(Batch::sequences).sum()
    }

    pub(super) fn tokens(&self) -> usize {
        self.batches.iter().map(Batch::tokens).sum()
    }

    /// The batch with the most tokens.
    pub(super) fn largest(&self) -> usize {
        (0..self.batches.len()).max_by_key(|&number| self.batches[number].tokens()).unwrap_or(0)
    }

    /// The matrix products of the blocks. What padding would add does not count.
    pub(super) fn forward_flops(&self, config: &Config) -> u64 {
        let lengths =
            self.batches.iter().flat_map(|batch| batch.offsets.windows(2)).map(|ends| ends[1] - ends[0]);
        lengths.map(|length| config.flops_per_token(length) * length as u64).sum()
    }

    /// Backward takes twice as many as forward, of the head of predicted tokens too. What the last block need not do for
    /// rows that no head reads does not count.
    pub(super) fn training_flops(&self, config: &Config) -> u64 {
        let of = |(batch, targets)| config.flops_of_pretraining(batch, targets);
        3 * self.batches.iter().zip(&self.targets).map(of).sum::<u64>()
    }
}

impl FileBatch {
    fn targets(&self, config: &Config, batch: &Batch) -> Result<Targets> {
        let (sequences, classes) = (self.ids.len(), 2);
        for (name, found) in
            [("masked", self.masked.len()), ("labels", self.labels.len()), ("next", self.next.len())]
        {
            ensure!(
                found == 0 || found == sequences,
                "{name}: {found} entries, expected one for each of {sequences} sequences"
            );
        }
        let mut targets = Targets { next: self.next.clone(), ..Targets::default() };
        if let Some(class) = targets.next.iter().find(|&&class| class >= classes) {
            anyhow::bail!("next: {class}, expected 0 or 1");
        }
        ensure!(self.masked.len() == self.labels.len(), "expected \"masked\" and \"labels\" together");
        for ((masked, labels), ends) in self.masked.iter().zip(&self.labels).zip(batch.offsets.windows(2)) {
            ensure!(masked.len() == labels.len(), "expected a label for every masked place");
            let inside = |&place: &u32| (place as usize) < ends[1] - ends[0];
            ensure!(masked.iter().all(inside), "masked: a place behind its sequence's end");
            targets.masked.extend(masked.iter().map(|place| ends[0] as u32 + place));
            targets.labels.extend(labels);
        }
        if let Some(label) = targets.labels.iter().find(|&&label| label as usize >= config.vocab_size) {
            anyhow::bail!("labels: token id {label}, but the model has {} tokens", config.vocab_size);
        }
        Ok(targets)
    }
}

fn batch_of(ids: &[Vec<u32>], numbers: impl Iterator<Item = usize>) -> Batch {
    let mut batch = Batch::new();
    numbers.for_each(|number| batch.push(&ids[number], &vec![0; ids[number].len()]));
    batch
}

/// As many sequences at a time as the budget has room for, but at least one.
fn within<'n>(budget: usize, ids: &[Vec<u32>], mut rest: &'n [usize]) -> Vec<&'n [usize]> {
    let mut batches = Vec::new();
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = |number: &&usize| {
            tokens += ids[**number].len();
            tokens <= budget
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (batch, behind) = rest.split_at(count);
        batches.push(batch);
        rest = behind;
    }
    batches
}

fn random_targets(config: &Config, batch: &Batch) -> Targets {
    let mut random = Random::new(SEED, "bench targets", 0);
    let mut targets = Targets::default();
    for ends in batch.offsets.windows(2) {
        let length = ends[1] - ends[0];
        let masked = ((length as f64 * MASKED_SHARE).round() as usize).clamp(1, MOST_MASKED);
        let mut places: Vec<u32> = (ends[0] as u32..ends[1] as u32).collect();
        random.shuffle(&mut places);
        places.truncate(masked);
        places.sort_unstable();
        targets.masked.extend(places);
        targets.next.push(random.below(2) as u32);
    }
    targets.labels = targets.masked.iter().map(|_| random.below(config.vocab_size as u64) as u32).collect();
    targets
}

#[cfg(test)]
mod tests;
