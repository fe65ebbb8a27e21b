//! `oxibert translate --attention`: where did the decoder look while it wrote each word?
//!
//! One page for a browser, without scripts and without anything from elsewhere. Every sentence has a picture of the mean
//! over all heads, with the number behind every field, and below it one picture per layer and head. A row is a
//! written token, a column a read one; the darker a field, the more of the row's attention went there.

use std::fmt::Write;

use oxibert::infer::Alignment;
use unicode_width::UnicodeWidthStr;

/// Side of a field, in units of the picture.
const FIELD: usize = 18;
/// Width of a narrow character of a label.
const LETTER: usize = 9;
/// Between labels and fields.
const GAP: usize = 6;
/// Below this share of a row's attention a field stays empty.
const FAINTEST: f32 = 0.01;
/// Shades of the heads' pictures: a path for each is a tenth of the size of a rectangle per field.
const SHADES: usize = 10;
/// Sentences on a page: more make it too large for a browser.
const MOST_SENTENCES: usize = 50;

/// One head's shares, [written, read].
fn head(alignment: &Alignment, layer: usize, head: usize) -> &[f32] {
    let size = alignment.target.len() * alignment.source.len();
    &alignment.layers[layer][head * size..][..size]
}

/// The mean over all heads of all layers, [written, read].
fn mean(alignment: &Alignment) -> Vec<f32> {
    let size = alignment.target.len() * alignment.source.len();
    let mut mean = vec![0.0; size];
    let heads = alignment.layers.iter().flat_map(|layer| layer.chunks_exact(size.max(1)));
    let mut count = 0.0f32;
    for head in heads {
        mean.iter_mut().zip(head).for_each(|(sum, share)| *sum += share);
        count += 1.0;
    }
    mean.iter_mut().for_each(|sum| *sum /= count);
    mean
}

/// The page while it is written.
pub(crate) struct Page {
    html: String,
    sentences: usize,
    left_out: usize,
}

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        let title = escaped(title);
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
             <p>Rows: what was written. Columns: what was read. The darker, the more attention. · \
             行：写出的词；列：读到的词；颜色越深，注意力越多。</p>\n</header>\n",
            include_str!("attention.css")
        );
        Self { html, sentences: 0, left_out: 0 }
    }

    /// Whether no more sentences shall be drawn.
    pub(crate) fn is_full(&self) -> bool {
        self.sentences == MOST_SENTENCES
    }

    /// Counts a sentence that is not drawn.
    pub(crate) fn leave_out(&mut self) {
        self.left_out += 1;
    }

    /// Adds a sentence with its translation.
    pub(crate) fn add(&mut self, source: &str, target: &str, alignment: &Alignment) {
        self.sentences += 1;
        let frame = Frame::new(self.sentences, alignment);
        let _ = writeln!(
            self.html,
            "<section>\n<h2>{}</h2>\n<p class=\"to\">{}</p>\n{}",
            escaped(source),
            escaped(target),
            frame.symbol(alignment)
        );
        self.mean(&frame, alignment);
        (0..alignment.layers.len()).for_each(|layer| self.layer(&frame, alignment, layer));
        self.html.push_str("</section>\n");
    }

    fn mean(&mut self, frame: &Frame, alignment: &Alignment) {
        let mut fields = String::new();
        for (at, share) in mean(alignment).into_iter().enumerate().filter(|(_, share)| *share >= FAINTEST) {
            let (row, column) = (at / alignment.source.len(), at % alignment.source.len());
            let (x, y) = frame.corner(row, column);
            let (written, read) = (escaped(&alignment.target[row]), escaped(&alignment.source[column]));
            let _ = writeln!(
                fields,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{FIELD}\" height=\"{FIELD}\" fill-opacity=\"{share:.2}\">\
                 <title>{written} ← {read}: {:.0} %</title></rect>",
                100.0 * share
            );
        }
        let caption = "mean of all heads · 所有头的平均";
        let drawn = frame.drawn(&fields, Some(frame.width));
        let _ = writeln!(self.html, "<figure><figcaption>{caption}</figcaption>\n{drawn}</figure>");
    }

    fn layer(&mut self, frame: &Frame, alignment: &Alignment, layer: usize) {
        let number = layer + 1;
        let _ = writeln!(
            self.html,
            "<details><summary>layer {number} · 第 {number} 层</summary>\n<div class=\"heads\">"
        );
        for head in 0..alignment.heads {
            let fields = frame.shades(self::head(alignment, layer, head));
            let drawn = frame.drawn(&fields, None);
            let _ = writeln!(
                self.html,
                "<figure><figcaption>head {0} · 头 {0}</figcaption>\n{drawn}</figure>",
                head + 1
            );
        }
        self.html.push_str("</div></details>\n");
    }

    /// The whole page.
    pub(crate) fn finish(mut self) -> String {
        if self.left_out > 0 {
            let left_out = self.left_out;
            let _ = writeln!(
                self.html,
                "<p class=\"remark\">sentences that are not drawn: {left_out} (at most {MOST_SENTENCES} on a page, and none that was \
                 translated in parts) · 未画出的句子：{left_out}</p>"
            );
        }
        let _ =
            writeln!(self.html, "<footer>oxibert {}</footer>\n</body>\n</html>", env!("CARGO_PKG_VERSION"));
        self.html
    }
}

