//! Going on with texts: the likeliest next token, or one that is drawn from the likelier ones.

use oxibert_kernels::top;

use super::{Causal, Work};
use crate::model::decoding::Next;
use crate::nn::Numbers;
use crate::random::Random;
use crate::{Error, Result};

/// How the next token is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GenerateOptions {
    /// Draws from so many of the likeliest tokens; 1 is greedy, absent from all.
    pub top_k: Option<usize>,
    /// Draws from the likeliest tokens that have so much probability together; 1 is all.
    pub top_p: f64,
    /// Logits are divided by it: below 1 the likely becomes likelier, above 1 less so.
    pub temperature: f64,
    /// The most tokens of a text, the given ones included; absent: as many as the model has positions for.
    pub max_length: Option<usize>,
    /// What is drawn follows from it and the given tokens alone.
    pub seed: u64,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self { top_k: None, top_p: 1.0, temperature: 1.0, max_length: None, seed: 42 }
    }
}

impl GenerateOptions {
    /// Always the likeliest token.
    pub fn greedy() -> Self {
        Self { top_k: Some(1), ..Self::default() }
    }

    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        if self.top_k == Some(0) {
            return Err(Error::setting("top-k", "it is 0, expected at least 1"));
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            let problem = format!("it is {}, expected more than 0 and at most 1", self.top_p);
            return Err(Error::setting("top-p", problem));
        }
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            return Err(Error::setting(
                "temperature",
                format!("it is {}, expected more than 0", self.temperature),
            ));
        }
        if self.max_length == Some(0) {
            return Err(Error::setting("max-length", "it is 0, expected at least 1"));
        }
        Ok(())
    }
}

/// A text under way.
struct Text {
    ids: Vec<u32>,
    /// The last token's row.
    row: u32,
    /// Where its random numbers begin.
    seed: u64,
}

/// What each of the texts goes on with, up to the end token (which is left out) or the longest length; it does not depend on
/// the other texts. The texts must have passed [`Causal::check`] and be shorter than that length, the options
/// [`GenerateOptions::check`].
pub(crate) fn generate<N: Numbers + ?Sized>(
    model: &Causal,
    numbers: &N,
    given: &[Vec<u32>],
    options: &GenerateOptions,
    work: &mut Work,
) -> Result<Vec<Vec<u32>>> {
    let most = options.max_length.unwrap_or(usize::MAX).min(model.config().n_positions);
    model.begin(numbers, work);
    let (mut texts, mut next, mut asked) = begin(given, options.seed);
    let mut live: Vec<usize> = (0..texts.len()).collect();
    let end = model.config().eos_token_id;
    loop {
        let first = work.decoding.rows();
        let logits = model.step(numbers, &next, &asked, work);
        for (&number, &at) in live.iter().zip(&asked) {
            texts[number].row = first + at as u32;
        }
        choose(model, &mut texts, &live, logits, options)?;
        live.retain(|&number| texts[number].ids.len() < most && texts[number].ids.last().copied() != end);
        next = live.iter().map(|&number| texts[number].next(number)).collect();
        asked = (0..next.len()).collect();
        if next.is_empty() {
            return Ok(texts
                .into_iter()
                .zip(given)
                .map(|(text, given)| text.said(given.len(), model))
                .collect());
        }
    }
}

