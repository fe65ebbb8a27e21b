use super::*;
use crate::task::Pool;
use crate::text::{Tokenizer, Vocab};

const TOKENS: &str = "[PAD] [UNK] [CLS] [SEP] [MASK] john ##son lives in ber ##lin u . s 北 京 我 在 ,";

fn tokenizer() -> Tokenizer {
    Tokenizer::uncased(Vocab::from_tokens(TOKENS.split(' ')).unwrap()).unwrap()
}

/// Words with blanks between them.
fn example(words: &str, tags: &str) -> TaggedExample {
    let mut ranges = Vec::new();
    let mut at = 0;
    for word in words.split(' ') {
        ranges.push(at..at + word.len());
        at += word.len() + 1;
    }
    let tags = tags.split_whitespace().map(str::to_owned).collect();
    TaggedExample { text: words.to_owned(), words: ranges, tags, line: 3 }
}

/// A text whose characters are its words.
fn characters(text: &str, tags: &str) -> TaggedExample {
    let tags = tags.split_whitespace().map(str::to_owned).collect();
    TaggedExample { words: Words::of(text, Unit::Characters), text: text.to_owned(), tags, line: 4 }
}

fn sliding(max_length: usize, stride: usize) -> Long {
    Long { max_length, mode: LongText::Sliding { stride: Some(stride) }, pool: Pool::Mean }
}

fn task(long: Long) -> Tag {
    Tag::learn(&[example("a b c d e", "B-PER I-PER O B-LOC I-LOC")], long).unwrap().0
}

fn items(task: &Tag, example: &TaggedExample) -> Vec<Item> {
    task.items(example, &mut tokenizer().encoder()).unwrap()
}

/// Tokens of each item, joined.
fn shown(items: &[Item]) -> Vec<String> {
    let tokenizer = tokenizer();
    items.iter().map(|item| tokenizer.tokens(&item.sequences[0]).join(" ")).collect()
}

/// Logits by which every token is sure of the tag of this number.
fn sure(tags: &[usize], width: usize) -> Vec<f32> {
    tags.iter().flat_map(|&tag| (0..width).map(move |other| if other == tag { 9.0 } else { 0.0 })).collect()
}

fn entities(task: &Tag, example: &TaggedExample, logits: &[f32]) -> Vec<(String, String)> {
    let answer = task.answer(example, &items(task, example), &[logits]);
    let named = |entity: &Entity| (entity.kind.clone(), entity.text(&example.text).to_owned());
    answer.entities.iter().map(named).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|&(kind, text)| (kind.to_owned(), text.to_owned())).collect()
}

#[test]
fn tags_are_found_in_the_data_in_a_stable_order() {
    let data = [example("a b c", "I-ORG B-PER O"), example("a b", "B-LOC B-ORG"), example("a", "NOUN")];
    let (task, notes) = Tag::learn(&data, Long::new(8)).unwrap();
    assert_eq!(task.labels(), ["O", "B-LOC", "NOUN", "B-ORG", "I-ORG", "B-PER"]);
    assert_eq!(task.unit(), Unit::Characters, "every word is one letter");
    assert!(notes.iter().any(|note| note.contains("\"LOC\" has a single entity")), "{notes:?}");
    assert_eq!(task.head(), Head::Tokens(6));
    let refusal = Tag::learn(&[example("a b", "O O")], Long::new(8)).unwrap_err().to_string();
    assert!(refusal.starts_with("tags: nothing but O in 1 sentences"), "{refusal}");
}

#[test]
fn words_or_characters_are_tagged() {
    let unit = |examples: &[TaggedExample]| Tag::learn(examples, Long::new(8)).unwrap().0.unit();
    assert_eq!(unit(&[example("John lives in Berlin .", "B-PER O O B-LOC O")]), Unit::Words);
    assert_eq!(unit(&[characters("我在北京，2024年", "O O B-LOC I-LOC O O O O O O")]), Unit::Characters);
    let cut = |text: &str, unit| -> Vec<String> {
        Words::of(text, unit).into_iter().map(|word| text[word].to_owned()).collect()
    };
    assert_eq!(cut("U.S. café €5\u{200b}", Unit::Words), ["U", ".", "S", ".", "café", "€5"]);
    assert_eq!(cut("我在 Bonn", Unit::Words), ["我", "在", "Bonn"]);
    assert_eq!(cut("cafe\u{301}!", Unit::Words), ["cafe\u{301}", "!"], "accents stay with their letters");
    assert_eq!(cut("我 B\tn", Unit::Characters), ["我", "B", "n"]);
    assert!(cut("", Unit::Words).is_empty() && cut(" \n", Unit::Characters).is_empty());
    for unit in [Unit::Words, Unit::Characters] {
        assert_eq!(unit.to_string().parse::<Unit>().unwrap(), unit);
    }
    assert!("letters".parse::<Unit>().unwrap_err().to_string().contains("words, characters"));
}

