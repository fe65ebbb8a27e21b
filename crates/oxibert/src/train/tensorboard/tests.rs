//! Event files, taken apart by a small reader.

use super::*;
use crate::train::{Evaluation, Figures, Step};

#[test]
fn check_sums_of_the_standard() {
    // RFC 3720, appendix B.4, and the check value that catalogues of CRCs give.
    assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
    assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
    assert_eq!(crc32c(b""), 0);
}

#[test]
fn numbers_of_any_size() {
    for (number, expected) in [(0, vec![0]), (127, vec![127]), (300, vec![0xAC, 2])] {
        let mut out = Vec::new();
        varint(&mut out, number);
        assert_eq!(out, expected);
    }
    let mut out = Vec::new();
    varint(&mut out, u64::MAX);
    assert_eq!(out.len(), 10);
}

/// A field's number and its content; numbers as eight bytes.
fn fields(mut message: &[u8]) -> Vec<(u8, Vec<u8>)> {
    fn number(message: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = message[0];
            *message = &message[1..];
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !message.is_empty() {
        let key = number(&mut message) as u8;
        let length = match key & 7 {
            VARINT => {
                fields.push((key >> 3, number(&mut message).to_le_bytes().to_vec()));
                continue;
            }
            FIXED64 => 8,
            FIXED32 => 4,
            BYTES => number(&mut message) as usize,
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, message[..length].to_vec()));
        message = &message[length..];
    }
    fields
}

/// The events of a file: step, and the other field with its number.
fn events(path: &Path) -> Vec<(u64, u8, Vec<u8>)> {
    let file = fs::read(path).unwrap();
    let (mut rest, mut events) = (file.as_slice(), Vec::new());
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        assert_eq!(rest[8..12], masked(crc32c(&rest[..8])).to_le_bytes());
        let record = &rest[12..12 + length];
        assert_eq!(rest[12 + length..16 + length], masked(crc32c(record)).to_le_bytes());
        let fields = fields(record);
        assert_eq!(fields.iter().map(|field| field.0).take(2).collect::<Vec<_>>(), [1, 2]);
        let time = f64::from_le_bytes(fields[0].1[..].try_into().unwrap());
        assert!(time > 1.7e9, "{time}");
        let step = u64::from_le_bytes(fields[1].1[..].try_into().unwrap());
        events.push((step, fields[2].0, fields[2].1.clone()));
        rest = &rest[16 + length..];
    }
    events
}

/// The scalars of a summary.
fn scalars(summary: &[u8]) -> Vec<(String, f32)> {
    let scalar = |value: &(u8, Vec<u8>)| {
        let parts = fields(&value.1);
        let tag = String::from_utf8(parts[0].1.clone()).unwrap();
        (tag, f32::from_le_bytes(parts[1].1[..].try_into().unwrap()))
    };
    fields(summary).iter().map(scalar).collect()
}

fn run(board: &mut TensorBoard, step: u64) {
    let mut figures = Figures::default();
    figures.add("loss", 2.5, 1.0);
    figures.add("mlm_accuracy", 1.0, 4.0);
    let logged = Step {
        step,
        progress: 0.5,
        epoch: 1.0,
        lr: 1e-4,
        gradient_norm: 0.5,
        figures: &figures,
        tokens: 300,
        flops: 1,
        seconds: 2.0,
        elapsed: 9.0,
    };
    board.notice(&Event::Step(logged.clone())).unwrap();
    board.notice(&Event::Log(logged)).unwrap();
    let evaluation = Evaluation { step, figures: &figures, best: false, elapsed: 9.0 };
    board.notice(&Event::Evaluation(evaluation)).unwrap();
}

#[test]
fn a_run_becomes_scalars() {
    let dir = tempfile::tempdir().unwrap();
    let mut board = TensorBoard::create(&dir.path().join("runs")).unwrap();
    run(&mut board, 300);
    let events = events(&board.path);
    let kinds: Vec<_> = events.iter().map(|(step, kind, _)| (*step, *kind)).collect();
    assert_eq!(kinds, [(0, 3), (0, 7), (300, 5), (300, 5)]);
    assert_eq!(events[0].2, b"brain.Event:2");
    let expected = [
        ("train/loss", 2.5),
        ("train/mlm_accuracy", 0.25),
        ("train/lr", 1e-4),
        ("train/gradient_norm", 0.5),
        ("train/tokens_per_second", 150.0),
    ];
    assert_eq!(scalars(&events[2].2), expected.map(|(tag, value)| (tag.to_owned(), value)));
    assert_eq!(scalars(&events[3].2)[1], ("eval/mlm_accuracy".to_owned(), 0.25));
}

#[test]
fn a_restart_says_which_steps_come_again_and_is_read_last() {
    let dir = tempfile::tempdir().unwrap();
    let first = TensorBoard::create(dir.path()).unwrap();
    let second = TensorBoard::resume(dir.path(), 200).unwrap();
    assert!(second.path > first.path);
    let start = &events(&second.path)[1];
    assert_eq!((start.0, start.1, fields(&start.2)), (201, 7, vec![(1, 1u64.to_le_bytes().to_vec())]));
}
