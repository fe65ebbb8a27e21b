//! A batch without padding: all tokens one after the other, and where each sequence begins.

use std::ops::Range;

use crate::text::Encoding;
use crate::{Error, Result};

/// Several sequences, flat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Token ids, `[N]`.
    pub ids: Vec<u32>,
    /// Segment ids, `[N]`.
    pub segments: Vec<u32>,
    /// Positions within the sequence, `[N]`.
    pub positions: Vec<u32>,
    /// Where each sequence begins, and at last the end, `[B + 1]`.
    pub offsets: Vec<usize>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self { offsets: vec![0], ..Self::default() }
    }

    /// A batch of these encodings.
    pub fn of<'e>(encodings: impl IntoIterator<Item = &'e Encoding>) -> Self {
        let mut batch = Self::new();
        encodings.into_iter().for_each(|encoding| batch.push(&encoding.ids, &encoding.segments));
        batch
    }

    /// Appends a sequence.
    pub fn push(&mut self, ids: &[u32], segments: &[u8]) {
        assert_eq!(ids.len(), segments.len(), "a segment for every token");
        self.ids.extend_from_slice(ids);
        self.segments.extend(segments.iter().map(|&segment| u32::from(segment)));
        self.positions.extend(0..ids.len() as u32);
        self.offsets.push(self.ids.len());
    }

    /// Appends a sequence of one segment.
    pub fn push_ids(&mut self, ids: &[u32]) {
        self.ids.extend_from_slice(ids);
        self.segments.resize(self.ids.len(), 0);
        self.positions.extend(0..ids.len() as u32);
        self.offsets.push(self.ids.len());
    }

    /// Removes all sequences and keeps the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.segments.clear();
        self.positions.clear();
        self.offsets.clear();
        self.offsets.push(0);
    }

    /// Makes `part` the sequences of these numbers.
    pub(crate) fn copy_part(&self, sequences: Range<usize>, part: &mut Self) {
        let tokens = self.offsets[sequences.start]..self.offsets[sequences.end];
        part.clear();
        part.ids.extend_from_slice(&self.ids[tokens.clone()]);
        part.segments.extend_from_slice(&self.segments[tokens.clone()]);
        part.positions.extend_from_slice(&self.positions[tokens.clone()]);
        let ends = &self.offsets[sequences.start + 1..=sequences.end];
        part.offsets.extend(ends.iter().map(|end| end - tokens.start));
    }

    /// The number of sequences, B.
    pub fn sequences(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of tokens, N.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// Refuses ids beyond a vocabulary.
    pub(crate) fn check_ids(&self, tokens: usize) -> Result<()> {
        match self.ids.iter().find(|&&id| id as usize >= tokens) {
            None => Ok(()),
            Some(id) => {
                let problem =
                    format!("token id {id}, but the model has {tokens} tokens; is this its own vocabulary?");
                Err(Error::setting("batch", problem))
            }
        }
    }

    /// Refuses sequences that are empty, or longer than a model has positions for; then `way_out` says what helps.
    pub(crate) fn check_lengths(&self, positions: usize, way_out: &str) -> Result<()> {
        if self.positions.iter().any(|&position| position as usize >= positions) {
            let problem = format!(
                "a sequence of more than {positions} tokens, but the model has {positions} positions; {way_out}"
            );
            return Err(Error::setting("batch", problem));
        }
        match self.offsets.windows(2).position(|ends| ends[0] == ends[1]) {
            Some(number) => Err(Error::setting("batch", format!("sequence {number} has no tokens"))),
            None => Ok(()),
        }
    }

    /// The first token of every sequence.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = u32> {
        self.offsets[..self.sequences()].iter().map(|&offset| offset as u32)
    }
}

/// What a model shall have said about a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// The masked tokens' places in the batch, `[M]`.
    pub masked: Vec<u32>,
    /// The tokens that stood there, `[M]`.
    pub labels: Vec<u32>,
    /// For each sequence, 0 if its second text followed the first, 1 if not, `[B]`; empty without next-sentence
    /// prediction.
    pub next: Vec<u32>,
}

impl Targets {
    /// Removes all and keeps the memory.
    pub fn clear(&mut self) {
        self.masked.clear();
        self.labels.clear();
        self.next.clear();
    }
}

/// Cuts `items` into runs whose costs stay within `budget` together, but of one item at least.
pub(crate) fn by_budget<T>(
    items: &[T],
    budget: usize,
    cost: impl Fn(&T) -> usize,
) -> impl Iterator<Item = &[T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let mut total = 0;
        let fits = |item: &&T| {
            total += cost(item);
            total <= budget
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let run;
        (run, rest) = rest.split_at(count);
        (!run.is_empty()).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_lie_one_after_the_other() {
        let mut batch = Batch::new();
        batch.push(&[2, 7, 3], &[0, 0, 0]);
        batch.push(&[2, 3], &[0, 1]);
        assert_eq!((batch.sequences(), batch.tokens()), (2, 5));
        assert_eq!((&batch.offsets[..], &batch.positions[..]), (&[0, 3, 5][..], &[0, 1, 2, 0, 1][..]));
        assert_eq!(batch.firsts().collect::<Vec<_>>(), [0, 3]);
        let mut part = Batch::default();
        batch.copy_part(1..2, &mut part);
        let mut alone = Batch::new();
        alone.push(&[2, 3], &[0, 1]);
        assert_eq!(part, alone);
        let (mut one, mut other) = (Batch::new(), Batch::new());
        one.push(&[2, 3], &[0, 0]);
        other.push_ids(&[2, 3]);
        assert_eq!(one, other);
    }

    #[test]
    fn runs_stay_within_the_budget() {
        let runs =
            |items: &[usize]| by_budget(items, 10, |&cost| cost).map(<[_]>::to_vec).collect::<Vec<_>>();
        assert_eq!(runs(&[4, 6, 1, 20, 3, 3]), [vec![4, 6], vec![1], vec![20], vec![3, 3]]);
        assert!(runs(&[]).is_empty());
    }
}
