//! `oxibert pull`: a model of the Hugging Face hub to this machine.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use oxibert::data::files;
use serde_json::{Map, Value, json};

use crate::hub::{Fetched, Hub, MAIN};
use crate::numbers::bytes;
use crate::output::{remark, results};
use crate::replace::save_checkpoint;

/// Fetch a model from the Hugging Face hub
///
/// The configuration comes first: what is no BERT is refused before its weights are fetched. Files go to the cache that
/// Hugging Face's libraries share; the last line is the model's directory there. Without a network, the copy from before
/// is used.
///
/// HF_ENDPOINT names another hub, HF_HOME or HF_HUB_CACHE another place for the cache, HF_TOKEN opens private models;
/// with HF_HUB_OFFLINE=1 nothing is asked for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert pull google-bert/bert-base-uncased
  oxibert inspect $(oxibert pull prajjwal1/bert-tiny)
  oxibert pull google-bert/bert-base-chinese --out bert-zh
  HF_ENDPOINT=https://hub.example.org oxibert pull team/model --revision v2")]
pub(crate) struct Arguments {
    /// The model's name on the hub
    name: String,
    /// A branch, a tag or a commit
    #[arg(long, value_name = "R", default_value = MAIN)]
    revision: String,
    /// Copy the files here too; must be new or empty
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the files of a model that is there already
    #[arg(long, requires = "out")]
    force: bool,
    /// No progress bars and no summary, only the directory
    #[arg(long)]
    quiet: bool,
    /// One JSON object: directory and files with their sizes
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(out) = &arguments.out {
        files::check_dir(out, arguments.force)?;
    }
    let mut fetched = Hub::new(&arguments.name, &arguments.revision, arguments.quiet)?.pull()?;
    if let Some(out) = &arguments.out {
        copy(&fetched, out, arguments.force)?;
        fetched.directory.clone_from(out);
    }
    let size = |file: &String| Ok((file.clone(), fs::metadata(fetched.directory.join(file))?.len().into()));
    let sizes: Map<String, Value> = fetched.files.iter().map(size).collect::<Result<_>>()?;
    let mut out = results();
    if arguments.json {
        writeln!(out, "{}", json!({ "directory": fetched.directory, "files": sizes }))?;
    } else {
        if !arguments.quiet {
            let total = sizes.values().filter_map(Value::as_u64).sum();
            remark(format_args!("{}: {} files, {}", arguments.name, sizes.len(), bytes(total)));
        }
        writeln!(out, "{}", fetched.directory.display())?;
    }
    out.flush()?;
    Ok(())
}

fn copy(fetched: &Fetched, out: &Path, force: bool) -> Result<()> {
    let copy = |directory: &Path| {
        fetched.files.iter().try_for_each(|file| {
            let to = directory.join(file);
            let copied = to.parent().map_or(Ok(()), fs::create_dir_all);
            let copied = copied.and_then(|()| fs::copy(fetched.directory.join(file), &to));
            copied.map(drop).map_err(|error| oxibert::Error::write(to, error))
        })
    };
    save_checkpoint(out, force, copy).context("the model is in the cache, but was not copied")
}
