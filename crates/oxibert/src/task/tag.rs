//! A tag for every word of a text, and the entities that the tags spell: people, places, whatever was marked.
//!
//! `words.rs` says what a word is, `pieces.rs` makes windows of pieces, `aggregate.rs` makes tags and entities of what the
//! model says, `findings.rs` shows where it errs.

mod aggregate;
mod findings;
mod pieces;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;

use oxibert_kernels::{IGNORE, cross_entropy, softmax};

pub use self::aggregate::{Aggregation, Entity};
use self::aggregate::{OUTSIDE, Reading, each, joined, letter_and_kind, places};
use self::pieces::Pieces;
pub use self::words::{Unit, Words};
use super::metrics::{Entities, Span, spans};
use super::{Head, Item, Long, Target, Task, UNTAGGED};
use crate::data::labelled::TaggedExample;
use crate::model::Config;
use crate::text::{Encoder, LongText};
use crate::train::{Better, Figures, Section};
use crate::{Error, Result};

/// The class of `transformers`.
const ARCHITECTURE: &str = "BertForTokenClassification";
/// Our own key of `config.json`: what a word is in raw text.
const UNIT: &str = "oxibert_tag_unit";

// The loss takes both for "nothing is asked here".
const _: () = assert!(UNTAGGED == IGNORE);

/// Tagging.
#[derive(Debug, Clone, PartialEq)]
pub struct Tag {
    labels: Vec<String>,
    unit: Unit,
    /// How pieces become entities.
    pub aggregation: Aggregation,
    long: Long,
}

/// What the model says about a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    /// The number of every word's tag among [`Tag::labels`].
    pub tags: Vec<u32>,
    /// Its probability; 0 for words that the model did not see.
    pub scores: Vec<f32>,
    /// What the tags spell, in the text's order.
    pub entities: Vec<Entity>,
    /// Words beyond the part of a long text that was read; they are outside of all entities.
    pub unread: usize,
}

impl Tag {
    /// Finds the tags in training data: `O`, then kind by kind in the alphabet's order, `B-` before `I-`. What a person
    /// should know is said in the second part.
    pub fn learn(examples: &[TaggedExample], long: Long) -> Result<(Self, Vec<String>)> {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for tag in examples.iter().flat_map(|example| &example.tags).filter(|tag| *tag != OUTSIDE) {
            let (letter, kind) = letter_and_kind(tag);
            // A tag without a letter is its own kind: its letter is empty, so that its name can be made again.
            let letter = if kind.len() == tag.len() { "" } else { letter };
            *counts.entry((kind, letter)).or_default() += 1;
        }
        if counts.is_empty() {
            let problem = format!(
                "nothing but {OUTSIDE} in {} sentences; expected tags such as B-PER and I-PER in the last column",
                examples.len()
            );
            return Err(Error::setting("tags", problem));
        }
        let name = |(kind, letter): &(&str, &str)| match *letter {
            "" => (*kind).to_owned(),
            letter => format!("{letter}-{kind}"),
        };
        let labels: Vec<String> =
            std::iter::once(OUTSIDE.to_owned()).chain(counts.keys().map(name)).collect();
        let unit = Unit::of(examples);
        let notes = notes(&counts, unit);
        Ok((Self { labels, unit, aggregation: Aggregation::default(), long }, notes))
    }

    /// The task of a checkpoint that was fine-tuned for it.
    pub fn of(config: &Config, long: Long) -> Result<Self> {
        let unit = match config.other.get(UNIT) {
            None => Unit::default(),
            Some(value) => value.as_str().unwrap_or_default().parse().map_err(|_| {
                Error::setting("model", format!("{UNIT} is {value}, expected \"words\" or \"characters\""))
            })?,
        };
        // Without names in the file, `transformers` counts.
        let named = |number: usize| format!("LABEL_{number}");
        let counted = || (0..config.num_labels()).map(named).collect();
        let labels = if config.labels.is_empty() { counted() } else { config.labels.clone() };
        Ok(Self { labels, unit, aggregation: Aggregation::default(), long })
    }

