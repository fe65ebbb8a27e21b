//! Where vectors go: to the terminal, as JSON, or into a file.

use std::io::{BufWriter, StdoutLock, Write};
use std::path::Path;

use anyhow::{Result, bail};
use oxibert::infer::Embeddings;
use serde::Serialize;
use unicode_width::UnicodeWidthChar;

use super::npy::Npy;
use crate::output::results;
use crate::table;

/// Takes the vectors as they come, in the order of the texts.
pub(super) trait Sink {
    fn write(&mut self, texts: &[String], embeddings: &Embeddings) -> Result<()>;

    /// Everything has come.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The file's name says its format.
pub(super) fn file(path: &Path, width: usize) -> Result<Box<dyn Sink>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => Ok(Box::new(Npy::create(path, width)?)),
        Some("parquet") => parquet_file(path),
        _ => bail!("--out {}: the name must end in .npy or .parquet, which says the format", path.display()),
    }
}

#[cfg(feature = "parquet")]
fn parquet_file(path: &Path) -> Result<Box<dyn Sink>> {
    Ok(Box::new(super::parquet::Parquet::create(path)?))
}

#[cfg(not(feature = "parquet"))]
fn parquet_file(path: &Path) -> Result<Box<dyn Sink>> {
    bail!(
        "--out {}: this oxibert was built without Parquet; build it with \
         `cargo install --path crates/oxibert-cli --features parquet`, or write an .npy file",
        path.display()
    )
}

pub(super) fn standard_output(json: bool) -> Box<dyn Sink> {
    let out = results();
    if json { Box::new(JsonLines { out }) } else { Box::new(Glance { out, width: table::width() }) }
}

/// An object a line.
struct JsonLines {
    out: BufWriter<StdoutLock<'static>>,
}

#[derive(Serialize)]
struct JsonLine<'a> {
    embedding: &'a [f32],
}

impl Sink for JsonLines {
    fn write(&mut self, _texts: &[String], embeddings: &Embeddings) -> Result<()> {
        for embedding in embeddings.rows() {
            serde_json::to_writer(&mut self.out, &JsonLine { embedding })?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

/// For eyes: the first components, the length, and the text.
struct Glance {
    out: BufWriter<StdoutLock<'static>>,
    width: usize,
}

/// How many components are shown.
const SHOWN: usize = 6;

impl Sink for Glance {
    fn write(&mut self, texts: &[String], embeddings: &Embeddings) -> Result<()> {
        for (text, row) in texts.iter().zip(embeddings.rows()) {
            let line = glance(row);
            let room = self.width.saturating_sub(line.chars().count() + 2);
            writeln!(self.out, "{}", format_args!("{line}  {}", cut(text, room)).to_string().trim_end())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

fn glance(row: &[f32]) -> String {
    let shown = row.iter().take(SHOWN).map(|value| format!("{value:>8.4}")).collect::<String>();
    let dots = if row.len() > SHOWN { " …" } else { "" };
    let square: f64 = row.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    format!("{shown}{dots} [{}]  length {:.4}", row.len(), square.sqrt())
}

/// As much of the text as has room, on one line.
fn cut(text: &str, room: usize) -> String {
    let mut left = room;
    let mut shown = String::new();
    for c in text.chars() {
        let c = if c.is_control() { ' ' } else { c };
        let width = c.width().unwrap_or(0);
        if width > left {
            // The last character that fitted makes room for the dots.
            shown.pop();
            shown.push('…');
            break;
        }
        left -= width;
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_beginning_and_the_length() {
        assert_eq!(glance(&[3.0, -4.0]), "  3.0000 -4.0000 [2]  length 5.0000");
        assert!(glance(&[0.5; 8]).contains("0.5000 … [8]"));
        assert_eq!((&*cut("你好吗", 6), &*cut("你好吗", 5), &*cut("a\tb", 9)), ("你好吗", "你…", "a b"));
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn a_file_of_an_unknown_format_is_refused() {
        let refusal = file(Path::new("vectors.txt"), 2).err().unwrap().to_string();
        assert!(refusal.contains(".npy or .parquet"), "{refusal}");
    }
}
