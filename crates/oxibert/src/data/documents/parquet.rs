//! Parquet: a row is a document. Only the pages of the one column are read, a few rows at a time.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::{Form, Piece, ReadPieces};
use crate::data::BLOCK_BYTES;
use crate::data::corpus::Input;
use crate::{Error, Result};

/// Rows that are read at once.
const ROWS: usize = 64;

/// A file, and where in it the next piece begins.
pub(super) struct Reader {
    path: Arc<Path>,
    size: u64,
    file: SerializedFileReader<File>,
    column: usize,
    /// The next row group.
    group: usize,
    rows: Option<ColumnReaderImpl<ByteArrayType>>,
    /// How many rows have been given out.
    row: usize,
}

impl Reader {
    pub(super) fn open(input: &Input, column: &str) -> Result<Self> {
        let Input::File(path) = input else {
            let problem = "Parquet cannot be read from a stream, because its table of contents stands at the end; name a file";
            return Err(Error::content(input.name(), None, problem));
        };
        let file = File::open(path).map_err(|source| Error::read(&**path, source))?;
        let size = file.metadata().map_err(|source| Error::read(&**path, source))?.len();
        let file = SerializedFileReader::new(file).map_err(|error| refuse(path, &error))?;
        let columns = file.metadata().file_metadata().schema_descr().columns();
        let column = find(columns.iter().map(|column| &**column), column)
            .map_err(|problem| Error::content(path, None, problem))?;
        Ok(Self { path: path.clone(), size, file, column, group: 0, rows: None, row: 0 })
    }

    /// Some rows, appended to `text`; false after the last.
    fn read_rows(&mut self, text: &mut String, ends: &mut Vec<usize>) -> Result<bool> {
        let refused = |error: ParquetError| refuse(&self.path, &error);
        let Some(rows) = &mut self.rows else {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group).map_err(refused)?;
            self.rows = Some(get_typed_column_reader(group.get_column_reader(self.column).map_err(refused)?));
            self.group += 1;
            return Ok(true);
        };
        let (mut values, mut defined): (Vec<ByteArray>, _) = (Vec::new(), Vec::new());
        let (records, ..) =
            rows.read_records(ROWS, Some(&mut defined), None, &mut values).map_err(refused)?;
        if records == 0 {
            self.rows = None;
        }
        self.row += records;
        for value in &values {
            let value = str::from_utf8(value.data()).map_err(|_| {
                let problem = format!("a text before row {} is not UTF-8; is it the right column?", self.row);
                Error::content(&self.path, None, problem)
            })?;
            text.push_str(value);
            ends.push(text.len());
        }
        Ok(true)
    }
}

impl ReadPieces for Reader {
    fn next_piece(&mut self) -> Result<Option<Piece>> {
        let (line, mut text, mut ends) = (self.row + 1, String::new(), Vec::new());
        while text.len() < BLOCK_BYTES && self.read_rows(&mut text, &mut ends)? {}
        let path = self.path.clone();
        Ok((!ends.is_empty()).then_some(Piece { path, text, line, form: Form::Rows(ends) }))
    }

    fn consumed(&self) -> u64 {
        let rows = self.file.metadata().file_metadata().num_rows().max(1) as u128;
        (u128::from(self.size) * self.row as u128 / rows).min(self.size.into()) as u64
    }
}

fn find<'c>(columns: impl Iterator<Item = &'c ColumnDescriptor>, name: &str) -> Result<usize, String> {
    let mut there = Vec::new();
    for (number, column) in columns.enumerate() {
        let path = column.path().string();
        if path != name {
            there.push(path);
        } else if column.max_rep_level() > 0 {
            return Err(format!("column {name:?} is a list; expected a text per row"));
        } else if column.physical_type() != Type::BYTE_ARRAY {
            return Err(format!("column {name:?} holds {}, expected text", column.physical_type()));
        } else {
            return Ok(number);
        }
    }
    Err(format!("no column {name:?}; there is {}; name the one with the text by --column", there.join(", ")))
}

fn refuse(path: &Path, error: &ParquetError) -> Error {
    Error::content(path, None, format!("cannot be read as Parquet ({error}); is it one, and whole?"))
}
