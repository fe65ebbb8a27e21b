//! Multiple choice: a beginning and several ways to go on, one of them right. JSON lines, as of SWAG.

use std::path::Path;

use serde_json::{Map, Value};

use super::stream::Stream;
use super::{Labelled, parse_line, scalar};
use crate::{Error, Result};

const LINE: &str = "{\"sent1\", \"sent2\", \"ending0\", \"ending1\", …, \"label\"} or {\"context\" (or prompt, question), \"choices\": […], \
                    \"label\"} on every line";

/// A beginning and its choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    /// What all choices follow.
    pub first: String,
    /// The choices, two or more.
    pub seconds: Vec<String>,
    /// Which is right, from 0, where that is known.
    pub right: Option<usize>,
    /// The line of the file, from 1.
    pub line: usize,
}

/// Reads JSON lines: SWAG's `{"sent1", "sent2", "ending0", …, "label"}`, or `{"context", "choices": […], "label"}`.
pub fn read_choices(path: &Path) -> Result<Labelled<Choices>> {
    let stream = Stream::open(path)?;
    let name = stream.name();
    let mut examples = Vec::new();
    for line in stream {
        let (line, text) = line?;
        if !text.trim().is_empty() {
            let choices =
                parse_choices(&text).map_err(|problem| Error::content(&name, Some(line), problem))?;
            examples.push(Choices { line, ..choices });
        }
    }
    Labelled::new(&name, examples, Vec::new())
}

/// One JSON object with choices. A label counts from 0, or is a letter from A on.
///
/// ```
/// use oxibert::data::labelled::parse_choices;
///
/// let choices = parse_choices(r#"{"prompt": "2 + 2 =", "choices": ["3", "4"], "label": "B"}"#).unwrap();
/// assert_eq!((choices.seconds[1].as_str(), choices.right), ("4", Some(1)));
/// ```
pub fn parse_choices(line: &str) -> Result<Choices, String> {
    let object: Map<String, Value> = parse_line(line, LINE)?;
    let text = |name: &str| object.get(name).and_then(scalar);
    let (first, begin, ends) = match text("sent1") {
        Some(first) => {
            (first, text("sent2"), (0..).map_while(|number| text(&format!("ending{number}"))).collect())
        }
        None => listed(&object)?,
    };
    if ends.len() < 2 {
        return Err(format!("{} choices; expected two or more: {LINE}", ends.len()));
    }
    let seconds: Vec<String> = match begin.filter(|begin| !begin.is_empty()) {
        Some(begin) => ends.iter().map(|end| format!("{begin} {end}")).collect(),
        None => ends,
    };
    let right = object.get("label").map_or(Ok(None), |label| right(label, seconds.len()))?;
    Ok(Choices { first, seconds, right, line: 0 })
}

/// A beginning, what is between it and each choice, and the choices.
type Parts = (String, Option<String>, Vec<String>);

fn listed(object: &Map<String, Value>) -> Result<Parts, String> {
    let mut begins =
        ["context", "ctx", "prompt", "question"].iter().filter_map(|name| object.get(*name).and_then(scalar));
    let first =
        begins.next().ok_or_else(|| format!("there is nothing that choices follow; expected {LINE}"))?;
    let list = ["choices", "endings", "options"].iter().find_map(|name| object.get(*name)?.as_array());
    let list = list.ok_or_else(|| format!("there is no list of choices; expected {LINE}"))?;
    let choice = |value: &Value| scalar(value).ok_or_else(|| format!("the choice {value} is no text"));
    // With a context there may be a question about it.
    Ok((first, begins.next(), list.iter().map(choice).collect::<Result<_, _>>()?))
}

fn right(label: &Value, choices: usize) -> Result<Option<usize>, String> {
    let said = scalar(label).unwrap_or_default();
    let number = match said.trim().as_bytes() {
        [] if label.is_null() || label.is_string() => return Ok(None),
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => said.trim().parse().ok(),
    };
    match number {
        Some(number) if number < choices => Ok(Some(number)),
        _ => Err(format!(
            "the label {label} is none of {choices} choices; expected a number from 0, or a letter from A"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_follow_their_beginning() {
        let line = r#"{"sent1": "He sits.", "sent2": "Then he", "ending0": "stands.", "ending1": "flies.", "label": 1}"#;
        let got = parse_choices(line).unwrap();
        assert_eq!((got.first.as_str(), got.right), ("He sits.", Some(1)));
        assert_eq!(got.seconds, ["Then he stands.", "Then he flies."]);
    }

    #[test]
    fn lists_of_choices_are_understood() {
        let parse = |rest: &str| parse_choices(&format!("{{\"choices\": [\"x\", 2], {rest}}}"));
        let got = parse(r#""context": "C", "question": "Q?", "label": "b""#).unwrap();
        assert_eq!((got.first.as_str(), got.right), ("C", Some(1)));
        assert_eq!(got.seconds, ["Q? x", "Q? 2"]);
        let unknown = |rest: &str| parse(&format!("\"question\": \"Q\"{rest}")).unwrap().right;
        assert_eq!(
            (unknown(""), unknown(", \"label\": null"), unknown(", \"label\": \"\"")),
            (None, None, None)
        );
        assert_eq!((unknown(", \"label\": \"0\""), unknown(", \"label\": 1")), (Some(0), Some(1)));
        for wrong in ["2", "-1", "\"C\"", "[]", "0.5", "\"both\""] {
            let error = parse(&format!("\"prompt\": \"P\", \"label\": {wrong}")).unwrap_err();
            assert!(error.contains("none of 2 choices"), "{error}");
        }
    }

    #[test]
    fn bad_lines_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.jsonl");
        for bad in [
            "{",
            "[]",
            "{\"choices\": [1, 2]}",
            "{\"prompt\": \"P\"}",
            "{\"prompt\": \"P\", \"choices\": [1]}",
        ] {
            std::fs::write(&path, format!("{{\"prompt\": \"P\", \"choices\": [\"a\", \"b\"]}}\n\n{bad}\n"))
                .unwrap();
            let error = read_choices(&path).unwrap_err().to_string();
            assert!(error.contains("c.jsonl:3: ") && error.contains("expected"), "{error}");
        }
        std::fs::write(&path, "\n").unwrap();
        assert!(read_choices(&path).unwrap_err().to_string().contains("no example"));
    }
}
