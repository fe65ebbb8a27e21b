//! The directory of a zip file whose entries are stored as they are, as PyTorch writes it.
//!
//! ```text
//! entry: local header, name, extra, bytes … | directory: one record per entry | end record
//! ```
//!
//! The directory at the end is what counts (APPNOTE.TXT, 4.3); of a local header only its length is used. Files
//! over 4 GB have 64-bit numbers in an extra field and in a second end record.

use std::collections::HashMap;
use std::ops::Range;

use super::reader::{Reader, utf8};

const LOCAL: u32 = 0x0403_4b50;
const RECORD: u32 = 0x0201_4b50;
const END: &[u8] = b"PK\x05\x06";
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
const END_LENGTH: usize = 22;
const LOCATOR_LENGTH: usize = 20;
/// In place of a number that stands in the extra field.
const ELSEWHERE: u32 = u32::MAX;

/// Where the bytes of every entry lie, by name.
pub(super) fn entries(bytes: &[u8]) -> Result<HashMap<&str, Range<usize>>, String> {
    let (count, start) = directory(bytes)?;
    let mut reader = Reader::new(bytes, start);
    let mut found = HashMap::new();
    for _ in 0..count {
        let record = Record::read(&mut reader)?;
        let range =
            record.range(bytes).map_err(|problem| format!("zip entry {:?}: {problem}", record.name))?;
        if found.insert(record.name, range).is_some() {
            return Err(format!("zip entry {:?} is there twice", record.name));
        }
    }
    Ok(found)
}

/// How many records the directory has, and where it starts.
fn directory(bytes: &[u8]) -> Result<(u64, usize), String> {
    let end = end_record(bytes).ok_or("it has no zip directory at its end: the file is cut off")?;
    if let Some(locator) = end.checked_sub(LOCATOR_LENGTH) {
        let mut reader = Reader::new(bytes, locator);
        if reader.u32()? == LOCATOR_64 {
            reader.u32()?; // the disk's number
            return directory_64(bytes, reader.size()?);
        }
    }
    let mut reader = Reader::new(bytes, end + 10);
    let count = reader.u16()?.into();
    reader.u32()?; // the directory's length
    Ok((count, reader.u32()? as usize))
}

fn directory_64(bytes: &[u8], end: usize) -> Result<(u64, usize), String> {
    let mut reader = Reader::new(bytes, end);
    if reader.u32()? != END_64 {
        return Err("its zip directory is damaged (64-bit end record)".into());
    }
    reader.take(28)?; // lengths, versions, disks, the count on this disk
    let count = reader.u64()?;
    reader.u64()?; // the directory's length
    Ok((count, reader.size()?))
}

/// The end record is the last thing in the file, but for a comment whose length it states.
fn end_record(bytes: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(END_LENGTH)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    (first..=last).rev().find(|&at| {
        let comment = usize::from(u16::from_le_bytes([bytes[at + 20], bytes[at + 21]]));
        bytes[at..].starts_with(END) && at + END_LENGTH + comment == bytes.len()
    })
}

struct Record<'a> {
    name: &'a str,
    encrypted: bool,
    method: u16,
    stored: usize,
    size: usize,
    offset: usize,
}

impl<'a> Record<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, String> {
        if reader.u32()? != RECORD {
            return Err(format!("its zip directory is damaged at byte {}", reader.at() - 4));
        }
        reader.u32()?; // versions
        let encrypted = reader.u16()? & 1 == 1;
        let method = reader.u16()?;
        reader.take(8)?; // time, date, checksum
        let (stored, size) = (reader.u32()?, reader.u32()?);
        let lengths = [reader.u16()?, reader.u16()?, reader.u16()?];
        reader.take(8)?; // disk, attributes
        let offset = reader.u32()?;
        let [name, extra, comment] = lengths.map(usize::from);
        let name = utf8(reader.take(name)?)?;
        // In the extra field they stand in this order, each only where it is needed.
        let [size, stored, offset] = wide(reader.take(extra)?, [size, stored, offset])?;
        reader.take(comment)?;
        Ok(Self { name, encrypted, method, stored, size, offset })
    }

    fn range(&self, bytes: &[u8]) -> Result<Range<usize>, String> {
        if self.encrypted || self.method != 0 || self.stored != self.size {
            return Err(format!(
                "it is compressed or encrypted (method {}), expected it stored as it is; {}",
                self.method,
                super::WAY_OUT
            ));
        }
        let mut reader = Reader::new(bytes, self.offset);
        if reader.u32()? != LOCAL {
            return Err(format!("no local header at {}: the file is damaged", self.offset));
        }
        reader.take(22)?; // what the directory says too
        let (name, extra) = (reader.u16()?, reader.u16()?);
        reader.take(usize::from(name) + usize::from(extra))?;
        let start = reader.at();
        reader.take(self.size)?;
        Ok(start..reader.at())
    }
}

/// Replaces numbers that stand elsewhere by those of the extra field with the tag 1.
fn wide(extra: &[u8], narrow: [u32; 3]) -> Result<[usize; 3], String> {
    let mut sizes = narrow.map(|n| n as usize);
    if !narrow.contains(&ELSEWHERE) {
        return Ok(sizes);
    }
    let mut reader = Reader::new(extra, 0);
    while reader.at() < extra.len() {
        let (tag, length) = (reader.u16()?, reader.u16()?);
        let mut field = Reader::new(reader.take(length.into())?, 0);
        if tag == 1 {
            for (size, _) in sizes.iter_mut().zip(narrow).filter(|(_, narrow)| *narrow == ELSEWHERE) {
                *size = field.size()?;
            }
            return Ok(sizes);
        }
    }
    Err("its zip directory is damaged (a 64-bit number is missing)".into())
}
