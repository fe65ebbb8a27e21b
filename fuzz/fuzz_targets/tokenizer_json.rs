//! Any bytes as a tokenizer.json are refused or make a tokenizer that works.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use oxibert::text::Tokenizer;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tokenizer) = Tokenizer::parse_json(bytes, Path::new("tokenizer.json")) {
        tokenizer.encode("Unaffable [MASK] 好 é");
    }
});
