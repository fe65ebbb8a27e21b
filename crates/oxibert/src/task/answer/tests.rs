use super::*;
use crate::data::labelled::Gold;
use crate::text::{Tokenizer, Vocab};
use crate::train::Body;

const TOKENS: &str = "[PAD] [UNK] [CLS] [SEP] [MASK] when where ? the tower opened in 18 ##89 paris and is still \
                      open . 塔 在 巴 黎 哪 里 开 放";

fn tokenizer() -> Tokenizer {
    Tokenizer::uncased(Vocab::from_tokens(TOKENS.split_whitespace()).unwrap()).unwrap()
}

/// A question with right answers, each where it first stands.
fn question(question: &str, context: &str, answers: &[&str]) -> Question {
    let gold = |text: &&str| Gold { text: (*text).to_owned(), start: context.find(*text) };
    Question {
        id: "q1".to_owned(),
        question: question.to_owned(),
        context: context.to_owned(),
        answers: answers.iter().map(gold).collect(),
        answerable: (!answers.is_empty()).then_some(true),
    }
}

fn impossible(context: &str) -> Question {
    Question { answerable: Some(false), ..question("where?", context, &[]) }
}

fn task(max_length: usize, stride: usize) -> Answer {
    let long = Long { max_length, mode: LongText::Sliding { stride: Some(stride) }, pool: Pool::default() };
    Answer { options: AnswerOptions::default(), scorer: Scorer::Squad, long }
}

fn items(task: &Answer, question: &Question) -> Vec<Item> {
    task.items(question, &mut tokenizer().encoder()).unwrap()
}

fn shown(items: &[Item]) -> Vec<String> {
    let tokenizer = tokenizer();
    items.iter().map(|item| tokenizer.tokens(&item.sequences[0]).join(" ")).collect()
}

/// Logits of an item: these starts and ends stand out.
fn logits(item: &Item, starts: &[(usize, f32)], ends: &[(usize, f32)]) -> Vec<f32> {
    let mut logits = vec![0.0; 2 * item.tokens()];
    starts.iter().for_each(|&(token, logit)| logits[2 * token] = logit);
    ends.iter().for_each(|&(token, logit)| logits[2 * token + 1] = logit);
    logits
}

const TOWER: &str = "The tower opened in 1889.";

