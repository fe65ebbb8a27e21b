//! The beam of one source: which of its targets go on, which have ended, which are given up.

use super::search::{DecodeOptions, Hypothesis};
use crate::model::decoding::Next;

/// So many more tokens, each of them certain, must be able to make a live target better than those that have ended.
const SOON: usize = 5;

/// A target under way.
struct Live {
    ids: Vec<u32>,
    log_probability: f64,
    /// The last token's row, once it is computed.
    row: Option<u32>,
}

/// One source's targets.
pub(super) struct Sentence {
    live: Vec<Live>,
    done: Vec<Hypothesis>,
    limit: usize,
}

/// A live target and the token that may go on from it.
struct Candidate {
    live: usize,
    token: u32,
    log_probability: f64,
}

impl Live {
    fn next(&self, sequence: usize, start: u32) -> Next {
        Next { sequence, parent: self.row, token: self.ids.last().copied().unwrap_or(start) }
    }
}

impl Sentence {
    /// The empty target, alive; targets are cut at `limit` tokens.
    pub(super) fn new(limit: usize) -> Self {
        let empty = Live { ids: Vec::new(), log_probability: 0.0, row: None };
        Self { live: vec![empty], done: Vec::new(), limit }
    }

    /// How many targets are alive; none where the search has ended.
    pub(super) fn alive(&self) -> usize {
        self.live.len()
    }

    /// The tokens that the live targets end with now.
    pub(super) fn next(&self, sequence: usize, start: u32) -> impl Iterator<Item = Next> {
        self.live.iter().map(move |live| live.next(sequence, start))
    }

    /// Goes on from each live target with its likeliest tokens, given with the target's row.
    ///
    /// Of the 2k best candidates of a beam of k, those that end count if they are among the best k; the first k of the others
    /// live on, but for the hopeless ones. So k stay alive whatever ends.
    pub(super) fn advance(&mut self, rows: &[(u32, Vec<(u32, f64)>)], end: u32, options: &DecodeOptions) {
        let mut live = Vec::with_capacity(options.beam);
        for (rank, candidate) in self.candidates(rows, 2 * options.beam).into_iter().enumerate() {
            let before = &self.live[candidate.live];
            let mut ids = before.ids.clone();
            if candidate.token == end {
                if rank < options.beam {
                    self.done.push(hypothesis(ids, candidate.log_probability, true, options));
                }
            } else if live.len() < options.beam {
                ids.push(candidate.token);
                let row = Some(rows[candidate.live].0);
                live.push(Live { ids, log_probability: candidate.log_probability, row });
            }
        }
        self.give_up(&mut live, options);
        let ended = self.is_over(&live, options);
        if !ended && live.iter().any(|live| live.ids.len() >= self.limit) {
            let cut = live.drain(..).map(|live| hypothesis(live.ids, live.log_probability, false, options));
            self.done.extend(cut);
        }
        self.live = if ended { Vec::new() } else { live };
    }

    /// Gives up live targets, which come with the likeliest first, that will hardly be among those that are given: they are far less likely
    /// than as many others, or as many have ended that they would not reach soon (Wu et al. 2016, section 7).
    fn give_up(&self, live: &mut Vec<Live>, options: &DecodeOptions) {
        if options.prune == f64::INFINITY {
            return;
        }
        if let Some(last) = live.get(options.n_best - 1) {
            let least = last.log_probability - options.prune;
            live.retain(|live| live.log_probability >= least);
        }
        if let Some(least) = self.least(options) {
            let later = |live: &Live| (live.ids.len() + SOON).min(self.limit);
            live.retain(|live| options.score(live.log_probability, later(live)) > least);
        }
    }

    /// The score of the last of those that would be given if the search ended now; absent if there are not so many.
    fn least(&self, options: &DecodeOptions) -> Option<f64> {
        let mut scores: Vec<f64> = self.done.iter().map(|done| done.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.get(options.n_best - 1).copied()
    }

    /// Whether none is alive; or as many as the beam has have ended, and none that lives is worth more than those that will be given (as in
    /// transformers). The number alone would not do: beside a target that the model is sure of, others end soon that it
    /// hardly believes in.
    fn is_over(&self, live: &[Live], options: &DecodeOptions) -> bool {
        if live.is_empty() || self.done.len() < options.beam {
            return live.is_empty();
        }
        let least = self.least(options).expect("as many have ended as the beam has");
        live.iter().all(|live| options.score(live.log_probability, live.ids.len()) <= least)
    }

    /// The best ways on, the best first; of equally good ones that of the better target, and then the smaller id.
    fn candidates(&self, rows: &[(u32, Vec<(u32, f64)>)], count: usize) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = Vec::new();
        for (live, (before, (_, tokens))) in self.live.iter().zip(rows).enumerate() {
            all.extend(tokens.iter().map(|&(token, log_probability)| Candidate {
                live,
                token,
                log_probability: before.log_probability + log_probability,
            }));
        }
        all.sort_by(|a, b| b.log_probability.total_cmp(&a.log_probability));
        all.truncate(count);
        all
    }

    /// What was found, the best first.
    pub(super) fn best(self, options: &DecodeOptions) -> Vec<Hypothesis> {
        let mut done = self.done;
        done.sort_by(|a, b| b.score.total_cmp(&a.score));
        done.truncate(options.n_best);
        done
    }
}

/// The end token counts as one of the length.
fn hypothesis(ids: Vec<u32>, log_probability: f64, ended: bool, options: &DecodeOptions) -> Hypothesis {
    let score = options.score(log_probability, ids.len() + usize::from(ended));
    Hypothesis { ids, log_probability, score, ended }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u32 = 0;

    /// A step for which every live target has the same ways on.
    fn step(sentence: &mut Sentence, ways: &[(u32, f64)], options: &DecodeOptions) -> Vec<Vec<u32>> {
        let rows: Vec<_> = (0..sentence.alive() as u32).map(|row| (row, ways.to_vec())).collect();
        sentence.advance(&rows, END, options);
        sentence.live.iter().map(|live| live.ids.clone()).collect()
    }

    #[test]
    fn targets_far_below_the_best_are_given_up() {
        let ways = [(1, -0.1), (2, -2.5), (3, -3.05), (4, -3.15), (END, -9.0)];
        let alive = |prune, n_best| {
            let options = DecodeOptions { prune, n_best, ..DecodeOptions::default() };
            step(&mut Sentence::new(9), &ways, &options).len()
        };
        assert_eq!(alive(3.0, 1), 3);
        assert_eq!(alive(2.0, 1), 1);
        assert_eq!(alive(f64::INFINITY, 1), 4);
        assert_eq!(alive(0.7, 2), 4, "as many as are given stay, and those near the last of them");
        assert_eq!(alive(0.0, 3), 3);
    }

    #[test]
    fn targets_that_ended_ones_have_left_behind_are_given_up() {
        let options = DecodeOptions { prune: 3.0, ..DecodeOptions::default() };
        let ways = [(END, -0.05), (1, -3.0)];
        let mut sentence = Sentence::new(30);
        assert!(
            step(&mut sentence, &ways, &options).is_empty(),
            "the first target ended and no other can reach it"
        );
        assert_eq!(sentence.best(&options)[0].log_probability, -0.05);
        let (mut sentence, all) = (Sentence::new(30), DecodeOptions { prune: f64::INFINITY, ..options });
        assert_eq!(step(&mut sentence, &ways, &all), [[1]], "it is followed where all shall be");
        let near = [(END, -1.0), (1, -1.1)];
        assert_eq!(step(&mut Sentence::new(30), &near, &options), [[1]], "one that may still become better");
    }
}
