//! What was prepared, in a few lines.

use std::io::{self, Write};
use std::path::Path;

use oxibert::data::shard::Prepared;

use crate::numbers::{bytes, count};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn write(made: &Prepared, seconds: f64, place: &Path, out: &mut dyn Write) -> io::Result<()> {
    let speed = count((made.tokens as f64 / seconds.max(1e-9)) as u64);
    writeln!(
        out,
        "{}, {}, {} of {} of text in {seconds:.1} s ({speed} tokens/s): {}",
        number(made.documents, "document"),
        number(made.sentences, "sentence"),
        number(made.tokens, "token"),
        bytes(made.bytes),
        place.display()
    )?;
    writeln!(out, "sentence length  {} tokens", histogram(&made.sentence_lengths))?;
    writeln!(out, "[UNK]            {} of the tokens", percent(made.unknown_tokens, made.tokens))?;
    writeln!(out, "duplicates       {}", duplicates(made))
}

/// Each bar with the least length that it stands for.
fn histogram(lengths: &[u64]) -> String {
    let most = lengths.iter().copied().max().unwrap_or(0).max(1);
    let bar = |(bucket, &count): (usize, &u64)| {
        // A bar for everything that is there, a blank for nothing.
        let bar = if count == 0 { ' ' } else { BARS[(count * 8).div_ceil(most) as usize - 1] };
        format!("{}{bar}", 1u64 << bucket)
    };
    let shown = lengths.iter().enumerate().skip_while(|(_, count)| **count == 0);
    shown.map(bar).collect::<Vec<_>>().join(" ")
}

fn duplicates(made: &Prepared) -> String {
    let lines = format!("{} of {}", count(made.duplicate_lines), number(made.lines, "line"));
    let documents = number(made.duplicate_documents, "whole document");
    match (made.duplicate_lines, made.duplicates_dropped) {
        (0, _) => format!("none among {}", number(made.lines, "line")),
        (_, true) => format!("{lines}, {documents}; dropped"),
        (_, false) => format!("{lines}, {documents}; kept (--dedup drops them)"),
    }
}

fn number(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `0.25 %`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    let digits = if share == 0.0 || share >= 10.0 { 0 } else { 2 };
    format!("{share:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_the_most_frequent_length() {
        assert_eq!(histogram(&[1, 0, 50, 100]), "1▁ 2  4▄ 8█");
        assert_eq!(histogram(&[0, 0, 3]), "4█");
    }

    #[test]
    fn duplicates_in_words() {
        let made = Prepared { lines: 9, duplicate_lines: 3, duplicate_documents: 1, ..Prepared::default() };
        assert_eq!(duplicates(&made), "3 of 9 lines, 1 whole document; kept (--dedup drops them)");
        assert_eq!(duplicates(&Prepared { lines: 1, ..Prepared::default() }), "none among 1 line");
    }

    #[test]
    fn small_shares_keep_their_digits() {
        assert_eq!(
            [percent(1, 400), percent(0, 5), percent(1, 2), percent(0, 0)],
            ["0.25 %", "0 %", "50 %", "0 %"]
        );
    }
}
