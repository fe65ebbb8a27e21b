//! The safetensors format: eight bytes of header length, a JSON header, the tensors' bytes.
//!
//! `{"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …, "__metadata__": {…}}`. The offsets
//! count from the end of the header; the tensors must cover what follows without a gap or an overlap, so that a
//! file cannot hide anything.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Visitor};

use super::dtype::Dtype;
use super::source::{Entry, MOST_AXES, byte_size, check_name};

/// Longer headers are refused unread: BERT-large's has 40 KB.
const LONGEST_HEADER: usize = 16 << 20;
const LENGTH_BYTES: usize = 8;

/// Reads and checks the header.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let header = header(bytes)?;
    let start = LENGTH_BYTES + header.len();
    let Header(tensors) = serde_json::from_slice(header)
        .map_err(|error| format!("the safetensors header is wrong: {error}"))?;
    let mut entries = Vec::with_capacity(tensors.len());
    for (name, info) in tensors {
        check_name(&name)?;
        let (range, dtype) = info.check().map_err(|problem| format!("tensor {name:?}: {problem}"))?;
        entries.push(Entry { name, dtype, shape: info.shape, range, strides: None });
    }
    entries.sort_by_key(|entry| (entry.range.start, entry.range.end));
    check_cover(&entries, bytes.len() - start)?;
    for entry in &mut entries {
        entry.range = start + entry.range.start..start + entry.range.end;
    }
    Ok(entries)
}

/// What the header says beside the tensors.
pub(super) fn metadata(bytes: &[u8]) -> Result<BTreeMap<String, String>, String> {
    #[derive(Deserialize)]
    struct Metadata {
        __metadata__: Option<BTreeMap<String, String>>,
    }
    let found: Metadata = serde_json::from_slice(header(bytes)?)
        .map_err(|error| format!("the safetensors header is wrong: {error}"))?;
    Ok(found.__metadata__.unwrap_or_default())
}

fn header(bytes: &[u8]) -> Result<&[u8], String> {
    let short =
        || format!("it has {} bytes; expected a safetensors file, which starts with its header", bytes.len());
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or_else(short)?;
    if length.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        let text = String::from_utf8_lossy(length);
        return Err(format!(
            "it begins with the text {text:?}; expected a weight file: safetensors, or PyTorch's .bin"
        ));
    }
    let length = u64::from_le_bytes(*length);
    if length > LONGEST_HEADER as u64 {
        return Err(format!(
            "its first bytes say that the header has {length} bytes, expected at most {LONGEST_HEADER}: \
             it is no safetensors file of a BERT model"
        ));
    }
    rest.get(..length as usize).ok_or_else(|| {
        format!("the header should have {length} bytes, but {} follow: the file is cut off", rest.len())
    })
}

/// No gap, no overlap, nothing missing at the end.
fn check_cover(entries: &[Entry], length: usize) -> Result<(), String> {
    let mut end = 0;
    let mut before = "the header";
    for entry in entries {
        let start = entry.range.start;
        if start != end {
            let how = if start < end { "overlaps with" } else { "leaves a gap after" };
            return Err(format!(
                "tensor {:?} {how} {before}: it starts at {start}, expected {end}",
                entry.name
            ));
        }
        end = entry.range.end;
        before = &entry.name;
    }
    match length {
        _ if length == end => Ok(()),
        _ if length < end => Err(format!(
            "the tensors should have {end} bytes, but {length} follow the header: the file is cut off"
        )),
        _ => Err(format!(
            "{length} bytes follow the header, but the tensors have {end}: expected nothing more"
        )),
    }
}

#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Info {
    fn check(&self) -> Result<(std::ops::Range<usize>, Dtype), String> {
        let dtype = Dtype::from_name(&self.dtype)
            .ok_or_else(|| format!("dtype is {:?}, expected F32, F16, BF16 or F64", self.dtype))?;
        if self.shape.len() > MOST_AXES {
            return Err(format!("it has {} axes, expected at most {MOST_AXES}", self.shape.len()));
        }
        let size = byte_size(&self.shape, dtype)
            .ok_or_else(|| format!("shape {:?} is more than any memory holds", self.shape))?;
        let (start, end) = self.data_offsets;
        if end.checked_sub(start) != Some(size) {
            return Err(format!(
                "data_offsets are {start} to {end}, but {} of shape {:?} takes {size} bytes",
                self.dtype, self.shape
            ));
        }
        Ok((start..end, dtype))
    }
}

/// The tensors in the header's order.
struct Header(Vec<(String, Info)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut tensors = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                // Not needed, but what is wrong there is wrong for everybody.
                map.next_value::<Option<BTreeMap<String, String>>>()?;
            } else {
                let info = map
                    .next_value()
                    .map_err(|error| A::Error::custom(format_args!("tensor {name:?}: {error}")))?;
                tensors.push((name, info));
            }
        }
        Ok(Header(tensors))
    }
}

#[cfg(test)]
pub(super) mod tests;
