//! Rows of cells, aligned column by column and folded to the width of the terminal.

use std::io::{self, Write};

use oxibert::text::{Encoding, Span, Tokenizer};
use unicode_width::UnicodeWidthStr;

/// Blanks between two columns.
const GAP: usize = 2;
/// The width where the output is no terminal.
const PLAIN_WIDTH: usize = 100;

/// The width to fold at: what `COLUMNS` says, or the terminal's.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| width.0.into());
    columns.or_else(terminal).unwrap_or(PLAIN_WIDTH).max(20)
}

/// A named row; all rows of a table have as many cells.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) cells: Vec<String>,
}

/// An encoding as rows: tokens, ids, and the characters of the original behind each.
pub(crate) fn of_encoding(tokenizer: &Tokenizer, texts: &[&str], encoding: &Encoding) -> Vec<Row> {
    let place = |span: &Span| match (span.start, span.end) {
        (start, end) if start == end => "-".to_owned(),
        (start, end) => format!("{start}-{end}"),
    };
    let row = |name, cells| Row { name, cells };
    let mut rows = vec![
        row("tokens", tokenizer.tokens(encoding).iter().map(|token| token.to_string()).collect()),
        row("ids", encoding.ids.iter().map(u32::to_string).collect()),
        row("chars", encoding.char_spans(texts).iter().map(place).collect()),
    ];
    if texts.len() > 1 {
        rows.push(row("segments", encoding.segments.iter().map(u8::to_string).collect()));
    }
    rows
}

/// Writes `rows`, folded into bands that are at most `width` wide, with an empty line between bands.
pub(crate) fn write(rows: &[Row], width: usize, out: &mut dyn Write) -> io::Result<()> {
    let columns = rows.first().map_or(0, |row| row.cells.len());
    let widest = |column: usize| rows.iter().map(|row| row.cells[column].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let names = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut start = 0;
    while start < columns {
        let end = band_end(&widths, start, width.saturating_sub(names));
        if start > 0 {
            writeln!(out)?;
        }
        for row in rows {
            write!(out, "{:<names$}", row.name)?;
            write_cells(&row.cells[start..end], &widths[start..end], out)?;
        }
        start = end;
    }
    Ok(())
}

/// As many columns as fit, but at least one.
fn band_end(widths: &[usize], start: usize, room: usize) -> usize {
    let mut used = 0;
    let fits = widths[start..].iter().take_while(|&&width| {
        used += GAP + width;
        used <= room
    });
    start + fits.count().max(1)
}

fn write_cells(cells: &[String], widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
    let mut blanks = GAP;
    for (cell, width) in cells.iter().zip(widths) {
        write!(out, "{:blanks$}{cell}", "")?;
        blanks = GAP + width - cell.width();
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: usize) -> String {
        let row =
            |name, cells: &[&str]| Row { name, cells: cells.iter().map(|cell| cell.to_string()).collect() };
        let mut out = Vec::new();
        write(&[row("tokens", &["你好", "a", "##bcd"]), row("ids", &["7", "100", "8"])], width, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_by_their_width_on_the_screen() {
        assert_eq!(table(80), "tokens  你好  a    ##bcd\nids     7     100  8\n");
    }

    #[test]
    fn a_narrow_terminal_gets_several_bands() {
        assert_eq!(table(18), "tokens  你好  a\nids     7     100\n\ntokens  ##bcd\nids     8\n");
        assert_eq!(table(1).lines().count(), 8);
    }
}
