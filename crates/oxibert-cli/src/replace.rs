//! One checkpoint in the place of another: what of the old one must not stay beside the new one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use oxibert::data::files;
use oxibert::infer::use_files;
use oxibert::model::checkpoint::WEIGHT_FILES;
use oxibert::text::TOKENIZER_FILES;
use oxibert::{Error, Result};

use crate::output::remark;

/// Files of a tokenizer that oxibert does not need and `transformers` reads.
pub(crate) const OTHER_TOKENIZER_FILES: [&str; 2] = ["special_tokens_map.json", "added_tokens.json"];

/// Writes a checkpoint directory as [`files::save_dir`] does. With `force`, the tokenizer, the word on its use and the
/// weights of a model that was there before go, where they would be taken for the new model's; that is said.
pub(crate) fn save_checkpoint(out: &Path, force: bool, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let about_use = use_files(out).unwrap_or_default();
    let new = files::save_dir(out, force, |directory| fill(directory).map(|()| names(directory)))?;
    let mut gone = Vec::new();
    for file in misleading(&new, about_use) {
        match fs::remove_file(out.join(&file)) {
            Ok(()) => gone.push(file),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(Error::write(out.join(file), error)),
        }
    }
    if !gone.is_empty() {
        let (place, gone) = (out.display(), gone.join(", "));
        remark(format_args!(
            "note: {place}: removed {gone} of the model that was there: the new one has none"
        ));
    }
    Ok(())
}

/// The files that an old model may have and the new one has not, and that readers would heed.
fn misleading(new: &BTreeSet<String>, about_use: Vec<String>) -> Vec<String> {
    let weights = WEIGHT_FILES.into_iter().take_while(|file| !new.contains(*file));
    let others = TOKENIZER_FILES.into_iter().chain(OTHER_TOKENIZER_FILES);
    let all = weights.chain(others).map(str::to_owned).chain(about_use);
    all.filter(|file| file != "config.json" && !new.contains(file)).collect()
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// The paths of all files below a directory that was just written.
fn names(directory: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            names.extend(self::names(&entry.path()).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            names.insert(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_be_read_instead_is_misleading() {
        let new = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        let gone = misleading(&new(&["config.json", "model.safetensors", "vocab.txt"]), Vec::new());
        let tokenizer =
            ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"];
        assert_eq!(gone, tokenizer);
        let gone = misleading(&new(&["pytorch_model.bin"]), vec!["1_Pooling/config.json".into()]);
        assert_eq!(gone[..2], ["model.safetensors", "model.safetensors.index.json"]);
        assert_eq!(gone.last().unwrap(), "1_Pooling/config.json");
        assert!(!gone.contains(&"pytorch_model.bin.index.json".to_owned()), "it comes behind the new file");
    }
}
