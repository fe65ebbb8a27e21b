//! Texts that are longer than the model: which of their tokens it gets to see.
//!
//! One type, [`Limit`], for training, evaluation, prediction and serving, so that a mode means the same
//! everywhere. It works on lengths only; the tokenizer and the tasks cut what it says.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::{Error, Result};

/// Which of several texts gives way when they are too long together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Truncation {
    /// The longest, until all fit; texts of equal length give way together.
    #[default]
    LongestFirst,
    /// The first text only.
    OnlyFirst,
    /// The second text only.
    OnlySecond,
    /// None: everything stays.
    None,
}

/// Which part of a too long text stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongText {
    /// Its beginning.
    #[default]
    Head,
    /// Its end.
    Tail,
    /// Its beginning and its end: of 510 tokens the first 128 and the last 382, and for a text of more than
    /// 800 tokens the first 256 and the last 254; the same shares of another limit.
    HeadTail,
    /// All of it, in windows that overlap.
    Sliding {
        /// How many tokens two neighbouring windows share; a quarter of the window if not given.
        stride: Option<usize>,
    },
}

/// The names of [`LongText`] and [`Truncation`] as users write them.
const LONG_TEXT_NAMES: [(&str, LongText); 4] = [
    ("head", LongText::Head),
    ("tail", LongText::Tail),
    ("head+tail", LongText::HeadTail),
    ("sliding", LongText::Sliding { stride: None }),
];
const TRUNCATION_NAMES: [(&str, Truncation); 4] = [
    ("longest-first", Truncation::LongestFirst),
    ("only-first", Truncation::OnlyFirst),
    ("only-second", Truncation::OnlySecond),
    ("none", Truncation::None),
];

fn by_name<T: Copy>(names: &[(&str, T)], setting: &'static str, name: &str) -> Result<T> {
    names.iter().find(|known| known.0 == name).map(|known| known.1).ok_or_else(|| {
        let known: Vec<_> = names.iter().map(|known| known.0).collect();
        Error::setting(setting, format!("{name:?} is not known; one of {}", known.join(", ")))
    })
}

impl FromStr for LongText {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        by_name(&LONG_TEXT_NAMES, "long", name)
    }
}

impl FromStr for Truncation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        by_name(&TRUNCATION_NAMES, "truncation", name)
    }
}

impl fmt::Display for LongText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Head => "head",
            Self::Tail => "tail",
            Self::HeadTail => "head+tail",
            Self::Sliding { .. } => "sliding",
        })
    }
}

/// The longest sequence, and what happens to longer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The most tokens of a sequence, special tokens included.
    pub max_length: usize,
    /// Which of several texts gives way.
    pub truncation: Truncation,
    /// Which part of a too long text stays.
    pub long: LongText,
}

impl Limit {
    /// At most `max_length` tokens: the beginning, cut from the longest text first.
    pub fn new(max_length: usize) -> Self {
        Self { max_length, truncation: Truncation::default(), long: LongText::default() }
    }

    /// The windows over texts of these lengths, with `special` tokens put around them.
    pub fn windows(&self, lengths: &[usize], special: usize) -> Result<Windows> {
        let room = self.room(lengths.len(), special)?;
        if lengths.iter().sum::<usize>() <= room || self.truncation == Truncation::None {
            return Ok(Windows::whole(lengths));
        }
        match self.long {
            LongText::Sliding { stride } => self.sliding(lengths, room, stride),
            _ => {
                let kept = self.shares(lengths, room)?;
                let parts = lengths.iter().zip(kept).map(|(&length, kept)| self.cut(length, kept)).collect();
                Ok(Windows { parts, slide: None, done: false })
            }
        }
    }

    /// The tokens left for the texts.
    fn room(&self, texts: usize, special: usize) -> Result<usize> {
        let least = special + texts;
        if self.max_length < least {
            let problem = format!(
                "{} is too short: {special} special tokens and at least one token for each text need {least} or more",
                self.max_length
            );
            return Err(Error::setting("max-length", problem));
        }
        Ok(self.max_length - special)
    }

