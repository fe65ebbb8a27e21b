//! Texts with their classes: one text or a pair per row, and any number of labels.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::{Map, Value};

use super::columns::{Columns, Roles};
use super::table::{Row, Rows};
use super::{Format, Labelled, note_count, scalar};
use crate::{Error, Result};

/// So many rows are looked at to tell texts from labels.
const SAMPLE: usize = 500;

/// One text or two, and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextExample {
    /// One, or two.
    pub texts: Vec<String>,
    /// None where none is given or none holds; several where several hold.
    pub labels: Vec<String>,
    /// The line of the file, from 1.
    pub line: usize,
}

/// What becomes of labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LabelNeed {
    /// A row without one is refused.
    #[default]
    Required,
    /// They are read where they are.
    Optional,
    /// They are not looked at.
    Ignored,
}

/// How to read texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// The file's format; see [`Format::of`] for what is taken where none is given.
    pub format: Option<Format>,
    /// What holds what.
    pub columns: Columns,
    /// What stands between several labels in one cell. (A list in JSON needs none.)
    pub label_separator: Option<char>,
    /// What becomes of labels.
    pub labels: LabelNeed,
    /// Whether every line of a file of lines is a pair, with a tab between; if nobody knows, those with a tab are.
    pub pairs: Option<bool>,
}

/// Reads a file as a whole; the first bad row refuses it.
///
/// ```
/// use oxibert::data::labelled::{TextOptions, read_texts};
///
/// let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("dev.tsv");
/// std::fs::write(&path, "sentence\tlabel\na charming journey\t1\n").unwrap();
/// let read = read_texts(&path, &TextOptions::default())?;
/// assert_eq!(read.examples[0].labels, ["1"]);
/// assert_eq!(read.notes, ["columns: text = sentence, label = label"]);
/// # Ok::<(), oxibert::Error>(())
/// ```
pub fn read_texts(path: &Path, options: &TextOptions) -> Result<Labelled<TextExample>> {
    let mut reader = TextReader::open(path, options)?;
    let examples = reader.by_ref().collect::<Result<_>>()?;
    Labelled::new(reader.rows.name(), examples, reader.notes())
}

/// The examples of a stream, row by row: a bad row is an error, and the next call goes on behind it.
pub struct TextReader {
    rows: Rows,
    /// Rows that were read to guess the columns.
    ahead: VecDeque<Result<(usize, Row)>>,
    options: TextOptions,
    layout: Layout,
    note: Option<String>,
    /// How many examples have an empty text.
    empty: usize,
}

/// Where the texts and labels of a row are.
enum Layout {
    Lines,
    Cells {
        width: usize,
        roles: Roles<usize>,
    },
    /// Of the first object that has what is needed.
    Objects(Option<Roles<String>>),
}

/// A row's texts and, where labels are given, labels.
type Parts = (Vec<String>, Option<Vec<String>>);

impl TextReader {
    /// Opens a file, or standard input (`-`), and finds out what its columns are.
    pub fn open(path: &Path, options: &TextOptions) -> Result<Self> {
        let rows = Rows::open(path, options.format)?;
        let layout = match rows.format() {
            Format::Lines => Layout::Lines,
            Format::Tsv | Format::Csv => {
                Layout::Cells { width: 0, roles: Roles { texts: Vec::new(), label: None } }
            }
            Format::JsonLines => Layout::Objects(None),
        };
        let options = options.clone();
        let mut reader = Self { rows, ahead: VecDeque::new(), options, layout, note: None, empty: 0 };
        match reader.layout {
            Layout::Lines => reader.refuse_columns()?,
            Layout::Cells { .. } => reader.find_columns()?,
            Layout::Objects(_) => {}
        }
        Ok(reader)
    }

