//! The text files of a command: plain, gzip or zstd, files or standard input, of any size.
//!
//! A [`Corpus`] is only a checked list of inputs. [`Corpus::blocks`] reads it in pieces of bounded size
//! (what the vocabulary learner wants), [`Corpus::lines`] line by line (what most commands want).

use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::{Blocks, Lines};
use crate::{Error, Result};

/// Text to be read: files (plain, gzip or zstd), standard input (`-`), or text in memory.
///
/// Standard input and pipes can be read once; files and memory as often as wanted.
///
/// ```
/// use oxibert::data::Corpus;
///
/// let corpus = Corpus::from_text("poem", "床前明月光\r\n疑是地上霜\n");
/// let mut lines = corpus.lines();
/// while let Some(line) = lines.next_line()? {
///     println!("{}: {}", line.number, line.text);
/// }
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Corpus {
    inputs: Vec<Input>,
    size: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) enum Input {
    Stdin,
    File(Arc<Path>),
    Memory { name: Arc<Path>, text: Arc<[u8]> },
}

impl Input {
    /// What it is called in messages.
    pub(super) fn name(&self) -> &Path {
        match self {
            Self::Stdin => Path::new("standard input"),
            Self::File(name) | Self::Memory { name, .. } => name,
        }
    }
}

impl Corpus {
    /// Checks that all `paths` can be read, so that a misspelt last one is found before the first is read.
    ///
    /// ```
    /// use oxibert::data::Corpus;
    /// assert!(Corpus::open(["no-such-file.txt"]).is_err());
    /// ```
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self> {
        let mut corpus = Self { inputs: Vec::new(), size: Some(0) };
        for path in paths {
            corpus.push(path.as_ref())?;
        }
        if corpus.inputs.is_empty() {
            return Err(Error::setting("input", "no text to read; name files, or - for standard input"));
        }
        Ok(corpus)
    }

    /// Text that is already in memory; `name` stands for the file in messages.
    pub fn from_text(name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let text = text.into().into_bytes();
        let size = Some(text.len() as u64);
        Self { inputs: vec![Input::Memory { name: name.into().into(), text: text.into() }], size }
    }

    fn push(&mut self, path: &Path) -> Result<()> {
        if path == Path::new("-") {
            if self.inputs.iter().any(|input| matches!(input, Input::Stdin)) {
                return Err(Error::setting("input", "- (standard input) can be given only once"));
            }
            self.inputs.push(Input::Stdin);
            self.size = None;
            return Ok(());
        }
        let about = fs::metadata(path).map_err(|e| Error::read(path, e))?;
        if about.is_dir() {
            let problem = format!("it is a directory; name its files, e.g. {}", path.join("*.txt").display());
            return Err(Error::content(path, None, problem));
        }
        self.size = self.size.filter(|_| about.is_file()).map(|size| size + about.len());
        self.inputs.push(Input::File(path.into()));
        Ok(())
    }

    /// The size of all inputs on disk, for progress; absent where one of them is a stream.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Reads everything in line-aligned blocks of bounded size.
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks::new(&self.inputs)
    }

    pub(super) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Reads everything line by line.
    pub fn lines(&self) -> Lines<'_> {
        Lines::new(self.blocks())
    }
}

/// An opened input: its bytes as text, whatever they are on disk.
pub(super) struct Source {
    pub(super) name: Arc<Path>,
    bytes: Box<dyn Read + Send>,
    /// The program that compressed it, if one did.
    packed_by: Option<&'static str>,
}

impl Source {
    /// Opens an input; every byte that leaves the disk is added to `consumed`.
    pub(super) fn open(input: &Input, consumed: &Arc<AtomicU64>) -> Result<Self> {
        match input {
            Input::Stdin => Self::new(input.name().into(), io::stdin(), consumed),
            Input::File(path) => {
                let file = File::open(path).map_err(|e| Error::read(&**path, e))?;
                Self::new(path.clone(), file, consumed)
            }
            Input::Memory { name, text } => Self::new(name.clone(), Cursor::new(text.clone()), consumed),
        }
    }

    pub(super) fn new(
        name: Arc<Path>,
        raw: impl Read + Send + 'static,
        consumed: &Arc<AtomicU64>,
    ) -> Result<Self> {
        let mut raw = Counted { raw, consumed: consumed.clone() };
        let mut head = [0; 4];
        let known = first_line_or_full(&mut raw, &mut head).map_err(|e| Error::read(&*name, e))?;
        let packed_by = packed_by(&head[..known]);
        let raw = BufReader::with_capacity(1 << 16, Cursor::new(head).take(known as u64).chain(raw));
        let bytes: Box<dyn Read + Send> = match packed_by {
            Some("gzip") => Box::new(MultiGzDecoder::new(raw)),
            Some(_) => Box::new(ZstdDecoder::with_buffer(raw).map_err(|e| Error::read(&*name, e))?),
            None => Box::new(raw),
        };
        Ok(Self { name, bytes, packed_by })
    }

