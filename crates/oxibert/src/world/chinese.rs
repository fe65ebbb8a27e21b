//! Chinese: how values become words.
//!
//! Forms of a person: none, `obj` and `s` (all the same in Chinese), `name` (never a pronoun, except 我 and 你),
//! `full`, `call`; the fixed pronoun `he`; and the gendered nouns of [`GENDERED`]. Forms of a place: none, `kind`.
//! Forms of a word: none, `a` (一顶帽子), `one` (一顶), `that` (那顶帽子), `measure` (顶), `at` of a spot. Forms of a
//! number: none, `of` (before a measure word), `digits`, or a unit.

use super::discourse::Mention;
use super::facts::{CITY, Person, Place, TOWN};
use super::lexicon::UNITS;
use super::word::{Grammar, Word};

/// Nouns by gender, female first.
const GENDERED: [(&str, &str, &str); 2] = [("wife", "妻子", "丈夫"), ("daughter", "女儿", "儿子")];

/// Writes a reference to a person.
pub(crate) fn person(person: &Person, mention: Mention, form: &str, titled: bool, out: &mut String) {
    if let Some((_, female, male)) = GENDERED.iter().find(|(name, _, _)| *name == form) {
        return out.push_str(if person.female { female } else { male });
    }
    match (form, mention) {
        ("full" | "call", _) => out.push_str(&person.chinese),
        ("" | "obj" | "s" | "name" | "he", Mention::Narrator) => out.push('我'),
        ("" | "obj" | "s" | "name" | "he", Mention::Reader) => out.push('你'),
        ("" | "obj" | "s" | "he", Mention::Pronoun) => out.push(if person.female { '她' } else { '他' }),
        ("" | "obj" | "s" | "name", _) => {
            out.push_str(if titled { person.job.name.chinese } else { "" });
            out.push_str(&person.chinese);
        }
        (other, _) => panic!("no form {other:?} of a person in Chinese"),
    }
}

/// The pronoun of all persons of an event.
pub(crate) fn group(with_narrator: bool, women: bool) -> &'static str {
    match (with_narrator, women) {
        (true, _) => "我们",
        (false, true) => "她们",
        (false, false) => "他们",
    }
}

/// Writes a place: its name, or `kind`.
pub(crate) fn place(place: &Place, form: &str, out: &mut String) {
    out.push_str(match form {
        "kind" if place.population >= CITY => "城市",
        "kind" if place.population >= TOWN => "小镇",
        "kind" => "村庄",
        _ => &place.chinese,
    });
}

/// Writes a word in a form.
pub(crate) fn word(word: &Word, form: &str, out: &mut String) {
    let base = word.chinese;
    match (form, &word.grammar) {
        ("", _) => out.push_str(base),
        ("at", Grammar::Spot { locative, .. }) => out.extend([base, locative]),
        ("a", _) => out.extend(["一", word.measure(), base]),
        ("one", _) => out.extend(["一", word.measure()]),
        ("that", _) => out.extend(["那", word.measure(), base]),
        ("measure", _) => out.push_str(word.measure()),
        (other, _) => panic!("no form {other:?} of {base:?} in Chinese"),
    }
}

/// Writes so many of something: 两 before a measure word, 二 elsewhere.
pub(crate) fn counted(n: u32, word: &Word, out: &mut String) {
    number(n, "of", out);
    out.extend([word.measure(), word.chinese]);
}

const DIGITS: [&str; 10] = ["零", "一", "二", "三", "四", "五", "六", "七", "八", "九"];

/// Writes a number: in characters below a hundred, in digits above.
pub(crate) fn number(n: u32, form: &str, out: &mut String) {
    match form {
        "digits" => out.push_str(&n.to_string()),
        "of" if n == 2 => out.push('两'),
        "" | "of" => out.push_str(&spelled(n)),
        unit => {
            let found = UNITS.iter().find(|(name, _)| *name == unit);
            counted(n, &found.unwrap_or_else(|| panic!("no unit {unit:?}")).1, out);
        }
    }
}

fn spelled(n: u32) -> String {
    let digit = |d: u32| DIGITS[d as usize];
    match (n / 10, n % 10) {
        (0, ones) => digit(ones).to_owned(),
        (1, 0) => "十".to_owned(),
        (1, ones) => format!("十{}", digit(ones)),
        (tens @ 2..10, 0) => format!("{}十", digit(tens)),
        (tens @ 2..10, ones) => format!("{}十{}", digit(tens), digit(ones)),
        _ => n.to_string(),
    }
}
