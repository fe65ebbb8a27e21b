//! `oxibert prepare` from outside: what it writes, and what it refuses.

mod outside;

use std::fs;
use std::path::Path;

use outside::oxibert;
use oxibert::data::shard::Shards;
use oxibert::text::SPECIAL_TOKENS;
use serde_json::Value;

const DOCUMENTS: &str = "The sun is low. The sun is red.\nIt is late.\n\nA low tower. It is red.\n";

/// A directory with a vocabulary and a text.
fn room() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let words = "the sun is low red it late a tower . 太 阳".split(' ');
    let vocab: String = SPECIAL_TOKENS.into_iter().chain(words).map(|token| format!("{token}\n")).collect();
    fs::write(directory.path().join("vocab.txt"), vocab).unwrap();
    fs::write(directory.path().join("text.txt"), DOCUMENTS).unwrap();
    directory
}

/// Exit code, standard output and standard error.
fn run(directory: &Path, arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    oxibert(directory, &[&["prepare"], arguments].concat(), input)
}

const USUAL: [&str; 4] = ["--vocab", "vocab.txt", "--out", "out"];

fn json(directory: &Path, arguments: &[&str], input: &[u8]) -> Value {
    let (code, out, err) = run(directory, &[&USUAL[..], &["--json", "--force"], arguments].concat(), input);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

fn counts(summary: &Value) -> [u64; 3] {
    ["documents", "sentences", "tokens"].map(|field| summary[field].as_u64().unwrap())
}

#[test]
fn all_formats_hold_the_same_documents() {
    let room = room();
    let at = room.path();
    let lines = "{\"id\": 1, \"body\": \"The sun is low. The sun is red.\\nIt is late.\"}\n{\"body\": \"A low tower. It is red.\"}\n";
    fs::write(at.join("text.jsonl"), lines).unwrap();
    for (name, content) in [
        ("first.txt", "The sun is low. The sun is red.\n\nIt is late."),
        ("second.txt", "A low tower.\nIt is red."),
    ] {
        fs::write(at.join(name), content).unwrap();
    }
    let text = json(at, &["text.txt"], b"");
    assert_eq!(counts(&text), [2, 5, 22]);
    let shards = text["shards"].clone();
    let runs: [(&[&str], &[u8]); 4] = [
        (&["text.jsonl", "--column", "body"], b""),
        (&["first.txt", "second.txt", "--documents", "file"], b""),
        (&["-"], DOCUMENTS.as_bytes()),
        (&["-", "--format", "jsonl", "--column", "body"], lines.as_bytes()),
    ];
    for (arguments, input) in runs {
        assert_eq!(json(at, arguments, input)["shards"], shards, "{arguments:?}");
    }
    assert_eq!(counts(&json(at, &["text.txt", "--sentences", "line"], b"")), [2, 3, 22]);
    let shards = Shards::open(&at.join("out")).unwrap();
    assert_eq!((shards.documents(), shards.document(0).sentences()), (2, 2));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let room = room();
    let files = |threads: &str| {
        json(room.path(), &["text.txt", "--threads", threads], b"");
        fs::read(room.path().join("out/tokens-00000.shard")).unwrap()
    };
    assert_eq!(files("1"), files("3"));
}

#[test]
fn warnings_name_the_cause_and_the_way_out() {
    let room = room();
    let text = "the moon\n\nthe moon\n\nthe sun\n";
    let (code, out, err) = run(room.path(), &[&USUAL[..], &["-"]].concat(), text.as_bytes());
    assert_eq!(code, 0);
    assert!(out.contains("3 documents, 3 sentences, 6 tokens"), "{out}");
    assert!(out.contains("1 of 3 lines, 1 whole document; kept"), "{out}");
    assert_eq!(err.lines().count(), 3, "{err}");
    for part in ["--dedup", "--objective mlm", "[UNK]"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let summary = json(room.path(), &["-", "--dedup"], text.as_bytes());
    assert_eq!((counts(&summary), summary["duplicates_dropped"].as_bool()), ([2, 2, 4], Some(true)));
    let (_, out, err) =
        run(room.path(), &[&USUAL[..], &["-", "--force", "--quiet"]].concat(), text.as_bytes());
    assert!(out.is_empty() && err.is_empty(), "{out}{err}");
}

#[test]
fn bad_input_is_refused_and_leaves_nothing() {
    let room = room();
    let at = room.path();
    fs::write(at.join("empty.txt"), "\n\n").unwrap();
    fs::write(at.join("bad.jsonl"), "{\"text\": \"a\"}\n{\"text\": \n").unwrap();
    fs::write(at.join("other.jsonl"), "{\"title\": \"a\", \"body\": \"b\"}\n").unwrap();
    fs::write(at.join("latin.txt"), b"caf\xe9\n").unwrap();
    fs::write(at.join("cut.txt.zst"), b"\x28\xb5\x2f\xfd\x04").unwrap();
    fs::write(at.join("words.txt"), "just\nwords\n").unwrap();
    fs::write(at.join("no.parquet"), "PAR1 it is not").unwrap();
    fs::create_dir(at.join("full")).unwrap();
    fs::write(at.join("full/file"), "").unwrap();
    let vocab = ["--vocab", "vocab.txt"];
    let cases: [(&[&str], &[&str], &str); 12] = [
        (&["empty.txt"], &vocab, "input: the text has no words"),
        (&["text.txt", "bad.jsonl"], &vocab, "bad.jsonl:2: byte 9 of the line"),
        (&["other.jsonl"], &vocab, "other.jsonl:1: no field \"text\"; there is title, body; name"),
        (&["latin.txt"], &vocab, "latin.txt:1: byte 4 of the line (0xE9) is not UTF-8"),
        (&["cut.txt.zst"], &vocab, "check with zstd -t"),
        (&["no.parquet"], &vocab, "no.parquet: "),
        (&["-", "--format", "parquet"], &vocab, "standard input: "),
        (&["missing.txt"], &vocab, "cannot read missing.txt"),
        (&["."], &vocab, "it is a directory"),
        (&["text.txt"], &["--vocab", "words.txt"], "words.txt: vocabulary: no [UNK] among its 2 tokens"),
        (&["text.txt"], &["--vocab", "none.txt"], "cannot read none.txt"),
        (&["text.txt", "--out", "full"], &vocab, "full: it already exists"),
    ];
    for (arguments, tokenizer, part) in cases {
        let out: &[&str] = if arguments.contains(&"--out") { &[] } else { &["--out", "out"] };
        let (code, stdout, err) = run(at, &[arguments, tokenizer, out].concat(), b"");
        assert_eq!((code, &*stdout), (2, ""), "{arguments:?}: {err}");
        let last = err.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: ") && last.contains(part), "{part}: {err}");
    }
    let mut left: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.retain(|name| name == "out" || name.to_string_lossy().ends_with(".tmp"));
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fs::read_dir(at.join("full")).unwrap().count(), 1);
}
