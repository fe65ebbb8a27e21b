//! The rules: where a run of marks ends, and whether the sentence ends there too.

use super::chars::*;
use super::words::{Abbreviation, abbreviation, is_calendar, is_enumerator, is_speech, is_starter};
use super::{Lead, Paragraph};

/// A run of terminators with the closing quotes and brackets that belong to it: `?!`, `...`, `。”`, `.")`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    start: usize,
    pub(super) end: usize,
    /// The last terminator.
    last: char,
    /// It holds `!` or `?`, wide or not.
    emphatic: bool,
    /// It holds a full-width ender.
    wide: bool,
    /// How many dots it holds; the `…` character counts as several.
    dots: usize,
    /// What was closed after the last terminator.
    closing: Closing,
}

/// What a run closes behind its last terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    Nothing,
    Bracket { inner: bool },
    Title,
    Quote(Lead),
}

impl Run {
    /// Reads the run at the paragraph's current place, closing what it closes.
    pub(super) fn read(paragraph: &mut Paragraph<'_>) -> Run {
        let start = paragraph.at;
        let (emphatic, wide, dots) = (false, false, 0);
        let mut run = Run { start, end: start, last: '.', emphatic, wide, dots, closing: Closing::Nothing };
        loop {
            let before = run.end;
            run.read_terminators(paragraph.text);
            run.read_closers(paragraph);
            run.read_gap(paragraph);
            if run.end == before {
                return run;
            }
        }
    }

    fn read_terminators(&mut self, text: &str) {
        for c in text[self.end..].chars().take_while(|&c| is_terminator(c)) {
            self.end += c.len_utf8();
            self.last = c;
            self.wide |= is_wide_ender(c);
            self.emphatic |= !is_dot(c) && !is_full_stop(c);
            self.dots += match c {
                '.' | '．' => 1,
                _ if is_dot(c) => 3,
                _ => 0,
            };
            self.closing = Closing::Nothing;
        }
    }

    fn read_closers(&mut self, paragraph: &mut Paragraph<'_>) {
        let text = paragraph.text;
        while let Some(c) = text[self.end..].chars().next() {
            let after = &text[self.end + c.len_utf8()..];
            let loose = after.chars().next().is_none_or(|c| !c.is_alphanumeric() || is_cjk(c));
            paragraph.at = self.end;
            if closes_bracket(c) {
                let open = paragraph.bracket.take();
                self.closing = match open {
                    Some(open) if open.title => Closing::Title,
                    _ => Closing::Bracket { inner: open.is_some_and(|open| open.inner) },
                };
            } else if closes_quote(c) || (c == '"' && paragraph.closes_straight_quote()) {
                let open = paragraph.quote.take();
                self.closing = Closing::Quote(open.map_or(Lead::Introduced, |open| open.lead));
            } else if matches!(c, '’' | '\'') && loose {
                self.closing = Closing::Quote(Lead::Introduced);
            } else if c == '[' {
                match footnote(after) {
                    Some(len) => self.end += len,
                    None => return,
                }
            } else if !(is_trailing_ornament(c) || (matches!(c, '_' | '*') && loose)) {
                return;
            }
            self.end += c.len_utf8();
        }
    }

    /// Takes in a space where more of the run follows it: `. . .`, or the detached closers of tokenized text (`. ''`).
    fn read_gap(&mut self, paragraph: &Paragraph<'_>) {
        let Some(rest) = paragraph.text[self.end..].strip_prefix(' ') else { return };
        let more = rest.trim_start_matches(|c| is_terminator(c) && !is_wide_ender(c));
        let ends = |text: &str| text.chars().next().is_none_or(char::is_whitespace);
        let closer = rest.chars().next().is_some_and(|c| closes_quote(c) || closes_bracket(c));
        let straight = rest.starts_with('"') && ends(&rest[1..]) && paragraph.quote.is_some();
        if closer || straight || (more.len() < rest.len() && ends(more)) {
            self.end += 1;
        } else if rest.starts_with("''") && ends(&rest[2..]) {
            self.end += 3;
        }
    }

