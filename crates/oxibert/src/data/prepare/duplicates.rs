//! Which lines and documents have stood before, by their hashes.

use std::hash::Hasher;

use rustc_hash::FxHashSet;

/// So many hashes are remembered: what a table of 2^25 places holds, 300 MB.
const REMEMBERED: usize = (1 << 25) / 8 * 7;

/// The hash of a line. 64 bits: among 30 million different lines two are taken for one with a chance of 1 in 40 000.
pub(super) fn line_hash(line: &str) -> u64 {
    let mut hasher = hasher();
    hasher.write(line.as_bytes());
    hasher.finish()
}

/// SipHash with a fixed key, so that a run can be repeated.
pub(super) fn hasher() -> std::hash::DefaultHasher {
    std::hash::DefaultHasher::new()
}

/// The hashes seen so far.
pub(super) struct Duplicates {
    seen: FxHashSet<u64>,
    limit: usize,
    /// Whether there were more than are remembered.
    pub(super) forgotten: bool,
}

impl Duplicates {
    pub(super) fn new() -> Self {
        Self { seen: FxHashSet::default(), limit: REMEMBERED, forgotten: false }
    }

    /// Whether this hash was seen before; from now on it is, while there is room.
    pub(super) fn is_duplicate(&mut self, hash: u64) -> bool {
        if self.seen.len() < self.limit {
            return !self.seen.insert(hash);
        }
        let known = self.seen.contains(&hash);
        self.forgotten |= !known;
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_remembered_and_the_rest_is_admitted() {
        let mut duplicates = Duplicates { limit: 2, ..Duplicates::new() };
        let [a, b, c] = ["a", "b", "c"].map(line_hash);
        assert!(a != b && a == line_hash("a"));
        assert_eq!([a, b, a].map(|hash| duplicates.is_duplicate(hash)), [false, false, true]);
        assert!(!duplicates.forgotten);
        assert_eq!([c, c, b].map(|hash| duplicates.is_duplicate(hash)), [false, false, true]);
        assert!(duplicates.forgotten);
    }
}
