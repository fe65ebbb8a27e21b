//! Words with tags: CoNLL columns, or JSON lines with the entities' places. All tags become BIO.

use std::cmp::Reverse;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use super::scheme::{Scheme, Span, bio, recognise, spans};
use super::stream::Stream;
use super::words::{append, split_words};
use super::{Format, Labelled, note_count, parse_line, scalar_field};
use crate::{Error, Result};

const JSON: &str =
    "{\"text\": …, \"entities\": [{\"start\": 0, \"end\": 5, \"label\": \"PER\"}, …]} on every line";

/// A text, its words and their tags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaggedExample {
    /// The text. Of CoNLL columns: the words with a space between them, but none between Chinese characters.
    pub text: String,
    /// Where each word stands: bytes of the text.
    pub words: Vec<Range<usize>>,
    /// A tag for each word, in BIO; none at all where they are unknown.
    pub tags: Vec<String>,
    /// The line of the file in which it begins, from 1.
    pub line: usize,
}

impl TaggedExample {
    /// A text of which only the words are known; see [`split_words`].
    pub fn of_text(text: impl Into<String>, line: usize) -> Self {
        let text = text.into();
        Self { words: split_words(&text), text, tags: Vec::new(), line }
    }
}

/// Reads CoNLL columns (the word first, its tag last, a blank line between sentences; IOB1, BIO, BIOES and their relatives),
/// or a JSON object per line: `{"text", "entities": [{"start", "end", "label"}]}` with places in characters.
pub fn read_tagged(path: &Path, format: Option<Format>) -> Result<Labelled<TaggedExample>> {
    let stream = Stream::open(path)?;
    let name = stream.name();
    let mut lines = stream.peekable();
    let first = || match lines.peek() {
        Some(Ok((_, line))) => Format::of_line(line),
        _ => Format::Lines,
    };
    match format.or_else(|| Format::of(path)).unwrap_or_else(first) {
        Format::JsonLines => read_objects(&name, lines),
        Format::Lines | Format::Tsv => read_columns(&name, lines),
        Format::Csv => {
            let problem = "words and tags are not read from CSV; expected CoNLL columns or JSON lines (say which by \
                           --format tsv|jsonl)";
            Err(Error::content(&name, None, problem))
        }
    }
}

type Line = Result<(usize, String)>;

fn read_columns(path: &Path, lines: impl Iterator<Item = Line>) -> Result<Labelled<TaggedExample>> {
    let mut sentences: Vec<TaggedExample> = Vec::new();
    let mut open = TaggedExample::default();
    // How many columns there are, and in which line that was seen.
    let mut width = None;
    for line in lines {
        let (number, line) = line?;
        let cells = cells(&line);
        if cells.is_empty() || cells[0] == "-DOCSTART-" {
            sentences.extend((!open.words.is_empty()).then(|| std::mem::take(&mut open)));
            continue;
        }
        let (expected, first) = *width.get_or_insert((cells.len(), number));
        check_width(&cells, expected, first)
            .map_err(|problem| Error::content(path, Some(number), problem))?;
        if open.words.is_empty() {
            open.line = number;
        }
        open.words.push(append(&mut open.text, cells[0]));
        open.tags.push(cells[cells.len() - 1].to_owned());
    }
    sentences.extend((!open.words.is_empty()).then_some(open));
    let notes = unify(path, &mut sentences)?;
    Labelled::new(path, sentences, notes)
}

/// Columns have tabs between them, or else spaces. Only ASCII's: the ideographic space is a word of some Chinese sets.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim_matches([' ', '\t']);
    let separator = if line.contains('\t') { '\t' } else { ' ' };
    line.split(separator).map(|cell| cell.trim_matches(' ')).filter(|cell| !cell.is_empty()).collect()
}

fn check_width(cells: &[&str], expected: usize, first: usize) -> Result<(), String> {
    match cells.len() {
        1 => Err(format!("only {:?}; expected a word and, in the last column, its tag", cells[0])),
        found if found != expected => Err(format!(
            "expected {expected} columns as in line {first}, found {found}; every line is a word and its tag"
        )),
        _ => Ok(()),
    }
}

/// Makes all tags BIO, and says what they were.
fn unify(path: &Path, sentences: &mut [TaggedExample]) -> Result<Vec<String>> {
    let tags: Vec<&[String]> = sentences.iter().map(|sentence| sentence.tags.as_slice()).collect();
    let scheme = recognise(&tags).map_err(|(sentence, word)| {
        let (line, tag) = (sentences[sentence].line + word, &sentences[sentence].tags[word]);
        let problem = format!("the tag {tag:?} is none of O, B-…, I-…, E-…, S-…, which other lines have");
        Error::content(path, Some(line), problem)
    })?;
    if scheme == Scheme::Plain {
        return Ok(vec!["tags have no B- and I-, and are taken as they are".into()]);
    }
    let mut changed = 0;
    for sentence in sentences {
        let tags = bio(&spans(&sentence.tags), sentence.tags.len());
        changed += tags.iter().zip(&sentence.tags).filter(|(now, before)| now != before).count();
        sentence.tags = tags;
    }
    let mut notes = Vec::new();
    match scheme {
        Scheme::Iob1 => notes.push("tags: IOB1, converted to BIO".into()),
        Scheme::Bioes => notes.push("tags: BIOES, converted to BIO".into()),
        Scheme::Bio | Scheme::Plain => {
            note_count(&mut notes, "I- tags that begin an entity, read as B-", changed)
        }
    }
    Ok(notes)
}

