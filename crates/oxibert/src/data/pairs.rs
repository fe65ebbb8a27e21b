//! Sentences and their translations: one file with tabs, or two files of aligned lines.
//!
//! A table has a pair on each line, `source TAB target`; what follows a second tab is left out, as the attribution in
//! Tatoeba's files is. Tatoeba's own export, with a number before each sentence, is read too. Two files belong together
//! line by line, as Multi30k and WMT come. Either may be gzip or zstd, as everywhere.

use std::path::Path;

use super::corpus::Input;
use super::{Corpus, Line, Lines};
use crate::{Error, Result};

/// A sentence and its translation, without blanks around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// What is translated.
    pub source: String,
    /// What it is translated to.
    pub target: String,
    /// The number (from 1) of the line in its file.
    pub line: usize,
}

impl Pair {
    /// Whether both sides say something.
    pub fn is_complete(&self) -> bool {
        !self.source.is_empty() && !self.target.is_empty()
    }
}

/// What becomes of a pair that has an empty side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// It is counted and left out: training learns nothing from it.
    Skip,
    /// It is counted and kept: as many lines come out as went in.
    Keep,
}

/// Sentences with their translations, in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    /// The pairs, in the order of their lines.
    pub pairs: Vec<Pair>,
    /// How many pairs had an empty side, whether they were kept or not.
    pub incomplete: usize,
    /// What a person should know about the files: a header, columns left out, empty sides.
    pub notes: Vec<String>,
}

impl Pairs {
    /// Reads one table, or two files of aligned lines, the sources first.
    ///
    /// # Errors
    /// Where a file cannot be read, a line of a table has no tab, two files have different numbers of lines, or
    /// nothing is left.
    pub fn load<P: AsRef<Path>>(files: &[P], incomplete: Incomplete) -> Result<Self> {
        let corpora: Vec<Corpus> =
            files.iter().map(|file| Corpus::open([file.as_ref()])).collect::<Result<_>>()?;
        match corpora.as_slice() {
            [table] => Self::from_table(table, incomplete),
            [sources, targets] => Self::from_aligned(sources, targets, incomplete),
            _ => {
                let problem = "name one file of lines `source TAB target`, or two files of aligned lines";
                Err(Error::setting("pairs", problem))
            }
        }
    }

    /// The pairs of a table: `source TAB target` on each line.
    ///
    /// ```
    /// use oxibert::data::{Corpus, Incomplete, Pairs};
    ///
    /// let table = Corpus::from_text("pairs.tsv", "english\tspanish\nGo.\tVe.\tCC-BY 2.0\nHi.\t\n");
    /// let read = Pairs::from_table(&table, Incomplete::Skip)?;
    /// assert_eq!((read.pairs[0].source.as_str(), read.pairs[0].target.as_str()), ("Go.", "Ve."));
    /// assert_eq!((read.pairs.len(), read.incomplete, read.notes.len()), (1, 1, 3));
    /// # Ok::<(), oxibert::Error>(())
    /// ```
    ///
    /// # Errors
    /// Where it cannot be read, a line has no tab, or nothing is left.
    pub fn from_table(table: &Corpus, incomplete: Incomplete) -> Result<Self> {
        let mut gathered = Gathered::new(incomplete);
        let mut columns = None;
        let mut lines = table.lines();
        while let Some(line) = lines.next_line()? {
            if line.number == 1 {
                // Every file may begin with a header and count its columns differently.
                columns = None;
                if is_header(line.text) {
                    let names = line.text.replace('\t', ", ");
                    gathered
                        .note(format!("{}: line 1 is a header ({names}) and was skipped", name_of(&line)));
                    continue;
                }
            }
            if line.text.trim().is_empty() {
                gathered.add("", "", line.number);
                continue;
            }
            let first = columns.is_none();
            let columns = *columns.get_or_insert_with(|| Columns::of(line.text));
            let (source, target) = columns.split(&line)?;
            if let Some(remark) = columns.remark(line.text).filter(|_| first) {
                gathered.note(format!("{}: {remark}", name_of(&line)));
            }
            gathered.add(source, target, line.number);
        }
        gathered.finish(table)
    }

