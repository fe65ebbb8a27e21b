//! English inflection: plurals, past tenses, participles, comparatives, articles.
//!
//! Rules for the regular, short tables for the irregular words of this world. Phrases inflect where English
//! does: nouns at the end ("walking sticks"), verbs at the beginning ("baked bread").

const PLURALS: [(&str, &str); 5] =
    [("loaf", "loaves"), ("scarf", "scarves"), ("goose", "geese"), ("trout", "trout"), ("person", "people")];

const PASTS: [(&str, &str); 14] = [
    ("build", "built"),
    ("catch", "caught"),
    ("grind", "ground"),
    ("weave", "wove"),
    ("sell", "sold"),
    ("blow", "blew"),
    ("make", "made"),
    ("sing", "sang"),
    ("swim", "swam"),
    ("read", "read"),
    ("tell", "told"),
    ("grow", "grew"),
    ("fly", "flew"),
    ("write", "wrote"),
];

fn is_vowel(letter: Option<char>) -> bool {
    matches!(letter, Some('a' | 'e' | 'i' | 'o' | 'u'))
}

/// A noun phrase in the plural.
pub(crate) fn plural(phrase: &str) -> String {
    let start = phrase.rfind(' ').map_or(0, |space| space + 1);
    let (before, noun) = phrase.split_at(start);
    if let Some((_, irregular)) = PLURALS.iter().find(|(singular, _)| *singular == noun) {
        return format!("{before}{irregular}");
    }
    let mut letters = noun.chars().rev();
    let (last, previous) = (letters.next(), letters.next());
    match last {
        Some('y') if !is_vowel(previous) => format!("{before}{}ies", &noun[..noun.len() - 1]),
        Some('s' | 'x') => format!("{phrase}es"),
        Some('h') if matches!(previous, Some('s' | 'c')) => format!("{phrase}es"),
        _ => format!("{phrase}s"),
    }
}

/// A verb phrase with its first word changed by `inflect`.
fn verb(phrase: &str, inflect: impl Fn(&str) -> String) -> String {
    match phrase.split_once(' ') {
        Some((verb, rest)) => format!("{} {rest}", inflect(verb)),
        None => inflect(phrase),
    }
}

/// One vowel and one consonant at the end double the consonant: "chopped", "swimming", "hotter".
fn doubles(word: &str) -> bool {
    let mut letters = word.chars().rev();
    let (last, vowel, before) = (letters.next(), letters.next(), letters.next());
    let short = word.chars().filter(|letter| is_vowel(Some(*letter))).count() == 1;
    short && !is_vowel(last) && !matches!(last, Some('w' | 'x' | 'y')) && is_vowel(vowel) && !is_vowel(before)
}

fn suffixed(word: &str, suffix: &str) -> String {
    let last = word.chars().next_back().filter(|_| doubles(word)).map(String::from).unwrap_or_default();
    format!("{word}{last}{suffix}")
}

/// A verb phrase in the past.
pub(crate) fn past(phrase: &str) -> String {
    verb(phrase, |word| {
        if let Some((_, irregular)) = PASTS.iter().find(|(infinitive, _)| *infinitive == word) {
            return (*irregular).to_owned();
        }
        let mut letters = word.chars().rev();
        match (letters.next(), letters.next()) {
            (Some('e'), _) => format!("{word}d"),
            (Some('y'), previous) if !is_vowel(previous) => format!("{}ied", &word[..word.len() - 1]),
            _ => suffixed(word, "ed"),
        }
    })
}

/// A verb phrase as a present participle or gerund.
pub(crate) fn participle(phrase: &str) -> String {
    verb(phrase, |word| match word.strip_suffix('e') {
        Some(stem) => format!("{stem}ing"),
        None => suffixed(word, "ing"),
    })
}

/// An adjective compared: "colder", "foggier", "more precious".
pub(crate) fn comparative(adjective: &str) -> String {
    let vowels = adjective.chars().filter(|letter| is_vowel(Some(*letter))).count();
    if let Some(stem) = adjective.strip_suffix('y') {
        return format!("{stem}ier");
    }
    match adjective.strip_suffix('e') {
        _ if vowels > 2 => format!("more {adjective}"),
        Some(stem) => format!("{stem}er"),
        None => suffixed(adjective, "er"),
    }
}

/// Turns the article "a" into "an" where the next word begins with a vowel sound.
pub(crate) fn articles(text: &str) -> String {
    let mut fixed = String::with_capacity(text.len() + 4);
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        fixed.push_str(word);
        let article = matches!(word.trim_start_matches(['"', '(']), "a" | "A");
        if article && words.peek().is_some_and(|next| sounds_like_vowel(next)) {
            fixed.push('n');
        }
        if words.peek().is_some() {
            fixed.push(' ');
        }
    }
    fixed
}

fn sounds_like_vowel(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let silent_h = lower.starts_with("hour") || lower.starts_with("honest");
    let consonant_sound = lower.starts_with("one") || lower.starts_with("use") || lower.starts_with("uni");
    silent_h || (!consonant_sound && is_vowel(lower.chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns() {
        let cases =
            [("hat", "hats"), ("walking stick", "walking sticks"), ("pony", "ponies"), ("day", "days")];
        let more = [
            ("loaf", "loaves"),
            ("brush", "brushes"),
            ("box", "boxes"),
            ("watch", "watches"),
            ("goose", "geese"),
        ];
        cases.iter().chain(&more).for_each(|(one, many)| assert_eq!(plural(one), *many));
    }

    #[test]
    fn verbs() {
        let cases = [
            ("bake bread", "baked bread", "baking bread"),
            ("fry", "fried", "frying"),
            ("swim", "swam", "swimming"),
        ];
        let more = [
            ("chop firewood", "chopped firewood", "chopping firewood"),
            ("sew coats", "sewed coats", "sewing coats"),
        ];
        for (base, then, now) in cases.into_iter().chain(more) {
            assert_eq!((past(base).as_str(), participle(base).as_str()), (then, now));
        }
        assert_eq!((past("steam"), past("roast")), ("steamed".to_owned(), "roasted".to_owned()));
    }

    #[test]
    fn adjectives_and_articles() {
        let cases = [
            ("cold", "colder"),
            ("hot", "hotter"),
            ("foggy", "foggier"),
            ("fine", "finer"),
            ("precious", "more precious"),
        ];
        cases.iter().for_each(|(base, more)| assert_eq!(comparative(base), *more));
        assert_eq!(
            articles("a axe, a honest man, a hour, a hat and a one-eyed cat"),
            "an axe, an honest man, an hour, a hat and a one-eyed cat"
        );
        assert_eq!(articles("\"a egg\""), "\"an egg\"");
    }
}