/// What all pictures of a sentence share: sizes, labels and lines, drawn once and used by each.
struct Frame {
    /// The sentence, from 1: names the labels within the page.
    number: usize,
    rows: usize,
    columns: usize,
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl Frame {
    fn new(number: usize, alignment: &Alignment) -> Self {
        let widest = |tokens: &[String]| tokens.iter().map(|token| LETTER * token.width()).max().unwrap_or(0);
        let (rows, columns) = (alignment.target.len(), alignment.source.len());
        let slanted = widest(&alignment.source);
        // Labels of columns rise at 60 degrees: so high, and half as far to the right.
        let (left, top) = (widest(&alignment.target) + GAP, slanted * 7 / 8 + 2 * GAP);
        let (width, height) = (left + columns * FIELD + slanted / 2 + GAP, top + rows * FIELD + 1);
        Self { number, rows, columns, left, top, width, height }
    }

    /// The upper left corner of a field.
    fn corner(&self, row: usize, column: usize) -> (usize, usize) {
        (self.left + column * FIELD, self.top + row * FIELD)
    }

    /// Labels and lines, kept under a name.
    fn symbol(&self, alignment: &Alignment) -> String {
        let mut out = format!(
            "<svg width=\"0\" height=\"0\" aria-hidden=\"true\"><symbol id=\"s{}\" viewBox=\"0 0 {} {}\">\n",
            self.number, self.width, self.height
        );
        let (right, bottom) = (self.columns * FIELD, self.rows * FIELD);
        let _ = writeln!(
            out,
            "<rect class=\"cells\" x=\"{}\" y=\"{}\" width=\"{right}\" height=\"{bottom}\"/>",
            self.left, self.top
        );
        out.push_str("<path class=\"grid\" d=\"");
        for at in 1..self.columns {
            let _ = write!(out, "M{} {}v{bottom}", self.left + at * FIELD, self.top);
        }
        for at in 1..self.rows {
            let _ = write!(out, "M{} {}h{right}", self.left, self.top + at * FIELD);
        }
        out.push_str("\"/>\n");
        for (row, token) in alignment.target.iter().enumerate() {
            let (x, y) = (self.left - GAP, self.top + row * FIELD + 13);
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>", escaped(token));
        }
        for (column, token) in alignment.source.iter().enumerate() {
            let (x, y) = (self.left + column * FIELD + 12, self.top - GAP);
            let _ =
                writeln!(out, "<text transform=\"translate({x} {y}) rotate(-60)\">{}</text>", escaped(token));
        }
        out + "</symbol></svg>"
    }

    /// The fields of a head, one path per shade.
    fn shades(&self, shares: &[f32]) -> String {
        let mut paths = vec![String::new(); SHADES + 1];
        for (at, share) in shares.iter().enumerate() {
            let shade = (share.clamp(0.0, 1.0) * SHADES as f32).round() as usize;
            let (x, y) = self.corner(at / self.columns, at % self.columns);
            let _ = write!(paths[shade], "M{x} {y}h{FIELD}v{FIELD}h-{FIELD}z");
        }
        let mut out = String::new();
        for (shade, path) in paths.iter().enumerate().skip(1).filter(|(_, path)| !path.is_empty()) {
            let opacity = shade as f32 / SHADES as f32;
            let _ = writeln!(out, "<path fill-opacity=\"{opacity:.1}\" d=\"{path}\"/>");
        }
        out
    }

    /// A picture: labels, lines and these fields.
    fn drawn(&self, fields: &str, width: Option<usize>) -> String {
        let Self { number, width: full, height, .. } = self;
        let size = width.map(|width| format!(" width=\"{width}\"")).unwrap_or_default();
        format!(
            "<svg viewBox=\"0 0 {full} {height}\"{size}><use href=\"#s{number}\" width=\"{full}\" height=\"{height}\"/>\
             <g class=\"mark\">\n{fields}</g></svg>"
        )
    }
}

/// Text that HTML takes for text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Two layers of two heads: three look at one place each, the last one everywhere.
    fn alignment() -> Alignment {
        let first = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        let second = vec![0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.25, 0.25, 0.5, 0.3, 0.3, 0.4];
        Alignment {
            source: tokens("a <b> 猫"), target: tokens("x &"), heads: 2, layers: vec![first, second]
        }
    }

    #[test]
    fn heads_and_their_mean() {
        let alignment = alignment();
        assert_eq!(head(&alignment, 1, 0), [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(mean(&alignment)[..2], [0.3125, 0.3125]);
        let row: f32 = mean(&alignment)[3..].iter().sum();
        assert!((row - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_page_has_a_picture_per_head_and_nothing_from_elsewhere() {
        let mut page = Page::new("Attention <1>");
        page.add("a <b> 猫", "x & y", &alignment());
        let html = page.finish();
        assert_eq!(html.matches("<use href=\"#s1\"").count(), 1 + 2 * 2);
        assert_eq!(html.matches("<details>").count(), 2);
        assert!(html.contains("<title>x ← a: 31 %</title>"), "{html}");
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>") && html.contains("x &amp; y"));
        ["http:", "https:", "//", "<script", "url("]
            .iter()
            .for_each(|it| assert!(!html.contains(it), "{it}"));
        for tag in ["svg", "figure", "section", "details", "symbol", "g", "text", "div"] {
            let opened = [format!("<{tag} "), format!("<{tag}>")].map(|start| html.matches(&start).count());
            assert_eq!(opened[0] + opened[1], html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn a_full_page_says_what_is_missing() {
        let mut page = Page::new("t");
        for _ in 0..MOST_SENTENCES {
            assert!(!page.is_full());
            page.add("a", "b", &alignment());
        }
        assert!(page.is_full());
        page.leave_out();
        page.leave_out();
        let html = page.finish();
        assert_eq!(html.matches("<section>").count(), MOST_SENTENCES);
        assert!(html.contains("not drawn: 2 "), "{html}");
    }
}