    /// The pairs of two files: line by line, the one translates the other.
    ///
    /// # Errors
    /// Where one cannot be read, one has more lines than the other, or nothing is left.
    pub fn from_aligned(sources: &Corpus, targets: &Corpus, incomplete: Incomplete) -> Result<Self> {
        let both_stdin = [sources, targets].iter().all(|c| matches!(c.inputs(), [Input::Stdin, ..]));
        if both_stdin {
            return Err(Error::setting("pairs", "only one of two aligned files can be - (standard input)"));
        }
        let mut gathered = Gathered::new(incomplete);
        let (mut left, mut right) = (sources.lines(), targets.lines());
        loop {
            match (left.next_line()?, right.next_line()?) {
                (Some(source), Some(target)) => gathered.add(source.text, target.text, source.number),
                (None, None) => return gathered.finish(sources),
                (source, target) => {
                    let (more_left, more_right) = (source.is_some(), target.is_some());
                    let counts = [
                        gathered.read + usize::from(more_left) + remaining(&mut left)?,
                        gathered.read + usize::from(more_right) + remaining(&mut right)?,
                    ];
                    return Err(unequal([sources, targets], counts));
                }
            }
        }
    }
}

/// Pairs while they are read.
struct Gathered {
    incomplete: Incomplete,
    pairs: Pairs,
    read: usize,
    equal: usize,
}

impl Gathered {
    fn new(incomplete: Incomplete) -> Self {
        Self { incomplete, pairs: Pairs::default(), read: 0, equal: 0 }
    }

    fn note(&mut self, note: String) {
        self.pairs.notes.push(note);
    }

    fn add(&mut self, source: &str, target: &str, line: usize) {
        self.read += 1;
        let pair = Pair { source: source.trim().to_owned(), target: target.trim().to_owned(), line };
        let complete = pair.is_complete();
        self.pairs.incomplete += usize::from(!complete);
        self.equal += usize::from(complete && pair.source == pair.target);
        if complete || self.incomplete == Incomplete::Keep {
            self.pairs.pairs.push(pair);
        }
    }

    fn finish(mut self, from: &Corpus) -> Result<Pairs> {
        let name = name(from);
        let (read, empty) = (self.read, self.pairs.incomplete);
        if self.pairs.pairs.is_empty() {
            let problem =
                format!("no pair of sentences in {read} lines; both sides of a pair must have text");
            return Err(Error::content(name, None, problem));
        }
        if empty > 0 {
            let fate = if self.incomplete == Incomplete::Skip { " and were left out" } else { "" };
            let note = format!("{}: {empty} of {read} pairs have an empty side{fate}", name.display());
            self.note(note);
        }
        // A copied file would teach a model to copy.
        if 2 * self.equal > read {
            let equal = self.equal;
            let note = format!("{}: {equal} of {read} pairs say the same on both sides", name.display());
            self.note(note);
        }
        Ok(self.pairs)
    }
}

/// Which columns of a table are the two sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// `source TAB target`.
    Plain,
    /// `number TAB source TAB number TAB target`, as Tatoeba exports pairs.
    Numbered,
}

impl Columns {
    /// What the first line of a table tells.
    fn of(line: &str) -> Self {
        let mut columns = line.split('\t');
        let is_number = |column: Option<&str>| {
            column.is_some_and(|c| !c.is_empty() && c.bytes().all(|b| b.is_ascii_digit()))
        };
        let (number, _, other) = (columns.next(), columns.next(), columns.next());
        let numbered = is_number(number) && is_number(other) && columns.next().is_some();
        if numbered { Self::Numbered } else { Self::Plain }
    }

    fn split<'l>(self, line: &Line<'l>) -> Result<(&'l str, &'l str)> {
        let mut columns = line.text.split('\t');
        let sides = match self {
            Self::Plain => (columns.next(), columns.next()),
            Self::Numbered => (columns.nth(1), columns.nth(1)),
        };
        if let (Some(source), Some(target)) = sides {
            return Ok((source, target));
        }
        let problem = match self {
            Self::Plain => {
                "there is no tab in this line; expected `source TAB target` (two files of aligned lines are \
                 given as two files)"
            }
            Self::Numbered => "fewer than four columns; expected `number TAB source TAB number TAB target`",
        };
        Err(Error::content(line.path, Some(line.number), problem))
    }

    /// What is left out, seen at the first line.
    fn remark(self, line: &str) -> Option<String> {
        match self {
            Self::Plain => {
                let third = line.split('\t').nth(2)?;
                let begin: String = third.chars().take(24).collect();
                Some(format!("columns after the second are left out, such as {begin:?}"))
            }
            Self::Numbered => {
                Some("sentences are read from columns 2 and 4, beside their numbers".to_owned())
            }
        }
    }
}

