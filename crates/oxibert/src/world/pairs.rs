//! Pairs: a sentence in English and one in Chinese that say the same. What the demo's translator learns from.
//!
//! The n-th template of a frame says the same in each language, so a pair takes the same template and the same choices for
//! both, and decides beforehand how its people are spoken of. Where one language says more than the other (a
//! choice that the other does not have, a role that it leaves unsaid), the template is passed over.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::Range;

use super::discourse::Perspective;
use super::event::{Event, Frame, Value};
use super::facts::PersonId;
use super::teller::{Manner, Teller, is_speech, next_slot};
use super::{Language, World, genre};
use crate::random::Random;

/// Choices of English templates that Chinese has in another order or with another sense.
const LOOSE: [&str; 15] = [
    " in {home}| on market day|, which is not too much",
    "after {h.hours} of talk|and took it along|as a present",
    "at once|quickly|late",
    "busy|lively|noisy",
    "by {who.obj}|by {who.name} and {whom.name}|before the rain comes",
    "called|counted as",
    "called|cried",
    "help|trouble",
    "just what {whom.he} needed|the very thing {whom.he} had wished for",
    "people|carts|{n} traders and their carts",
    "pleased|satisfied",
    "says {friend.full}|as all of {home} knows|even on a bad day",
    "stayed at home|did not work",
    "well|with care|slowly",
    "when the market is open|next to {whom.name}|near the {landmark}",
];

impl World {
    /// Pair number `index`: a sentence in English and its translation to Chinese.
    ///
    /// ```
    /// use oxibert::world::World;
    ///
    /// let world = World::new(42);
    /// let (english, chinese) = world.pair(0);
    /// assert!(english.is_ascii() && !chinese.is_ascii());
    /// assert_eq!((english, chinese), World::new(42).pair(0));
    /// ```
    #[must_use]
    pub fn pair(&self, index: u64) -> (String, String) {
        let mut random = Random::new(self.seed, "world pair", index);
        loop {
            let chance = Random::new(self.seed, "world pair story", random.bits());
            let (_, story) = genre::story(&self.facts, self.only, chance);
            let event = random.pick(&story.events);
            // Few events have no template in which both languages say the same.
            if let Some(pair) = self.both(event, story.perspective, &mut random) {
                return pair;
            }
        }
    }

    /// Writes pairs as lines of `English TAB Chinese`.
    ///
    /// ```
    /// # use oxibert::world::World;
    /// let mut table = Vec::new();
    /// World::new(1).write_pairs(0..3, &mut table)?;
    /// assert_eq!(String::from_utf8_lossy(&table).matches('\t').count(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the writer refuses.
    pub fn write_pairs(&self, indices: Range<u64>, out: &mut dyn Write) -> io::Result<()> {
        for index in indices {
            let (english, chinese) = self.pair(index);
            writeln!(out, "{english}\t{chinese}")?;
        }
        Ok(())
    }

    /// One event in both languages, if they can say the same.
    fn both(&self, event: &Event, perspective: Perspective, random: &mut Random) -> Option<(String, String)> {
        let text = Wording::draw(event.frame, random)?;
        let speech = is_speech(&text.english) || is_speech(&text.chinese);
        let before = match &event.opening {
            Some(opening) if !speech => Some(Wording::draw(opening.frame, random)?),
            _ => None,
        };
        let words = |language| (before.as_ref().map(|before| before.of(language)), text.of(language));
        let [english, chinese] = [Language::English, Language::Chinese].map(|language| {
            let (before, text) = words(language);
            mentions(event, before, text)
        });
        let manner = self.manner(&english, &chinese, perspective, random);
        let say = |language| {
            let (before, text) = words(language);
            Teller::decided(&self.facts, language, perspective, manner.clone()).realise(event, before, text)
        };
        Some((say(Language::English), say(Language::Chinese)))
    }

