//! Chinese text to words, for whole-word masking.
//!
//! BERT reads Chinese one character at a time, and a masked character is easily guessed from the rest of its word.
//! Whole-word masking hides all of it, so it has to know where words start and end; Chinese writing does not say.
//! The words come from [jieba](https://docs.rs/jieba-rs): the most likely path through a dictionary of 350 000 words,
//! and a hidden Markov model for what the dictionary does not know. Both were made from simplified Chinese; words in
//! traditional characters are found less well (臺灣大學 comes out as 臺 and 灣大學), and [`Segmenter::with_words`] helps.
//!
//! Cost, measured on one core of a 2-core AVX2 machine, release build: the dictionary takes 0.1 s to load, once per
//! process, and 33 MB from then on; a [`Segmenter::with_words`] adds 17 ms and 25 MB for a copy of its own; text
//! goes through at 22 to 31 MB/s per thread. Time grows linearly with the text even without any punctuation in it
//! (a megabyte of one character: 10 to 50 ms), so the text is handed over whole.

use jieba_rs::Jieba;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// The embedded dictionary, loaded when the first segmenter is made and shared by all of them.
static DICTIONARY: LazyLock<Arc<Jieba>> = LazyLock::new(|| Arc::new(Jieba::new()));

/// Finds the words of Chinese text. Cheap to clone, and one can serve many threads.
///
/// ```
/// use oxibert::text::segment::Segmenter;
///
/// let segmenter = Segmenter::new();
/// assert_eq!(segmenter.words("他来到了北京大学。"), ["他", "来到", "了", "北京大学", "。"]);
/// ```
#[derive(Clone, Debug)]
pub struct Segmenter {
    jieba: Arc<Jieba>,
}

impl Default for Segmenter {
    fn default() -> Self {
        Self::new()
    }
}

impl Segmenter {
    /// A segmenter with the embedded dictionary. Only the first one pays for loading it.
    pub fn new() -> Self {
        Segmenter { jieba: Arc::clone(&DICTIONARY) }
    }

    /// A segmenter that knows `words` on top of the embedded dictionary, such as names and terms of a field.
    ///
    /// Each word gets the frequency that keeps it in one piece where its parts were found before; a more likely word
    /// that overlaps it may still win. White space around a word is dropped and empty words are passed over. Words
    /// are made of Chinese characters, ASCII letters and digits and `+ # & . _ % -`: the dictionary is never asked
    /// about others.
    ///
    /// ```
    /// use oxibert::text::segment::Segmenter;
    ///
    /// assert_eq!(Segmenter::new().words("云计算平台"), ["云", "计算", "平台"]);
    /// assert_eq!(Segmenter::with_words(["云计算"]).words("云计算平台"), ["云计算", "平台"]);
    /// ```
    pub fn with_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut jieba = Jieba::clone(&DICTIONARY);
        for word in words {
            jieba.add_word(word.trim(), None, None);
        }
        Segmenter { jieba: Arc::new(jieba) }
    }

    /// The words of `text`, in order; put together they are the text again, so punctuation and white space count too.
    pub fn words<'t>(&self, text: &'t str) -> Vec<&'t str> {
        self.cover(text).into_iter().map(|span| &text[span]).collect()
    }

    /// The byte ranges of the words of `text`, in order, without white space.
    ///
    /// ```
    /// use oxibert::text::segment::Segmenter;
    ///
    /// assert_eq!(Segmenter::new().word_spans("我们 学习"), [0..6, 7..13]);
    /// ```
    pub fn word_spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = self.cover(text);
        spans.retain(|span| !text[span.clone()].trim().is_empty());
        spans
    }

    /// Jieba's tokens, with the pieces of words in other scripts put together again: it only knows Chinese and
    /// ASCII, and cuts naïve, Привет and ２０２４ into characters that BERT's own splitting keeps in one word.
    fn cover(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        for token in self.jieba.cut(text, true) {
            let joins =
                text[..token.byte_start].ends_with(joins_words) && token.word.starts_with(joins_words);
            match spans.last_mut() {
                Some(last) if joins => last.end = token.byte_end,
                _ => spans.push(token.byte_start..token.byte_end),
            }
        }
        spans
    }
}

/// Letters and digits of scripts other than Chinese, and combining accents.
fn joins_words(c: char) -> bool {
    let chinese = matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}');
    (c.is_alphanumeric() && !chinese) || matches!(c, '\u{300}'..='\u{36F}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn well_known_sentences() {
        let segmenter = Segmenter::new();
        for case in [
            "我们|中出|了|一个|叛徒",
            "小明|硕士|毕业|于|中国科学院|计算所|，|后|在|日本京都大学|深造",
            "他|来到|了|网易|杭研|大厦",
            "南京市|长江大桥",
            "我|来到|北京|清华大学",
            "欢迎|使用|BERT|模型",
        ] {
            let text = case.replace('|', "");
            assert_eq!(segmenter.words(&text).join("|"), case);
        }
    }

    #[test]
    fn other_scripts_stay_whole() {
        let text = "naïve|，|Привет| |안녕|，|２０２４|年|的|GPT-3.5|和|e\u{301}a";
        assert_eq!(Segmenter::new().words(&text.replace('|', "")).join("|"), text);
    }

    #[test]
    fn spans_leave_out_white_space() {
        let text = " 我们\r\n\u{3000}学习 BERT。";
        let spans = Segmenter::new().word_spans(text);
        let words: Vec<&str> = spans.into_iter().map(|span| &text[span]).collect();
        assert_eq!(words, ["我们", "学习", "BERT", "。"]);
        assert!(Segmenter::new().words("").is_empty());
    }

    #[test]
    fn user_words_touch_no_other_segmenter() {
        let with = Segmenter::with_words([" 云计算\n", "", "  "]);
        assert_eq!(with.words("云计算平台"), ["云计算", "平台"]);
        assert_eq!(Segmenter::new().words("云计算平台"), ["云", "计算", "平台"]);
    }

    #[test]
    fn the_dictionary_is_shared() {
        assert!(Arc::ptr_eq(&Segmenter::new().jieba, &Segmenter::default().jieba));
    }

    /// A megabyte without punctuation is one block to jieba: a quadratic or recursive step would show here.
    #[test]
    fn long_runs_take_linear_time() {
        let segmenter = Segmenter::new();
        for unit in ["大", "哈", "鑫", "龘", "中国", "a", ".", "é", " ", "\u{20000}"] {
            let text = unit.repeat(1_000_000 / unit.len());
            let covered: usize = segmenter.words(&text).iter().map(|word| word.len()).sum();
            assert_eq!(covered, text.len());
        }
    }

    proptest! {
        #[test]
        fn words_cover_the_text(text in "[ \\r\\n大中国我们的a-cé0-9.+%，。あ\u{301}\u{20000}]{0,60}", any in any::<String>()) {
            let segmenter = Segmenter::new();
            for text in [text, any] {
                prop_assert_eq!(segmenter.words(&text).concat(), text.clone());
                let spans = segmenter.word_spans(&text);
                prop_assert!(spans.iter().all(|span| !text[span.clone()].trim().is_empty()));
                prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
                let words: String = spans.into_iter().map(|span| &text[span]).collect();
                let bare = |s: &str| s.split_whitespace().collect::<String>();
                prop_assert_eq!(bare(&words), bare(&text));
            }
        }
    }
}
