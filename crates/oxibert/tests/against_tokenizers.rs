//! The tokenizer beside Hugging Face's `tokenizers` crate, over made-up vocabularies and Unicode strings.

use oxibert::text::{AddedToken, Limit, LongText, Tokenizer, Truncation, Vocab};
use proptest::prelude::*;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::utils::truncation::{TruncationDirection, TruncationParams, TruncationStrategy};
use tokenizers::{AddedToken as TheirToken, TokenizerBuilder};

type Theirs = tokenizers::TokenizerImpl<
    WordPiece,
    BertNormalizer,
    BertPreTokenizer,
    BertProcessing,
    tokenizers::decoders::wordpiece::WordPiece,
>;

const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// Letters, marks, Chinese, Jamo, punctuation: every one alone and as a continuation, and some words.
fn rich_vocabulary() -> Vec<String> {
    let letters =
        ('!'..='~').chain('à'..='ɏ').chain('α'..='ω').chain('а'..='я').chain('\u{1100}'..='\u{11ff}');
    let more = "。，！？、「」…—“”‘’你好中国人大学一丁七가각豈\u{300}\u{301}\u{302e}\u{f71}¿§€™½".chars();
    let words = "un aff able ##aff ##able play ##ing ##ed the run ##n ##ning don ' t ##'t deep ##er hello ##lo \
                 hel world new york [unused0] ##学 naive resume ##é";
    let mut tokens: Vec<String> = SPECIAL.map(String::from).to_vec();
    let singles: Vec<char> = letters.chain(more).collect();
    tokens.extend(singles.iter().map(char::to_string));
    tokens.extend(singles.iter().map(|c| format!("##{c}")));
    tokens.extend(words.split_whitespace().map(String::from));
    let mut seen = std::collections::HashSet::new();
    tokens.retain(|token| seen.insert(token.clone()));
    tokens
}

fn ours(tokens: &[String], lowercase: bool) -> Tokenizer {
    let vocab = Vocab::from_tokens(tokens).unwrap();
    if lowercase { Tokenizer::uncased(vocab) } else { Tokenizer::cased(vocab) }.unwrap()
}

fn theirs(tokens: &[String], lowercase: bool) -> Theirs {
    let vocab: ahash::AHashMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
    let id = |token: &str| (token.to_owned(), vocab[token]);
    let (sep, cls) = (id("[SEP]"), id("[CLS]"));
    let mut tokenizer = TokenizerBuilder::default()
        .with_model(WordPiece::builder().vocab(vocab).build().unwrap())
        .with_normalizer(Some(BertNormalizer::new(true, true, None, lowercase)))
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(BertProcessing::new(sep, cls)))
        .with_decoder(Some(Default::default()))
        .build()
        .unwrap();
    tokenizer.add_special_tokens(SPECIAL.map(|token| TheirToken::from(token, true))).unwrap();
    tokenizer
}

fn compare(ours: &Tokenizer, theirs: &Theirs, text: &str) {
    compare_ids_and_spans(ours, theirs, text);
    let expected = theirs.encode(text, true).unwrap();
    let found = ours.encode(text);
    assert_eq!(ours.tokens(&found), expected.get_tokens(), "{text:?}");
    assert_eq!(ours.decode(&found.ids), theirs.decode(expected.get_ids(), true).unwrap(), "{text:?}");
}

fn compare_ids_and_spans(ours: &Tokenizer, theirs: &Theirs, text: &str) {
    let expected = theirs.encode_char_offsets(text, true).unwrap();
    let found = ours.encode(text);
    assert_eq!(found.ids, expected.get_ids(), "{text:?}");
    let spans = |spans: &[oxibert::text::Span]| -> Vec<(usize, usize)> {
        spans.iter().map(|span| (span.start as usize, span.end as usize)).collect()
    };
    assert_eq!(spans(&found.char_spans(&[text])), expected.get_offsets(), "characters of {text:?}");
    let bytes = theirs.encode(text, true).unwrap();
    assert_eq!(spans(&found.spans), bytes.get_offsets(), "bytes of {text:?}");
}

