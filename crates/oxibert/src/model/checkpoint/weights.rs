//! The tensors of a checkpoint, by name, wherever they lie.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::Tensor;
use super::dtype::Dtype;
use super::source::{Entry, Source};
use crate::model::config::read_object;
use crate::model::names::{Block, Kind, Param, aliases, block, canonical};
use crate::{Error, Result};

/// What a directory may hold, best first: whole files, and the index files of sharded ones.
pub const WEIGHT_FILES: [&str; 4] = [
    super::WEIGHTS_FILE,
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
];

/// The tensors of a checkpoint: their names and shapes in memory, their values on the disk.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    sources: Vec<Source>,
    /// By canonical name, with the number of the source.
    tensors: BTreeMap<String, (usize, Entry)>,
}

impl Weights {
    /// Opens the weights in a checkpoint directory, or one weight file (safetensors or PyTorch's zip).
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            return Self::collect(path, vec![Source::open(path)?]);
        }
        let Some(file) = WEIGHT_FILES.iter().map(|name| path.join(name)).find(|file| file.exists()) else {
            return Err(no_weights(path));
        };
        if file.extension() == Some("json".as_ref()) {
            return Self::open_shards(&file);
        }
        Self::collect(&file, vec![Source::open(&file)?])
    }

    /// Reads the content of a weight file; `path` is for the messages.
    pub fn parse(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        Self::collect(path, vec![Source::from_bytes(bytes, path)])
    }

    /// `{"weight_map": {"tensor": "file", …}}`
    fn open_shards(index: &Path) -> Result<Self> {
        let refuse = |problem: String| Error::content(index, None, problem);
        let object = read_object(index)?;
        let map = shard_map(&object).map_err(refuse)?;
        let files = unique_files(&map);
        let open = |file: &&str| Source::open(&index.with_file_name(file));
        let weights = Self::collect(index, files.iter().map(open).collect::<Result<_>>()?)?;
        for (name, file) in map {
            let held = weights.tensors.get(&*canonical(name)).map(|(source, _)| files[*source]);
            if held != Some(file) {
                return Err(refuse(format!("tensor {name:?} should be in {file}, but is not")));
            }
        }
        Ok(weights)
    }

    fn collect(path: &Path, sources: Vec<Source>) -> Result<Self> {
        let mut tensors: BTreeMap<String, (usize, Entry)> = BTreeMap::new();
        for (number, source) in sources.iter().enumerate() {
            for entry in source.entries()? {
                let name = canonical(&entry.name).into_owned();
                if tensors.contains_key(&name) {
                    let problem = format!("tensor {:?} is there twice; expected every name once", entry.name);
                    return Err(Error::content(&source.path, None, problem));
                }
                tensors.insert(name, (number, entry));
            }
        }
        Ok(Self { path: path.to_owned(), sources, tensors })
    }

    /// The file that was opened (the index file of a sharded checkpoint).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What safetensors files say in their headers beside the tensors.
    pub(crate) fn metadata(&self) -> Result<BTreeMap<String, String>> {
        let mut all = BTreeMap::new();
        for source in &self.sources {
            all.extend(source.metadata()?);
        }
        Ok(all)
    }

    /// All names, sorted, in the form that [`names`](crate::model::names) has.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The shape of a tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.find(name).map(|(_, entry)| &entry.shape[..])
    }

    /// The number type of a tensor.
    pub fn dtype(&self, name: &str) -> Option<Dtype> {
        self.find(name).map(|(_, entry)| entry.dtype)
    }

    /// Those of `params` that are not here.
    pub fn missing<'p>(&self, params: &'p [Param]) -> Vec<&'p Param> {
        params.iter().filter(|param| !self.contains(&param.name)).collect()
    }

    /// Refuses weights in which one of `params` is missing, has another shape or is no float.
    pub fn check(&self, params: &[Param]) -> Result<()> {
        if let Some((first, others)) = self.missing(params).split_first() {
            let others =
                if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            let problem = format!(
                "tensor {:?} of shape {:?}{others} missing; expected the weights of the model in config.json \
                 with all parts that this work needs",
                first.name, first.shape
            );
            return Err(Error::content(&self.path, None, problem));
        }
        params.iter().try_for_each(|param| self.expect(&param.name, &param.stored_shape()).map(|_| ()))
    }

    /// Refuses weights with more layers than `config.json` has: without them it would silently be another model.
    pub fn check_layers(&self, layers: usize) -> Result<()> {
        let beyond = |block| matches!(block, Block::Layer(layer) if layer >= layers);
        self.check_blocks("num_hidden_layers", layers, beyond)
    }

    /// Refuses weights of a block that is `beyond` what the key of `config.json` says.
    pub(crate) fn check_blocks(
        &self,
        key: &str,
        layers: usize,
        beyond: impl Fn(Block) -> bool,
    ) -> Result<()> {
        let Some(name) = self.names().find(|name| block(name).is_some_and(&beyond)) else { return Ok(()) };
        let problem = format!(
            "tensor {name:?} is there, but {key} in config.json is {layers}; expected no layer behind the last: \
             correct config.json"
        );
        Err(Error::content(&self.path, None, problem))
    }

    /// Refuses weights in which one of `params` holds a NaN or an infinity. This reads all of them.
    pub fn check_finite(&self, params: &[Param]) -> Result<()> {
        for param in params {
            let tensor = self.tensor(&param.name)?;
            // By blocks without an early exit inside, which the compiler turns into vector code.
            let finite = |block: &[f32]| block.iter().fold(true, |all, value| all & value.is_finite());
            if tensor.data.chunks(4096).all(finite) {
                continue;
            }
            let bad: Vec<_> =
                tensor.data.iter().enumerate().filter(|(_, value)| !value.is_finite()).collect();
            let (at, value) = bad[0];
            let problem = format!(
                "tensor {:?}: {} of {} values are not finite, the first is {value} at {at}; \
                 take a checkpoint from before the training diverged",
                param.name,
                bad.len(),
                tensor.data.len()
            );
            return Err(Error::content(&self.path, None, problem));
        }
        Ok(())
    }

    /// The tensor of this name: borrowed where the file holds aligned `f32`, else converted.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>> {
        let (source, entry) = self.float(name)?;
        let shape = Cow::Borrowed(&entry.shape[..]);
        let borrowed = match (entry.dtype, &entry.strides) {
            (Dtype::F32, None) => oxibert_kernels::as_f32(&source[entry.range.clone()]),
            _ => None,
        };
        let data = borrowed.map_or_else(|| Cow::Owned(decode(source, entry)), Cow::Borrowed);
        Ok(Tensor { name: Cow::Owned(name.to_owned()), shape, data })
    }

    /// All tensors of weights, in the order of their names; integers such as `position_ids` are none.
    pub fn tensors(&self) -> impl Iterator<Item = Result<Tensor<'_>>> {
        let floats = self.tensors.iter().filter(|(_, (_, entry))| entry.dtype.is_float());
        floats.map(|(name, _)| self.tensor(name))
    }

    /// Copies the tensor of this name, which must have this shape, into `out`.
    ///
    /// # Panics
    /// If `out` does not have as many values as `shape`.
    pub fn read_into(&self, name: &str, shape: &[usize], out: &mut [f32]) -> Result<()> {
        assert_eq!(shape.iter().product::<usize>(), out.len(), "{name}");
        let (source, entry) = self.expect(name, shape)?;
        match &entry.strides {
            None => entry.dtype.decode(&source[entry.range.clone()], out),
            Some(_) => out.copy_from_slice(&decode(source, entry)),
        }
        Ok(())
    }

    /// Copies a parameter into `out`, the way round that the layers want it.
    ///
    /// # Panics
    /// If `out` does not have as many values as the parameter.
    pub fn read_param(&self, param: &Param, out: &mut [f32]) -> Result<()> {
        self.read_into(&param.name, &param.stored_shape(), out)?;
        if param.kind == Kind::Transposed {
            out.copy_from_slice(&transposed(out, param.shape[0]));
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Option<(&Source, &Entry)> {
        let other = || aliases(name).iter().find_map(|name| self.tensors.get(*name));
        let entry = self.tensors.get(name).or_else(other);
        entry.map(|(source, entry)| (&self.sources[*source], entry))
    }

    fn float(&self, name: &str) -> Result<(&Source, &Entry)> {
        let Some((source, entry)) = self.find(name) else {
            let problem = format!("no tensor {name:?} among the {} in it", self.tensors.len());
            return Err(Error::content(&self.path, None, problem));
        };
        if entry.dtype.is_float() {
            return Ok((source, entry));
        }
        let problem = format!(
            "tensor {:?} holds {}, expected F32, F16, BF16 or F64; convert the weights to one of them",
            entry.name,
            entry.dtype.name()
        );
        Err(Error::content(&source.path, None, problem))
    }

    fn expect(&self, name: &str, shape: &[usize]) -> Result<(&Source, &Entry)> {
        let (source, entry) = self.float(name)?;
        if entry.shape == shape {
            return Ok((source, entry));
        }
        let problem = format!(
            "tensor {:?} has the shape {:?}, expected {shape:?} as config.json has it",
            entry.name, entry.shape
        );
        Err(Error::content(&source.path, None, problem))
    }
}

/// Rows of `width` as columns.
pub(crate) fn transposed(matrix: &[f32], width: usize) -> Vec<f32> {
    let row = |column: usize| matrix.iter().skip(column).step_by(width.max(1)).copied();
    (0..width).flat_map(row).collect()
}

/// A directory without weights; those under another name are pointed at.
fn no_weights(directory: &Path) -> Error {
    let is_weights =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "safetensors" || ending == "bin");
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let hint = match files.filter(is_weights).min() {
        Some(file) => format!("; if it is {}, name that file instead of its directory", file.display()),
        None => String::new(),
    };
    let problem = format!("no weights in it; expected one of {}{hint}", WEIGHT_FILES.join(", "));
    Error::content(directory, None, problem)
}

