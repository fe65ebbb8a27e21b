//! Event files that TensorBoard reads: TFRecord frames around protocol buffers, both written by hand because scalars
//! need six fields of them.
//!
//! Sources: tensorflow's `core/util/event.proto`, `core/framework/summary.proto` and `core/lib/io/record_writer.cc`.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Event, Watcher};
use crate::{Error, Result};

/// What TensorBoard knows an event file by.
const PREFIX: &str = "events.out.tfevents.";
/// The version from which on TensorBoard drops steps after a restart only where the file says so.
const VERSION: &str = "brain.Event:2";

/// A watcher that writes an event file: `train/…` for what is logged, `eval/…` for held-out data.
#[derive(Debug)]
pub struct TensorBoard {
    path: PathBuf,
    file: File,
}

impl TensorBoard {
    /// Begins a file in `directory`. TensorBoard forgets what earlier files there say.
    pub fn create(directory: &Path) -> Result<Self> {
        Self::start(directory, 0)
    }

    /// Goes on after `step`, in a file of its own. TensorBoard forgets what earlier files say of later steps.
    pub fn resume(directory: &Path, step: u64) -> Result<Self> {
        Self::start(directory, step + 1)
    }

    fn start(directory: &Path, first: u64) -> Result<Self> {
        let refused = |source| Error::write(directory, source);
        fs::create_dir_all(directory).map_err(refused)?;
        let time = (now() as u64).max(newest(directory).map_err(refused)? + 1);
        let path = directory.join(format!("{PREFIX}{time:010}.{}.{}.0", host(), std::process::id()));
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let mut board = Self { file: file.map_err(|source| Error::write(&path, source))?, path };
        board.write(0, |event| bytes(event, 3, VERSION.as_bytes()))?;
        // SessionLog { status: START }: steps from this one on will come again.
        board.write(first, |event| bytes(event, 7, &[0x08, 1]))?;
        Ok(board)
    }

    /// Writes an event: its time, its step and what `content` adds. One write per record, so that TensorBoard sees it
    /// at once.
    fn write(&mut self, step: u64, content: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut event = vec![1 << 3 | FIXED64];
        event.extend(now().to_le_bytes());
        event.push(2 << 3 | VARINT);
        varint(&mut event, step);
        content(&mut event);
        self.file.write_all(&frame(&event)).map_err(|source| Error::write(&self.path, source))
    }

    fn scalars<'n>(
        &mut self,
        step: u64,
        room: &str,
        values: impl Iterator<Item = (&'n str, f64)>,
    ) -> Result<()> {
        let mut summary = Vec::new();
        for (name, value) in values {
            let mut scalar = Vec::new();
            bytes(&mut scalar, 1, format!("{room}/{name}").as_bytes());
            scalar.push(2 << 3 | FIXED32);
            scalar.extend((value as f32).to_le_bytes());
            bytes(&mut summary, 1, &scalar);
        }
        self.write(step, |event| bytes(event, 5, &summary))
    }
}

impl Watcher for TensorBoard {
    fn notice(&mut self, event: &Event<'_>) -> Result<()> {
        match event {
            Event::Log(step) => {
                let others = [
                    ("lr", step.lr),
                    ("gradient_norm", step.gradient_norm),
                    ("tokens_per_second", step.tokens_per_second()),
                ];
                self.scalars(step.step, "train", step.figures.iter().chain(others))
            }
            Event::Evaluation(evaluation) => self.scalars(evaluation.step, "eval", evaluation.figures.iter()),
            _ => Ok(()),
        }
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// The latest time among the names of event files. TensorBoard reads them in the order of their names, so that a
/// restart within a second, or after the clock was set back, must still come last.
fn newest(directory: &Path) -> std::io::Result<u64> {
    let mut newest = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let time = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('.').next()?.parse().ok());
        newest = newest.max(time.unwrap_or(0));
    }
    Ok(newest)
}

/// The machine's name, as far as it can be known without asking the C library.
fn host() -> String {
    let kernel = || fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let variable = |name| std::env::var(name).ok();
    let name = kernel().or_else(|| variable("HOSTNAME")).or_else(|| variable("COMPUTERNAME"));
    let known = name.unwrap_or_default();
    let plain: String = known.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    if plain.is_empty() { "localhost".to_owned() } else { plain }
}

// The wire types of protocol buffers; a field begins with `number << 3 | type`.
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;
const FIXED32: u8 = 5;

/// A number, seven bits at a time, lowest first.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A field that is text or another message.
fn bytes(out: &mut Vec<u8>, field: u8, content: &[u8]) {
    out.push(field << 3 | BYTES);
    varint(out, content.len() as u64);
    out.extend(content);
}

/// A record: its length, the length's check sum, itself, its check sum.
fn frame(record: &[u8]) -> Vec<u8> {
    let length = (record.len() as u64).to_le_bytes();
    let mut out = length.to_vec();
    out.extend(masked(crc32c(&length)).to_le_bytes());
    out.extend(record);
    out.extend(masked(crc32c(record)).to_le_bytes());
    out
}

/// TensorFlow turns its check sums so that one of data that hold check sums is still a good one.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), a byte at a time: a run writes a few hundred bytes in a second.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            // 0x1EDC6F41 with its bits in reverse.
            crc = (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests;
