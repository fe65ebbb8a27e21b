//! Documents of text files, JSON lines and Parquet files, whatever their size.
//!
//! [`Documents`] is a checked list of inputs, as [`Corpus`] is. [`Documents::pieces`] reads it in pieces of about 1 MiB, in turn and
//! with as little work as possible; what costs time (taking JSON apart, and all that is done with the text) is done with
//! [`Piece::paragraphs`], on as many threads as there are pieces.

mod json_lines;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;
use std::sync::Arc;

use super::Corpus;
use super::corpus::Input;
use crate::{Error, Result};

/// How a file holds documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As its name says: `.jsonl`, `.ndjson` and `.json` (also with `.gz` or `.zst` behind it), `.parquet`; any other is
    /// text.
    #[default]
    Auto,
    /// Lines of text; see [`Boundary`].
    Text,
    /// A JSON object per line, a document in each.
    JsonLines,
    /// A document per row.
    Parquet,
}

/// Where a document of a text file ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// At a blank line, and at the end of the file.
    #[default]
    BlankLine,
    /// At the end of the file only.
    File,
}

/// How to read.
#[derive(Clone, Debug)]
pub struct DocumentOptions {
    /// The format of all files.
    pub format: Format,
    /// Where a document of a text file ends.
    pub boundary: Boundary,
    /// The field of JSON objects, or the column of Parquet files, that holds the text.
    pub column: String,
}

impl Default for DocumentOptions {
    fn default() -> Self {
        Self { format: Format::Auto, boundary: Boundary::BlankLine, column: "text".into() }
    }
}

/// Documents to be read.
///
/// ```
/// use oxibert::data::{Corpus, DocumentOptions, Documents};
///
/// let corpus = Corpus::from_text("notes", "One sentence. Another.\nA second line.\n\nA second document.\n");
/// let documents = Documents::of_corpus(corpus, &DocumentOptions::default())?;
/// let mut begins = Vec::new();
/// for piece in documents.pieces() {
///     piece?.paragraphs(|paragraph| begins.push(paragraph.begins))?;
/// }
/// assert_eq!(begins, [true, false, true]);
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Documents {
    corpus: Corpus,
    formats: Vec<Format>,
    boundary: Boundary,
    column: Arc<str>,
}

impl Documents {
    /// Checks that all `paths` can be read; `-` is standard input.
    pub fn open<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        options: &DocumentOptions,
    ) -> Result<Self> {
        Self::of_corpus(Corpus::open(paths)?, options)
    }

    /// The documents of these inputs.
    pub fn of_corpus(corpus: Corpus, options: &DocumentOptions) -> Result<Self> {
        let format = |input: &Input| match options.format {
            Format::Auto => format_of(input),
            format => format,
        };
        let formats: Vec<Format> = corpus.inputs().iter().map(format).collect();
        for (input, _) in corpus.inputs().iter().zip(&formats).filter(|pair| *pair.1 == Format::Parquet) {
            check_parquet(input, &options.column)?;
        }
        Ok(Self { corpus, formats, boundary: options.boundary, column: options.column.as_str().into() })
    }

    /// The size of all inputs on disk, for progress; absent where one of them is a stream.
    pub fn size(&self) -> Option<u64> {
        self.corpus.size()
    }

    /// Reads everything, piece by piece.
    pub fn pieces(&self) -> Pieces<'_> {
        Pieces { documents: self, opened: 0, reader: None, consumed: 0 }
    }

    fn reader(&self, number: usize) -> Result<Box<dyn ReadPieces + Send + '_>> {
        let input = &self.corpus.inputs()[number];
        Ok(match self.formats[number] {
            Format::Auto | Format::Text => Box::new(text::Reader::new(input, self.boundary)),
            Format::JsonLines => Box::new(json_lines::Reader::new(input, &self.column)),
            #[cfg(feature = "parquet")]
            Format::Parquet => Box::new(parquet::Reader::open(input, &self.column)?),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return check_parquet(input, &self.column).map(|()| unreachable!()),
        })
    }
}

