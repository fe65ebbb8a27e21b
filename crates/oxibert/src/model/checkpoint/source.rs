//! One weight file: which format it is, and the table of what is in it.

use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use oxibert_kernels::MappedFile;

use super::dtype::Dtype;
use super::{safetensors, torch};
use crate::{Error, Result};

/// One tensor as a file's table of contents describes it. Every number in it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name in the file.
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// Where its bytes lie in the file.
    pub(super) range: Range<usize>,
    /// Steps between neighbours, in values, where the values do not lie in order: PyTorch stores a transposed
    /// matrix this way, and old checkpoints that came from TensorFlow have them.
    pub(super) strides: Option<Vec<usize>>,
}

/// A weight file's bytes.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(MappedFile),
    Owned(Vec<u8>),
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mapped = MappedFile::open(path).map_err(|source| Error::read(path, source))?;
        Ok(Self { path: path.to_owned(), bytes: Bytes::Mapped(mapped) })
    }

    pub(super) fn from_bytes(bytes: Vec<u8>, path: &Path) -> Self {
        Self { path: path.to_owned(), bytes: Bytes::Owned(bytes) }
    }

    /// The table of contents.
    pub(super) fn entries(&self) -> Result<Vec<Entry>> {
        read_entries(self).map_err(|problem| Error::content(&self.path, None, problem))
    }

    /// What a safetensors file says beside its tensors.
    pub(super) fn metadata(&self) -> Result<BTreeMap<String, String>> {
        safetensors::metadata(self).map_err(|problem| Error::content(&self.path, None, problem))
    }
}

impl Deref for Source {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(file) => file,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// The content decides on the format, because names can be anything.
fn read_entries(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    if bytes.get(8) == Some(&b'{') {
        return safetensors::entries(bytes);
    }
    if bytes.starts_with(b"PK") {
        return torch::entries(bytes);
    }
    if bytes.starts_with(b"version https://git-lfs") {
        return Err("it is a Git LFS pointer, not the weights; fetch them with `git lfs pull`".into());
    }
    // PROTO 2 and the start of PyTorch's magic number.
    if bytes.starts_with(&[0x80, 2, 0x8a]) {
        return Err(format!("it is a PyTorch file of the old form (before 1.6); {}", torch::WAY_OUT));
    }
    safetensors::entries(bytes)
}

/// More than any tensor of a BERT has; a hostile file is kept from filling memory (and messages) with them.
pub(super) const MOST_AXES: usize = 8;
const LONGEST_NAME: usize = 1024;

/// Refuses a name that is no name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    let start: String = name.chars().take(60).collect();
    Err(format!("a tensor's name, {start:?}…, has {} bytes, expected at most {LONGEST_NAME}", name.len()))
}

/// How many bytes a tensor takes; `None` where no memory could hold it.
pub(super) fn byte_size(shape: &[usize], dtype: Dtype) -> Option<usize> {
    // A zero in a shape does not excuse the other numbers.
    shape.iter().try_fold(dtype.size(), |size, &n| size.checked_mul(n.max(1)))?;
    Some(shape.iter().product::<usize>() * dtype.size())
}
