//! JSON lines: an object per line, one of its fields is the text of a document.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{Form, Paragraph, Piece, ReadPieces, document};
use crate::data::corpus::Input;
use crate::data::{Block, Blocks};
use crate::{Error, Result};

/// A line must be held in memory as a whole, so it must end somewhere.
const LONGEST_LINE: usize = if cfg!(test) { 1 << 12 } else { 1 << 28 };
/// So many fields are named to someone who asked for one that is not there.
const NAMED_FIELDS: usize = 12;

/// Gives out whole lines.
pub(super) struct Reader<'d> {
    blocks: Blocks<'d>,
    column: Arc<str>,
}

impl<'d> Reader<'d> {
    pub(super) fn new(input: &'d Input, column: &Arc<str>) -> Self {
        Self { blocks: Blocks::new(std::slice::from_ref(input)), column: column.clone() }
    }

    #[cfg(test)]
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.blocks.set_limit(limit);
    }
}

impl ReadPieces for Reader<'_> {
    fn next_piece(&mut self) -> Result<Option<Piece>> {
        let Some(Block { mut text, path, line, .. }) = self.blocks.next().transpose()? else {
            return Ok(None);
        };
        // A block without a line end at its end is the file's last, or the beginning of a long line.
        while !text.ends_with('\n') {
            let Some(block) = self.blocks.next().transpose()? else { break };
            text.push_str(&block.text);
            if text.len() > LONGEST_LINE {
                let problem = format!(
                    "more than {LONGEST_LINE} bytes without a line end; expected a JSON object on every line"
                );
                return Err(Error::content(&path, Some(line), problem));
            }
        }
        Ok(Some(Piece { path, text, line, form: Form::JsonLines(self.column.clone()) }))
    }

    fn consumed(&self) -> u64 {
        self.blocks.consumed()
    }
}

/// The lines of the documents in a piece. Where the field is null there is no document.
pub(super) fn paragraphs(piece: &Piece, column: &str, each: &mut impl FnMut(Paragraph<'_>)) -> Result<()> {
    for (number, line) in piece.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let refuse = |problem: String| piece.refuse(piece.line + number, problem);
        match field(line, column).map_err(|error| refuse(malformed(&error)))? {
            Some(Some(text)) => document(&text, each),
            Some(None) => {}
            None => return Err(refuse(missing(line, column))),
        }
    }
    Ok(())
}

/// The string in a field of a JSON object: absent where the object has no such field, `Some(None)` where it is null.
fn field<'l>(line: &'l str, name: &str) -> Result<Option<Option<Cow<'l, str>>>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(line);
    let found = Object { name }.deserialize(&mut json)?;
    json.end()?;
    Ok(found)
}

fn malformed(error: &serde_json::Error) -> String {
    let said = error.to_string();
    // The line is the file's, which the caller knows, not that of the text that was parsed.
    let what = said.split(" at line ").next().unwrap_or_default();
    format!(
        "byte {} of the line: {what}; expected a JSON object on every line, as jq -c . (or jq -c '.[]' of an array) writes \
         them",
        error.column()
    )
}

fn missing(line: &str, name: &str) -> String {
    let object: Map<String, Value> = serde_json::from_str(line).unwrap_or_default();
    let mut there: Vec<&str> = object.keys().take(NAMED_FIELDS).map(String::as_str).collect();
    if object.len() > NAMED_FIELDS {
        there.push("…");
    }
    let there = if there.is_empty() { "nothing".into() } else { there.join(", ") };
    format!("no field {name:?}; there is {there}; name the one with the text by --column")
}

/// Reads one field of an object and passes over the others without building them.
struct Object<'n> {
    name: &'n str,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Option<Option<Cow<'de, str>>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Option<Option<Cow<'de, str>>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_wanted) = fields.next_key_seed(Key { name: self.name })? {
            if !is_wanted {
                fields.next_value::<IgnoredAny>()?;
            } else if found.replace(fields.next_value_seed(Text { name: self.name })?).is_some() {
                return Err(A::Error::custom(format_args!("the field {:?} stands twice", self.name)));
            }
        }
        Ok(found)
    }
}

/// Whether a key is the wanted one.
struct Key<'n> {
    name: &'n str,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.name)
    }
}

/// A string (lent where it has no escapes) or null.
struct Text<'n> {
    name: &'n str,
}

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a string in the field {:?}", self.name)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
