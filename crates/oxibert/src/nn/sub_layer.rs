//! A sub-layer of a block: attention or feed-forward with its residual and its LayerNorm.
//!
//! ```text
//! post-norm (BERT, the Transformer)      pre-norm (GPT-2)
//!
//! x ----------.                          stream ---------.
//! |           |                          x = LN(stream)  |
//! f, dropout  |                          f, dropout      |
//! +-----------'                          +---------------'
//! | sum                                  | sum: the stream
//! LN                                     LN: the next sub-layer's
//! | y                                    | y: the next sub-layer's x
//! ```
//!
//! So both are one step, `sum = residual + dropout(f(x)); y = LN(sum)`. Post-norm's residual is x; pre-norm's is the sum
//! of the sub-layer before, and its LayerNorm the one that the sub-layer behind begins with (or the last one of all).

use oxibert_kernels::{self as kernels, Dropout};

use super::attention::{self, Attention, Seen, Sequences};
use super::feed_forward::{self, FeedForward};
use super::linear::{Moments, NormStep};
use super::{Gradients, Linear, NormPlace, Numbers, fit};

/// `y = LN(residual + dropout(f(x)))`.
#[derive(Debug, Clone)]
pub(crate) struct SubLayer {
    function: Function,
    norm: NormPlace,
}

/// What a sub-layer computes.
#[derive(Debug, Clone)]
pub(crate) enum Function {
    Attention(Attention),
    FeedForward(FeedForward),
}

/// The dropouts of one pass through a sub-layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropouts {
    /// On the weights of attention.
    pub(crate) weights: Dropout,
    /// On what is added to the residual.
    pub(crate) output: Dropout,
}

/// What a pass through a sub-layer is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// [N, H]
    pub(crate) x: &'a [f32],
    pub(crate) sequences: Sequences<'a>,
    pub(crate) dropouts: Dropouts,
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct State {
    attention: attention::State,
    feed_forward: feed_forward::State,
    /// What is normalized.
    sum: Vec<f32>,
    moments: Moments,
}

/// The passes' own memory, shared by all sub-layers.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    attention: attention::Scratch,
    feed_forward: feed_forward::Scratch,
    dout: Vec<f32>,
}

/// The gradient on its way back through the sub-layers.
#[derive(Debug)]
pub(crate) struct Flow<'d> {
    /// [N, H]: of a sub-layer's y, then of its x.
    d: &'d mut [f32],
    /// Pre-norm: of the sum, as it comes along the stream.
    stream: Option<&'d mut [f32]>,
    /// [M, H]: of the memory, collected from all attention over it.
    memory: Option<&'d mut [f32]>,
}

impl SubLayer {
    pub(crate) fn new(function: Function, norm: NormPlace) -> Self {
        Self { function, norm }
    }

    /// Its attention, if it is one.
    pub(crate) fn attention(&self) -> Option<&Attention> {
        match &self.function {
            Function::Attention(layer) => Some(layer),
            Function::FeedForward(_) => None,
        }
    }

    /// The linear layer that f ends with.
    fn output(&self) -> &Linear {
        match &self.function {
            Function::Attention(layer) => layer.output(),
            Function::FeedForward(layer) => layer.output(),
        }
    }

