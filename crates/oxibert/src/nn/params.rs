//! The arena: all parameters of a model in one vector, with one layout.
//!
//! Values, gradients and both of Adam's moments are vectors of this layout, so that clipping, the optimizer and saving
//! are each one loop. Layers hold `Place`s into it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::model::checkpoint::{Tensor, transposed};
use crate::model::names::{Block, Kind, Param, WORD_EMBEDDINGS};
use crate::model::{Config, Weights};
use crate::random::Random;
use crate::{Error, Result};

/// Which parameter lies where.
#[derive(Debug, Clone)]
pub struct Layout {
    params: Vec<Param>,
    /// Where each parameter begins, and at last the end.
    starts: Vec<usize>,
    numbers: HashMap<String, usize>,
}

/// One parameter, or several side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The numbers of the parameters.
    pub(crate) params: Range<usize>,
    /// Where their values lie.
    pub(crate) values: Range<usize>,
}

impl Layout {
    /// Lays `params` out one after the other.
    pub fn new(params: Vec<Param>) -> Self {
        let mut starts = vec![0];
        starts.extend(params.iter().scan(0, |end, param| {
            *end += param.len();
            Some(*end)
        }));
        let numbers = params.iter().enumerate().map(|(number, param)| (param.name.clone(), number)).collect();
        Self { params, starts, numbers }
    }

    /// How many numbers there are in all.
    pub fn len(&self) -> usize {
        *self.starts.last().unwrap_or(&0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parameters in order, each with its range of the arena.
    pub fn iter(&self) -> impl Iterator<Item = (&Param, Range<usize>)> {
        self.params.iter().zip(self.starts.windows(2)).map(|(param, ends)| (param, ends[0]..ends[1]))
    }

    /// The range of the parameter called `name`.
    pub fn range(&self, name: &str) -> Option<Range<usize>> {
        let &number = self.numbers.get(name)?;
        Some(self.starts[number]..self.starts[number + 1])
    }

    pub(crate) fn param(&self, number: usize) -> &Param {
        &self.params[number]
    }

    /// The place of `count` parameters from `name` on. A name that is not there is a bug.
    pub(crate) fn place(&self, name: &str, count: usize) -> Place {
        let first = *self.numbers.get(name).unwrap_or_else(|| panic!("no parameter {name}"));
        Place { params: first..first + count, values: self.starts[first]..self.starts[first + count] }
    }
}

/// A model's parameters.
#[derive(Debug, Clone)]
pub struct Params {
    /// Which parameter lies where.
    pub layout: Layout,
    /// All values.
    pub values: Vec<f32>,
}

impl Params {
    /// New parameters as BERT begins: matrices and tables truncated normal (at two standard deviations), biases 0,
    /// LayerNorm 1 and 0, the row of `[PAD]` 0. Each parameter's values depend on the seed and its number alone.
    pub fn new(layout: Layout, config: &Config, seed: u64) -> Self {
        let pad: Vec<_> = config.pad_token_id.map(|pad| (WORD_EMBEDDINGS, pad)).into_iter().collect();
        Self::drawn(layout, |_| config.initializer_range, &pad, seed)
    }

    /// The same with a standard deviation for each matrix and table, and 0 in the `blank` rows of tables.
    pub(crate) fn drawn(
        layout: Layout,
        deviation: impl Fn(&Param) -> f64,
        blank: &[(&str, u32)],
        seed: u64,
    ) -> Self {
        let mut values = oxibert_kernels::zeros(layout.len());
        for (number, (param, range)) in layout.iter().enumerate() {
            let values = &mut values[range];
            initialise(values, param.kind, deviation(param), seed, number as u64);
            for (_, row) in blank.iter().filter(|(table, _)| *table == param.name) {
                let width = param.shape[1];
                values[*row as usize * width..][..width].fill(0.0);
            }
        }
        Self { layout, values }
    }

    /// Reads every parameter of `layout` from a checkpoint; one that is missing or mis-shaped is refused by name.
    pub fn load(layout: Layout, weights: &Weights) -> Result<Self> {
        Self::load_but(layout, weights, &[])
    }

    /// The same, where those called in `may_lack` are 0 if the checkpoint has none.
    pub(crate) fn load_but(layout: Layout, weights: &Weights, may_lack: &[&str]) -> Result<Self> {
        let mut values = oxibert_kernels::zeros(layout.len());
        for (param, range) in layout.iter() {
            if weights.contains(&param.name) || !may_lack.contains(&&*param.name) {
                weights.read_param(param, &mut values[range])?;
            }
        }
        Ok(Self { layout, values })
    }

    /// Reads what a checkpoint has of `layout`; what it lacks (often a head) is new, and so is a task's head of another shape.
    pub fn load_known(layout: Layout, config: &Config, weights: &Weights, seed: u64) -> Result<Self> {
        let Self { layout, mut values } = Self::new(layout, config, seed);
        let is_known = |param: &Param| match weights.shape(&param.name) {
            None => false,
            Some(shape) => param.block != Block::Task || shape == param.shape,
        };
        for (param, range) in layout.iter().filter(|(param, _)| is_known(param)) {
            weights.read_param(param, &mut values[range])?;
        }
        Ok(Self { layout, values })
    }

    /// The parameters as tensors, to be saved.
    pub fn tensors(&self) -> Vec<Tensor<'_>> {
        tensors(&self.layout, &self.values)
    }

    /// Refuses values that are not numbers, naming the parameter.
    pub fn check_finite(&self) -> Result<()> {
        let is_sick = |range: Range<usize>| self.values[range].iter().any(|value| !value.is_finite());
        match self.layout.iter().find(|(_, range)| is_sick(range.clone())) {
            None => Ok(()),
            Some((param, _)) => {
                let problem =
                    format!("{} holds NaN or infinity; train again from an earlier checkpoint", param.name);
                Err(Error::setting("parameters", problem))
            }
        }
    }
}

/// Values of this layout as tensors, to be saved.
pub fn tensors<'v>(layout: &Layout, values: &'v [f32]) -> Vec<Tensor<'v>> {
    let tensor = |(param, range): (&'_ Param, Range<usize>)| {
        let values = &values[range];
        let data = match param.kind {
            Kind::Transposed => Cow::Owned(transposed(values, param.shape[1])),
            _ => Cow::Borrowed(values),
        };
        Tensor::new(param.name.clone(), param.stored_shape(), data)
    };
    layout.iter().map(tensor).collect()
}

