//! Labelled examples for every task of fine-tuning, made from days of work: who, where, with what and what came of it are
//! known exactly.
//!
//! Each task asks for something that unlabelled days of work teach as well: which words belong to one trade, what kind of
//! word stands where, which sentence can follow. So a model that has read them needs fewer labels.

use std::ops::Range;

use super::event::Value;
use super::lexicon::{JOBS, Job};
use super::{Genre, Language, World, genre};
use crate::random::Random;

/// Continuations of a [`ChoiceLesson`].
const CHOICES: usize = 4;
/// Sentences of an [`AnswerLesson`]'s context at most.
const CONTEXT: usize = 4;

/// A sentence, and the trade that it speaks of; whoever has it is only called a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassLesson {
    /// The sentence.
    pub text: String,
    /// The trade, in English.
    pub label: &'static str,
}

/// A sentence, and its words for people, trades, places, tools and goods.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagLesson {
    /// The sentence.
    pub text: String,
    /// Bytes of it, and `PER`, `JOB`, `LOC`, `TOOL` or `GOOD`; in order, without overlap.
    pub entities: Vec<(Range<usize>, &'static str)>,
}

/// A question about some sentences that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerLesson {
    /// The question.
    pub question: String,
    /// The sentences.
    pub context: String,
    /// Bytes of the context: the first place that answers.
    pub answer: Range<usize>,
}

/// A sentence, and sentences of which one comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChoiceLesson {
    /// The sentence.
    pub first: String,
    /// One is of the same day, the others are of other days.
    pub seconds: Vec<String>,
    /// The number of the one that comes next.
    pub right: usize,
}

/// A day of work, told.
struct Day {
    sentences: Vec<String>,
    job: &'static Job,
    /// The worker's names, the longest first.
    names: Vec<String>,
    random: Random,
}

impl World {
    /// The class lesson of day number `index`.
    #[must_use]
    pub fn class_lesson(&self, language: Language, index: u64) -> ClassLesson {
        let mut day = self.day(language, index);
        let mut text = day.random.pick(&day.sentences).clone();
        let (name, worker) = (form(language, &day.job.name), worker(language));
        while let Some(span) = find(&text, name, language) {
            text.replace_range(span, worker);
        }
        ClassLesson { text: text.replace(" an worker", " a worker"), label: day.job.name.english }
    }

    /// The tag lesson of day number `index`.
    ///
    /// ```
    /// # use oxibert::world::{Language, World};
    /// let lesson = World::new(42).tag_lesson(Language::English, 3);
    /// assert!(lesson.entities.iter().all(|(span, _)| lesson.text.get(span.clone()).is_some()));
    /// ```
    #[must_use]
    pub fn tag_lesson(&self, language: Language, index: u64) -> TagLesson {
        let mut day = self.day(language, index);
        let text = day.random.pick(&day.sentences).clone();
        let entities = day.entities(&text, language);
        TagLesson { text, entities }
    }

    /// The answer lesson of day number `index`.
    #[must_use]
    pub fn answer_lesson(&self, language: Language, index: u64) -> AnswerLesson {
        let mut day = self.day(language, index);
        let blank = if language == Language::English { " " } else { "" };
        // The first sentence names the worker, and soon the tool and the place are there.
        let context = day.sentences[..CONTEXT.min(day.sentences.len())].join(blank);
        let spans = day.entities(&context, language);
        let first = |kind: &str| spans.iter().find(|(_, known)| *known == kind).map(|(span, _)| span.clone());
        let known: Vec<(&str, Range<usize>)> =
            ["PER", "LOC", "TOOL"].into_iter().filter_map(|kind| Some((kind, first(kind)?))).collect();
        let (kind, answer) = day.random.pick(&known).clone();
        AnswerLesson { question: question(language, kind, day.job), context, answer }
    }

    /// The choice lesson of day number `index`.
    #[must_use]
    pub fn choice_lesson(&self, language: Language, index: u64) -> ChoiceLesson {
        let mut day = self.day(language, index);
        let place = day.random.below(day.sentences.len() as u64 - 1) as usize;
        let right = day.random.below(CHOICES as u64) as usize;
        let mut seconds = Vec::with_capacity(CHOICES);
        let mut other = index;
        while seconds.len() < CHOICES {
            if seconds.len() == right {
                seconds.push(day.sentences[place + 1].clone());
                continue;
            }
            other += 1 + day.random.below(97);
            let mut stranger = self.day(language, other);
            if stranger.job != day.job {
                seconds.push(stranger.random.pick(&stranger.sentences).clone());
            }
        }
        ChoiceLesson { first: day.sentences[place].clone(), seconds, right }
    }

    fn day(&self, language: Language, index: u64) -> Day {
        let chance = || Random::new(self.seed, "world story", index);
        let (genre, story) = genre::story(&self.facts, Some(Genre::Workday), chance());
        let Value::Person(who) = story.events[0].value("who") else { unreachable!("somebody works") };
        let person = self.facts.person(who);
        let names = match language {
            Language::English => vec![format!("{} {}", person.given, person.family), person.given.clone()],
            Language::Chinese => vec![person.chinese.clone()],
        };
        let job = person.job;
        let sentences = self.tell(language, index, genre, &story).sentences;
        Day { sentences, job, names, random: Random::new(self.seed, "world lesson", index) }
    }

    /// The trades that [`World::class_lesson`] tells apart.
    pub fn trades() -> impl Iterator<Item = &'static str> {
        JOBS.iter().map(|job| job.name.english)
    }
}

