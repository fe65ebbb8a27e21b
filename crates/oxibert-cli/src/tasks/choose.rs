//! `choose` at the command line.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use oxibert::data::labelled::{Choices, Labelled, parse_choices, read_choices};
use oxibert::model::Config;
use oxibert::task::Long;
use oxibert::task::choose::{Choose, Chosen};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Job, Take, each_line};

/// JSON lines as of SWAG need no flags.
#[derive(Debug, Clone, Default, Args, Serialize)]
#[group(skip)]
pub(crate) struct Flags {}

impl Job for Flags {
    type Task = Choose;
    const NAME: &'static str = "choose";
    const MAX_LENGTH: usize = 128;

    fn read(&self, path: &Path, _labels: bool) -> Result<Labelled<Choices>> {
        Ok(read_choices(path)?)
    }

    fn learn(&self, _training: &[Choices], long: Long) -> Result<(Choose, Vec<String>)> {
        Ok((Choose::new(long), Vec::new()))
    }

    fn open(&self, _config: &Config, long: Long) -> Result<Choose> {
        Ok(Choose::new(long))
    }

    fn each(&self, _task: &Choose, path: &Path, take: &mut Take<'_, Self>) -> Result<()> {
        each_line::<Self>(path, take, |text| parse_choices(&text))
    }

    fn json(&self, _task: &Choose, _example: &Choices, answer: &Chosen) -> Value {
        json!({ "choice": answer.choice, "scores": answer.scores })
    }

    fn line(&self, _task: &Choose, example: &Choices, answer: &Chosen) -> String {
        let sure = 100.0 * answer.scores[answer.choice];
        format!("{} {sure:.1} %\t{} {}", answer.choice, example.first, example.seconds[answer.choice])
    }
}
