//! What no file may do: make a reader panic.

use super::*;
use crate::random::Random;

const TEXTS: &str = "sentence1\tsentence2\tlabel\na \"b\t北京\t1\n\nc\td\t0\n";
const TABLE: &str = "text,label\n\"a, \"\"b\"\"\nc\",1\nd,0\n";
const OBJECTS: &str = "{\"text\": \"a b\", \"label\": [1, \"x\"], \"entities\": [{\"start\": 0, \"end\": 1, \"label\": \"X\"}]}\n";
const TAGGED: &str = "-DOCSTART- O\n\n北 B-LOC\n京 I-LOC\n\na\tO\nb\tS-X\n";
const QUESTIONS: &str = "{\"data\": [{\"paragraphs\": [{\"context\": \"a é b\", \"qas\": [{\"id\": 1, \"question\": \"q\", \
                         \"answers\": [{\"text\": \"b\", \"answer_start\": 3}]}]}]}]}";
const CHOICES: &str =
    "{\"sent1\": \"a\", \"sent2\": \"b\", \"ending0\": \"c\", \"ending1\": \"d\", \"label\": 1}\n";
const NAMES: [&str; 6] = ["x.tsv", "x.csv", "x.jsonl", "x.json", "x.txt", "x.conll"];

/// Reads a file as everything that it could be.
fn read_all(path: &Path) {
    for labels in [LabelNeed::Required, LabelNeed::Optional, LabelNeed::Ignored] {
        let options = TextOptions { labels, label_separator: Some(','), ..TextOptions::default() };
        let _ = read_texts(path, &options);
        if let Ok(reader) = TextReader::open(path, &options) {
            reader.for_each(drop);
        }
    }
    for format in [None, Some(Format::Lines), Some(Format::JsonLines)] {
        for example in read_tagged(path, format).map(|read| read.examples).unwrap_or_default() {
            assert!(example.tags.is_empty() || example.tags.len() == example.words.len());
            assert!(
                example
                    .words
                    .iter()
                    .all(|word| example.text.get(word.clone()).is_some_and(|word| !word.is_empty()))
            );
        }
    }
    for question in read_questions(path).map(|read| read.examples).unwrap_or_default() {
        let stands =
            |gold: &Gold| gold.start.is_none_or(|start| question.context[start..].starts_with(&gold.text));
        assert!(question.answers.iter().all(stands));
    }
    for choices in read_choices(path).map(|read| read.examples).unwrap_or_default() {
        assert!(choices.right.is_none_or(|right| right < choices.seconds.len()));
    }
}

/// A file that is cut, or in which some bytes are others.
fn damaged(file: &str, random: &mut Random) -> Vec<u8> {
    let mut bytes = file.repeat(1 + random.below(3) as usize).into_bytes();
    if random.chance(0.5) {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
    }
    for _ in 0..random.below(4) {
        if !bytes.is_empty() {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] =
                if random.chance(0.5) { random.bits() as u8 } else { *random.pick(b"\t\n\r\",{}[]0-1 :") };
        }
    }
    bytes
}

#[test]
fn damaged_files_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random::new(1, "damaged labelled files", 0);
    for _ in 0..400 {
        let file = *random.pick(&[TEXTS, TABLE, OBJECTS, TAGGED, QUESTIONS, CHOICES]);
        let path = dir.path().join(random.pick(&NAMES));
        std::fs::write(&path, damaged(file, &mut random)).unwrap();
        read_all(&path);
    }
}

#[test]
fn random_bytes_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random::new(1, "random labelled files", 0);
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..random.below(60)).map(|_| random.bits() as u8).collect();
        let path = dir.path().join(random.pick(&NAMES));
        std::fs::write(&path, bytes).unwrap();
        read_all(&path);
    }
}

#[test]
fn compressed_files_are_read_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tsv.zst");
    std::fs::write(&path, zstd::encode_all(TEXTS.as_bytes(), 3).unwrap()).unwrap();
    let read = read_texts(&path, &TextOptions::default()).unwrap();
    assert_eq!((read.examples.len(), read.examples[1].line), (2, 4));
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    assert!(read_texts(&path, &TextOptions::default()).unwrap_err().to_string().contains("zstd -t"));
}
