//! PyTorch's `pytorch_model.bin`: a zip file with a pickle of the names and one entry per storage.
//!
//! ```text
//! archive/data.pkl     {"name": _rebuild_tensor_v2(storage 0, offset, shape, strides, …), …}
//! archive/data/0       the storage's numbers, little-endian, at a multiple of 64 bytes
//! archive/byteorder    "little" (since PyTorch 2.1)
//! ```

mod pickle;
mod reader;
mod zip;

use std::ops::Range;

use super::source::{Entry, byte_size};
use pickle::Stored;

/// What to do about a file that we do not read.
pub(super) const WAY_OUT: &str = "save it again with PyTorch: torch.save(model.state_dict(), \"pytorch_model.bin\"), or as model.safetensors";

/// A state dictionary's pickle is longer than this only where something is wrong: BERT-large's has 90 KB.
const LONGEST_PICKLE: usize = 2 << 20;

/// Reads the names and places of all tensors; the pickle is recognised, not executed.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let files = zip::entries(bytes)?;
    let pickle =
        files.keys().find_map(|name| name.strip_suffix("data.pkl").filter(|root| root.ends_with('/')));
    let root =
        pickle.ok_or_else(|| format!("no data.pkl in the zip file: it is no PyTorch file; {WAY_OUT}"))?;
    if let Some(order) = files.get(format!("{root}byteorder").as_str())
        && &bytes[order.clone()] != b"little"
    {
        return Err(format!("its numbers are big-endian, expected little-endian; {WAY_OUT}"));
    }
    let pickle = &bytes[files[format!("{root}data.pkl").as_str()].clone()];
    if pickle.len() > LONGEST_PICKLE {
        return Err(format!("data.pkl has {} bytes, expected at most {LONGEST_PICKLE}", pickle.len()));
    }
    let tensors = pickle::state_dict(pickle).map_err(|problem| format!("data.pkl: {problem}"))?;
    let entry = |(name, stored): (&str, Stored<'_>)| {
        let storage = files.get(format!("{root}data/{}", stored.key).as_str());
        place(name, &stored, storage).map_err(|problem| format!("tensor {name:?}: {problem}"))
    };
    tensors.into_iter().map(entry).collect()
}

/// Where a tensor lies in the file.
fn place(name: &str, stored: &Stored<'_>, storage: Option<&Range<usize>>) -> Result<Entry, String> {
    let storage = storage.ok_or_else(|| format!("its storage data/{} is not in the file", stored.key))?;
    let available = storage.len() / stored.dtype.size();
    let span = span(&stored.shape, &stored.strides);
    let end = span.and_then(|span| stored.offset.checked_add(span)).filter(|end| *end <= available);
    let (Some(span), Some(_)) = (span, end) else {
        return Err(format!(
            "shape {:?} with strides {:?} from {} reaches beyond its storage of {available} values",
            stored.shape, stored.strides, stored.offset
        ));
    };
    if byte_size(&stored.shape, stored.dtype).is_none_or(|bytes| bytes > span * stored.dtype.size()) {
        return Err(format!("shape {:?} repeats the values of its storage; {WAY_OUT}", stored.shape));
    }
    let start = storage.start + stored.offset * stored.dtype.size();
    let usual = row_major(&stored.shape);
    // The step along an axis of one value is never taken.
    let in_order =
        span <= 1 || (0..usual.len()).all(|i| stored.shape[i] == 1 || stored.strides[i] == usual[i]);
    Ok(Entry {
        name: name.to_owned(),
        dtype: stored.dtype,
        shape: stored.shape.clone(),
        range: start..start + span * stored.dtype.size(),
        strides: (!in_order).then(|| stored.strides.clone()),
    })
}

/// From the first value to the last, both counted; `None` where that passes all bounds.
fn span(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let far = |far: usize, (n, stride): (&usize, &usize)| far.checked_add((n - 1).checked_mul(*stride)?);
    shape.iter().zip(strides).try_fold(1, far)
}

/// The strides of values that lie in order.
fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

#[cfg(test)]
mod tests;
