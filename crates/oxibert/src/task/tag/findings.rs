//! What a report shows of a tagger: which kinds it finds, and its surest mistakes.

use super::{Tag, Tagged, labelled};
use crate::data::labelled::TaggedExample;
use crate::task::metrics::{Counts, Entities, Span};
use crate::train::{Body, Section};

/// Mistakes that are shown.
const MISTAKES: usize = 20;
/// Characters of a text that are shown.
const SHOWN: usize = 200;

/// A sentence with entities that were not found, or found and not meant.
struct Mistake<'e> {
    example: &'e TaggedExample,
    wrong: Vec<Span>,
    missed: Vec<Span>,
    /// How sure the model was of the surest of these.
    sure: f32,
}

impl Tag {
    pub(super) fn sections(&self, examples: &[TaggedExample], answers: &[Tagged]) -> Vec<Section> {
        let mut sections = vec![self.kinds(examples, answers), self.mistakes(examples, answers)];
        let unread: usize = answers.iter().map(|answer| answer.unread).sum();
        if unread > 0 {
            let text = format!(
                "{unread} words are beyond the part of their text that is read and count as outside of all entities; \
                 --long sliding reads them."
            );
            sections.push(Section { title: "Not read / 未读部分".to_owned(), body: Body::Text(text) });
        }
        sections
    }

    fn kinds(&self, examples: &[TaggedExample], answers: &[Tagged]) -> Section {
        let mut entities = Entities::default();
        for (example, answer) in labelled(examples, answers) {
            let (answered, meant) = self.both(example, answer);
            entities.add(&answered, &meant);
        }
        let row = |(kind, counts): (&String, &Counts)| {
            let shares = [counts.precision(), counts.recall(), counts.f1()];
            let mut cells = vec![kind.clone()];
            cells.extend(shares.map(|share| format!("{:.1} %", 100.0 * share)));
            cells.push(counts.meant.to_string());
            cells
        };
        let rows = entities.kinds.iter().map(row).collect();
        let head = ["kind / 类别", "precision / 精确率", "recall / 召回率", "F1", "count / 数量"];
        let body = Body::Table { head: head.map(str::to_owned).to_vec(), rows };
        Section { title: "Kinds of entities / 实体类别".to_owned(), body }
    }

    /// The surest first.
    fn mistakes(&self, examples: &[TaggedExample], answers: &[Tagged]) -> Section {
        let mut found: Vec<Mistake<'_>> = labelled(examples, answers)
            .filter_map(|(example, answer)| self.mistake(example, answer))
            .collect();
        found.sort_by(|a, b| b.sure.total_cmp(&a.sure));
        let row = |mistake: &Mistake<'_>| {
            vec![
                shown(&mistake.example.text),
                named(mistake.example, &mistake.wrong),
                named(mistake.example, &mistake.missed),
                format!("{:.1} %", 100.0 * mistake.sure),
                mistake.example.line.to_string(),
            ]
        };
        let rows = found.iter().take(MISTAKES).map(row).collect();
        let head = ["text / 文本", "wrong / 误认", "missed / 漏掉", "probability / 概率", "line / 行"];
        let body = Body::Table { head: head.map(str::to_owned).to_vec(), rows };
        Section { title: "The surest mistakes / 最自信的错误".to_owned(), body }
    }

    fn mistake<'e>(&self, example: &'e TaggedExample, answer: &Tagged) -> Option<Mistake<'e>> {
        let (answered, meant) = self.both(example, answer);
        let without = |spans: &[Span], others: &[Span]| -> Vec<Span> {
            spans.iter().filter(|span| !others.contains(span)).cloned().collect()
        };
        let (wrong, missed) = (without(&answered, &meant), without(&meant, &answered));
        let sureness = |span: &Span| {
            let scores = answer.scores.get(span.start..span.end).unwrap_or_default();
            scores.iter().sum::<f32>() / scores.len().max(1) as f32
        };
        let sure = wrong.iter().chain(&missed).map(sureness).reduce(f32::max)?;
        Some(Mistake { example, wrong, missed, sure })
    }
}

/// Entities with their kinds.
fn named(example: &TaggedExample, spans: &[Span]) -> String {
    let name = |span: &Span| {
        let words = example.words.get(span.start..span.end).unwrap_or_default();
        let bytes = words.first().map_or(0, |word| word.start)..words.last().map_or(0, |word| word.end);
        format!("{} ({})", &example.text[bytes], span.kind)
    };
    spans.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// As much of a text as a cell has room for.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
