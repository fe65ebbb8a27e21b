//! Lines of text in chunks that fit into memory, for verbs that answer line by line.

use anyhow::Result;
use oxibert::data::{Corpus, Lines};

/// The most bytes of a chunk, but for its last line.
const CHUNK_BYTES: usize = 16 << 20;

/// The next lines, at most `most` of them; none at the end.
pub(crate) fn next_chunk(lines: &mut Lines<'_>, most: usize) -> Result<Vec<String>> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    while texts.len() < most && bytes < CHUNK_BYTES {
        let Some(line) = lines.next_line()? else { break };
        bytes += line.text.len();
        texts.push(line.text.to_owned());
    }
    Ok(texts)
}

/// How many lines there are, for a bar. Counting takes a blink beside any model, but a stream can be read only once.
pub(crate) fn count(corpus: &Corpus) -> Option<u64> {
    corpus.size()?;
    let (mut lines, mut count) = (corpus.lines(), 0);
    // What cannot be read is told when the lines are used.
    while lines.next_line().ok()?.is_some() {
        count += 1;
    }
    Some(count)
}
