//! From a source to its likeliest targets: beam search, which with a beam of one is greedy (section 6.1 of the paper).

use oxibert_kernels::{log_sum_exp, side_by_side};

use super::{Transformer, Work};
use crate::data::Batch;
use crate::model::decoding::Next;
use crate::nn::Numbers;
use crate::{Error, Result};

/// A target may have so many tokens more than its source where nothing else is said (section 6.1 of the paper).
const LONGER: usize = 50;

/// How targets are looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeOptions {
    /// Hypotheses that are followed at a time; 1 is greedy.
    pub beam: usize,
    /// How much longer targets are preferred, alpha: log-probabilities are divided by `((5 + length) / 6)^alpha`. 0 prefers
    /// none and favours short ones, 1 is about the mean of a token.
    pub length_penalty: f64,
    /// The most tokens of a target; absent: as many as its source has, and 50 more.
    pub max_length: Option<usize>,
    /// How many targets are given for a source, at most as many as the beam has.
    pub n_best: usize,
}

impl Default for DecodeOptions {
    /// The paper's: a beam of 4, alpha 0.6.
    fn default() -> Self {
        Self { beam: 4, length_penalty: 0.6, max_length: None, n_best: 1 }
    }
}

impl DecodeOptions {
    /// Always the likeliest next token.
    pub const GREEDY: Self = Self { beam: 1, length_penalty: 0.6, max_length: None, n_best: 1 };

    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        let Self { beam, length_penalty, max_length, n_best } = *self;
        if !(1..=1024).contains(&beam) {
            return Err(Error::setting("beam", format!("it is {beam}, expected 1 to 1024")));
        }
        if !(1..=beam).contains(&n_best) {
            let problem = format!("it is {n_best}, expected 1 to the beam's {beam}; widen the beam for more");
            return Err(Error::setting("n-best", problem));
        }
        if !(length_penalty.is_finite() && length_penalty >= 0.0) {
            return Err(Error::setting(
                "length-penalty",
                format!("it is {length_penalty}, expected 0 or more"),
            ));
        }
        if max_length == Some(0) {
            return Err(Error::setting("max-length", "it is 0, expected at least 1"));
        }
        Ok(())
    }

    /// What a log-probability of so many tokens is worth (Wu et al. 2016, equation 14).
    fn score(&self, log_probability: f64, length: usize) -> f64 {
        log_probability / ((5.0 + length as f64) / 6.0).powf(self.length_penalty)
    }
}

/// A target that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// Its tokens, without start and end.
    pub ids: Vec<u32>,
    /// The logarithm of its probability, the end included.
    pub log_probability: f64,
    /// By which targets are compared: the log-probability, corrected for the length.
    pub score: f64,
    /// Whether the model ended it; if not, it was cut at the longest length.
    pub ended: bool,
}

/// A target under way.
struct Live {
    ids: Vec<u32>,
    log_probability: f64,
    /// The last token's row, once it is computed.
    row: Option<u32>,
}

/// One source's targets.
struct Sentence {
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

/// The best targets of each source, the best first; what is found does not depend on the other sources.
///
/// The batch must have passed [`Transformer::check`]'s test of sources, the options [`DecodeOptions::check`].
pub(crate) fn search<N: Numbers + ?Sized>(
    model: &Transformer,
    numbers: &N,
    source: &Batch,
    options: &DecodeOptions,
    work: &mut Work,
) -> Result<Vec<Vec<Hypothesis>>> {
    let config = model.config();
    // The start token takes a position, too.
    let most = config.max_position_embeddings - 1;
    let limit = |ends: &[usize]| options.max_length.unwrap_or(ends[1] - ends[0] + LONGER).min(most);
    let mut sentences: Vec<Sentence> =
        source.offsets.windows(2).map(|ends| Sentence::new(limit(ends))).collect();
    let mut decoding = model.begin(numbers, source, work);
    let mut next = Vec::new();
    loop {
        next.clear();
        for (sequence, sentence) in sentences.iter().enumerate() {
            next.extend(sentence.live.iter().map(|live| live.next(sequence, config.decoder_start_token_id)));
        }
        if next.is_empty() {
            return Ok(sentences.into_iter().map(|sentence| sentence.best(options)).collect());
        }
        let first = decoding.rows();
        let logits = model.step(numbers, &mut decoding, &next, work);
        let likeliest = likeliest(logits, config.decoder_vocab_size, 2 * options.beam)?;
        let mut rows = (first..).zip(likeliest);
        for sentence in &mut sentences {
            let of_live: Vec<_> = rows.by_ref().take(sentence.live.len()).collect();
            sentence.advance(&of_live, config.eos_token_id, options);
        }
    }
}

/// For each row of logits its likeliest tokens with the logarithms of their probabilities.
fn likeliest(logits: &[f32], tokens: usize, count: usize) -> Result<Vec<Vec<(u32, f64)>>> {
    let rows = logits.len() / tokens;
    let (mut lse, mut found) = (vec![0.0; rows], vec![Vec::new(); rows]);
    log_sum_exp(logits, tokens, &mut lse);
    side_by_side(logits.chunks_exact(tokens).zip(&mut found), |(row, found)| *found = top(row, count));
    if found.iter().any(Vec::is_empty) || lse.iter().any(|lse| lse.is_nan()) {
        let problem = "its output is not a number; take a checkpoint from before the training diverged";
        return Err(Error::setting("model", problem));
    }
    let logarithms = |(row, lse): (Vec<(u32, f32)>, f32)| {
        row.into_iter().map(|(id, logit)| (id, f64::from(logit) - f64::from(lse))).collect()
    };
    Ok(found.into_iter().zip(lse).map(logarithms).collect())
}

/// The `count` largest values with their places, the largest first, of equal ones the first; NaN is none of them.
pub(crate) fn top(values: &[f32], count: usize) -> Vec<(u32, f32)> {
    /// Most blocks hold nothing of interest, which a count without branches tells fast.
    const BLOCK: usize = 64;
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(count + 1);
    let mut least = f32::NEG_INFINITY;
    for (block, values) in values.chunks(BLOCK).enumerate() {
        if values.iter().filter(|&&value| value > least).count() == 0 {
            continue;
        }
        for (at, &value) in (block * BLOCK..).zip(values) {
            if value > least {
                let place = best.partition_point(|(_, before)| *before >= value);
                best.insert(place, (at as u32, value));
                best.truncate(count);
                if best.len() == count {
                    least = best[count - 1].1;
                }
            }
        }
    }
    best
}

impl Live {
    fn next(&self, sequence: usize, start: u32) -> Next {
        Next { sequence, parent: self.row, token: self.ids.last().copied().unwrap_or(start) }
    }
}

impl Sentence {
    fn new(limit: usize) -> Self {
        let empty = Live { ids: Vec::new(), log_probability: 0.0, row: None };
        Self { live: vec![empty], done: Vec::new(), limit }
    }

