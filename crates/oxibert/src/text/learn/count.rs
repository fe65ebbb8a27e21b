//! The first half of learning: every distinct word of the corpus with its count, on all cores, in bounded memory.
//!
//! Threads take blocks in turn and count into tables of their own. After every [`EPOCH_BLOCKS`] blocks the tables
//! are added up (addition does not care which thread counted what) and, where there are too many words, the rare
//! ones dropped. As that point is fixed in the input, the result is the same for any number of threads.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::alphabet::Characters;
use super::table::{WordTable, hash};
use super::{LearnOptions, SplitWords, Statistics};
use crate::data::{Blocks, Corpus};
use crate::progress::{Progress, Unit};
use crate::{Error, Result};

/// How many blocks are counted between two additions: enough to keep many cores busy, few enough that the words of
/// that much text fit beside the table. Tests have less text and must see several epochs, too.
const EPOCH_BLOCKS: usize = if cfg!(test) { 2 } else { 64 };

/// What was counted. The words are spread over several tables, each word in one.
pub(super) struct Counted {
    pub(super) tables: Vec<WordTable>,
    /// The characters of all words, also of those that were dropped for being rare.
    pub(super) characters: Characters,
}

/// Counts the words of the corpus on the threads of the current rayon pool.
pub(super) fn count<S: SplitWords>(
    corpus: &Corpus,
    splitter: &S,
    options: &LearnOptions,
    statistics: &mut Statistics,
    progress: &dyn Progress,
) -> Result<Counted> {
    let threads = rayon::current_num_threads();
    let feed = Mutex::new(Feed {
        blocks: corpus.blocks(),
        left: 0,
        reported: 0,
        error: None,
        done: false,
        progress,
    });
    let mut workers: Vec<Worker<S>> = (0..threads).map(|_| Worker::new(options.max_word_chars)).collect();
    let mut counted = Counted {
        tables: (0..threads).map(|_| WordTable::new()).collect(),
        characters: Characters::default(),
    };
    progress.begin("counting words", corpus.size(), Unit::Bytes);
    loop {
        let finished = lock(&feed).finished();
        if finished {
            break;
        }
        lock(&feed).left = EPOCH_BLOCKS;
        workers.par_iter_mut().with_max_len(1).for_each(|worker| worker.run(&feed, splitter));
        counted.add_up(&workers);
        for worker in &mut workers {
            worker.hand_over(statistics);
        }
        counted.prune(options.max_words, statistics);
    }
    progress.end();
    lock(&feed).error.take().map_or(Ok(()), Err)?;
    counted.finish(statistics);
    Ok(counted)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic in a splitter travels through rayon to the caller; nobody looks at the state it left.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the threads take their blocks from.
struct Feed<'a> {
    blocks: Blocks<'a>,
    left: usize,
    reported: u64,
    error: Option<Error>,
    done: bool,
    progress: &'a dyn Progress,
}

impl Feed<'_> {
    /// The next block of this epoch.
    fn next(&mut self) -> Option<String> {
        if self.left == 0 || self.finished() {
            return None;
        }
        self.left -= 1;
        let block = self.blocks.next();
        let consumed = self.blocks.consumed();
        self.progress.advance(consumed - self.reported);
        self.reported = consumed;
        match block {
            Some(Ok(block)) => return Some(block.text),
            Some(Err(error)) => self.error = Some(error),
            None => self.done = true,
        }
        None
    }

    fn finished(&self) -> bool {
        self.done || self.error.is_some()
    }
}

/// One thread's counts of the current epoch.
struct Worker<S: SplitWords> {
    table: WordTable,
    scratch: S::Scratch,
    max_word_chars: usize,
    words: u64,
    long_words: u64,
}

impl<S: SplitWords> Worker<S> {
    fn new(max_word_chars: usize) -> Self {
        Self {
            table: WordTable::new(),
            scratch: S::Scratch::default(),
            max_word_chars,
            words: 0,
            long_words: 0,
        }
    }

    fn run(&mut self, feed: &Mutex<Feed>, splitter: &S) {
        let Self { table, scratch, max_word_chars, words, long_words } = self;
        loop {
            // The guard lives for this one statement: reading is in turn, counting at the same time.
            let Some(text) = lock(feed).next() else { return };
            splitter.split_words(&text, scratch, |word| {
                *words += 1;
                if word.len() > *max_word_chars && word.chars().count() > *max_word_chars {
                    *long_words += 1;
                } else if !word.is_empty() {
                    table.add(word, hash(word), 1);
                }
            });
        }
    }

    fn hand_over(&mut self, statistics: &mut Statistics) {
        self.table.clear();
        statistics.words += std::mem::take(&mut self.words);
        statistics.long_words += std::mem::take(&mut self.long_words);
    }
}

impl Counted {
    fn add_up<S: SplitWords>(&mut self, workers: &[Worker<S>]) {
        let shards = self.tables.len();
        let parts: Vec<&WordTable> = workers.iter().map(|worker| &worker.table).collect();
        self.tables.par_iter_mut().enumerate().with_max_len(1).for_each(|(shard, table)| {
            for part in &parts {
                table.add_shard(part, shard, shards);
            }
        });
    }

    /// Where there are more than `max_words`, drops the rarest until at most half of that are left: half, so that
    /// it does not happen again at once.
    fn prune(&mut self, max_words: usize, statistics: &mut Statistics) {
        if self.tables.iter().map(WordTable::len).sum::<usize>() <= max_words {
            return;
        }
        let mut counts: Vec<u64> =
            self.tables.iter().flat_map(|table| table.iter().map(|(_, _, count)| count)).collect();
        let (_, &mut floor, _) = counts.select_nth_unstable_by_key(max_words / 2, |&count| Reverse(count));
        drop(counts);
        let characters = &mut self.characters;
        for table in &mut self.tables {
            table.prune(floor, |word, count| {
                characters.add(word, count);
                statistics.pruned_words += 1;
                statistics.pruned_occurrences += count;
            });
        }
    }

    fn finish(&mut self, statistics: &mut Statistics) {
        for table in &self.tables {
            statistics.unique_words += table.len();
            for (word, _, count) in table.iter() {
                self.characters.add(word, count);
            }
        }
    }
}