#[derive(Deserialize)]
struct Object {
    text: String,
    #[serde(alias = "spans")]
    entities: Option<Vec<Entity>>,
}

/// Places are characters of the text.
#[derive(Deserialize)]
struct Entity {
    start: usize,
    end: usize,
    #[serde(deserialize_with = "scalar_field")]
    label: String,
    text: Option<String>,
}

/// What was repaired.
#[derive(Default)]
struct Tally {
    cut: usize,
    overlapping: usize,
    blank: usize,
}

/// One JSON object with a text and, maybe, its entities.
pub fn parse_tagged(line: &str) -> Result<TaggedExample, String> {
    parse(line, &mut Tally::default())
}

fn read_objects(path: &Path, lines: impl Iterator<Item = Line>) -> Result<Labelled<TaggedExample>> {
    let (mut examples, mut tally) = (Vec::new(), Tally::default());
    for line in lines {
        let (number, line) = line?;
        if line.trim().is_empty() {
            continue;
        }
        let example =
            parse(&line, &mut tally).map_err(|problem| Error::content(path, Some(number), problem))?;
        examples.push(TaggedExample { line: number, ..example });
    }
    let mut notes = Vec::new();
    note_count(&mut notes, "entities that cut a word, widened to whole words", tally.cut);
    note_count(&mut notes, "entities that overlap a longer one, left out", tally.overlapping);
    note_count(&mut notes, "entities without a word, left out", tally.blank);
    Labelled::new(path, examples, notes)
}

fn parse(line: &str, tally: &mut Tally) -> Result<TaggedExample, String> {
    let Object { text, entities } = parse_line(line, JSON)?;
    let mut example = TaggedExample::of_text(text, 0);
    let Some(entities) = entities else { return Ok(example) };
    let places: Vec<usize> =
        example.text.char_indices().map(|(place, _)| place).chain([example.text.len()]).collect();
    let mut found = Vec::new();
    for entity in entities {
        let bytes = bytes_of(&entity, &example.text, &places)?;
        match words_of(&example.words, &bytes, tally) {
            Some(words) => found.push(Span { kind: entity.label, start: words.start, end: words.end }),
            None => tally.blank += 1,
        }
    }
    example.tags = bio(&longest(found, tally), example.words.len());
    Ok(example)
}

/// An entity's bytes; its own text, where it has one, must stand there.
fn bytes_of(entity: &Entity, text: &str, places: &[usize]) -> Result<Range<usize>, String> {
    let Entity { start, end, label, text: said } = entity;
    if start >= end || *end >= places.len() {
        let characters = places.len() - 1;
        return Err(format!(
            "the entity {label:?} is at {start} to {end}, but the text has {characters} characters"
        ));
    }
    let bytes = places[*start]..places[*end];
    match said {
        Some(said) if *said != text[bytes.clone()] => Err(format!(
            "the entity {said:?} should be at {start} to {end}, where {:?} is; expected places in characters, from 0",
            &text[bytes]
        )),
        _ => Ok(bytes),
    }
}

/// The words that bytes touch.
fn words_of(words: &[Range<usize>], bytes: &Range<usize>, tally: &mut Tally) -> Option<Range<usize>> {
    let start = words.partition_point(|word| word.end <= bytes.start);
    let end = words.partition_point(|word| word.start < bytes.end);
    if start >= end {
        return None;
    }
    tally.cut += usize::from(words[start].start < bytes.start || bytes.end < words[end - 1].end);
    Some(start..end)
}

