//! Genres: the kinds of documents. Each is a function from the facts and chance to a story.
//!
//! A new genre is a file with such a function, a variant of [`Genre`] and a line in [`Genre::ALL`] and [`story_of`].

mod chronicle;
mod day;
mod dialogue;
mod howto;
mod journey;
mod letter;
mod market;
mod portrait;
mod town;
mod workday;

use super::facts::Facts;
use super::scene::{Scene, Story};
use crate::random::Random;

/// What kind of text a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Genre {
    /// A day in a village, town or city.
    Day,
    /// Goods and prices of a market day.
    Market,
    /// A journey from place to place.
    Journey,
    /// The weather of some days and what it did.
    Chronicle,
    /// A letter from one person to another.
    Letter,
    /// An encyclopedia's entry on a place.
    Town,
    /// An encyclopedia's entry on a person.
    Portrait,
    /// Two people talking.
    Dialogue,
    /// How to cook a dish or grow a plant.
    HowTo,
    /// A day's work of one trade: few words, short sentences. Only worlds that write nothing else have it.
    Workday,
}

impl Genre {
    /// All genres.
    pub const ALL: [Self; 10] = [
        Self::Day,
        Self::Market,
        Self::Journey,
        Self::Chronicle,
        Self::Letter,
        Self::Town,
        Self::Portrait,
        Self::Dialogue,
        Self::HowTo,
        Self::Workday,
    ];
}

/// Makes up the story of a document, of one genre if only that is wanted; otherwise stories of people are the commonest.
pub(crate) fn story(facts: &Facts, only: Option<Genre>, mut random: Random) -> (Genre, Story) {
    let drawn = match random.below(20) {
        0..5 => Genre::Day,
        5..7 => Genre::Market,
        7..9 => Genre::Journey,
        9..11 => Genre::Chronicle,
        11..14 => Genre::Letter,
        14 => Genre::Town,
        15 => Genre::Portrait,
        16..18 => Genre::Dialogue,
        _ => Genre::HowTo,
    };
    let genre = only.unwrap_or(drawn);
    (genre, story_of(genre, Scene::new(facts, random)))
}

fn story_of(genre: Genre, scene: Scene<'_>) -> Story {
    match genre {
        Genre::Day => day::story(scene),
        Genre::Market => market::story(scene),
        Genre::Journey => journey::story(scene),
        Genre::Chronicle => chronicle::story(scene),
        Genre::Letter => letter::story(scene),
        Genre::Town => town::story(scene),
        Genre::Portrait => portrait::story(scene),
        Genre::Dialogue => dialogue::story(scene),
        Genre::HowTo => howto::story(scene),
        Genre::Workday => workday::story(scene),
    }
}
