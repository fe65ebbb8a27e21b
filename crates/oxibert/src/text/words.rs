//! Which tokens continue a word, for whole-word masking: pieces with `##`, and the characters of a Chinese word.

use std::sync::LazyLock;

use super::segment::Segmenter;
use super::unicode::{CHINESE, CharTable};
use super::{Encoding, Tokenizer};

/// Marks the tokens that belong to the same word as the token before them. One can serve many threads.
///
/// ```
/// use oxibert::text::{Tokenizer, Vocab, Words};
///
/// let vocab = Vocab::from_tokens(["[UNK]", "[CLS]", "[SEP]", "un", "##able", "北", "京", "我", "在"])?;
/// let tokenizer = Tokenizer::uncased(vocab)?;
/// let text = "unable 我在北京";
/// let encoding = tokenizer.encoder().pieces(text);
/// let mut continues = Vec::new();
/// Words::new(&tokenizer).mark(text, &encoding, &mut continues);
/// assert_eq!(tokenizer.tokens(&encoding), ["un", "##able", "我", "在", "北", "京"]);
/// assert_eq!(continues, [false, true, false, false, false, true]);
/// # Ok::<(), oxibert::Error>(())
/// ```
pub struct Words {
    /// Of every id: whether it is a piece that continues a word.
    pieces: Vec<bool>,
    characters: &'static CharTable,
    /// The dictionary is loaded when Chinese is met.
    segmenter: LazyLock<Segmenter>,
}

impl Words {
    /// The words of this tokenizer's encodings.
    pub fn new(tokenizer: &Tokenizer) -> Self {
        Self {
            pieces: (0..tokenizer.vocab().len() as u32).map(|id| tokenizer.continues_word(id)).collect(),
            characters: CharTable::of(tokenizer.rules().compat),
            segmenter: LazyLock::new(Segmenter::new),
        }
    }

    /// Appends for every token of `text`'s encoding whether it continues the word of the token before it.
    pub fn mark(&self, text: &str, encoding: &Encoding, continues: &mut Vec<bool>) {
        let from = continues.len();
        continues.extend(encoding.ids.iter().map(|&id| self.pieces[id as usize]));
        if !text.is_ascii() && text.chars().any(|c| self.is_chinese(c)) {
            self.mark_chinese(text, encoding, &mut continues[from..]);
        }
        if let Some(first) = continues.get_mut(from) {
            *first = false;
        }
    }

    /// Of words that mix scripts (T恤) only neighbouring Chinese characters are joined: the rest has its own tokens.
    fn mark_chinese(&self, text: &str, encoding: &Encoding, continues: &mut [bool]) {
        let words = self.segmenter.word_spans(text);
        let (mut at, mut last) = (0, None);
        for (span, continues) in encoding.spans.iter().zip(continues) {
            let start = span.start as usize;
            while words.get(at).is_some_and(|word| word.end <= start) {
                at += 1;
            }
            let inside = words.get(at).is_some_and(|word| word.start <= start);
            let chinese = text[start..].chars().next().is_some_and(|c| self.is_chinese(c));
            let here = (inside && chinese).then_some(at);
            *continues |= here.is_some() && here == last;
            last = here;
        }
    }

    fn is_chinese(&self, c: char) -> bool {
        self.characters.bits(c) & CHINESE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Rules, SPECIAL_TOKENS, Vocab};

    fn words(text: &str, rules: Rules) -> String {
        let letters = "北 京 大 学 ##京 ##大 ##学 的 他 gpt - 3 t bert ##s".split(' ');
        let vocab = Vocab::from_tokens(SPECIAL_TOKENS.into_iter().chain(letters)).unwrap();
        let tokenizer = Tokenizer::new(vocab, rules).unwrap();
        let encoding = tokenizer.encoder().pieces(text);
        let mut continues = vec![true];
        Words::new(&tokenizer).mark(text, &encoding, &mut continues);
        assert_eq!(continues.len(), 1 + encoding.len());
        let mut joined = String::new();
        for (token, continues) in tokenizer.tokens(&encoding).iter().zip(&continues[1..]) {
            joined += if *continues { "" } else { " " };
            joined += token;
        }
        joined
    }

    #[test]
    fn chinese_words_are_one_and_others_are_left_alone() {
        let rules = Rules::uncased(Default::default());
        assert_eq!(words("他的北京大学", rules), " 他 的 北京大学");
        assert_eq!(words("北京 大学", rules), " 北京 大学");
        assert_eq!(words("GPT-3的berts", rules), " gpt - 3 的 bert##s");
        assert_eq!(words("北[MASK]京", rules), " 北 [MASK] 京");
        // A character that the vocabulary lacks belongs to its word all the same; the shirt's letter does not.
        assert_eq!(words("t恤，鑫大", rules), " t [UNK] [UNK] [UNK] 大");
        assert_eq!(words("中国", rules), " [UNK][UNK]");
    }

    #[test]
    fn it_works_where_chinese_is_not_split() {
        let rules = Rules { split_chinese: false, ..Rules::uncased(Default::default()) };
        assert_eq!(words("北京大学的", rules), " [UNK]");
        assert_eq!(words("北京大学", rules), " 北##京##大##学");
    }
}