/// The format that a name speaks of.
fn format_of(input: &Input) -> Format {
    let Input::File(path) = input else { return Format::Text };
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let bare = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    if name.ends_with(".parquet") {
        Format::Parquet
    } else if [".jsonl", ".ndjson", ".json"].iter().any(|ending| bare.ends_with(ending)) {
        Format::JsonLines
    } else {
        Format::Text
    }
}

/// Opens a Parquet file, so that a wrong one is refused before the first file is read.
#[cfg(feature = "parquet")]
fn check_parquet(input: &Input, column: &str) -> Result<()> {
    parquet::Reader::open(input, column).map(drop)
}

#[cfg(not(feature = "parquet"))]
fn check_parquet(input: &Input, _column: &str) -> Result<()> {
    let problem = "this build reads no Parquet; build with `cargo build --release --features parquet`, or convert the \
                   file to JSON lines";
    Err(Error::content(input.name(), None, problem))
}

/// A reader of one input.
trait ReadPieces {
    fn next_piece(&mut self) -> Result<Option<Piece>>;

    /// The bytes taken from disk so far.
    fn consumed(&self) -> u64;
}

/// The pieces of all documents, in order; see [`Documents::pieces`]. Ends after the first error.
pub struct Pieces<'d> {
    documents: &'d Documents,
    /// How many inputs have been opened.
    opened: usize,
    reader: Option<Box<dyn ReadPieces + Send + 'd>>,
    /// Of the inputs that are done.
    consumed: u64,
}

impl Pieces<'_> {
    /// The bytes taken from disk so far, in the terms of [`Documents::size`].
    pub fn consumed(&self) -> u64 {
        self.consumed + self.reader.as_ref().map_or(0, |reader| reader.consumed())
    }

    fn advance(&mut self) -> Result<Option<Piece>> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(piece) = reader.next_piece()? {
                    return Ok(Some(piece));
                }
                self.consumed += reader.consumed();
                self.reader = None;
            }
            if self.opened == self.documents.formats.len() {
                return Ok(None);
            }
            self.reader = Some(self.documents.reader(self.opened)?);
            self.opened += 1;
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.reader = None;
            self.opened = self.documents.formats.len();
        }
        next.transpose()
    }
}

/// A piece of one input: whole lines or rows, except where a line of text is longer than a piece.
#[derive(Clone, Debug)]
pub struct Piece {
    path: Arc<Path>,
    text: String,
    /// The number of the first line or row.
    line: usize,
    form: Form,
}

/// What the text of a piece is.
#[derive(Clone, Debug)]
enum Form {
    Text(text::Place),
    /// Objects with this field.
    JsonLines(Arc<str>),
    /// Where each row ends.
    #[cfg(feature = "parquet")]
    Rows(Vec<usize>),
}

/// A line of a document, without white space at its ends, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paragraph<'p> {
    /// The text.
    pub text: &'p str,
    /// Whether a document begins with it.
    pub begins: bool,
}

impl Piece {
    /// Gives every line of text to `each`, in order.
    pub fn paragraphs(&self, mut each: impl FnMut(Paragraph<'_>)) -> Result<()> {
        match &self.form {
            Form::Text(place) => text::paragraphs(&self.text, *place, &mut each),
            Form::JsonLines(column) => return json_lines::paragraphs(self, column, &mut each),
            #[cfg(feature = "parquet")]
            Form::Rows(ends) => {
                let mut start = 0;
                for &end in ends {
                    document(&self.text[start..end], &mut each);
                    start = end;
                }
            }
        }
        Ok(())
    }

    fn refuse(&self, line: usize, problem: impl Into<String>) -> Error {
        Error::content(&self.path, Some(line), problem)
    }
}

/// The lines of a text that is one document.
fn document(text: &str, each: &mut impl FnMut(Paragraph<'_>)) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().for_each(|(number, text)| each(Paragraph { text, begins: number == 0 }));
}