    /// Fills `buffer` as far as the input goes, however small the pieces are that the system hands out.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        fill(&mut self.bytes, buffer).map_err(|e| self.problem(e))
    }

    /// Whatever the system has at the moment; nothing at the end only.
    pub(super) fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize> {
        read(&mut self.bytes, buffer).map_err(|e| self.problem(e))
    }

    fn problem(&self, e: io::Error) -> Error {
        match self.packed_by {
            // What the system did not say, the decompressor did.
            Some(program) if e.raw_os_error().is_none() => {
                let problem =
                    format!("the {program} data are damaged or cut short ({e}); check with {program} -t");
                Error::content(&self.name, None, problem)
            }
            _ => Error::read(&*self.name, e),
        }
    }
}

/// Which program compressed what begins so. No text does: the second byte of the magic numbers is never the start of a
/// character, and the blocks with which parallel zstd begins have a control character.
fn packed_by(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some("zstd"),
        _ => None,
    }
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    fill_until(from, buffer, |_| false)
}

/// Fills a buffer, but waits for no more than a line: whoever types `a` wants to be answered.
fn first_line_or_full(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    fill_until(from, buffer, |filled| filled.contains(&b'\n'))
}

fn fill_until(from: &mut impl Read, buffer: &mut [u8], enough: impl Fn(&[u8]) -> bool) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() && !enough(&buffer[..filled]) {
        match read(from, &mut buffer[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

fn read(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Counts below the decompressor, so that progress through a compressed file is in bytes on disk.
struct Counted<R> {
    raw: R,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.raw.read(buffer)?;
        self.consumed.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 3).unwrap()
    }

    fn read(corpus: &Corpus) -> Result<Vec<String>> {
        let mut lines = corpus.lines();
        let mut all = Vec::new();
        while let Some(line) = lines.next_line()? {
            all.push(format!("{}:{}", line.number, line.text));
        }
        if let Some(size) = corpus.size() {
            assert_eq!(lines.consumed(), size);
        }
        Ok(all)
    }

    #[test]
    fn plain_and_compressed_files_read_alike() {
        let dir = tempfile::tempdir().unwrap();
        let (plain, zipped, empty) = (dir.path().join("a.txt"), dir.path().join("b"), dir.path().join("c"));
        let (packed, parallel) = (dir.path().join("d.zst"), dir.path().join("e.zst"));
        fs::write(&plain, "\u{feff}one\r\ntwo").unwrap();
        // Two members, as `cat a.gz b.gz` makes them.
        fs::write(&zipped, [gzip("drei\nvi"), gzip("er\n")].concat()).unwrap();
        fs::write(&empty, "").unwrap();
        fs::write(&packed, [zstd("五\n"), zstd("六")].concat()).unwrap();
        // A block of four bytes to be skipped, as parallel compressors write it.
        fs::write(&parallel, [&b"\x50\x2a\x4d\x18\x04\0\0\0size"[..], &zstd("sju")].concat()).unwrap();
        let corpus = Corpus::open([&plain, &empty, &zipped, &packed, &parallel]).unwrap();
        let lines = ["1:one", "2:two", "1:drei", "2:vier", "1:五", "2:六", "1:sju"];
        assert_eq!(read(&corpus).unwrap(), lines);
    }

    #[test]
    fn a_truncated_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let text = "some text to compress\n".repeat(99);
        for (name, whole, way_out) in [("x.gz", gzip(&text), "gzip -t"), ("x.zst", zstd(&text), "zstd -t")] {
            let path = dir.path().join(name);
            fs::write(&path, &whole[..whole.len() - 9]).unwrap();
            let error = read(&Corpus::open([&path]).unwrap()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(way_out), "{error}");
        }
    }

    #[test]
    fn doors_refuse_early() {
        let dir = tempfile::tempdir().unwrap();
        let message = |paths: &[&Path]| Corpus::open(paths).unwrap_err().to_string();
        assert!(message(&[]).contains("name files"));
        assert!(message(&[Path::new("-"), Path::new("-")]).contains("only once"));
        assert!(message(&[dir.path()]).contains("*.txt"));
        assert!(message(&[&dir.path().join("none")]).contains("none"));
    }
}
