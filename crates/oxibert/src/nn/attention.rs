//! Attention: `f(x) = O(softmax(Q K^T / sqrt(D)) V)` per head ("Attention is all you need", section 3.2).
//!
//! Queries, keys and values come from x itself (self-attention), or the queries from x and the rest from the hidden states
//! of another tower (a decoder's attention over its source). Sequences lie one after the other without padding; each
//! attends to itself, or to its partner, alone. What stands around f, residual and LayerNorm, is in `sub_layer`.

use oxibert_kernels::{self as kernels, Dropout, KeyRows, Mat, MatMut};

use super::sub_layer::{Flow, Given};
use super::{Gradients, Linear, Numbers, fit};

/// Multi-head attention.
#[derive(Debug, Clone)]
pub(crate) struct Attention {
    projections: Projections,
    output: Linear,
    heads: usize,
    /// Whether a token sees nothing behind itself.
    causal: bool,
}

/// Where queries, keys and values come from.
#[derive(Debug, Clone)]
enum Projections {
    /// All three from x, as one product.
    Own(Linear),
    /// Queries from x, keys and values from the memory.
    Memory { queries: Linear, keys_values: Linear },
}

/// Where sequences begin, and what else they may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequences<'b> {
    pub(crate) offsets: &'b [usize],
    pub(crate) memory: Option<Memory<'b>>,
}

/// The output of another tower, a sequence for each of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory<'b> {
    /// [M, H]
    pub(crate) hidden: &'b [f32],
    pub(crate) offsets: &'b [usize],
}

/// What the queries of one step of decoding see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'s> {
    /// Where each query's rows begin in `rows`, `[queries + 1]`.
    pub(crate) ends: &'s [usize],
    /// Self-attention: the cache's rows that a query sees, its own among them.
    pub(crate) rows: &'s [u32],
    /// Where the queries of each sequence of the memory begin.
    pub(crate) queries: &'s [usize],
    /// Where the sequences of the memory begin.
    pub(crate) memory: &'s [usize],
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Queries, keys and values side by side [N, 3H]; or queries alone [N, H], …
    projected: Vec<f32>,
    /// … and the memory's keys and values [M, 2H].
    memory: Vec<f32>,
    context: Vec<f32>,
    log_sums: Vec<f32>,
}

/// Backward's own memory, shared by all layers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    dprojected: Vec<f32>,
    dmemory: Vec<f32>,
    dcontext: Vec<f32>,
}

impl Attention {
    /// Of every token to the tokens of its sequence; `qkv` gives queries, keys and values at once.
    pub(crate) fn own(qkv: Linear, output: Linear, heads: usize, causal: bool) -> Self {
        Self { projections: Projections::Own(qkv), output, heads, causal }
    }

    /// Of every token to the partner of its sequence; `keys_values` gives both at once.
    pub(crate) fn over_memory(queries: Linear, keys_values: Linear, output: Linear, heads: usize) -> Self {
        let projections = Projections::Memory { queries, keys_values };
        Self { projections, output, heads, causal: false }
    }

    /// Whether it looks at another tower.
    pub(crate) fn is_over_memory(&self) -> bool {
        matches!(self.projections, Projections::Memory { .. })
    }

    pub(crate) fn output(&self) -> &Linear {
        &self.output
    }

    fn hidden(&self) -> usize {
        self.output.outputs
    }

