use super::*;
use crate::model::transformer::{Config, save};
use crate::text::Vocab;

const WORDS: &str =
    "[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog sat ran . , on mat a ##s ##ly quick der hund lief";

fn tokenizer() -> Tokenizer {
    Tokenizer::uncased(Vocab::from_tokens(WORDS.split(' ')).unwrap()).unwrap()
}

/// A tiny checkpoint with random weights.
fn directory(change: impl FnOnce(&mut Vec<f32>)) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let tokenizer = tokenizer();
    let config = Config {
        d_model: 16,
        encoder_ffn_dim: 32,
        decoder_ffn_dim: 32,
        max_position_embeddings: 12,
        init_std: 0.3,
        ..Config::preset("tiny", tokenizer.vocab().len(), tokenizer.special()).unwrap()
    };
    let mut params = Transformer::new(&config).initial(5);
    change(&mut params.values);
    save(directory.path(), &config, &params.tensors()).unwrap();
    tokenizer.save(directory.path()).unwrap();
    directory
}

fn translator() -> Translator {
    Translator::open(directory(|_| ()).path()).unwrap()
}

#[test]
fn as_many_come_out_as_go_in_whatever_they_are() {
    let translator = translator();
    let texts =
        ["the cat sat.", "", "   ", "Ωμέγα 漢字", "the dogs ran on the mat. ".repeat(20).as_str(), "a"]
            .map(str::to_owned);
    let found = translator.translate(&texts, &DecodeOptions::default(), &()).unwrap();
    assert_eq!(found.len(), texts.len());
    let parts: Vec<usize> = found.iter().map(|found| found[0].parts).collect();
    assert_eq!((parts[0], parts[1], parts[2], parts[3], parts[5]), (1, 0, 0, 1, 1));
    assert!(parts[4] >= 14, "{parts:?}");
    assert_eq!((found[1][0].text.as_str(), found[1][0].score), ("", 0.0));
    assert!(found.iter().all(|found| found.len() == 1));
}

#[test]
fn neighbours_threads_and_repetition_change_nothing() {
    let translator = translator();
    let texts = ["the cat sat on a mat.", "a dog ran quickly", "the", "cats, dogs", "der hund lief . . ."];
    let options = DecodeOptions { n_best: 3, ..DecodeOptions::default() };
    let together = translator.translate(&texts, &options, &()).unwrap();
    let alone: Vec<_> =
        texts.iter().flat_map(|text| translator.translate(&[text], &options, &()).unwrap()).collect();
    assert_eq!(together, alone);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(together, pool.install(|| translator.translate(&texts, &options, &()).unwrap()));
    // Enough batches for every thread to take its own.
    let many = pool.install(|| translator.translate(&texts.repeat(200), &options, &()).unwrap());
    assert!(many.chunks(texts.len()).all(|some| some == together));
    assert!(together.iter().all(|found| found.windows(2).all(|pair| pair[0].score >= pair[1].score)));
}

#[test]
fn bfloat16_is_near_and_does_not_depend_on_neighbours() {
    let texts = ["the cat sat on a mat.", "a dog ran quickly", "the"];
    // One token, so that a tie that falls the other way cannot lead elsewhere.
    let options = DecodeOptions { max_length: Some(1), ..DecodeOptions::GREEDY };
    let exact = translator().translate(&texts, &options, &()).unwrap();
    let rounded = translator().in_bf16();
    let near = rounded.translate(&texts, &options, &()).unwrap();
    let alone = rounded.translate(&texts[1..2], &options, &()).unwrap();
    assert_eq!(near[1], alone[0]);
    let apart = |(a, b): (&Vec<Translation>, &Vec<Translation>)| (a[0].score - b[0].score).abs();
    let apart: Vec<f64> = exact.iter().zip(&near).map(apart).collect();
    assert!(apart.iter().all(|apart| *apart < 0.1) && apart.iter().any(|apart| *apart > 0.0), "{apart:?}");
}

#[test]
fn long_texts_are_cut_into_sentences() {
    let tokenizer = tokenizer();
    let mut encoder = tokenizer.encoder();
    let ids = |text: &str| tokenizer.encoder().pieces(text).ids;
    let text = "The cat sat on a mat. A dog ran. The dog sat on the quick cat, on a mat, on a dog.";
    let parts = cut(text, 10, &mut encoder);
    let long = ids("The dog sat on the quick cat, on a mat, on a dog.");
    assert_eq!(
        parts,
        [ids("The cat sat on a mat."), ids("A dog ran."), long[..10].to_vec(), long[10..].to_vec()]
    );
    let whole = cut(text, 16, &mut encoder);
    assert_eq!(
        whole,
        [&ids("The cat sat on a mat.")[..], &ids("A dog ran."), &long],
        "each by itself, though two would fit"
    );
    assert_eq!(cut("the cat", 2, &mut encoder).len(), 1);
    assert!(cut(" ", 2, &mut encoder).is_empty());
}

#[test]
fn alignment_has_a_distribution_for_every_token() {
    let translator = translator();
    let text = "the cat sat.";
    let found = translator.translate(&[text], &DecodeOptions::default(), &()).unwrap().remove(0).remove(0);
    let alignment = translator.alignment(text, &found.tokens).unwrap();
    assert_eq!(alignment.source, ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]);
    assert_eq!(alignment.target.len(), found.tokens.len() + 1);
    assert_eq!((alignment.layers.len(), alignment.heads), (2, 4));
    for layer in &alignment.layers {
        assert_eq!(layer.len(), 4 * alignment.target.len() * 6);
        assert!(layer.chunks_exact(6).all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
    }
    let refusal = translator.alignment(text, &["nobody".to_owned()]).unwrap_err().to_string();
    assert!(refusal.contains("\"nobody\""), "{refusal}");
}

#[test]
fn what_cannot_work_is_told() {
    let translator = translator();
    let options = DecodeOptions { beam: 0, ..DecodeOptions::default() };
    assert!(translator.translate(&["a"], &options, &()).unwrap_err().to_string().starts_with("beam"));
    let sick = Translator::open(directory(|values| values[100] = f32::NAN).path()).unwrap();
    let refusal = sick.translate(&["the cat"], &DecodeOptions::default(), &()).unwrap_err().to_string();
    assert!(refusal.contains("model.shared.weight"), "{refusal}");
    let small = directory(|_| ());
    let more = Vocab::from_tokens(WORDS.split(' ').chain(["more"])).unwrap();
    Tokenizer::uncased(more).unwrap().save(small.path()).unwrap();
    assert!(
        Translator::open(small.path()).unwrap_err().to_string().starts_with("tokenizer: it has 22 tokens")
    );
}
