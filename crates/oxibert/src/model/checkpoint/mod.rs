//! Checkpoints as Hugging Face has them: `config.json` beside `model.safetensors` or `pytorch_model.bin`.
//!
//! Opening maps the files and reads only their tables of contents: weights stay on the disk until a tensor is
//! asked for, and `f32` weights are then borrowed from the mapping, not copied. Nothing that a file says is
//! believed before it is checked; a file can be refused, it cannot make us panic or allocate without measure.
//!
//! Written by hand: the safetensors header (the `safetensors` crate, which the tests compare with, does not
//! name the tensor that is wrong, accepts a name twice and writes from a second copy of the model), and the zip
//! directory and pickle of PyTorch files (whose entries are stored uncompressed, and whose pickle must not be
//! executed but only recognised).

mod dtype;
mod safetensors;
mod save;
mod source;
mod torch;
mod weights;
mod widen;

use std::borrow::Cow;
use std::path::Path;

pub use dtype::Dtype;
pub use save::save;
pub(crate) use save::save_tensors;
pub(crate) use weights::transposed;
pub use weights::{WEIGHT_FILES, Weights, shards};

use super::config::Config;
use crate::Result;

/// The file that says what the weights are the weights of.
pub const CONFIG_FILE: &str = "config.json";
/// The file that we write weights to.
pub const WEIGHTS_FILE: &str = "model.safetensors";

/// A model's configuration and its weights, opened.
///
/// ```
/// use oxibert::model::checkpoint::{self, Checkpoint, Tensor};
/// use oxibert::model::{Config, names::{self, Parts}};
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
/// let config = Config::preset("tiny", 100)?;
/// let params = names::parameters(&config, Parts::default());
/// let tensors: Vec<_> =
///     params.iter().map(|p| Tensor::new(&p.name, &p.shape, vec![0.5; p.len()])).collect();
/// checkpoint::save(directory, &config, &tensors)?;
///
/// let opened = Checkpoint::open(directory)?;
/// opened.weights.check(&params)?;
/// assert_eq!(opened.config.hidden_size, 128);
/// assert_eq!(opened.weights.tensor("bert.embeddings.LayerNorm.weight")?.data[..2], [0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint {
    /// What `config.json` says.
    pub config: Config,
    /// The tensors.
    pub weights: Weights,
}

/// One tensor's name, shape and values.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor<'a> {
    /// Its name, as [`names`](super::names) has it.
    pub name: Cow<'a, str>,
    /// Its shape, outermost first.
    pub shape: Cow<'a, [usize]>,
    /// Its values, row-major; borrowed from the mapped file where that holds `f32`.
    pub data: Cow<'a, [f32]>,
}

impl Checkpoint {
    /// Opens a checkpoint directory, or one weight file with its `config.json` beside it.
    pub fn open(path: &Path) -> Result<Self> {
        let directory = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        let config = Config::load(&directory.join(CONFIG_FILE))?;
        let weights = Weights::open(path)?;
        weights.check_layers(config.num_hidden_layers)?;
        Ok(Self { config, weights })
    }
}

impl<'a> Tensor<'a> {
    /// A tensor of `data`.
    ///
    /// # Panics
    /// If the shape does not hold as many values as there are.
    pub fn new(
        name: impl Into<Cow<'a, str>>,
        shape: impl Into<Cow<'a, [usize]>>,
        data: impl Into<Cow<'a, [f32]>>,
    ) -> Self {
        let tensor = Self { name: name.into(), shape: shape.into(), data: data.into() };
        assert_eq!(tensor.shape.iter().product::<usize>(), tensor.data.len(), "{}", tensor.name);
        tensor
    }
}

#[cfg(test)]
mod tests;
