//! From text to shards: what is kept, what is counted, and that threads leave no trace.

use std::collections::BTreeMap;

use super::super::shard::{Document, Shards};
use super::super::{Boundary, Corpus, DocumentOptions};
use super::*;
use crate::text::{SPECIAL_TOKENS, Vocab};

fn tokenizer() -> Tokenizer {
    let words = "a b c d e ##e . 北 京 大 学 我 在 。".split(' ');
    Tokenizer::uncased(Vocab::from_tokens(SPECIAL_TOKENS.into_iter().chain(words)).unwrap()).unwrap()
}

fn documents(text: &str, boundary: Boundary) -> Documents {
    let options = DocumentOptions { boundary, ..DocumentOptions::default() };
    Documents::of_corpus(Corpus::from_text("t", text), &options).unwrap()
}

/// What was written, each document as a line: tokens of a word joined, `|` between sentences.
fn show(shards: &Shards) -> Vec<String> {
    let tokenizer = tokenizer();
    let sentence = |document: &Document<'_>, at: usize| {
        let (mut ids, mut continues) = (Vec::new(), Vec::new());
        document.append(at, &mut ids, &mut continues);
        let tokens = ids.iter().zip(continues).map(|(&id, continues)| {
            let token = tokenizer.vocab().token(id).unwrap();
            if continues { token.to_owned() } else { format!(" {token}") }
        });
        tokens.collect::<String>().trim().to_owned()
    };
    let document = |number| {
        let document = shards.document(number);
        (0..document.sentences()).map(|at| sentence(&document, at)).collect::<Vec<_>>().join(" | ")
    };
    (0..shards.documents()).map(document).collect()
}

fn prepared(text: &str, options: &PrepareOptions) -> (Vec<String>, Prepared) {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let made =
        prepare(&documents(text, Boundary::BlankLine), &tokenizer(), options, &out, false, &()).unwrap();
    let shards = Shards::open(&out).unwrap();
    assert_eq!(&made, shards.prepared());
    let loaded = Tokenizer::load(&out).unwrap();
    assert_eq!(
        (loaded.vocab().fingerprint(), loaded.vocab().len() as u32),
        (made.vocab_fingerprint, made.vocab_size)
    );
    (show(&shards), made)
}

#[test]
fn text_becomes_documents_of_sentences_of_words() {
    let text = "A be. Ce d.\nae\n\n\u{1}\n\n我在北京大学。我在。\n";
    let (documents, made) = prepared(text, &PrepareOptions::default());
    assert_eq!(documents, ["a b##e . | c##e d . | a##e", "我 在 北京大学 。 | 我 在 。"]);
    assert_eq!((made.documents, made.sentences, made.tokens, made.unknown_tokens), (2, 5, 20, 0));
    assert_eq!((made.lines, made.one_sentence_documents, &*made.sentence_lengths), (4, 0, &[0, 2, 3][..]));
    let line = PrepareOptions { line_is: LineIs::Sentence, ..PrepareOptions::default() };
    let (documents, made) = prepared(text, &line);
    assert_eq!(documents, ["a b##e . c##e d . | a##e", "我 在 北京大学 。 我 在 。"]);
    assert_eq!(made.one_sentence_documents, 1);
}

#[test]
fn the_baselines_leave_special_tokens_out() {
    let (_, made) = prepared("a a a b x [SEP]", &PrepareOptions::default());
    assert_eq!((made.tokens, made.unknown_tokens), (6, 1));
    let frequent = made.most_frequent.unwrap();
    assert_eq!((frequent.id, frequent.share), (5, 0.75));
    let expected = -(0.75f64 * 0.75f64.ln() + 0.25 * 0.25f64.ln());
    assert!((made.unigram_entropy - expected).abs() < 1e-12);
}

#[test]
fn duplicates_are_counted_and_dropped_when_asked() {
    let text = "a\n b \n\na\nb\n\nb\na\n\nc\na\n\na\n";
    let (documents, made) = prepared(text, &PrepareOptions::default());
    assert_eq!(documents, ["a | b", "a | b", "b | a", "c | a", "a"]);
    assert_eq!((made.lines, made.duplicate_lines, made.duplicate_documents), (9, 6, 1));
    assert!(!made.duplicates_dropped && !made.duplicates_forgotten);
    let (documents, made) = prepared(text, &PrepareOptions { dedup: true, ..PrepareOptions::default() });
    assert_eq!(documents, ["a | b", "c"]);
    assert_eq!((made.lines, made.duplicate_lines, made.duplicate_documents, made.bytes), (9, 6, 1, 3));
    assert!(made.duplicates_dropped);
}

