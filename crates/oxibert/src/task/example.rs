//! What a task hands to the model, and what it gets back.

use crate::text::Encoding;

/// No tag is asked for at this token: it is special, or not a word's first piece.
pub const UNTAGGED: u32 = u32::MAX;

/// What is learned together: the sequence of a text or of a window of it, or the sequences of all choices.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// One sequence; several for a choice.
    pub sequences: Vec<Encoding>,
    /// What the model should say.
    pub target: Target,
}

impl Item {
    /// Tokens of all sequences.
    pub fn tokens(&self) -> usize {
        self.sequences.iter().map(Encoding::len).sum()
    }

    /// Whether the loss reads what the model says of this token, where it says something of every token.
    pub fn asks(&self, token: usize) -> bool {
        match &self.target {
            Target::Tags(tags) => tags.get(token).is_some_and(|&tag| tag != UNTAGGED),
            _ => true,
        }
    }
}

/// What the model should say about an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Nothing is known: the item is only asked about.
    Unknown,
    /// The number of a class, or of the right choice.
    Class(u32),
    /// Any number of classes: 1 where one holds, else 0.
    Classes(Vec<f32>),
    /// A number.
    Value(f32),
    /// A tag's number for every token, or [`UNTAGGED`].
    Tags(Vec<u32>),
    /// The first and the last token of the answer; both 0, `[CLS]`, where there is none in this window.
    Span {
        /// The first.
        start: u32,
        /// The last.
        end: u32,
    },
}
