//! From a source to its likeliest targets: beam search, which with a beam of one is greedy (section 6.1 of the paper).

use oxibert_kernels::{log_sum_exp, side_by_side, top};

use super::beam::Sentence;
use super::{Transformer, Work};
use crate::data::Batch;
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
    /// A hypothesis whose log-probability is so much below the best's (that of the last that would be given) is given up, and so is one that
    /// those that have ended have left behind. 3 changes one translation in several hundred and saves a quarter of the work; infinity follows
    /// all.
    pub prune: f64,
}

impl Default for DecodeOptions {
    /// The paper's: a beam of 4, alpha 0.6; all hypotheses are followed.
    fn default() -> Self {
        Self { beam: 4, length_penalty: 0.6, max_length: None, n_best: 1, prune: f64::INFINITY }
    }
}

impl DecodeOptions {
    /// Always the likeliest next token.
    pub const GREEDY: Self =
        Self { beam: 1, length_penalty: 0.6, max_length: None, n_best: 1, prune: f64::INFINITY };

    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        let Self { beam, length_penalty, max_length, n_best, prune } = *self;
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
        if prune.is_nan() || prune < 0.0 {
            return Err(Error::setting(
                "prune",
                format!("it is {prune}, expected 0 or more; inf follows all"),
            ));
        }
        if max_length == Some(0) {
            return Err(Error::setting("max-length", "it is 0, expected at least 1"));
        }
        Ok(())
    }

    /// What a log-probability of so many tokens is worth (Wu et al. 2016, equation 14).
    pub(super) fn score(&self, log_probability: f64, length: usize) -> f64 {
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
    model.begin(numbers, source, work);
    let mut next = Vec::new();
    loop {
        next.clear();
        for (sequence, sentence) in sentences.iter().enumerate() {
            next.extend(sentence.next(sequence, config.decoder_start_token_id));
        }
        if next.is_empty() {
            return Ok(sentences.into_iter().map(|sentence| sentence.best(options)).collect());
        }
        let first = work.decoding.rows();
        let logits = model.step(numbers, &next, work);
        let likeliest = likeliest(logits, config.decoder_vocab_size, 2 * options.beam)?;
        let mut rows = (first..).zip(likeliest);
        for sentence in &mut sentences {
            let of_live: Vec<_> = rows.by_ref().take(sentence.alive()).collect();
            sentence.advance(&of_live, config.eos_token_id, options);
        }
    }
}

/// For each row of logits its likeliest tokens with the logarithms of their probabilities.
fn likeliest(logits: &[f32], tokens: usize, count: usize) -> Result<Vec<Vec<(u32, f64)>>> {
    let mut found = vec![Vec::new(); logits.len() / tokens];
    side_by_side(logits.chunks_exact(tokens).zip(&mut found), |(row, found)| *found = of_row(row, count));
    if found.iter().any(|of_row| of_row.is_empty() || of_row[0].1.is_nan()) {
        let problem = "its output is not a number; take a checkpoint from before the training diverged";
        return Err(Error::setting("model", problem));
    }
    Ok(found)
}

fn of_row(logits: &[f32], count: usize) -> Vec<(u32, f64)> {
    let best = top(logits, count);
    let lse = best.first().map_or(f32::NAN, |(_, largest)| log_sum_exp(logits, *largest));
    best.into_iter().map(|(id, logit)| (id, f64::from(logit) - f64::from(lse))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(
            refusal(DecodeOptions { prune: -1.0, ..fine }).starts_with("prune: it is -1, expected 0 or more")
        );
        assert!(refusal(DecodeOptions { max_length: Some(0), ..fine }).starts_with("max-length"));
        assert!(DecodeOptions::GREEDY.check().is_ok());
    }
}