    /// How many tokens each text keeps.
    fn shares(&self, lengths: &[usize], room: usize) -> Result<Vec<usize>> {
        match self.truncation {
            Truncation::OnlyFirst => only(lengths, room, 0),
            Truncation::OnlySecond => only(lengths, room, 1),
            _ => Ok(longest_first(lengths, room)),
        }
    }

    /// The parts of a text of `length` tokens that make up `kept` of them.
    fn cut(&self, length: usize, kept: usize) -> Part {
        let head = match self.long {
            LongText::Tail => 0,
            LongText::HeadTail if kept < length => head_share(length, kept),
            _ => kept,
        };
        Part { head: 0..head, tail: length - (kept - head)..length }
    }

    /// Slides over the text that gives way; the others stay, up to half of the room, cut at their end.
    fn sliding(&self, lengths: &[usize], room: usize, stride: Option<usize>) -> Result<Windows> {
        let sliding = match self.truncation {
            Truncation::OnlyFirst => 0,
            Truncation::OnlySecond => second(lengths)?,
            _ => (0..lengths.len()).max_by_key(|&text| lengths[text]).unwrap_or(0),
        };
        let mut others = lengths.to_vec();
        others[sliding] = 0;
        let total: usize = others.iter().sum();
        if total > room / 2 {
            others = longest_first(&others, room / 2);
        }
        let width = room - others.iter().sum::<usize>();
        let overlap = stride.unwrap_or(width / 4);
        if overlap >= width {
            let problem =
                format!("{overlap} leaves no step forward in a window of {width} tokens; it must be smaller");
            return Err(Error::setting("stride", problem));
        }
        let parts = others.iter().map(|&kept| Part { head: 0..kept, tail: 0..0 }).collect();
        let slide = Slide { text: sliding, length: lengths[sliding], width, step: width - overlap, at: 0 };
        Ok(Windows { parts, slide: Some(slide), done: false })
    }
}

/// The first 128 of 510 and the last 382; where the text has more than 800 tokens, 256 and 254.
fn head_share(length: usize, kept: usize) -> usize {
    let share = if length <= 800 { 128 } else { 256 };
    kept * share / 510
}

fn second(lengths: &[usize]) -> Result<usize> {
    if lengths.len() < 2 {
        let problem = "only-second needs a second text; use longest-first or only-first for single texts";
        return Err(Error::setting("truncation", problem));
    }
    Ok(1)
}

fn only(lengths: &[usize], room: usize, text: usize) -> Result<Vec<usize>> {
    let text = if text == 1 { second(lengths)? } else { text };
    let others = lengths.iter().sum::<usize>() - lengths[text];
    if others >= room {
        let problem = format!(
            "the other text has {others} tokens and there is room for {room}; use longest-first or a larger max-length"
        );
        return Err(Error::setting("truncation", problem));
    }
    let mut kept = lengths.to_vec();
    kept[text] = room - others;
    Ok(kept)
}

/// Fills all texts up to one level; what is left over goes to the longest, of equals to the last.
fn longest_first(lengths: &[usize], room: usize) -> Vec<usize> {
    let mut by_length: Vec<usize> = (0..lengths.len()).collect();
    by_length.sort_by_key(|&text| lengths[text]);
    let mut kept = vec![0; lengths.len()];
    let mut left = room;
    for (done, &text) in by_length.iter().enumerate() {
        kept[text] = lengths[text].min(left / (lengths.len() - done));
        left -= kept[text];
    }
    kept
}

/// What a window shows of one text: a beginning and an end, either may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// The first tokens shown.
    pub head: Range<usize>,
    /// The last tokens shown.
    pub tail: Range<usize>,
}

/// The windows over one or several texts: for each window, the [`Part`] of each text.
///
/// They come one at a time: a long text with a large overlap has many.
#[derive(Debug, Clone)]
pub struct Windows {
    parts: Vec<Part>,
    slide: Option<Slide>,
    done: bool,
}

