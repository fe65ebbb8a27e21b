//! English: how values become words.
//!
//! Forms of a person: none (subject), `obj`, `s` (possessive), `name` (never a pronoun, except I and you),
//! `full`, `call` (to call somebody by); fixed pronouns `he`, `him`, `his`; agreement `was`; and the gendered
//! nouns of [`GENDERED`]. Forms of a place: none, `kind`. Forms of a word: none, `a`, `the`, `s` (plural),
//! `unit`, `at` of a spot, `past`, `ing`, `er`, `it`, `they`, `was`. Forms of a number: none, `digits`, or a unit.

use super::discourse::Mention;
use super::facts::{CITY, Person, Place, TOWN};
use super::lexicon::UNITS;
use super::morphology::{articles, comparative, participle, past, plural};
use super::word::{Grammar, Word};

/// Nouns by gender, female first.
const GENDERED: [(&str, &str, &str); 2] = [("wife", "wife", "husband"), ("daughter", "daughter", "son")];

/// Writes a reference to a person.
pub(crate) fn person(person: &Person, mention: Mention, form: &str, titled: bool, out: &mut String) {
    if let Some((_, female, male)) = GENDERED.iter().find(|(name, _, _)| *name == form) {
        return out.push_str(if person.female { female } else { male });
    }
    match form {
        "full" => name(person, true, false, out),
        "call" => out.push_str(&person.given),
        "" | "obj" | "name" | "s" if matches!(mention, Mention::First | Mention::Again) => {
            name(person, mention == Mention::First, titled, out);
            if form == "s" {
                out.push_str("'s");
            }
        }
        _ => out.push_str(pronoun(person.female, mention, form)),
    }
}

fn name(person: &Person, first: bool, titled: bool, out: &mut String) {
    if titled {
        out.push_str("the ");
        out.push_str(person.job.name.english);
        out.push(' ');
    }
    out.push_str(&person.given);
    if first {
        out.push(' ');
        out.push_str(&person.family);
    }
}

fn pronoun(female: bool, mention: Mention, form: &str) -> &'static str {
    let column = match mention {
        Mention::Narrator => 0,
        Mention::Reader => 1,
        _ if female => 2,
        _ => 3,
    };
    let row = match form {
        "obj" | "him" => ["me", "you", "her", "him"],
        "s" | "his" => ["my", "your", "her", "his"],
        "was" => ["was", "were", "was", "was"],
        "" | "he" | "name" => ["I", "you", "she", "he"],
        other => panic!("no form {other:?} of a person in English"),
    };
    row[column]
}

/// The pronoun of all persons of an event.
pub(crate) fn group(slot: &str, with_narrator: bool) -> &'static str {
    match (slot, with_narrator) {
        ("they", true) => "we",
        ("them", true) => "us",
        ("they", false) => "they",
        _ => "them",
    }
}

/// Writes a place: its name, or `kind`.
pub(crate) fn place(place: &Place, form: &str, out: &mut String) {
    out.push_str(match form {
        "kind" if place.population >= CITY => "city",
        "kind" if place.population >= TOWN => "town",
        "kind" => "village",
        _ => &place.english,
    });
}

/// Writes a word in a form.
pub(crate) fn word(word: &Word, form: &str, out: &mut String) {
    let base = word.english;
    match (form, &word.grammar) {
        ("", _) => out.push_str(base),
        ("a", Grammar::Mass { unit, .. }) => out.extend(["a ", unit, " of ", base]),
        ("a", _) => out.extend(["a ", base]),
        ("the", _) => out.extend(["the ", base]),
        ("at", Grammar::Spot { at, .. }) => out.extend([at, " the ", base]),
        ("unit", Grammar::Mass { unit, .. }) => out.push_str(unit),
        ("unit", _) => out.push_str(base),
        ("s", Grammar::Mass { .. }) => out.push_str(base),
        ("s", _) => out.push_str(&plural(base)),
        ("past", _) => out.push_str(&past(base)),
        ("ing", _) => out.push_str(&participle(base)),
        ("er", _) => out.push_str(&comparative(base)),
        ("it", _) => out.push_str(if word.is_pair() { "them" } else { "it" }),
        ("they", _) => out.push_str(if word.is_pair() { "they" } else { "it" }),
        ("was", _) => out.push_str(if word.is_pair() { "were" } else { "was" }),
        (other, _) => panic!("no form {other:?} of {base:?} in English"),
    }
}

/// Writes so many of something.
pub(crate) fn counted(n: u32, word: &Word, out: &mut String) {
    number(n, "", out);
    out.push(' ');
    let many = |noun: &str| if n == 1 { noun.to_owned() } else { plural(noun) };
    match word.grammar {
        Grammar::Mass { unit, .. } => out.extend([&many(unit), " of ", word.english]),
        _ => out.push_str(&many(word.english)),
    }
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Writes a number: in words below a hundred, in digits above.
pub(crate) fn number(n: u32, form: &str, out: &mut String) {
    match form {
        "digits" => out.push_str(&n.to_string()),
        "" => out.push_str(&spelled(n)),
        unit => {
            let found = UNITS.iter().find(|(name, _)| *name == unit);
            counted(n, &found.unwrap_or_else(|| panic!("no unit {unit:?}")).1, out);
        }
    }
}

fn spelled(n: u32) -> String {
    match n {
        0..20 => SMALL[n as usize].to_owned(),
        20..100 if n.is_multiple_of(10) => TENS[n as usize / 10].to_owned(),
        20..100 => format!("{}-{}", TENS[n as usize / 10], SMALL[n as usize % 10]),
        _ => n.to_string(),
    }
}

/// Makes a filled template a sentence: right articles, a capital at its start.
pub(crate) fn finish(sentence: &str) -> String {
    let mut text = articles(sentence);
    if let Some(at) = text.find(|letter: char| letter.is_ascii_alphanumeric()) {
        text[at..=at].make_ascii_uppercase();
    }
    text
}