fn initialise(values: &mut [f32], kind: Kind, std: f64, seed: u64, number: u64) {
    match kind {
        Kind::NormWeight => values.fill(1.0),
        Kind::Bias | Kind::NormBias => values.fill(0.0),
        Kind::Embedding | Kind::Weight | Kind::Transposed => {
            let mut random = Random::new(seed, "initial value", number);
            values.iter_mut().for_each(|value| *value = (truncated_normal(&mut random) * std) as f32);
        }
    }
}

/// A standard normal number, drawn again while it lies beyond 2 (Box and Muller's method).
fn truncated_normal(random: &mut Random) -> f64 {
    loop {
        let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        let number = radius * (std::f64::consts::TAU * random.unit()).cos();
        if number.abs() <= 2.0 {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::{Parts, parameters};

    fn params(seed: u64) -> Params {
        let config = Config::preset("tiny", 50).unwrap();
        Params::new(Layout::new(parameters(&config, Parts::PRETRAINING)), &config, seed)
    }

    #[test]
    fn initial_values_are_berts() {
        let params = params(1);
        for (param, range) in params.layout.iter() {
            let values = &params.values[range];
            match param.kind {
                Kind::NormWeight => assert!(values.iter().all(|&value| value == 1.0)),
                Kind::Bias | Kind::NormBias => assert!(values.iter().all(|&value| value == 0.0)),
                Kind::Embedding | Kind::Weight | Kind::Transposed => {
                    assert!(values.iter().all(|value| value.abs() <= 0.04));
                }
            }
        }
        let words = params.layout.range(crate::model::names::WORD_EMBEDDINGS).unwrap();
        let words = &params.values[words];
        assert!(words[..128].iter().all(|&value| value == 0.0), "[PAD]");
        let rest = &words[128..];
        let std = (rest.iter().map(|value| value * value).sum::<f32>() / rest.len() as f32).sqrt();
        assert!((std - 0.0176).abs() < 0.001, "a normal of 0.02 cut at two deviations has 0.0176, not {std}");
        assert_eq!(params.values, self::params(1).values);
        assert_ne!(params.values, self::params(2).values);
    }

    #[test]
    fn neighbours_have_one_place() {
        let layout = params(1).layout;
        let place = layout.place("bert.encoder.layer.0.attention.self.query.weight", 3);
        assert_eq!(place.values.len(), 3 * 128 * 128);
        assert_eq!(
            layout.param(place.params.end - 1).name,
            "bert.encoder.layer.0.attention.self.value.weight"
        );
    }
}