#[test]
fn a_question_and_its_paragraph_are_one_sequence() {
    let asked = question("When?", TOWER, &["1889"]);
    let items = items(&task(32, 4), &asked);
    assert_eq!(shown(&items), ["[CLS] when ? [SEP] the tower opened in 18 ##89 . [SEP]"]);
    let sequence = &items[0].sequences[0];
    assert_eq!(sequence.segments, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(items[0].target, Target::Span { start: 8, end: 9 });
    assert_eq!(&TOWER[sequence.spans[8].range()], "18");
    assert_eq!(items[0].sequences[0].spans[1].range(), 0..4);
}

#[test]
fn targets_cover_answers_that_fall_between_tokens() {
    let target = |asked: &Question| items(&task(32, 4), asked)[0].target.clone();
    let at = |start, end| Target::Span { start, end };
    assert_eq!(target(&question("When?", TOWER, &["88"])), at(8, 9));
    assert_eq!(target(&question("When?", TOWER, &["ower open"])), at(5, 6));
    assert_eq!(target(&question("When?", TOWER, &[" in "])), at(7, 7));
    assert_eq!(target(&question("When?", TOWER, &["tower", "1889"])), at(5, 5), "the first counts");
    assert_eq!(target(&question("When?", TOWER, &[" "])), Target::Unknown, "no token");
    assert_eq!(target(&question("When?", TOWER, &[])), Target::Unknown);
    assert_eq!(target(&impossible(TOWER)), at(0, 0));
}

#[test]
fn windows_overlap_and_know_where_the_answer_is() {
    let asked = question("When?", "The tower opened in 1889 and is still open", &["in 1889"]);
    let items = items(&task(10, 2), &asked);
    let expected = [
        "[CLS] when ? [SEP] the tower opened in 18 [SEP]",
        "[CLS] when ? [SEP] in 18 ##89 and is [SEP]",
        "[CLS] when ? [SEP] and is still open [SEP]",
    ];
    assert_eq!(shown(&items), expected);
    let targets: Vec<Target> = items.into_iter().map(|item| item.target).collect();
    let at = |start, end| Target::Span { start, end };
    assert_eq!(targets, [at(0, 0), at(4, 6), at(0, 0)], "half an answer is none");
}

#[test]
fn chinese_windows_are_exact() {
    let context = "塔在巴黎开放。塔在巴黎里";
    let asked = question("塔在哪里", context, &["巴黎"]);
    let items = items(&task(13, 3), &asked);
    assert_eq!(
        shown(&items),
        [
            "[CLS] 塔 在 哪 里 [SEP] 塔 在 巴 黎 开 放 [SEP]",
            "[CLS] 塔 在 哪 里 [SEP] 黎 开 放 [UNK] 塔 在 [SEP]",
            "[CLS] 塔 在 哪 里 [SEP] [UNK] 塔 在 巴 黎 里 [SEP]"
        ]
    );
    assert_eq!(items[0].target, Target::Span { start: 8, end: 9 });
    assert_eq!(&context[items[0].sequences[0].spans[8].range()], "巴");
    assert_eq!(items[2].target, Target::Span { start: 0, end: 0 });
}

#[test]
fn other_ways_of_long_texts_show_one_window() {
    let asked = question("When?", "The tower opened in 1889 and is still open", &["and"]);
    let with = |mode| {
        let task = Answer { long: Long { mode, ..Long::new(10) }, ..task(10, 2) };
        let items = items(&task, &asked);
        (shown(&items).concat(), items[0].target.clone())
    };
    let none = Target::Span { start: 0, end: 0 };
    assert_eq!(with(LongText::Head), ("[CLS] when ? [SEP] the tower opened in 18 [SEP]".to_owned(), none));
    let tail = Target::Span { start: 5, end: 5 };
    assert_eq!(with(LongText::Tail), ("[CLS] when ? [SEP] ##89 and is still open [SEP]".to_owned(), tail));
    let (both, target) = with(LongText::HeadTail);
    assert_eq!(both, "[CLS] when ? [SEP] the and is still open [SEP]");
    assert_eq!(target, Target::Span { start: 5, end: 5 });
}

#[test]
fn long_questions_are_cut_and_small_windows_refused() {
    let asked = question("when when when when when", TOWER, &["1889"]);
    let cut =
        Answer { options: AnswerOptions { max_question: 2, ..AnswerOptions::default() }, ..task(32, 4) };
    assert!(shown(&items(&cut, &asked))[0].starts_with("[CLS] when when [SEP] the"));
    assert!(
        shown(&items(&task(9, 1), &asked))[0]
            .starts_with("[CLS] when when when [SEP] the tower opened [SEP]")
    );
    let refusal = |task: &Answer| task.items(&asked, &mut tokenizer().encoder()).unwrap_err().to_string();
    assert!(refusal(&task(4, 1)).starts_with("max-length: 4 is too short"));
    assert!(refusal(&task(9, 3)).starts_with("stride: 3 leaves no step"));
    // Half a window at most, where nobody chose.
    let wide = Answer { long: Long { max_length: 9, ..Answer::long() }, ..task(9, 1) };
    assert_eq!(wide.overlap(3), 1);
    assert_eq!(wide.overlap(300), 128);
    assert_eq!(items(&wide, &asked).len(), 3);
}

#[test]
fn the_best_span_is_the_answer() {
    let task = task(32, 4);
    let asked = question("When?", TOWER, &["1889"]);
    let items = items(&task, &asked);
    // An end before the start, a question's token and [SEP] would score more, but are no answers.
    let logits =
        logits(&items[0], &[(8, 5.0), (1, 9.0), (11, 9.0)], &[(9, 4.0), (6, 7.0), (2, 9.0), (11, 9.0)]);
    let found = task.answer(&asked, &items, &[&logits]);
    assert_eq!((found.text.as_str(), found.start, found.end), ("1889", 20, 24));
    assert_eq!(found.n_best[0].text, "1889");
    assert_eq!(found.null_gap, -9.0);
    assert!((found.n_best.iter().map(|candidate| candidate.score).sum::<f32>() - 1.0).abs() < 1e-5);
    assert_eq!(found.score, found.n_best[0].score);
    assert!(found.n_best.is_sorted_by(|a, b| a.score >= b.score));
    let with = |max_answer, n_best| {
        let options = AnswerOptions { max_answer, n_best, ..task.options };
        Answer { options, ..task.clone() }.answer(&asked, &items, &[&logits]).n_best
    };
    let single = with(1, 20);
    assert_eq!(single.len(), 7);
    assert!(single.iter().all(|candidate| !candidate.text.contains(' ')), "{single:?}");
    // Of the starts 1889, The, tower and the ends opened, 1889, The.
    let few: Vec<String> = with(30, 3).into_iter().map(|candidate| candidate.text).collect();
    assert_eq!(few, ["1889", "The tower opened", "tower opened"]);
}

#[test]
fn a_token_begins_answers_where_most_is_around_it() {
    let task = task(10, 2);
    let asked = question("When?", "The tower opened in 1889 and is still open", &[]);
    let items = items(&task, &asked);
    // "in 18" stand last in the first window and first in the second: the first shows more of "in" (1 behind), the
    // second more of "18" (1 before).
    let first = logits(&items[0], &[(7, 8.0), (8, 9.0)], &[(8, 3.0)]);
    let second = logits(&items[1], &[(4, 7.0), (5, 6.0)], &[(6, 3.0)]);
    let third = logits(&items[2], &[], &[]);
    let found = task.answer(&asked, &items, &[&first, &second, &third]);
    assert_eq!(found.text, "in 18", "18 of the first window does not count, with 12 the best");
    assert!(found.n_best.iter().any(|candidate| candidate.text == "1889"));
    let unseen = found.n_best.iter().filter(|candidate| candidate.text == "18").count();
    assert_eq!(unseen, 1);
    let mut starts: Vec<(usize, usize)> =
        found.n_best.iter().map(|candidate| (candidate.start, candidate.end)).collect();
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), found.n_best.len(), "no span is found twice");
}

