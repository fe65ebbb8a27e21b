//! Lines of text: in chunks that fit into memory, for verbs that answer line by line, or all at once.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};

use anyhow::{Result, anyhow, ensure};
use oxibert::data::labelled::Stream;
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

/// All lines of files that say something; an error if none does.
pub(crate) fn with_text(files: &[PathBuf]) -> Result<Vec<String>> {
    let corpus = Corpus::open(files)?;
    let (mut lines, mut texts) = (corpus.lines(), Vec::new());
    while let Some(line) = lines.next_line()? {
        if !line.text.trim().is_empty() {
            texts.push(line.text.to_owned());
        }
    }
    ensure!(!texts.is_empty(), "{}: no text in it", files[0].display());
    Ok(texts)
}

/// Reads on a thread of its own and hands over whatever has arrived together, at most `most` at a time: a slow pipe or a
/// person who types is answered at once, a file in full batches.
pub(crate) fn as_they_arrive<T: Send>(
    most: usize,
    read: impl FnOnce(&mut Sink<'_, T>) -> Result<()> + Send,
    take: impl FnMut(Vec<T>) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel(most);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            read(&mut |next| sender.send(next).map_err(|_| anyhow!("nobody takes what was read")))
        });
        hand_over(receiver, most, take)?;
        reader.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Takes what was read.
pub(crate) type Sink<'t, T> = dyn FnMut(T) -> Result<()> + 't;

/// By value: once nobody takes any more, the reader must hear of it.
fn hand_over<T>(
    receiver: Receiver<T>,
    most: usize,
    mut take: impl FnMut(Vec<T>) -> Result<()>,
) -> Result<()> {
    while let Ok(first) = receiver.recv() {
        take(std::iter::once(first).chain(receiver.try_iter().take(most - 1)).collect())?;
    }
    Ok(())
}

/// The lines of files, as they arrive.
pub(crate) fn texts(
    files: &[PathBuf],
    most: usize,
    take: impl FnMut(Vec<String>) -> Result<()>,
) -> Result<()> {
    let read = |send: &mut Sink<'_, String>| {
        files.iter().try_for_each(|path| Stream::open(path)?.try_for_each(|line| send(line?.1)))
    };
    as_they_arrive(most, read, take)
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
