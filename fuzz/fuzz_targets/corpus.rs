//! Any bytes as a text file (plain, gzip or zstd) are read or refused; lines and blocks agree.

#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use oxibert::data::Corpus;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("oxibert-fuzz-corpus-{}", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
    let corpus = Corpus::open([&path]).unwrap();
    let mut lines = corpus.lines();
    while let Ok(Some(line)) = lines.next_line() {
        assert!(!line.text.contains('\n'));
    }
    corpus.blocks().take_while(Result::is_ok).for_each(drop);
});