#[test]
fn no_answer_is_given_beyond_the_threshold() {
    let mut task = task(32, 4);
    let asked = impossible(TOWER);
    let items = items(&task, &asked);
    let logits = logits(&items[0], &[(0, 4.0), (8, 3.0)], &[(0, 2.0), (9, 2.0)]);
    let mut found = task.answer(&asked, &items, &[&logits]);
    assert_eq!((found.text.as_str(), found.null_gap), ("1889", 1.0), "SQuAD 1.1 always answers");
    task.options.with_impossible = true;
    let none = task.answer(&asked, &items, &[&logits]);
    assert_eq!((none.text.as_str(), none.start, none.end), ("", 0, 0));
    assert_eq!(none.n_best[0].text, "1889", "what it would have been stays known");
    let sum: f32 = none.score + none.n_best.iter().map(|candidate| candidate.score).sum::<f32>();
    assert!((sum - 1.0).abs() < 1e-5 && none.score > none.n_best[0].score);
    task.options.null_threshold = 1.0;
    task.decide(&mut found);
    assert_eq!(found.text, "1889", "more than the threshold is asked for");
    let empty = question("When?", "", &[]);
    let nothing = task.answer(&empty, &self::items(&task, &empty), &[&[0.0; 10]]);
    assert!(nothing.text.is_empty() && nothing.n_best.is_empty());
}

#[test]
fn null_is_the_least_of_all_windows() {
    let task = task(10, 2);
    let asked = question("When?", "The tower opened in 1889 and is still open", &[]);
    let items = items(&task, &asked);
    let rows: Vec<Vec<f32>> = [5.0, 1.0, 3.0]
        .iter()
        .zip(&items)
        .map(|(&null, item)| logits(item, &[(0, null), (4, 2.0)], &[(0, null), (5, 2.0)]))
        .collect();
    let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    assert_eq!(task.answer(&asked, &items, &rows).null_gap, 2.0 - 4.0);
}

#[test]
fn no_answer_reaches_over_what_was_not_read() {
    let long = Long { mode: LongText::HeadTail, ..Long::new(10) };
    let task = Answer { long, ..task(10, 2) };
    let asked = question("When?", "The tower opened in 1889 and is still open", &[]);
    let items = items(&task, &asked);
    let logits = logits(&items[0], &[(4, 9.0), (6, 2.0)], &[(6, 9.0)]);
    let found = task.answer(&asked, &items, &[&logits]);
    assert!(found.n_best.iter().all(|candidate| !candidate.text.contains("tower")), "{found:?}");
    assert_eq!(found.text, "is");
}