    /// Goes on from each live target with its likeliest tokens, given with the target's row.
    ///
    /// Of the 2k best candidates of a beam of k, those that end count if they are among the best k; the first k of the others
    /// live on. So k stay alive whatever ends.
    fn advance(&mut self, rows: &[(u32, Vec<(u32, f64)>)], end: u32, options: &DecodeOptions) {
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
        let ended = self.is_over(&live, options);
        if !ended && live.iter().any(|live| live.ids.len() >= self.limit) {
            let cut = live.drain(..).map(|live| hypothesis(live.ids, live.log_probability, false, options));
            self.done.extend(cut);
        }
        self.live = if ended { Vec::new() } else { live };
    }

    /// Whether as many as the beam has have ended, and none that lives is worth more than those that will be given (as in
    /// transformers). The number alone would not do: beside a target that the model is sure of, others end soon that it
    /// hardly believes in.
    fn is_over(&self, live: &[Live], options: &DecodeOptions) -> bool {
        if self.done.len() < options.beam {
            return false;
        }
        let mut scores: Vec<f64> = self.done.iter().map(|done| done.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        let least = scores[options.n_best - 1];
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
    fn best(self, options: &DecodeOptions) -> Vec<Hypothesis> {
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

    #[test]
    fn the_largest_come_first_and_nan_never() {
        let values: Vec<f32> = (0..300).map(|i| ((i * 37) % 101) as f32).collect();
        let mut sorted: Vec<(u32, f32)> = (0..).zip(values.iter().copied()).collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for count in [1, 2, 5, 64, 300] {
            assert_eq!(top(&values, count), sorted[..count]);
        }
        assert_eq!(top(&values, 400), sorted);
        assert_eq!(top(&[f32::NAN, 1.0, f32::NAN], 2), [(1, 1.0)]);
        assert!(top(&[f32::NAN; 70], 2).is_empty());
    }

    #[test]
    fn longer_targets_are_worth_more_with_a_penalty() {
        let options = DecodeOptions { length_penalty: 0.6, ..DecodeOptions::default() };
        assert_eq!(options.score(-2.0, 1), -2.0);
        assert!((options.score(-2.0, 7) - -2.0 / 2f64.powf(0.6)).abs() < 1e-12);
        assert_eq!(DecodeOptions { length_penalty: 0.0, ..options }.score(-2.0, 9), -2.0);
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let refusal = |options: DecodeOptions| options.check().unwrap_err().to_string();
        let fine = DecodeOptions::default();
        assert!(refusal(DecodeOptions { beam: 0, ..fine }).starts_with("beam: it is 0"));
        assert!(
            refusal(DecodeOptions { n_best: 5, ..fine })
                .starts_with("n-best: it is 5, expected 1 to the beam's 4")
        );
        assert!(refusal(DecodeOptions { length_penalty: f64::NAN, ..fine }).starts_with("length-penalty"));
        assert!(refusal(DecodeOptions { max_length: Some(0), ..fine }).starts_with("max-length"));
        assert!(DecodeOptions::GREEDY.check().is_ok());
    }
}