    fn is_ellipsis(&self) -> bool {
        self.dots > 1 && !self.emphatic && !self.wide
    }

    fn is_quote(&self) -> bool {
        matches!(self.closing, Closing::Quote(_))
    }
}

/// The length of `12]` at the start of `text`: a reference after the full stop, as in encyclopedias.
fn footnote(text: &str) -> Option<usize> {
    let digits = text.bytes().take(4).take_while(u8::is_ascii_digit).count();
    (digits > 0 && text[digits..].starts_with(']')).then_some(digits + 1)
}

impl Paragraph<'_> {
    /// Whether the sentence ends after `run`.
    pub(super) fn ends_at(&self, run: &Run) -> bool {
        let rest = &self.text[run.end..];
        let after = rest.trim_start();
        let Some(next) = after.chars().next() else { return true };
        let previous = self.before(run.start);
        let mark_alone = previous.is_some_and(|c| opens_bracket(c).is_some() || opens_quote(c)); // (?), “！”
        if is_continuation(next)
            || (mark_alone && run.closing != Closing::Nothing)
            || self.is_enclosed(run.end)
        {
            return false;
        }
        let spaced = after.len() < rest.len();
        let chinese = previous.is_some_and(is_cjk) || (!spaced && is_cjk(next));
        if run.wide || (chinese && (run.emphatic || run.dots > 1)) {
            self.ends_chinese(run, after, next)
        } else if chinese {
            self.ends_at_chinese_dot(run, spaced, next)
        } else if spaced {
            self.ends_english(run, after)
        } else {
            self.ends_glued(run, after, next)
        }
    }

    /// After `。`, `！`, `？`, `……` or their ASCII twins beside Chinese.
    fn ends_chinese(&self, run: &Run, after: &str, next: char) -> bool {
        let full_stop = is_full_stop(run.last);
        match run.closing {
            Closing::Title => false,
            Closing::Bracket { inner } => full_stop || !inner,
            Closing::Quote(_) if next.is_lowercase() => false,
            Closing::Quote(Lead::Start) if is_speech_clause(after) => false,
            Closing::Quote(Lead::Woven) => full_stop,
            Closing::Quote(_) => full_stop || !"的之等和与與及或".contains(next),
            Closing::Nothing => !(run.is_ellipsis() && self.hesitates(run, next)),
        }
    }

    /// 我……我不知道 and 嗯……好吧: the speaker stops short, the sentence does not.
    fn hesitates(&self, run: &Run, next: char) -> bool {
        let spoken = &self.text[self.first_word.unwrap_or(run.start)..run.start];
        let pause = spoken.ends_with(|c| c == next || is_continuation(c));
        pause || head(spoken, 9).chars().filter(|c| c.is_alphanumeric()).count() < 3
    }

    /// A single dot with Chinese on one side.
    fn ends_at_chinese_dot(&self, run: &Run, spaced: bool, next: char) -> bool {
        let word = self.word_before(run.start);
        let woven = matches!(
            run.closing,
            Closing::Title | Closing::Bracket { inner: true } | Closing::Quote(Lead::Woven)
        );
        if woven || (run.last == '．' && !spaced && !self.wide_dot_ends) {
            false
        } else if word.is_empty() {
            spaced || !(next.is_ascii_lowercase() || next == '_') // 你好.com
        } else {
            // 1.第一 and A.苹果 are items, 我用Python.它很好 is not.
            word.len() > 1 && !word.ends_with(char::is_numeric) && abbreviation(word, !self.cased).is_none()
        }
    }

    /// Nothing but the mark between two words: a number, an address; or dashes, which old books set without spaces.
    fn ends_glued(&self, run: &Run, after: &str, next: char) -> bool {
        if run.is_quote() && (opens_quote(next) || next == '"') {
            return true;
        }
        let dashes = after.starts_with("--") || after.starts_with('—');
        dashes && next_word(after).starts_with(char::is_uppercase) && self.ends_english(run, after)
    }

    /// A space after `.`, `!`, `?` or `...`: the next word decides, and for one dot the word before it.
    fn ends_english(&self, run: &Run, after: &str) -> bool {
        let word = next_word(after);
        let mut letters = word.chars();
        let first = letters.next();
        // iPhone and eBay are capitalised in their own way.
        let small = first.is_some_and(char::is_lowercase) && !letters.next().is_some_and(char::is_uppercase);
        if small && (self.cased || run.is_quote()) {
            false
        } else if run.emphatic {
            !(run.is_quote() && is_speech_tag(after))
        } else {
            run.dots > 1 || self.dot_ends(run, word)
        }
    }

    /// Whether a single dot is a full stop, given the word that follows it.
    fn dot_ends(&self, run: &Run, next: &str) -> bool {
        let word = self.word_before(run.start);
        if self.first_word == Some(run.start.saturating_sub(word.len())) && is_enumerator(word) {
            return false;
        }
        let number = next.starts_with(char::is_numeric);
        match abbreviation(word, !self.cased) {
            None => true,
            Some(Abbreviation::Leads) => false,
            // Fig. A and Vol. I are numbered so; No. I and No. A are answers.
            Some(Abbreviation::Numbers) => {
                let numbered = number || is_enumerator(next.trim_end_matches('.'));
                !numbered || (word.eq_ignore_ascii_case("no") && is_starter(next, !self.cased))
            }
            Some(Abbreviation::Closes) => !number && !is_calendar(next.trim_end_matches('.')),
            // Another initial is not the article: J. A. Smith.
            Some(_) => is_starter(next.trim_end_matches('.'), !self.cased) && !is_initial(next),
        }
    }

    /// The word that ends at `end`, with inner dots: `U.S`, `3.14`. Words too long to be abbreviations come cut short.
    fn word_before(&self, end: usize) -> &str {
        let emphasis = |c| matches!(c, '_' | '*'); // _Mr_. Knightley
        let window = tail(&self.text[self.start..end], 24).trim_end_matches(emphasis);
        let part = |c: char| (c.is_alphanumeric() && !is_cjk(c)) || matches!(c, '.' | '’' | '\'' | '&');
        window.rsplit(|c| !part(c)).next().unwrap_or("")
    }
}

