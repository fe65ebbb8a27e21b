//! What stands on the encoder: the pooler, the masked-language-model head, the next-sentence head.

use oxibert_kernels::{self as kernels, Activation, CrossEntropy, Dropout, Lookup};

use super::Config;
use super::names::{MLM_BIAS, MLM_DECODER, MLM_DECODER_BIAS, WORD_EMBEDDINGS};
use super::output::Output;
use crate::nn::linear::{Moments, NormStep};
use crate::nn::params::Place;
use crate::nn::{Gradients, Layout, Linear, NormPlace, Numbers, fit};

/// `y = tanh(W h + b)` of each sequence's first token.
#[derive(Debug, Clone)]
pub(crate) struct Pooler {
    dense: Linear,
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct PoolerState {
    x: Vec<f32>,
    z: Vec<f32>,
    y: Vec<f32>,
    dx: Vec<f32>,
}

impl Pooler {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { dense: Linear::new(layout, "bert.pooler.dense") }
    }

    /// The rows `firsts` of hidden [N, H] to y [B, H].
    pub(crate) fn forward<'s, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        hidden: &[f32],
        firsts: &[u32],
        state: &'s mut PoolerState,
    ) -> &'s [f32] {
        let h = self.dense.inputs;
        let x = fit(&mut state.x, firsts.len() * h);
        kernels::embed(&[Lookup { table: hidden, ids: firsts, scale: 1.0 }], h, x);
        let z = fit(&mut state.z, firsts.len() * h);
        numbers.linear(&self.dense, x, z);
        let y = fit(&mut state.y, firsts.len() * h);
        kernels::activation(Activation::Tanh, z, y);
        y
    }

    /// `d`: dy [B, H], used up; the gradient of the rows is added to `dhidden`.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        firsts: &[u32],
        state: &mut PoolerState,
        d: &mut [f32],
        dhidden: &mut [f32],
    ) {
        let dbias = self.dense.bias_in(gradients);
        kernels::activation_backward(Activation::Tanh, &state.z[..d.len()], d, dbias);
        self.dense.backward_weight(gradients, &state.x[..d.len()], d);
        let dx = fit(&mut state.dx, d.len());
        self.dense.backward_input(values, d, false, dx);
        kernels::embed_backward(dx, firsts, 1.0, self.dense.inputs, dhidden);
    }
}

impl PoolerState {
    pub(crate) fn y(&self, length: usize) -> &[f32] {
        &self.y[..length]
    }
}

/// Logits over the vocabulary at chosen positions: `LN(f(W h + b)) E^T + c`, E being the token embedding if tied.
#[derive(Debug, Clone)]
pub(crate) struct Mlm {
    dense: Linear,
    norm: NormPlace,
    output: Output,
    activation: Activation,
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct MlmState {
    x: Vec<f32>,
    z: Vec<f32>,
    /// The activation's output, which LayerNorm reads.
    a: Vec<f32>,
    moments: Moments,
    y: Vec<f32>,
    logits: Vec<f32>,
    d: Vec<f32>,
    dx: Vec<f32>,
}

impl Mlm {
    pub(crate) fn new(layout: &Layout, config: &Config) -> Self {
        let place = |name: &str| layout.place(name, 1);
        let (weight, bias): (Place, Place) = match config.tie_word_embeddings {
            true => (place(WORD_EMBEDDINGS), place(MLM_BIAS)),
            false => (place(MLM_DECODER), place(MLM_DECODER_BIAS)),
        };
        let (inputs, outputs) = (config.hidden_size, config.vocab_size);
        let decoder = Linear { weight, bias: Some(bias), inputs, outputs };
        Self {
            dense: Linear::new(layout, "cls.predictions.transform.dense"),
            norm: NormPlace::new(layout, "cls.predictions.transform.LayerNorm", config.layer_norm_eps),
            output: Output { decoder, bias_learns: true },
            activation: config.head_act.into(),
        }
    }

