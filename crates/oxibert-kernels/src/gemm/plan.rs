//! How a product is cut: its depth into blocks, its output into tasks.

use super::amx::STEP;
use super::micro::Tile;
use crate::team;
use std::ops::Range;

/// Depth per block: a panel of the right-hand side, this times 16 columns, is 24 KiB of a first-level cache of 32.
const DEPTH: usize = 384;
/// Rows per task: with `DEPTH` they fit into a second-level cache beside the panels.
pub(super) const ROWS: usize = 192;
/// Columns per task, at most: more would only make the last tasks longer.
const COLUMNS: usize = 384;
/// Tasks per thread where there is enough to do: a thread that is held up leaves its share to the others, and at the end
/// nobody waits for long.
const TASKS: usize = 12;
/// A task of fewer multiplications is not worth its own start.
const WORTH: usize = 1 << 19;

/// The depth in nearly equal blocks of at most `DEPTH`, of whole registers of AMX but for the last; a depth of zero is one empty block, which
/// writes the start.
pub(super) fn blocks(depth: usize) -> impl Iterator<Item = Range<usize>> + Send {
    let count = depth.div_ceil(DEPTH).max(1);
    let size = depth.div_ceil(count).next_multiple_of(STEP);
    (0..count).map(move |b| (b * size).min(depth)..((b + 1) * size).min(depth))
}

/// The output cut into tasks of whole tiles.
pub(super) struct Cut {
    rows: Split,
    cols: Split,
}

impl Cut {
    /// For an output [m, n] over `depth`.
    pub(super) fn new(m: usize, n: usize, depth: usize, tile: Tile) -> Self {
        let threads = team::size();
        let wanted = if threads == 1 { 1 } else { (threads * TASKS).min(m * n * depth / WORTH) };
        let rows = Split::new(m, tile.mr, m.div_ceil(ROWS));
        let cols = Split::new(n, tile.nr, wanted.div_ceil(rows.parts.max(1)).max(n.div_ceil(COLUMNS)));
        Self { rows, cols }
    }

    /// How many tasks there are.
    pub(super) fn tasks(&self) -> usize {
        self.rows.parts * self.cols.parts
    }

    /// The rows and columns of a task. Neighbours share their rows, so that they find them in the cache.
    pub(super) fn part(&self, task: usize) -> (Range<usize>, Range<usize>) {
        (self.rows.part(task / self.cols.parts), self.cols.part(task % self.cols.parts))
    }
}

/// `len` lines in `parts` parts of whole tiles that differ by one tile at most.
struct Split {
    len: usize,
    tile: usize,
    parts: usize,
}

impl Split {
    fn new(len: usize, tile: usize, parts: usize) -> Self {
        Self { len, tile, parts: parts.clamp(1, len.div_ceil(tile).max(1)) }
    }

    fn part(&self, index: usize) -> Range<usize> {
        let tiles = self.len.div_ceil(self.tile);
        let border = |index: usize| (index * tiles / self.parts * self.tile).min(self.len);
        border(index)..border(index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_belongs_to_one_task() {
        for (m, n, k) in [(1, 1, 1), (1024, 768, 768), (128, 30522, 768), (7, 5000, 64), (513, 17, 3000)] {
            let cut = Cut::new(m, n, k, Tile::best());
            let parts: Vec<_> = (0..cut.tasks()).map(|task| cut.part(task)).collect();
            assert_eq!(parts.iter().map(|(r, c)| r.len() * c.len()).sum::<usize>(), m * n);
            assert!(parts.iter().all(|(r, c)| !r.is_empty() && !c.is_empty()));
        }
    }

    #[test]
    fn blocks_cover_the_depth_in_order() {
        for depth in [0, 1, 384, 385, 400, 768, 3072, 30522] {
            let blocks: Vec<_> = blocks(depth).collect();
            assert_eq!(blocks.iter().map(|b| b.len()).sum::<usize>(), depth);
            assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(blocks.iter().all(|b| b.len() <= DEPTH && b.start.is_multiple_of(STEP)));
        }
    }
}
