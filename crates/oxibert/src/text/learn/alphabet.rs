//! The characters of the counted words: which of them become tokens, and words as sequences of those tokens.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

/// What a token that goes on inside a word begins with.
pub(super) const CONTINUATION: &str = "##";

/// How often every character occurs, and how often inside a word rather than at its start.
#[derive(Default)]
pub(super) struct Characters(FxHashMap<char, Tally>);

#[derive(Default)]
struct Tally {
    total: u64,
    inside: u64,
}

impl Characters {
    pub(super) fn add(&mut self, word: &str, count: u64) {
        for (i, c) in word.chars().enumerate() {
            let tally = self.0.entry(c).or_default();
            tally.total += count;
            tally.inside += if i > 0 { count } else { 0 };
        }
    }

    /// The characters to keep, by code point, and how many the limit drops. The frequent stay; among equals, the
    /// smaller code point.
    pub(super) fn select(&self, limit: Option<usize>) -> (Vec<char>, usize) {
        let mut seen: Vec<char> = self.0.keys().copied().collect();
        let all = seen.len();
        seen.sort_unstable_by_key(|c| (Reverse(self.0[c].total), *c));
        seen.truncate(limit.unwrap_or(all));
        seen.sort_unstable();
        let dropped = all - seen.len();
        (seen, dropped)
    }

    /// Those of the `kept` characters that occur inside words.
    pub(super) fn continuing(&self, kept: &[char]) -> Vec<char> {
        kept.iter().copied().filter(|c| self.0[c].inside > 0).collect()
    }
}

/// The growing vocabulary: every token once, and its id.
pub(super) struct Tokens {
    pub(super) list: Vec<String>,
    ids: FxHashMap<String, u32>,
}

impl Tokens {
    pub(super) fn new(list: Vec<String>) -> Self {
        let ids = list.iter().cloned().zip(0..).collect();
        Self { list, ids }
    }

    /// The token's id; a new one where the token is new.
    pub(super) fn intern(&mut self, token: String) -> u32 {
        *self.ids.entry(token).or_insert_with_key(|token| {
            self.list.push(token.clone());
            (self.list.len() - 1) as u32
        })
    }

    /// The token that two neighbours make; none where the start of a word (`#` and `###`) would look like the
    /// inside of one.
    pub(super) fn merged(&self, left: u32, right: u32) -> Option<String> {
        let (left, right) = (&self.list[left as usize], &self.list[right as usize]);
        let token = format!("{left}{}", right.strip_prefix(CONTINUATION).unwrap_or(right));
        (left.starts_with(CONTINUATION) || !token.starts_with(CONTINUATION)).then_some(token)
    }
}

/// The ids of single characters.
pub(super) struct Alphabet(FxHashMap<char, Forms>);

struct Forms {
    initial: u32,
    /// Absent only where the character never stands inside a word, so that nobody asks.
    continuing: Option<u32>,
}

impl Alphabet {
    /// Makes tokens of the characters: first all of them, then the forms inside words.
    pub(super) fn new(kept: &[char], continuing: &[char], tokens: &mut Tokens) -> Self {
        let forms = |initial| Forms { initial, continuing: None };
        let mut ids: FxHashMap<char, Forms> =
            kept.iter().map(|&c| (c, forms(tokens.intern(c.to_string())))).collect();
        for c in continuing {
            let token = tokens.intern(format!("{CONTINUATION}{c}"));
            ids.entry(*c).and_modify(|forms| forms.continuing = Some(token));
        }
        Self(ids)
    }

    /// Appends the word's symbols; appends nothing and returns false where one of its characters is not kept.
    pub(super) fn spell(&self, word: &str, symbols: &mut Vec<u32>) -> bool {
        let start = symbols.len();
        for c in word.chars() {
            let first = symbols.len() == start;
            let id = self.0.get(&c).and_then(|f| if first { Some(f.initial) } else { f.continuing });
            let Some(id) = id else {
                symbols.truncate(start);
                return false;
            };
            symbols.push(id);
        }
        true
    }
}
