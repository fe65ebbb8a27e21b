//! Tests of PyTorch files: real ones from `tests/data/torch` (made by the script there), and hostile ones.

use std::path::Path;

use proptest::prelude::*;

use super::super::{Dtype, Weights};
use super::*;

fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/torch").join(name);
    std::fs::read(path).unwrap()
}

/// A zip file as PyTorch writes it; with 64-bit numbers as for files over 4 GB if `wide`.
fn zip(entries: &[(&str, &[u8])], wide: bool) -> Vec<u8> {
    let (mut out, mut records) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let [offset, size] = [out.len(), data.len()].map(|n| n as u64);
        let long = [size.to_le_bytes(), size.to_le_bytes(), offset.to_le_bytes()].concat();
        let extra = if wide { [&[7, 0, 2, 0, 9, 9, 1, 0, 24, 0], &long[..]].concat() } else { Vec::new() };
        let narrow = |n: u64| if wide { u32::MAX } else { n as u32 }.to_le_bytes();
        let sizes = [[0; 4], narrow(size), narrow(size)].concat();
        let name_length = (name.len() as u16).to_le_bytes();
        out.extend(
            [&b"PK\x03\x04"[..], &[0; 10], &sizes, &name_length, &[0, 0], name.as_bytes(), data].concat(),
        );
        let lengths = [name_length, (extra.len() as u16).to_le_bytes(), [0; 2]].concat();
        records.extend([&b"PK\x01\x02"[..], &[0; 12], &sizes, &lengths, &[0; 8], &narrow(offset)].concat());
        records.extend([name.as_bytes(), &extra].concat());
    }
    let [count, directory] = [entries.len() as u64, out.len() as u64];
    out.extend(&records);
    let end = out.len() as u64;
    if wide {
        let numbers = [count, count, records.len() as u64, directory].map(u64::to_le_bytes).concat();
        out.extend([&b"PK\x06\x06"[..], &[0; 20], &numbers].concat());
        out.extend([&b"PK\x06\x07"[..], &[0; 4], &end.to_le_bytes(), &[1, 0, 0, 0]].concat());
    }
    let count = if wide { u16::MAX } else { count as u16 }.to_le_bytes();
    let directory = if wide { u32::MAX } else { directory as u32 }.to_le_bytes();
    out.extend([&b"PK\x05\x06"[..], &[0; 4], &count, &count, &[0; 4], &directory, &[0; 2]].concat());
    out
}

/// `{"w": _rebuild_tensor_v2(FloatStorage "0", offset, shape, strides)}` with one-byte numbers.
fn pickle(offset: u8, shape: &[u8], strides: &[u8]) -> Vec<u8> {
    let tuple = |items: &[u8]| {
        let items: Vec<u8> = items.iter().flat_map(|&n| [b'K', n]).collect();
        [b"(", &items[..], b"t"].concat()
    };
    let storage = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x08tQ";
    [
        &b"\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n("[..],
        storage,
        &[b'K', offset],
        &tuple(shape),
        &tuple(strides),
        b"\x89)tRs.",
    ]
    .concat()
}

/// The file with this pickle and a storage of eight numbers.
fn file(pickle: &[u8], wide: bool) -> Vec<u8> {
    let storage: Vec<u8> = (0..8u8).flat_map(|i| f32::from(i).to_le_bytes()).collect();
    zip(&[("archive/data.pkl", pickle), ("archive/data/0", &storage)], wide)
}

fn open(bytes: Vec<u8>) -> crate::Result<Weights> {
    Weights::parse(bytes, Path::new("pytorch_model.bin"))
}

fn refusal(pickle: &[u8]) -> String {
    open(file(pickle, false)).unwrap_err().to_string()
}

