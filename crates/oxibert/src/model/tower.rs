//! A tower: embeddings, and blocks of sub-layers above them. BERT's encoder is one, the Transformer is two, GPT-2 is one.
//!
//! ```text
//! encoder block      attention, feed-forward
//! decoder block      causal attention, attention over the encoder's output, feed-forward
//! decoder alone      causal attention, feed-forward
//! ```
//!
//! The sub-layers form one list; a block is so many of them. Each reads the output of the one before.

use super::embeddings::{self, Embeddings};
use super::pass::{DropoutPlan, Inspection, Keep};
use crate::data::Batch;
use crate::nn::attention::{Memory, Seen, Sequences};
use crate::nn::linear::{Moments, NormStep};
use crate::nn::sub_layer::{self, Dropouts, Flow, Function, Given, SubLayer};
use crate::nn::{Gradients, NormPlace, Numbers, fit};

/// Embeddings and blocks.
#[derive(Debug, Clone)]
pub(crate) struct Tower {
    pub(crate) embeddings: Embeddings,
    /// The LayerNorm that pre-norm blocks begin with; without it they are post-norm.
    pub(crate) entry: Option<NormPlace>,
    pub(crate) layers: Vec<SubLayer>,
    /// Sub-layers of a block, two at least.
    pub(crate) per_block: usize,
    /// H
    pub(crate) hidden: usize,
    /// The first of its dropout streams: those of two towers must not meet.
    pub(crate) first_stream: usize,
    /// The embeddings and so many blocks do not learn: backward ends there.
    pub(crate) frozen: Option<usize>,
}

/// What a pass goes over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pass<'b> {
    pub(crate) batch: &'b Batch,
    pub(crate) memory: Option<Memory<'b>>,
    pub(crate) dropout: DropoutPlan,
    pub(crate) keep: Keep,
}

/// The memory of a pass, reused from step to step.
#[derive(Debug, Default)]
pub(crate) struct Activations {
    embeddings: embeddings::State,
    /// The output of pre-norm's first LayerNorm.
    entry: Vec<f32>,
    entry_moments: Moments,
    /// Of every sub-layer, or of one block's where no more is kept.
    states: Vec<sub_layer::State>,
    /// Of every block, where only inputs are kept: x, and pre-norm's stream.
    inputs: Vec<Input<Vec<f32>>>,
    /// Of one block's sub-layers; each block uses them again, and backward makes them again.
    outputs: Vec<Vec<f32>>,
    scratch: sub_layer::Scratch,
    /// Backward's gradient of pre-norm's stream.
    dstream: Vec<f32>,
}

/// What a sub-layer reads.
#[derive(Debug, Clone, Copy, Default)]
struct Input<V> {
    x: V,
    /// The sum of the sub-layer before: pre-norm's residual.
    stream: V,
}

impl<'b> Pass<'b> {
    /// A pass without a memory.
    pub(crate) fn over(batch: &'b Batch, dropout: DropoutPlan, keep: Keep) -> Self {
        Self { batch, memory: None, dropout, keep }
    }

    fn sequences(&self) -> Sequences<'b> {
        Sequences { offsets: &self.batch.offsets, memory: self.memory }
    }
}

impl Tower {
    pub(crate) fn blocks(&self) -> usize {
        self.layers.len() / self.per_block
    }

    /// The tower up to this block.
    pub(crate) fn first(&self, blocks: usize) -> Self {
        Self {
            embeddings: self.embeddings.clone(),
            entry: self.entry.clone(),
            layers: self.layers[..blocks * self.per_block].to_vec(),
            ..*self
        }
    }

    fn length(&self, batch: &Batch) -> usize {
        batch.tokens() * self.hidden
    }

