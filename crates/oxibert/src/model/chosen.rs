//! The encoder where only some rows of its output are read: in training, and where sequences are classified.
//!
//! Heads do not read all of the last block's output: the first token of each sequence, in pretraining the masked tokens, in
//! tagging the first piece of each word.
//! The last block's keys and values need all rows below; its queries, the rest of its attention and its feed-forward layer
//! go over the rows that are read alone. So it is attention of the chosen rows over a memory, as in a decoder.
//! What comes out is the same as the whole encoder's, for less: with 15 % of the rows, a third of the last block.

use oxibert_kernels::{self as kernels, Lookup};

use super::Config;
use super::embeddings::Embeddings;
use super::encoder::{self, Encoder};
use super::lanes::Lanes;
use super::pass::{DropoutPlan, Keep};
use super::tower::Activations;
use crate::data::Batch;
use crate::nn::attention::{Memory, Sequences};
use crate::nn::sub_layer::{self, Dropouts, Flow, Given, SubLayer};
use crate::nn::{Gradients, Layout, Numbers, fit};

/// All blocks but the last, and the last one over chosen rows.
#[derive(Debug, Clone)]
pub(crate) struct ChosenRows {
    below: Encoder,
    /// Attention and feed-forward.
    last: [SubLayer; 2],
    /// The first dropout stream of the last block.
    stream: usize,
    /// H
    hidden: usize,
    last_learns: bool,
}

/// What a pass goes over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'b> {
    pub(crate) batch: &'b Batch,
    pub(crate) dropout: DropoutPlan,
    pub(crate) keep: Keep,
}

/// The memory of a pass, reused from step to step.
#[derive(Debug, Default)]
pub(crate) struct ChosenState {
    below: Activations,
    last: Last,
    /// [N, H]
    dhidden: Vec<f32>,
}

/// The last block's part of it.
#[derive(Debug, Default)]
struct Last {
    /// The rows that are read, in order.
    rows: Vec<u32>,
    /// Where those of each sequence begin.
    offsets: Vec<usize>,
    /// R * H
    length: usize,
    /// [R, H] each: what the last block reads at these rows, what stands between its sub-layers, what it says.
    x: Vec<f32>,
    middle: Vec<f32>,
    y: Vec<f32>,
    states: [sub_layer::State; 2],
    scratch: sub_layer::Scratch,
}

impl ChosenRows {
    pub(crate) fn new(layout: &Layout, config: &Config) -> Self {
        let last = config.num_hidden_layers - 1;
        Self {
            below: Encoder::new(layout, config).first(last),
            last: encoder::block_over_memory(layout, config, last),
            stream: Encoder::stream_of_block(last),
            hidden: config.hidden_size,
            last_learns: true,
        }
    }

    /// What it begins with.
    pub(crate) fn embeddings(&self) -> &Embeddings {
        self.below.embeddings()
    }

    /// The embeddings and the first `blocks` blocks learn nothing from now on.
    pub(crate) fn freeze(&mut self, blocks: usize) {
        let below = self.below.blocks();
        self.last_learns = blocks <= below;
        self.below.freeze(blocks.min(below));
    }

    /// Ids to the last layer's output at `rows`, in any order: see [`ChosenState::read`].
    pub(crate) fn forward(
        &self,
        values: &[f32],
        step: Step<'_>,
        rows: impl Iterator<Item = u32>,
        state: &mut ChosenState,
    ) {
        let ChosenState { below, last, .. } = state;
        last.choose(step.batch, rows);
        let hidden = self.below.forward(values, step.batch, step.dropout, step.keep, below, None);
        self.finish(values, hidden, step.batch, step.dropout, last);
    }

