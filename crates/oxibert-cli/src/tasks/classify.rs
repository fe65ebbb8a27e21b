//! `classify` at the command line.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use oxibert::data::labelled::{
    Columns, Format, LabelNeed, Labelled, TextExample, TextOptions, TextReader, read_texts,
};
use oxibert::model::Config;
use oxibert::task::Long;
use oxibert::task::classify::{Classified, Classify, Kind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Job, Take, bad_line};
use crate::output::remark;

/// Where texts and labels are, and what a label is.
#[derive(Debug, Clone, Default, Args, Serialize)]
#[group(skip)]
pub(crate) struct Flags {
    /// The column of the text: a header's name, or a number from 1 [default: guessed, and said]
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    text: Option<String>,
    /// The column of the second text of a pair
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    text2: Option<String>,
    /// The column of the label
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    label: Option<String>,
    /// lines, tsv, csv or jsonl [default: by the file's name]
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    format: Option<String>,
    /// Any number of labels for a text, separated by --label-separator or in a JSON list
    #[arg(long, conflicts_with = "regression", help_heading = "Data")]
    multi_label: bool,
    /// What separates several labels [default: a comma]
    #[arg(long, value_name = "CHARACTER", requires = "multi_label", help_heading = "Data")]
    label_separator: Option<char>,
    /// The label is a number to be predicted
    #[arg(long, help_heading = "Data")]
    regression: bool,
    /// Rare classes weigh more in training
    #[arg(long, conflicts_with_all = ["regression", "multi_label"], help_heading = "Data")]
    class_weights: bool,
}

impl Flags {
    fn options(&self, labels: LabelNeed, format: Option<Format>) -> Result<TextOptions> {
        let given = self.format.as_deref().map(str::parse).transpose()?;
        let columns =
            Columns { text: self.text.clone(), text2: self.text2.clone(), label: self.label.clone() };
        let label_separator = self.multi_label.then_some(self.label_separator.unwrap_or(','));
        Ok(TextOptions { format: given.or(format), columns, label_separator, labels, pairs: None })
    }

    fn kind(&self) -> Kind {
        match (self.multi_label, self.regression) {
            (true, _) => Kind::Multi,
            (_, true) => Kind::Regression,
            _ => Kind::Single,
        }
    }
}

/// A note where the model was fine-tuned on pairs and these are single texts, or the other way round.
fn strange_texts(task: &Classify, examples: &[TextExample]) -> Option<String> {
    let names = |pairs: bool| if pairs { "pairs of texts" } else { "single texts" };
    let (known, found) = (task.pairs()?, examples.first()?.texts.len() > 1);
    (known != found).then(|| {
        format!(
            "note: the model was fine-tuned on {}, these are {}; --text and --text2 name the columns",
            names(known),
            names(found)
        )
    })
}

impl Job for Flags {
    type Task = Classify;
    const NAME: &'static str = "classify";
    const MAX_LENGTH: usize = 128;

    fn read(&self, path: &Path, labels: bool) -> Result<Labelled<TextExample>> {
        let need = if labels { LabelNeed::Required } else { LabelNeed::Optional };
        Ok(read_texts(path, &self.options(need, None)?)?)
    }

    fn learn(&self, training: &[TextExample], long: Long) -> Result<(Classify, Vec<String>)> {
        Ok(Classify::learn(training, self.kind(), self.class_weights, long)?)
    }

    fn open(&self, config: &Config, long: Long) -> Result<Classify> {
        let task = Classify::of(config, long);
        let wanted = self.kind();
        if wanted != Kind::Single && wanted != task.kind() {
            bail!(
                "--multi-label, --regression: the checkpoint was fine-tuned for {:?}; leave them out",
                task.kind()
            );
        }
        Ok(task)
    }

    fn remarks(&self, task: &Classify, examples: &[TextExample]) -> Vec<String> {
        let unknown = task.unknown_labels(examples);
        let told = |(label, count): &(&str, usize)| {
            format!(
                "note: the label {label:?} ({count} times) was not in the training data and counts as wrong; known are {}",
                task.labels().join(", ")
            )
        };
        unknown.iter().map(told).chain(strange_texts(task, examples)).collect()
    }

    fn each(&self, task: &Classify, path: &Path, take: &mut Take<'_, Self>) -> Result<()> {
        let lines = (path == Path::new("-")).then_some(Format::Lines);
        let options = TextOptions { pairs: task.pairs(), ..self.options(LabelNeed::Ignored, lines)? };
        let mut told = false;
        TextReader::open(path, &options)?.try_for_each(|next| {
            if let (Ok(example), false) = (&next, told) {
                strange_texts(task, std::slice::from_ref(example))
                    .iter()
                    .for_each(|note| remark(format_args!("{note}")));
                told = true;
            }
            take(next.map_err(bad_line))
        })
    }

    fn json(&self, task: &Classify, _example: &TextExample, answer: &Classified) -> Value {
        let named = |(label, score): (&String, &f32)| (label.clone(), json!(score));
        let scores: Map<String, Value> = task.labels().iter().zip(&answer.scores).map(named).collect();
        let names: Vec<&String> = answer.classes.iter().map(|&class| &task.labels()[class]).collect();
        match task.kind() {
            Kind::Multi => json!({ "labels": names, "scores": scores }),
            Kind::Single => json!({ "label": names[0], "scores": scores }),
            Kind::Regression => json!({ "label": answer.scores[0], "scores": scores }),
        }
    }

    fn line(&self, task: &Classify, example: &TextExample, answer: &Classified) -> String {
        let text = example.texts.join("\t");
        if task.kind() == Kind::Regression {
            return format!("{:.3}\t{text}", answer.scores[0]);
        }
        let named =
            |&class: &usize| format!("{} {:.1} %", task.labels()[class], 100.0 * answer.scores[class]);
        let names: Vec<String> = answer.classes.iter().map(named).collect();
        format!("{}\t{text}", if names.is_empty() { "-".to_owned() } else { names.join(", ") })
    }
}
