//! The files of a model in the cache: which belong to it, whether all are there, whether they are what they should be.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use oxibert::infer::{MODULES_FILE, use_files};
use oxibert::model::Config;
use oxibert::model::checkpoint::{CONFIG_FILE, WEIGHT_FILES, shards};

/// The switches first and the tokens last: a vocabulary without its switches would be read wrongly.
pub(super) const TOKENIZER: [&str; 3] = ["tokenizer_config.json", "vocab.txt", "tokenizer.json"];

/// What is needed of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// To make tokens: no configuration and no weights.
    Tokenizer,
    /// All of it.
    Model,
}

/// Whether a snapshot has all that is wanted.
pub(super) fn is_complete(directory: &Path, want: Want) -> bool {
    let has = |file: &str| directory.join(file).exists();
    if want == Want::Tokenizer {
        return TOKENIZER[1..].iter().any(|file| has(file));
    }
    let Some(weights) = WEIGHT_FILES.into_iter().find(|file| has(file)) else { return false };
    let all_shards =
        || shards(&directory.join(weights)).is_ok_and(|files| files.iter().all(|file| has(file)));
    has(CONFIG_FILE) && (!weights.ends_with(".index.json") || all_shards())
}

/// Whether it is known how the model wants to be used. Programs that share the cache may have fetched the model without
/// asking; then vectors could silently be others than the model's.
pub(super) fn knows_use(directory: &Path) -> bool {
    directory.join(MODULES_FILE).exists() || absence(directory).is_some_and(|note| note.exists())
}

/// Remembers, as huggingface_hub does, that the model has no such file.
pub(super) fn note_absence(directory: &Path) {
    let Some(note) = absence(directory) else { return };
    // Without the note, the hub is asked again the next time.
    let _ = note.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(note, ""));
}

/// `models--team--name/snapshots/COMMIT` to `models--team--name/.no_exist/COMMIT/modules.json`.
fn absence(directory: &Path) -> Option<PathBuf> {
    let model = directory.parent()?.parent()?;
    Some(model.join(".no_exist").join(directory.file_name()?).join(MODULES_FILE))
}

/// The files of a snapshot that a checkpoint consists of.
pub(super) fn known_files(directory: &Path) -> Result<Vec<String>> {
    let here = |file: &&str| directory.join(file).exists();
    let weights = WEIGHT_FILES.into_iter().find(here);
    let mut files: Vec<String> =
        [CONFIG_FILE].into_iter().chain(TOKENIZER).filter(here).map(str::to_owned).collect();
    files.extend(use_files(directory)?.into_iter().filter(|file| here(&&**file)));
    files.extend(weights.map(str::to_owned));
    if let Some(index) = weights.filter(|file| file.ends_with(".index.json")) {
        files.extend(shards(&directory.join(index))?);
    }
    Ok(files)
}

/// Refuses what is no BERT while only its configuration has been fetched.
pub(super) fn check_config(name: &str, path: &Path) -> Result<()> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Config::parse(&bytes, &Path::new(name).join(CONFIG_FILE))?;
    Ok(())
}

/// Refuses, and forgets, weights that are shorter or longer than the hub said. (Small files may come compressed, and
/// whoever parses them notices.)
pub(super) fn check_size(path: &Path, expected: u64) -> Result<()> {
    let found = fs::metadata(path)?.len();
    let binary = path.extension().is_some_and(|extension| extension == "safetensors" || extension == "bin");
    if found == expected || !binary {
        return Ok(());
    }
    let behind = fs::canonicalize(path)?;
    fs::remove_file(path)?;
    // On systems without links the two are one.
    let _ = fs::remove_file(behind);
    bail!("{}: {found} bytes came, expected {expected}; run again", path.display())
}
