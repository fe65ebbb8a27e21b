//! Writing a checkpoint: `model.safetensors` and `config.json`, as `transformers` loads them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use super::{CONFIG_FILE, Tensor, WEIGHTS_FILE, Weights};
use crate::data::files;
use crate::model::config::{Config, Positions};
use crate::model::names::{MLM_BIAS, MLM_DECODER_BIAS, POSITION_EMBEDDINGS};
use crate::model::sinusoids;
use crate::{Error, Result};

/// Writes the checkpoint into `directory`, each file atomically: the weights first, so that a `config.json`
/// never stands alone.
///
/// The weights are written as `f32`, tensor by tensor, without a second copy in memory. Two things are added
/// where `transformers` looks for them: the table of sinusoidal positions, and the bias of an untied MLM decoder
/// under its second name.
///
/// # Panics
/// If two tensors have the same name.
pub fn save(directory: &Path, config: &Config, tensors: &[Tensor<'_>]) -> Result<()> {
    config.check()?;
    let extras = extras(config, tensors);
    let sorted = sorted(tensors.iter().chain(&extras));
    files::save(&directory.join(WEIGHTS_FILE), |out| write(out, &sorted, &[]))?;
    config.save(&directory.join(CONFIG_FILE))
}

/// Writes tensors that are no model's weights into one safetensors file, atomically, with these metadata.
///
/// # Panics
/// If two tensors have the same name.
pub(crate) fn save_tensors(path: &Path, tensors: &[Tensor<'_>], metadata: &[(&str, String)]) -> Result<()> {
    let sorted = sorted(tensors);
    files::save(path, |out| write(out, &sorted, metadata))
}

impl Weights {
    /// Weights in memory, as if they had been saved and opened again.
    ///
    /// # Panics
    /// If two tensors have the same name.
    pub fn of(tensors: &[Tensor<'_>]) -> Result<Self> {
        let path = Path::new("weights in memory");
        let mut bytes = Vec::new();
        write(&mut bytes, &sorted(tensors), &[]).map_err(|source| Error::write(path, source))?;
        Self::parse(bytes, path)
    }
}

fn sorted<'a, 't: 'a>(
    tensors: impl IntoIterator<Item = &'a Tensor<'t>>,
) -> BTreeMap<&'a str, &'a Tensor<'t>> {
    let mut sorted = BTreeMap::new();
    for tensor in tensors {
        let before = sorted.insert(&*tensor.name, tensor);
        assert!(before.is_none(), "{} is there twice", tensor.name);
    }
    sorted
}

/// What `transformers` expects beyond our own parameters.
fn extras<'a>(config: &Config, tensors: &'a [Tensor<'_>]) -> Vec<Tensor<'a>> {
    let find = |name: &str| tensors.iter().find(|tensor| tensor.name == name);
    let mut extras = Vec::new();
    if config.position_embedding_type == Positions::Sinusoidal && find(POSITION_EMBEDDINGS).is_none() {
        let shape = vec![config.max_position_embeddings, config.hidden_size];
        let table = sinusoids(shape[0], shape[1]);
        extras.push(Tensor::new(POSITION_EMBEDDINGS, shape, table));
    }
    if let (Some(bias), None) = (find(MLM_DECODER_BIAS), find(MLM_BIAS)) {
        extras.push(Tensor::new(MLM_BIAS, &*bias.shape, &*bias.data));
    }
    extras
}

/// The format is described in `safetensors.rs`.
fn write(
    out: &mut dyn Write,
    tensors: &BTreeMap<&str, &Tensor<'_>>,
    metadata: &[(&str, String)],
) -> io::Result<()> {
    let mut header = serde_json::Map::new();
    // PyTorch's row-major layout; `transformers` refuses files that do not say so.
    let mut about = BTreeMap::from([("format", "pt")]);
    about.extend(metadata.iter().map(|(name, value)| (*name, value.as_str())));
    header.insert("__metadata__".into(), json!(about));
    let mut end = 0;
    for (name, tensor) in tensors {
        let start = end;
        end += size_of_val(&*tensor.data);
        let info = json!({ "dtype": "F32", "shape": tensor.shape, "data_offsets": [start, end] });
        header.insert((*name).to_owned(), info);
    }
    let mut header = serde_json::to_vec(&header)?;
    // So that the numbers lie at a multiple of eight and can be used where they lie.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    tensors.values().try_for_each(|tensor| write_values(out, &tensor.data))
}

fn write_values(out: &mut dyn Write, values: &[f32]) -> io::Result<()> {
    const BLOCK: usize = 4096;
    let mut bytes = Vec::with_capacity(4 * BLOCK);
    for block in values.chunks(BLOCK) {
        bytes.clear();
        bytes.extend(block.iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}
