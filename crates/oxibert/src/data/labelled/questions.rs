//! Questions about a paragraph, whose answers are pieces of it: SQuAD's JSON (1.1, 2.0; CMRC and DRCD have the same form), or an
//! object per line.

use std::path::Path;

use serde::Deserialize;

use super::stream::Stream;
use super::{Labelled, note_count, parse_line, scalar_field};
use crate::{Error, Result};

/// An answer that is not where it should be is looked for so many characters around.
const NEAR: usize = 20;
const LINE: &str =
    "{\"question\": …, \"context\": …} on every line, maybe with \"answers\": [{\"text\", \"answer_start\"}]";

/// A question, its paragraph and the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The file's name for it; its line, where it has none.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// The paragraph.
    pub context: String,
    /// The right answers, all equally right; none where there is none or none is known.
    pub answers: Vec<Gold>,
    /// Whether the paragraph has an answer; not known where nothing is labelled.
    pub answerable: Option<bool>,
}

/// A right answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gold {
    /// As it stands in the paragraph.
    pub text: String,
    /// The byte of the paragraph at which it begins. None where it does not stand there: answers are compared with it, but
    /// nothing is learned from it.
    pub start: Option<usize>,
}

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default, deserialize_with = "scalar_field")]
    id: String,
    question: String,
    answers: Option<Answers>,
    is_impossible: Option<bool>,
}

#[derive(Deserialize)]
struct Line {
    context: String,
    #[serde(flatten)]
    asked: Asked,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answers {
    List(Vec<Answer>),
    /// As the `datasets` library writes them.
    Columns {
        text: Vec<String>,
        answer_start: Vec<i64>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Text(String),
    Placed {
        text: String,
        /// In characters.
        answer_start: Option<i64>,
    },
}

impl Answers {
    /// Texts, and where they should be.
    fn pairs(self) -> Vec<(String, Option<i64>)> {
        match self {
            Self::Columns { text, answer_start } => {
                text.into_iter().zip(answer_start.into_iter().map(Some)).collect()
            }
            Self::List(list) => list
                .into_iter()
                .map(|answer| match answer {
                    Answer::Text(text) => (text, None),
                    Answer::Placed { text, answer_start } => (text, answer_start),
                })
                .collect(),
        }
    }
}

/// What was repaired.
#[derive(Default)]
struct Tally {
    moved: usize,
    lost: usize,
    unplaced: usize,
}

impl Tally {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        note_count(
            &mut notes,
            "answers that stand close to their answer_start, taken from there",
            self.moved,
        );
        note_count(
            &mut notes,
            "answers that do not stand at their answer_start, not learned from but still right",
            self.lost,
        );
        note_count(&mut notes, "questions from which nothing can be learned for that", self.unplaced);
        notes
    }
}

/// Reads SQuAD's JSON, or JSON lines `{question, context, answers?, is_impossible?, id?}`. An answer that does not stand where
/// it should is looked for close by, and otherwise kept without a place: it is scored, as the official scripts do, and not
/// learned from.
pub fn read_questions(path: &Path) -> Result<Labelled<Question>> {
    let stream = Stream::open(path)?;
    let name = stream.name();
    let text = String::from_utf8(stream.rest()?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = memchr::memchr_iter(b'\n', &error.as_bytes()[..at]).count() + 1;
        Error::content(&name, Some(line), "it is not UTF-8; convert it first, e.g. iconv -f GB18030 -t UTF-8")
    })?;
    let mut tally = Tally::default();
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let questions = match serde_json::from_str::<Line>(first) {
        Ok(_) => read_lines(&name, &text, &mut tally)?,
        Err(_) => read_nested(&name, &text, &mut tally)?,
    };
    Labelled::new(&name, questions, tally.notes())
}

/// One JSON object with a question and a paragraph.
pub fn parse_question(line: &str) -> Result<Question, String> {
    let Line { context, asked } = parse_line(line, LINE)?;
    Ok(label(&context, asked, &mut Tally::default()))
}

fn read_lines(path: &Path, text: &str, tally: &mut Tally) -> Result<Vec<Question>> {
    let mut questions = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let Line { context, mut asked } =
            parse_line(line, LINE).map_err(|problem| Error::content(path, Some(number + 1), problem))?;
        if asked.id.is_empty() {
            asked.id = (number + 1).to_string();
        }
        questions.push(label(&context, asked, tally));
    }
    Ok(questions)
}

fn read_nested(path: &Path, text: &str, tally: &mut Tally) -> Result<Vec<Question>> {
    let file: File = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let what = said.split(" at line ").next().unwrap_or_default();
        let problem = format!(
            "byte {} of the line: {what}; expected SQuAD's JSON, {{\"data\": [{{\"paragraphs\": [{{\"context\", \"qas\": [{{\"id\", \
             \"question\", \"answers\"}}]}}]}}]}}, or {LINE}",
            error.column()
        );
        Error::content(path, Some(error.line()), problem)
    })?;
    let mut questions = Vec::new();
    for paragraph in file.data.into_iter().flat_map(|article| article.paragraphs) {
        for asked in paragraph.qas {
            questions.push(label(&paragraph.context, asked, tally));
        }
    }
    Ok(questions)
}

fn label(context: &str, asked: Asked, tally: &mut Tally) -> Question {
    let Asked { id, question, answers, is_impossible } = asked;
    let pairs = answers.map(Answers::pairs);
    let answerable = match (&pairs, is_impossible) {
        (_, Some(true)) => Some(false),
        (Some(pairs), None) => Some(!pairs.is_empty()),
        (Some(pairs), Some(false)) if !pairs.is_empty() => Some(true),
        _ => None,
    };
    let pairs = pairs.filter(|_| answerable == Some(true)).unwrap_or_default();
    let answers: Vec<Gold> = pairs
        .into_iter()
        .map(|(text, start)| Gold { start: locate(context, &text, start, tally), text })
        .collect();
    tally.unplaced += usize::from(!answers.is_empty() && answers.iter().all(|gold| gold.start.is_none()));
    Question { id, question, answers, context: context.to_owned(), answerable }
}

