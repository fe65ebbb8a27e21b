//! A question and its paragraph as the windows that a model reads.
//!
//! ```text
//! [CLS] when did it open ? [SEP] the tower was opened in 1889 [SEP]
//! [CLS] when did it open ? [SEP]               in 1889 and is still open [SEP]
//! ```

use std::ops::Range;

use super::Answer;
use crate::Result;
use crate::data::labelled::{Gold, Question};
use crate::task::{Item, Target};
use crate::text::{Encoder, Encoding, Limit, LongText, Part, Span, Truncation};

/// `[CLS]` and two `[SEP]`.
const SPECIAL: usize = 3;

/// Where the paragraph's pieces say that the answer is.
#[derive(Debug, Clone, PartialEq)]
enum Right {
    /// Nobody says it.
    Unknown,
    /// There is none.
    Nowhere,
    /// These pieces.
    Pieces(Range<usize>),
}

impl Answer {
    /// `[CLS] question [SEP] paragraph [SEP]` for every window over the paragraph.
    pub(super) fn windows(&self, example: &Question, encoder: &mut Encoder<'_>) -> Result<Vec<Item>> {
        let mut question = encoder.pieces(&example.question);
        let context = encoder.pieces(&example.context);
        let room = self.long.max_length.saturating_sub(SPECIAL);
        cut(&mut question, self.options.max_question.min(room / 2));
        let right = right(example, &context);
        let windows = self
            .limit(room - question.len())
            .windows(&[question.len(), context.len()], SPECIAL)?
            .map(|parts| parts.into_iter().next_back().expect("a part of each text"));
        let item = |part: Part| Item {
            target: target(&right, &part, question.len() + 2),
            sequences: vec![sequence(&question, &context, part, encoder)],
        };
        Ok(windows.map(item).collect())
    }

    fn limit(&self, width: usize) -> Limit {
        let long = match self.long.mode {
            LongText::Sliding { .. } => LongText::Sliding { stride: Some(self.overlap(width)) },
            cut => cut,
        };
        Limit { long, ..self.long.limit(Truncation::OnlySecond) }
    }

    /// Pieces that neighbouring windows share where a window has room for `width` of the paragraph.
    pub(super) fn overlap(&self, width: usize) -> usize {
        match self.long.mode {
            LongText::Sliding { stride: Some(stride) } => stride,
            _ => self.options.stride.min(width / 2),
        }
    }

    /// Whether a window may show the paragraph's beginning and its end without what lies between.
    pub(super) fn skips(&self) -> bool {
        self.long.mode == LongText::HeadTail
    }
}

fn cut(encoding: &mut Encoding, length: usize) {
    encoding.ids.truncate(length);
    encoding.segments.truncate(length);
    encoding.spans.truncate(length);
}

/// The smallest run of pieces that covers the first right answer that stands in the paragraph.
fn right(example: &Question, context: &Encoding) -> Right {
    if example.answerable == Some(false) {
        return Right::Nowhere;
    }
    let placed = |gold: &Gold| gold.start.map(|start| start..start + gold.text.len());
    let Some(bytes) = example.answers.iter().find_map(placed) else { return Right::Unknown };
    let touches = |span: &Span| span.range().start < bytes.end && span.range().end > bytes.start;
    match (context.spans.iter().position(touches), context.spans.iter().rposition(touches)) {
        (Some(first), Some(last)) => Right::Pieces(first..last + 1),
        _ => Right::Unknown,
    }
}

/// What a window should answer; `before` tokens stand before the paragraph's. An answer that is not wholly in the window is
/// none there, as in Google's run_squad.
fn target(right: &Right, part: &Part, before: usize) -> Target {
    let within =
        |shown: &Range<usize>, answer: &Range<usize>| shown.start <= answer.start && answer.end <= shown.end;
    let at =
        |first: usize, pieces: usize| Target::Span { start: first as u32, end: (first + pieces - 1) as u32 };
    match right {
        Right::Unknown => Target::Unknown,
        Right::Pieces(answer) if within(&part.head, answer) => {
            at(before + answer.start - part.head.start, answer.len())
        }
        Right::Pieces(answer) if within(&part.tail, answer) => {
            at(before + part.head.len() + answer.start - part.tail.start, answer.len())
        }
        Right::Nowhere | Right::Pieces(_) => Target::Span { start: 0, end: 0 },
    }
}

fn sequence(question: &Encoding, context: &Encoding, part: Part, encoder: &Encoder<'_>) -> Encoding {
    let special = encoder.tokenizer().special();
    let mut out = Encoding::default();
    out.push(special.cls, 0, Span::default());
    question.ids.iter().zip(&question.spans).for_each(|(&id, &span)| out.push(id, 0, span));
    out.push(special.sep, 0, Span::default());
    part.head.chain(part.tail).for_each(|at| out.push(context.ids[at], 1, context.spans[at]));
    out.push(special.sep, 1, Span::default());
    out
}
