//! The best answer among all spans of all windows.
//!
//! The score of a span is the sum of its start's and its end's logit; that of no answer is the sum at `[CLS]`, the least
//! of all windows. A token that stands in several windows begins an answer only in the one that shows most around it
//! ("max context" in Google's run_squad).

use std::ops::Range;

use super::{Answer, Candidate, Found};
use crate::task::Item;
use crate::text::Span;

/// The paragraph's part of a window.
struct Window<'w> {
    /// Of every token of the sequence.
    spans: &'w [Span],
    /// `[tokens, 2]`: starts and ends.
    logits: &'w [f32],
    /// The paragraph's tokens in the sequence.
    tokens: Range<usize>,
    /// Which piece of the paragraph the first of them is.
    first: usize,
}

impl Answer {
    pub(super) fn search(&self, context: &str, items: &[Item], logits: &[&[f32]]) -> Found {
        let windows = self.shown(items, logits);
        let mut candidates: Vec<Candidate> = Vec::new();
        for (number, window) in windows.iter().enumerate() {
            let is_best = |piece: usize| best_window(&windows, piece) == Some(number);
            candidates.extend(self.spans(window, context, is_best).filter_map(|(start, end)| {
                let score = window.logits[2 * start] + window.logits[2 * end + 1];
                let (start, end) = (window.spans[start].range().start, window.spans[end].range().end);
                let text = context.get(start..end)?.to_owned();
                Some(Candidate { text, start, end, score })
            }));
        }
        let order = |a: &Candidate, b: &Candidate| {
            b.score.total_cmp(&a.score).then(a.start.cmp(&b.start)).then(a.end.cmp(&b.end))
        };
        candidates.sort_by(order);
        candidates.truncate(self.options.n_best.max(1));
        let null = windows.iter().map(|window| window.logits[0] + window.logits[1]).reduce(f32::min);
        self.found(candidates, null.unwrap_or(0.0))
    }

    /// The windows with the paragraph's pieces that they show.
    fn shown<'w>(&self, items: &'w [Item], logits: &[&'w [f32]]) -> Vec<Window<'w>> {
        let mut windows: Vec<Window<'w>> = Vec::with_capacity(items.len());
        for (item, logits) in items.iter().zip(logits) {
            let sequence = &item.sequences[0];
            let last = sequence.len() - 1; // the second [SEP]
            let begin = sequence.segments.iter().position(|&segment| segment == 1).unwrap_or(last);
            // All windows but the last are as wide as the first, and go forward by the same step.
            let width = windows.first().map_or(0, |window| window.tokens.len());
            let first = windows.len() * (width - self.overlap(width).min(width));
            windows.push(Window { spans: &sequence.spans, logits, tokens: begin..last, first });
        }
        windows
    }

    /// The spans of the likeliest starts and ends that may be an answer; starts only where `is_best` says of the piece that
    /// this window is its best.
    fn spans(
        &self,
        window: &Window<'_>,
        context: &str,
        is_best: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = (usize, usize)> {
        let count = self.options.n_best.max(1);
        let mut starts = likeliest(window, 0, count);
        starts.retain(|&token| is_best(window.first + token - window.tokens.start));
        let ends = likeliest(window, 1, count);
        let gap = if self.skips() { gap(window, context) } else { None };
        let longest = self.options.max_answer;
        let pairs =
            starts.into_iter().flat_map(move |start| ends.clone().into_iter().map(move |end| (start, end)));
        pairs.filter(move |&(start, end)| {
            let whole = gap.is_none_or(|gap| end < gap || gap <= start);
            start <= end && end - start < longest && whole
        })
    }

    /// Scores become probabilities among the best, and among no answer where that is one of them.
    fn found(&self, mut candidates: Vec<Candidate>, null: f32) -> Found {
        let best = candidates.first().map(|candidate| candidate.score);
        let considered = self.options.with_impossible.then_some(null);
        let highest = best.into_iter().chain(considered).fold(f32::MIN, f32::max);
        let weight = |score: f32| (score - highest).exp();
        let sum: f32 = candidates.iter().map(|candidate| candidate.score).chain(considered).map(weight).sum();
        candidates.iter_mut().for_each(|candidate| candidate.score = weight(candidate.score) / sum);
        let null_gap = best.map_or(f32::INFINITY, |best| null - best);
        let mut found =
            Found { text: String::new(), start: 0, end: 0, score: 0.0, null_gap, n_best: candidates };
        self.decide(&mut found);
        found
    }
}

/// The window that shows most on the lesser side of a piece; of equals the wider, then the first.
fn best_window(windows: &[Window<'_>], piece: usize) -> Option<usize> {
    let from = windows.partition_point(|window| window.first + window.tokens.len() <= piece);
    let to = windows.partition_point(|window| window.first <= piece);
    let context = |number: &usize| {
        let (before, width) = (piece - windows[*number].first, windows[*number].tokens.len());
        (before.min(width - 1 - before), width)
    };
    // From the back: of equals, the last that is looked at is taken.
    (from..to).rev().max_by_key(context)
}

/// The `count` tokens of the paragraph with the largest logits in a column, largest first.
fn likeliest(window: &Window<'_>, column: usize, count: usize) -> Vec<usize> {
    let logit = |token: usize| window.logits[2 * token + column];
    let order = |a: &usize, b: &usize| logit(*b).total_cmp(&logit(*a)).then(a.cmp(b));
    let mut tokens: Vec<usize> = window.tokens.clone().collect();
    if count < tokens.len() {
        // A selection is linear; only the chosen few are sorted.
        tokens.select_nth_unstable_by(count, order);
        tokens.truncate(count);
    }
    tokens.sort_unstable_by(order);
    tokens
}

/// The first token behind text that the window leaves out: no answer reaches over words that nobody read.
fn gap(window: &Window<'_>, context: &str) -> Option<usize> {
    let mut behind = window.tokens.clone().skip(1);
    behind.find(|&token| {
        let between = window.spans[token - 1].range().end..window.spans[token].range().start;
        context.get(between).is_some_and(|text| text.chars().any(char::is_alphanumeric))
    })
}
