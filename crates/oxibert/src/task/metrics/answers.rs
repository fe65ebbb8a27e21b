//! Answer spans: exact match and F1, as the scripts of SQuAD and CMRC compute them.

use std::collections::HashMap;

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scorer {
    /// SQuAD: words, without punctuation and articles. As 2.0 has it; 1.1 is the same, but for answers of nothing else.
    Squad,
    /// CMRC 2018 (and DRCD): Chinese characters one by one, other words whole; F1 of the longest common run.
    Cmrc,
}

/// How good an answer is, 0 to 1 each.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AnswerScore {
    /// 1 if it is one of the right ones, once both are normalized.
    pub exact: f64,
    /// The overlap with the best of the right ones.
    pub f1: f64,
}

/// Scores an answer against all right ones; none of them means that there is no answer, and the empty text says so.
///
/// ```
/// use oxibert::task::metrics::{Scorer, score_answer};
///
/// let score = score_answer(Scorer::Squad, "the Eiffel tower!", &["Eiffel Tower", "a tower"]);
/// assert_eq!((score.exact, score.f1), (1.0, 1.0));
/// ```
pub fn score_answer<T: AsRef<str>>(scorer: Scorer, answer: &str, right: &[T]) -> AnswerScore {
    let answer = Normal::new(scorer, answer);
    let golds = right.iter().map(|gold| Normal::new(scorer, gold.as_ref()));
    let golds: Vec<Normal> = golds.filter(|gold| !gold.tokens.is_empty()).collect();
    if golds.is_empty() {
        let silent = f64::from(u8::from(answer.tokens.is_empty()));
        return AnswerScore { exact: silent, f1: silent };
    }
    let mut best = AnswerScore::default();
    for gold in &golds {
        let common = match scorer {
            Scorer::Squad => shared(&answer.tokens, &gold.tokens),
            Scorer::Cmrc => longest_common_run(&answer.tokens, &gold.tokens),
        };
        let f1 = 2.0 * common as f64 / (answer.tokens.len() + gold.tokens.len()) as f64;
        best.exact = best.exact.max(f64::from(u8::from(answer.text == gold.text)));
        best.f1 = best.f1.max(f1);
    }
    best
}

/// What is compared: as a whole, and by its tokens.
struct Normal {
    text: String,
    tokens: Vec<String>,
}

impl Normal {
    fn new(scorer: Scorer, text: &str) -> Self {
        match scorer {
            Scorer::Squad => {
                let tokens = squad_tokens(text);
                Self { text: tokens.join(" "), tokens }
            }
            Scorer::Cmrc => {
                let kept: String =
                    text.to_lowercase().trim().chars().filter(|&c| !CMRC_DROPS.contains(c)).collect();
                Self { tokens: cmrc_tokens(&kept), text: kept }
            }
        }
    }
}

/// Lower case; without ASCII punctuation; then without the words a, an and the, where a word ends before any other character
/// than a letter or a digit.
fn squad_tokens(text: &str) -> Vec<String> {
    let kept: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let words = kept.split_inclusive(|c: char| !c.is_alphanumeric());
    let mut without = String::with_capacity(kept.len());
    for word in words {
        let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        without.push_str(if matches!(bare, "a" | "an" | "the") { " " } else { bare });
        without.push_str(&word[bare.len()..]);
    }
    without.split_whitespace().map(str::to_owned).collect()
}

/// The marks that CMRC's script leaves out (`sp_char`).
const CMRC_DROPS: &str = "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』";

/// Every Chinese character, and the words between them.
fn cmrc_tokens(text: &str) -> Vec<String> {
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fa5}').contains(&c);
    let mut tokens = Vec::new();
    for run in text.split_inclusive(is_chinese) {
        let words = run.trim_end_matches(is_chinese);
        western_tokens(words, &mut tokens);
        tokens.extend((words.len() < run.len()).then(|| run[words.len()..].to_owned()));
    }
    tokens
}

/// Words as NLTK's `word_tokenize` cuts them, as far as short answers go: marks are tokens, but not a comma before a digit, nor a
/// full stop before the end.
fn western_tokens(text: &str, tokens: &mut Vec<String>) {
    let text = text.trim();
    let mut begun = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let stands_alone = match c {
            ',' => !rest.peek().is_some_and(char::is_ascii_digit),
            '.' => rest.peek().is_none(),
            _ => "()[]{}<>;@#$%&?!\"«»‘„‒–—―".contains(c),
        };
        match tokens.last_mut() {
            Some(token) if begun && !stands_alone && !c.is_whitespace() => token.push(c),
            _ if c.is_whitespace() => {}
            _ => tokens.push(c.to_string()),
        }
        begun = !stands_alone && !c.is_whitespace();
    }
}

/// How many words both have, each as often as it is in both.
fn shared(answer: &[String], gold: &[String]) -> usize {
    let mut left: HashMap<&str, usize> = HashMap::new();
    gold.iter().for_each(|word| *left.entry(word).or_default() += 1);
    let mut take = |word: &String| match left.get_mut(word.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    answer.iter().filter(|word| take(word)).count()
}

/// The length of the longest run of tokens that stands in both.
fn longest_common_run(a: &[String], b: &[String]) -> usize {
    let mut lengths = vec![0; b.len() + 1];
    let mut longest = 0;
    for token in a {
        // From the back, so that the entry before still belongs to the row above.
        for place in (0..b.len()).rev() {
            lengths[place + 1] = if *token == b[place] { lengths[place] + 1 } else { 0 };
            longest = longest.max(lengths[place + 1]);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(scorer: Scorer, answer: &str, right: &[&str]) -> (f64, f64) {
        let AnswerScore { exact, f1 } = score_answer(scorer, answer, right);
        (exact, (f1 * 1e4).round() / 1e4)
    }

    #[test]
    fn english_answers_are_words_without_articles() {
        assert_eq!(score(Scorer::Squad, "Denver Broncos", &["the Denver Broncos."]), (1.0, 1.0));
        assert_eq!(score(Scorer::Squad, "in the city of Paris", &["Paris", "city of Paris"]), (0.0, 0.8571));
        assert_eq!(score(Scorer::Squad, "b b c", &["b c c"]), (0.0, 0.6667));
        assert_eq!(score(Scorer::Squad, "Berlin", &["Paris"]), (0.0, 0.0));
        assert_eq!(squad_tokens("The “the” an–b AN’s a1"), ["“", "”", "–b", "’s", "a1"]);
    }

    #[test]
    fn no_answer_is_right_where_there_is_none() {
        for scorer in [Scorer::Squad, Scorer::Cmrc] {
            assert_eq!(score(scorer, "", &[]), (1.0, 1.0));
            assert_eq!(score(scorer, "Paris", &[]), (0.0, 0.0));
            assert_eq!(score(scorer, "", &["Paris"]), (0.0, 0.0));
        }
        assert_eq!(score(Scorer::Squad, "", &["the", "."]), (1.0, 1.0));
    }

    #[test]
    fn chinese_answers_are_characters_and_their_longest_run() {
        assert_eq!(score(Scorer::Cmrc, "《战国无双3》", &["战国无双3"]), (1.0, 1.0));
        assert_eq!(score(Scorer::Cmrc, "光荣和ω-force", &["光荣"]), (0.0, 0.6667));
        assert_eq!(score(Scorer::Cmrc, "北京市", &["北京", "上海"]), (0.0, 0.8));
        assert_eq!(
            cmrc_tokens("在new york, 1,000.5美元(约)."),
            ["在", "new", "york", ",", "1,000.5", "美", "元", "(", "约", ")", "."]
        );
    }
}
