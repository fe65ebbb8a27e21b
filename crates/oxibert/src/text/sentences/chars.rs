//! The kinds of characters that sentence splitting tells apart.

/// How many bytes of context a rule may read around one candidate. Every look-ahead and look-behind stops here,
/// which is what keeps the splitter linear on hostile input.
pub(super) const WINDOW: usize = 240;

/// Marks that may end a sentence.
pub(super) fn is_terminator(c: char) -> bool {
    is_dot(c) || is_full_stop(c) || matches!(c, '!' | '?' | '！' | '？' | '‼' | '⁇' | '⁈' | '⁉' | '‽')
}

/// Dots: a full stop, an abbreviation, a decimal point or a part of an ellipsis.
pub(super) fn is_dot(c: char) -> bool {
    matches!(c, '.' | '．' | '…' | '⋯' | '‥')
}

/// The Chinese full stop, which is never anything else.
pub(super) fn is_full_stop(c: char) -> bool {
    matches!(c, '。' | '｡')
}

/// Full-width enders need no space after them; their ASCII twins do, unless Chinese stands next to them.
pub(super) fn is_wide_ender(c: char) -> bool {
    is_full_stop(c) || matches!(c, '！' | '？')
}

/// After these the sentence goes on, whatever stood before.
pub(super) fn is_continuation(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '，' | '、' | '；' | '：' | '%' | '％' | '·' | '/')
}

/// What opens a bracket, and whether it is a title mark: inside 《》 no mark ends a sentence.
pub(super) fn opens_bracket(c: char) -> Option<bool> {
    match c {
        '(' | '[' | '{' | '（' | '［' | '｛' | '【' | '〔' | '〖' => Some(false),
        '《' | '〈' => Some(true),
        _ => None,
    }
}

/// What closes a bracket or a title.
pub(super) fn closes_bracket(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | '）' | '］' | '｝' | '】' | '〕' | '〗' | '》' | '〉')
}

/// Opening quotation marks that cannot be anything else.
pub(super) fn opens_quote(c: char) -> bool {
    matches!(c, '“' | '「' | '『' | '〝' | '«')
}

/// Closing quotation marks that cannot be anything else.
pub(super) fn closes_quote(c: char) -> bool {
    matches!(c, '”' | '」' | '』' | '〞' | '»')
}

/// Marks that may stand before the first word of a sentence and say nothing about it.
pub(super) fn is_leading(c: char) -> bool {
    opens_quote(c)
        || opens_bracket(c).is_some()
        || matches!(c, '"' | '\'' | '‘' | '`' | '_' | '*' | '-' | '–' | '—' | '•' | '¿' | '¡' | '#')
}

/// Ornaments that belong to the sentence before: 真好吃！~~ and 太好了！😊
pub(super) fn is_trailing_ornament(c: char) -> bool {
    matches!(c, '~' | '～' | '❤' | '♥' | '\u{FE0F}' | '\u{200D}' | '\u{1F300}'..='\u{1FAFF}')
}

/// Text that is written without spaces: Chinese characters, kana, their punctuation and full-width forms.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}'
        | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFF}')
}

/// A Chinese character proper: no punctuation, no full-width letter.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// The first characters of `text` that fit in `bytes`, cut at a character.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The last characters of `text` that fit in `bytes`, cut at a character.
pub(super) fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}
