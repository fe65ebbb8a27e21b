//! What a report shows of answers: the surest ones that are wrong.

use super::{Answer, Found, right_answers};
use crate::data::labelled::Question;
use crate::task::metrics::score_answer;
use crate::train::{Body, Section};

/// Mistakes that are shown.
const MISTAKES: usize = 20;
/// Characters of a question or an answer that are shown.
const SHOWN: usize = 200;
/// An answer that shares less than this with every right one is wrong; others are only cut differently.
const WRONG: f64 = 0.5;

impl Answer {
    pub(super) fn sections(&self, examples: &[Question], answers: &[Found]) -> Vec<Section> {
        let known = examples.iter().zip(answers).filter_map(|(question, found)| {
            let right = right_answers(question)?;
            let wrong = score_answer(self.scorer, &found.text, &right).f1 < WRONG;
            wrong.then_some((question, found, right))
        });
        let mut wrong: Vec<(&Question, &Found, Vec<&str>)> = known.collect();
        wrong.sort_by(|a, b| b.1.score.total_cmp(&a.1.score));
        let row = |(question, found, right): &(&Question, &Found, Vec<&str>)| {
            let mut expected: Vec<&str> = Vec::new();
            for text in right {
                if !expected.contains(text) {
                    expected.push(text);
                }
            }
            vec![
                shown(&question.question),
                shown(&found.text),
                shown(&expected.join(" | ")),
                format!("{:.1} %", 100.0 * found.score),
                question.id.clone(),
            ]
        };
        let rows = wrong.iter().take(MISTAKES).map(row).collect();
        let head = ["question / 问题", "answered / 回答", "expected / 应为", "probability / 概率", "id"];
        let body = Body::Table { head: head.map(str::to_owned).to_vec(), rows };
        vec![Section { title: "The surest mistakes / 最自信的错误".to_owned(), body }]
    }
}

/// As much of a text as a cell has room for; a dash for no answer.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "–".to_owned(),
        None => text.to_owned(),
    }
}
