//! Which column holds what: as the user says, or as the names in well-known sets and the values make likely.

use std::collections::HashSet;

use super::LabelNeed;

/// The columns of texts and labels: each by its name in the header line (whatever its case) or its number from 1. What is not
/// given is guessed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// The text, or the first of two.
    pub text: Option<String>,
    /// The second text. Not guessed where the first one is given.
    pub text2: Option<String>,
    /// The label.
    pub label: Option<String>,
}

/// Columns of two texts, in GLUE and in Chinese sets. They come before single texts, because QNLI has a question and a sentence.
const PAIRS: [(&str, &str); 7] = [
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("#1 string", "#2 string"),
    ("text_a", "text_b"),
    ("text1", "text2"),
    ("question", "sentence"),
];
const TEXTS: [&str; 10] = [
    "sentence",
    "text",
    "text_a",
    "review",
    "question",
    "sentence1",
    "premise",
    "question1",
    "#1 string",
    "text1",
];
const LABELS: [&str; 9] =
    ["label", "labels", "gold_label", "score", "quality", "class", "category", "sentiment", "is_duplicate"];
/// So many columns are named to someone who asked for one that is not there.
const NAMED: usize = 12;

/// What holds what: by place in a row, or by name in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Roles<K> {
    /// One or two.
    pub(super) texts: Vec<K>,
    pub(super) label: Option<K>,
}

impl<K> Roles<K> {
    pub(super) fn map<L>(&self, name: impl Fn(&K) -> L) -> Roles<L> {
        Roles { texts: self.texts.iter().map(&name).collect(), label: self.label.as_ref().map(&name) }
    }
}

impl Columns {
    /// Whether a first row names columns: the ones that were asked for, or one that is well known.
    pub(super) fn are_named_in(&self, row: &[String]) -> bool {
        let asked = [&self.text, &self.text2, &self.label].into_iter().flatten();
        let asked: Vec<&str> =
            asked.map(String::as_str).filter(|name| name.parse::<usize>().is_err()).collect();
        let known = PAIRS.iter().flat_map(|pair| [pair.0, pair.1]).chain(TEXTS).chain(LABELS);
        known.chain(asked).any(|name| place_of(row, name).is_some())
    }

    /// Whether nothing is left to guess.
    pub(super) fn are_complete(&self, need: LabelNeed) -> bool {
        self.text.is_some() && (self.label.is_some() || need == LabelNeed::Ignored)
    }

    /// The roles of named columns.
    pub(super) fn among_names(&self, names: &[String], need: LabelNeed) -> Result<Roles<usize>, String> {
        self.settle(names, names.len(), guess_by_name(names, need), need)
    }

    /// The roles of columns without names, of which these are some rows.
    pub(super) fn among_values(&self, rows: &[&[String]], need: LabelNeed) -> Result<Roles<usize>, String> {
        let width = rows.first().map_or(0, |row| row.len());
        self.settle(&[], width, guess_by_value(rows, width), need)
    }

    /// What is given, and what was guessed where nothing is.
    fn settle(
        &self,
        names: &[String],
        width: usize,
        guess: Roles<usize>,
        need: LabelNeed,
    ) -> Result<Roles<usize>, String> {
        let find =
            |asked: &Option<String>| asked.as_deref().map(|asked| find(names, width, asked)).transpose();
        let (text, text2) = (find(&self.text)?, find(&self.text2)?);
        let texts: Vec<usize> = match (text, text2) {
            (Some(text), text2) => [Some(text), text2].into_iter().flatten().collect(),
            (None, Some(text2)) => {
                guess.texts.into_iter().filter(|&text| text != text2).take(1).chain([text2]).collect()
            }
            (None, None) => guess.texts,
        };
        if texts.len() <= usize::from(text.is_none() && text2.is_some()) {
            return Err(format!("which column is the text? {}; name it by --text", there_is(names, width)));
        }
        let label = match need {
            LabelNeed::Ignored => None,
            _ => find(&self.label)?.or(guess.label.filter(|label| !texts.contains(label))),
        };
        if need == LabelNeed::Required && label.is_none() {
            return Err(format!("which column is the label? {}; name it by --label", there_is(names, width)));
        }
        Ok(Roles { texts, label })
    }
}