    fn kernel<'o>(&self, sequences: Sequences<'o>, dropout: Dropout) -> kernels::Attention<'o> {
        let other = sequences.memory.filter(|_| self.is_over_memory());
        kernels::Attention {
            heads: self.heads,
            head_size: self.hidden() / self.heads,
            q_offsets: sequences.offsets,
            k_offsets: other.map_or(sequences.offsets, |memory| memory.offsets),
            causal: self.causal,
            dropout,
        }
    }

    /// `x` [N, H] to `out` [N, H]; `weights`, if asked for, get the attention weights, per sequence [A, queries, keys].
    pub(crate) fn forward<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        given: Given<'_>,
        state: &mut State,
        out: &mut [f32],
        weights: Option<&mut Vec<f32>>,
    ) {
        let h = self.hidden();
        let n = given.x.len() / h;
        let kernel = self.kernel(given.sequences, given.dropouts.weights);
        let weights = weights.map(|weights| {
            weights.clear();
            weights.resize(kernel.weights_len(), 0.0);
            &mut weights[..]
        });
        self.project(numbers, given, state);
        let State { projected, memory, context, log_sums } = state;
        let parts = self.parts(projected, memory, given);
        let context = fit(context, n * h);
        let log_sums = fit(log_sums, n * self.heads);
        kernels::attention(&kernel, parts, MatMut::new(context, n, h), log_sums, weights); // [N, H]
        numbers.linear(&self.output, context, out); // [N, H]
    }

    fn project<N: Numbers + ?Sized>(&self, numbers: &N, given: Given<'_>, state: &mut State) {
        let n = given.x.len() / self.hidden();
        match &self.projections {
            Projections::Own(qkv) => {
                numbers.linear(qkv, given.x, fit(&mut state.projected, n * qkv.outputs)); // [N, 3H]
            }
            Projections::Memory { queries, keys_values } => {
                let memory = given.sequences.memory();
                let m = memory.hidden.len() / self.hidden();
                numbers.linear(queries, given.x, fit(&mut state.projected, n * queries.outputs)); // [N, H]
                numbers.linear(keys_values, memory.hidden, fit(&mut state.memory, m * keys_values.outputs)); // [M, 2H]
            }
        }
    }

    /// Queries, keys and values, where `project` left them.
    fn parts<'s>(&self, projected: &'s [f32], memory: &'s [f32], given: Given<'_>) -> [Mat<'s>; 3] {
        let h = self.hidden();
        let n = given.x.len() / h;
        match &self.projections {
            Projections::Own(_) => {
                [0, 1, 2].map(|part| Mat::columns(&projected[..n * 3 * h], 3 * h, part * h, h))
            }
            Projections::Memory { .. } => {
                let memory = &memory[..given.sequences.memory().hidden.len() * 2];
                let [k, v] = [0, 1].map(|part| Mat::columns(memory, 2 * h, part * h, h));
                [Mat::new(&projected[..n * h], n, h), k, v]
            }
        }
    }

    /// `dout` [N, H]: the gradient of f's output. The input's goes to `flow`, the memory's is added there too.
    ///
    /// dcontext = dout W_o; attention gives dq, dk, dv; dx = dq W_q + dk W_k + dv W_v, or dx = dq W_q and
    /// dmemory += dk W_k + dv W_v.
    #[allow(clippy::too_many_arguments)] // what a backward pass needs, each a plain value
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        given: Given<'_>,
        state: &State,
        dout: &[f32],
        flow: &mut Flow<'_>,
        scratch: &mut Scratch,
    ) {
        let (h, n) = (self.hidden(), dout.len() / self.hidden());
        let Scratch { dprojected, dmemory, dcontext } = scratch;
        let context = &state.context[..n * h];
        let dcontext = fit(dcontext, n * h);
        self.output.backward_input(values, dout, false, dcontext);
        self.output.backward_weight(gradients, context, dout);
        let [q, k, v] = self.parts(&state.projected, &state.memory, given);
        let (lse, dout) = (&state.log_sums[..n * self.heads], Mat::new(dcontext, n, h));
        let known = kernels::AttentionBackward { q, k, v, lse, dout };
        let kernel = self.kernel(given.sequences, given.dropouts.weights);
        match &self.projections {
            Projections::Own(qkv) => {
                let dqkv = fit(dprojected, n * 3 * h);
                kernels::attention_backward(&kernel, known, MatMut::split_columns(dqkv, h));
                qkv.backward_parameters(gradients, given.x, dqkv);
                flow.input(qkv, values, dqkv);
            }
            Projections::Memory { queries, keys_values } => {
                let memory = given.sequences.memory().hidden;
                let (dq, dkv) = (fit(dprojected, n * h), fit(dmemory, 2 * memory.len()));
                let [dk, dv] = MatMut::split_columns(dkv, h);
                kernels::attention_backward(&kernel, known, [MatMut::new(dq, n, h), dk, dv]);
                queries.backward_parameters(gradients, given.x, dq);
                keys_values.backward_parameters(gradients, memory, dkv);
                keys_values.backward_input(values, dkv, true, flow.memory());
                flow.input(queries, values, dq);
            }
        }
    }

    /// The cache before the first step of decoding: empty, or the memory's keys and values, once for all steps.
    pub(crate) fn clear_cache<N: Numbers + ?Sized>(&self, numbers: &N, memory: &[f32], cache: &mut Vec<f32>) {
        match &self.projections {
            Projections::Own(_) => cache.clear(),
            Projections::Memory { keys_values, .. } => {
                cache.resize(2 * memory.len(), 0.0);
                numbers.linear(keys_values, memory, cache); // [M, 2H]
            }
        }
    }

    /// One step of decoding: the new tokens `x` [R, H] to `out` [R, H]. Their own keys and values are appended to `cache`
    /// [rows, 2H] first, so that earlier tokens are never computed again.
    pub(crate) fn step<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        x: &[f32],
        seen: &Seen<'_>,
        cache: &mut Vec<f32>,
        state: &mut State,
        out: &mut [f32],
    ) {
        let (h, r) = (self.hidden(), x.len() / self.hidden());
        let State { projected, context, log_sums, .. } = state;
        let context = fit(context, r * h);
        match &self.projections {
            Projections::Own(qkv) => {
                let projected = fit(projected, r * 3 * h);
                numbers.linear(qkv, x, projected); // [R, 3H]
                projected.chunks_exact(3 * h).for_each(|row| cache.extend_from_slice(&row[h..]));
                let cache: &[f32] = cache;
                let [k, v] = [0, 1].map(|part| Mat::columns(cache, 2 * h, part * h, h));
                let shape = KeyRows { heads: self.heads, ends: seen.ends, rows: seen.rows };
                let parts = [Mat::columns(projected, 3 * h, 0, h), k, v];
                kernels::attention_to_rows(&shape, parts, MatMut::new(context, r, h));
            }
            Projections::Memory { queries, .. } => {
                let q = fit(projected, r * h);
                numbers.linear(queries, x, q); // [R, H]
                let memory = Some(Memory { hidden: &[], offsets: seen.memory });
                let kernel = self.kernel(Sequences { offsets: seen.queries, memory }, Dropout::OFF);
                let cache: &[f32] = cache;
                let [k, v] = [0, 1].map(|part| Mat::columns(cache, 2 * h, part * h, h));
                let log_sums = fit(log_sums, r * self.heads);
                let parts = [Mat::new(q, r, h), k, v];
                kernels::attention(&kernel, parts, MatMut::new(context, r, h), log_sums, None);
            }
        }
        numbers.linear(&self.output, context, out); // [R, H]
    }
}

impl<'b> Sequences<'b> {
    fn memory(&self) -> Memory<'b> {
        self.memory.expect("a decoder is given its encoder's output")
    }
}
