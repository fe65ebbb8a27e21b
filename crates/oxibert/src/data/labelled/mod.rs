//! Labelled files: what fine-tuning learns from, evaluation checks against and prediction is asked about.
//!
//! ```text
//! stream -> table -> texts (columns)      a class, several, a number
//!      \--> tagged (words, scheme)        words and their tags
//!      \--> questions, choices
//! ```
//!
//! Plain, gzip and zstd files are read alike, and `-` is standard input. Whatever is guessed or passed over is said in
//! [`Labelled::notes`]; what cannot be right is refused with its line.

mod choices;
mod columns;
mod format;
mod questions;
mod scheme;
mod stream;
mod table;
mod tagged;
#[cfg(test)]
mod tests;
mod texts;
mod words;

pub use choices::{Choices, parse_choices, read_choices};
pub use columns::Columns;
pub use format::Format;
pub use questions::{Gold, Question, parse_question, read_questions};
pub use scheme::{Span, spans};
pub use stream::Stream;
pub use tagged::{TaggedExample, parse_tagged, read_tagged};
pub use texts::{LabelNeed, TextExample, TextOptions, TextReader, read_texts};
pub use words::split_words;

use std::path::Path;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{Error, Result};

/// The examples of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled<T> {
    /// In the order of the file.
    pub examples: Vec<T>,
    /// What is to be said aloud: guessed columns, counts of what was passed over or repaired.
    pub notes: Vec<String>,
}

impl<T> Labelled<T> {
    /// A file without any example is refused.
    fn new(path: &Path, examples: Vec<T>, notes: Vec<String>) -> Result<Self> {
        if examples.is_empty() {
            let what = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
            return Err(Error::content(path, None, format!("there is no example in it{what}")));
        }
        Ok(Self { examples, notes })
    }
}

/// Notes down how often something was met, if it was.
fn note_count(notes: &mut Vec<String>, what: &str, count: usize) {
    if count > 0 {
        notes.push(format!("{what}: {count}"));
    }
}

/// One JSON value on a line, as `T`.
fn parse_line<'l, T: Deserialize<'l>>(line: &'l str, expected: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| {
        let said = error.to_string();
        // The line is the file's, which the caller knows, not that of the text that was parsed.
        let what = said.split(" at line ").next().unwrap_or_default();
        format!("byte {} of the line: {what}; expected {expected}", error.column())
    })
}

/// Text, or the text of a number or a truth value.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// [`scalar`] of a field.
fn scalar_field<'de, D: Deserializer<'de>>(json: D) -> Result<String, D::Error> {
    let value = Value::deserialize(json)?;
    scalar(&value)
        .ok_or_else(|| serde::de::Error::custom(format_args!("{value} is neither text nor a number")))
}
