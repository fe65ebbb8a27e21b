//! Rows of lines, TSV, CSV and JSON lines. Blank lines are passed over, except where a line is a text.

use std::io::Cursor;
use std::iter::Peekable;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::stream::{Stream, not_utf8};
use super::{Format, parse_line};
use crate::{Error, Result};

/// What [`parse_line`] tells those who have other lines.
pub(super) const OBJECT: &str =
    "a JSON object on every line, as jq -c . (or jq -c '.[]' of an array) writes them";

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Row {
    Text(String),
    Cells(Vec<String>),
    Object(Map<String, Value>),
}

/// The rows of a file with the numbers of the lines in which they begin. A bad one is an error, and the next comes after it.
pub(super) struct Rows {
    name: Arc<Path>,
    format: Format,
    form: Form,
}

enum Form {
    Lines(Peekable<Stream>),
    Csv(CsvRows),
}

impl Rows {
    /// Opens a file of this format, or of the one that its name or its first line tells.
    pub(super) fn open(path: &Path, format: Option<Format>) -> Result<Self> {
        let stream = Stream::open(path)?;
        let name = stream.name();
        let known = format.or_else(|| Format::of(path));
        if known == Some(Format::Csv) {
            return Ok(Self { name, format: Format::Csv, form: Form::Csv(CsvRows::new(stream.rest()?)) });
        }
        let mut lines = stream.peekable();
        let format = known.unwrap_or_else(|| match lines.peek() {
            Some(Ok((_, line))) => Format::of_line(line),
            _ => Format::Lines,
        });
        Ok(Self { name, format, form: Form::Lines(lines) })
    }

    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    fn row(&self, line: &str) -> Result<Row, String> {
        match self.format {
            Format::Lines => Ok(Row::Text(line.to_owned())),
            Format::Tsv | Format::Csv => Ok(Row::Cells(line.split('\t').map(str::to_owned).collect())),
            Format::JsonLines => parse_line(line, OBJECT).map(Row::Object),
        }
    }
}

impl Iterator for Rows {
    type Item = Result<(usize, Row)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (line, row) = match &mut self.form {
            Form::Csv(rows) => {
                let (line, cells) = rows.next()?;
                (line, cells.map(Row::Cells))
            }
            Form::Lines(lines) => {
                let text_per_line = self.format == Format::Lines;
                let wanted = |line: &Result<(usize, String)>| {
                    text_per_line || !line.as_ref().is_ok_and(|(_, line)| line.trim_matches(' ').is_empty())
                };
                match lines.find(wanted)? {
                    Ok((number, line)) => (number, self.row(&line)),
                    Err(error) => return Some(Err(error)),
                }
            }
        };
        Some(row.map(|row| (line, row)).map_err(|problem| Error::content(&self.name, Some(line), problem)))
    }
}

/// CSV has line ends inside of quotes, so it is read as a whole: only so its lines can be counted.
struct CsvRows {
    reader: csv::Reader<Cursor<Vec<u8>>>,
    /// Lines are counted up to this byte,
    counted: usize,
    /// which is in this line.
    line: usize,
}

impl CsvRows {
    fn new(bytes: Vec<u8>) -> Self {
        let reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(Cursor::new(bytes));
        Self { reader, counted: 0, line: 1 }
    }

    /// The line of a record that begins at this byte or behind line ends that follow it.
    fn line_of(&mut self, record: usize) -> usize {
        let bytes = self.reader.get_ref().get_ref();
        let blank = bytes[record..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.line += memchr::memchr_iter(b'\n', &bytes[self.counted..record + blank]).count();
        self.counted = record + blank;
        self.line
    }

    fn next(&mut self) -> Option<(usize, Result<Vec<String>, String>)> {
        let mut record = csv::ByteRecord::new();
        loop {
            // Bytes in memory are read without errors, and rows of any length are welcome here.
            if !self.reader.read_byte_record(&mut record).ok()? {
                return None;
            }
            let start = record.position().map_or(0, |place| place.byte() as usize);
            let line = self.line_of(start);
            if record.len() > 1 || !record.iter().all(|cell| cell.trim_ascii().is_empty()) {
                return Some((line, record.iter().map(cell).collect()));
            }
        }
    }
}

fn cell(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8("cell", bytes, error.valid_up_to()))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(name: &str, content: &[u8]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        let shown = |row: Result<(usize, Row)>| match row {
            Ok((line, Row::Text(text))) => format!("{line} {text}"),
            Ok((line, Row::Cells(cells))) => format!("{line} {}", cells.join("|")),
            Ok((line, Row::Object(object))) => format!("{line} {}", Value::Object(object)),
            Err(error) => error.to_string().split_once(&format!("{name}:")).unwrap().1.to_owned(),
        };
        Rows::open(&path, None).unwrap().map(shown).collect()
    }

    #[test]
    fn tsv_is_never_quoted() {
        assert_eq!(rows("a.tsv", "\u{feff}a\t\"b\r\n\r\n \nc\"\t\n".as_bytes()), ["1 a|\"b", "4 c\"|"]);
    }

    #[test]
    fn csv_is_quoted_and_knows_its_lines() {
        let content = "\u{feff}text,label\r\n\r\n\"a, \"\"b\"\"\r\nc\",1\r\n  \r\nd,0\r\n";
        assert_eq!(rows("a.csv", content.as_bytes()), ["1 text|label", "3 a, \"b\"\r\nc|1", "6 d|0"]);
        let bad = rows("a.csv", b"a,1\nb\xff,2\nc,3");
        assert!(bad[1].starts_with("2: byte 2 of the cell (0xFF)") && bad[2] == "3 c|3", "{bad:?}");
    }

    #[test]
    fn json_lines_stand_each_for_itself() {
        let got = rows("a.jsonl", b"{\"a\": 1}\n\n{\"a\":\n[1]\n{\"a\": \"b\"}\n");
        assert_eq!((got[0].as_str(), got[3].as_str()), ("1 {\"a\":1}", "5 {\"a\":\"b\"}"));
        assert!(got[1].starts_with("3: byte 5 of the line: EOF") && got[2].starts_with("4: "), "{got:?}");
        assert!(got[2].contains("jq -c"), "{got:?}");
    }

    #[test]
    fn names_do_not_tell_all() {
        assert_eq!(rows("a.txt", b"a\tb\n"), ["1 a|b"]);
        assert_eq!(rows("a.txt", b"a b\n\nc\td\n"), ["1 a b", "2 ", "3 c\td"]);
        assert_eq!(rows("-b", b"{\"a\": 2}\n"), ["1 {\"a\":2}"]);
    }
}
