//! The answer to a question, as a slice of the paragraph that holds it: SQuAD 1.1 and 2.0, CMRC, DRCD (section 4.2 and 4.3
//! of the paper).
//!
//! `windows.rs` makes `[CLS] question [SEP] paragraph [SEP]`, `search.rs` finds the best spans, `figures.rs` scores them and
//! chooses from when on there is no answer, `findings.rs` shows where the model errs.

mod figures;
mod findings;
mod search;
#[cfg(test)]
mod tests;
mod windows;

use oxibert_kernels::cross_entropy;
use serde::{Deserialize, Serialize};

use super::metrics::Scorer;
use super::{Head, Item, Long, Pool, Target, Task};
use crate::data::labelled::Question;
use crate::model::Config;
use crate::text::{Encoder, LongText};
use crate::train::{Better, Figures, Section};
use crate::{Error, Result};

/// The class of `transformers`.
const ARCHITECTURE: &str = "BertForQuestionAnswering";
/// Our own key of `config.json`: what is not in the weights.
const KEY: &str = "oxibert_answer";
/// Tokens of a window, as in the published runs.
const MAX_LENGTH: usize = 384;
/// Paragraphs that are looked at to find their language.
const LOOKED_AT: usize = 1000;

/// How answers are looked for. The defaults are those of the published runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerOptions {
    /// Tokens that two neighbouring windows share (Hugging Face's `doc_stride`; Google's is the step), where the way of long
    /// texts does not say it; at most half a window.
    pub stride: usize,
    /// A question's tokens beyond these are not read.
    pub max_question: usize,
    /// The longest answer, in tokens.
    pub max_answer: usize,
    /// Starts and ends that are looked at in each window, and answers that are kept.
    pub n_best: usize,
    /// There is no answer where its score is higher by more than this than that of the best answer.
    pub null_threshold: f32,
    /// Whether there may be no answer, as in SQuAD 2.0.
    pub with_impossible: bool,
}

impl Default for AnswerOptions {
    fn default() -> Self {
        Self {
            stride: 128,
            max_question: 64,
            max_answer: 30,
            n_best: 20,
            null_threshold: 0.0,
            with_impossible: false,
        }
    }
}

/// Answering.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How answers are looked for.
    pub options: AnswerOptions,
    /// How they are scored.
    pub scorer: Scorer,
    long: Long,
}

/// What the model answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The answer, exactly as it stands in the paragraph; empty where there is none.
    pub text: String,
    /// Its first byte in the paragraph.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
    /// Its probability among the best answers, or that of none.
    pub score: f32,
    /// How much higher the score of no answer is than that of the best one.
    pub null_gap: f32,
    /// The best answers, best first, whether or not there is one.
    pub n_best: Vec<Candidate>,
}

/// An answer that was considered.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The text, exactly as it stands in the paragraph.
    pub text: String,
    /// Its first byte in the paragraph.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
    /// Its probability among the best answers.
    pub score: f32,
}

/// What a checkpoint's configuration says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    with_impossible: bool,
    null_threshold: f32,
    scorer: String,
}

/// The names of the scorers in a configuration.
const SCORERS: [(&str, Scorer); 2] = [("squad", Scorer::Squad), ("cmrc", Scorer::Cmrc)];

impl Answer {
    /// Sees in training data whether questions may have no answer, and how their language is scored. What a person should
    /// know is said in the second part.
    pub fn learn(examples: &[Question], long: Long) -> Result<(Self, Vec<String>)> {
        let labelled = examples.iter().filter(|question| right_answers(question).is_some()).count();
        if labelled == 0 {
            let problem = format!(
                "none of {} questions has an answer; expected SQuAD's answers or JSONL's",
                examples.len()
            );
            return Err(Error::setting("train", problem));
        }
        let impossible = examples.iter().filter(|question| question.answerable == Some(false)).count();
        let options = AnswerOptions { with_impossible: impossible > 0, ..AnswerOptions::default() };
        let scorer = Self::scorer_of(examples);
        let mut notes = Vec::new();
        if impossible > 0 {
            notes.push(format!(
                "{impossible} of {labelled} questions have no answer in their paragraph: no answer is learned as one"
            ));
        }
        if scorer == Scorer::Cmrc {
            notes.push(
                "the paragraphs are Chinese: answers are scored by character, as CMRC's are".to_owned(),
            );
        }
        Ok((Self { options, scorer, long }, notes))
    }

    /// The task of a checkpoint that was fine-tuned for it. One that says nothing of its own always answers.
    pub fn of(config: &Config, long: Long) -> Result<Self> {
        let (mut options, mut scorer) = (AnswerOptions::default(), Scorer::Squad);
        if let Some(value) = config.other.get(KEY) {
            let refuse = |problem: String| Error::setting("model", format!("{KEY}: {problem}"));
            let kept = Kept::deserialize(value).map_err(|error| refuse(error.to_string()))?;
            let known = SCORERS.iter().find(|known| known.0 == kept.scorer);
            scorer = known
                .ok_or_else(|| refuse(format!("scorer is {:?}, expected squad or cmrc", kept.scorer)))?
                .1;
            (options.with_impossible, options.null_threshold) = (kept.with_impossible, kept.null_threshold);
        }
        Ok(Self { options, scorer, long })
    }