/// Of entities that overlap, the longest.
fn longest(mut entities: Vec<Span>, tally: &mut Tally) -> Vec<Span> {
    entities.sort_by_key(|span| (Reverse(span.end - span.start), span.start));
    let mut kept: Vec<Span> = Vec::new();
    for span in entities {
        if kept.iter().any(|other| span.start < other.end && other.start < span.end) {
            tally.overlapping += 1;
        } else {
            kept.push(span);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &str) -> Result<Labelled<TaggedExample>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        read_tagged(&path, None)
    }

    fn refusal(name: &str, content: &str) -> String {
        read(name, content).unwrap_err().to_string().split_once(name).unwrap().1.to_owned()
    }

    /// Words with their tags.
    fn shown(example: &TaggedExample) -> String {
        let tags = example.tags.iter().map(String::as_str).chain(std::iter::repeat("?"));
        let words = example
            .words
            .iter()
            .zip(tags)
            .map(|(word, tag)| format!("{}/{tag}", &example.text[word.clone()]));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn columns_of_the_original_release_become_bio() {
        let content = "-DOCSTART- -X- O O\r\n\r\nEU NNP I-NP I-ORG\r\nrejects VBZ I-VP O\r\nGerman JJ I-NP I-MISC\r\nBritish JJ \
                       I-NP B-MISC\r\n\r\n\r\n-DOCSTART- -X- O O\r\nPeter NNP I-NP I-PER\r\nBlackburn NNP I-NP I-PER";
        let Labelled { examples, notes } = read("train.txt", content).unwrap();
        assert_eq!(shown(&examples[0]), "EU/B-ORG rejects/O German/B-MISC British/B-MISC");
        assert_eq!(examples[0].text, "EU rejects German British");
        assert_eq!((shown(&examples[1]).as_str(), examples[1].line), ("Peter/B-PER Blackburn/I-PER", 10));
        assert_eq!(notes, ["tags: IOB1, converted to BIO"]);
    }

    #[test]
    fn chinese_columns_have_no_spaces() {
        let Labelled { examples, notes } =
            read("d.txt", "在 O\n北 B-LOC\n京 I-LOC\n，\tO\n\u{3000} O\n").unwrap();
        assert_eq!(examples[0].text, "在北京， \u{3000}");
        assert_eq!((examples[0].words.len(), notes.len()), (5, 0));
        let broken = read("d.txt", "a B-X\nb O\nc I-X\n").unwrap();
        assert_eq!((shown(&broken.examples[0]).as_str(), broken.notes.len()), ("a/B-X b/O c/B-X", 1));
        let parts = read("d.tsv", "New York\tNNP\nsleeps\tVBZ\n").unwrap();
        assert_eq!(shown(&parts.examples[0]), "New York/NNP sleeps/VBZ");
    }

    #[test]
    fn ragged_columns_are_refused_with_their_line() {
        assert!(refusal("x.txt", "a O\n\nb O\nc\n").starts_with(":4: only \"c\"; expected a word and"));
        assert!(refusal("x.txt", "a X O\nb O\n").starts_with(":2: expected 3 columns as in line 1, found 2"));
        assert!(refusal("x.txt", "a B-X\n\nb O\nc PER\n").starts_with(":4: the tag \"PER\" is none of"));
        assert!(refusal("x.txt", "\n\n").contains("no example"));
        assert!(refusal("x.csv", "a,O\n").contains("CoNLL"));
    }

    #[test]
    fn entities_of_json_are_words() {
        let line = r#"{"text": "Élise aime 北京市.", "entities": [{"start": 11, "end": 13, "label": "LOC", "text": "北京"},
            {"start": 0, "end": 5, "label": 1}]}"#
            .replace('\n', "");
        assert_eq!(shown(&parse_tagged(&line).unwrap()), "Élise/B-1 aime/O 北/B-LOC 京/I-LOC 市/O ./O");
        assert_eq!(shown(&parse_tagged("{\"text\": \"a b\"}").unwrap()), "a/? b/?", "unknown");
        assert_eq!(shown(&parse_tagged("{\"text\": \"a\", \"spans\": []}").unwrap()), "a/O", "none");
    }

    #[test]
    fn entities_are_repaired_and_counted() {
        let line = |text: &str, entities: &[(usize, usize)]| {
            let entities: Vec<_> = entities
                .iter()
                .map(|(s, e)| format!("{{\"start\": {s}, \"end\": {e}, \"label\": \"X{s}\"}}"))
                .collect();
            format!("{{\"text\": \"{text}\", \"entities\": [{}]}}\n", entities.join(", "))
        };
        let content =
            line("New Yorkers cheer", &[(0, 8), (4, 11), (12, 17)]) + "\n" + &line("a  b", &[(1, 2), (0, 2)]);
        let Labelled { examples, notes } = read("x.jsonl", &content).unwrap();
        assert_eq!(shown(&examples[0]), "New/B-X0 Yorkers/I-X0 cheer/B-X12");
        assert_eq!((shown(&examples[1]).as_str(), examples[1].line), ("a/B-X0 b/O", 3));
        assert!(notes[0].contains("cut a word") && notes[0].ends_with(": 1"), "{notes:?}");
        assert!(notes[1].contains("overlap") && notes[2].contains("without a word"), "{notes:?}");
        let beyond = refusal("x.jsonl", &line("abc", &[(1, 4)]));
        assert!(
            beyond.starts_with(":1: the entity \"X1\" is at 1 to 4, but the text has 3 characters"),
            "{beyond}"
        );
        let wrong = refusal(
            "x.jsonl",
            r#"{"text": "abc", "entities": [{"start": 0, "end": 1, "label": "X", "text": "b"}]}"#,
        );
        assert!(wrong.contains("\"b\" should be at 0 to 1, where \"a\" is"), "{wrong}");
        assert!(refusal("x.jsonl", "{\"entities\": []}").contains("missing field `text`"));
    }
}
