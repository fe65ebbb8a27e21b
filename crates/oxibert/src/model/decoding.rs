//! Token by token: the caches of a decoder, and who came from whom.
//!
//! Every token that was ever computed is a row of the caches and stays where it is. A new token names the row of the token
//! before it, and sees the rows on the way back to its sequence's first token. Hypotheses that share a past share its rows,
//! and those that are given up leave theirs behind; nothing is copied.

use super::tower::{Activations, Tower};
use crate::data::Batch;
use crate::nn::Numbers;
use crate::nn::attention::Seen;

/// A token that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// The sequence of the memory that it looks at.
    pub(crate) sequence: usize,
    /// The row of the token before it; absent at a beginning.
    pub(crate) parent: Option<u32>,
    pub(crate) token: u32,
}

/// Sequences under way. Its memory serves one batch after the other.
#[derive(Debug, Default)]
pub(crate) struct Decoding {
    caches: Vec<Vec<f32>>,
    /// Where the sequences of the memory begin.
    memory: Vec<usize>,
    /// Of every row.
    parents: Vec<Option<u32>>,
    /// Of every row: how many come before it.
    positions: Vec<u32>,
    batch: Batch,
    ends: Vec<usize>,
    rows: Vec<u32>,
    queries: Vec<usize>,
}

impl Decoding {
    /// Forgets all sequences; new ones look at a memory [M, H] whose sequences begin at `offsets`. Both are empty where the tower has no
    /// attention over one.
    pub(crate) fn begin<N: Numbers + ?Sized>(
        &mut self,
        tower: &Tower,
        numbers: &N,
        memory: &[f32],
        offsets: &[usize],
    ) {
        tower.clear_caches(numbers, memory, &mut self.caches);
        self.memory.clear();
        self.memory.extend_from_slice(offsets);
        self.parents.clear();
        self.positions.clear();
    }

    /// The row that the next new token will have.
    pub(crate) fn rows(&self) -> u32 {
        self.parents.len() as u32
    }

    /// Computes new tokens, whose sequences must not decrease: their hidden vectors [R, H]. A parent may be among them if it
    /// comes first.
    pub(crate) fn step<'a, N: Numbers + ?Sized>(
        &mut self,
        tower: &Tower,
        numbers: &N,
        next: &[Next],
        activations: &'a mut Activations,
    ) -> &'a [f32] {
        self.append(next);
        self.count_queries(next);
        let seen = Seen { ends: &self.ends, rows: &self.rows, queries: &self.queries, memory: &self.memory };
        tower.step(numbers, &self.batch, &seen, &mut self.caches, activations)
    }

    /// Gives the new tokens their rows, positions and pasts.
    fn append(&mut self, next: &[Next]) {
        self.batch.clear();
        self.rows.clear();
        self.ends.clear();
        self.ends.push(0);
        for &Next { parent, token, .. } in next {
            let position = parent.map_or(0, |parent| self.positions[parent as usize] + 1);
            self.parents.push(parent);
            self.positions.push(position);
            self.batch.push_ids(&[token]);
            *self.batch.positions.last_mut().expect("the token just pushed") = position;
            let mut row = Some(self.parents.len() as u32 - 1);
            while let Some(at) = row {
                self.rows.push(at);
                row = self.parents[at as usize];
            }
            // In the order of the sequence, as whole sequences are computed.
            let begin = self.ends[self.ends.len() - 1];
            self.rows[begin..].reverse();
            self.ends.push(self.rows.len());
        }
    }

    /// Where the queries of each of the memory's sequences begin.
    fn count_queries(&mut self, next: &[Next]) {
        self.queries.clear();
        let sequences = self.memory.len().saturating_sub(1);
        self.queries
            .extend((0..=sequences).map(|sequence| next.partition_point(|next| next.sequence < sequence)));
    }
}
