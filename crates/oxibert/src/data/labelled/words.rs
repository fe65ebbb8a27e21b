//! Words of a text that nobody split, and the text of words that somebody did.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

/// The words of a text, as ranges of its bytes: runs of letters and digits, every Chinese character and every mark for itself.
///
/// ```
/// use oxibert::data::labelled::split_words;
///
/// let text = "In 北京, 2008.";
/// let words: Vec<&str> = split_words(text).into_iter().map(|word| &text[word]).collect();
/// assert_eq!(words, ["In", "北", "京", ",", "2008", "."]);
/// ```
pub fn split_words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut in_run = false;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() || c.is_control() {
            continue;
        }
        let runs = c.is_alphanumeric() && !is_han(c);
        let end = at + c.len_utf8();
        match words.last_mut() {
            // An accent belongs to what it stands on.
            Some(word) if word.end == at && (is_combining_mark(c) || (in_run && runs)) => word.end = end,
            _ => {
                words.push(at..end);
                in_run = runs;
            }
        }
    }
    words
}

/// Appends a word to a sentence, behind a space where the script has spaces, and says where it stands.
pub(super) fn append(text: &mut String, word: &str) -> Range<usize> {
    let close = text
        .chars()
        .next_back()
        .is_none_or(|last| has_no_spaces(last) && word.chars().next().is_some_and(has_no_spaces));
    if !close {
        text.push(' ');
    }
    let start = text.len();
    text.push_str(word);
    start..text.len()
}

/// A Chinese character.
fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Chinese and Japanese characters with their marks, and full-width forms.
fn has_no_spaces(c: char) -> bool {
    is_han(c) || matches!(c, '\u{3001}'..='\u{30ff}' | '\u{ff01}'..='\u{ff9f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        split_words(text).into_iter().map(|word| &text[word]).collect()
    }

    #[test]
    fn words_are_runs_marks_and_chinese_characters() {
        assert_eq!(words("don't  stop—now!\n"), ["don", "'", "t", "stop", "—", "now", "!"]);
        assert_eq!(words("iPhone4和3G网，ok"), ["iPhone4", "和", "3G", "网", "，", "ok"]);
        assert_eq!(words("cafe\u{301} 京\u{301}a"), ["cafe\u{301}", "京\u{301}", "a"]);
        assert!(words(" \t").is_empty());
    }

    #[test]
    fn sentences_have_the_spaces_of_their_script() {
        let join = |words: &[&str]| {
            let mut text = String::new();
            let places: Vec<_> = words.iter().map(|word| append(&mut text, word)).collect();
            assert!(places.into_iter().zip(words).all(|(place, word)| text[place] == **word));
            text
        };
        assert_eq!(join(&["U.N.", "official", "."]), "U.N. official .");
        assert_eq!(join(&["在", "北", "京", "，", "他", "3", "岁"]), "在北京，他 3 岁");
    }
}
