//! Paragraphs to sentences, in English, Chinese and any mixture of the two.
//!
//! Next-sentence prediction needs real sentences, so this stands between a corpus and the pretraining examples.
//! It is a hand-written scanner: one pass that stops at each mark that may end a sentence, takes in the closing
//! quotes and brackets that belong to it, and asks the rules in `boundary` whether the sentence ends there.
//! Rules instead of a learned model, because they have to work before any corpus has been read, give the same
//! answer everywhere, and can be argued about one by one:
//!
//! - A blank line always ends a sentence; a single newline is a space.
//! - `.` `!` `?` `…` need a space after them and no small letter next (`"Stop!" he said.` is one sentence), and a
//!   `.` must not belong to an abbreviation, an initial, a number, a list item or a web address.
//! - `。` `！` `？` need no space. `；` does not end a sentence: it joins clauses that share a subject, and the
//!   corpora used for Chinese pretraining keep them together.
//! - Marks inside a short bracket or title in the middle of a sentence (`(?)`, 《谁动了我的奶酪？》) end nothing.
//! - After a Chinese closing quote a new sentence starts, unless the speaker follows (“你好！”他说。), or the
//!   quotation is woven into a sentence and ends in `！` or `？` (他喊了一声“救命！”就跑了。). `。` inside the quote
//!   always ends the sentence around it, because a writer who goes on would not have put it there.
//! - A paragraph without any capital letter is taken as lower-cased text: a small letter then proves nothing.

mod boundary;
mod chars;
#[cfg(test)]
mod tests;
mod words;

use boundary::Run;
use chars::{WINDOW, closes_bracket, closes_quote, head, is_han, is_terminator, opens_bracket, opens_quote};

/// The sentences of `text`, in order: slices of it, trimmed and never empty.
///
/// What lies between two of them is white space. Time is linear in the length of the text, whatever it holds.
///
/// ```
/// use oxibert::text::sentences::sentences;
///
/// let text = "Dr. Smith paid $3.50 for it. \"Really?\" she asked. 他说：“好的。”然后走了！";
/// let found: Vec<&str> = sentences(text).collect();
/// assert_eq!(
///     found,
///     ["Dr. Smith paid $3.50 for it.", "\"Really?\" she asked.", "他说：“好的。”", "然后走了！"],
/// );
/// ```
pub fn sentences(text: &str) -> Sentences<'_> {
    Sentences { rest: text, paragraph: Paragraph::new("") }
}

/// An iterator over the sentences of a text; made by [`sentences`].
#[derive(Clone, Debug)]
pub struct Sentences<'t> {
    rest: &'t str,
    paragraph: Paragraph<'t>,
}

impl<'t> Iterator for Sentences<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            if let Some(sentence) = self.paragraph.next_sentence() {
                return Some(sentence);
            }
            if self.rest.is_empty() {
                return None;
            }
            let (paragraph, rest) = split_paragraph(self.rest);
            self.rest = rest;
            self.paragraph = Paragraph::new(paragraph);
        }
    }
}

impl std::iter::FusedIterator for Sentences<'_> {}

/// Cuts `text` at its first blank line.
fn split_paragraph(text: &str) -> (&str, &str) {
    let mut from = 0;
    while let Some(found) = text[from..].find(['\n', '\r', '\u{2029}']) {
        let line_end = from + found;
        let rest = text[line_end..].trim_start();
        let gap = &text[line_end..text.len() - rest.len()];
        let breaks = gap.matches('\n').count().max(gap.matches('\r').count());
        if breaks > 1 || gap.contains('\u{2029}') {
            return (&text[..line_end], rest);
        }
        from = text.len() - rest.len();
    }
    (text, "")
}

/// The scanner's state within one paragraph.
#[derive(Clone, Debug)]
struct Paragraph<'t> {
    text: &'t str,
    at: usize,
    /// The text uses capital letters, so a small one after a mark means that the sentence goes on.
    cased: bool,
    /// `．` is a full stop here. Some writers use it so, some between the parts of a foreign name (约翰．史密斯);
    /// where `。` is the more frequent one, that is the full stop.
    wide_dot_ends: bool,
    /// Where the sentence that is being read starts, and where its first word does, once that has been seen.
    start: usize,
    first_word: Option<usize>,
    /// The bracket that is open, if any: nesting does not matter to the rules, so the last one stands for all.
    bracket: Option<Bracket>,
    quote: Option<Quote>,
}

/// An open bracket or title.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    at: usize,
    title: bool,
    /// It opened in the middle of a sentence.
    inner: bool,
}

