//! Files as memory: weights are read where they lie, not copied at start-up.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A whole file, mapped read-only.
///
/// As with every mapping: a file that another process shortens meanwhile makes reads beyond its new end fail
/// with a signal. Checkpoints are written to a temporary name and renamed, never changed in place, which
/// keeps ours safe.
#[derive(Debug)]
pub struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the file at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the mapping is read-only; that the file is not changed in place is the contract above.
        unsafe { memmap2::Mmap::map(&file) }.map(Self)
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