    /// Ids to the last sub-layer's output [N, H].
    pub(crate) fn forward<'a, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        pass: Pass<'_>,
        activations: &'a mut Activations,
        mut inspection: Option<&mut Inspection>,
    ) -> &'a [f32] {
        self.enter(numbers, pass, activations);
        if let Some(inspection) = inspection.as_deref_mut() {
            *inspection = Inspection::default();
            inspection.hidden_states.push(activations.embeddings.y(self.length(pass.batch)).to_vec());
        }
        for layer in 0..self.layers.len() {
            if pass.keep == Keep::Inputs && layer.is_multiple_of(self.per_block) {
                self.keep_input(layer, self.length(pass.batch), activations);
            }
            let mut weights = inspection.is_some().then(Vec::new);
            self.run(numbers, pass, layer, activations, weights.as_mut());
            if let Some((inspection, weights)) = inspection.as_deref_mut().zip(weights) {
                self.inspect(layer, self.length(pass.batch), activations, weights, inspection);
            }
        }
        self.output(activations, self.length(pass.batch))
    }

    /// The output of the last forward pass.
    pub(crate) fn output<'a>(&self, activations: &'a Activations, length: usize) -> &'a [f32] {
        match self.layers.len() {
            0 => self.first_input(activations, length).x,
            layers => &activations.outputs[(layers - 1) % self.per_block][..length],
        }
    }

    /// The embeddings, and what stands before the first block.
    fn enter<N: Numbers + ?Sized>(&self, numbers: &N, pass: Pass<'_>, activations: &mut Activations) {
        activations.prepare(self, pass.keep);
        let dropout = pass.dropout.embeddings(self.first_stream);
        let y = self.embeddings.forward(numbers, pass.batch, dropout, &mut activations.embeddings);
        if let Some(norm) = &self.entry {
            let entry = fit(&mut activations.entry, y.len());
            norm.apply(numbers, y, &mut activations.entry_moments, entry);
        }
    }

    /// Keeps what a block reads.
    fn keep_input(&self, layer: usize, length: usize, activations: &mut Activations) {
        let mut kept = std::mem::take(&mut activations.inputs[layer / self.per_block]);
        // Everywhere else the first input is found without having been kept.
        let Input { x, stream } = self.input(activations, Keep::Nothing, layer, length);
        fit(&mut kept.x, length).copy_from_slice(x);
        if self.entry.is_some() {
            fit(&mut kept.stream, length).copy_from_slice(stream);
        }
        activations.inputs[layer / self.per_block] = kept;
    }

    fn first_input<'a>(&self, activations: &'a Activations, length: usize) -> Input<&'a [f32]> {
        let stream = activations.embeddings.y(length);
        Input { x: if self.entry.is_some() { &activations.entry[..length] } else { stream }, stream }
    }

    /// What a sub-layer reads, wherever it lies.
    fn input<'a>(
        &self,
        activations: &'a Activations,
        keep: Keep,
        layer: usize,
        length: usize,
    ) -> Input<&'a [f32]> {
        if keep == Keep::Inputs && layer.is_multiple_of(self.per_block) {
            let Input { x, stream } = &activations.inputs[layer / self.per_block];
            let stream = if self.entry.is_some() { stream } else { x };
            return Input { x: &x[..length], stream: &stream[..length] };
        }
        let Some(before) = layer.checked_sub(1) else { return self.first_input(activations, length) };
        Input {
            x: &activations.outputs[before % self.per_block][..length],
            stream: activations.states[before % activations.states.len()].sum(length),
        }
    }

    /// Lends `f` a sub-layer with all that a pass through it reads (x, residual) and writes (state, scratch, y).
    fn with_layer(
        &self,
        activations: &mut Activations,
        keep: Keep,
        layer: usize,
        length: usize,
        f: impl FnOnce(&SubLayer, [&[f32]; 2], &mut sub_layer::State, &mut sub_layer::Scratch, &mut [f32]),
    ) {
        let (slot, place) = (layer % activations.states.len(), layer % self.per_block);
        let mut state = std::mem::take(&mut activations.states[slot]);
        let mut y = std::mem::take(&mut activations.outputs[place]);
        let mut scratch = std::mem::take(&mut activations.scratch);
        let Input { x, stream } = self.input(activations, keep, layer, length);
        let residual = if self.entry.is_some() { stream } else { x };
        f(&self.layers[layer], [x, residual], &mut state, &mut scratch, fit(&mut y, length));
        activations.states[slot] = state;
        activations.outputs[place] = y;
        activations.scratch = scratch;
    }

    fn run<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        pass: Pass<'_>,
        layer: usize,
        activations: &mut Activations,
        weights: Option<&mut Vec<f32>>,
    ) {
        let (dropouts, sequences) = (self.dropouts(pass, layer), pass.sequences());
        let length = self.length(pass.batch);
        self.with_layer(activations, pass.keep, layer, length, |layer, [x, residual], state, scratch, y| {
            let given = Given { x, sequences, dropouts };
            layer.forward(numbers, given, residual, state, scratch, y, weights);
        });
    }

    fn dropouts(&self, pass: Pass<'_>, layer: usize) -> Dropouts {
        let (block, place) = (layer / self.per_block, layer % self.per_block);
        let stream = stream(self.first_stream, self.per_block, block, place);
        match self.layers[layer].attention() {
            Some(_) => pass.dropout.attention(stream),
            None => pass.dropout.feed_forward(stream),
        }
    }

    /// Writes down what a sub-layer has said.
    fn inspect(
        &self,
        layer: usize,
        length: usize,
        activations: &Activations,
        weights: Vec<f32>,
        inspection: &mut Inspection,
    ) {
        match self.layers[layer].attention() {
            Some(attention) if attention.is_over_memory() => inspection.cross_attentions.push(weights),
            Some(_) => inspection.attentions.push(weights),
            None => {
                let last = layer + 1 == self.layers.len();
                // Between pre-norm blocks it is the stream that is the hidden state.
                let state = if self.entry.is_some() && !last {
                    activations.states[layer % activations.states.len()].sum(length)
                } else {
                    &activations.outputs[layer % self.per_block][..length]
                };
                inspection.hidden_states.push(state.to_vec());
            }
        }
    }

    /// `d`: the gradient of the last output [N, H], used up. With a memory, its gradient is added to `dmemory`.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        pass: Pass<'_>,
        activations: &mut Activations,
        d: &mut [f32],
        dmemory: Option<&mut [f32]>,
    ) {
        let mut dstream = std::mem::take(&mut activations.dstream);
        let stream = self.entry.as_ref().map(|_| {
            // The last sum is read by the last LayerNorm alone.
            let stream = fit(&mut dstream, d.len());
            stream.fill(0.0);
            stream
        });
        let mut flow = Flow::new(d, stream, dmemory);
        for block in (self.frozen.unwrap_or(0)..self.blocks()).rev() {
            self.block_backward(values, gradients, pass, block, activations, &mut flow);
        }
        if self.frozen.is_none() {
            self.leave(values, gradients, pass, activations, flow);
        }
        activations.dstream = dstream;
    }

    fn block_backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        pass: Pass<'_>,
        block: usize,
        activations: &mut Activations,
        flow: &mut Flow<'_>,
    ) {
        let (layers, length) =
            (block * self.per_block..(block + 1) * self.per_block, self.length(pass.batch));
        if pass.keep == Keep::Inputs {
            layers.clone().for_each(|layer| self.run(values, pass, layer, activations, None));
        }
        for layer in layers.rev() {
            if let (Keep::Everything, Some(before)) = (pass.keep, layer.checked_sub(1)) {
                let y = fit(&mut activations.outputs[before % self.per_block], length);
                self.layers[before].output_again(values, &mut activations.states[before], y);
            }
            let mut scratch = std::mem::take(&mut activations.scratch);
            let x = self.input(activations, pass.keep, layer, length).x;
            let given = Given { x, sequences: pass.sequences(), dropouts: self.dropouts(pass, layer) };
            let state = &activations.states[layer % activations.states.len()];
            self.layers[layer].backward(values, gradients, given, state, flow, &mut scratch);
            activations.scratch = scratch;
        }
    }

    /// What stands before the first block, and the embeddings.
    fn leave(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        pass: Pass<'_>,
        activations: &Activations,
        mut flow: Flow<'_>,
    ) {
        if let Some(norm) = &self.entry {
            let step = NormStep {
                norm,
                bias: None,
                sum: activations.embeddings.y(self.length(pass.batch)),
                moments: &activations.entry_moments,
                dropout: oxibert_kernels::Dropout::OFF,
                skip: None,
            };
            flow.through(values, gradients, step, None);
        }
        let dropout = pass.dropout.embeddings(self.first_stream);
        let state = &activations.embeddings;
        self.embeddings.backward(values, gradients, pass.batch, dropout, state, flow.arrived());
    }

    /// Empties the caches for steps of decoding; those of attention over a memory get to know all of it.
    pub(crate) fn clear_caches<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        memory: &[f32],
        caches: &mut Vec<Vec<f32>>,
    ) {
        caches.resize_with(self.layers.len(), Vec::new);
        for (layer, cache) in self.layers.iter().zip(caches) {
            if let Some(attention) = layer.attention() {
                attention.clear_cache(numbers, memory, cache);
            }
        }
    }

    /// One step of decoding: the tokens of `batch`, which all come anew, to the last output [N, H].
    pub(crate) fn step<'a, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        seen: &Seen<'_>,
        caches: &mut [Vec<f32>],
        activations: &'a mut Activations,
    ) -> &'a [f32] {
        self.enter(numbers, Pass::over(batch, DropoutPlan::OFF, Keep::Nothing), activations);
        let length = self.length(batch);
        for (layer, cache) in caches.iter_mut().enumerate() {
            self.with_layer(
                activations,
                Keep::Nothing,
                layer,
                length,
                |layer, [x, residual], state, scratch, y| {
                    layer.step(numbers, x, residual, seen, cache, state, scratch, y);
                },
            );
        }
        self.output(activations, length)
    }
}

