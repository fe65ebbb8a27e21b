//! From events to sentences: templates are filled slot by slot, in the language asked for.

use super::discourse::{Discourse, Mention, Perspective};
use super::event::{Event, Frame, Value};
use super::facts::{Facts, PersonId};
use super::{Language, chinese, english};
use crate::random::Random;

/// Tells a story in one language.
pub(crate) struct Teller<'w> {
    pub(crate) facts: &'w Facts,
    language: Language,
    random: Random,
    discourse: Discourse,
    manner: Option<Manner>,
}

/// How people are spoken of, decided beforehand so that two languages do the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manner {
    /// Who is never named, only he or she.
    pub(crate) pronoun: Option<PersonId>,
    /// Who is introduced by their job.
    pub(crate) titled: Vec<PersonId>,
}

impl<'w> Teller<'w> {
    /// A teller who has said nothing yet.
    pub(crate) fn new(
        facts: &'w Facts,
        language: Language,
        perspective: Perspective,
        random: Random,
    ) -> Self {
        Self { facts, language, random, discourse: Discourse::new(perspective), manner: None }
    }

    /// A teller who speaks of people in this manner, and leaves nothing to chance.
    pub(crate) fn decided(
        facts: &'w Facts,
        language: Language,
        perspective: Perspective,
        manner: Manner,
    ) -> Self {
        let unused = Random::new(0, "world nothing", 0);
        Self { manner: Some(manner), ..Self::new(facts, language, perspective, unused) }
    }

    /// Says one event.
    pub(crate) fn say(&mut self, event: &Event) -> String {
        if event.fresh {
            self.discourse.begin();
        }
        let text = self.template(event);
        let opening = event.opening.as_ref().filter(|_| !is_speech(&text));
        let before = opening.map(|opening| self.template(opening));
        self.realise(event, before.as_deref(), &text)
    }

    /// Says one event in these words: those of its opening, if there are any, and its own.
    pub(crate) fn realise(&mut self, event: &Event, before: Option<&str>, text: &str) -> String {
        let mut sentence = String::with_capacity(2 * text.len());
        if let (Some(opening), Some(before)) = (&event.opening, before) {
            self.expand(opening, before, &mut sentence);
        }
        let pronoun_first = self.expand(event, text, &mut sentence);
        self.discourse.end_sentence(pronoun_first);
        match self.language {
            Language::English => english::finish(&sentence),
            Language::Chinese => sentence,
        }
    }

    /// One of the templates of an event, its choices made.
    fn template(&mut self, event: &Event) -> String {
        let templates = templates(event.frame, self.language);
        let index = self.discourse.template(event.frame, templates.len(), &mut self.random);
        self.choose(templates[index])
    }

    /// Writes a template with its slots filled; true if a person who became a pronoun comes first.
    fn expand(&mut self, event: &Event, text: &str, out: &mut String) -> bool {
        let mut pronoun_first = false;
        let mut rest = text;
        while let Some((literal, slot, after)) = next_slot(rest) {
            out.push_str(literal);
            let before = out.len();
            let pronoun = self.fill(event, slot, out);
            pronoun_first |= pronoun && before == 0;
            rest = after;
        }
        out.push_str(rest);
        pronoun_first
    }

    /// Replaces each `[a|b]` by one of its choices.
    fn choose(&mut self, template: &str) -> String {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('[') {
            let (choices, tail) = after.split_once(']').expect("a template closes what it opens");
            let choices: Vec<&str> = choices.split('|').collect();
            text.push_str(before);
            let choice: &str = self.random.pick::<&str>(&choices);
            text.push_str(choice);
            rest = tail;
        }
        text + rest
    }

    /// Writes one slot; true if it is a person who became a pronoun.
    fn fill(&mut self, event: &Event, slot: &str, out: &mut String) -> bool {
        if matches!(slot, "they" | "them") {
            out.push_str(self.group(event, slot));
            return false;
        }
        if let Some((number, noun)) = slot.split_once(':') {
            let (Value::Number(n), Value::Word(word)) = (event.value(number), event.value(noun)) else {
                panic!("{{{slot}}} is not a number and a word")
            };
            match self.language {
                Language::English => english::counted(n, word, out),
                Language::Chinese => chinese::counted(n, word, out),
            }
            return false;
        }
        let (role, form) = slot.split_once('.').unwrap_or((slot, ""));
        self.write(event.value(role), form, out)
    }

    fn write(&mut self, value: Value, form: &str, out: &mut String) -> bool {
        match (value, self.language) {
            (Value::Person(id), language) => {
                let mention = self.mention(id, form);
                let person = self.facts.person(id);
                let titled = mention == Mention::First && form != "name" && self.titles(id);
                match language {
                    Language::English => english::person(person, mention, form, titled, out),
                    Language::Chinese => chinese::person(person, mention, form, titled, out),
                }
                return mention == Mention::Pronoun;
            }
            (Value::Place(id), Language::English) => english::place(self.facts.place(id), form, out),
            (Value::Place(id), Language::Chinese) => chinese::place(self.facts.place(id), form, out),
            (Value::Word(word), Language::English) => english::word(word, form, out),
            (Value::Word(word), Language::Chinese) => chinese::word(word, form, out),
            (Value::Number(n), Language::English) => english::number(n, form, out),
            (Value::Number(n), Language::Chinese) => chinese::number(n, form, out),
        }
        false
    }

    /// Forms that are pronouns anyway say nothing about who is known.
    fn mention(&mut self, id: PersonId, form: &str) -> Mention {
        match form {
            "" | "obj" | "s" => match &self.manner {
                Some(manner) if manner.pronoun == Some(id) => Mention::Pronoun,
                Some(_) => self.discourse.by_name(id),
                None => self.discourse.mention(id, self.facts, &mut self.random),
            },
            "name" | "full" => self.discourse.by_name(id),
            _ => self.discourse.fixed(id).unwrap_or(Mention::Pronoun),
        }
    }

    /// A text introduces about half of its people by their job.
    fn titles(&mut self, id: PersonId) -> bool {
        match &self.manner {
            Some(manner) => manner.titled.contains(&id),
            None => self.random.chance(0.5),
        }
    }

    fn group(&self, event: &Event, slot: &str) -> &'static str {
        let narrator = self.discourse.perspective.narrator;
        let with_narrator = event.persons().any(|id| Some(id) == narrator);
        match self.language {
            Language::English => english::group(slot, with_narrator),
            Language::Chinese => {
                let women = event.persons().all(|id| self.facts.person(id).female);
                chinese::group(with_narrator, women)
            }
        }
    }
}

/// A frame's templates in a language.
pub(crate) fn templates(frame: &Frame, language: Language) -> &'static [&'static str] {
    match language {
        Language::English => frame.english,
        Language::Chinese => frame.chinese,
    }
}

/// Speech opens a sentence by itself: nothing comes before it.
pub(crate) fn is_speech(text: &str) -> bool {
    text.starts_with(['"', '“'])
}

/// The text before the next `{slot}`, the slot, and what follows it.
pub(crate) fn next_slot(text: &str) -> Option<(&str, &str, &str)> {
    let (literal, rest) = text.split_once('{')?;
    let (slot, after) = rest.split_once('}').expect("a template closes what it opens");
    Some((literal, slot, after))
}
