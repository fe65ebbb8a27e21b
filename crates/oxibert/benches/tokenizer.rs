//! Our tokenizer beside Hugging Face's `tokenizers` crate, in one process, on the same text, in turn.
//!
//! ```text
//! cargo bench -p oxibert --bench tokenizer -- --vocab vocab.txt FILE…
//! ```
//! Encoding is checked to be equal before it is timed. The peer's fastest form (`encode_batch_fast`, which
//! gives no offsets) is timed beside the one that gives what ours always gives.

#![allow(clippy::print_stdout, missing_docs)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use oxibert::data::Corpus;
use oxibert::text::learn::LearnOptions;
use oxibert::text::{Compat, Rules, Tokenizer, Vocab};
use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainer};
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, TokenizerBuilder};

type Theirs = tokenizers::TokenizerImpl<
    WordPiece,
    BertNormalizer,
    BertPreTokenizer,
    BertProcessing,
    tokenizers::decoders::wordpiece::WordPiece,
>;

/// Lines given to a tokenizer at once, as a data loader does.
const BATCH: usize = 1000;
const ROUNDS: usize = 5;
/// Tokens of a vocabulary to learn.
const SIZE: usize = 30_000;
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

fn main() -> Result<(), Box<dyn Error>> {
    let (vocab, files) = arguments()?;
    let text = read(&files)?;
    let lines: Vec<&str> = text.lines().collect();
    println!("{:.1} MB, {} lines, median of {ROUNDS} rounds in turn\n", megabytes(&text), lines.len());
    encode(&vocab, &text, &lines)?;
    learn(&files, &text)
}

fn arguments() -> Result<(PathBuf, Vec<PathBuf>), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut vocab, mut files) = (None, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--vocab" => vocab = arguments.next().map(PathBuf::from),
            _ => files.push(argument.into()),
        }
    }
    match vocab {
        Some(vocab) if !files.is_empty() => Ok((vocab, files)),
        _ => Err("usage: cargo bench -p oxibert --bench tokenizer -- --vocab vocab.txt FILE…".into()),
    }
}

fn read(files: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for file in files {
        text.push_str(&std::fs::read_to_string(file)?);
    }
    Ok(text)
}

fn megabytes(text: &str) -> f64 {
    text.len() as f64 / 1e6
}

fn theirs(vocab: &Vocab) -> Result<Theirs, Box<dyn Error>> {
    let id = |token: &str| (token.to_owned(), vocab.id(token).expect("a BERT vocabulary"));
    let model = WordPiece::builder().vocab(
        (0..)
            .zip(vocab.tokens())
            .map(|(id, token)| (token.to_owned(), id))
            .collect::<ahash::AHashMap<_, _>>(),
    );
    let mut tokenizer = TokenizerBuilder::default()
        .with_model(model.build().map_err(|error| error.to_string())?)
        .with_normalizer(Some(BertNormalizer::default()))
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(BertProcessing::new(id("[SEP]"), id("[CLS]"))))
        .with_decoder(Some(Default::default()))
        .build()
        .map_err(|error| error.to_string())?;
    let special = SPECIAL.map(|token| AddedToken::from(token, true));
    tokenizer.add_special_tokens(special).map_err(|error| error.to_string())?;
    Ok(tokenizer)
}

fn encode(vocab: &Path, text: &str, lines: &[&str]) -> Result<(), Box<dyn Error>> {
    let vocab = Vocab::load(vocab)?;
    let theirs = theirs(&vocab)?;
    let ours = Tokenizer::uncased(vocab)?;
    for (line, expected) in
        lines.iter().zip(theirs.encode_batch(lines.to_vec(), true).map_err(|error| error.to_string())?)
    {
        assert_eq!(ours.encode(line).ids, expected.get_ids(), "{line:?}");
    }
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let batches = || lines.chunks(BATCH);
        let mut with_spans = || batches().for_each(|batch| drop(ours.encode_batch(batch)));
        let mut offsets =
            || batches().for_each(|batch| drop(theirs.encode_batch(batch.to_vec(), true).unwrap()));
        let mut fast =
            || batches().for_each(|batch| drop(theirs.encode_batch_fast(batch.to_vec(), true).unwrap()));
        let seconds = pool.install(|| medians([&mut with_spans, &mut offsets, &mut fast]));
        let speed = seconds.map(|seconds| megabytes(text) / seconds);
        println!(
            "encode, {threads} thread(s): oxibert {:.1} MB/s; tokenizers {:.2} MB/s with offsets ({:.1} x), {:.2} MB/s without ({:.1} x)",
            speed[0],
            speed[1],
            speed[0] / speed[1],
            speed[2],
            speed[0] / speed[2],
        );
    }
    Ok(())
}

/// Vocabulary training from the same files, on two threads.
fn learn(files: &[PathBuf], text: &str) -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let options = LearnOptions { size: SIZE, ..LearnOptions::default() };
    let rules = Rules::uncased(Compat::Hf);
    let mut ours = || {
        let corpus = Corpus::open(files).expect("files that were read before");
        drop(oxibert::text::learn::learn(&corpus, rules, &options, &()).expect("a vocabulary"));
    };
    let empty = Vocab::from_tokens(SPECIAL)?;
    let mut their_run = || {
        let mut tokenizer = theirs(&empty).expect("an empty tokenizer");
        let mut trainer = WordPieceTrainer::builder()
            .vocab_size(SIZE)
            .min_frequency(2)
            .show_progress(false)
            .special_tokens(SPECIAL.map(|token| AddedToken::from(token, true)).into())
            .build();
        tokenizer.train_from_files(&mut trainer, names.clone()).expect("a vocabulary");
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    let [ours, theirs] = pool.install(|| medians([&mut ours, &mut their_run]));
    println!(
        "learn {SIZE} tokens of {:.1} MB, 2 threads: oxibert {ours:.2} s; tokenizers {theirs:.2} s ({:.1} x)",
        megabytes(text),
        theirs / ours
    );
    Ok(())
}

/// The median seconds of each of several works, done in turn.
fn medians<const N: usize>(mut works: [&mut (dyn FnMut() + Send); N]) -> [f64; N] {
    let mut seconds = [(); N].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        for (work, seconds) in works.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            work();
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    })
}