    /// The tags' names, in the order of their numbers.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// What has a tag.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// A raw text to be asked about.
    pub fn example(&self, text: String) -> TaggedExample {
        TaggedExample { words: Words::of(&text, self.unit), text, tags: Vec::new(), line: 0 }
    }

    /// Tags of these examples that the model does not know, each once, with how often they come.
    pub fn unknown_tags<'e>(&self, examples: &'e [TaggedExample]) -> Vec<(&'e str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let tags = examples.iter().flat_map(|example| &example.tags);
        let unknown = tags.filter(|tag| self.number(tag).is_none());
        unknown.for_each(|tag| *counts.entry(tag).or_default() += 1);
        counts.into_iter().collect()
    }

    fn number(&self, tag: &str) -> Option<usize> {
        self.labels.iter().position(|known| known == tag)
    }

    /// Whether the tags spell entities, and are not such as parts of speech are.
    fn marks_entities(&self) -> bool {
        self.labels.iter().any(|tag| letter_and_kind(tag).1.len() < tag.len())
    }

    /// The tag of what the model did not see.
    fn outside(&self) -> usize {
        self.number(OUTSIDE).unwrap_or(0)
    }

    /// Tags for the tokens that are words' first ones; none where a word's tag is not known.
    fn target(&self, example: &TaggedExample, firsts: &[Option<usize>]) -> Target {
        if example.tags.is_empty() {
            return Target::Unknown;
        }
        let number = |word: usize| example.tags.get(word).and_then(|tag| self.number(tag));
        let tag = |first: &Option<usize>| first.and_then(number).map_or(UNTAGGED, |tag| tag as u32);
        Target::Tags(firsts.iter().map(tag).collect())
    }

    /// Entities that were answered and meant, of an example whose tags are known.
    fn both(&self, example: &TaggedExample, answer: &Tagged) -> (Vec<Span>, Vec<Span>) {
        let answered: Vec<&str> = answer.tags.iter().map(|&tag| self.labels[tag as usize].as_str()).collect();
        (spans(&answered), spans(&example.tags))
    }
}

impl Task for Tag {
    type Example = TaggedExample;
    type Answer = Tagged;

    fn head(&self) -> Head {
        Head::Tokens(self.labels.len())
    }

    fn configure(&self, config: &mut Config) {
        config.architectures = vec![ARCHITECTURE.to_owned()];
        config.labels.clone_from(&self.labels);
        config.problem_type = None;
        config.other.shift_remove("num_labels");
        config.other.insert(UNIT.to_owned(), self.unit.to_string().into());
    }

    fn items(&self, example: &TaggedExample, encoder: &mut Encoder<'_>) -> Result<Vec<Item>> {
        let pieces = Pieces::of(example, encoder);
        let item = |part| {
            let (sequence, firsts) = pieces.window(part, encoder);
            Item { target: self.target(example, &firsts), sequences: vec![sequence] }
        };
        Ok(pieces.windows(&self.long)?.into_iter().map(item).collect())
    }

    /// As in `transformers`, every tagged token of a batch weighs the same, whatever sentence it stands in.
    fn weight(&self, item: &Item) -> f64 {
        match &item.target {
            Target::Tags(tags) => tags.iter().filter(|&&tag| tag != UNTAGGED).count() as f64,
            _ => 0.0,
        }
    }

    fn loss(&self, items: &[&Item], logits: &mut [f32], scale: f32) -> f64 {
        let mut tags = Vec::with_capacity(items.iter().map(|item| item.tokens()).sum());
        for item in items {
            match &item.target {
                Target::Tags(known) => tags.extend_from_slice(known),
                _ => tags.resize(tags.len() + item.tokens(), UNTAGGED),
            }
        }
        cross_entropy(logits, &tags, 0.0, scale).loss
    }

