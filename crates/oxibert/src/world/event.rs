//! Events: what happened, before any language has spoken.
//!
//! A simulation tells [`Event`]s: a [`Frame`] (what kind of thing happened) with a value for each role (who, what,
//! where). Each frame holds the templates that say it in each language, side by side, so that the
//! languages stay equal citizens and a further one is a further column. Because a template names its
//! roles, whoever realises an event knows which words of the sentence stand for which value.
//!
//! The language of templates:
//!
//! | written | means |
//! |---|---|
//! | `{who}` | the value of role `who`: a person is named or becomes a pronoun as the discourse allows |
//! | `{who.his}`, `{what.a}`, `{n.coins}` | the same in a form; the forms are listed in `english.rs` and `chinese.rs` |
//! | `{n:what}` | so many of it: "three sacks of flour", 三袋面粉 |
//! | `{they}`, `{them}` | all persons of the event; "we" if the narrator is one of them |
//! | `[soon\|at once]` | one of these, by chance |
//!
//! English templates begin in lower case, because an opening ("In the evening, ") may come before them.

use super::facts::{PersonId, PlaceId};
use super::word::Word;

/// A kind of event, with the ways to say it.
#[derive(Debug)]
pub(crate) struct Frame {
    /// English templates.
    pub(crate) english: &'static [&'static str],
    /// Chinese templates.
    pub(crate) chinese: &'static [&'static str],
}

/// A frame from its templates in each language.
pub(crate) const fn frame(english: &'static [&'static str], chinese: &'static [&'static str]) -> Frame {
    Frame { english, chinese }
}

/// What can fill a role.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    /// Somebody.
    Person(PersonId),
    /// A town, city or village.
    Place(PlaceId),
    /// Anything with a word.
    Word(&'static Word),
    /// How many.
    Number(u32),
}

impl From<PersonId> for Value {
    fn from(id: PersonId) -> Self {
        Self::Person(id)
    }
}
impl From<PlaceId> for Value {
    fn from(id: PlaceId) -> Self {
        Self::Place(id)
    }
}
impl From<&'static Word> for Value {
    fn from(word: &'static Word) -> Self {
        Self::Word(word)
    }
}
impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

/// Something that happened, is true, or is said.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) frame: &'static Frame,
    /// What comes before the sentence proper: the time of day, a connective, a source, an address.
    pub(crate) opening: Option<Box<Event>>,
    /// Whether something new begins, so that people must be named again.
    pub(crate) fresh: bool,
    roles: Vec<(&'static str, Value)>,
}

impl Event {
    /// An event of a kind, with no roles yet.
    pub(crate) fn new(frame: &'static Frame) -> Self {
        Self { frame, opening: None, fresh: false, roles: Vec::new() }
    }

    /// The event with one more role.
    pub(crate) fn with(mut self, role: &'static str, value: impl Into<Value>) -> Self {
        self.roles.push((role, value.into()));
        self
    }

    /// The event with an opening.
    pub(crate) fn after(mut self, opening: Event) -> Self {
        self.opening = Some(Box::new(opening));
        self
    }

    /// The value of a role.
    ///
    /// # Panics
    /// If the event has no such role: its frame's template and its simulation disagree.
    pub(crate) fn value(&self, role: &str) -> Value {
        let found = self.roles.iter().find(|(name, _)| *name == role);
        found.unwrap_or_else(|| panic!("no role {role:?} for {:?}", self.frame.english[0])).1
    }

    /// The persons of the event.
    pub(crate) fn persons(&self) -> impl Iterator<Item = PersonId> {
        self.roles.iter().filter_map(|(_, value)| match value {
            Value::Person(id) => Some(*id),
            _ => None,
        })
    }
}