#[test]
fn a_state_dictionary_is_read() {
    for name in ["state.bin", "state_protocol4.bin"] {
        let weights = open(data(name)).unwrap();
        let values = |name: &str| {
            let tensor = weights.tensor(name).unwrap();
            (tensor.shape.to_vec(), tensor.data.to_vec())
        };
        let table: Vec<f32> = (0..24u8).map(|i| 0.5 * f32::from(i)).collect();
        assert_eq!(values("bert.embeddings.word_embeddings.weight"), (vec![6, 4], table));
        assert_eq!(values("bert.embeddings.LayerNorm.weight"), (vec![4], vec![1.0, 0.5, -2.0, 65504.0]));
        assert_eq!(values("bert.embeddings.LayerNorm.bias"), (vec![4], vec![1.0, 0.5, -2.0, 3.0]));
        assert_eq!(values("bert.pooler.dense.weight"), (vec![2, 3], vec![2.0, 4.0, 6.0, 2.5, 4.5, 6.5]));
        assert_eq!(values("bert.pooler.dense.bias"), (vec![4], vec![0.1, -0.2, 0.0, 3.0]));
        assert_eq!(values("scalar"), (vec![], vec![7.0]));
        assert_eq!(values("empty"), (vec![0], vec![]));
        assert_eq!(weights.dtype("bert.embeddings.position_ids"), Some(Dtype::Other("I64", 8)));
        assert_eq!(weights.names().count(), 8);
        let mut transposed = [0.0; 6];
        weights.read_into("bert.pooler.dense.weight", &[2, 3], &mut transposed).unwrap();
        assert_eq!(transposed, [2.0, 4.0, 6.0, 2.5, 4.5, 6.5]);
    }
}

#[test]
fn nothing_is_executed() {
    let refused = open(data("hostile.bin")).unwrap_err().to_string();
    assert!(refused.contains("it would import posix.system"), "{refused}");
    for (code, name) in [
        (&b"cbuiltins\neval\n"[..], "builtins.eval"),
        (b"(ios\nsystem\n.", "INST(0x69)"),
        (b"\x81", "NEWOBJ"),
    ] {
        let refused = refusal(code);
        assert!(refused.contains(name) && refused.contains("torch.save("), "{refused}");
    }
    let call = refusal(b"ccollections\nOrderedDict\n]\x85R.");
    assert!(call.contains("a call that is not needed"), "{call}");
}