#[test]
fn documents_stay_whole_where_a_shard_can_hold_them() {
    let shards = |text: &str| {
        let (documents, made) =
            prepared(text, &PrepareOptions { shard_tokens: 4, ..PrepareOptions::default() });
        let sizes: Vec<u64> = made.shards.iter().map(|shard| shard.tokens).collect();
        (documents, sizes, made.cut_documents)
    };
    let list = |documents: &[&str]| documents.iter().map(|document| document.to_string()).collect::<Vec<_>>();
    assert_eq!(shards("a b\n\nc d\n\ne"), (list(&["a b", "c d", "e"]), vec![4, 1], 0));
    // The second document moves on to be whole.
    assert_eq!(shards("a b\n\nc\nd a"), (list(&["a b", "c | d a"]), vec![2, 3], 0));
    // Too long for any: its parts are documents.
    assert_eq!(shards("a\n\nb\nc d\na b"), (list(&["a", "b | c d", "a b"]), vec![1, 3, 2], 1));
    // Even a sentence is cut.
    assert_eq!(shards("a b c d a b\nc\n\nd"), (list(&["a b c d", "a b | c", "d"]), vec![4, 4], 1));
}

fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// Several batches of pieces, and shards that end within them.
#[test]
fn the_number_of_threads_leaves_no_trace() {
    let mut text = String::new();
    for number in 0..260_000 {
        text += ["a b. c d e.\n", "我在北京大学。\n", "\n", "e e e ce\n", "a b.\n"][number * number % 7 % 5];
        text += &"d ".repeat(number % 31);
    }
    let documents = documents(&text, Boundary::BlankLine);
    assert!(documents.size().unwrap() > 9 << 20, "more than one batch");
    let directory = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for threads in [1, 2, 5] {
        let out = directory.path().join(threads.to_string());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = PrepareOptions { shard_tokens: 1 << 20, ..PrepareOptions::default() };
        pool.install(|| prepare(&documents, &tokenizer(), &options, &out, false, &())).unwrap();
        found.push(content(&out));
    }
    assert!(found[0].len() > 6, "{:?}", found[0].keys());
    assert!(found[0] == found[1] && found[0] == found[2]);
}

#[test]
fn the_first_error_of_the_input_is_told_and_nothing_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.jsonl");
    let line = format!("{{\"text\": \"{}\"}}\n", "a b. ".repeat(50_000));
    // The wrong line comes before the wrong bytes, which the reader meets first.
    fs::write(&path, [line.repeat(30).as_bytes(), b"{]\n", line.repeat(12).as_bytes(), b"\xff"].concat())
        .unwrap();
    let documents = Documents::open([&path], &DocumentOptions::default()).unwrap();
    let out = directory.path().join("out");
    let refusal = || {
        let options = PrepareOptions::default();
        prepare(&documents, &tokenizer(), &options, &out, false, &()).unwrap_err().to_string()
    };
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let message = pool.install(refusal);
        assert!(message.contains("x.jsonl:31: byte 2"), "{message}");
    }
    assert!(!out.exists());
    fs::write(&path, [line.as_bytes(), b"\xff"].concat()).unwrap();
    assert!(refusal().contains("is not UTF-8"));
}

#[test]
fn empty_text_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let options = PrepareOptions::default();
    for text in ["", "\n \n\n", "\u{1}\n"] {
        let documents = documents(text, Boundary::File);
        let error = prepare(&documents, &tokenizer(), &options, &out, false, &()).unwrap_err().to_string();
        assert!(error.contains("no words"), "{error}");
    }
    assert!(!out.exists());
}

#[test]
fn force_leaves_no_shard_of_the_old() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let run = |shard_tokens, force| {
        let options = PrepareOptions { shard_tokens, ..PrepareOptions::default() };
        prepare(&documents("a\n\nb\n\nc", Boundary::BlankLine), &tokenizer(), &options, &out, force, &())
    };
    run(1, false).unwrap();
    fs::write(out.join("notes.txt"), "mine").unwrap();
    assert!(run(9, false).unwrap_err().to_string().contains("--force"));
    run(9, true).unwrap();
    let files: Vec<String> = content(&out).into_keys().collect();
    let expected = [
        "notes.txt",
        "prepared.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "tokens-00000.shard",
        "vocab.txt",
    ];
    assert_eq!(files, expected);
    assert_eq!(show(&Shards::open(&out).unwrap()), ["a", "b", "c"]);
}