fn place_of(names: &[String], name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    names.iter().position(|known| known.trim().to_lowercase() == name)
}

/// The place of a column that is called by its name or its number from 1.
fn find(names: &[String], width: usize, asked: &str) -> Result<usize, String> {
    let number = || asked.parse().ok().filter(|number| (1..=width).contains(number)).map(|number| number - 1);
    place_of(names, asked)
        .or_else(number)
        .ok_or_else(|| format!("there is no column {asked:?}; {}", there_is(names, width)))
}

fn there_is(names: &[String], width: usize) -> String {
    if names.is_empty() {
        return format!("the first row names none, so they have numbers, 1 to {width}");
    }
    let mut named: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    if names.len() > NAMED {
        named.push("…");
    }
    format!("there is {}", named.join(", "))
}

fn guess_by_name(names: &[String], need: LabelNeed) -> Roles<usize> {
    let place = |name: &str| place_of(names, name);
    let mut label = LABELS.iter().find_map(|name| place(name));
    let pair = PAIRS.iter().find_map(|(first, second)| Some(vec![place(first)?, place(second)?]));
    let single = || TEXTS.iter().find_map(|name| place(name)).map(|text| vec![text]);
    let mut texts = pair.or_else(single).unwrap_or_default();
    // Of two columns of which one is known, the other is the other.
    if let (2, [], Some(label)) = (names.len(), &texts[..], label) {
        texts = vec![1 - label];
    } else if let (2, &[text], None, LabelNeed::Required) = (names.len(), &texts[..], label, need) {
        label = Some(1 - text);
    }
    Roles { texts, label }
}

/// A text; a text and a label, either first; two texts and a label; CoLA's four columns.
fn guess_by_value(rows: &[&[String]], width: usize) -> Roles<usize> {
    let rows: Vec<&[String]> = rows.iter().copied().filter(|row| row.len() == width).collect();
    // Labels repeat, and are short.
    let variety = |column: usize| {
        let distinct: HashSet<&str> = rows.iter().map(|row| row[column].as_str()).collect();
        (distinct.len(), rows.iter().map(|row| row[column].len()).sum::<usize>())
    };
    match width {
        1 => Roles { texts: vec![0], label: None },
        2 => {
            let label = usize::from(variety(1) <= variety(0));
            Roles { texts: vec![1 - label], label: Some(label) }
        }
        3 if variety(2) < variety(0) && variety(2) < variety(1) => {
            Roles { texts: vec![0, 1], label: Some(2) }
        }
        4 if rows.iter().all(|row| is_cola(row)) => Roles { texts: vec![3], label: Some(1) },
        _ => Roles { texts: Vec::new(), label: None },
    }
}

