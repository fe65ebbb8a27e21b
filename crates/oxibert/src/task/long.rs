//! Long texts: the same meaning in training, evaluation and prediction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::model::Config;
use crate::text::{Limit, LongText, Truncation};
use crate::{Error, Result};

/// Our own key in `config.json`.
const KEY: &str = "oxibert_long";

/// A [`Long`] in `config.json`.
#[derive(Serialize, Deserialize)]
struct Saved {
    max_length: usize,
    mode: String,
    stride: Option<usize>,
    pool: String,
}

/// How the answers about a text's windows become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pool {
    /// The mean of their numbers.
    #[default]
    Mean,
    /// The largest of each.
    Max,
    /// What most of them say; the mean decides between equals.
    Vote,
}

const NAMES: [(&str, Pool); 3] = [("mean", Pool::Mean), ("max", Pool::Max), ("vote", Pool::Vote)];

impl FromStr for Pool {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        NAMES
            .iter()
            .find(|known| known.0 == name)
            .map(|known| known.1)
            .ok_or_else(|| Error::setting("pool", format!("{name:?} is not known; one of mean, max, vote")))
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|known| known.1 == *self).map_or("", |known| known.0);
        out.write_str(name)
    }
}

/// What happens to texts that are longer than the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Long {
    /// The most tokens of a sequence, special tokens included.
    pub max_length: usize,
    /// Which part of a longer text is read.
    pub mode: LongText,
    /// How the answers about several windows become one.
    pub pool: Pool,
}

impl Long {
    /// The beginning of a text, up to `max_length` tokens.
    pub fn new(max_length: usize) -> Self {
        Self { max_length, mode: LongText::default(), pool: Pool::default() }
    }

    /// What a fine-tuned checkpoint was trained with, where it says so.
    pub fn of(config: &Config) -> Option<Self> {
        let saved = Saved::deserialize(config.other.get(KEY)?).ok()?;
        let mode = match saved.mode.parse().ok()? {
            LongText::Sliding { .. } => LongText::Sliding { stride: saved.stride },
            mode => mode,
        };
        let max_length = saved.max_length.min(config.max_position_embeddings);
        Some(Self { max_length, mode, pool: saved.pool.parse().ok()? })
    }

    /// Writes it into a configuration, so that predictions read texts as training did.
    pub fn save(&self, config: &mut Config) {
        let stride = match self.mode {
            LongText::Sliding { stride } => stride,
            _ => None,
        };
        let (mode, pool) = (self.mode.to_string(), self.pool.to_string());
        let saved = Saved { max_length: self.max_length, mode, stride, pool };
        config.other.insert(KEY.to_owned(), json!(saved));
    }

    /// The same as the tokenizer wants it.
    pub fn limit(&self, truncation: Truncation) -> Limit {
        Limit { max_length: self.max_length, truncation, long: self.mode }
    }

    /// Rows of numbers that do not add up to anything, one for each window, as one row. Here a vote is the mean.
    pub fn pool_each(&self, rows: &[Vec<f32>]) -> Vec<f32> {
        let width = rows.first().map_or(0, Vec::len);
        let column = |c: usize| rows.iter().map(move |row| row[c]);
        let pooled = |c: usize| match self.pool {
            Pool::Max => column(c).fold(f32::MIN, f32::max),
            Pool::Mean | Pool::Vote => column(c).sum::<f32>() / rows.len() as f32,
        };
        (0..width).map(pooled).collect()
    }

    /// Rows of probabilities, one for each window, as one row that adds up to 1.
    pub fn pool(&self, rows: &[Vec<f32>]) -> Vec<f32> {
        let width = rows.first().map_or(0, Vec::len);
        let column = |c: usize| rows.iter().map(move |row| row[c]);
        let mean = |c: usize| column(c).sum::<f32>() / rows.len() as f32;
        match self.pool {
            Pool::Mean => (0..width).map(mean).collect(),
            Pool::Max => {
                let largest: Vec<f32> = (0..width).map(|c| column(c).fold(f32::MIN, f32::max)).collect();
                let sum: f32 = largest.iter().sum();
                largest.iter().map(|value| value / sum).collect()
            }
            Pool::Vote => {
                let mut votes = vec![0.0; width];
                rows.iter().for_each(|row| votes[largest(row)] += 1.0);
                // The means are below 1 altogether: they decide between equals only.
                (0..width).map(|c| (votes[c] + 0.5 * mean(c)) / (rows.len() as f32 + 0.5)).collect()
            }
        }
    }
}

/// The place of the largest number, the first of equals.
pub(crate) fn largest(row: &[f32]) -> usize {
    let mut best = 0;
    row.iter().enumerate().for_each(|(place, value)| {
        if *value > row[best] {
            best = place;
        }
    });
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_keeps_it() {
        let mut config = Config::preset("tiny", 9).unwrap();
        assert_eq!(Long::of(&config), None);
        for mode in [LongText::HeadTail, LongText::Sliding { stride: Some(3) }] {
            let long = Long { mode, pool: Pool::Vote, ..Long::new(64) };
            long.save(&mut config);
            assert_eq!(Long::of(&config), Some(long));
        }
    }

    #[test]
    fn windows_are_pooled() {
        let rows = [vec![0.9, 0.1], vec![0.2, 0.8], vec![0.4, 0.6]];
        let pooled = |pool| Long { pool, ..Long::new(8) }.pool(&rows);
        assert_eq!(pooled(Pool::Mean), [0.5, 0.5]);
        assert_eq!(largest(&pooled(Pool::Max)), 0);
        assert_eq!(largest(&pooled(Pool::Vote)), 1);
        for pool in [Pool::Mean, Pool::Max, Pool::Vote] {
            assert!((pooled(pool).iter().sum::<f32>() - 1.0).abs() < 1e-6, "{pool}");
        }
    }
}