    /// Decides who is a pronoun and who is introduced by their job, where both languages can follow.
    fn manner(
        &self,
        english: &[Mentioned<'_>],
        chinese: &[Mentioned<'_>],
        perspective: Perspective,
        random: &mut Random,
    ) -> Manner {
        let fixed = [perspective.narrator, perspective.reader];
        let mut people: Vec<PersonId> = Vec::new();
        for mentioned in
            english.iter().chain(chinese).filter(|mentioned| !fixed.contains(&Some(mentioned.id)))
        {
            if !people.contains(&mentioned.id) {
                people.push(mentioned.id);
            }
        }
        let female = |id: &PersonId| self.facts.person(*id).female;
        let hero = people.first().copied();
        let alone = |id: &PersonId| people.iter().filter(|other| female(other) == female(id)).count() == 1;
        let unnamed = |id: &PersonId| [english, chinese].iter().all(|all| can_be_pronoun(all, *id));
        let pronoun = hero.filter(|id| alone(id) && unnamed(id) && random.chance(0.5));
        let introduced = |id: &PersonId| [english, chinese].iter().all(|all| can_be_titled(all, *id));
        let titled = people.iter().copied().filter(|id| introduced(id) && random.chance(0.5)).collect();
        Manner { pronoun, titled }
    }
}

/// A template's text in both languages, its choices made.
struct Wording {
    english: String,
    chinese: String,
}

impl Wording {
    /// One of a frame's templates in which both languages say the same.
    fn draw(frame: &Frame, random: &mut Random) -> Option<Self> {
        let mut order: Vec<usize> = (0..frame.english.len().min(frame.chinese.len())).collect();
        random.shuffle(&mut order);
        order.into_iter().find_map(|n| Self::of_template(frame.english[n], frame.chinese[n], random))
    }

    /// A template with the same choices made in both languages, if each language has them all.
    fn of_template(english: &str, chinese: &str, random: &mut Random) -> Option<Self> {
        let (ours, theirs) = (groups(english), groups(chinese));
        let twins = twins(&ours, &theirs)?;
        let picked: Vec<usize> = ours.iter().map(|group| random.below(group.len() as u64) as usize).collect();
        let followed: Vec<usize> = twins.into_iter().map(|twin| picked[twin]).collect();
        let made = Self { english: made(english, &picked), chinese: made(chinese, &followed) };
        (roles(&made.english) == roles(&made.chinese)).then_some(made)
    }

    fn of(&self, language: Language) -> &str {
        match language {
            Language::English => &self.english,
            Language::Chinese => &self.chinese,
        }
    }
}

/// The choices of each `[a|b]`, in order.
fn groups(template: &str) -> Vec<Vec<&str>> {
    let inside = template.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    inside.map(|(choices, _)| choices.split('|').collect()).collect()
}

/// For each Chinese group of choices the English one that says the same: as many choices, each with the same roles.
/// `None` if one has no twin.
fn twins(english: &[Vec<&str>], chinese: &[Vec<&str>]) -> Option<Vec<usize>> {
    if english.len() != chinese.len() || english.iter().any(|group| is_loose(group)) {
        return None;
    }
    let same = |ours: &[&str], theirs: &[&str]| {
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| roles(a) == roles(b))
    };
    let mut twins = Vec::with_capacity(chinese.len());
    for group in chinese {
        let free = (0..english.len()).find(|at| !twins.contains(at) && same(&english[*at], group));
        twins.push(free?);
    }
    Some(twins)
}

fn is_loose(group: &[&str]) -> bool {
    LOOSE.contains(&group.join("|").as_str())
}

/// A template with these choices made.
fn made(template: &str, picks: &[usize]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    for pick in picks {
        let (before, after) = rest.split_once('[').expect("as many choices as were counted");
        let (choices, tail) = after.split_once(']').expect("a template closes what it opens");
        text.push_str(before);
        text.push_str(choices.split('|').nth(*pick).expect("a choice that was counted"));
        rest = tail;
    }
    text + rest
}

/// Forms that only refer to what is said elsewhere, or that a language needs for its grammar. What kind of place it is,
/// Chinese says in its name.
const REFERRING: [&str; 7] = ["he", "him", "his", "it", "they", "was", "kind"];

/// Forms that say something else than the role alone.
const TELLING: [&str; 2] = ["wife", "daughter"];

/// What a text says something about.
fn roles(text: &str) -> BTreeSet<(&str, &str)> {
    let said = slots(text).into_iter().filter(|(_, form)| !REFERRING.contains(form));
    said.map(|(role, form)| (role, if TELLING.contains(&form) { form } else { "" })).collect()
}

/// Roles and forms of a text, in order; the group of all its people is not one of them.
fn slots(text: &str) -> Vec<(&str, &str)> {
    let mut slots = Vec::new();
    let mut rest = text;
    while let Some((_, slot, after)) = next_slot(rest) {
        rest = after;
        match slot.split_once(':') {
            _ if matches!(slot, "they" | "them") => {}
            Some((number, noun)) => slots.extend([(number, ""), (noun, "")]),
            None => slots.push(slot.split_once('.').unwrap_or((slot, ""))),
        }
    }
    slots
}

/// A person in a sentence, and the form in which the template wants them.
struct Mentioned<'t> {
    id: PersonId,
    form: &'t str,
}

/// Everyone whom these words mention, in order.
fn mentions<'t>(event: &Event, before: Option<&'t str>, text: &'t str) -> Vec<Mentioned<'t>> {
    let opening = event.opening.as_deref().zip(before);
    let spoken = opening.into_iter().chain([(event, text)]);
    let slots = spoken.flat_map(|(event, words)| slots(words).into_iter().map(move |slot| (event, slot)));
    slots
        .filter_map(|(event, (role, form))| match event.value(role) {
            Value::Person(id) => Some(Mentioned { id, form }),
            _ => None,
        })
        .collect()
}

/// Whether no name of this person is asked for.
fn can_be_pronoun(all: &[Mentioned<'_>], id: PersonId) -> bool {
    all.iter().filter(|one| one.id == id).all(|one| !matches!(one.form, "name" | "full" | "call"))
}

/// Whether the first name of this person is one that a job can stand before.
fn can_be_titled(all: &[Mentioned<'_>], id: PersonId) -> bool {
    let mut named = all.iter().filter(|one| one.id == id);
    let first = named.find(|one| matches!(one.form, "" | "obj" | "s" | "name" | "full"));
    first.is_some_and(|one| matches!(one.form, "" | "obj" | "s"))
}

#[cfg(test)]
mod tests;