    /// What is to be said aloud about what has been read so far.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.note.iter().cloned().collect();
        note_count(&mut notes, "examples with an empty text", self.empty);
        notes
    }

    /// A file of lines has one column, and no labels.
    fn refuse_columns(&self) -> Result<()> {
        let TextOptions { columns, labels, .. } = &self.options;
        if *columns != Columns::default() || *labels == LabelNeed::Required {
            let problem = "a text per line has no labels and no other columns; expected tsv, csv or jsonl (say which by \
                           --format)";
            return Err(Error::content(self.rows.name(), None, problem));
        }
        Ok(())
    }

    /// Reads the header, or as many rows as are needed to do without one.
    fn find_columns(&mut self) -> Result<()> {
        let Some(first) = self.rows.next() else { return Ok(()) };
        let (line, first) = first?;
        let Row::Cells(cells) = &first else { return Ok(()) };
        let (columns, need) = (&self.options.columns, self.options.labels);
        let (named, complete) = (columns.are_named_in(cells), columns.are_complete(need));
        if !named && !complete {
            self.ahead.extend(self.rows.by_ref().take(SAMPLE));
        }
        let roles = match named {
            true => columns.among_names(cells, need),
            false => columns.among_values(&sample(cells, &self.ahead), need),
        };
        let roles = roles.map_err(|problem| Error::content(self.rows.name(), Some(line), problem))?;
        self.note = match (complete, named) {
            (true, _) => None,
            (false, true) => Some(describe(&roles.map(|&place| cells[place].trim().to_owned()))),
            (false, false) => Some(format!("no header line; {}", describe(&roles.map(|place| place + 1)))),
        };
        self.layout = Layout::Cells { width: cells.len(), roles };
        if !named {
            self.ahead.push_front(Ok((line, first)));
        }
        Ok(())
    }

    fn example(&mut self, line: usize, row: Row) -> Result<TextExample> {
        let parts = match row {
            Row::Text(text) => self.of_line(text),
            Row::Cells(cells) => self.of_cells(&cells),
            Row::Object(object) => self.of_object(&object),
        };
        let need = self.options.labels;
        let (texts, labels) = parts
            .and_then(|parts| match parts {
                (_, None) if need == LabelNeed::Required => {
                    Err("the row has no label; give it one or take it out".into())
                }
                parts => Ok(parts),
            })
            .map_err(|problem: String| Error::content(self.rows.name(), Some(line), problem))?;
        self.empty += usize::from(texts.iter().any(|text| text.trim().is_empty()));
        Ok(TextExample { texts, labels: labels.unwrap_or_default(), line })
    }

    fn of_line(&self, line: String) -> Result<Parts, String> {
        let texts = match (self.options.pairs, line.split_once('\t')) {
            (Some(true), None) => {
                return Err("expected a pair of texts with a tab between them, as the model was fine-tuned on, found \
                            one text"
                    .into());
            }
            (Some(false), _) | (None, None) => vec![line],
            (_, Some((first, second))) => vec![first.to_owned(), second.to_owned()],
        };
        Ok((texts, None))
    }

    fn of_cells(&self, cells: &[String]) -> Result<Parts, String> {
        let Layout::Cells { width, roles } = &self.layout else { unreachable!("cells of a table") };
        if cells.len() != *width {
            let cause = match self.rows.format() {
                Format::Csv => "is there a comma in a cell without quotes, or a quote that does not end?",
                _ => "is there a tab in a text, or one too few?",
            };
            return Err(format!(
                "expected {width} cells as in the first row, found {}; {cause}",
                cells.len()
            ));
        }
        let texts = roles.texts.iter().map(|&place| cells[place].clone()).collect();
        Ok((texts, roles.label.and_then(|place| self.labels_in(&cells[place]))))
    }

    fn of_object(&mut self, object: &Map<String, Value>) -> Result<Parts, String> {
        let roles = self.roles_in(object)?;
        let no_text =
            |name: &String| format!("the field {name:?} is missing, or is no text; expected a string");
        let text = |name: &String| object.get(name).and_then(scalar).ok_or_else(|| no_text(name));
        let texts = roles.texts.iter().map(text).collect::<Result<_, _>>()?;
        let labels = match roles.label.as_ref().and_then(|name| object.get(name)) {
            None | Some(Value::Null) => None,
            Some(Value::Array(list)) => Some(list.iter().map(label).collect::<Result<_, _>>()?),
            Some(value) => self.labels_in(&label(value)?),
        };
        Ok((texts, labels))
    }

    /// The fields of an object: those of the first, so that all examples of a file are alike.
    fn roles_in(&mut self, object: &Map<String, Value>) -> Result<Roles<String>, String> {
        if let Layout::Objects(Some(roles)) = &self.layout {
            return Ok(roles.clone());
        }
        let (columns, need) = (&self.options.columns, self.options.labels);
        let names: Vec<String> = object.keys().cloned().collect();
        let roles = columns.among_names(&names, need)?.map(|&place| names[place].clone());
        self.note = (!columns.are_complete(need)).then(|| describe(&roles));
        // Where labels are optional, a later object may show what they are called.
        if roles.label.is_some() || need == LabelNeed::Ignored {
            self.layout = Layout::Objects(Some(roles.clone()));
        }
        Ok(roles)
    }

    /// The labels in a cell; none if it is empty, unless several are possible, and so also none of them.
    fn labels_in(&self, cell: &str) -> Option<Vec<String>> {
        let labels: Vec<String> = match self.options.label_separator {
            Some(separator) => cell.split(separator).map(str::trim).map(str::to_owned).collect(),
            None => vec![cell.trim().to_owned()],
        };
        let labels: Vec<String> = labels.into_iter().filter(|label| !label.is_empty()).collect();
        (self.options.label_separator.is_some() || !labels.is_empty()).then_some(labels)
    }
}

