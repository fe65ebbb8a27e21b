//! How a file holds rows.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::Error;

/// How a file holds rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A text per line.
    Lines,
    /// Cells with tabs between them, never quoted (GLUE's files are not).
    Tsv,
    /// Cells with commas between them, quoted where one holds a comma, a quote or a line end.
    Csv,
    /// A JSON object per line.
    JsonLines,
}

impl Format {
    /// What a file's name says, also with `.gz` or `.zst` behind it. Of other names (`.txt`, `-`) the first line decides:
    /// [JSON lines](Self::JsonLines) if it is in braces, [TSV](Self::Tsv) if it has a tab, else [lines](Self::Lines).
    ///
    /// ```
    /// use oxibert::data::labelled::Format;
    /// assert_eq!(Format::of("dev.tsv.gz".as_ref()), Some(Format::Tsv));
    /// ```
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let bare = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match bare.rsplit_once('.')?.1 {
            "tsv" => Some(Self::Tsv),
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" | "json" => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// What a file's first line says.
    pub(super) fn of_line(line: &str) -> Self {
        if line.trim_start().starts_with('{') && line.trim_end().ends_with('}') {
            Self::JsonLines
        } else if line.contains('\t') {
            Self::Tsv
        } else {
            Self::Lines
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "lines" => Ok(Self::Lines),
            "tsv" => Ok(Self::Tsv),
            "csv" => Ok(Self::Csv),
            "jsonl" => Ok(Self::JsonLines),
            _ => Err(Error::setting("format", format!("{name:?} is none of lines, tsv, csv, jsonl"))),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Lines => "lines",
            Self::Tsv => "tsv",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_lines_tell() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a/B.CSV"), Some(Format::Csv));
        assert_eq!(of("x.jsonl.zst"), Some(Format::JsonLines));
        assert_eq!((of("x.txt"), of("-"), of("tsv"), of("")), (None, None, None, None));
        assert_eq!(Format::of_line("a\tb"), Format::Tsv);
        assert_eq!(Format::of_line(" {\"text\": \"a\tb\"} "), Format::JsonLines);
        assert_eq!(Format::of_line("{ O"), Format::Lines);
    }

    #[test]
    fn a_format_is_what_it_is_called() {
        for format in [Format::Lines, Format::Tsv, Format::Csv, Format::JsonLines] {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert!("xml".parse::<Format>().unwrap_err().to_string().contains("jsonl"));
    }
}
