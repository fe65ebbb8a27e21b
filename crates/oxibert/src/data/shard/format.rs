//! The bytes of a shard: the header, where the parts lie, and the checks that make them safe to use.
//!
//! What has passed [`Layout::read`] is trusted: all starts lie in order and in range, all ids in the vocabulary.

use std::ops::Range;

/// What a shard begins with.
pub(super) const MAGIC: &[u8; 8] = b"OXISHARD";
/// The version that is written, and the only one that is read.
pub(super) const VERSION: u32 = 1;
/// The size of the header.
pub(super) const HEADER: usize = 56;
/// What comes before the part that the checksum covers.
pub(super) const UNCHECKED: usize = 16;
/// Vocabularies of more tokens need ids of four bytes.
const NARROW: usize = 1 << 16;

/// The bytes of an id in a vocabulary of so many tokens.
pub(super) fn token_bytes(vocab_size: usize) -> usize {
    if vocab_size <= NARROW { 2 } else { 4 }
}

/// What the header says, and where the parts lie.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) crc: u32,
    pub(super) fingerprint: u64,
    pub(super) vocab_size: u32,
    pub(super) token_bytes: usize,
    pub(super) token_count: usize,
    pub(super) sentences: usize,
    pub(super) documents: usize,
    pub(super) tokens: Range<usize>,
    pub(super) continues: Range<usize>,
    pub(super) sentence_starts: Range<usize>,
    pub(super) document_starts: Range<usize>,
}

impl Layout {
    /// Reads the header and checks everything behind it; says what is wrong.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let layout = Self::header(bytes)?;
        let crc = crc32fast::hash(&bytes[UNCHECKED..]);
        if crc != layout.crc {
            return Err(format!(
                "checksum {crc:08x}, expected {:08x}: the file is damaged; prepare the text again or copy the file anew",
                layout.crc
            ));
        }
        let starts = |field, range: &Range<usize>, end| check_starts(field, &bytes[range.clone()], end);
        starts("sentence starts", &layout.sentence_starts, layout.token_count)?;
        starts("document starts", &layout.document_starts, layout.sentences)?;
        layout.check_ids(&bytes[layout.tokens.clone()])?;
        layout.check_bits(bytes)?;
        Ok(layout)
    }

    fn header(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() < HEADER || &bytes[..8] != MAGIC {
            return Err(
                "it does not begin as a shard of `oxibert prepare` does; is it the right file?".into()
            );
        }
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        if short(8) != VERSION {
            return Err(format!("version {}, expected {VERSION}; prepare the text again", short(8)));
        }
        let vocab_size = short(48);
        let width = token_bytes(vocab_size as usize);
        if short(52) as usize != width {
            return Err(format!(
                "bytes per token {}, expected {width} for a vocabulary of {vocab_size} tokens",
                short(52)
            ));
        }
        let [token_count, sentences, documents] = [24, 32, 40].map(long);
        let parts = Parts::new(token_count, sentences, documents, width as u64)
            .filter(|parts| parts.end() == bytes.len())
            .ok_or_else(|| {
                format!(
                    "{} bytes do not fit {token_count} tokens, {sentences} sentences and {documents} documents: the file \
                     is cut short or damaged; copy it anew",
                    bytes.len()
                )
            })?;
        let Parts { tokens, continues, sentence_starts, document_starts } = parts;
        Ok(Self {
            crc: short(12),
            fingerprint: long(16),
            vocab_size,
            token_bytes: width,
            token_count: token_count as usize,
            sentences: sentences as usize,
            documents: documents as usize,
            tokens,
            continues,
            sentence_starts,
            document_starts,
        })
    }

    fn check_ids(&self, tokens: &[u8]) -> Result<(), String> {
        let largest = ids(tokens, self.token_bytes).max();
        match largest.filter(|&id| id >= self.vocab_size) {
            None => Ok(()),
            Some(id) => Err(format!("token {id} in a vocabulary of {} tokens", self.vocab_size)),
        }
    }

    /// A sentence begins with a word, and the last byte's unused bits are 0.
    fn check_bits(&self, bytes: &[u8]) -> Result<(), String> {
        let bits = &bytes[self.continues.clone()];
        let is_set = |at: usize| bits[at / 8] >> (at % 8) & 1 == 1;
        let starts = &bytes[self.sentence_starts.clone()];
        if let Some(sentence) = (0..self.sentences).find(|&sentence| is_set(number(starts, sentence))) {
            return Err(format!("sentence {sentence} begins in the middle of a word"));
        }
        match (self.token_count..bits.len() * 8).find(|&at| is_set(at)) {
            None => Ok(()),
            Some(_) => Err("bits are set behind the last token".into()),
        }
    }
}

struct Parts {
    tokens: Range<usize>,
    continues: Range<usize>,
    sentence_starts: Range<usize>,
    document_starts: Range<usize>,
}

impl Parts {
    /// Absent where the sizes pass what can be counted.
    fn new(tokens: u64, sentences: u64, documents: u64, width: u64) -> Option<Self> {
        let mut at = HEADER;
        let mut part = |count: u64, size: u64| {
            let end = at.checked_add(usize::try_from(count.checked_mul(size)?).ok()?)?;
            let range = at..end;
            at = end;
            Some(range)
        };
        Some(Self {
            tokens: part(tokens, width)?,
            continues: part(tokens.div_ceil(8), 1)?,
            sentence_starts: part(sentences.checked_add(1)?, 4)?,
            document_starts: part(documents.checked_add(1)?, 4)?,
        })
    }

    fn end(&self) -> usize {
        self.document_starts.end
    }
}

/// The ids in these bytes.
pub(super) fn ids(bytes: &[u8], width: usize) -> impl Iterator<Item = u32> {
    // One of the two is empty: a loop without a choice in it for either width.
    let (narrow, wide) = if width == 2 { (bytes, &[][..]) } else { (&[][..], bytes) };
    let narrow = narrow.chunks_exact(2).map(|id| u32::from(u16::from_le_bytes([id[0], id[1]])));
    narrow.chain(wide.chunks_exact(4).map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]])))
}

/// The number at this place of a list of starts.
pub(super) fn number(starts: &[u8], at: usize) -> usize {
    let bytes = starts[4 * at..4 * at + 4].try_into().expect("four bytes");
    u32::from_le_bytes(bytes) as usize
}

/// Starts begin at 0, rise, and end at `end`.
fn check_starts(field: &str, starts: &[u8], end: usize) -> Result<(), String> {
    let mut last = None;
    for at in 0..starts.len() / 4 {
        let start = number(starts, at);
        let fits = match last {
            None => start == 0,
            Some(last) => start > last,
        };
        if !fits {
            let before = last.map_or("expected 0".into(), |last| format!("expected more than {last}"));
            return Err(format!("{field}: {start} at place {at}, {before}"));
        }
        last = Some(start);
    }
    match last {
        Some(last) if last != end => Err(format!("{field}: {last} at the end, expected {end}")),
        _ => Ok(()),
    }
}