impl Iterator for TextReader {
    type Item = Result<TextExample>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.ahead.pop_front().or_else(|| self.rows.next())?;
        Some(row.and_then(|(line, row)| self.example(line, row)))
    }
}

/// The rows of cells that are known.
fn sample<'r>(first: &'r [String], ahead: &'r VecDeque<Result<(usize, Row)>>) -> Vec<&'r [String]> {
    let more = ahead.iter().filter_map(|row| match row {
        Ok((_, Row::Cells(cells))) => Some(cells.as_slice()),
        _ => None,
    });
    [first].into_iter().chain(more).collect()
}

fn describe<K: std::fmt::Display>(roles: &Roles<K>) -> String {
    let mut said = format!("columns: text = {}", roles.texts[0]);
    if let Some(second) = roles.texts.get(1) {
        said += &format!(", text2 = {second}");
    }
    if let Some(label) = &roles.label {
        said += &format!(", label = {label}");
    }
    said
}

fn label(value: &Value) -> Result<String, String> {
    scalar(value)
        .ok_or_else(|| format!("the label {value} is no text and no number; expected one, or a list of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct File {
        dir: tempfile::TempDir,
        name: &'static str,
    }

    impl File {
        fn new(name: &'static str, content: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join(name), content).unwrap();
            Self { dir, name }
        }

        fn read(&self, options: &TextOptions) -> Result<Labelled<TextExample>> {
            read_texts(&self.dir.path().join(self.name), options)
        }

        /// What a refusal says behind the directory's name.
        fn refusal(&self, options: &TextOptions) -> String {
            self.read(options).unwrap_err().to_string().split_once(self.name).unwrap().1.to_owned()
        }

        fn reader(&self, options: &TextOptions) -> TextReader {
            TextReader::open(&self.dir.path().join(self.name), options).unwrap()
        }
    }

    fn columns(text: &str, text2: &str, label: &str) -> TextOptions {
        let [text, text2, label] =
            [text, text2, label].map(|name| (!name.is_empty()).then(|| name.to_owned()));
        TextOptions { columns: Columns { text, text2, label }, ..TextOptions::default() }
    }

    fn shown(read: &Labelled<TextExample>) -> Vec<String> {
        let shown = |e: &TextExample| format!("{} {} {}", e.line, e.texts.join("|"), e.labels.join("+"));
        read.examples.iter().map(shown).collect()
    }

    #[test]
    fn pairs_and_their_labels_are_found() {
        let file = File::new(
            "x.tsv",
            "\u{feff}index\tquestion\tsentence\tlabel\r\n7\tWho?\t\"He\tno\r\n\r\n8\t\tx\tyes\r\n",
        );
        let read = file.read(&TextOptions::default()).unwrap();
        assert_eq!(shown(&read), ["2 Who?|\"He no", "4 |x yes"]);
        let said =
            ["columns: text = question, text2 = sentence, label = label", "examples with an empty text: 1"];
        assert_eq!(read.notes, said);
        let read = file.read(&columns("sentence", "", "1")).unwrap();
        assert_eq!((shown(&read)[1].as_str(), read.notes.len()), ("4 x 8", 0), "nothing was guessed");
    }

    #[test]
    fn files_without_a_header_have_numbers() {
        let file = File::new("x.txt", "a title\t3\nthe next\t1\nlast one\t3\n");
        let read = file.read(&TextOptions::default()).unwrap();
        assert_eq!(shown(&read), ["1 a title 3", "2 the next 1", "3 last one 3"]);
        assert_eq!(read.notes, ["no header line; columns: text = 1, label = 2"]);
        assert_eq!(shown(&file.read(&columns("1", "", "2")).unwrap()), shown(&read));
        assert!(
            file.refusal(&columns("title", "", ""))
                .starts_with(":1: there is no column \"title\"; the first row")
        );
    }

    #[test]
    fn csv_cells_may_have_anything_in_them() {
        let file = File::new("x.csv", "text,class\n\"one,\ntwo\",a\nthree,b\n\"four,c\nfive,d\n");
        assert_eq!(
            file.refusal(&TextOptions::default()),
            ":5: expected 2 cells as in the first row, found 1; is there a comma in a cell without quotes, or a quote that \
             does not end?"
        );
        let first = file.reader(&TextOptions::default()).next().unwrap().unwrap();
        assert_eq!((first.texts[0].as_str(), first.line), ("one,\ntwo", 2));
    }

    #[test]
    fn a_stream_goes_on_behind_a_bad_row() {
        let file = File::new("x.tsv", "text\tlabel\na\t1\nb\nc\t\nd\t0\n");
        let got: Vec<_> = file.reader(&TextOptions::default()).collect();
        assert_eq!(got.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true]);
        assert!(
            file.refusal(&TextOptions::default())
                .starts_with(":3: expected 2 cells as in the first row, found 1")
        );
        assert!(
            got[2]
                .as_ref()
                .unwrap_err()
                .to_string()
                .ends_with(":4: the row has no label; give it one or take it out")
        );
        let optional = TextOptions { labels: LabelNeed::Optional, ..TextOptions::default() };
        let labels: Vec<_> = file.reader(&optional).flatten().map(|example| example.labels.len()).collect();
        assert_eq!(labels, [1, 0, 1]);
    }

    #[test]
    fn json_objects_name_their_fields() {
        let lines = "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": true}\n{\"label\": [\"x\", 2.5], \"text\": \"c\"}\n";
        let read = File::new("x.jsonl", lines).read(&TextOptions::default()).unwrap();
        assert_eq!(shown(&read), ["1 a 1", "2 b true", "3 c x+2.5"]);
        assert_eq!(read.notes, ["columns: text = text, label = label"]);
        let file = File::new(
            "x.jsonl",
            "{\"premise\": \"a\", \"hypothesis\": \"b\", \"kind\": null}\n{\"premise\": \"c\"}\n",
        );
        let none = TextOptions { labels: LabelNeed::Optional, ..TextOptions::default() };
        let got: Vec<_> = file.reader(&none).collect();
        assert_eq!(got[0].as_ref().unwrap().texts, ["a", "b"]);
        assert!(
            file.refusal(&TextOptions::default()).contains(":1: which column is the label? there is premise")
        );
        assert!(file.refusal(&columns("premise", "", "kind")).starts_with(":1: the row has no label"));
    }

    #[test]
    fn a_cell_may_hold_several_labels() {
        let several = TextOptions { label_separator: Some('|'), ..TextOptions::default() };
        let read = File::new("x.tsv", "text\tlabels\na\tx | y\nb\t\n").read(&several).unwrap();
        assert_eq!(read.examples[0].labels, ["x", "y"]);
        assert!(read.examples[1].labels.is_empty(), "none of them is an answer too");
    }

    #[test]
    fn a_tab_separates_the_texts_of_a_line() {
        let file = File::new("x.txt", "one\ttwo\nthree\n");
        let texts = |pairs: Option<bool>| -> Vec<String> {
            let options = TextOptions {
                format: Some(Format::Lines),
                labels: LabelNeed::Ignored,
                pairs,
                ..TextOptions::default()
            };
            let shown = |example: Result<TextExample>| {
                example.map_or_else(|error| error.to_string(), |example| example.texts.join("|"))
            };
            file.reader(&options).map(shown).collect()
        };
        assert_eq!(texts(None), ["one|two", "three"]);
        assert_eq!(texts(Some(false)), ["one\ttwo", "three"]);
        let strict = texts(Some(true));
        assert!(strict[0] == "one|two" && strict[1].contains(":2: expected a pair of texts"), "{strict:?}");
    }

    #[test]
    fn lines_are_texts_without_labels() {
        let file = File::new("x.txt", "one text\n\nanother\n");
        assert!(file.refusal(&TextOptions::default()).contains("--format"));
        let ignored = TextOptions { labels: LabelNeed::Ignored, ..TextOptions::default() };
        let read = file.read(&ignored).unwrap();
        assert_eq!(shown(&read), ["1 one text ", "2  ", "3 another "], "an empty line is an empty text");
        assert_eq!(read.notes, ["examples with an empty text: 1"]);
        assert!(File::new("x.tsv", "\n").refusal(&ignored).contains("no example"));
        assert!(File::new("x.tsv", "text\tlabel\n").refusal(&ignored).contains("no example"));
    }
}