    /// The rows `chosen` of hidden [N, H] to logits [M, V].
    pub(crate) fn forward<'s, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        hidden: &[f32],
        chosen: &[u32],
        state: &'s mut MlmState,
    ) -> &'s mut [f32] {
        self.transform(numbers, hidden, chosen, state);
        let y = &state.y[..chosen.len() * self.dense.inputs];
        self.output.logits(numbers, y, &mut state.logits)
    }

    /// The rows `chosen` of hidden [N, H] to y [M, H].
    fn transform<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        hidden: &[f32],
        chosen: &[u32],
        state: &mut MlmState,
    ) {
        let (h, m) = (self.dense.inputs, chosen.len());
        let x = fit(&mut state.x, m * h);
        kernels::embed(&[Lookup { table: hidden, ids: chosen, scale: 1.0 }], h, x);
        let z = fit(&mut state.z, m * h);
        numbers.linear(&self.dense, x, z);
        let a = fit(&mut state.a, m * h);
        kernels::activation(self.activation, z, a);
        let y = fit(&mut state.y, m * h);
        self.norm.apply(numbers, a, &mut state.moments, y);
    }

    /// The cross-entropy's figures at the rows `chosen` of hidden. With `gradients`, also the decoder's part of the
    /// backward pass of the mean.
    pub(crate) fn loss(
        &self,
        values: &[f32],
        gradients: Option<&mut Gradients>,
        hidden: &[f32],
        chosen: &[u32],
        labels: &[u32],
        state: &mut MlmState,
    ) -> CrossEntropy {
        let length = labels.len() * self.dense.inputs;
        self.transform(values, hidden, chosen, state);
        let MlmState { y, logits, d, .. } = state;
        self.output.loss(values, gradients, &y[..length], labels, (0.0, 1.0), logits, fit(d, length))
    }

    /// After [`Mlm::loss`]: adds the gradient of the chosen rows to `dhidden`.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        chosen: &[u32],
        state: &mut MlmState,
        dhidden: &mut [f32],
    ) {
        let (h, m) = (self.dense.inputs, chosen.len());
        let d = &mut state.d[..m * h];
        let sum = &state.a[..m * h];
        let (norm, moments) = (&self.norm, &state.moments);
        let step = NormStep { norm, bias: None, sum, moments, dropout: Dropout::OFF, skip: None };
        step.backward(values, gradients, d, None);
        let dbias = self.dense.bias_in(gradients);
        kernels::activation_backward(self.activation, &state.z[..m * h], d, dbias);
        self.dense.backward_weight(gradients, &state.x[..m * h], d);
        let dx = fit(&mut state.dx, m * h);
        self.dense.backward_input(values, d, false, dx);
        kernels::embed_backward(dx, chosen, 1.0, h, dhidden);
    }
}

/// Is the second text the next? Two logits from the pooled vector: 0 is yes.
#[derive(Debug, Clone)]
pub(crate) struct Nsp {
    dense: Linear,
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct NspState {
    logits: Vec<f32>,
}

impl Nsp {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { dense: Linear::new(layout, "cls.seq_relationship") }
    }

    /// Pooled [B, H] to logits [B, 2].
    pub(crate) fn forward<'s, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        pooled: &[f32],
        state: &'s mut NspState,
    ) -> &'s mut [f32] {
        let logits = fit(&mut state.logits, pooled.len() / self.dense.inputs * 2);
        numbers.linear(&self.dense, pooled, logits);
        logits
    }

    /// The loss's figures; the logits become their gradient times `scale`.
    pub(crate) fn loss(&self, labels: &[u32], scale: f32, state: &mut NspState) -> CrossEntropy {
        kernels::cross_entropy(&mut state.logits[..labels.len() * 2], labels, 0.0, scale)
    }

    /// After [`Nsp::loss`]: writes the pooled vectors' gradient.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        pooled: &[f32],
        state: &NspState,
        dpooled: &mut [f32],
    ) {
        let dlogits = &state.logits[..pooled.len() / self.dense.inputs * 2];
        self.dense.backward_bias(gradients, dlogits);
        self.dense.backward_weight(gradients, pooled, dlogits);
        self.dense.backward_input(values, dlogits, false, dpooled);
    }
}
