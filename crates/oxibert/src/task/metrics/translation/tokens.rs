//! Sentences to words as sacreBLEU cuts them, oddities included: a figure is comparable only if every word is the same.

use super::Tokenization;

/// The sentence with blanks between all its words.
pub(super) fn separate(sentence: &str, tokenization: Tokenization) -> String {
    match tokenization {
        Tokenization::Mteval13a => {
            // The blanks around it make the first and the last character look like any other.
            punctuation(&format!(" {} ", without_markup(sentence.trim_end_matches(is_blank))))
        }
        Tokenization::Chinese => {
            let mut apart = String::with_capacity(2 * sentence.len());
            for letter in sentence.trim_matches(is_blank).chars() {
                push(letter, is_chinese(letter), &mut apart);
            }
            punctuation(&apart)
        }
    }
}

/// The words of a separated sentence.
pub(super) fn words(separated: &str) -> Vec<&str> {
    separated.split(is_blank).filter(|word| !word.is_empty()).collect()
}

/// What Python takes for white space: Unicode's, and four separators of ASCII.
pub(super) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\x1c'..='\x1f')
}

/// Whether it is a Chinese character, punctuation aside.
pub(super) fn is_han(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// The part of mteval-v13a that knows no language. The order matters: `&amp;lt;` becomes `<`.
fn without_markup(sentence: &str) -> String {
    let plain = sentence.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    if !plain.contains('&') {
        return plain;
    }
    plain.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
}

/// The part that assumes a Western language: four rules, each over the whole line. Points and commas inside numbers stay.
fn punctuation(line: &str) -> String {
    let mut apart = String::with_capacity(2 * line.len());
    line.chars().for_each(|letter| push(letter, is_symbol(letter), &mut apart));
    let after_no_digit = replace(&apart, |a| !a.is_ascii_digit(), is_point, |a, b| [a, ' ', b, ' ']);
    let before_no_digit =
        replace(&after_no_digit, is_point, |b| !b.is_ascii_digit(), |a, b| [' ', a, ' ', b]);
    replace(&before_no_digit, |a| a.is_ascii_digit(), |b| b == '-', |a, b| [a, ' ', b, ' '])
}

fn push(letter: char, apart: bool, out: &mut String) {
    if apart {
        out.extend([' ', letter, ' ']);
    } else {
        out.push(letter);
    }
}

/// Writes two neighbours anew where `first` and `second` hold. As a regular expression would, it looks for the next
/// two behind them: of `a..` only the first point stands behind a letter.
fn replace(
    line: &str,
    first: impl Fn(char) -> bool,
    second: impl Fn(char) -> bool,
    with: impl Fn(char, char) -> [char; 4],
) -> String {
    let mut out = String::with_capacity(line.len() + 16);
    let mut letters = line.chars().peekable();
    while let Some(a) = letters.next() {
        match letters.next_if(|&b| first(a) && second(b)) {
            Some(b) => out.extend(with(a, b)),
            None => out.push(a),
        }
    }
    out
}

fn is_point(letter: char) -> bool {
    matches!(letter, '.' | ',')
}

/// ASCII's punctuation without the apostrophe, the hyphen, the point and the comma; the blank is harmless.
fn is_symbol(letter: char) -> bool {
    matches!(letter, ' '..='&' | '('..='+' | '/' | ':'..='@' | '['..='`' | '{'..='~')
}

/// What `zh` sets apart. sacreBLEU's table writes two ranges beyond U+FFFF with four digits, so that they mean
/// U+2001 to U+2A6D and a part of the radicals: quotation marks and dashes are set apart, rare characters are not.
fn is_chinese(letter: char) -> bool {
    matches!(
        letter,
        '\u{2001}'..='\u{2a6d}'
            | '\u{2e80}'..='\u{2fdf}'
            | '\u{2ff0}'..='\u{303f}'
            | '\u{3100}'..='\u{312f}'
            | '\u{31a0}'..='\u{31ef}'
            | '\u{3200}'..='\u{4db5}'
            | '\u{4e00}'..='\u{9fbb}'
            | '\u{f900}'..='\u{fa2d}'
            | '\u{fa30}'..='\u{fa6a}'
            | '\u{fa70}'..='\u{fad9}'
            | '\u{fe10}'..='\u{fe1f}'
            | '\u{fe30}'..='\u{fe4f}'
            | '\u{ff00}'..='\u{ffef}'
    )
}
