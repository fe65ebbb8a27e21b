//! Token + position + segment: `y = dropout(LN(token + segment + position))` in BERT, `dropout(s token + position)` in the
//! Transformer, whose s is sqrt(H), and in GPT-2, whose s is 1.

use std::ops::Range;

use oxibert_kernels::{self as kernels, Dropout, Lookup};

use super::names::{POSITION_EMBEDDINGS, SEGMENT_EMBEDDINGS, WORD_EMBEDDINGS};
use super::{Config, Positions, sinusoids};
use crate::data::Batch;
use crate::nn::linear::{Moments, NormStep};
use crate::nn::params::Place;
use crate::nn::{Gradients, Layout, NormPlace, Numbers, fit};

/// The tables, and their LayerNorm.
#[derive(Debug, Clone)]
pub(crate) struct Embeddings {
    words: Place,
    /// What the tokens' rows are multiplied with.
    scale: f32,
    segments: Option<Place>,
    positions: PositionTable,
    norm: Option<NormPlace>,
    hidden: usize,
}

/// Where a token's position comes from.
#[derive(Debug, Clone)]
pub(crate) enum PositionTable {
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
    /// BERT's.
    pub(crate) fn new(layout: &Layout, config: &Config) -> Self {
        let positions = match config.position_embedding_type {
            Positions::Absolute => PositionTable::Learned(layout.place(POSITION_EMBEDDINGS, 1)),
            Positions::Sinusoidal => {
                PositionTable::Fixed(sinusoids(config.max_position_embeddings, config.hidden_size))
            }
        };
        Self {
            words: layout.place(WORD_EMBEDDINGS, 1),
            scale: 1.0,
            segments: Some(layout.place(SEGMENT_EMBEDDINGS, 1)),
            positions,
            norm: Some(NormPlace::new(layout, "bert.embeddings.LayerNorm", config.layer_norm_eps)),
            hidden: config.hidden_size,
        }
    }

    /// Tokens and positions alone.
    pub(crate) fn plain(words: Place, scale: f32, positions: PositionTable, hidden: usize) -> Self {
        Self { words, scale, segments: None, positions, norm: None, hidden }
    }

    /// Ids to y [N, H].
    pub(crate) fn forward<'s, N: Numbers + ?Sized>(
        &self,
        numbers: &N,
        batch: &Batch,
        dropout: Dropout,
        state: &'s mut State,
    ) -> &'s mut [f32] {
        let length = batch.tokens() * self.hidden;
        let State { sum, moments, y } = state;
        let y = fit(y, length);
        match &self.norm {
            None => self.look_up(numbers, batch, y),
            Some(norm) => {
                let sum = fit(sum, length);
                self.look_up(numbers, batch, sum);
                norm.apply(numbers, sum, moments, y);
            }
        }
        kernels::dropout(y, self.hidden, dropout);
        y
    }

    /// The sum of the tables' rows.
    fn look_up<N: Numbers + ?Sized>(&self, numbers: &N, batch: &Batch, out: &mut [f32]) {
        let lookup = |table, ids, scale| Lookup { table, ids, scale };
        let words = lookup(numbers.values(&self.words), &batch.ids[..], self.scale);
        let positions = match &self.positions {
            PositionTable::Learned(place) => numbers.values(place),
            PositionTable::Fixed(table) => table,
        };
        let positions = lookup(positions, &batch.positions, 1.0);
        match &self.segments {
            None => kernels::embed(&[words, positions], self.hidden, out),
            Some(segments) => {
                let segments = lookup(numbers.values(segments), &batch.segments, 1.0);
                kernels::embed(&[words, segments, positions], self.hidden, out);
            }
        }
    }

    /// Where the rows stand that a batch of these ids reads, the longest sequence having so many tokens: they are added to `rows`.
    pub(crate) fn rows_read(
        &self,
        ids: impl Iterator<Item = u32>,
        longest: usize,
        rows: &mut Vec<Range<usize>>,
    ) {
        let start = self.words.values.start;
        rows.extend(ids.map(|id| start + id as usize * self.hidden).map(|row| row..row + self.hidden));
        rows.extend(self.segments.as_ref().map(|place| place.values.clone()));
        if let PositionTable::Learned(place) = &self.positions {
            rows.push(place.values.start..place.values.start + longest * self.hidden);
        }
    }

    /// `d`: dy [N, H], used up. The row of a table gets the sum of d over the tokens that took it, times its scale.
    pub(crate) fn backward(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        batch: &Batch,
        dropout: Dropout,
        state: &State,
        d: &mut [f32],
    ) {
        kernels::dropout(d, self.hidden, dropout);
        if let Some(norm) = &self.norm {
            let (sum, moments) = (&state.sum[..d.len()], &state.moments);
            let step = NormStep { norm, bias: None, sum, moments, dropout: Dropout::OFF, skip: None };
            step.backward(values, gradients, d, None);
        }
        let mut table = |place: &Place, ids: &[u32], scale: f32| {
            kernels::embed_backward(d, ids, scale, self.hidden, gradients.rows(place, self.hidden, ids));
        };
        table(&self.words, &batch.ids, self.scale);
        if let Some(segments) = &self.segments {
            table(segments, &batch.segments, 1.0);
        }
        if let PositionTable::Learned(place) = &self.positions {
            table(place, &batch.positions, 1.0);
        }
    }
}

impl State {
    pub(crate) fn y(&self, length: usize) -> &[f32] {
        &self.y[..length]
    }
}
