//! Tests of safetensors files, honest and not, against the `safetensors` crate.

use std::collections::HashMap;
use std::path::Path;

use ::safetensors::SafeTensors;
use ::safetensors::tensor::{Dtype as TheirDtype, TensorView, serialize};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::Result;
use crate::model::Weights;

/// A file with this header (padded) and so many bytes of zeros.
pub(in crate::model::checkpoint) fn file(header: &Value, bytes: usize) -> Vec<u8> {
    let mut text = header.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    [&(text.len() as u64).to_le_bytes()[..], &text, &vec![0; bytes]].concat()
}

pub(in crate::model::checkpoint) fn parse(bytes: Vec<u8>) -> Result<Weights> {
    Weights::parse(bytes, Path::new("model.safetensors"))
}

fn refusal(header: Value, bytes: usize) -> String {
    parse(file(&header, bytes)).unwrap_err().to_string()
}

#[test]
fn lies_in_the_header_are_refused() {
    let f32s =
        |shape: Value, offsets: Value| json!({ "dtype": "F32", "shape": shape, "data_offsets": offsets });
    let two = |a: Value, b: Value| json!({ "a": f32s(json!([2]), a), "b": f32s(json!([2]), b) });
    for (header, bytes, expected) in [
        (two(json!([0, 8]), json!([4, 12])), 12, "tensor \"b\" overlaps with a: it starts at 4, expected 8"),
        (two(json!([0, 8]), json!([12, 20])), 20, "\"b\" leaves a gap after a"),
        (json!({ "a": f32s(json!([2]), json!([4, 12])) }), 12, "\"a\" leaves a gap after the header"),
        (
            two(json!([0, 8]), json!([8, 16])),
            12,
            "should have 16 bytes, but 12 follow the header: the file is cut",
        ),
        (two(json!([0, 8]), json!([8, 16])), 20, "20 bytes follow the header, but the tensors have 16"),
        (
            json!({ "a": f32s(json!([3]), json!([0, 8])) }),
            8,
            "\"a\": data_offsets are 0 to 8, but F32 of shape [3]",
        ),
        (json!({ "a": f32s(json!([2]), json!([8, 0])) }), 8, "data_offsets are 8 to 0"),
        (json!({ "a": f32s(json!([1u64 << 63, 2]), json!([0, 0])) }), 0, "more than any memory holds"),
        (json!({ "a": f32s(json!([u64::MAX, 0]), json!([0, 0])) }), 0, "more than any memory holds"),
        (json!({ "a": f32s(json!([1, 1, 1, 1, 1, 1, 1, 1, 1]), json!([0, 4])) }), 4, "9 axes"),
        (json!({ "a": f32s(json!([-1]), json!([0, 4])) }), 4, "tensor \"a\": invalid value: integer `-1`"),
        (json!({ "a": f32s(json!([1]), json!([0, 1e30])) }), 4, "tensor \"a\""),
        (
            json!({ "a": { "dtype": "Q4", "shape": [1], "data_offsets": [0, 4] } }),
            4,
            "dtype is \"Q4\", expected F32",
        ),
        (json!({ "a": { "dtype": "F32", "shape": [1] } }), 4, "missing field `data_offsets`"),
        (
            json!({ "n".repeat(5000): f32s(json!([1]), json!([0, 4])) }),
            4,
            "has 5000 bytes, expected at most 1024",
        ),
        (json!([1]), 0, "expected an object of tensors"),
    ] {
        let refused = refusal(header, bytes);
        assert!(refused.starts_with("model.safetensors: ") && refused.contains(expected), "{refused}");
        assert!(refused.len() < 400 && !refused.contains('\n'), "{refused}");
    }
}

#[test]
fn files_that_are_no_safetensors_are_refused() {
    for (bytes, expected) in [
        (&b""[..], "it has 0 bytes"),
        (b"short", "it has 5 bytes"),
        (
            b"\xff\xff\xff\xff\xff\xff\xff\xff{}",
            "the header has 18446744073709551615 bytes, expected at most",
        ),
        (b"<!DOCTYPE html><html>", "it begins with the text \"<!DOCTYP\""),
        (b"\x64\0\0\0\0\0\0\0{}", "should have 100 bytes, but 2 follow: the file is cut off"),
        (b"\x02\0\0\0\0\0\0\0{]", "the safetensors header is wrong"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
    ] {
        let refused = parse(bytes.to_vec()).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!(parse(b"\x02\0\0\0\0\0\0\0{}".to_vec()).unwrap().names().count(), 0);
}

#[test]
fn a_name_may_stand_only_once() {
    let info = |at: usize| format!(r#"{{"dtype":"F32","shape":[1],"data_offsets":[{at},{}]}}"#, at + 4);
    for (first, second) in [
        ("a", "a"),
        ("pooler.dense.bias", "bert.pooler.dense.bias"),
        ("x.LayerNorm.gamma", "x.LayerNorm.weight"),
    ] {
        let header = format!(r#"{{"{first}":{},"{second}":{}}}"#, info(0), info(4));
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 8]].concat();
        let refused = parse(bytes).unwrap_err().to_string();
        assert!(refused.contains(&format!("tensor {second:?} is there twice")), "{refused}");
    }
}

/// What the `safetensors` crate writes: one tensor of each float type, and integers.
fn theirs() -> Vec<u8> {
    let halves = [0u8, 0x3c, 0, 0xc0];
    let view = |dtype, shape: &[usize], data| TensorView::new(dtype, shape.to_vec(), data).unwrap();
    let single: Vec<u8> = [1.5f32, -2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    let double: Vec<u8> = [1.5f64, -2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    let tensors = [
        ("f32", view(TheirDtype::F32, &[2, 1], &single)),
        ("f64", view(TheirDtype::F64, &[2], &double)),
        ("f16", view(TheirDtype::F16, &[2], &halves)),
        ("i64", view(TheirDtype::I64, &[1], &single)),
        ("u8", view(TheirDtype::U8, &[3], &single[..3])),
    ];
    let note = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    serialize(tensors, Some(note)).unwrap()
}

#[test]
fn we_read_what_the_crate_writes() {
    let weights = parse(theirs()).unwrap();
    for (name, expected) in [("f32", [1.5, -2.5]), ("f64", [1.5, -2.5]), ("f16", [1.0, -2.0])] {
        assert_eq!(weights.tensor(name).unwrap().data[..], expected, "{name}");
    }
    assert_eq!((weights.tensors().count(), weights.names().count()), (3, 5));
}

proptest! {
    /// We never panic, and accept nothing that the format's own library refuses.
    #[test]
    fn damaged_files_are_refused_or_sound(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = theirs();
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for (at, byte, how) in changes {
            // Mostly in the header's numbers, where a lie can do harm.
            let digits: Vec<usize> = (8..header).filter(|&i| bytes[i].is_ascii_digit()).collect();
            match how {
                0 => { let at = at.index(bytes.len()); bytes[at] = byte; }
                _ if digits.is_empty() => {}
                _ => { let at = digits[at.index(digits.len())]; bytes[at] = b'0' + byte % 10; }
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let accepted = SafeTensors::deserialize(&bytes).map(|file| file.len());
        if let Ok(weights) = parse(bytes.clone()) {
            prop_assert!(accepted.is_ok(), "{:?}", accepted);
            for tensor in weights.tensors() {
                let tensor = tensor.unwrap();
                prop_assert_eq!(tensor.shape.iter().product::<usize>(), tensor.data.len());
            }
        }
    }
}
