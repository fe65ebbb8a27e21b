//! Any bytes as a shard or as a prepared.json are refused, or every document of them can be read.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use oxibert::data::shard::{Prepared, Shards};

/// Without the right checksum nothing behind it would ever be tried.
fn signed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 16 {
        let crc = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    }
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(prepared) = Prepared::parse(bytes, Path::new("prepared.json")) {
        let again = serde_json::to_vec(&prepared).unwrap();
        assert_eq!(Prepared::parse(&again, Path::new("prepared.json")).unwrap().shards, prepared.shards);
    }
    let Ok(shards) = Shards::parse(signed(bytes), Path::new("tokens.shard")) else { return };
    let (mut ids, mut continues, mut sentences) = (Vec::new(), Vec::new(), 0);
    for document in (0..shards.documents()).map(|number| shards.document(number)) {
        assert!(document.sentences() > 0);
        for sentence in 0..document.sentences() {
            let before = ids.len();
            document.append(sentence, &mut ids, &mut continues);
            assert!(document.length(sentence) > 0 && ids.len() == before + document.length(sentence));
            assert!(!continues[before]);
        }
        sentences += document.sentences() as u64;
    }
    let prepared = shards.prepared();
    assert_eq!(
        (ids.len() as u64, continues.len() as u64, sentences),
        (prepared.tokens, prepared.tokens, prepared.sentences)
    );
    assert!(ids.iter().all(|&id| id < prepared.vocab_size));
});
