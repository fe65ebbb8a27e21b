//! The feed-forward sub-layer: `y = LN(x + dropout(W2 f(W1 x + b1) + b2))`.

use oxibert_kernels::{self as kernels, Activation, Dropout};

use super::linear::{Moments, NormStep};
use super::{Layout, Linear, NormPlace, Numbers, fit};

/// Two linear layers with an activation between them, their residual and LayerNorm.
#[derive(Debug, Clone)]
pub(crate) struct FeedForward {
    inner: Linear,
    outer: Linear,
    norm: NormPlace,
    activation: Activation,
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Before the activation; what comes after it is computed again, which costs less than to keep it.
    z: Vec<f32>,
    sum: Vec<f32>,
    moments: Moments,
}

/// The passes' own memory, shared by all layers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// After the activation.
    a: Vec<f32>,
    dsum: Vec<f32>,
    dz: Vec<f32>,
}

impl FeedForward {
    /// The sub-layer of the encoder block called `block`.
    pub(crate) fn new(layout: &Layout, block: &str, activation: Activation, eps: f64) -> Self {
        Self {
            inner: Linear::new(layout, &format!("{block}.intermediate.dense")),
            outer: Linear::new(layout, &format!("{block}.output.dense")),
            norm: NormPlace::new(layout, &format!("{block}.output"), eps),
            activation,
        }
    }

    /// `x` [N, H] to `y` [N, H].
    pub(crate) fn forward<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        x: &[f32],
        dropout: Dropout,
        state: &mut State,
        scratch: &mut Scratch,
        y: &mut [f32],
    ) {
        let n = x.len() / self.inner.inputs;
        let z = fit(&mut state.z, n * self.inner.outputs);
        numbers.linear(&self.inner, x, z); // [N, I]
        let a = fit(&mut scratch.a, n * self.inner.outputs);
        kernels::activation(self.activation, z, a); // [N, I]
        let sum = fit(&mut state.sum, x.len());
        numbers.linear(&self.outer, a, sum); // [N, H]
        kernels::add_layer_norm(sum, Some(x), dropout, self.norm.numbers(numbers), y, state.moments.rows(n));
    }

    /// `y` of the last forward pass once more: it costs less than to keep it.
    pub(crate) fn output_again(&self, values: &[f32], state: &mut State, y: &mut [f32]) {
        self.norm.again(values, &mut state.sum, &mut state.moments, y);
    }

    /// `d`: dy [N, H] becomes dx.
    ///
    /// Through LayerNorm d splits into the residual's part and dsum; dz = (dsum W2) f'(z); dx = d + dz W1.
    #[allow(clippy::too_many_arguments)] // what a backward pass needs, each a plain slice
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut [f32],
        x: &[f32],
        dropout: Dropout,
        state: &State,
        d: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let inner = x.len() / self.inner.inputs * self.inner.outputs;
        let dsum = fit(&mut scratch.dsum, x.len());
        let step = NormStep {
            norm: &self.norm,
            bias: Some(&self.outer.bias),
            sum: &state.sum[..x.len()],
            moments: &state.moments,
            dropout,
        };
        step.backward(values, gradients, d, Some(dsum));
        let dz = fit(&mut scratch.dz, inner);
        self.outer.backward_input(values, dsum, false, dz);
        let a = fit(&mut scratch.a, inner);
        kernels::activation(self.activation, &state.z[..inner], a);
        self.outer.backward_weight(gradients, a, dsum);
        let dbias = &mut gradients[self.inner.bias.values.clone()];
        kernels::activation_backward(self.activation, &state.z[..inner], dz, Some(dbias));
        self.inner.backward_weight(gradients, x, dz);
        self.inner.backward_input(values, dz, true, d);
    }
}