/// An open quotation.
#[derive(Clone, Copy, Debug)]
struct Quote {
    at: usize,
    lead: Lead,
}

/// What stood before a quotation opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// Nothing: the sentence starts with it, so its speaker may follow.
    Start,
    /// A colon, a comma or a space: the sentence led up to it.
    Introduced,
    /// A Chinese character: the quotation is a part of the sentence, like a word.
    Woven,
}

impl<'t> Paragraph<'t> {
    fn new(text: &'t str) -> Self {
        Paragraph {
            text,
            at: 0,
            cased: text.chars().any(char::is_uppercase),
            wide_dot_ends: text.matches('．').count() > text.matches('。').count(),
            start: 0,
            first_word: None,
            bracket: None,
            quote: None,
        }
    }

    fn next_sentence(&mut self) -> Option<&'t str> {
        let rest = self.text[self.at..].trim_start();
        if rest.is_empty() {
            return None;
        }
        self.start = self.text.len() - rest.len();
        self.first_word = None;
        self.at = self.start;
        loop {
            self.skip_word();
            let Some(c) = self.text[self.at..].chars().next() else { break };
            if is_terminator(c) {
                let run = Run::read(self);
                self.at = run.end;
                if self.ends_at(&run) {
                    break;
                }
            } else {
                self.note(c);
                self.at += c.len_utf8();
            }
        }
        Some(self.text[self.start..self.at].trim_end())
    }

    /// Passes over ASCII letters and digits at once: most of English, and no rule looks at them.
    fn skip_word(&mut self) {
        let length = self.text.as_bytes()[self.at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        if length > 0 {
            self.first_word.get_or_insert(self.at);
            self.at += length;
        }
    }

    /// Remembers what `c` at the current place opens or closes.
    fn note(&mut self, c: char) {
        if c == ' ' {
            // The most frequent of the rest, and it opens and closes nothing.
        } else if is_han(c) || c.is_alphanumeric() {
            self.first_word.get_or_insert(self.at);
        } else if let Some(title) = opens_bracket(c) {
            self.bracket = Some(Bracket { at: self.at, title, inner: title || self.first_word.is_some() });
        } else if closes_bracket(c) {
            self.bracket = None;
        } else if opens_quote(c) {
            self.quote = Some(Quote { at: self.at, lead: self.lead() });
        } else if closes_quote(c) {
            self.quote = None;
        } else if c == '"' {
            self.quote = if self.closes_straight_quote() {
                None
            } else {
                Some(Quote { at: self.at, lead: self.lead() })
            };
        }
    }

    /// Whether the `"` at the current place closes a quotation. The spaces around it decide where they can; if
    /// they cannot (Chinese, or detached punctuation) it closes if one is open. So one stray mark does no lasting harm.
    fn closes_straight_quote(&self) -> bool {
        let before = self.before(self.at).is_none_or(|c| c.is_whitespace() || opens_bracket(c).is_some());
        let rest = &self.text[self.at + 1..];
        let after = rest.chars().next().is_none_or(|c| c.is_whitespace() || c.is_ascii_punctuation());
        let detached_end = rest.starts_with(' ') && rest[1..].starts_with(['.', ',', '!', '?', ';']);
        if before == after { self.quote.is_some() || detached_end } else { after }
    }

    fn lead(&self) -> Lead {
        match self.before(self.at) {
            _ if self.first_word.is_none() => Lead::Start,
            Some(c) if is_han(c) => Lead::Woven,
            _ => Lead::Introduced,
        }
    }

    fn before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    /// Whether `at` lies in a bracket, or in a Chinese quotation that is part of a sentence, which closes soon.
    fn is_enclosed(&self, at: usize) -> bool {
        let bracket = self.bracket.is_some_and(|open| open.inner && self.closes_soon(open.at, at));
        let quote = self.quote.is_some_and(|open| open.lead == Lead::Woven && self.closes_soon(open.at, at));
        bracket || quote
    }

    /// Whether what opened at `open` is closed within the window, after `at`.
    fn closes_soon(&self, open: usize, at: usize) -> bool {
        if at - open > WINDOW {
            return false;
        }
        let quote = self.text[open..].starts_with(|c| opens_quote(c) || c == '"');
        let mut depth = 1;
        for c in head(&self.text[at..], WINDOW - (at - open)).chars() {
            let (opens, closes) = if quote {
                (opens_quote(c), closes_quote(c) || c == '"')
            } else {
                (opens_bracket(c).is_some(), closes_bracket(c))
            };
            depth += i32::from(opens) - i32::from(closes);
            if depth == 0 {
                return true;
            }
        }
        false
    }
}