/// Names of columns, in small letters, by which a header is known.
const COLUMN_NAMES: &str = "source target src tgt trg reference ref translation input output";

/// Languages that name columns: codes of ISO 639-1 that are no common words, and English names.
const LANGUAGES: &str = "en de fr es it pt nl ru zh ja ko ar cs pl tr vi uk sv fi el \
    english german french spanish italian portuguese dutch russian chinese japanese \
    korean arabic czech polish turkish vietnamese ukrainian swedish finnish greek";

/// Whether the first two columns are names of columns: both from one list, and different.
fn is_header(line: &str) -> bool {
    let mut columns = line.split('\t').map(|column| column.trim().to_lowercase());
    let (Some(first), Some(second)) = (columns.next(), columns.next()) else { return false };
    let both_in =
        |list: &str| [&first, &second].iter().all(|name| list.split(' ').any(|known| known == *name));
    first != second && (both_in(COLUMN_NAMES) || both_in(LANGUAGES))
}

/// How many lines are left.
fn remaining(lines: &mut Lines<'_>) -> Result<usize> {
    let mut count = 0;
    while lines.next_line()?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn unequal(corpora: [&Corpus; 2], counts: [usize; 2]) -> Error {
    let [sources, targets] = corpora.map(name);
    let problem = format!(
        "{} lines, but {} has {}: line by line, the one must translate the other",
        counts[1],
        sources.display(),
        counts[0]
    );
    Error::content(targets, None, problem)
}

/// What a corpus is called in messages: its first file.
fn name(corpus: &Corpus) -> &Path {
    corpus.inputs().first().map_or(Path::new(""), Input::name)
}

fn name_of(line: &Line<'_>) -> String {
    line.path.display().to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn table(text: &str, incomplete: Incomplete) -> Result<Pairs> {
        Pairs::from_table(&Corpus::from_text("t.tsv", text), incomplete)
    }

    fn aligned(sources: &str, targets: &str, incomplete: Incomplete) -> Result<Pairs> {
        let [sources, targets] =
            [("a.en", sources), ("a.de", targets)].map(|(name, text)| Corpus::from_text(name, text));
        Pairs::from_aligned(&sources, &targets, incomplete)
    }

    fn sides(pairs: &Pairs) -> Vec<(&str, &str, usize)> {
        pairs.pairs.iter().map(|pair| (pair.source.as_str(), pair.target.as_str(), pair.line)).collect()
    }

    #[test]
    fn a_table_is_read() {
        let read = table("Go.\tVe.\r\n Hi. \t¡Hola! \n", Incomplete::Skip).unwrap();
        assert_eq!(sides(&read), [("Go.", "Ve.", 1), ("Hi.", "¡Hola!", 2)]);
        assert!(read.notes.is_empty() && read.incomplete == 0);
    }

    #[test]
    fn further_columns_are_left_out_and_told_once() {
        let read =
            table("Go.\tVe.\tCC-BY 2.0 (France) Attribution: x\nHi.\tHola.\tCC\n", Incomplete::Skip).unwrap();
        assert_eq!(sides(&read), [("Go.", "Ve.", 1), ("Hi.", "Hola.", 2)]);
        assert_eq!(read.notes.len(), 1);
        assert!(read.notes[0].contains("t.tsv") && read.notes[0].contains("CC-BY 2.0"), "{:?}", read.notes);
    }

    #[test]
    fn exports_with_numbers_are_read() {
        let read =
            table("1276\tLet's try.\t2481\t¡Intentemos!\n77\tHi.\t88\tHola.\n", Incomplete::Skip).unwrap();
        assert_eq!(sides(&read), [("Let's try.", "¡Intentemos!", 1), ("Hi.", "Hola.", 2)]);
        assert!(read.notes[0].contains("columns 2 and 4"), "{:?}", read.notes);
        let error = table("1\tA.\t2\tB.\n3\tC.\n", Incomplete::Skip).unwrap_err().to_string();
        assert!(error.starts_with("t.tsv:2:") && error.contains("four columns"), "{error}");
        // Numbers can be what is translated.
        let read = table("1929\t1929\n", Incomplete::Skip).unwrap();
        assert_eq!(sides(&read), [("1929", "1929", 1)]);
    }

    #[test]
    fn headers_are_known_and_sentences_are_not_taken_for_them() {
        for header in ["source\ttarget", "Source\tTarget\tby", "src\ttgt", "en\tde", "English\tSpanish"] {
            let read = table(&format!("{header}\nGo.\tVe.\n"), Incomplete::Keep).unwrap();
            assert_eq!(sides(&read), [("Go.", "Ve.", 2)], "{header}");
            assert!(read.notes[0].contains("header"), "{:?}", read.notes);
        }
        for sentence in ["No\tNo", "Hi\tHallo", "Text\tText", "en\ten", "source\tQuelle"] {
            assert_eq!(table(sentence, Incomplete::Keep).unwrap().pairs.len(), 1, "{sentence}");
        }
        // Only the first line can be one.
        assert_eq!(table("Go.\tVe.\nsource\ttarget\n", Incomplete::Keep).unwrap().pairs.len(), 2);
    }

    #[test]
    fn empty_sides_are_counted_and_kept_where_lines_must_agree() {
        let text = "Go.\tVe.\n\tnada\nnothing\t\n\n \t \nHi.\tHola.\n";
        let skipped = table(text, Incomplete::Skip).unwrap();
        assert_eq!(sides(&skipped), [("Go.", "Ve.", 1), ("Hi.", "Hola.", 6)]);
        assert_eq!(skipped.incomplete, 4);
        assert!(
            skipped.notes[0].contains("4 of 6") && skipped.notes[0].contains("left out"),
            "{:?}",
            skipped.notes
        );
        let kept = table(text, Incomplete::Keep).unwrap();
        assert_eq!((kept.pairs.len(), kept.incomplete), (6, 4));
        assert_eq!(sides(&kept)[1..4], [("", "nada", 2), ("nothing", "", 3), ("", "", 4)]);
        assert!(!kept.notes[0].contains("left out"), "{:?}", kept.notes);
        let files = aligned("a\n\nc\n", "x\ny\n\n", Incomplete::Skip).unwrap();
        assert_eq!((sides(&files), files.incomplete), (vec![("a", "x", 1)], 2));
        assert_eq!(aligned("a\n\nc\n", "x\ny\n\n", Incomplete::Keep).unwrap().pairs.len(), 3);
    }

    #[test]
    fn a_line_without_a_tab_is_named() {
        let error = table("Go.\tVe.\nHi. Hola.\n", Incomplete::Skip).unwrap_err().to_string();
        assert!(
            error.starts_with("t.tsv:2:") && error.contains("no tab") && error.contains("two files"),
            "{error}"
        );
    }

    #[test]
    fn files_of_different_lengths_are_refused_with_both_counts() {
        for (sources, targets, counts) in
            [("a\nb\nc\n", "x\n", [3, 1]), ("a", "x\ny\n\n", [1, 3]), ("", "x", [0, 1])]
        {
            let error = aligned(sources, targets, Incomplete::Keep).unwrap_err().to_string();
            assert!(error.contains(&format!("a.de: {} lines", counts[1])), "{error}");
            assert!(error.contains(&format!("a.en has {}", counts[0])), "{error}");
        }
    }

    #[test]
    fn nothing_to_read_is_an_error() {
        for text in ["", "source\ttarget\n", "\n\t\n"] {
            let error = table(text, Incomplete::Skip).unwrap_err().to_string();
            assert!(error.contains("t.tsv") && error.contains("no pair"), "{error}");
        }
        let none: [&str; 0] = [];
        assert!(Pairs::load(&none, Incomplete::Skip).unwrap_err().to_string().contains("two files"));
        assert!(
            Pairs::load(&["-", "-"], Incomplete::Skip).unwrap_err().to_string().contains("standard input")
        );
    }

    #[test]
    fn a_copy_is_noticed() {
        let read = aligned("a\nb\nc\n", "a\nb\nx\n", Incomplete::Skip).unwrap();
        assert!(read.notes[0].contains("2 of 3 pairs say the same on both sides"), "{:?}", read.notes);
        assert!(aligned("a\nb\n", "a\nx\n", Incomplete::Skip).unwrap().notes.is_empty());
    }

    #[test]
    fn compressed_files_read_alike() {
        let dir = tempfile::tempdir().unwrap();
        let (english, german) = (dir.path().join("t.en.gz"), dir.path().join("t.de.zst"));
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"one\ntwo\n").unwrap();
        fs::write(&english, gzip.finish().unwrap()).unwrap();
        fs::write(&german, zstd::encode_all(&b"eins\nzwei\n"[..], 3).unwrap()).unwrap();
        let read = Pairs::load(&[english, german], Incomplete::Skip).unwrap();
        assert_eq!(sides(&read), [("one", "eins", 1), ("two", "zwei", 2)]);
    }
}
