//! A shard that is being made, in memory.

use std::io::{self, Write};

use super::format::{HEADER, MAGIC, UNCHECKED, VERSION, ids, token_bytes};

/// Collects sentences until there are enough for a file.
#[derive(Debug)]
pub(crate) struct Builder {
    fingerprint: u64,
    vocab_size: usize,
    token_bytes: usize,
    /// Ids as they will be written.
    tokens: Vec<u8>,
    continues: Vec<bool>,
    /// Where each sentence and each document begins; the ends are added when it is written.
    sentences: Vec<u32>,
    documents: Vec<u32>,
}

impl Builder {
    /// An empty shard of a vocabulary.
    pub(crate) fn new(fingerprint: u64, vocab_size: usize) -> Self {
        Self {
            fingerprint,
            vocab_size,
            token_bytes: token_bytes(vocab_size),
            tokens: Vec::new(),
            continues: Vec::new(),
            sentences: Vec::new(),
            documents: Vec::new(),
        }
    }

    /// Appends a sentence, of a new document if it `begins` one.
    pub(crate) fn push(&mut self, ids: &[u32], continues: &[bool], begins: bool) {
        assert!(!ids.is_empty() && ids.len() == continues.len(), "a sentence has tokens, each with its bit");
        if begins || self.documents.is_empty() {
            self.documents.push(self.sentences.len() as u32);
        }
        self.sentences.push(self.continues.len() as u32);
        if self.token_bytes == 2 {
            self.tokens.extend(ids.iter().flat_map(|&id| (id as u16).to_le_bytes()));
        } else {
            self.tokens.extend(ids.iter().flat_map(|&id| id.to_le_bytes()));
        }
        self.continues.push(false);
        self.continues.extend_from_slice(&continues[1..]);
    }

    pub(crate) fn token_count(&self) -> usize {
        self.continues.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.continues.is_empty()
    }

    pub(crate) fn document_count(&self) -> usize {
        self.documents.len()
    }

    pub(crate) fn sentence_count(&self) -> usize {
        self.sentences.len()
    }

    /// Takes the last document out, so that the rest can be written; `None` where there is no other.
    pub(crate) fn split_off_last_document(&mut self) -> Option<Self> {
        let first = self.documents.pop_if(|first| *first > 0)?;
        let mut last = Self::new(self.fingerprint, self.vocab_size);
        let start = self.sentences[first as usize];
        last.tokens = self.tokens.split_off(start as usize * self.token_bytes);
        last.continues = self.continues.split_off(start as usize);
        last.sentences = self.sentences.split_off(first as usize);
        last.sentences.iter_mut().for_each(|at| *at -= start);
        last.documents = vec![0];
        Some(last)
    }

    /// All ids, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        ids(&self.tokens, self.token_bytes)
    }

    /// The length of every sentence in tokens.
    pub(crate) fn sentence_lengths(&self) -> impl Iterator<Item = usize> {
        lengths(&self.sentences, self.token_count())
    }

    /// The length of every document in sentences.
    pub(crate) fn document_lengths(&self) -> impl Iterator<Item = usize> {
        lengths(&self.documents, self.sentence_count())
    }

    /// Writes the shard; its checksum.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<u32> {
        let mut head = [0; HEADER];
        head[..8].copy_from_slice(MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[16..24].copy_from_slice(&self.fingerprint.to_le_bytes());
        let counts = [self.token_count(), self.sentence_count(), self.document_count()];
        for (at, count) in [24, 32, 40].into_iter().zip(counts) {
            head[at..at + 8].copy_from_slice(&(count as u64).to_le_bytes());
        }
        head[48..52].copy_from_slice(&(self.vocab_size as u32).to_le_bytes());
        head[52..56].copy_from_slice(&(self.token_bytes as u32).to_le_bytes());
        let bits = pack(&self.continues);
        let sentences = starts(&self.sentences, self.token_count());
        let documents = starts(&self.documents, self.sentence_count());
        let mut hasher = crc32fast::Hasher::new();
        for part in [&head[UNCHECKED..], &self.tokens, &bits, &sentences, &documents] {
            hasher.update(part);
        }
        let crc = hasher.finalize();
        head[12..16].copy_from_slice(&crc.to_le_bytes());
        for part in [&head[..], &self.tokens, &bits, &sentences, &documents] {
            out.write_all(part)?;
        }
        Ok(crc)
    }

    /// What [`write`](Self::write) writes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).expect("memory takes everything");
        bytes
    }
}

fn lengths(starts: &[u32], end: usize) -> impl Iterator<Item = usize> {
    let ends = starts.iter().skip(1).copied().chain([end as u32]);
    starts.iter().zip(ends).map(|(&start, end)| (end - start) as usize)
}

fn pack(bits: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| eight.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bits.chunks(8).map(byte).collect()
}

fn starts(starts: &[u32], end: usize) -> Vec<u8> {
    starts.iter().copied().chain([end as u32]).flat_map(u32::to_le_bytes).collect()
}