/// The dropout stream of a sub-layer. Streams are numbered in the order of the pass: the embeddings' first, then two for each
/// attention and one for the feed-forward layer that ends a block.
pub(super) fn stream(first: usize, per_block: usize, block: usize, place: usize) -> usize {
    first + 1 + block * (2 * per_block - 1) + 2 * place
}

/// Functions, each with the LayerNorm of its own name, as sub-layers: post-norm as they are; pre-norm, where there is a
/// `last` LayerNorm, each with the norm of the next, and the first one apart, as the tower's entry.
pub(crate) fn arrange(
    parts: Vec<(Function, NormPlace)>,
    last: Option<NormPlace>,
) -> (Option<NormPlace>, Vec<SubLayer>) {
    let (functions, mut norms): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let entry = last.map(|last| {
        norms.push(last);
        norms.remove(0)
    });
    let layers = functions.into_iter().zip(norms).map(|(function, norm)| SubLayer::new(function, norm));
    (entry, layers.collect())
}

impl Activations {
    /// Without a backward pass, or where it computes all again, the states of one block serve all.
    fn prepare(&mut self, tower: &Tower, keep: Keep) {
        let states = if keep == Keep::Everything { tower.layers.len() } else { tower.per_block };
        self.states.resize_with(states, sub_layer::State::default);
        let inputs = if keep == Keep::Inputs { tower.blocks() } else { 0 };
        self.inputs.resize_with(inputs, Input::default);
        self.outputs.resize_with(tower.per_block, Vec::new);
    }
}
