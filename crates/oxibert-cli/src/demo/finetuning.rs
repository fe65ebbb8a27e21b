//! The demo's third part: the tiny BERT learns every task from a few labels, and beside it one that has read nothing.

use std::path::Path;

use anyhow::Result;
use oxibert::data::labelled::{Choices, Gold, Question, TaggedExample, TextExample};
use oxibert::task::tag::{Unit, Words};
use oxibert::task::{Long, Task};
use oxibert::train::{Body, Report, Section};
use oxibert::world::{AnswerLesson, ChoiceLesson, ClassLesson, TagLesson};

use super::pretraining::STEPS;
use super::{Demo, LANGUAGES, TaskFigures};
use crate::finetune::{Base, Data, Flags, Options, Trial};
use crate::tasks::{self, Example, Job};

/// Labelled examples to learn from, and as many to measure with: from days that the model has not read.
const EXAMPLES: u64 = 400;
const FIRST_DAY: u64 = 1_000_000;
/// Of the whole demo; a shorter one learns less here too.
const EPOCHS: f64 = 8.0;
const BATCH: usize = 16;
const RATE: f64 = 2e-3;
const LENGTH: usize = 96;

impl Demo<'_> {
    pub(super) fn finetune(&mut self, model: &Path, out: &Path, report: &mut Report) -> Result<()> {
        let title = "It learns four tasks from a few labels / 用少量标签学会四种任务";
        self.heading(10, title)?;
        writeln!(self.out, "   {EXAMPLES} examples each; beside it, the same model without pretraining")?;
        writeln!(
            self.out,
            "   {:<10} {:<12} {:>20} {:>12}",
            "task", "figure", "without pretraining", "with"
        )?;
        let data = self.examples(
            |lesson: ClassLesson, line| TextExample {
                texts: vec![lesson.text],
                labels: vec![lesson.label.to_owned()],
                line,
            },
            |demo, language, index| demo.workdays.class_lesson(language, index),
        );
        self.compare(&tasks::classify::Flags::default(), &data, model, out)?;
        let data = self.examples(tagged, |demo, language, index| demo.workdays.tag_lesson(language, index));
        self.compare(&tasks::tag::Flags::default(), &data, model, out)?;
        let data = self.examples(asked, |demo, language, index| demo.workdays.answer_lesson(language, index));
        self.compare(&tasks::answer::Flags::default(), &data, model, out)?;
        let data = self.examples(
            |ChoiceLesson { first, seconds, right, .. }, line| Choices {
                first,
                seconds,
                right: Some(right),
                line,
            },
            |demo, language, index| demo.workdays.choice_lesson(language, index),
        );
        self.compare(&tasks::choose::Flags::default(), &data, model, out)?;
        report.add(self.table(title))?;
        Ok(())
    }

    /// Lessons of both languages in turn, as examples.
    fn examples<L, E>(
        &self,
        convert: impl Fn(L, usize) -> E,
        lesson: impl Fn(&Self, oxibert::world::Language, u64) -> L,
    ) -> Data<E> {
        let some = |first: u64| {
            let one = |number: u64| {
                let language = LANGUAGES[number as usize % LANGUAGES.len()];
                convert(lesson(self, language, first + number), number as usize + 1)
            };
            (0..EXAMPLES).map(one).collect()
        };
        Data { training: some(FIRST_DAY), dev: some(2 * FIRST_DAY) }
    }

    /// One task, learned by both, unless somebody wants it to end.
    fn compare<J: Job>(&mut self, job: &J, data: &Data<Example<J>>, model: &Path, out: &Path) -> Result<()> {
        if self.is_stopped() {
            return Ok(());
        }
        let pretrained = Base::open(&model.display().to_string(), None)?;
        let fresh = Base { weights: None, ..Base::open(&model.display().to_string(), None)? };
        let (figure, with) = self.tune(job, data, &pretrained, &out.join(J::NAME))?;
        let (_, without) = self.tune(job, data, &fresh, &out.join("without-pretraining").join(J::NAME))?;
        let name = J::NAME;
        let (Some(with), Some(without)) = (with, without) else {
            return Ok(writeln!(self.out, "   {name:<10} stopped: not measured")?);
        };
        let [before, after] = [without, with].map(|share| 100.0 * share);
        let spoken = figure.replace('_', " ");
        writeln!(self.out, "   {name:<10} {spoken:<12} {before:>18.1} % {after:>10.1} %")?;
        self.out.flush()?;
        self.figures.tasks.insert(name.to_owned(), TaskFigures { figure, with, without });
        Ok(())
    }

    /// The figure by which the task's models are compared; none where somebody stopped it.
    fn tune<J: Job>(
        &self,
        job: &J,
        data: &Data<Example<J>>,
        base: &Base,
        out: &Path,
    ) -> Result<(&'static str, Option<f64>)> {
        let long = Long { mode: J::LONG, ..Long::new(LENGTH) };
        let (task, _) = job.learn(&data.training, long)?;
        let flags = Flags {
            epochs: Some(EPOCHS * (self.steps as f64 / STEPS as f64).min(1.0)),
            batch: Some(BATCH),
            lr: Some(RATE),
            seed: Some(self.seed),
            ..Flags::default()
        };
        let settings = flags.decide(base.config.hidden_size)?;
        let trial = Trial { job, task: &task, base, data, long, settings, out: out.to_owned() };
        let options = Options { quiet: true, force: true, no_doctor: true, ..Options::default() };
        let tuned = trial.run(options, &self.stop)?;
        let goal = task.goal().0;
        Ok((goal, tuned.figures.value(goal)))
    }

    fn table(&self, title: &str) -> Section {
        let row = |(task, figures): (&String, &TaskFigures)| {
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            vec![
                task.clone(),
                figures.figure.replace('_', " "),
                percent(figures.without),
                percent(figures.with),
            ]
        };
        let rows = self.figures.tasks.iter().map(row).collect();
        let head = ["task / 任务", "figure / 指标", "without pretraining / 无预训练", "with / 有预训练"];
        let head = head.map(str::to_owned).to_vec();
        Section { title: title.to_owned(), body: Body::Table { head, rows } }
    }
}

/// Words with tags, from words with spans.
fn tagged(lesson: TagLesson, line: usize) -> TaggedExample {
    let words = Words::of(&lesson.text, Unit::Words);
    let tag = |word: &std::ops::Range<usize>| {
        let inside = |span: &std::ops::Range<usize>| span.start <= word.start && word.end <= span.end;
        match lesson.entities.iter().find(|(span, _)| inside(span)) {
            None => "O".to_owned(),
            Some((span, kind)) => format!("{}-{kind}", if span.start == word.start { "B" } else { "I" }),
        }
    };
    let tags = words.iter().map(tag).collect();
    TaggedExample { text: lesson.text, words, tags, line }
}

fn asked(lesson: AnswerLesson, line: usize) -> Question {
    let AnswerLesson { question, context, answer, .. } = lesson;
    let gold = Gold { text: context[answer.clone()].to_owned(), start: Some(answer.start) };
    Question { id: line.to_string(), question, context, answers: vec![gold], answerable: Some(true) }
}
