//! Hard cases as tables (`|` marks where a sentence ends), properties, and inputs made to be slow.

use super::sentences;
use proptest::prelude::*;

/// Each case is written with `|` between its sentences; the marks are taken out before splitting.
fn check(cases: &[&str]) {
    let split = |case: &str| sentences(&case.replace('|', "")).collect::<Vec<_>>().join(" | ");
    let want = |case: &str| case.split('|').map(str::trim).collect::<Vec<_>>().join(" | ");
    let wrong: Vec<String> =
        cases.iter().filter(|case| split(case) != want(case)).map(|case| split(case)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn english_ends() {
    check(&[
        "One.| Two!| Three?| Four",
        "No end mark at all",
        "What?!| Yes!!!| Really?",
        "He left.  | She stayed.",
        "Wrapped\nlines are one. | The next\nis another.",
        "It cost $3.| They paid.",
        "In 1990.| Then came 1991.| 1992 was quiet.",
        "I bought an iPhone.| iPhones are dear.",
        "The end.[12]| The next one.[3][4]| Last.",
        "Nice _work!_| Thank you.",
        "Done.| - A bullet",
        "Émile came.| Été fini.",
    ]);
}

#[test]
fn english_abbreviations() {
    check(&[
        "Mr. Smith met Mrs. Jones and Dr. Who.| Prof. Plum left.",
        "Compare cats vs. Dogs, e.g. Rex, i.e. My dog, cf. Fig. 3.| Good.",
        "Apples, pears, etc.| They were ripe.",
        "Apples, pears, etc. were ripe.",
        "Acme Inc. Chairman Bob spoke.| He left Acme Inc.| The end.",
        "They live in the U.S.| The Senate met.",
        "The U.S. Senate met on Jan. 5 at 7 p.m. Sunday.| It rained.",
        "He came at 7 p.m.| Nobody saw him.",
        "See No. 5 and no. 6, pp. 3 and vol. 7.| Then go.",
        "Is it so?| No.| I think not.",
        "He said no.| Then he went.",
        "See Fig. A and Vol. II for more.| Thanks.",
        "Smith et al. (1990) say so.| Jones et al.| The rest.",
        "He moved to Dallas, Tex.| Survivors include a son.",
        "Go to St. Louis.| Turn at Main St.| The shop is there.",
        "Sammy Davis Jr. sang.| So did Frank Jr.| They bowed.",
        "MR. SMITH CAME.| HE LEFT.",
        "_Mr_. Knightley called.",
        "She has a Ph.D. from Yale.| He has a Ph.D.| They met.",
    ]);
}

#[test]
fn english_initials_numbers_and_addresses() {
    check(&[
        "J. R. R. Tolkien and J.K. Rowling wrote.| John F. Kennedy did not.",
        "I chose plan B.| The other was worse.",
        "Call J. A. Smith.| I did.",
        "Pi is 3.14 and v2.0 is out.| Use .NET or Node.js.",
        "1. First item.| 2. Second item.| 10. Tenth item.",
        "IV. The Return",
        "2.3. Results were good.| B. Others were not.",
        "Visit www.example.com.| Or http://a.b/c?d=e!f for more.",
        "Mail me@x.org.| Thanks.",
        "Open file.txt and a.out now.",
    ]);
}

#[test]
fn english_quotes_and_brackets() {
    check(&[
        "\"Stop!\" he said.| \"Why?\" she asked.",
        "“Stop!” he said.| “Why?” she asked.| “Because.”| He left.",
        "'Stop!' he said. | 'Why?' she asked.",
        "\"I know.\"| He left.",
        "\"Really?\" Holmes asked.| \"Yes!\" cried Watson.",
        "“Sure?” I asked.| “No!” Mr. Weston cried.",
        "“Sure?”| He asked again.",
        "He said, \"Go.| Do it now.\"| They went.",
        "He left (really!) and came back.",
        "He left (it was late. I saw him) in a hurry.",
        "(He left.| I stayed.)| Then it rained.",
        "It is (?) Monday.| It is (!) true.",
        "She left.)| Then he came.",
        "Oh! no, my love.| Yahoo! is old.",
        "It was over.|--It had to be.| Well!|—Never.",
        "“The end.”|“Again?”",
    ]);
}

#[test]
fn english_ellipses_and_detached_marks() {
    check(&[
        "Well... maybe.| Wait...| Then he left.",
        "Well… maybe.| Wait…| Then he left.",
        "And . . . then what? . . .| Nothing.",
        "Who knows?| ...And so on.",
        "He said \" no \" .| \" Why ? \"| She left .",
        "He came ( late . )| Then he left .",
        "`` Go . ''| He went .",
    ]);
}

#[test]
fn lower_cased_text() {
    check(&[
        "he came. | she left! | did they?",
        "mr. smith came from the u.s. senate. | he left.",
        "\"stop!\" he said. | he left.",
    ]);
}

#[test]
fn blank_lines_end_everything() {
    check(&["A heading\n\n|The text\ngoes on", "one\r\n \r\n|two", "(open\n\n|closed)", "a\u{2029}|b"]);
    assert_eq!(sentences("one\r\ntwo").count(), 1);
    for empty in ["", " ", "\n\n \n", "\u{3000}"] {
        assert_eq!(sentences(empty).count(), 0);
    }
}

#[test]
fn chinese_ends() {
    check(&[
        "今天很冷。|我们走吧！|好吗？|好",
        "他来了；她走了；我还在。|真的。",
        "什么？！|不会吧！！！|真的。。。|好",
        "今天很冷!|我们走吧.|好吗?|好",
        "　　今天很冷。|　　我们走吧。",
        "增长了3.14%，达到2．5亿元。|很好。",
        "1.第一条。|2.第二条。|A.苹果",
        "请访问www.example.com。|或者你好.com。",
        "我用Python.|它很好.|JavaScript也行",
        "好吃！~~|下次再来。|太好了！😊|我很高兴。",
        "房间很大．|早餐不错．|还会再来",
        "约翰．史密斯来了。|他说英语。",
        "第一行\n第二行。|第三行",
        "标题\n\n|正文。",
    ]);
}

#[test]
fn chinese_ellipses() {
    check(&[
        "他慢慢地走了……|我没有说话。",
        "我……我不知道。|嗯……好吧。",
        "苹果、香蕉……，什么都有。",
        "房间还行...|就是有点小。",
        "他说：……你好。",
    ]);
}

#[test]
fn chinese_quotes() {
    check(&[
        "“你好！”他说。|“再见。”她答道。",
        "“走吧！”小明笑着喊了起来。|我们走了。",
        "“你好！”|小明说：“再见。”|他走了。",
        "他说：“今天很冷。”|小明点点头。",
        "他说：“今天很冷。|我们走吧！”|小明点点头。",
        "「你好！」他說。|「再見！」|天黑了。",
        "他說「你好。」|她走了。",
        "他喊了一声“救命！”就跑了。|没人听见。",
        "题为“什么是爱？为什么？”的文章很长。|我读了。",
        "她问：『你是谁？』|我没有回答。",
        "他说：\"今天很冷。\"|她说：\"走吧！\"|我们走了。",
        "“加油！”的喊声很大。|“好！”|“来！”",
        "“你好！”，他说。|“好。”。|完",
        "“太好了！”|他早就知道。",
    ]);
}

#[test]
fn chinese_brackets_and_titles() {
    check(&[
        "我读了《谁动了我的奶酪？》这本书。|很好。",
        "我读了《谁动了我的奶酪？》。|很好。",
        "林越峰（1909年－？），本名林海成。|他是作家。",
        "他走了（真的！）然后回来。|好。",
        "他走了（真的！是真的）然后回来。|好。",
        "（他走了。）|她还在。",
        "房间不错（就是小了点。）|下次还来。",
        "他走了。|（完）",
    ]);
}

#[test]
fn mixed_text() {
    check(&[
        "Hello!|你好！|How are you? | 我很好。|Thanks.",
        "我喜欢BERT。|It is good.| 你呢？",
        "他在Apple Inc.工作。|She works at Google.",
        "“Hello！” he said.| 他说：\"Hello.\"|然后走了。",
        "Mr. 王来了。|Dr.李没来。",
        "GPT-3.5发布了.|大家都很高兴!|OK",
    ]);
}

proptest! {
    #[test]
    fn slices_are_ordered_trimmed_and_cover_the_text(text in r#"[ \n\r\t.!?。！？…"'“”‘’「」()（）《》a-cA-C0-9你好说：，．_\[\]-]{0,200}"#) {
        check_cover(&text);
    }

    #[test]
    fn any_text_is_covered(text in any::<String>()) {
        check_cover(&text);
    }
}

/// Sentences are trimmed, not empty and in order, and nothing but white space lies between them.
fn check_cover(text: &str) {
    let mut at = 0;
    for sentence in sentences(text) {
        let start = sentence.as_ptr() as usize - text.as_ptr() as usize;
        assert!(!sentence.is_empty() && sentence.trim() == sentence);
        assert!(start >= at && text[at..start].trim().is_empty());
        at = start + sentence.len();
    }
    assert!(text[at..].trim().is_empty());
}

/// A megabyte of each: a quadratic rule would keep this test running for hours.
#[test]
fn hostile_text_takes_linear_time() {
    let prefix = |with: &str| "(".repeat(500_000) + &with.repeat(100_000);
    for unit in [
        ".",
        "a",
        " ",
        "\n",
        "\n \n",
        "\"",
        "“",
        "(",
        "（。",
        "《？",
        "“好！",
        ". ",
        ". . ",
        ".\"",
        "Mr. ",
        "a.b",
        "我",
        "。",
        "……",
        "”",
        "好“！",
        "[1]",
        ".[1]",
        "\" ",
        ".\u{3000}",
        "'",
        ".'",
        ". \"",
        "!--",
        "\r",
        "1. ",
        "_",
        "．",
    ] {
        check_cover(&unit.repeat(1_000_000 / unit.len()));
        check_cover(&prefix(unit));
    }
    check_cover(&("a. ".to_owned() + &" ".repeat(1_000_000) + "b. . " + &".".repeat(1_000_000) + "c"));
}