#[test]
fn first_pieces_carry_the_tags() {
    let task = task(Long::new(16));
    let johnson = example("Johnson lives in U.S. Berlin", "B-PER O O B-LOC I-LOC");
    let items = items(&task, &johnson);
    assert_eq!(shown(&items), ["[CLS] john ##son lives in u . s . ber ##lin [SEP]"]);
    let none = UNTAGGED;
    let tags = vec![none, 3, none, 0, 0, 1, none, none, none, 2, none, none];
    assert_eq!(items[0].target, Target::Tags(tags));
    let spans: Vec<&str> =
        items[0].sequences[0].spans.iter().map(|span| &johnson.text[span.range()]).collect();
    assert_eq!(spans, ["", "John", "son", "lives", "in", "U", ".", "S", ".", "Ber", "lin", ""]);
}

#[test]
fn chinese_is_tagged_by_character() {
    let task = task(Long::new(16));
    let text = characters("我在 北京", "O O B-LOC I-LOC");
    let items = items(&task, &text);
    assert_eq!(shown(&items), ["[CLS] 我 在 北 京 [SEP]"]);
    assert_eq!(items[0].target, Target::Tags(vec![UNTAGGED, 0, 0, 1, 2, UNTAGGED]));
    assert_eq!(entities(&task, &text, &sure(&[0, 0, 0, 1, 2, 0], 5)), pairs(&[("LOC", "北京")]));
}

#[test]
fn words_without_tokens_and_tags_without_numbers_do_no_harm() {
    let task = task(Long::new(16));
    let odd = example("John \u{200b} lives", "B-PER I-PER B-GPE");
    let items = items(&task, &odd);
    assert_eq!(items[0].target, Target::Tags(vec![UNTAGGED, 3, UNTAGGED, UNTAGGED]));
    let answer = task.answer(&odd, &items, &[&sure(&[0, 3, 4, 0], 5)]);
    assert_eq!(answer.tags, [3, 0, 4]);
    assert_eq!(answer.entities.len(), 2, "what has no token parts them");
    assert_eq!(task.unknown_tags(std::slice::from_ref(&odd)), [("B-GPE", 1)]);
    let ragged = TaggedExample { tags: vec!["B-PER".to_owned()], ..odd.clone() };
    assert_eq!(self::items(&task, &ragged)[0].target, Target::Tags(vec![UNTAGGED, 3, UNTAGGED, UNTAGGED]));
    let figures = task.figures(&[odd.clone(), ragged], &[answer.clone(), answer]);
    assert!(figures.value("accuracy").unwrap() < 0.5);
    let unlabelled = TaggedExample { tags: Vec::new(), ..odd };
    assert_eq!(self::items(&task, &unlabelled)[0].target, Target::Unknown);
    let empty = TaggedExample { text: String::new(), words: Vec::new(), tags: Vec::new(), line: 1 };
    let items = self::items(&task, &empty);
    assert_eq!(shown(&items), ["[CLS] [SEP]"]);
    assert!(task.answer(&empty, &items, &[&[0.0; 10]]).tags.is_empty());
    assert!(task.figures(&[empty], &[]).iter().next().is_none());
}

#[test]
fn windows_are_cut_between_words() {
    let task = task(sliding(7, 2));
    let text = example("john berlin johnson lives in berlin u", "");
    // Pieces: john | ber ##lin | john ##son | lives | in | ber ##lin | u
    let expected = [
        "[CLS] john ber ##lin john ##son [SEP]",
        "[CLS] john ##son lives in [SEP]",
        "[CLS] lives in ber ##lin u [SEP]",
    ];
    assert_eq!(shown(&items(&task, &text)), expected);
    let giant = example("johnsonsonsonsonson u", "");
    let windows = shown(&items(&task, &giant));
    assert_eq!(windows[0], "[CLS] john ##son ##son ##son ##son [SEP]");
    assert!(windows.last().unwrap().ends_with("u [SEP]"), "{windows:?}");
    let refusal = self::task(sliding(7, 5)).items(&text, &mut tokenizer().encoder()).unwrap_err();
    assert!(refusal.to_string().starts_with("stride: 5 leaves no step"), "{refusal}");
    let refusal = self::task(Long::new(2)).items(&text, &mut tokenizer().encoder()).unwrap_err();
    assert!(refusal.to_string().starts_with("max-length: 2 is too short"), "{refusal}");
}

