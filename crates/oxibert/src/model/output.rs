//! From hidden vectors to the vocabulary: logits `y W^T + b`, W often being the token embedding, and their loss.

use oxibert_kernels::{self as kernels, CrossEntropy};

use crate::nn::{Gradients, Linear, Numbers, fit};

/// Rows whose logits exist at a time: 60 MB of them with 30,000 tokens.
const ROWS: usize = 512;

/// The last linear layer of a model that says tokens.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub(crate) decoder: Linear,
    /// Whether its bias is a parameter; Marian's is a constant.
    pub(crate) bias_learns: bool,
}

impl Output {
    /// Rows of y [M, H] to rows of logits [M, V].
    pub(crate) fn logits<'l, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        y: &[f32],
        logits: &'l mut Vec<f32>,
    ) -> &'l mut [f32] {
        let h = self.decoder.inputs;
        let logits = fit(logits, y.len() / h * self.decoder.outputs);
        // Not `numbers.linear`: packing a whole vocabulary for a few rows would cost more than it saves.
        let bias = self.decoder.bias.as_ref().map(|bias| numbers.values(bias));
        kernels::linear(y, numbers.values(&self.decoder.weight), bias, h, logits);
        logits
    }

    /// The cross-entropy's figures of y [M, H] against `labels`. With `gradients`, also the backward pass of a share of the
    /// mean, a block of rows at a time, so that the logits of all never exist together: `dy` is written, the weight's gradient is
    /// added, and the bias's where it learns.
    ///
    /// With dlogits = (softmax - smoothed onehot) share / M: dW += dlogits^T y; db += column sums; dy = dlogits W.
    #[allow(clippy::too_many_arguments)] // a loss's inputs and outputs, each a plain value
    pub(crate) fn loss(
        &self,
        values: &[f32],
        mut gradients: Option<&mut Gradients>,
        y: &[f32],
        labels: &[u32],
        (smoothing, share): (f32, f64),
        logits: &mut Vec<f32>,
        dy: &mut [f32],
    ) -> CrossEntropy {
        let h = self.decoder.inputs;
        let scale = gradients.as_ref().map_or(0.0, |_| (share / labels.len() as f64) as f32);
        let mut total = CrossEntropy::default();
        let blocks = labels.chunks(ROWS).zip(y.chunks(ROWS * h).zip(dy.chunks_mut(ROWS * h)));
        for (labels, (y, dy)) in blocks {
            let logits = self.logits(values, y, logits);
            total += kernels::cross_entropy(logits, labels, smoothing, scale);
            if let Some(gradients) = gradients.as_deref_mut() {
                self.decoder.backward_input(values, logits, false, dy);
                self.decoder.backward_weight(gradients, y, logits);
                if self.bias_learns {
                    self.decoder.backward_bias(gradients, logits);
                }
            }
        }
        total
    }
}

/// How well tokens were predicted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TokenLoss {
    /// The mean cross-entropy, of the smoothed target where there is smoothing.
    pub loss: f64,
    /// Tokens that were the likeliest.
    pub correct: usize,
    /// Tokens that were predicted.
    pub tokens: usize,
}

impl TokenLoss {
    /// Of several batches together.
    pub(crate) fn of_all(batches: impl IntoIterator<Item = Self>) -> Self {
        let (mut sum, mut all) = (0.0, Self::default());
        for Self { loss, correct, tokens } in batches {
            sum += loss * tokens as f64;
            all.correct += correct;
            all.tokens += tokens;
        }
        Self { loss: sum / all.tokens.max(1) as f64, ..all }
    }
}

impl From<CrossEntropy> for TokenLoss {
    fn from(sums: CrossEntropy) -> Self {
        Self { loss: sums.loss / sums.rows.max(1) as f64, correct: sums.correct, tokens: sums.rows }
    }
}
