//! `checksums.json`: whether a checkpoint is still what was written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{read_json, write_json};
use crate::{Error, Result};

/// The file; it is the one that it does not know.
pub(super) const CHECKSUMS_FILE: &str = "checksums.json";
const VERSION: u32 = 1;

/// Every file of a checkpoint, by its path below it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checksums {
    version: u32,
    files: BTreeMap<String, Checksum>,
}

/// What a file must be.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checksum {
    size: u64,
    /// In hexadecimal digits, as the tool `crc32` prints it.
    crc32: String,
}

impl Checksums {
    /// Those of the files below `directory`.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for name in files_below(directory)? {
            let path = directory.join(&name);
            let checksum = Checksum::of(&path).map_err(|source| Error::read(path, source))?;
            files.insert(name, checksum);
        }
        Ok(Self { version: VERSION, files })
    }

    pub(super) fn save(&self, directory: &Path) -> Result<()> {
        write_json(&directory.join(CHECKSUMS_FILE), self)
    }
}

/// Whether the files below `directory` are those that were written; else which is not, in words.
pub(super) fn verify(directory: &Path) -> Result<(), String> {
    let Checksums { version, files } = read_json(&directory.join(CHECKSUMS_FILE))?;
    if version != VERSION {
        return Err(format!("{CHECKSUMS_FILE} has the version {version}, expected {VERSION}"));
    }
    // The sizes first: that costs nothing, and finds what was cut off.
    for (name, expected) in &files {
        match fs::metadata(directory.join(name)) {
            Ok(found) if found.len() == expected.size => {}
            Ok(found) => return Err(format!("{name} has {} bytes, expected {}", found.len(), expected.size)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(format!("{name} is missing"));
            }
            Err(error) => return Err(format!("{name} cannot be read: {error}")),
        }
    }
    for (name, expected) in &files {
        let found = Checksum::of(&directory.join(name));
        if found.map_err(|error| format!("{name} cannot be read: {error}"))? != *expected {
            return Err(format!("{name} is damaged: its checksum is not the one that was written"));
        }
    }
    Ok(())
}

impl Checksum {
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut hasher = crc32fast::Hasher::new();
        let mut block = vec![0; 1 << 18];
        let mut size = 0;
        loop {
            match file.read(&mut block) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.update(&block[..count]);
                    size += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { size, crc32: format!("{:08x}", hasher.finalize()) })
    }
}

/// The paths of all files below `directory`, with `/` between their parts, sorted.
pub(super) fn files_below(directory: &Path) -> Result<Vec<String>> {
    let refused = |source| Error::read(directory, source);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(Error::content(
                &path,
                None,
                "its name is not UTF-8; expected names that all systems have",
            ));
        };
        if path.is_dir() {
            names.extend(files_below(&path)?.into_iter().map(|below| format!("{name}/{below}")));
        } else {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
