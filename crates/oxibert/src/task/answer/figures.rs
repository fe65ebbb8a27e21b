//! Exact match and F1 of answers, and the threshold from which on there is none, as SQuAD 2.0's script finds it.

use super::{Answer, Found, right_answers};
use crate::data::labelled::Question;
use crate::task::metrics::{AnswerScore, score_answer};
use crate::train::Figures;

impl Answer {
    pub(super) fn scores(&self, examples: &[Question], answers: &[Found]) -> Figures {
        let mut figures = Figures::default();
        let impossible = examples.iter().any(|question| question.answerable == Some(false));
        for (question, found) in examples.iter().zip(answers) {
            let Some(right) = right_answers(question) else { continue };
            let AnswerScore { exact, f1 } = score_answer(self.scorer, &found.text, &right);
            figures.add("exact_match", exact, 1.0);
            figures.add("answer_f1", f1, 1.0);
            match right.is_empty() {
                true => figures.add("no_answer_accuracy", exact, 1.0),
                false if impossible => figures.add("has_answer_f1", f1, 1.0),
                false => {}
            }
        }
        figures
    }

    /// The threshold by which these answers have the best F1 altogether.
    ///
    /// From "no question has an answer" on, questions are answered one by one, the surest first: an answer gains its F1, or
    /// loses 1 where there is none. The threshold is the last gap of the best moment.
    pub fn best_threshold(&self, examples: &[Question], answers: &[Found]) -> f32 {
        let gain = |(question, found): (&Question, &Found)| {
            let right = right_answers(question)?;
            let best = found.n_best.first()?;
            let gain = match right.is_empty() {
                true => -1.0,
                false => score_answer(self.scorer, &best.text, &right).f1,
            };
            Some((found.null_gap, gain))
        };
        let mut gains: Vec<(f32, f64)> = examples.iter().zip(answers).filter_map(gain).collect();
        gains.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Below all gaps: nothing is answered.
        let mut best = (0.0, gains.first().map_or(0.0, |first| first.0 - 1.0));
        let mut sum = 0.0;
        // Questions of one gap are answered together.
        for equals in gains.chunk_by(|a, b| a.0 == b.0) {
            sum += equals.iter().map(|pair| pair.1).sum::<f64>();
            if sum > best.0 {
                best = (sum, equals[0].0);
            }
        }
        best.1
    }
}
