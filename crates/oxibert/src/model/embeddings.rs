//! Token + position + segment, normalized: `y = dropout(LN(token + position + segment))`.

use oxibert_kernels::{self as kernels, Dropout, Lookup};

use super::names::{POSITION_EMBEDDINGS, SEGMENT_EMBEDDINGS, WORD_EMBEDDINGS};
use super::{Config, Positions, sinusoids};
use crate::data::Batch;
use crate::nn::linear::{Moments, NormStep};
use crate::nn::params::Place;
use crate::nn::{Layout, NormPlace, Numbers, fit};

/// The three tables and their LayerNorm.
#[derive(Debug, Clone)]
pub(crate) struct Embeddings {
    words: Place,
    segments: Place,
    positions: PositionTable,
    norm: NormPlace,
    hidden: usize,
}

#[derive(Debug, Clone)]
enum PositionTable {
    Learned(Place),
    Fixed(Vec<f32>),
}

/// What forward leaves for backward.
#[derive(Debug, Default)]
pub(crate) struct State {
    sum: Vec<f32>,
    moments: Moments,
    y: Vec<f32>,
}

impl Embeddings {
    pub(crate) fn new(layout: &Layout, config: &Config) -> Self {
        let positions = match config.position_embedding_type {
            Positions::Absolute => PositionTable::Learned(layout.place(POSITION_EMBEDDINGS, 1)),
            Positions::Sinusoidal => {
                PositionTable::Fixed(sinusoids(config.max_position_embeddings, config.hidden_size))
            }
        };
        Self {
            words: layout.place(WORD_EMBEDDINGS, 1),
            segments: layout.place(SEGMENT_EMBEDDINGS, 1),
            positions,
            norm: NormPlace::new(layout, "bert.embeddings", config.layer_norm_eps),
            hidden: config.hidden_size,
        }
    }

    /// Ids to y [N, H].
    pub(crate) fn forward<'s, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        dropout: Dropout,
        state: &'s mut State,
    ) -> &'s [f32] {
        let n = batch.tokens();
        let positions = match &self.positions {
            PositionTable::Learned(place) => numbers.values(place),
            PositionTable::Fixed(table) => table,
        };
        let lookup = |table, ids| Lookup { table, ids, scale: 1.0 };
        let lookups = [
            lookup(numbers.values(&self.words), &batch.ids[..]),
            lookup(numbers.values(&self.segments), &batch.segments),
            lookup(positions, &batch.positions),
        ];
        let sum = fit(&mut state.sum, n * self.hidden);
        kernels::embed(&lookups, self.hidden, sum);
        let y = fit(&mut state.y, n * self.hidden);
        let norm = self.norm.numbers(numbers);
        kernels::add_layer_norm(sum, None, Dropout::OFF, norm, y, state.moments.rows(n));
        kernels::dropout(y, self.hidden, dropout);
        y
    }

    /// `d`: dy [N, H], used up. The row of a table gets the sum of d over the tokens that took it.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut [f32],
        batch: &Batch,
        dropout: Dropout,
        state: &State,
        d: &mut [f32],
    ) {
        kernels::dropout(d, self.hidden, dropout);
        let sum = &state.sum[..d.len()];
        let step =
            NormStep { norm: &self.norm, bias: None, sum, moments: &state.moments, dropout: Dropout::OFF };
        step.backward(values, gradients, d, None);
        let mut table = |place: &Place, ids: &[u32]| {
            kernels::embed_backward(d, ids, 1.0, self.hidden, &mut gradients[place.values.clone()]);
        };
        table(&self.words, &batch.ids);
        table(&self.segments, &batch.segments);
        if let PositionTable::Learned(place) = &self.positions {
            table(place, &batch.positions);
        }
    }
}

impl State {
    pub(crate) fn y(&self, length: usize) -> &[f32] {
        &self.y[..length]
    }
}
