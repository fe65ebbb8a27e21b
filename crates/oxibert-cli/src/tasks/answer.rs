//! `answer` at the command line.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use oxibert::data::labelled::{Labelled, Question, parse_question, read_questions};
use oxibert::model::Config;
use oxibert::task::Long;
use oxibert::task::answer::{Answer, AnswerOptions, Found};
use oxibert::text::LongText;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Job, Take, characters, each_line};

/// How answers are looked for.
#[derive(Debug, Clone, Default, Args, Serialize)]
#[group(skip)]
pub(crate) struct Flags {
    /// Tokens of a question at most [default: 64]
    #[arg(long, value_name = "N", help_heading = "Data")]
    max_question: Option<usize>,
    /// Tokens of an answer at most [default: 30]
    #[arg(long, value_name = "N", help_heading = "Data")]
    #[serde(skip)]
    max_answer: Option<usize>,
    /// How many starts and ends are combined [default: 20]
    #[arg(long, value_name = "N", help_heading = "Data")]
    #[serde(skip)]
    n_best: Option<usize>,
    /// How much better than the best answer "no answer" must score to be given [default: the best on the dev data]
    #[arg(long, value_name = "SCORE", allow_hyphen_values = true, help_heading = "Data")]
    #[serde(skip)]
    null_threshold: Option<f32>,
}

impl Flags {
    fn apply(&self, options: &mut AnswerOptions) {
        options.max_question = self.max_question.unwrap_or(options.max_question);
        options.max_answer = self.max_answer.unwrap_or(options.max_answer);
        options.n_best = self.n_best.unwrap_or(options.n_best);
        if let Some(threshold) = self.null_threshold {
            options.null_threshold = threshold;
        }
    }
}

impl Job for Flags {
    type Task = Answer;
    const NAME: &'static str = "answer";
    const MAX_LENGTH: usize = 384;
    const LONG: LongText = LongText::Sliding { stride: Some(128) };

    fn read(&self, path: &Path, _labels: bool) -> Result<Labelled<Question>> {
        Ok(read_questions(path)?)
    }

    fn learn(&self, training: &[Question], long: Long) -> Result<(Answer, Vec<String>)> {
        let (mut task, notes) = Answer::learn(training, long)?;
        self.apply(&mut task.options);
        Ok((task, notes))
    }

    fn open(&self, config: &Config, long: Long) -> Result<Answer> {
        let mut task = Answer::of(config, long)?;
        self.apply(&mut task.options);
        Ok(task)
    }

    fn each(&self, _task: &Answer, path: &Path, take: &mut Take<'_, Self>) -> Result<()> {
        each_line::<Self>(path, take, |text| parse_question(&text))
    }

    fn json(&self, _task: &Answer, example: &Question, answer: &Found) -> Value {
        let (start, end) = characters(&example.context, answer.start, answer.end);
        json!({ "answer": answer.text, "start": start, "end": end, "score": answer.score })
    }

    fn line(&self, _task: &Answer, example: &Question, answer: &Found) -> String {
        let text = if answer.text.is_empty() { "-" } else { &answer.text };
        format!("{text} ({:.1} %)\t{}", 100.0 * answer.score, example.question)
    }
}