    fn answer(&self, example: &TaggedExample, items: &[Item], logits: &[&[f32]]) -> Tagged {
        let probabilities = logits.iter().map(|rows| {
            let mut rows = rows.to_vec();
            softmax(&mut rows, self.labels.len());
            rows
        });
        let probabilities: Vec<Vec<f32>> = probabilities.collect();
        let mut answer = Tagged { tags: Vec::new(), scores: Vec::new(), entities: Vec::new(), unread: 0 };
        let mut readings = Vec::new();
        for (word, place) in example.words.iter().zip(places(example, items)) {
            let (tag, score) = match &place {
                Some(place) => {
                    let pieces = place.said(items, &probabilities, self.labels.len());
                    self.read(word, &pieces, &mut readings)
                }
                None => {
                    readings.push(Reading { tag: OUTSIDE, score: 0.0, bytes: word.clone() });
                    answer.unread += usize::from(self.is_unread(&example.text[word.clone()]));
                    (self.outside(), 0.0)
                }
            };
            answer.tags.push(tag as u32);
            answer.scores.push(score);
        }
        let alone = self.aggregation == Aggregation::None;
        answer.entities = if alone { each(&readings) } else { joined(&readings) };
        answer
    }

    fn figures(&self, examples: &[TaggedExample], answers: &[Tagged]) -> Figures {
        let (mut entities, mut right, mut words) = (Entities::default(), 0, 0);
        for (example, answer) in labelled(examples, answers) {
            let (answered, meant) = self.both(example, answer);
            entities.add(&answered, &meant);
            let is_right = |(tag, meant): &(&u32, &String)| self.labels[**tag as usize] == **meant;
            right += answer.tags.iter().zip(&example.tags).filter(is_right).count();
            words += answer.tags.len();
        }
        let mut figures = Figures::default();
        if words > 0 && self.marks_entities() {
            figures.add("entity_f1", entities.f1(), 1.0);
            figures.add("entity_precision", entities.precision(), 1.0);
            figures.add("entity_recall", entities.recall(), 1.0);
        }
        figures.add("accuracy", right as f64, words as f64);
        figures
    }

    fn goal(&self) -> (&'static str, Better) {
        (if self.marks_entities() { "entity_f1" } else { "accuracy" }, Better::Higher)
    }

    fn findings(&self, examples: &[TaggedExample], answers: &[Tagged]) -> Vec<Section> {
        self.sections(examples, answers)
    }
}

impl Tag {
    /// A word's tag and its probability; what entities are made of goes to `readings`.
    fn read<'s>(
        &'s self,
        word: &Range<usize>,
        pieces: &[(&[f32], Range<usize>)],
        readings: &mut Vec<Reading<'s>>,
    ) -> (usize, f32) {
        let rows: Vec<&[f32]> = pieces.iter().map(|piece| piece.0).collect();
        let (tag, score) = self.aggregation.decide(&rows);
        if self.aggregation.is_of_pieces() {
            for (row, bytes) in pieces {
                let (tag, score) = self.aggregation.decide(&[row]);
                readings.push(Reading { tag: &self.labels[tag], score, bytes: bytes.clone() });
            }
        } else {
            readings.push(Reading { tag: &self.labels[tag], score, bytes: word.clone() });
        }
        (tag, score)
    }

    /// Whether a word that no window shows is beyond what is read, and not one that has no tokens at all.
    fn is_unread(&self, word: &str) -> bool {
        let is_seen = |c: char| !c.is_whitespace() && !c.is_control();
        !matches!(self.long.mode, LongText::Sliding { .. }) && word.chars().any(is_seen)
    }
}

/// The examples whose tags are known, with their answers.
fn labelled<'e>(
    examples: &'e [TaggedExample],
    answers: &'e [Tagged],
) -> impl Iterator<Item = (&'e TaggedExample, &'e Tagged)> {
    examples.iter().zip(answers).filter(|(example, _)| !example.tags.is_empty())
}

fn notes(counts: &BTreeMap<(&str, &str), usize>, unit: Unit) -> Vec<String> {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for ((kind, letter), count) in counts {
        // Inside tags make no entity more.
        *kinds.entry(kind).or_default() += if *letter == "I" { 0 } else { *count };
    }
    let mut notes = Vec::new();
    if unit == Unit::Characters {
        notes.push("nearly all words are single characters: raw text will be tagged by character".to_owned());
    }
    let rare = kinds.iter().filter(|(_, count)| **count <= 1);
    notes.extend(
        rare.map(|(kind, _)| format!("the kind {kind:?} has a single entity: it can hardly be learned")),
    );
    notes
}