    /// `given.x` [N, H] to `y` [N, H]; `weights`, if asked for, get the weights of attention.
    #[allow(clippy::too_many_arguments)] // what a forward pass needs, each a plain value
    pub(crate) fn forward<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        given: Given<'_>,
        residual: &[f32],
        state: &mut State,
        scratch: &mut Scratch,
        y: &mut [f32],
        weights: Option<&mut Vec<f32>>,
    ) {
        let sum = fit(&mut state.sum, y.len());
        match &self.function {
            Function::Attention(layer) => layer.forward(numbers, given, &mut state.attention, sum, weights),
            Function::FeedForward(layer) => {
                layer.forward(numbers, given.x, &mut state.feed_forward, &mut scratch.feed_forward, sum);
            }
        }
        self.finish(numbers, residual, given.dropouts.output, state, y);
    }

    /// The sum and its norm.
    fn finish<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        residual: &[f32],
        dropout: Dropout,
        state: &mut State,
        y: &mut [f32],
    ) {
        let (norm, sum) = (self.norm.numbers(numbers), &mut state.sum[..y.len()]);
        let rows = y.len() / norm.gamma.len();
        kernels::add_layer_norm(sum, Some(residual), dropout, norm, y, state.moments.rows(rows));
    }

    /// `y` of the last forward pass once more: it costs less than to keep it.
    pub(crate) fn output_again(&self, values: &[f32], state: &mut State, y: &mut [f32]) {
        self.norm.apply(values, &mut state.sum[..y.len()], &mut state.moments, y);
    }

    /// `flow`: dy [N, H] becomes dx.
    ///
    /// Through LayerNorm dy splits into the residual's part, which stays in the flow, and f's, which f's backward turns into
    /// its input's.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        given: Given<'_>,
        state: &State,
        flow: &mut Flow<'_>,
        scratch: &mut Scratch,
    ) {
        let Scratch { attention, feed_forward, dout } = scratch;
        let dout = fit(dout, given.x.len());
        let step = NormStep {
            norm: &self.norm,
            bias: self.output().bias.as_ref(),
            sum: &state.sum[..given.x.len()],
            moments: &state.moments,
            dropout: given.dropouts.output,
            skip: None,
        };
        flow.through(values, gradients, step, Some(&mut *dout));
        match &self.function {
            Function::Attention(layer) => {
                layer.backward(values, gradients, given, &state.attention, dout, flow, attention);
            }
            Function::FeedForward(layer) => {
                let state = &state.feed_forward;
                layer.backward(values, gradients, given.x, state, dout, flow, feed_forward);
            }
        }
    }

    /// One step of decoding; `cache` holds what attention has seen.
    #[allow(clippy::too_many_arguments)] // what a step needs, each a plain value
    pub(crate) fn step<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        x: &[f32],
        residual: &[f32],
        seen: &Seen<'_>,
        cache: &mut Vec<f32>,
        state: &mut State,
        scratch: &mut Scratch,
        y: &mut [f32],
    ) {
        let sum = fit(&mut state.sum, y.len());
        match &self.function {
            Function::Attention(layer) => layer.step(numbers, x, seen, cache, &mut state.attention, sum),
            Function::FeedForward(layer) => {
                layer.forward(numbers, x, &mut state.feed_forward, &mut scratch.feed_forward, sum);
            }
        }
        self.finish(numbers, residual, Dropout::OFF, state, y);
    }
}

impl State {
    /// The sum of the last forward pass.
    pub(crate) fn sum(&self, length: usize) -> &[f32] {
        &self.sum[..length]
    }
}

impl<'d> Flow<'d> {
    /// From the gradient of the last y. Where blocks are pre-norm, `stream` is the gradient of the last sum beside its norm;
    /// where there is a memory, its gradient is added to `memory`.
    pub(crate) fn new(
        d: &'d mut [f32],
        stream: Option<&'d mut [f32]>,
        memory: Option<&'d mut [f32]>,
    ) -> Self {
        Self { d, stream, memory }
    }

    /// Through a LayerNorm: dy becomes dsum, and `dx` gets what goes on into f.
    pub(crate) fn through(
        &mut self,
        values: &[f32],
        gradients: &mut Gradients,
        step: NormStep<'_>,
        dx: Option<&mut [f32]>,
    ) {
        let step = NormStep { skip: self.stream.as_deref(), ..step };
        step.backward(values, gradients, self.d, dx);
    }

    /// The gradient of x by way of f, whose first layer's output has the gradient `dy`.
    ///
    /// Post-norm: x is the residual too, so that it is added to dsum. Pre-norm: dsum is the stream's from here on, and dx
    /// begins anew.
    pub(crate) fn input(&mut self, layer: &Linear, values: &[f32], dy: &[f32]) {
        match &mut self.stream {
            None => layer.backward_input(values, dy, true, self.d),
            Some(stream) => {
                layer.backward_input(values, dy, false, stream);
                std::mem::swap(&mut self.d, stream);
            }
        }
    }

    /// Where the memory's gradient is collected.
    pub(crate) fn memory(&mut self) -> &mut [f32] {
        self.memory.as_deref_mut().expect("a decoder's backward collects its encoder's gradient")
    }

    /// What has arrived.
    pub(crate) fn arrived(self) -> &'d mut [f32] {
        self.d
    }
}
