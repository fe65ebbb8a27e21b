//! NumPy's file format, version 1.0: a line of Python that says the shape, then the numbers.
//!
//! How many rows there are is known at the end. The header has a fixed length, so it is written twice: first as a
//! promise, then with the number. Memory holds one chunk of rows, and the file appears when it is complete.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use oxibert::data::files::NewFile;
use oxibert::infer::Embeddings;

use super::sink::Sink;

/// NumPy asks that the numbers begin at a multiple of 64; this is room for any shape.
const HEADER: usize = 128;

/// A matrix of 32-bit floats that grows row by row.
pub(crate) struct Npy {
    path: PathBuf,
    file: NewFile,
    rows: usize,
    width: usize,
}

impl Npy {
    pub(crate) fn create(path: &Path, width: usize) -> Result<Self> {
        let mut npy = Self { path: path.to_owned(), file: NewFile::create(path)?, rows: 0, width };
        npy.write_header().with_context(|| npy.place())?;
        Ok(npy)
    }

    fn place(&self) -> String {
        format!("cannot write {}", self.path.display())
    }

    fn write_header(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header(self.rows, self.width))
    }

    /// Appends rows.
    pub(crate) fn append(&mut self, values: &[f32]) -> Result<()> {
        self.rows += values.len() / self.width;
        self.write_rows(values).with_context(|| self.place())
    }

    /// All rows are there: the file takes its place.
    pub(crate) fn complete(mut self) -> Result<()> {
        self.write_header().with_context(|| self.place())?;
        Ok(self.file.finish()?)
    }

    fn write_rows(&mut self, values: &[f32]) -> io::Result<()> {
        values.iter().try_for_each(|value| self.file.write_all(&value.to_le_bytes()))
    }
}

impl Sink for Npy {
    fn write(&mut self, _texts: &[String], embeddings: &Embeddings) -> Result<()> {
        self.append(&embeddings.values)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.complete()
    }
}

fn header(rows: usize, width: usize) -> [u8; HEADER] {
    let mut header = [b' '; HEADER];
    header[..8].copy_from_slice(b"\x93NUMPY\x01\x00");
    header[8..10].copy_from_slice(&(HEADER as u16 - 10).to_le_bytes());
    let shape = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}");
    header[10..][..shape.len()].copy_from_slice(shape.as_bytes());
    header[HEADER - 1] = b'\n';
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_shape_has_room() {
        let header = header(usize::MAX, usize::MAX);
        assert_eq!((header[HEADER - 1], header[8], header[9]), (b'\n', 118, 0));
        assert_eq!(header[HEADER - 2], b' ');
    }

    #[test]
    fn rows_come_in_pieces_and_the_file_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vectors.npy");
        let mut npy = Box::new(Npy::create(&path, 2).unwrap());
        for values in [vec![1.0, -2.5], vec![3.0, 4.0, 5.0, 6.0]] {
            npy.write(&[], &Embeddings { values, width: 2, long_texts: 0 }).unwrap();
        }
        assert!(!path.exists());
        npy.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), HEADER + 3 * 2 * 4);
        let head = String::from_utf8_lossy(&bytes[10..HEADER]);
        assert!(head.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"), "{head}");
        assert_eq!(bytes[HEADER + 4..HEADER + 8], (-2.5f32).to_le_bytes());
    }
}
