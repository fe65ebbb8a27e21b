//! What the model says of pieces becomes tags of words, and entities.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::data::labelled::TaggedExample;
use crate::task::Item;
use crate::task::long::largest;
use crate::{Error, Result};

/// What no entity has.
pub(super) const OUTSIDE: &str = "O";

/// How pieces become entities: the strategies of `transformers`' token classification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aggregation {
    /// Every piece with a tag other than `O` stands for itself, with its whole tag as its kind.
    None,
    /// Neighbouring pieces of one kind are joined; the pieces of a word may differ.
    Simple,
    /// A word has the tag of its first piece, which is what was trained; neighbouring words of one kind are joined.
    #[default]
    First,
    /// A word has the tag that is likeliest on the mean of its pieces.
    Average,
    /// A word has the tag of its surest piece.
    Max,
}

const NAMES: [(&str, Aggregation); 5] = [
    ("none", Aggregation::None),
    ("simple", Aggregation::Simple),
    ("first", Aggregation::First),
    ("average", Aggregation::Average),
    ("max", Aggregation::Max),
];

impl FromStr for Aggregation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        NAMES.iter().find(|known| known.0 == name).map(|known| known.1).ok_or_else(|| {
            let known = NAMES.map(|known| known.0).join(", ");
            Error::setting("aggregation", format!("{name:?} is not known; one of {known}"))
        })
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|known| known.1 == *self).map_or("", |known| known.0);
        out.write_str(name)
    }
}

impl Aggregation {
    /// The tag of a word whose pieces have these rows of probabilities, and its probability.
    pub(super) fn decide(self, rows: &[&[f32]]) -> (usize, f32) {
        let row: Vec<f32> = match self {
            Self::Average => {
                let mean = |tag: usize| rows.iter().map(|row| row[tag]).sum::<f32>() / rows.len() as f32;
                (0..rows[0].len()).map(mean).collect()
            }
            Self::Max => {
                let sureness: Vec<f32> = rows.iter().map(|row| row[largest(row)]).collect();
                rows[largest(&sureness)].to_vec()
            }
            Self::None | Self::Simple | Self::First => rows[0].to_vec(),
        };
        let tag = largest(&row);
        (tag, row[tag])
    }

    /// Whether pieces rather than words make entities.
    pub(super) fn is_of_pieces(self) -> bool {
        matches!(self, Self::None | Self::Simple)
    }
}

/// Something that was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// What it is: `PER`, `LOC`, …; the whole tag (`B-PER`) where pieces are not aggregated.
    pub kind: String,
    /// Its first byte in the text.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
    /// The mean probability of its words' (or pieces') tags.
    pub score: f32,
}

impl Entity {
    /// What stands there in the text it was found in.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start..self.end]
    }
}

/// A word's or a piece's tag.
#[derive(Debug, Clone)]
pub(super) struct Reading<'l> {
    pub(super) tag: &'l str,
    pub(super) score: f32,
    pub(super) bytes: Range<usize>,
}

/// Every reading that is not outside, by itself.
pub(super) fn each(readings: &[Reading<'_>]) -> Vec<Entity> {
    let inside = readings.iter().filter(|reading| reading.tag != OUTSIDE);
    inside.map(|reading| entity(reading, reading.tag)).collect()
}

/// Neighbours of one kind as one, unless a tag says that a new entity begins.
pub(super) fn joined(readings: &[Reading<'_>]) -> Vec<Entity> {
    let mut found: Vec<(Entity, usize)> = Vec::new();
    let mut open = false;
    for reading in readings {
        let (letter, kind) = letter_and_kind(reading.tag);
        match found.last_mut() {
            _ if reading.tag == OUTSIDE => {}
            Some((last, joined)) if open && !matches!(letter, "B" | "S" | "U") && last.kind == kind => {
                last.end = reading.bytes.end;
                last.score += reading.score;
                *joined += 1;
            }
            _ => found.push((entity(reading, kind), 1)),
        }
        open = reading.tag != OUTSIDE && !matches!(letter, "E" | "S" | "L" | "U");
    }
    let mean = |(entity, joined): (Entity, usize)| Entity { score: entity.score / joined as f32, ..entity };
    found.into_iter().map(mean).collect()
}

fn entity(reading: &Reading<'_>, kind: &str) -> Entity {
    let Range { start, end } = reading.bytes;
    Entity { kind: kind.to_owned(), start, end, score: reading.score }
}

/// `B-PER` is `B` and `PER`. A tag without such a letter is a kind of its own that goes on, as in `transformers`.
pub(super) fn letter_and_kind(tag: &str) -> (&str, &str) {
    match tag.split_once('-') {
        Some((letter @ ("B" | "I" | "E" | "S" | "L" | "U" | "M"), kind)) if !kind.is_empty() => {
            (letter, kind)
        }
        _ => ("I", tag),
    }
}

/// Where a word is read: in which item, by which of its tokens.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    item: usize,
    tokens: Range<usize>,
    /// Tokens on the side that has fewer of them.
    context: usize,
}

impl Place {
    /// The word's pieces: what the model says of each, `width` numbers, and where it stands in the text.
    pub(super) fn said<'s>(
        &self,
        items: &[Item],
        probabilities: &'s [Vec<f32>],
        width: usize,
    ) -> Vec<(&'s [f32], Range<usize>)> {
        let spans = &items[self.item].sequences[0].spans[self.tokens.clone()];
        let rows = probabilities[self.item][self.tokens.start * width..].chunks_exact(width);
        rows.zip(spans).map(|(row, span)| (row, span.range())).collect()
    }
}

/// For every word, its place in the window that shows most around it; none for words that no window shows.
pub(super) fn places(example: &TaggedExample, items: &[Item]) -> Vec<Option<Place>> {
    let mut places: Vec<Option<Place>> = vec![None; example.words.len()];
    for (item, sequence) in items.iter().map(|item| &item.sequences[0]).enumerate() {
        let word_at = |start: u32| example.words.partition_point(|word| word.start <= start as usize) - 1;
        // Without [CLS] and [SEP].
        let inner = &sequence.spans[1..sequence.len() - 1];
        let mut tokens = 1..1;
        for pieces in inner.chunk_by(|a, b| word_at(a.start) == word_at(b.start)) {
            tokens = tokens.end..tokens.end + pieces.len();
            let context = (tokens.start - 1).min(inner.len() + 1 - tokens.end);
            let place = &mut places[word_at(pieces[0].start)];
            if place.as_ref().is_none_or(|known| context > known.context) {
                *place = Some(Place { item, tokens: tokens.clone(), context });
            }
        }
    }
    places
}