#[test]
fn files_with_wide_numbers_are_read() {
    for wide in [false, true] {
        let weights = open(file(&pickle(1, &[2, 3], &[3, 1]), wide)).unwrap();
        assert_eq!(weights.tensor("w").unwrap().data[..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
}

#[test]
fn tensors_must_lie_in_their_storage() {
    for (offset, shape, strides) in
        [(3, &[2, 3][..], &[3, 1][..]), (9, &[0], &[1]), (0, &[2], &[8]), (255, &[], &[])]
    {
        let refused = refusal(&pickle(offset, shape, strides));
        assert!(refused.contains("tensor \"w\"") && refused.contains("beyond its storage of 8"), "{refused}");
    }
    assert!(refusal(&pickle(0, &[100, 2], &[0, 1])).contains("repeats the values"));
    assert!(refusal(&pickle(0, &[1; 9], &[1; 9])).contains("9 axes, expected at most 8"));
    assert!(refusal(&pickle(0, &[2], &[1, 1])).contains("strides [1, 1]"));
    assert!(open(file(&pickle(8, &[0, 5], &[5, 1]), false)).unwrap().tensor("w").unwrap().data.is_empty());
}

#[test]
fn numbers_out_of_bounds_are_refused() {
    let huge = b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"; // LONG1 of the largest number
    let change = |number: &[u8]| {
        let pickle = pickle(0, &[2, 2], &[2, 1]);
        let at = pickle.windows(4).position(|w| w == b"K\x02K\x02").unwrap();
        [&pickle[..at], number, number, &pickle[at + 4..]].concat()
    };
    assert!(refusal(&change(huge)).contains("beyond its storage"));
    assert!(refusal(&change(b"J\xff\xff\xff\xff")).contains("a size of -1"));
    assert!(refusal(&change(b"\x8a\x09000000000")).contains("a number of 9 bytes"));
    assert!(refusal(&change(b"N")).contains("no number"));
}

#[test]
fn damaged_pickles_are_refused() {
    for (code, expected) in [
        (&b""[..], "ends too early"),
        (b".", "the stack is empty"),
        (b"}K\x01", "ends too early"),
        (b"K\x01.", "no dictionary of tensors"),
        (b"}.", "no tensors"),
        (b"h\x05.", "nothing was stored as 5"),
        (b"t.", "no mark is open"),
        (b"}(K\x01u.", "a key without a value"),
        (b"K\x01(K\x01K\x01u.", "no dictionary"),
        (b"X\xff\xff\xff\xff.", "ends too early"),
        (b"X\x01\0\0\0\xff.", "not UTF-8"),
        (b"ctorch", "a line without an end"),
        (b"K\x01Q.", "no storage"),
        (b"K\x01(0", "0x30"),
    ] {
        let refused = refusal(code);
        assert!(refused.contains(expected) && refused.contains("data.pkl"), "{refused}");
    }
    let long = [b"}X\x01\x08\0\0", &[b'x'; 2049][..], b"K\x01s."].concat();
    assert!(refusal(&long).contains("no tensors"), "a long key of something else is not our business");
    assert!(refusal(&vec![b')'; LONGEST_PICKLE + 1]).contains("expected at most 2097152"));
}

#[test]
fn other_zip_files_and_old_forms_are_refused() {
    let refused = |bytes: &[u8]| open(bytes.to_vec()).unwrap_err().to_string();
    let good = file(&pickle(0, &[2], &[1]), false);
    assert!(refused(&good[..good.len() - 1]).contains("cut off"));
    assert!(refused(&zip(&[("a.txt", b"hello")], false)).contains("no data.pkl"));
    assert!(refused(&zip(&[("a", b""), ("a", b"")], false)).contains("\"a\" is there twice"));
    assert!(refused(&zip(&[("a/data.pkl", b"."), ("a/byteorder", b"big")], false)).contains("big-endian"));
    assert!(refused(&zip(&[("a/data.pkl", &pickle(0, &[2], &[1]))], false)).contains("data/0 is not in"));
    assert!(refused(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.").contains("old form (before 1.6)"));
    let mut compressed = good.clone();
    let record = good.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    compressed[record + 10] = 8;
    assert!(refused(&compressed).contains("\"archive/data.pkl\": it is compressed"));
}

/// Reads everything that a file claims to hold: no file may make this panic.
fn exercise(bytes: Vec<u8>) {
    if let Ok(weights) = open(bytes) {
        for tensor in weights.tensors() {
            let tensor = tensor.unwrap();
            assert_eq!(tensor.shape.iter().product::<usize>(), tensor.data.len());
        }
    }
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        wide in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = if wide { file(&pickle(1, &[2, 3], &[1, 2]), true) } else { data("state.bin") };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        exercise(bytes);
    }

    #[test]
    fn any_program_ends_without_a_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            &b"("[..], b"t", b")", b"]", b"}", b"\x85", b"\x86", b"\x87", b"K\x02", b"K\x01", b"J\xff\xff\xff\xff",
            b"X\x01\0\0\0w", b"X\x07\0\0\0storage", b"X\x01\0\0\x000", b"ctorch\nFloatStorage\n", b"Q", b"R", b"b",
            b"ctorch._utils\n_rebuild_tensor_v2\n", b"ccollections\nOrderedDict\n", b"s", b"u", b"a", b"e", b"q\0",
            b"h\0", b"\x94", b"\x8a\x01\x02", b"\x89", b"\x93",
            b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000tQ",
        ]), 0..40),
    ) {
        exercise(file(&[&parts.concat()[..], b"."].concat(), false));
    }

    #[test]
    fn any_bytes_are_no_danger(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise([&b"PK\x03\x04"[..], &bytes].concat());
        exercise(file(&bytes, false));
        exercise(bytes);
    }
}
