//! `tag` at the command line.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use oxibert::data::labelled::{Labelled, TaggedExample, read_tagged};
use oxibert::model::Config;
use oxibert::task::Long;
use oxibert::task::tag::{Entity, Tag, Tagged};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Job, Take, characters, each_line};

/// How the data are read, and how pieces become entities.
#[derive(Debug, Clone, Default, Args, Serialize)]
#[group(skip)]
pub(crate) struct Flags {
    /// tsv (columns, as CoNLL's) or jsonl [default: by the file's name]
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    format: Option<String>,
    /// How pieces become entities: none, simple, first, average or max [default: first]
    #[arg(long, value_name = "HOW", help_heading = "Data")]
    #[serde(skip)]
    aggregation: Option<String>,
}

impl Flags {
    fn choose(&self, mut task: Tag) -> Result<Tag> {
        if let Some(name) = &self.aggregation {
            task.aggregation = name.parse()?;
        }
        Ok(task)
    }
}

impl Job for Flags {
    type Task = Tag;
    const NAME: &'static str = "tag";
    const MAX_LENGTH: usize = 128;

    fn read(&self, path: &Path, _labels: bool) -> Result<Labelled<TaggedExample>> {
        Ok(read_tagged(path, self.format.as_deref().map(str::parse).transpose()?)?)
    }

    fn learn(&self, training: &[TaggedExample], long: Long) -> Result<(Tag, Vec<String>)> {
        let (task, notes) = Tag::learn(training, long)?;
        Ok((self.choose(task)?, notes))
    }

    fn open(&self, config: &Config, long: Long) -> Result<Tag> {
        self.choose(Tag::of(config, long)?)
    }

    fn remarks(&self, task: &Tag, examples: &[TaggedExample]) -> Vec<String> {
        let told = |(tag, count): (&str, usize)| {
            format!("note: the tag {tag:?} ({count} times) was not in the training data and counts as wrong")
        };
        task.unknown_tags(examples).into_iter().map(told).collect()
    }

    fn each(&self, task: &Tag, path: &Path, take: &mut Take<'_, Self>) -> Result<()> {
        each_line::<Self>(path, take, |text| Ok(task.example(text)))
    }

    fn json(&self, _task: &Tag, example: &TaggedExample, answer: &Tagged) -> Value {
        let text = &example.text;
        let entity = |entity: &Entity| {
            let (start, end) = characters(text, entity.start, entity.end);
            json!({ "text": &text[entity.start..entity.end], "label": entity.kind, "start": start, "end": end,
                    "score": entity.score })
        };
        json!({ "entities": answer.entities.iter().map(entity).collect::<Vec<_>>() })
    }

    /// The text with its entities in brackets.
    fn line(&self, _task: &Tag, example: &TaggedExample, answer: &Tagged) -> String {
        let (mut line, mut at) = (String::new(), 0);
        for entity in &answer.entities {
            line += &example.text[at..entity.start];
            line += &format!("[{} {}]", entity.kind, &example.text[entity.start..entity.end]);
            at = entity.end;
        }
        line + &example.text[at..]
    }
}
