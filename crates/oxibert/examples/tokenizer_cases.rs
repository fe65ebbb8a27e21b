//! Checks the tokenizer against a file of cases that another tokenizer made.
//!
//! ```text
//! cargo run --release --example tokenizer_cases -- cases.json vocabularies/
//! ```
//! The file has `cases` (text, and per vocabulary `tokens`, `ids`, `offsets` in characters, `decoded`) and
//! `pairs` (text, text_pair, max_length, truncation, and `tokens`, `ids`, `type_ids`). The directory has
//! `bert-base-NAME-vocab.txt` for every vocabulary; the one called `cased` is cased.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use oxibert::text::{Limit, Tokenizer, Truncation, Vocab};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cases, vocabularies] = arguments.as_slice() else {
        return Err("usage: tokenizer_cases cases.json vocabularies/".into());
    };
    let cases: Value = serde_json::from_reader(std::fs::File::open(cases)?)?;
    let (mut passed, mut failed) = (0, 0);
    for name in ["uncased", "cased", "chinese"] {
        let vocab = Vocab::load(&Path::new(vocabularies).join(format!("bert-base-{name}-vocab.txt")))?;
        let tokenizer = if name == "cased" { Tokenizer::cased(vocab) } else { Tokenizer::uncased(vocab) }?;
        for (kind, found) in [("cases", single as fn(&Tokenizer, &Value) -> Value), ("pairs", pair)] {
            for case in cases[kind].as_array().ok_or("no list of cases")? {
                let (expected, found) = (&case["expect"][name], found(&tokenizer, case));
                let both_refuse = expected.get("error").is_some() && found.get("error").is_some();
                if *expected == found || both_refuse {
                    passed += 1;
                } else {
                    failed += 1;
                    println!(
                        "{name} {kind} {}: {:?}\n  expected {expected}\n  found    {found}",
                        case["id"], case["text"]
                    );
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed > 0 { Err("some cases failed".into()) } else { Ok(()) }
}

fn single(tokenizer: &Tokenizer, case: &Value) -> Value {
    let text = case["text"].as_str().unwrap_or_default();
    let encoding = tokenizer.encoder().pieces(text);
    let offsets: Vec<_> = encoding.char_spans(&[text]).iter().map(|span| (span.start, span.end)).collect();
    json!({
        "tokens": tokenizer.tokens(&encoding), "ids": encoding.ids, "offsets": offsets,
        "decoded": tokenizer.decode(&encoding.ids),
    })
}

fn pair(tokenizer: &Tokenizer, case: &Value) -> Value {
    let texts = [case["text"].as_str().unwrap_or_default(), case["text_pair"].as_str().unwrap_or_default()];
    let truncation = match case["truncation"].as_str() {
        Some("only_first") => Truncation::OnlyFirst,
        Some("only_second") => Truncation::OnlySecond,
        _ => Truncation::LongestFirst,
    };
    let max_length = case["max_length"].as_u64().map_or(usize::MAX, |length| length as usize);
    let limit = Limit { truncation, ..Limit::new(max_length) };
    match tokenizer.encoder().windows(&texts, &limit, true).map(|mut windows| windows.next()) {
        Ok(Some(encoding)) => {
            json!({ "tokens": tokenizer.tokens(&encoding), "ids": encoding.ids, "type_ids": encoding.segments })
        }
        other => json!({ "error": format!("{other:?}") }),
    }
}
