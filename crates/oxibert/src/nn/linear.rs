//! Linear layers and LayerNorm: where their numbers lie, and the products.

use oxibert_kernels as kernels;

use super::Gradients;
use super::params::{Layout, Place};

/// Where a forward pass takes its numbers from.
pub(crate) trait Numbers: Sync {
    /// The values of a place.
    fn values(&self, place: &Place) -> &[f32];

    /// `y = x W^T + b`.
    fn linear(&self, layer: &Linear, x: &[f32], y: &mut [f32]) {
        let bias = layer.bias.as_ref().map(|bias| self.values(bias));
        kernels::linear(x, self.values(&layer.weight), bias, layer.inputs, y);
    }
}

/// The arena itself.
impl Numbers for [f32] {
    fn values(&self, place: &Place) -> &[f32] {
        &self[place.values.clone()]
    }
}

/// `y = x W^T + b` with W `[outputs, inputs]`; b may be absent.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    pub(crate) weight: Place,
    pub(crate) bias: Option<Place>,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
}

impl Linear {
    /// The layer called `name`.
    pub(crate) fn new(layout: &Layout, name: &str) -> Self {
        Self::fused(layout, name, 1)
    }

    /// `count` layers of the same inputs that lie side by side, the first called `name`, as one.
    pub(crate) fn fused(layout: &Layout, name: &str, count: usize) -> Self {
        let weight = layout.place(&format!("{name}.weight"), count);
        let bias = Some(layout.place(&format!("{name}.bias"), count));
        let shape = &layout.param(weight.params.start).shape;
        Self { inputs: shape[1], outputs: shape[0] * count, weight, bias }
    }

    /// `dx = dy W`, or added to what is in `dx`.
    pub(crate) fn backward_input(&self, values: &[f32], dy: &[f32], accumulate: bool, dx: &mut [f32]) {
        kernels::linear_dx(dy, values.values(&self.weight), self.outputs, accumulate, dx);
    }

    /// `dW += dy^T x`.
    pub(crate) fn backward_weight(&self, gradients: &mut Gradients, x: &[f32], dy: &[f32]) {
        let (dw, accumulate) = gradients.writing(&self.weight);
        kernels::linear_dw(dy, x, self.inputs, accumulate, dw);
    }

    /// `db += sum of dy over rows`, where no fused kernel has done it.
    pub(crate) fn backward_bias(&self, gradients: &mut Gradients, dy: &[f32]) {
        if let Some(dbias) = self.bias_in(gradients) {
            kernels::bias_gradient(dy, dbias);
        }
    }

    /// Both of the parameters' gradients.
    pub(crate) fn backward_parameters(&self, gradients: &mut Gradients, x: &[f32], dy: &[f32]) {
        self.backward_bias(gradients, dy);
        self.backward_weight(gradients, x, dy);
    }

    /// Where to add the bias's gradient.
    pub(crate) fn bias_in<'g>(&self, gradients: &'g mut Gradients) -> Option<&'g mut [f32]> {
        self.bias.as_ref().map(|bias| gradients.adding(bias))
    }
}

/// Where a LayerNorm's numbers lie.
#[derive(Debug, Clone)]
pub(crate) struct NormPlace {
    pub(crate) gamma: Place,
    pub(crate) beta: Place,
    pub(crate) eps: f32,
}

impl NormPlace {
    /// The LayerNorm called `name`.
    pub(crate) fn new(layout: &Layout, name: &str, eps: f64) -> Self {
        let place = |part: &str| layout.place(&format!("{name}.{part}"), 1);
        Self { gamma: place("weight"), beta: place("bias"), eps: eps as f32 }
    }

    pub(crate) fn numbers<'n, N: Numbers + ?Sized>(&self, numbers: &'n N) -> kernels::Norm<'n> {
        kernels::Norm { gamma: numbers.values(&self.gamma), beta: numbers.values(&self.beta), eps: self.eps }
    }

    /// `y = LN(x)`; x stays as it is.
    pub(crate) fn apply<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        x: &mut [f32],
        moments: &mut Moments,
        y: &mut [f32],
    ) {
        let norm = self.numbers(numbers);
        let rows = moments.rows(y.len() / norm.gamma.len());
        kernels::add_layer_norm(x, None, kernels::Dropout::OFF, norm, y, rows);
    }
}

/// The mean and 1 / deviation of every row, which LayerNorm's backward needs.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    mean: Vec<f32>,
    rstd: Vec<f32>,
}

impl Moments {
    pub(crate) fn rows(&mut self, rows: usize) -> kernels::Moments<'_> {
        kernels::Moments { mean: super::fit(&mut self.mean, rows), rstd: super::fit(&mut self.rstd, rows) }
    }

    pub(crate) fn mean(&self, rows: usize) -> &[f32] {
        &self.mean[..rows]
    }

    pub(crate) fn rstd(&self, rows: usize) -> &[f32] {
        &self.rstd[..rows]
    }
}

/// What LayerNorm's backward is given beside the gradient.
pub(crate) struct NormStep<'a> {
    pub(crate) norm: &'a NormPlace,
    /// The bias of the linear layer before it, whose gradient falls out here.
    pub(crate) bias: Option<&'a Place>,
    /// What was normalized: residual + dropout(x).
    pub(crate) sum: &'a [f32],
    pub(crate) moments: &'a Moments,
    pub(crate) dropout: kernels::Dropout,
    /// A gradient that reaches the sum beside the norm.
    pub(crate) skip: Option<&'a [f32]>,
}

impl NormStep<'_> {
    /// `d`: dy becomes the residual's gradient; `dx`: the gradient of what was added to it, if it is wanted apart.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        d: &mut [f32],
        dx: Option<&mut [f32]>,
    ) {
        let gamma = values.values(&self.norm.gamma);
        let rows = self.sum.len() / gamma.len();
        let given = kernels::NormBackward {
            sum: self.sum,
            gamma,
            mean: self.moments.mean(rows),
            rstd: self.moments.rstd(rows),
            dropout: self.dropout,
            skip: self.skip,
        };
        let NormPlace { gamma, beta, .. } = self.norm;
        let gradients = match self.bias {
            None => {
                let [dgamma, dbeta] = gradients.adding_to([gamma, beta]);
                kernels::NormGradients { dgamma, dbeta, dbias: None }
            }
            Some(bias) => {
                let [dgamma, dbeta, dbias] = gradients.adding_to([gamma, beta, bias]);
                kernels::NormGradients { dgamma, dbeta, dbias: Some(dbias) }
            }
        };
        kernels::add_layer_norm_backward(given, d, dx, gradients);
    }
}