    /// How long paragraphs are read where nobody says it: in windows of 384 tokens.
    pub fn long() -> Long {
        Long { max_length: MAX_LENGTH, mode: LongText::Sliding { stride: None }, pool: Pool::default() }
    }

    /// Whose rules score answers from these paragraphs: CMRC's where most letters are Chinese.
    pub fn scorer_of(examples: &[Question]) -> Scorer {
        let paragraphs = examples.iter().take(LOOKED_AT).map(|question| &question.context);
        let letters = paragraphs.flat_map(|context| context.chars()).filter(|c| c.is_alphabetic());
        let (mut all, mut chinese) = (0u64, 0u64);
        letters.for_each(|c| {
            all += 1;
            chinese += u64::from(('\u{3400}'..='\u{9fff}').contains(&c));
        });
        if 2 * chinese > all { Scorer::Cmrc } else { Scorer::Squad }
    }

    /// Answers anew, or not, by the present threshold.
    pub fn decide(&self, found: &mut Found) {
        let none = self.options.with_impossible && found.null_gap > self.options.null_threshold;
        match found.n_best.first().filter(|_| !none) {
            Some(best) => {
                found.text.clone_from(&best.text);
                (found.start, found.end, found.score) = (best.start, best.end, best.score);
            }
            None => {
                let others: f32 = found.n_best.iter().map(|candidate| candidate.score).sum();
                found.text.clear();
                (found.start, found.end, found.score) = (0, 0, (1.0 - others).clamp(0.0, 1.0));
            }
        }
    }
}

/// The right answers to a question: none of them where it has none, nothing where that is not known.
fn right_answers(question: &Question) -> Option<Vec<&str>> {
    match question.answerable {
        Some(false) => Some(Vec::new()),
        _ if question.answers.is_empty() => None,
        _ => Some(question.answers.iter().map(|gold| gold.text.as_str()).collect()),
    }
}

impl Task for Answer {
    type Example = Question;
    type Answer = Found;

    fn head(&self) -> Head {
        Head::Span
    }

    fn configure(&self, config: &mut Config) {
        config.architectures = vec![ARCHITECTURE.to_owned()];
        // `transformers` gives the head as many outputs as there are labels: two where none are named.
        config.labels.clear();
        config.other.shift_remove("num_labels");
        config.problem_type = None;
        let AnswerOptions { with_impossible, null_threshold, .. } = self.options;
        let scorer = SCORERS.iter().find(|known| known.1 == self.scorer).map_or("", |known| known.0);
        let kept = Kept { with_impossible, null_threshold, scorer: scorer.to_owned() };
        config.other.insert(KEY.to_owned(), serde_json::to_value(kept).expect("a name and two values"));
    }

    fn settle(&self, examples: &[Question], answers: &mut [Found], config: &mut Config) {
        if self.options.with_impossible {
            let null_threshold = self.best_threshold(examples, answers);
            let settled = Self { options: AnswerOptions { null_threshold, ..self.options }, ..self.clone() };
            settled.configure(config);
            answers.iter_mut().for_each(|found| settled.decide(found));
        }
    }

    fn items(&self, example: &Question, encoder: &mut Encoder<'_>) -> Result<Vec<Item>> {
        self.windows(example, encoder)
    }

    /// The mean of the cross-entropies of the start and of the end, each over the window's own tokens.
    fn loss(&self, items: &[&Item], logits: &mut [f32], scale: f32) -> f64 {
        let (mut rest, mut loss) = (logits, 0.0);
        let mut row = Vec::new();
        for item in items {
            let (own, after) = rest.split_at_mut(2 * item.tokens());
            rest = after;
            match item.target {
                Target::Span { start, end } => {
                    loss += [start, end]
                        .into_iter()
                        .enumerate()
                        .map(|(which, token)| 0.5 * column_loss(own, which, token, 0.5 * scale, &mut row))
                        .sum::<f64>();
                }
                _ if scale != 0.0 => own.fill(0.0),
                _ => {}
            }
        }
        loss
    }

    fn answer(&self, example: &Question, items: &[Item], logits: &[&[f32]]) -> Found {
        self.search(&example.context, items, logits)
    }

    fn figures(&self, examples: &[Question], answers: &[Found]) -> Figures {
        self.scores(examples, answers)
    }

    fn goal(&self) -> (&'static str, Better) {
        ("answer_f1", Better::Higher)
    }

    fn findings(&self, examples: &[Question], answers: &[Found]) -> Vec<Section> {
        self.sections(examples, answers)
    }
}

/// The cross-entropy of a column of `logits` [tokens, 2], which becomes its gradient times `scale`.
fn column_loss(logits: &mut [f32], column: usize, token: u32, scale: f32, row: &mut Vec<f32>) -> f64 {
    row.clear();
    row.extend(logits.iter().skip(column).step_by(2));
    let loss = cross_entropy(row, &[token], 0.0, scale).loss;
    logits.iter_mut().skip(column).step_by(2).zip(row).for_each(|(logit, gradient)| *logit = *gradient);
    loss
}
