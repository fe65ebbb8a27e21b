//! A small made-up world that writes documents, so that everything runs without a corpus.
//!
//! A world is a map of places and the people who live there (`facts`). A document is a story that a
//! `genre` simulates with them: people buy, lose, quarrel, travel, cook, and each event changes the state that the
//! next one starts from (`scene`, `plots`). Events know no language (`event`); English and Chinese tell
//! the same ones (`teller`), so document 7 happens to the same people in both.
//!
//! Because stories are simulated, their sentences follow from each other: who buys a hat at noon owns it
//! in the evening, prices times pieces are totals, and what an entry says about a place holds in
//! every other document. That is what a model can learn here, and what makes labels exact.
//!
//! ```text
//! seed ─> facts ─┐
//!                ├─> genre, plots ─> events ─┬─> English sentences
//! index ─> chance┘                           └─> Chinese sentences
//! ```

mod chinese;
mod discourse;
mod english;
mod event;
mod facts;
mod genre;
mod lessons;
mod lexicon;
mod morphology;
mod pairs;
mod plots;
mod scene;
mod teller;
#[cfg(test)]
mod tests;
mod word;

use std::io::{self, Write};

use crate::random::Random;
use discourse::Perspective;
use facts::Facts;
pub use genre::Genre;
pub use lessons::{AnswerLesson, ChoiceLesson, ClassLesson, TagLesson};
use scene::Story;
use teller::Teller;

/// A language that the world speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// English, in ASCII.
    English,
    /// Modern Chinese in simplified characters.
    Chinese,
}

/// A text that the world wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// What kind of text it is.
    pub genre: Genre,
    /// Its heading, no sentence of its own.
    pub title: String,
    /// Its sentences, in order.
    pub sentences: Vec<String>,
}

/// A made-up world: everything it writes is a function of its seed.
///
/// ```
/// use oxibert::world::{Language, World};
///
/// let world = World::new(42);
/// let document = world.document(Language::English, 0);
/// assert!(document.sentences.len() >= 6);
/// assert_eq!(document, World::new(42).document(Language::English, 0));
/// ```
#[derive(Debug)]
pub struct World {
    seed: u64,
    facts: Facts,
    only: Option<Genre>,
}

impl World {
    /// The world that belongs to a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, facts: Facts::new(seed), only: None }
    }

    /// The same world, but all its documents are of one genre.
    ///
    /// ```
    /// # use oxibert::world::{Genre, Language, World};
    /// let world = World::new(1).only(Genre::Workday);
    /// assert!((0..5).all(|index| world.document(Language::Chinese, index).genre == Genre::Workday));
    /// ```
    #[must_use]
    pub fn only(self, genre: Genre) -> Self {
        Self { only: Some(genre), ..self }
    }

    /// Document number `index` in a language; the same events for every language.
    ///
    /// ```
    /// # use oxibert::world::{Language, World};
    /// let world = World::new(1);
    /// let (english, chinese) = (world.document(Language::English, 5), world.document(Language::Chinese, 5));
    /// assert_eq!(english.sentences.len(), chinese.sentences.len());
    /// assert_eq!(english.genre, chinese.genre);
    /// ```
    #[must_use]
    pub fn document(&self, language: Language, index: u64) -> Document {
        let (genre, story) =
            genre::story(&self.facts, self.only, Random::new(self.seed, "world story", index));
        self.tell(language, index, genre, &story)
    }

    /// The story of document number `index`, told.
    fn tell(&self, language: Language, index: u64, genre: Genre, story: &Story) -> Document {
        let purpose = match language {
            Language::English => "world english",
            Language::Chinese => "world chinese",
        };
        // A title is read alone: it neither introduces people nor speaks as the narrator.
        let chance = Random::new(self.seed, purpose, index);
        let mut heading = Teller::new(&self.facts, language, Perspective::default(), chance.clone());
        let mut teller = Teller::new(&self.facts, language, story.perspective, chance);
        let title = heading.say(&story.title);
        let sentences = story.events.iter().map(|event| teller.say(event)).collect();
        Document { genre, title, sentences }
    }

    /// Writes documents `0..documents` in each of the languages, in the format of BERT's tools: one
    /// sentence per line, a blank line after each document. Of several languages the documents take turns.
    ///
    /// ```
    /// # use oxibert::world::{Language, World};
    /// let mut corpus = Vec::new();
    /// World::new(1).write_corpus(&[Language::English, Language::Chinese], 3, &mut corpus)?;
    /// assert_eq!(String::from_utf8_lossy(&corpus).matches("\n\n").count(), 6);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the writer refuses.
    pub fn write_corpus(
        &self,
        languages: &[Language],
        documents: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for index in 0..documents {
            for &language in languages {
                let text = self.document(language, index).sentences.join("\n");
                writeln!(out, "{text}\n")?;
            }
        }
        Ok(())
    }
}
