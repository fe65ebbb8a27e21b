//! What a report shows of a classifier: where it errs, how sure it is, and how far that can be trusted.

use super::super::metrics::calibration;
use super::{Classified, Classify, Kind, number};
use crate::data::labelled::TextExample;
use crate::train::{Body, Section};

/// Classes that a confusion matrix has room for.
const MATRIX: usize = 30;
/// Mistakes that are shown.
const MISTAKES: usize = 20;
/// Characters of a text that are shown.
const SHOWN: usize = 200;

impl Classify {
    pub(super) fn sections(&self, examples: &[TextExample], answers: &[Classified]) -> Vec<Section> {
        match self.kind {
            Kind::Single => {
                let mut sections = self.matrix(examples, answers);
                sections.push(self.certainty(examples, answers));
                sections.push(self.mistakes(examples, answers));
                sections
            }
            Kind::Multi => Vec::new(),
            Kind::Regression => vec![farthest(examples, answers)],
        }
    }

    /// Rows are what was meant, columns what was answered.
    fn matrix(&self, examples: &[TextExample], answers: &[Classified]) -> Vec<Section> {
        let confusion = self.confusion(examples, answers);
        let classes = self.labels.len();
        let mut head = vec!["meant ↓ answered →".to_owned()];
        head.extend(self.labels.iter().cloned());
        head.extend(["precision", "recall", "F1"].map(str::to_owned));
        let row = |class: usize| {
            let mut cells = vec![self.labels[class].clone()];
            cells.extend((0..classes).map(|answered| confusion.count(class, answered).to_string()));
            let shares = [confusion.precision(class), confusion.recall(class), confusion.f1(class)];
            cells.extend(shares.map(|share| format!("{:.1} %", 100.0 * share)));
            cells
        };
        if classes > MATRIX {
            return Vec::new();
        }
        let body = Body::Table { head, rows: (0..classes).map(row).collect() };
        vec![Section { title: "Confusion matrix / 混淆矩阵".to_owned(), body }]
    }

    fn certainty(&self, examples: &[TextExample], answers: &[Classified]) -> Section {
        let labelled = examples.iter().zip(answers).filter(|(example, _)| !example.labels.is_empty());
        let (confidences, right): (Vec<f64>, Vec<bool>) = labelled
            .map(|(example, answer)| {
                let class = answer.classes[0];
                (f64::from(answer.scores[class]), self.labels[class] == example.labels[0])
            })
            .unzip();
        let bins = calibration(&confidences, &right);
        let row = |bin: &super::super::metrics::Bin| {
            vec![
                format!("{:.0} – {:.0} %", 100.0 * bin.from, 100.0 * bin.to),
                bin.count.to_string(),
                format!("{:.1} %", 100.0 * bin.confidence),
                format!("{:.1} %", 100.0 * bin.accuracy),
            ]
        };
        let rows = bins.iter().filter(|bin| bin.count > 0).map(row).collect();
        let head = ["how sure", "texts", "mean probability", "right"].map(str::to_owned).to_vec();
        Section { title: "Calibration / 校准".to_owned(), body: Body::Table { head, rows } }
    }

    /// The surest first.
    fn mistakes(&self, examples: &[TextExample], answers: &[Classified]) -> Section {
        let labelled = examples.iter().zip(answers).filter(|(example, _)| !example.labels.is_empty());
        let wrong = |(example, answer): &(&TextExample, &Classified)| {
            self.labels[answer.classes[0]] != example.labels[0]
        };
        let mut found: Vec<_> = labelled.filter(wrong).collect();
        let sureness = |answer: &Classified| answer.scores[answer.classes[0]];
        found.sort_by(|a, b| sureness(b.1).total_cmp(&sureness(a.1)));
        let row = |(example, answer): &(&TextExample, &Classified)| {
            let answered = &self.labels[answer.classes[0]];
            let sure = format!("{:.1} %", 100.0 * sureness(answer));
            vec![shown(example), answered.clone(), sure, example.labels[0].clone(), example.line.to_string()]
        };
        let rows = found.iter().take(MISTAKES).map(row).collect();
        let head = ["text", "answered", "probability", "meant", "line"].map(str::to_owned).to_vec();
        Section {
            title: "The surest mistakes / 最自信的错误".to_owned(), body: Body::Table { head, rows }
        }
    }
}

/// The numbers that are farthest off.
fn farthest(examples: &[TextExample], answers: &[Classified]) -> Section {
    let pairs = examples.iter().zip(answers);
    let mut known: Vec<(&TextExample, f32, f32)> = pairs
        .filter_map(|(example, answer)| Some((example, answer.scores[0], number(example).ok()?)))
        .collect();
    known.sort_by(|a, b| (b.1 - b.2).abs().total_cmp(&(a.1 - a.2).abs()));
    let row = |(example, answered, meant): &(&TextExample, f32, f32)| {
        vec![shown(example), format!("{answered:.2}"), format!("{meant:.2}"), example.line.to_string()]
    };
    let rows = known.iter().take(MISTAKES).map(row).collect();
    let head = ["text", "answered", "meant", "line"].map(str::to_owned).to_vec();
    Section { title: "Farthest off / 偏差最大".to_owned(), body: Body::Table { head, rows } }
}

/// As much of an example as a cell has room for.
fn shown(example: &TextExample) -> String {
    let all = example.texts.join(" ‖ ");
    match all.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &all[..end]),
        None => all,
    }
}