/// Whatever the sizes, every piece is in a window, none is too long, and they go forward.
#[test]
fn windows_cover_everything() {
    let text = example("u johnsonsonsonson u s in berlin johnson u u berlinlinlinlin s", "");
    let tokenizer = tokenizer();
    let pieces = Pieces::of(&text, &mut tokenizer.encoder());
    for max_length in 3..30 {
        for stride in 0..max_length - 2 {
            let windows = pieces.windows(&sliding(max_length, stride)).unwrap();
            assert_eq!(windows[0].head.start, 0);
            assert_eq!(windows.last().unwrap().head.end, pieces.words.len());
            assert!(windows.iter().all(|part| (1..=max_length - 2).contains(&part.head.len())));
            for pair in windows.windows(2) {
                assert!(pair[0].head.start < pair[1].head.start && pair[1].head.start <= pair[0].head.end);
            }
        }
    }
}

#[test]
fn a_word_is_read_where_most_is_around_it() {
    let task = task(sliding(7, 3));
    let text = example("u s in lives john u s", "");
    let items = items(&task, &text);
    assert_eq!(shown(&items), ["[CLS] u s in lives john [SEP]", "[CLS] in lives john u s [SEP]"]);
    // The first window calls everything PER, the second LOC.
    let first = sure(&[0, 3, 3, 3, 3, 3, 0], 5);
    let second = sure(&[0, 1, 1, 1, 1, 1, 0], 5);
    let answer = task.answer(&text, &items, &[&first, &second]);
    // "in" has 2 before and 2 behind in the first; "lives" 1 in either; "john" 2 in the second.
    assert_eq!(answer.tags, [3, 3, 3, 3, 1, 1, 1]);
    assert_eq!(answer.unread, 0);
}

#[test]
fn words_that_are_not_read_are_outside_and_counted() {
    let text = example("u s in berlin johnson", "B-PER O O B-LOC B-PER");
    let shown_by = |mode| {
        let task = task(Long { mode, ..Long::new(5) });
        let items = items(&task, &text);
        let width = items[0].tokens();
        let answer = task.answer(&text, &items, &[&sure(&vec![3; width], 5)]);
        let section = task.findings(std::slice::from_ref(&text), std::slice::from_ref(&answer));
        assert_eq!(section.len(), 3, "it is said");
        (shown(&items).remove(0), answer.tags, answer.unread)
    };
    assert_eq!(shown_by(LongText::Head), ("[CLS] u s in [SEP]".to_owned(), vec![3, 3, 3, 0, 0], 2));
    // The half of a word at the beginning is left out.
    assert_eq!(shown_by(LongText::Tail), ("[CLS] john ##son [SEP]".to_owned(), vec![0, 0, 0, 0, 3], 4));
}

/// The semantics of `transformers`' aggregation_strategy, on "Johnson lives": the two pieces of the name disagree.
#[test]
fn pieces_become_entities() {
    let text = example("Johnson lives", "");
    // Tags: O, B-LOC, I-LOC, B-PER, I-PER.
    let rows = [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 1.2, 0.0], // john: PER, hardly
        [0.0, 0.0, 4.0, 0.0, 0.0], // ##son: LOC, surely
        [0.0, 0.0, 0.0, 0.0, 3.0], // lives: PER
        [0.0, 0.0, 0.0, 0.0, 0.0],
    ];
    let logits = rows.concat();
    let found = |aggregation| entities(&Tag { aggregation, ..task(Long::new(9)) }, &text, &logits);
    assert_eq!(found(Aggregation::None), pairs(&[("B-PER", "John"), ("I-LOC", "son"), ("I-PER", "lives")]));
    assert_eq!(found(Aggregation::Simple), pairs(&[("PER", "John"), ("LOC", "son"), ("PER", "lives")]));
    assert_eq!(found(Aggregation::First), pairs(&[("PER", "Johnson lives")]));
    assert_eq!(found(Aggregation::Average), pairs(&[("LOC", "Johnson"), ("PER", "lives")]));
    assert_eq!(found(Aggregation::Max), pairs(&[("LOC", "Johnson"), ("PER", "lives")]));
    for (name, aggregation) in [("none", Aggregation::None), ("average", Aggregation::Average)] {
        assert_eq!(
            (name.parse::<Aggregation>().unwrap(), aggregation.to_string().as_str()),
            (aggregation, name)
        );
    }
}

