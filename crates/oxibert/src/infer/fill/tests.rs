use std::fs;
use std::path::PathBuf;

use super::*;
use crate::model::names::{Parts, parameters};
use crate::model::{Config, checkpoint};
use crate::nn::{Layout, Params};
use crate::text::{Compat, Rules, Vocab};

const TOKENS: &str = "[PAD] [UNK] [CLS] [SEP] [MASK] paris is the capital of france . 巴 黎 play ##ing ##s";

/// A tiny checkpoint with random weights, which `change` may spoil.
fn save(parts: Parts, tokens: &str, change: impl FnOnce(&mut Params)) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let tokenizer = Tokenizer::uncased(Vocab::from_tokens(tokens.split(' ')).unwrap()).unwrap();
    // Three rows more than there are tokens, as many published models have.
    let vocab_size = tokenizer.vocab().len() + 3;
    let config = Config {
        hidden_size: 16,
        intermediate_size: 32,
        max_position_embeddings: 12,
        initializer_range: 0.5,
        ..Config::preset("tiny", vocab_size).unwrap()
    };
    let mut params = Params::new(Layout::new(parameters(&config, parts)), &config, 7);
    change(&mut params);
    tokenizer.save(directory.path()).unwrap();
    checkpoint::save(directory.path(), &config, &params.tensors()).unwrap();
    directory
}

fn filler() -> Filler {
    Filler::open(save(Parts::PRETRAINING, TOKENS, |_| ()).path()).unwrap()
}

fn refusal(directory: &Path, text: &str) -> String {
    Filler::open(directory).and_then(|filler| filler.fill(text, 1)).unwrap_err().to_string()
}

#[test]
fn candidates_are_those_of_the_logits() {
    let filler = filler();
    let text = "[MASK] is the [MASK] of 巴黎[MASK]";
    let masks = filler.fill(text, 4).unwrap();
    assert_eq!(masks.iter().map(|mask| mask.token_index).collect::<Vec<_>>(), [1, 4, 8]);
    for mask in &masks {
        assert_eq!(&text[mask.span.range()], MASK);
        let chars = text.chars().skip(mask.chars.start as usize);
        assert_eq!(chars.take(MASK.len()).collect::<String>(), MASK);
    }
    let encoding = filler.tokenizer.encode(text);
    assert_eq!(filler.encode(text), encoding, "the tokenizer's own way");
    let mut work = BertWork::default();
    let logits = filler.bert.mlm_logits(&Batch::of([&encoding]), &[1, 4, 8], &mut work).unwrap();
    for (mask, logits) in masks.iter().zip(logits.chunks(TOKENS.split(' ').count() + 3)) {
        let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
        let mut sorted: Vec<(u32, f64)> =
            (0..).zip(logits.iter().map(|&logit| f64::from(logit).exp() / sum)).collect();
        sorted.retain(|(id, _)| filler.tokenizer.vocab().token(*id).is_some());
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
        assert_eq!(mask.candidates.len(), 4);
        for (candidate, (id, probability)) in mask.candidates.iter().zip(sorted) {
            assert_eq!(candidate.id, id);
            assert_eq!(candidate.token, filler.tokenizer.vocab().token(id).unwrap());
            assert!((f64::from(candidate.probability) - probability).abs() < 1e-6);
        }
    }
    assert_eq!(filler.fill(text, 1000).unwrap()[0].candidates.len(), TOKENS.split(' ').count());
}

#[test]
fn memory_is_reused_without_a_trace() {
    let filler = filler();
    let mut work = BertWork::default();
    for text in ["paris is the [MASK] of [MASK].", "[MASK]", "the [MASK]."] {
        assert_eq!(filler.fill_with(text, 3, &mut work).unwrap(), filler.fill(text, 3).unwrap());
    }
}

#[test]
fn the_text_keeps_its_form() {
    let text = "Paris is [MASK], 巴[MASK]!";
    let at = |nth: usize| {
        let start = text.match_indices(MASK).nth(nth).unwrap().0;
        Span::new(start, start + MASK.len())
    };
    assert_eq!(filled(text, at(0), "here", false), "Paris is here, 巴[MASK]!");
    assert_eq!(filled(text, at(1), "黎", false), "Paris is [MASK], 巴黎!");
    assert_eq!(filled(text, at(0), "##land", true), "Paris island, 巴[MASK]!");
    assert_eq!(filled(text, at(0), "##", false), "Paris is ##, 巴[MASK]!");
}

#[test]
fn a_selection_equals_a_sort() {
    let values: Vec<f32> = (0..50u32).map(|i| (i.wrapping_mul(2_654_435_761) % 9) as f32).collect();
    let mut sorted: Vec<u32> = (0..40).collect();
    sorted.sort_by(|a, b| values[*b as usize].total_cmp(&values[*a as usize]));
    for top in [0, 1, 2, 7, 39, 40, 41, usize::MAX] {
        assert_eq!(likeliest(&values, 40, top), sorted[..top.min(40)], "{top}");
    }
}

