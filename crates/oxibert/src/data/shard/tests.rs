//! Round trips, the paths into many shards, and every way a file can lie.

use std::fs;

use proptest::prelude::*;

use super::format::{HEADER, UNCHECKED};
use super::*;

type Documents = Vec<Vec<Vec<(u32, bool)>>>;

fn everything(shards: &Shards) -> Documents {
    let sentence = |document: &Document<'_>, at: usize| {
        let (mut ids, mut continues) = (Vec::new(), Vec::new());
        document.append(at, &mut ids, &mut continues);
        assert_eq!(ids.len(), document.length(at));
        ids.into_iter().zip(continues).collect()
    };
    let document = |number| {
        let document = shards.document(number);
        (0..document.sentences()).map(|at| sentence(&document, at)).collect()
    };
    (0..shards.documents()).map(document).collect()
}

fn example() -> Builder {
    let mut builder = Builder::new(77, 10);
    builder.push(&[1, 2, 3], &[false, true, true], true);
    builder.push(&[9], &[false], false);
    builder.push(&[4, 5, 6, 7, 8, 0], &[true, false, true, false, true, true], true);
    builder
}

/// Writes a directory of shards, as `prepare` does.
fn write(directory: &Path, builders: &[Builder]) {
    let mut tally = Tally::new(10);
    let mut shards = Vec::new();
    for (number, builder) in builders.iter().enumerate() {
        tally.add(builder);
        let file = format!("{number}.shard");
        fs::write(directory.join(&file), builder.to_bytes()).unwrap();
        shards.push(Shard::open(&directory.join(&file)).unwrap().about(&file));
    }
    Prepared { shards, ..tally.prepared(77, &[0]) }.save(directory).unwrap();
}

#[test]
fn many_shards_are_one_list_of_documents() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &[example(), Builder::new(77, 10), example()]);
    let shards = Shards::open(directory.path()).unwrap();
    assert_eq!(
        (shards.documents(), shards.document(1).sentences(), shards.document(2).sentences()),
        (4, 1, 2)
    );
    let all = everything(&shards);
    assert_eq!(all[0], all[2]);
    assert_eq!(all[1], [[(4, false), (5, false), (6, true), (7, false), (8, true), (0, true)]]);
    assert_eq!(all[3], all[1]);
    let prepared = shards.prepared();
    assert_eq!((prepared.sentences, prepared.tokens, &*prepared.sentence_lengths), (6, 20, &[2, 2, 2][..]));
    assert_eq!((prepared.one_sentence_documents, prepared.most_frequent.unwrap().id), (2, 1));
    assert!((prepared.unigram_entropy - 9f64.ln()).abs() < 1e-12);
}

#[test]
fn the_last_document_can_move_on() {
    let mut builder = example();
    let last = builder.split_off_last_document().unwrap();
    assert_eq!((builder.document_count(), builder.sentence_count(), builder.token_count()), (1, 2, 4));
    let parse = |builder: &Builder| Shards::parse(builder.to_bytes(), Path::new("x")).unwrap();
    assert_eq!(everything(&parse(&last)), everything(&parse(&example()))[1..]);
    assert!(builder.split_off_last_document().is_none());
    assert_eq!((builder.document_count(), builder.token_count()), (1, 4));
}

#[test]
fn nothing_at_all_is_no_document() {
    assert_eq!(Shards::of_documents(&[]).documents(), 0);
    assert_eq!(Shards::of_documents(&[vec![], vec![vec![]]]).documents(), 0);
}

#[test]
fn ids_take_the_bytes_they_need() {
    for (vocab_size, bytes) in [(10, 2), (1 << 16, 2), ((1 << 16) + 1, 4)] {
        let mut builder = Builder::new(0, vocab_size);
        builder.push(&[0, vocab_size as u32 - 1], &[false, false], true);
        let written = builder.to_bytes();
        assert_eq!(written.len(), HEADER + 2 * bytes + 1 + 8 + 8);
        let shards = Shards::parse(written, Path::new("x")).unwrap();
        assert_eq!(everything(&shards), [[[(0, false), (vocab_size as u32 - 1, false)]]]);
    }
}