#[test]
fn scores_are_means_of_probabilities() {
    let task = task(Long::new(9));
    let text = example("Johnson lives", "");
    let logits =
        [[0.0; 5], [0.0, 0.0, 0.0, 2.0, 0.0], [0.0; 5], [0.0, 0.0, 0.0, 0.0, 1.0], [0.0; 5]].concat();
    let answer = task.answer(&text, &items(&task, &text), &[&logits]);
    let of = |logit: f32| logit.exp() / (logit.exp() + 4.0);
    assert!((answer.scores[0] - of(2.0)).abs() < 1e-6 && (answer.scores[1] - of(1.0)).abs() < 1e-6);
    assert_eq!(answer.entities.len(), 1);
    assert!((answer.entities[0].score - (of(2.0) + of(1.0)) / 2.0).abs() < 1e-6);
}

#[test]
fn entities_begin_and_end_where_the_tags_say() {
    let kinds = |tags: &str| -> Vec<(String, usize, usize)> {
        let readings: Vec<Reading<'_>> = tags
            .split(' ')
            .enumerate()
            .map(|(at, tag)| Reading { tag, score: 1.0, bytes: at..at + 1 })
            .collect();
        joined(&readings).into_iter().map(|entity| (entity.kind, entity.start, entity.end)).collect()
    };
    let per = |start, end| ("PER".to_owned(), start, end);
    assert_eq!(kinds("B-PER I-PER B-PER O I-PER"), [per(0, 2), per(2, 3), per(4, 5)]);
    assert_eq!(kinds("I-PER I-PER O"), [per(0, 2)]);
    assert_eq!(kinds("B-PER E-PER S-PER I-PER"), [per(0, 2), per(2, 3), per(3, 4)], "BIOES of other models");
    assert_eq!(kinds("PER PER O PER"), [per(0, 2), per(3, 4)], "tags without a letter");
    assert_eq!(kinds("B-PER I-LOC"), [per(0, 1), ("LOC".to_owned(), 1, 2)]);
}

#[test]
fn entities_are_slices_of_the_text() {
    let task = task(Long::new(20));
    let raw = task.example("Jöhnson,  lives in\u{200b} 北京.".to_owned());
    assert_eq!(task.unit(), Unit::Characters);
    let words = TaggedExample { words: Words::of(&raw.text, Unit::Words), ..raw.clone() };
    for example in [raw, words] {
        let items = items(&task, &example);
        for tag in 1..5 {
            let logits = sure(&vec![tag; items[0].tokens()], 5);
            let answer = task.answer(&example, &items, &[&logits]);
            assert_eq!(answer.tags.len(), example.words.len());
            assert!(!answer.entities.is_empty());
            for entity in &answer.entities {
                assert!(!entity.text(&example.text).is_empty());
            }
        }
    }
}