#[test]
fn googles_rules_split_it_and_we_find_it() {
    let directory = save(Parts::PRETRAINING, TOKENS, |_| ());
    let tokenizer = Tokenizer::load(directory.path()).unwrap();
    let google = tokenizer.with_rules(Rules::uncased(Compat::Google)).unwrap();
    let filler = Filler::new(google, Bert::open(directory.path()).unwrap()).unwrap();
    assert_eq!(
        filler.fill("paris is [MASK].", 2).unwrap(),
        self::filler().fill("paris is [MASK].", 2).unwrap()
    );
}

#[test]
fn what_cannot_be_filled_is_refused() {
    let good = save(Parts::PRETRAINING, TOKENS, |_| ());
    assert!(
        refusal(good.path(), "Paris is the ___ of France.")
            .starts_with("text: no [MASK] in it; write [MASK]")
    );
    assert!(refusal(good.path(), "").contains("no [MASK]"));
    let long = format!("[MASK]{}", " the".repeat(10));
    assert!(
        refusal(good.path(), &long)
            .starts_with("text: 13 tokens with [CLS] and [SEP], but the model takes at most 12")
    );
    let headless = save(Parts { pooler: true, ..Parts::default() }, TOKENS, |_| ());
    assert!(refusal(headless.path(), "[MASK]").contains("no masked-language-model head"));
    let maskless = save(Parts::PRETRAINING, &TOKENS.replace("[MASK]", "mask"), |_| ());
    assert!(refusal(maskless.path(), "[MASK]").starts_with("vocabulary: no [MASK] among its 17 tokens"));
    let sick = save(Parts::PRETRAINING, TOKENS, |params| {
        let range = params.layout.range("bert.encoder.layer.1.output.dense.bias").unwrap();
        params.values[range][3] = f32::NAN;
    });
    assert!(refusal(sick.path(), "[MASK]").contains("bert.encoder.layer.1.output.dense.bias"));
    let huge = save(Parts::PRETRAINING, TOKENS, |params| {
        let range = params.layout.range("cls.predictions.transform.LayerNorm.weight").unwrap();
        params.values[range].fill(f32::MAX);
    });
    assert!(refusal(huge.path(), "[MASK]").contains("not finite although its weights are"));
    fs::remove_file(good.path().join("vocab.txt")).unwrap();
    fs::remove_file(good.path().join("tokenizer.json")).unwrap();
    assert!(refusal(good.path(), "[MASK]").contains("tokenizer"));
}

/// Where `name` of a downloaded model lies, if it is there: below `OXIBERT_MODELS` or `target/models`.
fn model(name: &str) -> Option<PathBuf> {
    let target = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/models");
    let path = std::env::var_os("OXIBERT_MODELS").map_or_else(target, PathBuf::from).join(name);
    path.exists().then_some(path)
}

/// A sequence of an antibody's heavy chain; the figures are those of a computation in f64 from the same weights.
#[test]
fn antiberty_knows_antibodies() {
    let Some(directory) = model("antiberty/antiberty/trained_models") else {
        #[allow(clippy::print_stderr)] // whoever reads a test's output shall know
        {
            eprintln!("skipped: AntiBERTy is not in $OXIBERT_MODELS or target/models");
        }
        return;
    };
    let tokenizer = Tokenizer::load_vocab(&directory.join("vocab.txt"), Rules::cased(Compat::Hf)).unwrap();
    let filler = Filler::new(tokenizer, Bert::open(&directory.join("AntiBERTy_md_smooth")).unwrap()).unwrap();
    let sequence =
        "EVQLVESGGGLVQPGGSLRLSCAASGFTFSSYAMSWVRQAPGKGLEWVSAISGSGGSTYYADSVKGRFTISRDNSKNTLYLQMNSLRAEDTAVYYCAK";
    for (masked, expected) in
        [(0, [("E", 0.997535), ("D", 0.002365)]), (3, [("L", 0.986528), ("V", 0.005214)])]
    {
        let word = |(place, residue): (usize, char)| match place == masked {
            true => MASK.to_owned(),
            false => residue.to_string(),
        };
        let text = sequence.chars().enumerate().map(word).collect::<Vec<_>>().join(" ");
        let masks = filler.fill(&text, 2).unwrap();
        assert_eq!((masks.len(), masks[0].token_index), (1, masked + 1));
        for (candidate, (token, probability)) in masks[0].candidates.iter().zip(expected) {
            assert_eq!(candidate.token, token);
            assert!((candidate.probability - probability).abs() < 1e-4, "{candidate:?}");
        }
    }
}
