//! What a listener already knows: who has been named, who is meant by "she", which phrases are used up.

use super::event::Frame;
use super::facts::{Facts, PersonId};
use crate::random::Random;

/// How to refer to a person at this point of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mention {
    /// The narrator of a letter.
    Narrator,
    /// The reader of a letter.
    Reader,
    /// For the first time.
    First,
    /// By name, again.
    Again,
    /// By pronoun.
    Pronoun,
}

/// Who writes to whom, where a text is a letter.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Perspective {
    pub(crate) narrator: Option<PersonId>,
    pub(crate) reader: Option<PersonId>,
}

/// The state of a text between two sentences.
#[derive(Debug, Default)]
pub(crate) struct Discourse {
    pub(crate) perspective: Perspective,
    known: Vec<PersonId>,
    /// Persons of the last sentence, in the order of their mention: the first is its subject.
    last: Vec<PersonId>,
    current: Vec<PersonId>,
    /// Sentences in a row that began with a pronoun; names must come back, or the text loses its people.
    pronouns: u32,
    used: Vec<(&'static Frame, usize)>,
}

impl Discourse {
    /// Nothing said yet, by this narrator to this reader.
    pub(crate) fn new(perspective: Perspective) -> Self {
        Self { perspective, ..Self::default() }
    }

    /// Decides how to refer to a person, and remembers the mention.
    pub(crate) fn mention(&mut self, id: PersonId, facts: &Facts, random: &mut Random) -> Mention {
        let mention = self.choose(id, facts, random);
        self.note(id);
        mention
    }

    /// Decides for a name even where a pronoun could stand, and remembers the mention.
    pub(crate) fn by_name(&mut self, id: PersonId) -> Mention {
        let mention = self.fixed(id).unwrap_or_else(|| self.name(id));
        self.note(id);
        mention
    }

    /// The narrator or the reader, whom only a pronoun can mean.
    pub(crate) fn fixed(&self, id: PersonId) -> Option<Mention> {
        match Some(id) {
            who if who == self.perspective.narrator => Some(Mention::Narrator),
            who if who == self.perspective.reader => Some(Mention::Reader),
            _ => None,
        }
    }

    fn choose(&self, id: PersonId, facts: &Facts, random: &mut Random) -> Mention {
        if let Some(mention) = self.fixed(id) {
            return mention;
        }
        let female = facts.person(id).female;
        let rival = |other: &PersonId| {
            *other != id && self.fixed(*other).is_none() && facts.person(*other).female == female
        };
        let clear = self.last.first() == Some(&id) && !self.last.iter().chain(&self.current).any(rival);
        if clear && !self.current.contains(&id) && self.pronouns < 2 && random.chance(0.6) {
            return Mention::Pronoun;
        }
        self.name(id)
    }

    fn name(&self, id: PersonId) -> Mention {
        if self.known.contains(&id) { Mention::Again } else { Mention::First }
    }

    fn note(&mut self, id: PersonId) {
        if !self.known.contains(&id) {
            self.known.push(id);
        }
        if !self.current.contains(&id) {
            self.current.push(id);
        }
    }

    /// Begins something new: nobody can be meant by a pronoun.
    pub(crate) fn begin(&mut self) {
        self.last.clear();
    }

    /// Ends a sentence.
    pub(crate) fn end_sentence(&mut self, began_with_pronoun: bool) {
        self.pronouns = if began_with_pronoun { self.pronouns + 1 } else { 0 };
        self.last = std::mem::take(&mut self.current);
    }

    /// Picks one of a frame's templates, none a second time while others are left.
    pub(crate) fn template(&mut self, frame: &'static Frame, count: usize, random: &mut Random) -> usize {
        let used = |index: &usize| self.used.iter().any(|(f, i)| std::ptr::eq(*f, frame) && i == index);
        let fresh: Vec<usize> = (0..count).filter(|index| !used(index)).collect();
        let index = if fresh.is_empty() { random.below(count as u64) as usize } else { *random.pick(&fresh) };
        self.used.push((frame, index));
        index
    }
}
