//! Tokens back to text.

use super::vocab::CONTINUATION;

/// Replacements that undo what splitting did to English, in this order, on one token at a time.
///
/// These are the clean-up rules of Hugging Face's WordPiece decoder; ` do not` is theirs too.
const CLEAN_UP: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// Joins tokens with blanks, continuations without.
pub(crate) fn join<'a>(tokens: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for (index, token) in tokens.enumerate() {
        match token.strip_prefix(CONTINUATION) {
            Some(rest) if index > 0 => text.push_str(&clean_up(rest.to_owned())),
            _ if index > 0 => text.push_str(&clean_up(format!(" {token}"))),
            _ => text.push_str(&clean_up(token.to_owned())),
        }
    }
    text
}

fn clean_up(token: String) -> String {
    CLEAN_UP.iter().fold(
        token,
        |token, (from, to)| {
            if token.contains(from) { token.replace(from, to) } else { token }
        },
    )
}