/// The byte at which an answer stands.
fn locate(context: &str, answer: &str, start: Option<i64>, tally: &mut Tally) -> Option<usize> {
    let found = match start {
        _ if answer.is_empty() => None,
        None => context.find(answer),
        Some(start) => usize::try_from(start).ok().and_then(|start| {
            let byte = context.char_indices().nth(start).map(|(byte, _)| byte);
            byte.filter(|&byte| context[byte..].starts_with(answer)).or_else(|| {
                let near = nearest(context, answer, start);
                tally.moved += usize::from(near.is_some());
                near
            })
        }),
    };
    tally.lost += usize::from(found.is_none());
    found
}

/// Where an answer stands closest to a character, if that is close at all.
fn nearest(context: &str, answer: &str, start: usize) -> Option<usize> {
    let places = context.match_indices(answer).map(|(byte, _)| byte);
    let distances = places.map(|byte| (context[..byte].chars().count().abs_diff(start), byte));
    distances.min().filter(|&(distance, _)| distance <= NEAR).map(|(_, byte)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<Labelled<Question>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("q.json");
        std::fs::write(&path, content).unwrap();
        read_questions(&path)
    }

    /// A file with one paragraph.
    fn nested(context: &str, qas: &str) -> String {
        format!(
            "{{\"version\": \"1.1\", \"data\": [{{\"title\": \"t\", \"paragraphs\": [{{\"context\": \"{context}\", \"qas\": [{qas}]}}]}}]}}"
        )
    }

    fn asked(rest: &str) -> String {
        format!("{{\"id\": \"q\", \"question\": \"Wo?\"{rest}}}")
    }

    #[test]
    fn characters_become_bytes() {
        let read = read(&nested(
            "他在北京，Élan。",
            &asked(r#", "answers": [{"text": "Élan", "answer_start": 5, "id": 1}]"#),
        ))
        .unwrap();
        let question = &read.examples[0];
        assert_eq!(question.answers, [Gold { text: "Élan".into(), start: Some(15) }]);
        assert_eq!((question.id.as_str(), question.question.as_str()), ("q", "Wo?"));
        assert!(question.answerable == Some(true) && read.notes.is_empty());
    }

    #[test]
    fn answers_are_looked_for_close_by_and_nowhere_else() {
        let context = format!("{}answer{}answer", " ".repeat(30), ".".repeat(30));
        let at =
            |start: i64| asked(&format!(r#", "answers": [{{"text": "answer", "answer_start": {start}}}]"#));
        let qas = [at(30), at(40), at(60), at(5), at(9999), at(-1)].join(",");
        let read = read(&nested(&context, &qas)).unwrap();
        let starts: Vec<_> = read.examples.iter().map(|question| question.answers[0].start).collect();
        assert_eq!(starts, [Some(30), Some(30), Some(66), None, None, None]);
        let counts: Vec<&str> = read.notes.iter().map(|note| note.rsplit_once(": ").unwrap().1).collect();
        assert_eq!(counts, ["2", "3", "3"], "{:?}", read.notes);
    }

    #[test]
    fn answerable_or_not_or_unknown() {
        let qas = [
            asked(
                r#", "is_impossible": true, "answers": [], "plausible_answers": [{"text": "a", "answer_start": 0}]"#,
            ),
            asked(r#", "is_impossible": false, "answers": [{"text": "a", "answer_start": 0}]"#),
            asked(""),
            asked(r#", "answers": {"text": [], "answer_start": []}"#),
            asked(r#", "answers": {"text": ["c"], "answer_start": [4]}"#),
            asked(r#", "answers": ["c"]"#),
        ];
        let read = read(&nested("a b c", &qas.join(","))).unwrap();
        let got: Vec<_> =
            read.examples.iter().map(|question| (question.answerable, question.answers.len())).collect();
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(got, [(no, 0), (yes, 1), (None, 0), (no, 0), (yes, 1), (yes, 1)]);
    }

    #[test]
    fn lines_hold_a_question_each() {
        let content = "{\"question\": \"Q\", \"context\": \"a b\"}\n\n{\"context\": \"a b\", \"id\": 7, \"question\": \"R\", \"answers\": [\"b\"]}\n";
        let got = read(content).unwrap().examples;
        assert_eq!((got[0].id.as_str(), got[0].answerable, got[1].id.as_str()), ("1", None, "7"));
        assert_eq!(got[1].answers[0].start, Some(2));
        let error = read(&format!("{content}{{\"question\": \"Q\"}}")).unwrap_err().to_string();
        assert!(error.contains("q.json:4: ") && error.contains("context"), "{error}");
        assert!(parse_question("[]").unwrap_err().contains("\"question\""));
        let lost = parse_question("{\"question\": \"Q\", \"context\": \"a\", \"answers\": [\"b\"]}").unwrap();
        assert_eq!(lost.answers, [Gold { text: "b".into(), start: None }]);
    }

    #[test]
    fn other_files_are_refused() {
        for content in ["", "[]", "{\"data\": 1}", "{\"data\": []}", "text", &nested("a", "{}")] {
            let error = read(content).unwrap_err().to_string();
            assert!(error.contains("q.json"), "{error}");
        }
        let error = read(&nested("a", &asked("").replace("question", "query"))).unwrap_err().to_string();
        assert!(error.contains(":1: byte ") && error.contains("missing field `question`"), "{error}");
    }
}