/// The word that `text` starts with, behind opening marks and spaces.
fn next_word(text: &str) -> &str {
    let text = head(text, 64).trim_start_matches(|c: char| is_leading(c) || c.is_whitespace());
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '.'))).next().unwrap_or("")
}

fn is_initial(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.next() == Some('.')
}

/// Whether a named speaker follows a quotation: `Holmes asked.`, `Mr. Weston cried`, `I said`. A capital pronoun
/// (`He asked`) starts a new sentence; the attribution would have been written small.
fn is_speech_tag(text: &str) -> bool {
    let mut words = head(text, 64).split_whitespace();
    let Some(subject) = words.next() else { return false };
    let named = subject == "I" || matches!(subject, "Mr." | "Mrs.") || !is_starter(subject, false);
    if !named || !subject.starts_with(char::is_uppercase) {
        return false;
    }
    for word in words.take(2) {
        if is_speech(word.trim_end_matches(|c: char| !c.is_alphabetic())) {
            return true;
        }
        if !word.starts_with(char::is_uppercase) {
            return false;
        }
    }
    false
}

/// Whether a short Chinese clause that names a speaker follows a quotation: 他说。 小明笑着问， 老师喊了起来。
/// If it ends in a colon it introduces the next quotation instead.
fn is_speech_clause(text: &str) -> bool {
    let clause = head(text, 36);
    let Some((end, stop)) = clause.char_indices().find(|&(_, c)| !is_han(c)) else { return false };
    if !matches!(stop, '，' | '。' | '！' | '？' | '…' | ',' | '.' | '!' | '?') {
        return false;
    }
    let verb = |c| "说說道问問喊叫答嚷吼骂罵叹嘆".contains(c);
    let tail = |c| "我你他她着著了起来來一声聲".contains(c);
    let spoken = clause[..end].trim_end_matches(tail);
    spoken.ends_with(verb) && !spoken.ends_with("知道") && !spoken.ends_with("味道")
}