/// Strings that have broken tokenizers: ours, others', or that could.
const HARD: &[&str] = &[
    "",
    " ",
    "\n",
    "\t\r\n",
    "a",
    "A",
    ".",
    "...",
    "!?",
    "[MASK]",
    "[mask]",
    "[MASK].",
    "x[MASK]y",
    "[ MASK ]",
    "[[MASK]]",
    "[CLS] a [SEP]",
    "[UNK][UNK]",
    "unaffable",
    "UNAFFABLE",
    "Unaffable, unAffable!",
    "playing played",
    "don't",
    "d'on't'",
    "hello\u{0}world",
    "hello\u{200b}world",
    "hello\u{ad}world",
    "\u{feff}hello",
    "hel\u{fffd}lo",
    "a\u{300}b",
    "\u{300}",
    "\u{300}\u{301}a",
    "e\u{301}",
    "é",
    "É",
    "ÀÉÎÕÜ",
    "ñ n\u{303}",
    "ß ẞ ſ",
    "İ ı I i",
    "Σίσυφος ΣΊΣΥΦΟΣ",
    "ǅ ǆ Ǆ",
    "ﬁ ﬂ ﬀ",
    "Å Å Å",
    "½ ² ³",
    "K K",
    "你好中国",
    "你好，中国。",
    "中国人hello大学",
    "ab你cd",
    "豈更車",
    "\u{2f800}",
    "가각",
    "각",
    "日本語のテスト",
    "한국어 텍스트",
    "новый ЁЖ ёж",
    "שָׁלוֹם",
    "नमस्ते",
    "ไทย",
    "👍🏽",
    "👨‍👩‍👧",
    "🇩🇪",
    "a👍b",
    "¿Qué? ¡Sí!",
    "“quoted” ‘single’ «guille»",
    "—–-",
    "€5 £3 $2 ¥9",
    "http://a.b/c?d=e&f#g",
    "user@example.com",
    "#tag @name",
    "C++ C# F#",
    "1,234.56",
    "3.14e-10",
    "50%",
    "a_b-c",
    "\u{a0}nbsp\u{a0}",
    "\u{2028}line\u{2029}",
    "\u{3000}全角\u{3000}",
    "Ｆｕｌｌｗｉｄｔｈ　ＡＢＣ１２３",
    "x\u{302e}y",
    "\u{302e}\u{0}\u{f71}",
    "\u{1d15e}\u{1d165}",
    "q\u{307}\u{323}",
    "q\u{323}\u{307}",
    "\u{344}",
    "\u{f73}",
    "\u{e0001}tag",
    "\u{e000}private",
    "\u{85}next",
    "a\u{b}b\u{c}c",
    "\u{1f}",
    "\u{7f}",
    "ﷺ",
    "ꯍꯥꯌ",
    "𠀀𪛖",
    "\u{2b820}\u{2b920}",
    "ⅷ Ⅷ",
    "№ ℃ ™",
];

#[test]
fn hard_strings() {
    let tokens = rich_vocabulary();
    for lowercase in [true, false] {
        let (ours, theirs) = (ours(&tokens, lowercase), theirs(&tokens, lowercase));
        HARD.iter().for_each(|text| compare(&ours, &theirs, text));
        for length in [99, 100, 101] {
            compare(&ours, &theirs, &format!("a {} b", "n".repeat(length)));
            compare(&ours, &theirs, &format!("a {} b", "é".repeat(length)));
        }
    }
}

#[test]
fn pairs_are_cut_alike() {
    let tokens = rich_vocabulary();
    let ours = ours(&tokens, true);
    let strategies = [
        (Truncation::LongestFirst, TruncationStrategy::LongestFirst),
        (Truncation::OnlyFirst, TruncationStrategy::OnlyFirst),
        (Truncation::OnlySecond, TruncationStrategy::OnlySecond),
    ];
    for (first, second) in
        [("a b c", "d e f g h i"), ("a b c d e f", "g"), ("a b c d", "e f g h"), ("", "a b c d e")]
    {
        for max_length in 5..14 {
            for (truncation, strategy) in &strategies {
                let mut theirs = theirs(&tokens, true);
                let parameters = TruncationParams { max_length, strategy: *strategy, ..Default::default() };
                theirs.with_truncation(Some(parameters)).unwrap();
                let limit = Limit { truncation: *truncation, ..Limit::new(max_length) };
                let mut encoder = ours.encoder();
                let found = encoder
                    .windows(&[first, second], &limit, true)
                    .map(|mut windows| windows.next().unwrap());
                match (found, theirs.encode((first, second), true)) {
                    (Ok(found), Ok(expected)) => {
                        assert_eq!(found.ids, expected.get_ids());
                        let segments: Vec<u32> =
                            found.segments.iter().map(|&segment| segment.into()).collect();
                        assert_eq!(segments, expected.get_type_ids());
                    }
                    (found, expected) => assert!(
                        found.is_err() == expected.is_err(),
                        "{first:?} {second:?} {max_length} {truncation:?}: {found:?} {expected:?}"
                    ),
                }
            }
        }
    }
}

