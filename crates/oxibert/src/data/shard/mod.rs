//! Prepared text: documents of sentences of token ids, in files that are mapped into memory.
//!
//! Pretraining reads every sentence many times and in any order, so tokenizing is done once, by
//! [`prepare`](super::prepare::prepare) (`oxibert prepare`), and what comes out is used where it lies on the disk.
//! A directory holds `prepared.json` ([`Prepared`]: what is in it), the shards, and the tokenizer's own files.
//!
//! # The format of a shard
//!
//! All numbers are little-endian and without sign. T tokens, S sentences, D documents.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | the letters `OXISHARD` |
//! | 8 | 4 | version: 1 |
//! | 12 | 4 | CRC-32 (as in gzip) of all that follows |
//! | 16 | 8 | [fingerprint](crate::text::Vocab::fingerprint) of the vocabulary |
//! | 24 | 8 | T |
//! | 32 | 8 | S |
//! | 40 | 8 | D |
//! | 48 | 4 | tokens in the vocabulary; every id is smaller |
//! | 52 | 4 | w, the bytes of an id: 2 if the vocabulary has at most 65536 tokens, else 4 |
//! | 56 | w T | token ids |
//! | … | ⌈T / 8⌉ | a bit per token, the lowest first: it continues the word of the token before it |
//! | … | 4 (S + 1) | the token at which each sentence begins; at last T |
//! | … | 4 (D + 1) | the sentence at which each document begins; at last S |
//!
//! No sentence and no document is empty, and a sentence's first token continues no word. A document lies in one shard;
//! one that is longer than a whole shard is cut at a sentence, and its parts are documents of their own.

mod builder;
mod format;
mod prepared;
mod tally;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use oxibert_kernels::MappedFile;
use rayon::prelude::*;

pub(super) use self::builder::Builder;
use self::format::Layout;
pub use self::prepared::{Frequent, PREPARED_JSON, PREPARED_VERSION, Prepared, ShardFile};
pub(super) use self::tally::Tally;
use crate::{Error, Result};

/// The documents of a prepared directory.
///
/// ```
/// use oxibert::data::shard::Shards;
///
/// let shards = Shards::of_documents(&[vec![vec![7, 8, 9], vec![5]], vec![vec![6, 6]]]);
/// assert_eq!(shards.documents(), 2);
/// let document = shards.document(0);
/// assert_eq!((document.sentences(), document.length(0)), (2, 3));
/// let (mut ids, mut continues) = (Vec::new(), Vec::new());
/// document.append(1, &mut ids, &mut continues);
/// assert_eq!((ids, continues), (vec![5], vec![false]));
/// ```
#[derive(Debug)]
pub struct Shards {
    prepared: Prepared,
    shards: Vec<Shard>,
    /// The number of the first document of each shard.
    starts: Vec<usize>,
}

impl Shards {
    /// Opens the directory that `oxibert prepare` wrote. Every file is checked, on all threads.
    pub fn open(directory: &Path) -> Result<Self> {
        let prepared = Prepared::load(directory)?;
        let open = |file: &ShardFile| {
            let shard = Shard::open(&directory.join(&file.file))?;
            shard.check_against(&prepared, file)?;
            Ok(shard)
        };
        let shards = prepared.shards.par_iter().map(open).collect::<Result<Vec<_>>>()?;
        Ok(Self::new(prepared, shards))
    }

    /// The content of one shard, checked as [`Shards::open`] does it; `path` is for the messages. Only the counts of
    /// [`prepared`](Self::prepared) are known.
    pub fn parse(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        let shard = Shard::check(Bytes::Memory(bytes), path)?;
        let about = shard.about(&path.to_string_lossy());
        let prepared = Prepared {
            version: PREPARED_VERSION,
            documents: about.documents,
            sentences: about.sentences,
            tokens: about.tokens,
            vocab_size: shard.layout.vocab_size,
            vocab_fingerprint: shard.layout.fingerprint,
            shards: vec![about],
            ..Prepared::default()
        };
        Ok(Self::new(prepared, vec![shard]))
    }

    /// Documents of sentences of ids, in memory. No token continues a word. What is empty is left out.
    pub fn of_documents(documents: &[Vec<Vec<u32>>]) -> Self {
        let mark = |sentence: &Vec<u32>| sentence.iter().map(|&id| (id, false)).collect();
        let marked: Vec<Vec<Vec<(u32, bool)>>> =
            documents.iter().map(|document| document.iter().map(mark).collect()).collect();
        Self::of_words(&marked)
    }

    /// Documents of sentences of ids, each with whether it continues the word before it, in memory. A sentence's first
    /// token continues none, whatever is said.
    pub fn of_words(documents: &[Vec<Vec<(u32, bool)>>]) -> Self {
        let ids = documents.iter().flatten().flatten();
        let vocab_size = ids.map(|token| token.0 + 1).max().unwrap_or(1);
        let mut builder = Builder::new(0, vocab_size as usize);
        for document in documents {
            let mut begins = true;
            for sentence in document.iter().filter(|sentence| !sentence.is_empty()) {
                let (ids, continues): (Vec<u32>, Vec<bool>) = sentence.iter().copied().unzip();
                builder.push(&ids, &continues, begins);
                begins = false;
            }
        }
        let mut tally = Tally::new(vocab_size as usize);
        tally.add(&builder);
        let mut prepared = tally.prepared(0, &[]);
        let bytes = Bytes::Memory(builder.to_bytes());
        let shard = Shard::check(bytes, Path::new("memory")).expect("what was just built is right");
        prepared.shards.push(shard.about("memory"));
        Self::new(prepared, vec![shard])
    }

