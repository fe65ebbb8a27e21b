//! A chunk becomes `[CLS] A [SEP] B [SEP]`: the second text is chosen, and what is too long is cut.

use super::chunks::Chunk;
use super::{Example, Examples, Objective};
use crate::random::Random;

/// How often a document for the second text is drawn until it is another one, as in Google's code.
const TRIES: usize = 10;

impl Examples<'_> {
    /// Writes the chunk's tokens, segments and class, not yet masked.
    pub(super) fn pair(&self, chunk: &Chunk, random: &mut Random, example: &mut Example) {
        let mut texts = [Text::default(), Text::default()];
        self.append(chunk.document, chunk.first, chunk.a, usize::MAX, &mut texts[0]);
        example.next = None;
        if self.options.objective.has_pairs() {
            example.next = Some(u32::from(self.second(chunk, random, &mut texts)));
        }
        cut(&mut texts, self.options.room(), random);
        self.lay_out(&texts, example);
    }

    /// Chooses the second text; whether it is not the one that follows (or the two are out of order).
    fn second(&self, chunk: &Chunk, random: &mut Random, texts: &mut [Text; 2]) -> bool {
        if chunk.b == 0 {
            let wanted = (chunk.target as usize).saturating_sub(texts[0].kept()).max(1);
            let (document, first) = self.elsewhere(chunk.document, random);
            self.append(document, first, u32::MAX, wanted, &mut texts[1]);
            return true;
        }
        self.append(chunk.document, chunk.first + chunk.a, chunk.b, usize::MAX, &mut texts[1]);
        let swapped = self.options.objective == Objective::Sop && random.chance(0.5);
        if swapped {
            texts.swap(0, 1);
        }
        swapped
    }

    /// A sentence of another document.
    fn elsewhere(&self, document: u32, random: &mut Random) -> (u32, u32) {
        let mut other = *random.pick(&self.documents);
        for _ in 1..TRIES {
            if other != document {
                break;
            }
            other = *random.pick(&self.documents);
        }
        let sentences = self.shards.document(other as usize).sentences();
        (other, random.below(sentences as u64) as u32)
    }

    /// Up to `count` sentences, until there are `wanted` tokens.
    fn append(&self, document: u32, first: u32, count: u32, wanted: usize, text: &mut Text) {
        let document = self.shards.document(document as usize);
        let end = document.sentences().min(first as usize + count as usize);
        for sentence in first as usize..end {
            document.append(sentence, &mut text.ids, &mut text.continues);
            if text.ids.len() >= wanted {
                break;
            }
        }
        text.end = text.ids.len();
    }

    fn lay_out(&self, texts: &[Text; 2], example: &mut Example) {
        let Example { ids, segments, continues, .. } = example;
        ids.clear();
        segments.clear();
        continues.clear();
        ids.push(self.ids.cls);
        continues.push(false);
        let count = if self.options.objective.has_pairs() { 2 } else { 1 };
        for (segment, text) in texts[..count].iter().enumerate() {
            ids.extend_from_slice(&text.ids[text.start..text.end]);
            continues.extend_from_slice(&text.continues[text.start..text.end]);
            ids.push(self.ids.sep);
            continues.push(false);
            segments.resize(ids.len(), segment as u8);
        }
    }
}

/// Sentences, and what is left of them after cutting.
#[derive(Default)]
struct Text {
    ids: Vec<u32>,
    continues: Vec<bool>,
    start: usize,
    end: usize,
}

impl Text {
    fn kept(&self) -> usize {
        self.end - self.start
    }
}

/// The longer text loses a token at its front or back, until both fit.
fn cut(texts: &mut [Text; 2], room: usize, random: &mut Random) {
    while texts[0].kept() + texts[1].kept() > room {
        let longer = usize::from(texts[0].kept() <= texts[1].kept());
        match random.chance(0.5) {
            true => texts[longer].start += 1,
            false => texts[longer].end -= 1,
        }
    }
}