/// Source, label, the linguist's mark, sentence.
fn is_cola(row: &[String]) -> bool {
    matches!(row[1].as_str(), "0" | "1") && row[2].chars().all(|mark| "*?#%".contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(
        header: &str,
        columns: [&str; 3],
        need: LabelNeed,
    ) -> Result<(Vec<usize>, Option<usize>), String> {
        let [text, text2, label] = columns.map(|name| (!name.is_empty()).then(|| name.to_owned()));
        let names: Vec<String> = header.split('|').map(str::to_owned).collect();
        let roles = Columns { text, text2, label }.among_names(&names, need)?;
        Ok((roles.texts, roles.label))
    }

    fn guessed(header: &str) -> (Vec<usize>, Option<usize>) {
        named(header, ["", "", ""], LabelNeed::Required).unwrap()
    }

    #[test]
    fn well_known_headers_are_understood() {
        assert_eq!(guessed("sentence|label"), (vec![0], Some(1)), "SST-2");
        assert_eq!(guessed("Quality|#1 ID|#2 ID|#1 String|#2 String"), (vec![3, 4], Some(0)), "MRPC");
        assert_eq!(guessed("index|genre|sentence1|sentence2|score"), (vec![2, 3], Some(4)), "STS-B");
        assert_eq!(guessed("index|question|sentence|label"), (vec![1, 2], Some(3)), "QNLI");
        assert_eq!(guessed("id|qid1|qid2|question1|question2|is_duplicate"), (vec![3, 4], Some(5)), "QQP");
        assert_eq!(guessed("label|text_a"), (vec![1], Some(0)), "ChnSentiCorp");
        assert_eq!(guessed("Label|tweet"), (vec![1], Some(0)), "the other of two");
        assert_eq!(guessed("review|stars"), (vec![0], Some(1)), "the other of two");
        assert_eq!(named("review|stars", ["", "", ""], LabelNeed::Optional), Ok((vec![0], None)));
    }

    #[test]
    fn what_is_asked_for_is_taken() {
        let header = "id|sentence1|sentence2|kind|label";
        assert_eq!(named(header, ["SENTENCE2", "", "4"], LabelNeed::Required), Ok((vec![2], Some(3))));
        assert_eq!(named(header, ["", "id", ""], LabelNeed::Ignored), Ok((vec![1, 0], None)));
        let refused = |columns, need| named(header, columns, need).unwrap_err();
        assert!(
            refused(["tweet", "", ""], LabelNeed::Required).contains("\"tweet\"; there is id, sentence1")
        );
        assert!(refused(["6", "", ""], LabelNeed::Required).contains("no column \"6\""));
        assert!(named("a|b|c", ["", "b", ""], LabelNeed::Ignored).unwrap_err().contains("--text"));
        assert!(named("text|b|c", ["", "", ""], LabelNeed::Required).unwrap_err().contains("--label"));
    }

    #[test]
    fn values_tell_where_no_name_does() {
        let guess = |rows: &[[&str; 2]]| {
            let rows: Vec<Vec<String>> = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
            let rows: Vec<&[String]> = rows.iter().map(Vec::as_slice).collect();
            let roles = Columns::default().among_values(&rows, LabelNeed::Required).unwrap();
            (roles.texts[0], roles.label.unwrap())
        };
        assert_eq!(guess(&[["a text", "1"], ["more text", "0"], ["third", "1"]]), (0, 1));
        assert_eq!(guess(&[["1", "a text"], ["0", "more text"], ["1", "third"]]), (1, 0));
        assert_eq!(guess(&[["sport", "all about a game"], ["film", "a picture"]]), (1, 0), "the shorter");
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let roles = |rows: &[Vec<String>]| {
            Columns::default()
                .among_values(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), LabelNeed::Required)
        };
        let cola = [row(&["gj04", "1", "", "The sailors rode."]), row(&["cj99", "0", "*", "As you eat."])];
        assert_eq!(roles(&cola).unwrap(), Roles { texts: vec![3], label: Some(1) });
        let pairs = [row(&["a b", "c d", "1"]), row(&["e f", "g h", "1"])];
        assert_eq!(roles(&pairs).unwrap(), Roles { texts: vec![0, 1], label: Some(2) });
        assert!(roles(&[row(&["a", "b", "c", "d", "e"])]).unwrap_err().contains("1 to 5"));
    }

    #[test]
    fn a_header_names_something_known() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned);
        assert!(Columns::default().are_named_in(&row(["id", "Sentence"])));
        assert!(!Columns::default().are_named_in(&row(["a sentence", "1"])));
        let columns = Columns { text: Some("tweet".into()), label: Some("2".into()), ..Columns::default() };
        assert!(columns.are_named_in(&row(["Tweet", "mood"])) && !columns.are_named_in(&row(["twee", "2"])));
    }
}
