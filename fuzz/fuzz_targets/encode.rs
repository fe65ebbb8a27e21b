//! Any text under any rules encodes without a panic, its spans slice it, and the limits hold.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oxibert::text::sentences::sentences;
use oxibert::text::{Compat, Limit, LongText, Rules, Tokenizer, Vocab};

static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] a b c ab abc ##a ##b ##c ##bc e ##e i ##i . , ! 好 你 ##好 ᄀ ##ᅡ \u{301} [unused0]";
    let rules = [
        Rules::uncased(Compat::Hf),
        Rules::cased(Compat::Hf),
        Rules::uncased(Compat::Google),
        Rules { strip_accents: false, clean_text: false, ..Rules::uncased(Compat::Hf) },
    ];
    let tokenizer = |rules| Tokenizer::new(Vocab::from_tokens(pieces.split(' ')).unwrap(), rules).unwrap();
    rules.map(tokenizer).into()
});

fuzz_target!(|text: &str| {
    for tokenizer in TOKENIZERS.iter() {
        let encoding = tokenizer.encode(text);
        assert!(encoding.spans.iter().all(|span| text.get(span.range()).is_some()));
        assert_eq!(encoding.len(), encoding.char_spans(&[text]).len());
        tokenizer.decode(&encoding.ids);
        for long in [LongText::HeadTail, LongText::Sliding { stride: Some(1) }] {
            let limit = Limit { long, ..Limit::new(9) };
            let mut encoder = tokenizer.encoder();
            let windows = encoder.windows(&[text, "ab"], &limit, true).unwrap();
            assert!(windows.take(1000).all(|window| window.len() <= 9));
        }
    }
    let length: usize = sentences(text).map(str::len).sum();
    assert!(length <= text.len());
});