/// The files that the index of a sharded checkpoint names, each once. They need not be there yet.
pub fn shards(index: &Path) -> Result<Vec<String>> {
    let object = read_object(index)?;
    let map = shard_map(&object).map_err(|problem| Error::content(index, None, problem))?;
    Ok(unique_files(&map).into_iter().map(str::to_owned).collect())
}

fn unique_files<'i>(map: &[(&str, &'i str)]) -> Vec<&'i str> {
    let mut files: Vec<&str> = map.iter().map(|(_, file)| *file).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// The index file's pairs of tensor and file; the files must lie beside it.
fn shard_map(object: &Map<String, Value>) -> Result<Vec<(&str, &str)>, String> {
    let map = object.get("weight_map").and_then(Value::as_object);
    let map = map.ok_or("no \"weight_map\" in it; expected the index of a sharded checkpoint")?;
    map.iter()
        .map(|(name, file)| match file.as_str() {
            Some(file) if is_plain(file) => Ok((name.as_str(), file)),
            _ => Err(format!(
                "weight_map: {name:?} is in {file}, expected the name of a file beside the index"
            )),
        })
        .collect()
}

/// Whether a path is a name and nothing else, so that it cannot lead out of the directory.
fn is_plain(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// The values of a tensor in row-major order.
fn decode(source: &Source, entry: &Entry) -> Vec<f32> {
    let bytes = &source[entry.range.clone()];
    let mut stored = vec![0.0; bytes.len() / entry.dtype.size()];
    entry.dtype.decode(bytes, &mut stored);
    match &entry.strides {
        None => stored,
        Some(strides) => in_order(&stored, &entry.shape, strides),
    }
}

/// Puts strided values in row-major order. `torch::entries` has checked that every step stays inside.
fn in_order(stored: &[f32], shape: &[usize], strides: &[usize]) -> Vec<f32> {
    let mut places = vec![0];
    for (&count, &stride) in shape.iter().zip(strides) {
        places = places.iter().flat_map(|place| (0..count).map(move |i| place + i * stride)).collect();
    }
    places.into_iter().map(|place| stored[place]).collect()
}
