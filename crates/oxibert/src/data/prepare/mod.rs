//! Documents to shards of token ids: what pretraining reads.
//!
//! ```text
//! pieces of text -> paragraphs -> sentences -> ids and words -> shards of about 16 million tokens
//! one thread        all threads (encode.rs)                     one thread (writer.rs)
//! ```
//!
//! The three stages work at the same time, each on a batch of pieces; the batches come in order, so what is written depends on
//! the input alone. Memory holds three batches, a shard, and the hashes of the lines seen so far up to a limit.

mod duplicates;
mod encode;
#[cfg(test)]
mod tests;
mod writer;

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use self::encode::{Encoded, PieceEncoder};
use self::writer::Writer;
use super::shard::Prepared;
use super::{Documents, Piece, Pieces, files};
use crate::progress::{Progress, Unit};
use crate::text::Tokenizer;
use crate::{Error, Result};

/// The tokens of a shard, at most: 32 MB of ids.
const SHARD_TOKENS: usize = 1 << 24;
/// What the names of shards end in.
const ENDING: &str = ".shard";

/// What becomes of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineIs {
    /// A paragraph, to be split into sentences.
    #[default]
    Paragraph,
    /// One sentence.
    Sentence,
}

/// How to prepare.
#[derive(Clone, Debug)]
pub struct PrepareOptions {
    /// What a line is.
    pub line_is: LineIs,
    /// Whether to leave out lines that have stood before.
    pub dedup: bool,
    /// The most tokens of a shard.
    pub shard_tokens: usize,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        Self { line_is: LineIs::Paragraph, dedup: false, shard_tokens: SHARD_TOKENS }
    }
}

/// Writes the documents' tokens, `prepared.json` and the tokenizer's files to the directory `out`, as a whole.
///
/// `out` must not exist or be empty, unless `force`: then shards that were in it go.
///
/// ```
/// use oxibert::data::prepare::{PrepareOptions, prepare};
/// use oxibert::data::shard::Shards;
/// use oxibert::data::{Corpus, DocumentOptions, Documents};
/// use oxibert::text::{SPECIAL_TOKENS, Tokenizer, Vocab};
///
/// # let directory = tempfile::tempdir()?;
/// # let out = directory.path().join("prepared");
/// let tokenizer = Tokenizer::uncased(Vocab::from_tokens(SPECIAL_TOKENS.iter().chain(&["so", "it", "is", "."]))?)?;
/// let corpus = Corpus::from_text("notes", "So it is. It is so.\n\nIt is.\n");
/// let documents = Documents::of_corpus(corpus, &DocumentOptions::default())?;
/// let prepared = prepare(&documents, &tokenizer, &PrepareOptions::default(), &out, false, &())?;
/// assert_eq!((prepared.documents, prepared.sentences, prepared.tokens), (2, 3, 11));
/// assert_eq!(Shards::open(&out)?.document(0).sentences(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare(
    documents: &Documents,
    tokenizer: &Tokenizer,
    options: &PrepareOptions,
    out: &Path,
    force: bool,
    progress: &dyn Progress,
) -> Result<Prepared> {
    // A shard counts its tokens with 32 bits.
    if options.shard_tokens == 0 || options.shard_tokens > 1 << 30 {
        let problem = format!("{} tokens in a shard; take 1 to {}", options.shard_tokens, 1 << 30);
        return Err(Error::setting("shard_tokens", problem));
    }
    let prepared = files::save_dir(out, force, |directory| {
        let mut writer = Writer::new(directory, tokenizer, options);
        let encoder = PieceEncoder::new(tokenizer, options.line_is);
        progress.begin("preparing", documents.size(), Unit::Bytes);
        let done = run(Feed::new(documents, progress), &encoder, &mut writer);
        progress.end();
        done?;
        tokenizer.save(directory)?;
        writer.finish(tokenizer)
    })?;
    remove_others(out, &prepared)?;
    Ok(prepared)
}

/// All stages at once, until nothing is left.
fn run(mut feed: Feed<'_>, encoder: &PieceEncoder<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (mut pieces, mut encoded): (Vec<Piece>, Vec<Encoded>) = (Vec::new(), Vec::new());
    loop {
        let encode = || -> Vec<Result<Encoded>> {
            pieces.par_iter().with_max_len(1).map(|piece| encoder.encode(piece)).collect()
        };
        let write = || encoded.iter().try_for_each(|encoded| writer.add(encoded));
        let (read, (now_encoded, written)) = rayon::join(|| feed.batch(), || rayon::join(encode, write));
        // The batch that was written stood first in the input, so its error is the one to tell.
        written?;
        encoded = now_encoded.into_iter().collect::<Result<_>>()?;
        pieces = read?;
        if pieces.is_empty() && encoded.is_empty() {
            return Ok(());
        }
    }
}

/// Where the pieces come from.
struct Feed<'a> {
    pieces: Pieces<'a>,
    /// How many make a batch: enough to keep all threads busy.
    batch: usize,
    reported: u64,
    progress: &'a dyn Progress,
    /// An error that waits until the pieces before it have been looked at.
    error: Option<Error>,
}

impl<'a> Feed<'a> {
    fn new(documents: &'a Documents, progress: &'a dyn Progress) -> Self {
        let batch = (2 * rayon::current_num_threads()).max(8);
        Self { pieces: documents.pieces(), batch, reported: 0, progress, error: None }
    }

    /// The next pieces; none after the last.
    fn batch(&mut self) -> Result<Vec<Piece>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut batch = Vec::new();
        while batch.len() < self.batch && self.error.is_none() {
            match self.pieces.next() {
                Some(Ok(piece)) => batch.push(piece),
                Some(Err(error)) => self.error = Some(error),
                None => break,
            }
        }
        let consumed = self.pieces.consumed();
        self.progress.advance(consumed.saturating_sub(self.reported));
        self.reported = consumed;
        match self.error.take_if(|_| batch.is_empty()) {
            Some(error) => Err(error),
            None => Ok(batch),
        }
    }
}

/// Removes the shards of another run, which `--force` left and `prepared.json` does not speak of.
fn remove_others(out: &Path, prepared: &Prepared) -> Result<()> {
    for entry in fs::read_dir(out).map_err(|source| Error::read(out, source))?.flatten() {
        let name = entry.file_name();
        let is_shard =
            name.to_str().is_some_and(|name| name.starts_with("tokens-") && name.ends_with(ENDING));
        if is_shard && !prepared.shards.iter().any(|shard| *name == *shard.file) {
            fs::remove_file(entry.path()).map_err(|source| Error::write(entry.path(), source))?;
        }
    }
    Ok(())
}