/// The refusal of the example with some bytes changed; the checksum is made right again if `signed`.
fn refusal(change: impl FnOnce(&mut Vec<u8>), signed: bool) -> String {
    let mut bytes = example().to_bytes();
    change(&mut bytes);
    if signed {
        let crc = crc32fast::hash(&bytes[UNCHECKED..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    }
    Shards::parse(bytes, Path::new("a.shard")).unwrap_err().to_string()
}

#[test]
fn every_lie_is_refused_by_name() {
    let set = |at: usize, value: u8| move |bytes: &mut Vec<u8>| bytes[at] = value;
    let cases = [
        (refusal(set(0, b'X'), true), "does not begin as a shard"),
        (refusal(|bytes| bytes.truncate(40), false), "does not begin as a shard"),
        (refusal(set(8, 2), true), "version 2, expected 1"),
        (refusal(set(HEADER, 2), false), "checksum"),
        (refusal(set(16, 1), false), "checksum"),
        (refusal(set(24, 9), true), "9 tokens, 3 sentences and 2 documents"),
        (refusal(set(31, 255), true), "do not fit"),
        (refusal(|bytes| bytes.truncate(100), false), "cut short"),
        (refusal(set(52, 4), true), "bytes per token 4, expected 2 for a vocabulary of 10 tokens"),
        (refusal(set(HEADER, 10), true), "token 10 in a vocabulary of 10 tokens"),
        (refusal(set(HEADER + 20, 0b0111), true), "sentence 0 begins in the middle of a word"),
        (refusal(set(HEADER + 21, 0b0100_0000), true), "bits are set behind the last token"),
        (refusal(set(HEADER + 22, 1), true), "sentence starts: 1 at place 0, expected 0"),
        (refusal(set(HEADER + 30, 3), true), "sentence starts: 3 at place 2, expected more than 3"),
        (refusal(set(HEADER + 34, 11), true), "sentence starts: 11 at the end, expected 10"),
        (refusal(set(HEADER + 46, 4), true), "document starts: 4 at the end, expected 3"),
    ];
    for (message, part) in cases {
        assert!(message.starts_with("a.shard: ") && message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_directory_must_hold_together() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let message = || Shards::open(at).unwrap_err().to_string();
    assert!(message().contains("no prepared.json in it"), "{}", message());
    write(at, &[example()]);
    let crc = Prepared::load(at).unwrap().shards[0].crc;
    let right = fs::read_to_string(at.join(PREPARED_JSON)).unwrap();
    let spoil = |from: &str, to: &str| {
        assert!(right.contains(from), "{right}");
        fs::write(at.join(PREPARED_JSON), right.replacen(from, to, 1)).unwrap();
        message()
    };
    assert!(spoil("\"version\": 1", "\"version\": 2, \"more\": 0").contains("version: 2, expected 1"));
    assert!(spoil("\"bytes\"", "\"bites\"").contains("unknown field `bites`"));
    assert!(
        spoil("\"tokens\": 10", "\"tokens\": 11").contains("tokens: 11, but the shards have 10 together")
    );
    assert!(spoil("0.shard", "../0.shard").contains("no name of a file"));
    assert!(spoil("0.shard", "1.shard").contains("cannot read"));
    assert!(
        spoil("000000000000004d", "000000000000004e")
            .contains("vocabulary fingerprint 77, but prepared.json")
    );
    assert!(spoil(&format!("\"crc\": {crc}"), "\"crc\": 1").contains("checksum"));
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        documents in prop::collection::vec(
            prop::collection::vec(prop::collection::vec((0u32..70_000, any::<bool>()), 1..9), 1..5), 0..9),
    ) {
        let mut documents: Documents = documents;
        let shards = Shards::of_words(&documents);
        // A sentence's first token continues nothing.
        documents.iter_mut().flatten().for_each(|sentence| sentence[0].1 = false);
        prop_assert_eq!(everything(&shards), documents);
    }

    #[test]
    fn any_change_of_a_byte_is_seen(at in 0usize..1000, flip in 1u8..) {
        let mut bytes = example().to_bytes();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        prop_assert!(Shards::parse(bytes, Path::new("x")).is_err());
    }
}
