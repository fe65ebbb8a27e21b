//! `--compat google` beside a plain rendering of Google's rules (google/reference.py made the figures).

use oxibert::text::{Compat, Rules, Tokenizer, Vocab};
use serde_json::Value;

#[test]
fn hard_strings_are_split_as_google_splits_them() {
    let file: Value = serde_json::from_str(include_str!("google/cases.json")).unwrap();
    let strings = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    let vocabulary = strings(&file["vocabulary"]);
    for (name, rules) in
        [("uncased", Rules::uncased(Compat::Google)), ("cased", Rules::cased(Compat::Google))]
    {
        let tokenizer = Tokenizer::new(Vocab::from_tokens(&vocabulary).unwrap(), rules).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let encoding = tokenizer.encoder().pieces(case["text"].as_str().unwrap());
            assert_eq!(tokenizer.tokens(&encoding), strings(&case[name]), "{name} {}", case["text"]);
        }
    }
}
