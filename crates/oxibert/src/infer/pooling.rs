//! Many tokens' vectors to one.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// How the vectors of a text's tokens become the vector of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pooling {
    /// The mean over all tokens, `[CLS]` and `[SEP]` included, as sentence-transformers has it.
    #[default]
    Mean,
    /// The vector of `[CLS]`.
    Cls,
    /// The pooler's output: `tanh(W h + b)` of `[CLS]`.
    Pooler,
    /// The largest value of each component.
    Max,
}

/// The names as users write them.
const NAMES: [(&str, Pooling); 4] =
    [("mean", Pooling::Mean), ("cls", Pooling::Cls), ("pooler", Pooling::Pooler), ("max", Pooling::Max)];

impl FromStr for Pooling {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        NAMES.iter().find(|known| known.0 == name).map(|known| known.1).ok_or_else(|| {
            let known = NAMES.map(|known| known.0).join(", ");
            Error::setting("pooling", format!("{name:?} is not known; one of {known}"))
        })
    }
}

impl fmt::Display for Pooling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(NAMES[*self as usize].0)
    }
}

impl Pooling {
    /// The tokens of one sequence, `[n, H]` with `n > 0`, to one vector `[H]`.
    ///
    /// A sequence is always summed alone and in its order: its batch leaves no trace in the bits.
    ///
    /// # Panics
    /// For [`Pooling::Pooler`], which the model itself computes.
    pub(super) fn pool(self, tokens: &[f32], out: &mut [f32]) {
        let mut rows = tokens.chunks_exact(out.len());
        out.copy_from_slice(rows.next().expect("a sequence has tokens"));
        match self {
            Self::Cls => {}
            Self::Mean => {
                rows.for_each(|row| out.iter_mut().zip(row).for_each(|(sum, value)| *sum += value));
                let scale = out.len() as f32 / tokens.len() as f32;
                out.iter_mut().for_each(|value| *value *= scale);
            }
            Self::Max => rows.for_each(|row| larger(out, row)),
            Self::Pooler => panic!("the pooler is a part of the model"),
        }
    }

    /// Adds one window's vector to the text's; `share` is the window's share of the tokens.
    pub(super) fn join(self, text: &mut [f32], window: &[f32], share: f32, first: bool) {
        match self {
            Self::Max if !first => larger(text, window),
            Self::Max => text.copy_from_slice(window),
            _ => text.iter_mut().zip(window).for_each(|(sum, value)| *sum += share * value),
        }
    }
}

/// The larger of each two; a NaN stays, so that a sick model is found out.
fn larger(out: &mut [f32], row: &[f32]) {
    for (most, &value) in out.iter_mut().zip(row) {
        if value > *most || value.is_nan() {
            *most = value;
        }
    }
}

/// Scales to length 1; a vector of zeros stays one.
pub(super) fn normalize(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    // The smallest divisor, as PyTorch's `normalize` has it.
    let norm = square.sqrt().max(1e-12);
    vector.iter_mut().for_each(|value| *value = (f64::from(*value) / norm) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pooled(pooling: Pooling, tokens: &[f32]) -> [f32; 2] {
        let mut out = [0.0; 2];
        pooling.pool(tokens, &mut out);
        out
    }

    #[test]
    fn many_vectors_become_one() {
        let tokens = [1.0, -2.0, 3.0, -4.0, 2.0, 0.0];
        assert_eq!(pooled(Pooling::Mean, &tokens), [2.0, -2.0]);
        assert_eq!(pooled(Pooling::Cls, &tokens), [1.0, -2.0]);
        assert_eq!(pooled(Pooling::Max, &tokens), [3.0, 0.0]);
        for pooling in NAMES {
            assert_eq!(
                (pooling.0.parse::<Pooling>().unwrap(), &*pooling.1.to_string()),
                (pooling.1, pooling.0)
            );
        }
        assert!("first".parse::<Pooling>().unwrap_err().to_string().contains("mean, cls, pooler, max"));
    }

    #[test]
    fn a_nan_is_not_hidden_by_larger_values() {
        let max = pooled(Pooling::Max, &[1.0, f32::NAN, 2.0, 2.0, f32::NAN, 3.0]);
        assert!(max[0].is_nan() && max[1].is_nan());
    }

    #[test]
    fn normalized_vectors_have_length_one() {
        let mut vectors = [[3e30, 4e30], [3e-30, 4e-30], [0.0, 0.0]];
        vectors.iter_mut().for_each(|vector| normalize(vector));
        assert!((vectors[0][0] - 0.6).abs() < 1e-6 && (vectors[0][1] - 0.8).abs() < 1e-6);
        assert_eq!(vectors[2], [0.0, 0.0]);
        assert!(vectors[1][0] < 1e-10);
    }
}
