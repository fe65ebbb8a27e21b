//! What holds for the world as a whole: every document, in every language.

use std::collections::{HashMap, HashSet};

use super::*;

const LANGUAGES: [Language; 2] = [Language::English, Language::Chinese];

fn documents(language: Language, count: u64) -> Vec<Document> {
    let world = World::new(42);
    (0..count).map(|index| world.document(language, index)).collect()
}

/// The genre that only worlds of one genre write.
fn workdays(language: Language, count: u64) -> Vec<Document> {
    let world = World::new(42).only(Genre::Workday);
    (0..count).map(|index| world.document(language, index)).collect()
}

fn sentences(language: Language) -> Vec<String> {
    let all = documents(language, 1500).into_iter().chain(workdays(language, 1000));
    all.flat_map(|document| document.sentences).collect()
}

#[test]
fn the_same_world_tells_the_same_document() {
    let english = World::new(GOLDEN_SEED).document(Language::English, GOLDEN_INDEX);
    let chinese = World::new(GOLDEN_SEED).document(Language::Chinese, GOLDEN_INDEX);
    assert_eq!((english.title.as_str(), english.sentences), (GOLDEN_ENGLISH[0], owned(&GOLDEN_ENGLISH[1..])));
    assert_eq!((chinese.title.as_str(), chinese.sentences), (GOLDEN_CHINESE[0], owned(&GOLDEN_CHINESE[1..])));
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn seed_and_index_matter() {
    let text = |seed, index| World::new(seed).document(Language::English, index).sentences;
    assert_ne!(text(1, 0), text(2, 0));
    assert_ne!(text(1, 0), text(1, 1));
}

#[test]
fn documents_differ_and_hardly_a_sentence_returns() {
    for language in LANGUAGES {
        let documents = documents(language, 5000);
        let texts: HashSet<&Vec<String>> = documents.iter().map(|document| &document.sentences).collect();
        assert_eq!(texts.len(), documents.len(), "{language:?}: no document twice");
        let all: Vec<&String> = documents.iter().flat_map(|document| &document.sentences).collect();
        let distinct = all.iter().collect::<HashSet<_>>().len() as f64 / all.len() as f64;
        assert!(distinct > 0.95, "{language:?}: {distinct}");
    }
}

#[test]
fn no_document_repeats_a_sentence_and_all_have_a_fair_length() {
    for language in LANGUAGES {
        for document in documents(language, 1500) {
            let distinct: HashSet<&String> = document.sentences.iter().collect();
            assert_eq!(distinct.len(), document.sentences.len(), "{document:?}");
            assert!((6..=25).contains(&document.sentences.len()), "{document:?}");
            assert!(!document.title.is_empty());
        }
    }
}

#[test]
fn workdays_differ_and_are_short() {
    for language in LANGUAGES {
        let documents = workdays(language, 3000);
        let texts: HashSet<&Vec<String>> = documents.iter().map(|document| &document.sentences).collect();
        assert_eq!(texts.len(), documents.len(), "{language:?}: no document twice");
        for document in &documents {
            let distinct: HashSet<&String> = document.sentences.iter().collect();
            assert_eq!(distinct.len(), document.sentences.len(), "{document:?}");
            assert!((7..=10).contains(&document.sentences.len()), "{document:?}");
            assert!(!document.title.is_empty());
        }
    }
}

#[test]
fn what_a_workday_counts_adds_up() {
    const NUMBERS: [&str; 7] = ["zero", "one", "two", "three", "four", "five", "six"];
    let number = |sentence: &str, before: &str| {
        let word = between(sentence, before, ' ')?.trim_end_matches('.');
        NUMBERS.iter().position(|number| *number == word)
    };
    let mut seen = 0;
    for document in workdays(Language::English, 1000) {
        let find = |before: &str| document.sentences.iter().find_map(|sentence| number(sentence, before));
        let sold = find(" bought ").or_else(|| find(" sold "));
        if let (Some(made), Some(kept), Some(sold)) = (find("Of the "), find(" kept "), sold) {
            assert_eq!(made, sold + kept, "{document:?}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn every_genre_is_written() {
    let genres: HashSet<Genre> =
        documents(Language::English, 300).iter().map(|document| document.genre).collect();
    for genre in Genre::ALL {
        assert_eq!(genres.contains(&genre), genre != Genre::Workday, "{genre:?}");
        assert_eq!(World::new(42).only(genre).document(Language::English, 3).genre, genre);
    }
}

#[test]
fn a_world_of_one_genre_tells_what_the_whole_world_tells() {
    let (world, letters) = (World::new(42), World::new(42).only(Genre::Letter));
    let mut seen = 0;
    for index in 0..100 {
        let document = world.document(Language::English, index);
        if document.genre == Genre::Letter {
            assert_eq!(letters.document(Language::English, index), document);
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn english_is_clean() {
    sentences(Language::English).iter().for_each(|sentence| assert_clean_english(sentence));
}

pub(super) fn assert_clean_english(sentence: &str) {
    assert!(sentence.is_ascii(), "{sentence}");
    assert!(sentence.ends_with(['.', '!', '?', '"']), "{sentence}");
    let first = sentence.trim_start_matches('"').chars().next();
    assert!(first.is_some_and(|c| c.is_ascii_uppercase() || c.is_ascii_digit()), "{sentence}");
    let wrong = [
        "  ",
        " ,",
        " .",
        "{",
        "}",
        "[",
        "]",
        "|",
        " a a",
        " a e",
        " a i",
        " the the ",
        ",,",
        "..",
        " I were.",
    ];
    wrong.iter().for_each(|wrong| assert!(!sentence.contains(wrong), "{wrong:?} in {sentence}"));
    assert_eq!(sentence.matches('"').count() % 2, 0, "{sentence}");
}

#[test]
fn chinese_is_clean() {
    sentences(Language::Chinese).iter().for_each(|sentence| assert_clean_chinese(sentence));
}

pub(super) fn assert_clean_chinese(sentence: &str) {
    assert!(sentence.ends_with(['。', '！', '？', '”']), "{sentence}");
    let leaked = |c: char| c.is_ascii() && !c.is_ascii_digit();
    assert!(!sentence.contains(leaked), "{sentence}");
    let wrong = ["，，", "，。", "。。", "的的", "了了"];
    wrong.iter().for_each(|wrong| assert!(!sentence.contains(wrong), "{wrong} in {sentence}"));
    assert!(!counts_with_er(sentence), "{sentence}");
    assert_eq!(sentence.matches('“').count(), sentence.matches('”').count(), "{sentence}");
}

/// Whether a lone 二 stands before a measure word, where 两 belongs; 十二个, 星期二 and 第二天 are right.
fn counts_with_er(sentence: &str) -> bool {
    let letters: Vec<char> = sentence.chars().collect();
    letters
        .windows(3)
        .any(|w| !"十期第".contains(w[0]) && w[1] == '二' && "个枚天袋包只筐份盘次".contains(w[2]))
}

/// What follows `before` and precedes `after`, for every sentence that has both.
fn between<'a>(sentence: &'a str, before: &str, after: char) -> Option<&'a str> {
    sentence.split_once(before)?.1.split(after).next()
}

#[test]
fn facts_are_the_same_in_every_document() {
    let world = World::new(42);
    let by_name: HashMap<&str, &facts::Place> =
        world.facts.places.iter().map(|place| (place.english.as_str(), place)).collect();
    let (mut years, mut days) = (0, 0);
    for document in documents(Language::English, 3000).iter().filter(|document| document.genre == Genre::Town)
    {
        let place = by_name[document.title.as_str()];
        for sentence in &document.sentences {
            if let Some(year) = between(sentence, "founded in the year ", ' ') {
                assert_eq!(year, place.founded.to_string(), "{sentence}");
                years += 1;
            }
            if let Some(day) = between(sentence, "is held every ", ' ') {
                assert_eq!(day, place.market_day.english, "{sentence}");
                days += 1;
            }
        }
    }
    assert!(years > 5 && days > 5, "{years} {days}");
}

#[test]
fn markets_and_journeys_agree_with_the_encyclopedia() {
    let world = World::new(42);
    let mut seen = 0;
    for document in documents(Language::Chinese, 3000) {
        for sentence in &document.sentences {
            for place in world.facts.places.iter().filter(|place| sentence.contains(&place.chinese)) {
                if let Some(day) = between(sentence, &format!("{}每逢", place.chinese), '有') {
                    let weekday: String = day.chars().take(3).collect();
                    assert_eq!(weekday, place.market_day.chinese, "{sentence}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn both_languages_tell_the_same_story() {
    for world in [World::new(42), World::new(42).only(Genre::Workday)] {
        for index in 0..200 {
            let [english, chinese] = LANGUAGES.map(|language| world.document(language, index));
            assert_eq!(english.genre, chinese.genre);
            assert_eq!(english.sentences.len(), chinese.sentences.len());
        }
    }
}

#[test]
fn templates_stand_side_by_side() {
    let world = World::new(42);
    for index in 0..2000 {
        let only = (index >= 1500).then_some(Genre::Workday);
        let (_, story) = genre::story(&world.facts, only, Random::new(42, "world story", index));
        for event in story.events {
            // The n-th template says the same in each language: pairs of sentences can be made from them.
            assert_eq!(event.frame.english.len(), event.frame.chinese.len(), "{:?}", event.frame);
        }
    }
}

#[test]
fn a_corpus_is_lines_and_blank_lines() {
    let world = World::new(42);
    let mut corpus = Vec::new();
    world.write_corpus(&LANGUAGES, 2, &mut corpus).expect("a vector takes all");
    let corpus = String::from_utf8(corpus).expect("text");
    let documents: Vec<Vec<String>> =
        corpus.trim_end().split("\n\n").map(|text| text.lines().map(str::to_owned).collect()).collect();
    assert_eq!(documents.len(), 4);
    assert_eq!(documents[2], world.document(Language::English, 1).sentences);
    assert_eq!(documents[3], world.document(Language::Chinese, 1).sentences);
}

/// If these change, every corpus that anybody made with the same seed changes: say so in the changelog.
const GOLDEN_SEED: u64 = 7;
const GOLDEN_INDEX: u64 = 21;
const GOLDEN_ENGLISH: [&str; 8] = [
    "A journey from Drumgrove to Tarnwell",
    "One stormy morning in summer, Odbert Berrymore left Drumgrove by coach to look for work.",
    "The potter Teran Wintermore walked with Odbert as far as the last house of Drumgrove.",
    "Odbert travelled sixteen miles to the southwest and reached Tarnwell after five hours.",
    "The first thing that he saw in Tarnwell was the lighthouse by the Lunde.",
    "Tarnwell was lively, because it was Thursday, the market day of the city, and he spent four coins.",
    "Odbert bought a jar of honey from the beekeeper Orric Hazelby for four coins as a present.",
    "After three days, Odbert was back in Drumgrove and had travelled thirty-two miles in all.",
];
const GOLDEN_CHINESE: [&str; 8] = [
    "冯晓诚去青泉城",
    "面包师冯晓诚带上一条围巾，乘驿车从鼓林镇出发，去找活干。",
    "陶匠谢景辉陪冯晓诚一直走到鼓林镇最后一座房子。",
    "路一直向西南，走了十六里，过了五个小时，冯晓诚看见了青泉城红色的屋顶。",
    "在青泉城，他吃了当地人最爱的蜂蜜蛋糕，付了四枚铜币。",
    "冯晓诚在青泉城最先看到的是红色屋顶中间的灯塔。",
    "他认识了青泉城的养蜂人沈景军，跟着他参观了果园，看了三个小时。",
    "“哪里也比不上鼓林镇。”三天以后，冯晓诚坐在家里说。",
];