/// Answers are slices of the paragraph, whatever it looks like and whatever the model says.
#[test]
fn answers_are_slices_of_the_paragraph() {
    let texts = [
        TOWER,
        "塔在巴黎，开放。Open in 1889",
        "Théâtre\u{301} \u{200b}de l'Opéra —  paris\r\n\tİstanbul 한국 ﬁn",
        " ",
        "",
    ];
    for (seed, text) in texts.iter().enumerate() {
        for (max_length, stride) in [(64, 8), (12, 3), (9, 0)] {
            let task = task(max_length, stride);
            let asked = question("When is the tower open?", text, &[]);
            let items = items(&task, &asked);
            let rows: Vec<Vec<f32>> = items
                .iter()
                .map(|item| {
                    let noise = |i: usize| ((i * 7919 + seed * 31) % 101) as f32 / 10.0;
                    (0..2 * item.tokens()).map(noise).collect()
                })
                .collect();
            let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
            let found = task.answer(&asked, &items, &rows);
            assert_eq!(found.text, text[found.start..found.end]);
            for candidate in &found.n_best {
                assert_eq!(candidate.text, text[candidate.start..candidate.end]);
                assert!(!candidate.text.is_empty());
            }
        }
    }
}

/// The gradient by finite differences, over windows of different lengths.
#[test]
fn the_gradient_is_that_of_the_loss() {
    let task = task(10, 2);
    let known = items(&task, &question("When?", "The tower opened in 1889 and is still open", &["in 1889"]));
    let unknown = items(&task, &question("When?", "The tower", &[]));
    let items: Vec<&Item> = known.iter().chain(&unknown).collect();
    let tokens: usize = items.iter().map(|item| item.tokens()).sum();
    let logits: Vec<f32> = (0..2 * tokens).map(|i| ((i * 7919) % 23) as f32 / 8.0 - 1.4).collect();
    let mut gradient = logits.clone();
    let loss = task.loss(&items, &mut gradient, 0.5);
    let mut kept = logits.clone();
    assert_eq!(task.loss(&items, &mut kept, 0.0), loss);
    assert_eq!(kept, logits, "a scale of 0 changes nothing");
    let plain = |window: usize, column: usize, token: usize| {
        let before: usize = items[..window].iter().map(|item| 2 * item.tokens()).sum();
        let own = &logits[before..before + 2 * items[window].tokens()];
        let sum: f32 = own.iter().skip(column).step_by(2).map(|x| x.exp()).sum();
        f64::from(sum.ln() - own[2 * token + column])
    };
    let columns = [(0, 0, 0), (0, 1, 0), (1, 0, 4), (1, 1, 6), (2, 0, 0), (2, 1, 0)];
    let expected: f64 =
        columns.iter().map(|&(window, column, token)| plain(window, column, token) / 2.0).sum();
    assert!((loss - expected).abs() < 1e-5, "{loss} {expected}");
    for place in 0..logits.len() {
        let shifted = |by: f32| {
            let mut logits = logits.clone();
            logits[place] += by;
            task.loss(&items, &mut logits, 0.0)
        };
        let wanted = 0.5 * (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
        assert!((f64::from(gradient[place]) - wanted).abs() < 1e-3, "{place}");
    }
}

fn found(text: &str, null_gap: f32, score: f32) -> Found {
    let candidate = Candidate { text: text.to_owned(), start: 0, end: text.len(), score };
    Found { text: text.to_owned(), start: 0, end: text.len(), score, null_gap, n_best: vec![candidate] }
}

#[test]
fn figures_are_those_of_the_official_scripts() {
    let task = task(32, 4);
    let examples = [
        question("When?", TOWER, &["in 1889", "1889"]),
        question("What?", TOWER, &["tower opened"]),
        question("Who?", TOWER, &[]),
    ];
    let answers = [found("1889.", 0.0, 0.5), found("The tower", 0.0, 0.5), found("x", 0.0, 0.5)];
    let figures = task.figures(&examples, &answers);
    assert_eq!(figures.value("exact_match"), Some(0.5));
    assert!((figures.value("answer_f1").unwrap() - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
    assert_eq!(figures.value("has_answer_f1"), None);
    let both = [impossible(TOWER), impossible(TOWER), examples[1].clone()];
    let answers = [found("", 1.0, 0.5), found("tower", -1.0, 0.5), found("The tower opened", 0.0, 0.5)];
    let figures = task.figures(&both, &answers);
    assert_eq!(figures.value("no_answer_accuracy"), Some(0.5));
    assert_eq!(figures.value("has_answer_f1"), Some(1.0));
    assert!((figures.value("exact_match").unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(task.goal(), ("answer_f1", Better::Higher));
}

#[test]
fn the_threshold_is_chosen_where_f1_is_best() {
    let mut task = task(32, 4);
    task.options.with_impossible = true;
    let right = || question("When?", TOWER, &["1889"]);
    // By gap: right, none, right, right, none, right.
    let examples = [impossible(TOWER), right(), right(), impossible(TOWER), right(), right()];
    let answers = [
        found("tower", 3.0, 0.5),
        found("1889", -2.0, 0.5),
        found("1889", 1.0, 0.5),
        found("tower", -1.0, 0.5),
        found("1889", 0.5, 0.5),
        found("1889", 4.0, 0.5),
    ];
    assert_eq!(task.best_threshold(&examples, &answers), 1.0);
    assert_eq!(task.best_threshold(&examples[..1], &answers[..1]), 2.0, "below: nothing is answered");
    assert_eq!(task.best_threshold(&examples[1..3], &answers[1..3]), 1.0, "all are answered");
    let ties = [found("1889", 1.0, 0.5), found("tower", 1.0, 0.5)];
    assert_eq!(task.best_threshold(&[right(), impossible(TOWER)], &ties), 0.0, "one gap, one decision");
    assert_eq!(task.best_threshold(&[], &[]), 0.0);
    let (mut settled, mut config) = (answers, Config::preset("tiny", 10).unwrap());
    task.settle(&examples, &mut settled, &mut config);
    assert_eq!(Answer::of(&config, Answer::long()).unwrap().options.null_threshold, 1.0);
    let none = settled.each_ref().map(|found| found.text.is_empty());
    assert_eq!(
        none,
        settled.each_ref().map(|found| found.null_gap > 1.0),
        "the answers of the finished model"
    );
}

#[test]
fn the_surest_mistakes_are_shown_first() {
    let task = task(32, 4);
    let examples =
        [question("a?", TOWER, &["1889"]), question("b?", TOWER, &["1889", "1889"]), impossible(TOWER)];
    let answers = [found("1889", 0.0, 0.9), found("tower", 0.0, 0.4), found("tower", 0.0, 0.8)];
    let sections = task.findings(&examples, &answers);
    let Body::Table { rows, .. } = &sections[0].body else { panic!("{sections:?}") };
    assert_eq!(*rows, [["where?", "tower", "–", "80.0 %", "q1"], ["b?", "tower", "1889", "40.0 %", "q1"]]);
}

#[test]
fn the_data_say_what_is_asked() {
    let english = [question("When?", TOWER, &["1889"]), impossible(TOWER)];
    let (task, notes) = Answer::learn(&english, Answer::long()).unwrap();
    assert!(task.options.with_impossible && task.scorer == Scorer::Squad);
    assert!(notes[0].starts_with("1 of 2 questions have no answer"), "{notes:?}");
    let chinese =
        [question("塔在哪里", "塔在巴黎，opened", &["巴黎"]), question("里", "塔在巴黎开放", &["塔"])];
    let (task, _) = Answer::learn(&chinese, Answer::long()).unwrap();
    assert!(!task.options.with_impossible && task.scorer == Scorer::Cmrc);
    let refusal = Answer::learn(&[question("When?", TOWER, &[])], Answer::long()).unwrap_err().to_string();
    assert!(refusal.starts_with("train: none of 1 questions has an answer"), "{refusal}");
}

#[test]
fn a_configuration_keeps_the_task() {
    let mut task = task(32, 4);
    task.scorer = Scorer::Cmrc;
    (task.options.with_impossible, task.options.null_threshold) = (true, -1.75);
    let mut config = Config::preset("tiny", 9).unwrap();
    config.labels = vec!["x".to_owned(); 3];
    config.other.insert("num_labels".to_owned(), 3.into());
    task.configure(&mut config);
    assert_eq!(
        (config.architectures.concat().as_str(), config.num_labels()),
        ("BertForQuestionAnswering", 2)
    );
    assert_eq!(Answer::of(&config, task.long).unwrap(), task);
    config.other.insert(KEY.to_owned(), serde_json::json!({ "with_impossible": 1 }));
    let refusal = Answer::of(&config, task.long).unwrap_err().to_string();
    assert!(refusal.starts_with("model: oxibert_answer: "), "{refusal}");
    config.other.clear();
    assert!(!Answer::of(&config, task.long).unwrap().options.with_impossible);
    assert_eq!(task.head(), Head::Span);
}
