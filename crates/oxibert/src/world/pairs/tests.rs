//! What holds for pairs: both sides speak of the same people, places and days, in clean language.

use std::collections::HashSet;

use super::super::lexicon::{MONTHS, WEEKDAYS};
use super::super::tests::{assert_clean_chinese, assert_clean_english};
use super::super::word::Word;
use super::*;

fn pairs(count: u64) -> Vec<(String, String)> {
    let world = World::new(42);
    (0..count).map(|index| world.pair(index)).collect()
}

fn words(sentence: &str) -> HashSet<&str> {
    sentence.split(|letter: char| !letter.is_ascii_alphabetic()).collect()
}

#[test]
fn the_same_world_tells_the_same_pair() {
    let (english, chinese) = World::new(7).pair(21);
    assert_eq!((english.as_str(), chinese.as_str()), GOLDEN);
}

/// If it changes, everything that was trained on pairs changes: say so in the changelog.
const GOLDEN: (&str, &str) = (
    "Just imagine, Elor, she laughed, took a cake from me and said, \"Next time I will be late!\"",
    "罗春毅，你想想看，她接过我带来的一块蛋糕，笑着说：“下次换我迟到！”",
);

#[test]
fn both_sides_are_clean() {
    for (english, chinese) in pairs(5000) {
        assert_clean_english(&english);
        assert_clean_chinese(&chinese);
    }
}

#[test]
fn both_sides_speak_of_the_same_people_and_places() {
    let world = World::new(42);
    let mut named = 0;
    for (english, chinese) in pairs(5000) {
        let words = words(&english);
        for person in &world.facts.people {
            let both = (words.contains(person.given.as_str()), chinese.contains(&person.chinese));
            assert_eq!(both.0, both.1, "{english}\n{chinese}");
            named += usize::from(both.0);
        }
        for place in &world.facts.places {
            let both = (words.contains(place.english.as_str()), chinese.contains(&place.chinese));
            assert_eq!(both.0, both.1, "{english}\n{chinese}");
        }
    }
    assert!(named > 2500, "{named}");
}

#[test]
fn both_sides_speak_of_the_same_time() {
    let both_have = |table: &[Word], english: &str, chinese: &str| {
        let words = words(english);
        table.iter().filter(|word| words.contains(word.english) != chinese.contains(word.chinese)).count()
            == 0
    };
    for (english, chinese) in pairs(5000) {
        // Last week's one basket, 上星期一筐, is no Monday.
        let chinese = chinese.replace("上星期", "");
        assert!(both_have(&WEEKDAYS, &english, &chinese), "{english}\n{chinese}");
        // May can be a verb, and the first two months are part of the names of the last two.
        assert!(both_have(&MONTHS[3..9], &english, &chinese), "{english}\n{chinese}");
    }
}

#[test]
fn whoever_is_introduced_by_a_job_is_so_on_both_sides() {
    let world = World::new(42);
    let mut titled = 0;
    for (english, chinese) in pairs(5000) {
        for person in &world.facts.people {
            let job = &person.job.name;
            // Lin is a name, and the beginning of Linas.
            let ends = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphabetic());
            let introduction = format!("he {} {}", job.english, person.given);
            if english.split(&introduction).skip(1).any(ends) {
                titled += 1;
                assert!(
                    chinese.contains(&format!("{}{}", job.chinese, person.chinese)),
                    "{english}\n{chinese}"
                );
            }
        }
    }
    assert!(titled > 500, "{titled}");
}

#[test]
fn pronouns_agree() {
    let mut seen = 0;
    for (english, chinese) in pairs(5000) {
        if chinese.starts_with(['她', '他']) && !chinese.starts_with("他们") && !chinese.starts_with("她们")
        {
            let words = words(&english);
            let expected: &[&str] = if chinese.starts_with('她') {
                &["She", "she", "her", "Her"]
            } else {
                &["He", "he", "him", "his", "His"]
            };
            assert!(expected.iter().any(|word| words.contains(word)), "{english}\n{chinese}");
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn hardly_a_pair_returns() {
    let pairs = pairs(5000);
    let distinct = pairs.iter().collect::<HashSet<_>>().len();
    assert!(distinct > 4700, "{distinct}");
}

/// Every template of the stories that are told, once.
fn templates() -> Vec<(&'static str, &'static str)> {
    let world = World::new(42);
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for index in 0..1500 {
        let (_, story) = genre::story(&world.facts, None, Random::new(42, "world story", index));
        for event in story.events {
            let both = event.frame.english.iter().copied().zip(event.frame.chinese.iter().copied());
            seen.extend(both.filter(|template| !seen.contains(template)).collect::<Vec<_>>());
        }
    }
    seen
}

#[test]
fn most_templates_say_the_same_in_both_languages() {
    let templates = templates();
    let mut random = Random::new(1, "pairs test", 0);
    let usable = templates
        .iter()
        .filter(|(english, chinese)| {
            (0..20).any(|_| Wording::of_template(english, chinese, &mut random).is_some())
        })
        .count();
    assert!(3 * usable > 2 * templates.len(), "{usable} of {}", templates.len());
}

#[test]
fn choices_follow_each_other() {
    let mut random = Random::new(1, "pairs test", 1);
    let mut seen = HashSet::new();
    for _ in 0..50 {
        let english = "{who} [coughed|sneezed] at [{place}|home] with {n:what}.";
        let made =
            Wording::of_template(english, "{who}在[{place}|家里][咳嗽|打喷嚏]，{n.of}{what}。", &mut random);
        let made = made.expect("two groups, exchanged");
        assert_eq!(made.english.contains("coughed"), made.chinese.contains("咳嗽"));
        assert_eq!(made.english.contains("home"), made.chinese.contains("家里"));
        seen.insert(made.english);
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn what_one_language_says_alone_is_no_pair() {
    let mut random = Random::new(1, "pairs test", 2);
    for (english, chinese) in [
        ("{who} [ran|walked].", "{who}走了。"),
        ("{who} went to {place}.", "{who}走了。"),
        ("{who} [ran to {place}|walked].", "{who}[走了|跑到{place}]。"),
        ("{who} [ran|walked|swam].", "{who}[跑了|走了]。"),
    ] {
        assert!(Wording::of_template(english, chinese, &mut random).is_none(), "{english}");
    }
    assert!(Wording::of_template("{who} lost {who.his} hat.", "{who}丢了帽子。", &mut random).is_some());
}

/// The table of loose choices would rot in silence otherwise.
#[test]
fn loose_choices_are_choices_of_a_template() {
    let all: Vec<String> =
        templates().iter().flat_map(|(english, _)| groups(english)).map(|group| group.join("|")).collect();
    for loose in LOOSE {
        assert!(all.iter().any(|group| group == loose), "{loose}");
    }
}
