//! The number types of checkpoints, and their values as `f32`.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A tensor's number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// IEEE single precision: read where it lies.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of a single.
    Bf16,
    /// IEEE double precision, rounded to single.
    F64,
    /// Something that is no weight of a BERT (such as the `I64` of `position_ids`): its name and its bytes.
    Other(&'static str, usize),
}

/// The format's other types that fill whole bytes.
const OTHERS: [(&str, usize); 13] = [
    ("I64", 8),
    ("U64", 8),
    ("C64", 8),
    ("I32", 4),
    ("U32", 4),
    ("I16", 2),
    ("U16", 2),
    ("I8", 1),
    ("U8", 1),
    ("BOOL", 1),
    ("F8_E4M3", 1),
    ("F8_E5M2", 1),
    ("F8_E8M0", 1),
];

impl Dtype {
    /// The type of this name in a safetensors file.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let other =
            || OTHERS.iter().find(|(known, _)| *known == name).map(|&(name, size)| Self::Other(name, size));
        [Self::F32, Self::F16, Self::Bf16, Self::F64].into_iter().find(|d| d.name() == name).or_else(other)
    }

    /// Its name, as safetensors files have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::F64 => "F64",
            Self::Other(name, _) => name,
        }
    }

    /// Bytes per value.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::F64 => 8,
            Self::Other(_, size) => size,
        }
    }

    /// Whether its values can be read as `f32`.
    pub fn is_float(self) -> bool {
        !matches!(self, Self::Other(..))
    }

    /// Decodes little-endian `bytes` into `out`.
    ///
    /// # Panics
    /// If the lengths differ or the type is no float: the callers have checked both.
    pub(super) fn decode(self, bytes: &[u8], out: &mut [f32]) {
        assert_eq!(bytes.len(), out.len() * self.size());
        match self {
            Self::F32 => match oxibert_kernels::as_f32(bytes) {
                Some(values) => out.copy_from_slice(values),
                None => each(bytes, out, f32::from_le_bytes),
            },
            Self::F16 => halves(bytes, out),
            Self::Bf16 => each(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
            Self::F64 => each(bytes, out, |b| f64::from_le_bytes(b) as f32),
            Self::Other(name, _) => panic!("{name} is no float"),
        }
    }
}

fn each<const N: usize>(bytes: &[u8], out: &mut [f32], value: impl Fn([u8; N]) -> f32) {
    let (words, _) = bytes.as_chunks::<N>();
    out.iter_mut().zip(words).for_each(|(out, word)| *out = value(*word));
}

/// By blocks, because the crate converts whole slices with the processor's own instruction.
fn halves(bytes: &[u8], out: &mut [f32]) {
    const BLOCK: usize = 1024;
    let mut block = [f16::ZERO; BLOCK];
    for (bytes, out) in bytes.chunks(2 * BLOCK).zip(out.chunks_mut(BLOCK)) {
        let block = &mut block[..out.len()];
        let (words, _) = bytes.as_chunks::<2>();
        block.iter_mut().zip(words).for_each(|(half, word)| *half = f16::from_le_bytes(*word));
        block.convert_to_f32_slice(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f32; 6] = [0.0, -1.5, 0.25, f32::INFINITY, -0.0, 1024.0];

    /// Enough values for several blocks and a tail.
    fn values() -> Vec<f32> {
        VALUES.iter().copied().cycle().take(2051).collect()
    }

    fn decoded(dtype: Dtype, bytes: &[u8]) -> Vec<u32> {
        let mut out = vec![7.0; bytes.len() / dtype.size()];
        dtype.decode(bytes, &mut out);
        out.into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn all_floats_give_their_values() {
        let values = values();
        let expected: Vec<u32> = values.iter().map(|v| v.to_bits()).collect();
        let f32s: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let f16s: Vec<u8> = values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
        let bf16s: Vec<u8> = values.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()).collect();
        let f64s: Vec<u8> = values.iter().flat_map(|v| f64::from(*v).to_le_bytes()).collect();
        assert_eq!(decoded(Dtype::F32, &f32s), expected);
        assert_eq!(decoded(Dtype::F16, &f16s), expected);
        assert_eq!(decoded(Dtype::Bf16, &bf16s), expected);
        assert_eq!(decoded(Dtype::F64, &f64s), expected);
        // The same where the bytes do not lie at a multiple of four.
        let shifted: Vec<u8> = std::iter::once(0).chain(f32s).collect();
        assert_eq!(decoded(Dtype::F32, &shifted[1..]), expected);
    }

    #[test]
    fn names_lead_back() {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::F64, Dtype::Other("I64", 8)] {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(Dtype::from_name("F4"), None);
    }
}
