//! The end of the line: encoded pieces, in order, become shards and their description.

use std::hash::Hasher;
use std::path::Path;

use super::duplicates::{Duplicates, hasher};
use super::encode::{Encoded, Line};
use super::{ENDING, PrepareOptions};
use crate::data::files;
use crate::data::shard::{Builder, Prepared, ShardFile, Tally};
use crate::text::Tokenizer;
use crate::{Error, Result};

/// Packs documents into shards, and counts.
pub(super) struct Writer<'o> {
    directory: &'o Path,
    options: &'o PrepareOptions,
    fingerprint: u64,
    vocab_size: usize,
    shard: Builder,
    tally: Tally,
    duplicates: Duplicates,
    document: OpenDocument,
    /// What only this stage knows; the tally adds the rest at the end.
    prepared: Prepared,
}

/// The document that is being read.
struct OpenDocument {
    /// Over the hashes of its lines, dropped ones among them.
    hash: std::hash::DefaultHasher,
    lines: u64,
    /// Its first sentence has not been seen.
    begins: bool,
    /// A shard was too small for it.
    cut: bool,
}

impl OpenDocument {
    fn new() -> Self {
        let mut hash = hasher();
        // A document of one line is something else than that line.
        hash.write_u8(b'D');
        Self { hash, lines: 0, begins: true, cut: false }
    }
}

impl<'o> Writer<'o> {
    pub(super) fn new(directory: &'o Path, tokenizer: &Tokenizer, options: &'o PrepareOptions) -> Self {
        let (fingerprint, vocab_size) = (tokenizer.vocab().fingerprint(), tokenizer.vocab().len());
        Self {
            directory,
            options,
            fingerprint,
            vocab_size,
            shard: Builder::new(fingerprint, vocab_size),
            tally: Tally::new(vocab_size),
            duplicates: Duplicates::new(),
            document: OpenDocument::new(),
            prepared: Prepared::default(),
        }
    }

    /// Takes the next piece.
    pub(super) fn add(&mut self, piece: &Encoded) -> Result<()> {
        let mut sentence = 0;
        for line in &piece.lines {
            if self.take_line(line) {
                for at in sentence..line.end {
                    let start = if at == 0 { 0 } else { piece.sentence_ends[at - 1] };
                    let tokens = start..piece.sentence_ends[at];
                    self.push(&piece.ids[tokens.clone()], &piece.continues[tokens])?;
                }
            }
            sentence = line.end;
        }
        Ok(())
    }

    /// Counts a line; whether its sentences are wanted.
    fn take_line(&mut self, line: &Line) -> bool {
        if line.begins {
            self.end_document();
        }
        self.document.hash.write_u64(line.hash);
        self.document.lines += 1;
        self.prepared.lines += 1;
        let duplicate = self.duplicates.is_duplicate(line.hash);
        self.prepared.duplicate_lines += u64::from(duplicate);
        let wanted = !(duplicate && self.options.dedup);
        self.prepared.bytes += if wanted { line.bytes as u64 } else { 0 };
        wanted
    }

    fn end_document(&mut self) {
        let document = std::mem::replace(&mut self.document, OpenDocument::new());
        if document.lines > 0 {
            let duplicate = self.duplicates.is_duplicate(document.hash.finish());
            self.prepared.duplicate_documents += u64::from(duplicate);
            self.prepared.cut_documents += u64::from(document.cut);
        }
    }

    fn push(&mut self, ids: &[u32], continues: &[bool]) -> Result<()> {
        let limit = self.options.shard_tokens;
        for (ids, continues) in ids.chunks(limit).zip(continues.chunks(limit)) {
            while self.shard.token_count() + ids.len() > limit {
                self.make_room()?;
            }
            self.shard.push(ids, continues, self.document.begins);
            self.document.begins = false;
        }
        Ok(())
    }

    /// Writes the shard, without the open document if it can be kept whole for the next one.
    fn make_room(&mut self) -> Result<()> {
        let mut next = None;
        if !self.document.begins {
            next = self.shard.split_off_last_document();
            self.document.cut |= next.is_none();
        }
        self.write_shard()?;
        if let Some(next) = next {
            self.shard = next;
        }
        Ok(())
    }

    fn write_shard(&mut self) -> Result<()> {
        let shard = std::mem::replace(&mut self.shard, Builder::new(self.fingerprint, self.vocab_size));
        self.tally.add(&shard);
        let file = format!("tokens-{:05}{ENDING}", self.prepared.shards.len());
        let mut crc = 0;
        files::save(&self.directory.join(&file), |out| {
            crc = shard.write(out)?;
            Ok(())
        })?;
        self.prepared.shards.push(ShardFile {
            file,
            documents: shard.document_count() as u64,
            sentences: shard.sentence_count() as u64,
            tokens: shard.token_count() as u64,
            crc,
        });
        Ok(())
    }

    /// Writes what is left, and `prepared.json`.
    pub(super) fn finish(mut self, tokenizer: &Tokenizer) -> Result<Prepared> {
        self.end_document();
        if !self.shard.is_empty() {
            self.write_shard()?;
        }
        if self.prepared.shards.is_empty() {
            return Err(Error::setting("input", "the text has no words; is it empty, or the wrong file?"));
        }
        let seen = self.prepared;
        let prepared = Prepared {
            unknown_tokens: self.tally.count(tokenizer.special().unk),
            cut_documents: seen.cut_documents,
            bytes: seen.bytes,
            lines: seen.lines,
            duplicate_lines: seen.duplicate_lines,
            duplicate_documents: seen.duplicate_documents,
            duplicates_dropped: self.options.dedup,
            duplicates_forgotten: self.duplicates.forgotten,
            shards: seen.shards,
            ..self.tally.prepared(self.fingerprint, &special(tokenizer))
        };
        prepared.save(self.directory)?;
        Ok(prepared)
    }
}

/// The tokens that are no part of the language.
fn special(tokenizer: &Tokenizer) -> Vec<u32> {
    let ids = tokenizer.special();
    let added = tokenizer.added_tokens().iter().filter(|token| token.special).map(|token| token.id);
    [ids.unk, ids.cls, ids.sep].into_iter().chain(ids.pad).chain(ids.mask).chain(added).collect()
}
