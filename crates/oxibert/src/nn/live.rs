//! Where a gradient may differ from zero.
//!
//! Half of a small model's numbers are its table of tokens, and a batch names some hundred of its thirty thousand rows. The
//! gradient of the others is zero: there is nothing to add, to measure or to clear.

use std::iter::once;
use std::ops::Range;

use super::Layout;
use crate::model::names::WORD_EMBEDDINGS;

/// Parts of the arena, in order and apart from each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live(Vec<Range<usize>>);

impl Live {
    /// All of an arena.
    pub fn all(length: usize) -> Self {
        Self(once(0..length).collect())
    }

    /// All but the rows of the table of tokens that no id names: for models that use the table to look tokens up alone.
    pub fn of_tokens(layout: &Layout, ids: impl Iterator<Item = u32>) -> Self {
        let Some((param, table)) = layout.iter().find(|(param, _)| param.name == WORD_EMBEDDINGS) else {
            return Self::all(layout.len());
        };
        let width = param.shape[1];
        let mut ids: Vec<u32> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        let row = |id: u32| table.start + id as usize * width;
        let rows = ids.into_iter().map(|id| row(id)..row(id) + width);
        Self::of_sorted(once(0..table.start).chain(rows).chain(once(table.end..layout.len())))
    }

    /// Of parts in order; what touches is joined.
    pub(crate) fn of_sorted(ranges: impl Iterator<Item = Range<usize>>) -> Self {
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in ranges.filter(|range| !range.is_empty()) {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Self(joined)
    }

    /// Adds the parts of another.
    pub fn join(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_by_key(|range| range.start);
        *self = Self::of_sorted(std::mem::take(&mut self.0).into_iter());
    }

    /// The parts.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.0.iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;
    use crate::model::names::{Parts, parameters};

    #[test]
    fn rows_that_no_token_names_are_left_out() {
        let config = Config::preset("tiny", 20).unwrap();
        let layout = Layout::new(parameters(&config, Parts::default()));
        let (h, table) = (config.hidden_size, layout.range(WORD_EMBEDDINGS).unwrap());
        let live = Live::of_tokens(&layout, [7, 3, 2, 7].into_iter());
        let row = |id: usize| table.start + id * h;
        let mut expected = vec![row(2)..row(4), row(7)..row(8), table.end..layout.len()];
        if table.start > 0 {
            expected.insert(0, 0..table.start);
        }
        assert_eq!(live.ranges().collect::<Vec<_>>(), expected);
        assert_eq!(Live::of_tokens(&layout, 0..config.vocab_size as u32), Live::all(layout.len()));
    }

    #[test]
    fn parts_are_joined() {
        let mut live = Live(vec![0..3, 10..12]);
        live.join(Live(vec![2..5, 12..14, 20..21]));
        assert_eq!(live, Live(vec![0..5, 10..14, 20..21]));
        live.join(Live::all(30));
        assert_eq!(live, Live::all(30));
        let mut none = Live::default();
        none.join(live.clone());
        assert_eq!(none, live);
    }
}