    fn new(prepared: Prepared, shards: Vec<Shard>) -> Self {
        let mut documents = 0;
        let mut starts = Vec::with_capacity(shards.len());
        for shard in &shards {
            starts.push(documents);
            documents += shard.layout.documents;
        }
        Self { prepared, shards, starts }
    }

    /// What `prepared.json` says.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The number of documents.
    pub fn documents(&self) -> usize {
        self.prepared.documents as usize
    }

    /// The document with this number, from 0.
    pub fn document(&self, number: usize) -> Document<'_> {
        assert!(number < self.documents(), "document {number} of {}", self.documents());
        let at = self.starts.partition_point(|&start| start <= number) - 1;
        let shard = &self.shards[at];
        let first = shard.document_start(number - self.starts[at]);
        let end = shard.document_start(number - self.starts[at] + 1);
        Document { shard, first, sentences: end - first }
    }
}

/// A document: some sentences.
#[derive(Debug, Clone, Copy)]
pub struct Document<'s> {
    shard: &'s Shard,
    /// Its first sentence's number in the shard.
    first: usize,
    sentences: usize,
}

impl Document<'_> {
    /// The number of sentences.
    pub fn sentences(&self) -> usize {
        self.sentences
    }

    /// The number of tokens of a sentence.
    pub fn length(&self, sentence: usize) -> usize {
        let (start, end) = self.tokens(sentence);
        end - start
    }

    /// Appends a sentence's ids, and for each whether it continues the word of the token before it.
    pub fn append(&self, sentence: usize, ids: &mut Vec<u32>, continues: &mut Vec<bool>) {
        let (start, end) = self.tokens(sentence);
        let Layout { token_bytes, tokens, continues: bits, .. } = &self.shard.layout;
        let bytes = &self.shard.bytes[tokens.start + start * token_bytes..tokens.start + end * token_bytes];
        ids.extend(format::ids(bytes, *token_bytes));
        let bits = &self.shard.bytes[bits.clone()];
        continues.extend((start..end).map(|at| bits[at / 8] >> (at % 8) & 1 == 1));
    }

    /// The tokens of a sentence: from, and to.
    fn tokens(&self, sentence: usize) -> (usize, usize) {
        assert!(sentence < self.sentences, "sentence {sentence} of {}", self.sentences);
        let at = self.first + sentence;
        (self.shard.sentence_start(at), self.shard.sentence_start(at + 1))
    }
}

/// One file, checked.
#[derive(Debug)]
pub(super) struct Shard {
    bytes: Bytes,
    layout: Layout,
    path: PathBuf,
}

impl Shard {
    fn open(path: &Path) -> Result<Self> {
        let mapped = MappedFile::open(path).map_err(|source| Error::read(path, source))?;
        Self::check(Bytes::Mapped(mapped), path)
    }

    fn check(bytes: Bytes, path: &Path) -> Result<Self> {
        let layout = Layout::read(&bytes).map_err(|problem| Error::content(path, None, problem))?;
        Ok(Self { bytes, layout, path: path.to_owned() })
    }

    /// Refuses a shard that is not the one that `prepared.json` speaks of.
    fn check_against(&self, prepared: &Prepared, file: &ShardFile) -> Result<()> {
        let found = self.about(&file.file);
        let layout = &self.layout;
        let fields = [
            ("checksum", found.crc.into(), file.crc.into()),
            ("documents", found.documents, file.documents),
            ("sentences", found.sentences, file.sentences),
            ("tokens", found.tokens, file.tokens),
            ("vocabulary size", layout.vocab_size.into(), prepared.vocab_size.into()),
            ("vocabulary fingerprint", layout.fingerprint, prepared.vocab_fingerprint),
        ];
        match fields.into_iter().find(|(_, found, expected)| found != expected) {
            None => Ok(()),
            Some((field, found, expected)) => {
                let problem = format!(
                    "{field} {found}, but {PREPARED_JSON} beside it says {expected}: the two are not of one run; prepare the \
                     text again"
                );
                Err(Error::content(&self.path, None, problem))
            }
        }
    }

    fn about(&self, file: &str) -> ShardFile {
        let Layout { documents, sentences, token_count, crc, .. } = self.layout;
        ShardFile {
            file: file.to_owned(),
            documents: documents as u64,
            sentences: sentences as u64,
            tokens: token_count as u64,
            crc,
        }
    }

    fn sentence_start(&self, number: usize) -> usize {
        format::number(&self.bytes[self.layout.sentence_starts.clone()], number)
    }

    fn document_start(&self, number: usize) -> usize {
        format::number(&self.bytes[self.layout.document_starts.clone()], number)
    }
}

#[derive(Debug)]
enum Bytes {
    Mapped(MappedFile),
    Memory(Vec<u8>),
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(mapped) => mapped,
            Self::Memory(bytes) => bytes,
        }
    }
}