#[derive(Debug, Clone)]
struct Slide {
    text: usize,
    length: usize,
    width: usize,
    step: usize,
    at: usize,
}

impl Windows {
    /// One window that shows everything.
    pub(crate) fn whole(lengths: &[usize]) -> Self {
        let parts = lengths.iter().map(|&length| Part { head: 0..length, tail: 0..0 }).collect();
        Self { parts, slide: None, done: false }
    }
}

impl Iterator for Windows {
    type Item = Vec<Part>;

    fn next(&mut self) -> Option<Vec<Part>> {
        if self.done {
            return None;
        }
        let Some(slide) = &mut self.slide else {
            self.done = true;
            return Some(std::mem::take(&mut self.parts));
        };
        let end = (slide.at + slide.width).min(slide.length);
        let mut parts = self.parts.clone();
        parts[slide.text].head = slide.at..end;
        self.done = end == slide.length;
        slide.at += slide.step;
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(limit: Limit, lengths: &[usize], special: usize) -> Vec<Vec<(Range<usize>, Range<usize>)>> {
        let windows = limit.windows(lengths, special).unwrap();
        windows.map(|parts| parts.into_iter().map(|part| (part.head, part.tail)).collect()).collect()
    }

    fn single(long: LongText, length: usize) -> (Range<usize>, Range<usize>) {
        ranges(Limit { long, ..Limit::new(512) }, &[length], 2)[0][0].clone()
    }

    #[test]
    fn the_recipe_of_512() {
        assert_eq!(single(LongText::Head, 900), (0..510, 900..900));
        assert_eq!(single(LongText::Tail, 900), (0..0, 390..900));
        assert_eq!(single(LongText::HeadTail, 800), (0..128, 418..800));
        assert_eq!(single(LongText::HeadTail, 801), (0..256, 547..801));
        for long in LONG_TEXT_NAMES {
            assert_eq!(single(long.1, 510), (0..510, 0..0), "{}", long.0);
        }
    }

    #[test]
    fn sliding_windows_overlap_and_cover() {
        let limit = Limit { long: LongText::Sliding { stride: Some(2) }, ..Limit::new(7) };
        let heads: Vec<_> = ranges(limit, &[11], 2).into_iter().map(|window| window[0].0.clone()).collect();
        assert_eq!(heads, [0..5, 3..8, 6..11]);
        let pair = ranges(Limit { truncation: Truncation::OnlySecond, ..limit }, &[1, 4], 3);
        assert_eq!(pair, [[(0..1, 0..0), (0..3, 0..0)], [(0..1, 0..0), (1..4, 0..0)]]);
    }

    #[test]
    fn the_longest_gives_way_first() {
        assert_eq!(longest_first(&[3, 10], 9), [3, 6]);
        assert_eq!(longest_first(&[10, 10], 9), [4, 5]);
        assert_eq!(longest_first(&[11, 10], 9), [5, 4]);
        assert_eq!(longest_first(&[10, 1, 10], 9), [4, 1, 4]);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let refusal = |limit: Limit, lengths: &[usize], special| {
            limit.windows(lengths, special).unwrap_err().to_string()
        };
        assert!(refusal(Limit::new(2), &[5], 2).starts_with("max-length: 2 is too short"));
        let limit = Limit { truncation: Truncation::OnlySecond, ..Limit::new(9) };
        assert!(refusal(limit, &[9], 2).contains("needs a second text"));
        assert!(refusal(limit, &[9, 9], 3).contains("room for 6"));
        let limit = Limit { long: LongText::Sliding { stride: Some(5) }, ..Limit::new(7) };
        assert!(refusal(limit, &[9], 2).starts_with("stride: 5 leaves no step"));
        assert!("middle".parse::<LongText>().unwrap_err().to_string().contains("head+tail"));
    }
}
