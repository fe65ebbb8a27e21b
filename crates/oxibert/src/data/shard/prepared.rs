//! `prepared.json`: what is in a prepared directory.

use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::files;
use crate::{Error, Result};

/// The file's name.
pub const PREPARED_JSON: &str = "prepared.json";
/// The version that is written, and the only one that is read.
pub const PREPARED_VERSION: u32 = 1;

/// What was prepared. Counts are of what was kept, where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// Of this file's format.
    pub version: u32,
    /// Documents.
    pub documents: u64,
    /// Documents of a single sentence: they have no next sentence to predict.
    pub one_sentence_documents: u64,
    /// Documents that were longer than a shard and were cut.
    pub cut_documents: u64,
    /// Sentences.
    pub sentences: u64,
    /// Tokens, without any `[CLS]` and `[SEP]`.
    pub tokens: u64,
    /// Tokens that are `[UNK]`.
    pub unknown_tokens: u64,
    /// Bytes of text (UTF-8, without white space at the ends of lines).
    pub bytes: u64,
    /// How many sentences have 2^i to 2^(i + 1) - 1 tokens, from i = 0.
    pub sentence_lengths: Vec<u64>,
    /// Lines that were read and not blank, dropped ones among them. The paragraphs of JSON and Parquet are lines, too.
    pub lines: u64,
    /// Lines that had stood before, character for character.
    pub duplicate_lines: u64,
    /// Documents that had stood before, line for line.
    pub duplicate_documents: u64,
    /// Whether duplicate lines were left out.
    pub duplicates_dropped: bool,
    /// Whether there were more lines than are remembered, so that some duplicates were not seen.
    pub duplicates_forgotten: bool,
    /// The entropy of the distribution of tokens, in nats, special tokens left out: the loss of a model that only knows
    /// how frequent each token is.
    pub unigram_entropy: f64,
    /// The most frequent token, special ones left out.
    pub most_frequent: Option<Frequent>,
    /// The number of tokens in the vocabulary.
    pub vocab_size: u32,
    /// [`Vocab::fingerprint`](crate::text::Vocab::fingerprint), in hexadecimal.
    #[serde(with = "hexadecimal")]
    pub vocab_fingerprint: u64,
    /// The files, in order.
    pub shards: Vec<ShardFile>,
}

/// A token and how much of the text it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frequent {
    /// The token's id.
    pub id: u32,
    /// Its share of all tokens, special ones left out.
    pub share: f64,
}

/// One file of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardFile {
    /// Its name in the directory.
    pub file: String,
    /// Documents in it.
    pub documents: u64,
    /// Sentences in it.
    pub sentences: u64,
    /// Tokens in it.
    pub tokens: u64,
    /// Its checksum.
    pub crc: u32,
}

impl Prepared {
    /// Reads `prepared.json` in a directory.
    pub fn load(directory: &Path) -> Result<Self> {
        let path = directory.join(PREPARED_JSON);
        if directory.is_dir() && !path.exists() {
            let problem =
                format!("no {PREPARED_JSON} in it; expected a directory that `oxibert prepare` wrote");
            return Err(Error::content(directory, None, problem));
        }
        let bytes = std::fs::read(&path).map_err(|source| Error::read(&path, source))?;
        Self::parse(&bytes, &path)
    }

    /// Reads the content of a `prepared.json`; `path` is for the messages.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        check_version(bytes, path)?;
        let prepared: Self = serde_json::from_slice(bytes)
            .map_err(|error| Error::content(path, Some(error.line()), error.to_string()))?;
        prepared.check().map_err(|problem| Error::content(path, None, problem))?;
        Ok(prepared)
    }

    /// Writes `prepared.json` into a directory, atomically.
    pub fn save(&self, directory: &Path) -> Result<()> {
        files::save(&directory.join(PREPARED_JSON), |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            writeln!(out)
        })
    }

    /// The sums must be those of the files, and a file's name must not lead out of the directory.
    fn check(&self) -> Result<(), String> {
        let sum = |of: fn(&ShardFile) -> u64| {
            self.shards.iter().try_fold(0u64, |sum, shard| sum.checked_add(of(shard))).unwrap_or(u64::MAX)
        };
        let fields = [
            ("documents", self.documents, sum(|shard| shard.documents)),
            ("sentences", self.sentences, sum(|shard| shard.sentences)),
            ("tokens", self.tokens, sum(|shard| shard.tokens)),
        ];
        if let Some((field, found, expected)) = fields.into_iter().find(|field| field.1 != field.2) {
            return Err(format!("{field}: {found}, but the shards have {expected} together"));
        }
        let is_name = |file: &str| Path::new(file).file_name() == Some(OsStr::new(file));
        match self.shards.iter().find(|shard| !is_name(&shard.file)) {
            None => Ok(()),
            Some(shard) => Err(format!("shards: {:?} is no name of a file in this directory", shard.file)),
        }
    }
}

/// Another version may have other fields, so its number is looked at first.
fn check_version(bytes: &[u8], path: &Path) -> Result<()> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    match serde_json::from_slice(bytes) {
        Ok(Versioned { version }) if version != PREPARED_VERSION => {
            let problem = format!("version: {version}, expected {PREPARED_VERSION}; prepare the text again");
            Err(Error::content(path, None, problem))
        }
        // What is wrong otherwise is told by the full reading.
        _ => Ok(()),
    }
}

/// A number of 64 bits as text: many readers of JSON keep only 53 of them.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(number: &u64, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&format_args!("{number:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        u64::from_str_radix(&text, 16)
            .map_err(|_| D::Error::custom(format!("{text:?} is no hexadecimal number")))
    }
}
