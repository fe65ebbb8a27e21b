//! Numbers that do not change: a checkpoint, mapped, its matrices packed when they are used again.
//!
//! Opening copies the small vectors (biases, LayerNorms) and nothing else. Tables of f32 stay where they lie in the
//! file; those of another type are converted once. A matrix that is used for the first time is read where it lies: a
//! process that answers one question and ends packs next to nothing.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use oxibert_kernels::{self as kernels, PackedWeight};

use super::params::{Layout, Place};
use super::{Linear, Numbers};
use crate::Result;
use crate::model::Weights;
use crate::model::checkpoint::transposed;
use crate::model::names::Kind;

/// A checkpoint's numbers, laid out for forward passes.
#[derive(Debug)]
pub(crate) struct Frozen {
    weights: Weights,
    layout: Layout,
    /// By the number of a place's first parameter: copies, where the file cannot lend the values.
    copies: Vec<OnceLock<Vec<f32>>>,
    packed: Vec<OnceLock<PackedWeight>>,
    used: Vec<AtomicBool>,
    bf16: bool,
}

impl Frozen {
    /// The parameters of `layout` from `weights`; one that is missing or mis-shaped is refused by name.
    pub(crate) fn new(weights: Weights, layout: Layout) -> Result<Self> {
        let params: Vec<_> = layout.iter().map(|(param, _)| param.clone()).collect();
        weights.check(&params)?;
        let cells = || (0..params.len()).map(|_| OnceLock::new()).collect();
        let packed = (0..params.len()).map(|_| OnceLock::new()).collect();
        let used = (0..params.len()).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { weights, layout, copies: cells(), packed, used, bf16: false })
    }

    /// Matrices are rounded to bfloat16, and so is what they are multiplied with.
    pub(crate) fn in_bf16(self) -> Self {
        Self { bf16: true, ..self }
    }

    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    fn tensor(&self, number: usize) -> Cow<'_, [f32]> {
        let param = self.layout.param(number);
        let stored = self.weights.tensor(&param.name).expect("a tensor that was checked").data;
        match param.kind {
            Kind::Transposed => Cow::Owned(transposed(&stored, param.shape[0])),
            _ => stored,
        }
    }

    fn copy(&self, place: &Place) -> Vec<f32> {
        let parts: Vec<_> = place.params.clone().map(|number| self.tensor(number)).collect();
        parts.concat()
    }
}

impl Numbers for Frozen {
    fn values(&self, place: &Place) -> &[f32] {
        let first = place.params.start;
        let is_table =
            self.layout.param(first).kind == Kind::Embedding || self.layout.param(first).kind == Kind::Weight;
        if let (true, 1, Cow::Borrowed(values)) = (is_table, place.params.len(), self.tensor(first)) {
            return values;
        }
        self.copies[first].get_or_init(|| self.copy(place))
    }

    fn linear(&self, layer: &Linear, x: &[f32], y: &mut [f32]) {
        let (first, parts) = (layer.weight.params.start, layer.weight.params.len());
        let bias = layer.bias.as_ref().map(|bias| self.values(bias));
        if parts == 1 && !self.bf16 && !self.used[first].swap(true, Ordering::Relaxed) {
            // The same bits, without the memory.
            return kernels::linear(x, &self.tensor(first), bias, layer.inputs, y);
        }
        let packed = self.packed[first].get_or_init(|| {
            let values = match parts {
                1 => self.tensor(first),
                _ => Cow::Owned(self.copy(&layer.weight)),
            };
            let pack = if self.bf16 { PackedWeight::bf16 } else { PackedWeight::new };
            pack(&values, layer.inputs)
        });
        packed.linear(x, bias, y);
    }
}
