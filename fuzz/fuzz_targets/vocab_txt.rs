//! Any bytes as a vocab.txt are refused or make a tokenizer that works.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use oxibert::text::{Tokenizer, Vocab};

fuzz_target!(|bytes: &[u8]| {
    // Most inputs lack the special tokens; with them in front, the trie of the rest is tried too.
    for head in [&b""[..], b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n"] {
        let file = [head, bytes].concat();
        let Ok(vocab) = Vocab::parse(&file, Path::new("vocab.txt")) else { continue };
        let text = vocab.tokens().collect::<Vec<_>>().concat();
        if let Ok(tokenizer) = Tokenizer::cased(vocab) {
            tokenizer.encode(&text);
        }
    }
});