    /// The same with nothing dropped and nothing kept, for the first tokens alone.
    pub(crate) fn forward_firsts<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        lanes: &mut Lanes,
        state: &mut ChosenState,
    ) {
        state.last.choose(batch, batch.firsts());
        let hidden = lanes.forward(&self.below, numbers, batch);
        self.finish(numbers, hidden, batch, DropoutPlan::OFF, &mut state.last);
    }

    /// The last block: `hidden` [N, H] to the chosen rows of its output.
    fn finish<N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        hidden: &[f32],
        batch: &Batch,
        dropout: DropoutPlan,
        last: &mut Last,
    ) {
        last.length = last.rows.len() * self.hidden;
        let Last { rows, offsets, length, x, middle, y, states: [first, second], scratch } = last;
        let [x, middle, y] = [x, middle, y].map(|memory| fit(memory, *length));
        kernels::embed(&[Lookup { table: hidden, ids: rows, scale: 1.0 }], self.hidden, x);
        let sequences = sequences(offsets, hidden, batch);
        let [attention, feed_forward] = self.dropouts(dropout);
        let given = Given { x, sequences, dropouts: attention };
        self.last[0].forward(numbers, given, x, first, scratch, middle, None);
        let given = Given { x: middle, sequences, dropouts: feed_forward };
        self.last[1].forward(numbers, given, middle, second, scratch, y, None);
    }

    /// `d`: the gradient of the rows that were read [R, H], used up.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        step: Step<'_>,
        state: &mut ChosenState,
        d: &mut [f32],
    ) {
        if !self.last_learns {
            return;
        }
        let ChosenState { below, last, dhidden } = state;
        let Last { rows, offsets, length, x, middle, states, scratch, .. } = last;
        let dhidden = fit(dhidden, step.batch.tokens() * self.hidden);
        dhidden.fill(0.0);
        let sequences = sequences(offsets, self.below.output(step.batch, below), step.batch);
        let [attention, feed_forward] = self.dropouts(step.dropout);
        let mut flow = Flow::new(&mut *d, None, Some(&mut *dhidden));
        let given = Given { x: &middle[..*length], sequences, dropouts: feed_forward };
        self.last[1].backward(values, gradients, given, &states[1], &mut flow, scratch);
        let given = Given { x: &x[..*length], sequences, dropouts: attention };
        self.last[0].backward(values, gradients, given, &states[0], &mut flow, scratch);
        kernels::embed_backward(d, rows, 1.0, self.hidden, dhidden);
        self.below.backward(values, gradients, step.batch, step.dropout, step.keep, below, dhidden);
    }

    fn dropouts(&self, plan: DropoutPlan) -> [Dropouts; 2] {
        [plan.attention(self.stream), plan.feed_forward(self.stream + 2)]
    }
}

fn sequences<'s>(offsets: &'s [usize], hidden: &'s [f32], batch: &'s Batch) -> Sequences<'s> {
    Sequences { offsets, memory: Some(Memory { hidden, offsets: &batch.offsets }) }
}

impl Last {
    /// Chooses these rows; a sequence may have none.
    fn choose(&mut self, batch: &Batch, rows: impl Iterator<Item = u32>) {
        self.rows.clear();
        self.rows.extend(rows);
        self.rows.sort_unstable();
        self.rows.dedup();
        let Self { rows, offsets, .. } = self;
        offsets.clear();
        offsets.extend(batch.offsets.iter().map(|&end| rows.partition_point(|&row| (row as usize) < end)));
    }
}

impl ChosenState {
    /// Where these rows stand among the chosen ones.
    pub(crate) fn places(&self, rows: impl Iterator<Item = u32>, places: &mut Vec<u32>) {
        let place = |row| self.last.rows.binary_search(&row).expect("only chosen rows are read") as u32;
        places.clear();
        places.extend(rows.map(place));
    }

    /// The rows that were chosen, in order, each once.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.last.rows
    }

    /// The chosen rows of the last layer's output [R, H], after a forward pass.
    pub(crate) fn read(&self) -> &[f32] {
        &self.last.y[..self.last.length]
    }

    /// How many numbers those are: R * H.
    pub(crate) fn length(&self) -> usize {
        self.last.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::{Parts, parameters};
    use crate::model::tests::{config, data};
    use crate::nn::Params;

    #[test]
    fn chosen_rows_have_the_bits_of_the_whole_encoder() {
        let config = config();
        let layout = Layout::new(parameters(&config, Parts::PRETRAINING));
        let values = Params::new(layout.clone(), &config, 3).values;
        let batch = data(&[5, 1, 9], 1).0;
        let mut activations = Activations::default();
        let whole = Encoder::new(&layout, &config);
        let whole =
            whole.forward(&values[..], &batch, DropoutPlan::OFF, Keep::Nothing, &mut activations, None);
        let mut state = ChosenState::default();
        let step = Step { batch: &batch, dropout: DropoutPlan::OFF, keep: Keep::Everything };
        // Out of order, twice, and none of the second sequence.
        ChosenRows::new(&layout, &config).forward(&values, step, [14, 3, 6, 3, 0].into_iter(), &mut state);
        assert_eq!(state.last.rows, [0, 3, 6, 14]);
        assert_eq!(state.last.offsets, [0, 2, 2, 4]);
        let h = config.hidden_size;
        for (read, &row) in state.read().chunks_exact(h).zip(&state.last.rows) {
            assert_eq!(read, &whole[row as usize * h..][..h], "row {row}");
        }
        let mut places = Vec::new();
        state.places([14, 0].into_iter(), &mut places);
        assert_eq!(places, [3, 0]);
    }
}
