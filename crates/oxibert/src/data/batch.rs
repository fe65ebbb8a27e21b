//! A batch without padding: all tokens one after the other, and where each sequence begins.

use crate::model::Config;
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

    /// Removes all sequences and keeps the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.segments.clear();
        self.positions.clear();
        self.offsets.clear();
        self.offsets.push(0);
    }

    /// The number of sequences, B.
    pub fn sequences(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of tokens, N.
    pub fn tokens(&self) -> usize {
        self.ids.len()
    }

    /// The first token of every sequence.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = u32> {
        self.offsets[..self.sequences()].iter().map(|&offset| offset as u32)
    }

    /// Refuses what the model cannot take: ids, segments or positions beyond its tables, empty sequences.
    pub fn check(&self, config: &Config) -> Result<()> {
        let beyond =
            |values: &[u32], limit: usize| values.iter().copied().find(|&value| value as usize >= limit);
        let refuse = |problem: String| Err(Error::setting("batch", problem));
        if let Some(id) = beyond(&self.ids, config.vocab_size) {
            return refuse(format!(
                "token id {id}, but the model has {} tokens; is this its own vocabulary?",
                config.vocab_size
            ));
        }
        if let Some(segment) = beyond(&self.segments, config.type_vocab_size) {
            return refuse(format!(
                "segment {segment}, but the model has {} segment(s); `oxibert convert --segments` widens it",
                config.type_vocab_size
            ));
        }
        if let Some(position) = beyond(&self.positions, config.max_position_embeddings) {
            return refuse(format!(
                "a sequence of more than {position} tokens, but the model has {} positions; cut it or widen the model \
                 with `oxibert convert --positions`",
                config.max_position_embeddings
            ));
        }
        match self.offsets.windows(2).position(|ends| ends[0] == ends[1]) {
            Some(number) => refuse(format!("sequence {number} has no tokens")),
            None => Ok(()),
        }
    }
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
    }

    #[test]
    fn what_the_model_lacks_is_refused() {
        let config = Config { max_position_embeddings: 3, ..Config::preset("tiny", 10).unwrap() };
        let refusal = |ids: &[u32], segment: u8| {
            let mut batch = Batch::new();
            batch.push(ids, &vec![segment; ids.len()]);
            batch.check(&config).unwrap_err().to_string()
        };
        assert!(refusal(&[10], 0).contains("token id 10"));
        assert!(refusal(&[1], 2).contains("segment 2"));
        assert!(refusal(&[1, 1, 1, 1], 0).contains("3 positions"));
        assert!(refusal(&[], 0).contains("no tokens"));
    }
}
