//! The attention sub-layer: `y = LN(x + dropout(O(attention(Q x, K x, V x))))`.
//!
//! "Attention is all you need", section 3.2: softmax(Q K^T / sqrt(D)) V per head. Sequences lie one after the other
//! without padding; each attends to itself alone.

use oxibert_kernels::{self as kernels, Dropout, Mat, MatMut};

use super::linear::{Moments, NormStep};
use super::{Layout, Linear, NormPlace, Numbers, fit};

/// Multi-head self-attention with its residual and LayerNorm.
#[derive(Debug, Clone)]
pub(crate) struct SelfAttention {
    /// Query, key and value as one product.
    qkv: Linear,
    output: Linear,
    norm: NormPlace,
    heads: usize,
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct State {
    qkv: Vec<f32>,
    context: Vec<f32>,
    log_sums: Vec<f32>,
    sum: Vec<f32>,
    moments: Moments,
}

/// The dropouts of one pass through the sub-layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropouts {
    pub(crate) weights: Dropout,
    pub(crate) output: Dropout,
}

/// Backward's own memory, shared by all layers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    dqkv: Vec<f32>,
    doutput: Vec<f32>,
    dcontext: Vec<f32>,
}

impl SelfAttention {
    /// The sub-layer of the encoder block called `block`.
    pub(crate) fn new(layout: &Layout, block: &str, heads: usize, eps: f64) -> Self {
        Self {
            qkv: Linear::fused(layout, &format!("{block}.attention.self.query"), 3),
            output: Linear::new(layout, &format!("{block}.attention.output.dense")),
            norm: NormPlace::new(layout, &format!("{block}.attention.output"), eps),
            heads,
        }
    }

    fn hidden(&self) -> usize {
        self.qkv.inputs
    }

    fn kernel<'o>(&self, offsets: &'o [usize], dropout: Dropout) -> kernels::Attention<'o> {
        kernels::Attention {
            heads: self.heads,
            head_size: self.hidden() / self.heads,
            q_offsets: offsets,
            k_offsets: offsets,
            causal: false,
            dropout,
        }
    }

    /// `x` [N, H] to `y` [N, H]; `weights`, if asked for, get the attention weights, per sequence [A, n, n].
    #[allow(clippy::too_many_arguments)] // what a forward pass needs, each a plain slice
    pub(crate) fn forward<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        x: &[f32],
        offsets: &[usize],
        dropouts: Dropouts,
        state: &mut State,
        y: &mut [f32],
        weights: Option<&mut Vec<f32>>,
    ) {
        let h = self.hidden();
        let n = x.len() / h;
        let qkv = fit(&mut state.qkv, n * 3 * h);
        numbers.linear(&self.qkv, x, qkv); // [N, 3H]
        let kernel = self.kernel(offsets, dropouts.weights);
        let weights = weights.map(|weights| {
            weights.clear();
            weights.resize(kernel.weights_len(), 0.0);
            &mut weights[..]
        });
        let context = fit(&mut state.context, n * h);
        let log_sums = fit(&mut state.log_sums, n * self.heads);
        kernels::attention(&kernel, parts(qkv, h), MatMut::new(context, n, h), log_sums, weights); // [N, H]
        let sum = fit(&mut state.sum, n * h);
        numbers.linear(&self.output, context, sum); // [N, H]
        let norm = self.norm.numbers(numbers);
        kernels::add_layer_norm(sum, Some(x), dropouts.output, norm, y, state.moments.rows(n));
    }

    /// `y` of the last forward pass once more: it costs less than to keep it.
    pub(crate) fn output_again(&self, values: &[f32], state: &mut State, y: &mut [f32]) {
        self.norm.again(values, &mut state.sum, &mut state.moments, y);
    }

    /// `d`: dy [N, H] becomes dx.
    ///
    /// Through LayerNorm d splits into the residual's part, which stays in d, and the sub-layer's, doutput.
    /// dcontext = doutput W_o; attention gives dqkv; dx = d + dqkv W_qkv.
    #[allow(clippy::too_many_arguments)] // what a backward pass needs, each a plain slice
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut [f32],
        x: &[f32],
        offsets: &[usize],
        dropouts: Dropouts,
        state: &State,
        d: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let h = self.hidden();
        let n = x.len() / h;
        let context = &state.context[..n * h];
        let doutput = fit(&mut scratch.doutput, n * h);
        let step = NormStep {
            norm: &self.norm,
            bias: Some(&self.output.bias),
            sum: &state.sum[..n * h],
            moments: &state.moments,
            dropout: dropouts.output,
        };
        step.backward(values, gradients, d, Some(doutput));
        let dcontext = fit(&mut scratch.dcontext, n * h);
        self.output.backward_input(values, doutput, false, dcontext);
        self.output.backward_weight(gradients, context, doutput);
        let qkv = &state.qkv[..n * 3 * h];
        let [q, k, v] = parts(qkv, h);
        let dqkv = fit(&mut scratch.dqkv, n * 3 * h);
        let given = kernels::AttentionBackward {
            q,
            k,
            v,
            out: Mat::new(context, n, h),
            lse: &state.log_sums[..n * self.heads],
            dout: Mat::new(dcontext, n, h),
        };
        let kernel = self.kernel(offsets, dropouts.weights);
        kernels::attention_backward(&kernel, given, MatMut::split_columns(dqkv, h));
        self.qkv.backward_bias(gradients, dqkv);
        self.qkv.backward_weight(gradients, x, dqkv);
        self.qkv.backward_input(values, dqkv, true, d);
    }
}

/// Queries, keys and values, side by side in one matrix [N, 3H].
fn parts(qkv: &[f32], h: usize) -> [Mat<'_>; 3] {
    [0, 1, 2].map(|part| Mat::columns(qkv, 3 * h, part * h, h))
}