#[test]
fn sliding_windows_are_their_overflowing_ones() {
    let tokens = rich_vocabulary();
    let (ours, theirs) = (ours(&tokens, true), theirs(&tokens, true));
    let text = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
    for (max_length, stride) in [(7, 0), (7, 2), (10, 5), (28, 3), (40, 3)] {
        let mut expected = theirs.encode(text, false).unwrap();
        expected.truncate(max_length, stride, TruncationDirection::Right);
        let expected: Vec<_> = std::iter::once(&expected)
            .chain(expected.get_overflowing())
            .map(|part| part.get_ids().to_vec())
            .collect();
        let limit = Limit { long: LongText::Sliding { stride: Some(stride) }, ..Limit::new(max_length) };
        let found: Vec<_> =
            ours.encoder().windows(&[text], &limit, false).unwrap().map(|window| window.ids).collect();
        assert_eq!(found, expected, "{max_length} {stride}");
    }
}

#[test]
fn added_tokens_are_found_alike() {
    let tokens = rich_vocabulary();
    let next = tokens.len() as u32;
    let flags = [
        // content, single_word, lstrip, rstrip, normalized
        ("newtok", false, false, false, true),
        ("New York", false, false, false, true),
        ("ÉCOLE", false, false, false, true),
        ("<ent>", false, true, true, false),
        ("word", true, false, false, false),
    ];
    let mut added: Vec<AddedToken> = SPECIAL
        .iter()
        .map(|token| AddedToken::special(tokens.iter().position(|t| t == token).unwrap() as u32, token))
        .collect();
    let mut theirs = theirs(&tokens, true);
    for (id, (content, single_word, lstrip, rstrip, normalized)) in (next..).zip(flags) {
        added.push(AddedToken {
            id,
            content: content.into(),
            single_word,
            lstrip,
            rstrip,
            normalized,
            special: false,
        });
        let token = TheirToken::from(content, false)
            .single_word(single_word)
            .lstrip(lstrip)
            .rstrip(rstrip)
            .normalized(normalized);
        theirs.add_tokens([token]).unwrap();
    }
    let rules = oxibert::text::Rules::uncased(Default::default());
    let ours = Tokenizer::with_added_tokens(Vocab::from_tokens(&tokens).unwrap(), rules, added).unwrap();
    let texts = [
        "a newtok b",
        "aNEWTOKb",
        "in New York now",
        "in new york",
        "new  york",
        "école ÉCOLE",
        "a  <ent>  b",
        "<ent><ent>",
        "word words sword a word.",
        "x <ent> word [MASK] <ent>",
        "你newtok好",
        "newtoken",
        "  <ent>",
    ];
    // They show a normalized token as it was found, we as it is in the vocabulary.
    texts.iter().for_each(|text| compare_ids_and_spans(&ours, &theirs, text));
}

/// A vocabulary of short pieces over few letters, so that matches overlap, fail and start again.
fn few_letters() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof!["[abcé好]{1,5}", "##[abcé好]{1,5}"];
    prop::collection::btree_set(piece, 1..40)
        .prop_map(|pieces| SPECIAL.map(String::from).into_iter().chain(pieces).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_vocabulary_spells_words_alike(tokens in few_letters(), text in "[abcdé好 .]{0,40}") {
        compare(&ours(&tokens, false), &theirs(&tokens, false), &text);
    }

    #[test]
    fn any_text_is_encoded_alike(text in any::<String>(), lowercase: bool) {
        let tokens = rich_vocabulary();
        compare(&ours(&tokens, lowercase), &theirs(&tokens, lowercase), &text);
    }

    #[test]
    fn spans_slice_the_text(text in "([a-zé]{1,5}|\\PC|[\u{300}-\u{32f}]|\\[MASK\\]| ){0,20}") {
        let tokenizer = ours(&rich_vocabulary(), true);
        let encoding = tokenizer.encode(&text);
        for span in &encoding.spans {
            prop_assert!(text.get(span.range()).is_some(), "{span:?}");
        }
        prop_assert_eq!(encoding.ids.len(), encoding.spans.len());
        prop_assert_eq!(encoding.ids.len(), encoding.segments.len());
    }
}
