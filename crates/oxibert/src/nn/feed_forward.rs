//! The feed-forward layer: `f(x) = W2 a(W1 x + b1) + b2`. Residual and LayerNorm around it are in `sub_layer`.

use oxibert_kernels::{self as kernels, Activation};

use super::sub_layer::Flow;
use super::{Gradients, Linear, Numbers, fit};

/// Two linear layers with an activation between them.
#[derive(Debug, Clone)]
pub(crate) struct FeedForward {
    inner: Linear,
    outer: Linear,
    activation: Activation,
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Before the activation; what comes after it is computed again, which costs less than to keep it.
    z: Vec<f32>,
}

/// The passes' own memory, shared by all layers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// After the activation.
    a: Vec<f32>,
    dz: Vec<f32>,
}

impl FeedForward {
    /// From H to I and back.
    pub(crate) fn new(inner: Linear, outer: Linear, activation: Activation) -> Self {
        Self { inner, outer, activation }
    }

    pub(crate) fn output(&self) -> &Linear {
        &self.outer
    }

    /// `x` [N, H] to `out` [N, H].
    pub(crate) fn forward<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        x: &[f32],
        state: &mut State,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) {
        let n = x.len() / self.inner.inputs;
        let z = fit(&mut state.z, n * self.inner.outputs);
        numbers.linear(&self.inner, x, z); // [N, I]
        let a = fit(&mut scratch.a, n * self.inner.outputs);
        kernels::activation(self.activation, z, a); // [N, I]
        numbers.linear(&self.outer, a, out); // [N, H]
    }

    /// `dout` [N, H]: the gradient of f's output; the input's goes to `flow`.
    ///
    /// dz = (dout W2) a'(z); dx = dz W1.
    #[allow(clippy::too_many_arguments)] // what a backward pass needs, each a plain value
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        x: &[f32],
        state: &State,
        dout: &[f32],
        flow: &mut Flow<'_>,
        scratch: &mut Scratch,
    ) {
        let inner = x.len() / self.inner.inputs * self.inner.outputs;
        let dz = fit(&mut scratch.dz, inner);
        self.outer.backward_input(values, dout, false, dz);
        let a = fit(&mut scratch.a, inner);
        kernels::activation(self.activation, &state.z[..inner], a);
        self.outer.backward_weight(gradients, a, dout);
        let dbias = self.inner.bias_in(gradients);
        kernels::activation_backward(self.activation, &state.z[..inner], dz, dbias);
        self.inner.backward_weight(gradients, x, dz);
        flow.input(&self.inner, values, dz);
    }
}