impl Day {
    /// The known words of a text, the longest first where one is part of another.
    fn entities(&self, text: &str, language: Language) -> Vec<(Range<usize>, &'static str)> {
        let Job { name, place, tool, product, .. } = self.job;
        let trade = [(name, "JOB"), (place, "LOC"), (tool, "TOOL"), (product, "GOOD")];
        let mut words: Vec<(&str, &'static str)> =
            self.names.iter().map(|name| (name.as_str(), "PER")).collect();
        words.extend(trade.map(|(word, kind)| (form(language, word), kind)));
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
        for (word, kind) in words {
            let mut at = 0;
            while let Some(span) = find(&text[at..], word, language) {
                let span = at + span.start..at + span.end;
                at = span.end;
                if found.iter().all(|(known, _)| known.end <= span.start || span.end <= known.start) {
                    found.push((span, kind));
                }
            }
        }
        found.sort_by_key(|(span, _)| span.start);
        found
    }
}

fn form(language: Language, word: &super::word::Word) -> &'static str {
    match language {
        Language::English => word.english,
        Language::Chinese => word.chinese,
    }
}

/// The first place of a word; in English a whole one, whose plural counts too.
fn find(text: &str, word: &str, language: Language) -> Option<Range<usize>> {
    if language == Language::Chinese {
        return text.find(word).map(|start| start..start + word.len());
    }
    // The world's English is ASCII: bytes are letters.
    let (lower, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let is_letter = |place: usize| lower.as_bytes().get(place).is_some_and(u8::is_ascii_alphabetic);
    lower.match_indices(&word).find_map(|(start, _)| {
        let end = (start + word.len()..).find(|&place| !is_letter(place))?;
        let ending = &lower[start + word.len()..end];
        let whole = (start == 0 || !is_letter(start - 1)) && matches!(ending, "" | "s" | "es");
        whole.then_some(start..end)
    })
}

/// What anybody who has a trade may be called.
fn worker(language: Language) -> &'static str {
    match language {
        Language::English => "worker",
        Language::Chinese => "工人",
    }
}

fn question(language: Language, kind: &str, job: &Job) -> String {
    let name = form(language, &job.name);
    match (language, kind) {
        (Language::English, "PER") => format!("What is the name of the {name}?"),
        (Language::English, "LOC") => format!("Where does the {name} work?"),
        (Language::English, _) => format!("What does the {name} work with?"),
        (Language::Chinese, "PER") => format!("{name}叫什么名字？"),
        (Language::Chinese, "LOC") => format!("{name}在哪里干活？"),
        (Language::Chinese, _) => format!("{name}用什么干活？"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const LANGUAGES: [Language; 2] = [Language::English, Language::Chinese];

    #[test]
    fn classes_are_trades_that_the_text_does_not_name() {
        let world = World::new(42);
        let lessons: Vec<ClassLesson> =
            (0..400).map(|index| world.class_lesson(Language::English, index)).collect();
        let silent =
            lessons.iter().filter(|lesson| find(&lesson.text, lesson.label, Language::English).is_none());
        assert_eq!(silent.count(), lessons.len(), "the name is the answer");
        let labels: HashSet<&str> = lessons.iter().map(|lesson| lesson.label).collect();
        assert!(labels.len() > 20 && labels.iter().all(|label| World::trades().any(|trade| trade == *label)));
    }

    #[test]
    fn entities_are_words_of_the_text() {
        let world = World::new(42);
        for language in LANGUAGES {
            let lessons: Vec<TagLesson> = (0..300).map(|index| world.tag_lesson(language, index)).collect();
            let kinds: HashSet<&str> =
                lessons.iter().flat_map(|lesson| &lesson.entities).map(|entity| entity.1).collect();
            assert_eq!(kinds.len(), 5, "{language:?}: {kinds:?}");
            for TagLesson { text, entities } in &lessons {
                assert!(entities.len() >= 2, "{text}");
                assert!(
                    entities.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start),
                    "{text}: {entities:?}"
                );
                assert!(entities.iter().all(|(span, _)| !text[span.clone()].trim().is_empty()));
            }
        }
    }

    #[test]
    fn answers_stand_in_their_context() {
        let world = World::new(42);
        for language in LANGUAGES {
            for index in 0..300 {
                let AnswerLesson { question, context, answer } = world.answer_lesson(language, index);
                assert!(
                    context.get(answer.clone()).is_some_and(|text| !text.is_empty()),
                    "{question} {context}"
                );
                assert!(question.ends_with(['?', '？']));
            }
        }
    }

    #[test]
    fn one_choice_is_the_next_sentence() {
        let world = World::new(42);
        let mut places = [0; CHOICES];
        for language in LANGUAGES {
            for index in 0..200 {
                let lesson = world.choice_lesson(language, index);
                assert_eq!(lesson.seconds.len(), CHOICES);
                let sentences = world.day(language, index).sentences;
                let place = sentences.iter().position(|text| *text == lesson.first).unwrap();
                assert_eq!(lesson.seconds[lesson.right], sentences[place + 1]);
                places[lesson.right] += 1;
            }
        }
        assert!(places.iter().all(|count| *count > 50), "{places:?}");
    }

    #[test]
    fn words_are_found_whole() {
        let english = |text, word| find(text, word, Language::English);
        assert_eq!(english("Two horseshoes lay there.", "horseshoe"), Some(4..14));
        assert_eq!(english("The bakery of the baker.", "baker"), Some(18..23));
        assert_eq!(english("An axehead.", "axe"), None);
        assert_eq!(find("面包师烤面包", "面包", Language::Chinese), Some(0..6));
    }
}