/// The given tokens, each behind the one before; and where each text's last one is.
fn begin(given: &[Vec<u32>], seed: u64) -> (Vec<Text>, Vec<Next>, Vec<usize>) {
    let (mut texts, mut next, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for (sequence, ids) in given.iter().enumerate() {
        for (place, &token) in ids.iter().enumerate() {
            let parent = (place > 0).then(|| next.len() as u32 - 1);
            next.push(Next { sequence, parent, token });
        }
        last.push(next.len() - 1);
        let key = ids.iter().fold(0u64, |key, &id| Random::new(key, "given token", u64::from(id)).bits());
        let seed = Random::new(seed, "text", key).bits();
        texts.push(Text { ids: ids.clone(), row: 0, seed });
    }
    (texts, next, last)
}

/// A token more for each of the live texts, from its row of logits.
fn choose(
    model: &Causal,
    texts: &mut [Text],
    live: &[usize],
    logits: &mut [f32],
    options: &GenerateOptions,
) -> Result<()> {
    let tokens = model.config().vocab_size;
    logits.iter_mut().for_each(|logit| *logit /= options.temperature as f32);
    oxibert_kernels::softmax(logits, tokens);
    for (&text, probabilities) in live.iter().zip(logits.chunks_exact(tokens)) {
        let Text { ids, seed, .. } = &mut texts[text];
        let mut random = Random::new(*seed, "generated token", ids.len() as u64);
        let Some(token) = draw(probabilities, options, random.unit()) else {
            let problem = "its output is not a number; take a checkpoint from before the training diverged";
            return Err(Error::setting("model", problem));
        };
        ids.push(token);
    }
    Ok(())
}

/// The token at `chance` (0 to 1) of the probability that the chosen ones have together; none if they are no numbers.
fn draw(probabilities: &[f32], options: &GenerateOptions, chance: f64) -> Option<u32> {
    let mut chosen = likelier(probabilities, options.top_k);
    let mut sum = 0.0;
    let enough = chosen.iter().position(|(_, probability)| {
        sum += f64::from(*probability);
        sum >= options.top_p
    });
    // Rounding may keep the sum of all a little below 1.
    chosen.truncate(enough.map_or(chosen.len(), |last| last + 1));
    let total: f64 = chosen.iter().map(|(_, probability)| f64::from(*probability)).sum();
    let mut left = chance * total;
    for (token, probability) in &chosen {
        left -= f64::from(*probability);
        if left < 0.0 {
            return Some(*token);
        }
    }
    chosen.last().map(|(token, _)| *token)
}

/// All tokens, or the likeliest `top_k`, the likeliest first.
fn likelier(probabilities: &[f32], top_k: Option<usize>) -> Vec<(u32, f32)> {
    /// So few are found faster than all are sorted.
    const FEW: usize = 100;
    if let Some(count) = top_k.filter(|&count| count <= FEW) {
        return top(probabilities, count);
    }
    let mut all: Vec<(u32, f32)> = (0..).zip(probabilities.iter().copied()).collect();
    all.retain(|(_, probability)| !probability.is_nan());
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(top_k.unwrap_or(all.len()));
    all
}

impl Text {
    fn next(&self, sequence: usize) -> Next {
        Next { sequence, parent: Some(self.row), token: self.ids[self.ids.len() - 1] }
    }

    /// What came behind the given tokens.
    fn said(mut self, given: usize, model: &Causal) -> Vec<u32> {
        let mut said = self.ids.split_off(given);
        if said.last().copied() == model.config().eos_token_id {
            said.pop();
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_likelier_are_drawn() {
        let probabilities = [0.1, 0.4, 0.3, 0.2];
        let drawn = |options: GenerateOptions| -> Vec<u32> {
            (0..100).map(|i| draw(&probabilities, &options, (f64::from(i) + 0.5) / 100.0).unwrap()).collect()
        };
        let count = |drawn: &[u32], token| drawn.iter().filter(|&&drawn| drawn == token).count();
        assert!(drawn(GenerateOptions::greedy()).iter().all(|&token| token == 1));
        let all = drawn(GenerateOptions::default());
        assert_eq!([0, 1, 2, 3].map(|token| count(&all, token)), [10, 40, 30, 20]);
        let nucleus = drawn(GenerateOptions { top_p: 0.6, ..GenerateOptions::default() });
        assert_eq!((count(&nucleus, 0), count(&nucleus, 3)), (0, 0));
        let three = drawn(GenerateOptions { top_k: Some(3), ..GenerateOptions::default() });
        assert_eq!((count(&three, 0), count(&three, 3) > 15), (0, true));
        assert_eq!(draw(&[f32::NAN; 3], &GenerateOptions::default(), 0.5), None);
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let fine = GenerateOptions::default();
        for (options, name) in [
            (GenerateOptions { top_k: Some(0), ..fine }, "top-k"),
            (GenerateOptions { top_p: 0.0, ..fine }, "top-p"),
            (GenerateOptions { temperature: f64::NAN, ..fine }, "temperature"),
            (GenerateOptions { max_length: Some(0), ..fine }, "max-length"),
        ] {
            assert!(options.check().unwrap_err().to_string().starts_with(name));
        }
    }
}
