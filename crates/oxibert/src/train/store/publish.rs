//! The model files of a checkpoint where people look for a model: in the run's directory itself, and in `best/`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::checksums::{CHECKSUMS_FILE, files_below};
use super::{OPTIMIZER_FILE, TRAINING_FILE};
use crate::data::files;
use crate::model::checkpoint::{CONFIG_FILE, WEIGHT_FILES};
use crate::text::TOKENIZER_FILES;
use crate::{Error, Result};

/// What is needed to go on with training, and by nobody else.
const OURS: [&str; 3] = [OPTIMIZER_FILE, TRAINING_FILE, CHECKSUMS_FILE];

/// Puts the model files below `from` into `to`, each atomically and `config.json` last, so that whoever finds it finds the
/// weights. A tokenizer or weights that an earlier model left in `to` would be taken for this one's: they go.
pub fn publish(from: &Path, to: &Path) -> Result<()> {
    let mut names = files_below(from)?;
    names.retain(|name| !OURS.contains(&name.as_str()));
    names.sort_by_key(|name| name == CONFIG_FILE);
    for name in &names {
        files::link(&from.join(name), &to.join(name))?;
    }
    let is_new = |file: &&str| names.iter().any(|name| name == file);
    for old in WEIGHT_FILES.iter().chain(&TOKENIZER_FILES).filter(|file| !is_new(file)) {
        let path = to.join(old);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::write(path, error)),
            _ => {}
        }
    }
    Ok(())
}
