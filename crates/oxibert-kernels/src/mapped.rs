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

/// Little-endian bytes seen as `f32`, without a copy.
///
/// `None` where that cannot be: the bytes do not start at a multiple of four, are no whole number of values,
/// or this machine is big-endian. The caller then decodes value by value.
///
/// ```
/// let words = [1.0f32.to_le_bytes(), (-2.5f32).to_le_bytes()].concat();
/// if let Some(values) = oxibert_kernels::as_f32(&words) {
///     assert_eq!(values, [1.0, -2.5]);
/// }
/// assert_eq!(oxibert_kernels::as_f32(&words[..7]), None);
/// ```
pub fn as_f32(bytes: &[u8]) -> Option<&[f32]> {
    if cfg!(target_endian = "big") {
        return None;
    }
    // SAFETY: every pattern of 32 bits is an `f32`, and `align_to` puts into the middle only what is aligned.
    let (head, values, tail) = unsafe { bytes.align_to::<f32>() };
    (head.is_empty() && tail.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_aligned_whole_values_are_borrowed() {
        let bytes: Vec<u8> = (0..64).collect();
        let start = bytes.as_ptr().align_offset(align_of::<f32>());
        for skip in 0..8 {
            for length in 0..24 {
                let part = &bytes[start + skip..start + skip + length];
                let aligned = skip % 4 == 0 && length % 4 == 0;
                if length > 3 {
                    let expected = aligned && cfg!(target_endian = "little");
                    assert_eq!(as_f32(part).is_some(), expected, "{skip} {length}");
                }
                if let Some(values) = as_f32(part) {
                    let decoded = part.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
                    assert!(values.iter().map(|v| v.to_bits()).eq(decoded.map(f32::to_bits)));
                }
            }
        }
    }

    #[test]
    fn a_file_is_its_bytes_and_an_empty_one_is_empty() {
        let path = std::env::temp_dir().join(format!("oxibert-mapped-{}", std::process::id()));
        for content in [&b""[..], b"weights"] {
            std::fs::write(&path, content).unwrap();
            assert_eq!(&*MappedFile::open(&path).unwrap(), content);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(MappedFile::open(&path).is_err());
    }
}