/// The gradient by finite differences; the loss is the sum over the tagged tokens of all items, which is what these weigh.
#[test]
fn the_gradient_is_that_of_the_loss() {
    let task = task(Long::new(16));
    let known = example("Johnson lives in Berlin", "B-PER O O B-LOC");
    let other = example("u s", "B-PER B-GPE");
    let items = [items(&task, &known), items(&task, &other)].concat();
    let items: Vec<&Item> = items.iter().collect();
    let tokens: usize = items.iter().map(|item| item.tokens()).sum();
    let logits: Vec<f32> = (0..tokens * 5).map(|i| ((i * 7919) % 23) as f32 / 8.0 - 1.4).collect();
    let mut gradient = logits.clone();
    let loss = task.loss(&items, &mut gradient, 0.25);
    let mut kept = logits.clone();
    assert_eq!(task.loss(&items, &mut kept, 0.0), loss);
    assert_eq!(kept, logits, "a scale of 0 changes nothing");
    let tagged = [(1, 3), (3, 0), (4, 0), (5, 1), (9, 3)];
    let row_loss = |&(row, tag): &(usize, usize)| {
        let row = &logits[5 * row..5 * row + 5];
        f64::from(row.iter().map(|x| x.exp()).sum::<f32>().ln() - row[tag])
    };
    let sum = tagged.iter().map(row_loss).sum::<f64>();
    assert!((loss - sum).abs() < 1e-5, "{loss} {sum}");
    assert_eq!(items.iter().map(|item| task.weight(item)).sum::<f64>(), tagged.len() as f64);
    for place in 0..logits.len() {
        let shifted = |by: f32| {
            let mut logits = logits.clone();
            logits[place] += by;
            task.loss(&items, &mut logits, 0.0)
        };
        let wanted = 0.25 * (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
        assert!((f64::from(gradient[place]) - wanted).abs() < 1e-3, "{place}");
    }
    let unknown = self::items(&task, &example("u", ""));
    let mut logits = vec![1.0; unknown[0].tokens() * 5];
    assert_eq!(task.loss(&[&unknown[0]], &mut logits, 1.0), 0.0);
    assert!(logits.iter().all(|&x| x == 0.0));
}

#[test]
fn figures_count_whole_entities() {
    let task = task(Long::new(16));
    let examples = [example("a b c", "B-PER I-PER O"), example("a b", "B-LOC B-GPE"), example("a", "")];
    let answer = |tags: &[u32]| Tagged {
        tags: tags.to_vec(),
        scores: vec![0.75; tags.len()],
        entities: Vec::new(),
        unread: 0,
    };
    let answers = [answer(&[3, 4, 0]), answer(&[1, 2]), answer(&[3])];
    let figures = task.figures(&examples, &answers);
    // Meant: PER, LOC, GPE; answered: PER and a LOC that is too long.
    let expected =
        [("entity_f1", 0.4), ("entity_precision", 0.5), ("entity_recall", 1.0 / 3.0), ("accuracy", 0.8)];
    for ((name, value), (wanted, figure)) in figures.iter().zip(expected) {
        assert_eq!(name, wanted);
        assert!((value - figure).abs() < 1e-12, "{name} {value}");
    }
    let sections = task.findings(&examples, &answers);
    assert_eq!(sections.len(), 2);
    let rows = |number: usize| match &sections[number].body {
        crate::train::Body::Table { rows, .. } => rows.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(rows(0)[1], ["LOC", "0.0 %", "0.0 %", "0.0 %", "1"]);
    assert_eq!(rows(0)[2], ["PER", "100.0 %", "100.0 %", "100.0 %", "1"]);
    assert_eq!(rows(1), [["a b", "a b (LOC)", "a (LOC), b (GPE)", "75.0 %", "3"]]);
    assert_eq!(task.goal(), ("entity_f1", Better::Higher));
}

#[test]
fn parts_of_speech_have_no_entities() {
    let data = [example("dogs bark loudly", "NOUN VERB ADV")];
    let (task, _) = Tag::learn(&data, Long::new(8)).unwrap();
    assert_eq!((task.goal(), task.unit()), (("accuracy", Better::Higher), Unit::Words));
    let answer = Tagged { tags: vec![2, 3, 3], scores: vec![1.0; 3], entities: Vec::new(), unread: 0 };
    let figures = task.figures(&data, &[answer]);
    assert_eq!(figures.iter().collect::<Vec<_>>(), [("accuracy", 2.0 / 3.0)]);
}

#[test]
fn a_configuration_keeps_the_task() {
    let text = characters("我在北京", "O O B-LOC I-LOC");
    let (task, _) = Tag::learn(&[text], Long::new(8)).unwrap();
    let mut config = Config::preset("tiny", 9).unwrap();
    task.configure(&mut config);
    assert_eq!(config.architectures, ["BertForTokenClassification"]);
    assert_eq!(Tag::of(&config, Long::new(8)).unwrap(), task);
    config.other.insert(UNIT.to_owned(), 3.into());
    let refusal = Tag::of(&config, Long::new(8)).unwrap_err().to_string();
    assert!(refusal.contains("oxibert_tag_unit is 3, expected \"words\""), "{refusal}");
    let nameless = Config::preset("tiny", 9).unwrap();
    let foreign = Tag::of(&nameless, Long::new(8)).unwrap();
    assert_eq!(
        (foreign.labels(), foreign.unit()),
        (&["LABEL_0".to_owned(), "LABEL_1".to_owned()][..], Unit::Words)
    );
}
