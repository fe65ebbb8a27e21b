//! Which of several continuations fits: one score for each, a softmax over all.

use oxibert_kernels::{cross_entropy, softmax};

use super::long::largest;
use super::{Head, Item, Long, Target, Task};
use crate::data::labelled::Choices;
use crate::model::Config;
use crate::text::{Encoder, Encoding, Truncation};
use crate::train::{Better, Body, Figures, Section};
use crate::{Error, Result};

/// Mistakes that a report shows.
const MISTAKES: usize = 20;

/// Multiple choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Choose {
    long: Long,
}

/// What the model chose.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The number of the choice.
    pub choice: usize,
    /// Each choice's probability.
    pub scores: Vec<f32>,
}

impl Choose {
    /// The task; it has nothing to find in data.
    pub fn new(long: Long) -> Self {
        Self { long }
    }

    /// The windows of one choice.
    fn windows(&self, first: &str, second: &str, encoder: &mut Encoder<'_>) -> Result<Vec<Encoding>> {
        let limit = self.long.limit(Truncation::LongestFirst);
        Ok(encoder.windows(&[first, second], &limit, true)?.collect())
    }
}

impl Task for Choose {
    type Example = Choices;
    type Answer = Chosen;

    fn head(&self) -> Head {
        Head::Sequence(1)
    }

    fn configure(&self, config: &mut Config) {
        config.architectures = vec!["BertForMultipleChoice".to_owned()];
        config.problem_type = None;
        config.labels = Vec::new();
    }

    /// The n-th item holds every choice's n-th window; one with fewer windows stays at its last.
    fn items(&self, example: &Choices, encoder: &mut Encoder<'_>) -> Result<Vec<Item>> {
        let choices = example.seconds.len();
        if choices == 0 || example.right.is_some_and(|right| right >= choices) {
            let problem =
                format!("line {}: {choices} choices, the right one being {:?}", example.line, example.right);
            return Err(Error::setting("choices", problem));
        }
        let windows: Vec<Vec<Encoding>> = example
            .seconds
            .iter()
            .map(|second| self.windows(&example.first, second, encoder))
            .collect::<Result<_>>()?;
        let most = windows.iter().map(Vec::len).max().unwrap_or(0);
        let target = example.right.map_or(Target::Unknown, |right| Target::Class(right as u32));
        let item = |number: usize| Item {
            sequences: windows.iter().map(|own| own[number.min(own.len() - 1)].clone()).collect(),
            target: target.clone(),
        };
        Ok((0..most).map(item).collect())
    }

    fn loss(&self, items: &[&Item], logits: &mut [f32], scale: f32) -> f64 {
        let mut rest = logits;
        let mut sum = 0.0;
        for item in items {
            let (own, after) = rest.split_at_mut(item.sequences.len());
            let Target::Class(right) = item.target else { unreachable!("a choice's target is its number") };
            sum += cross_entropy(own, &[right], 0.0, scale).loss;
            rest = after;
        }
        sum
    }

    fn answer(&self, _example: &Choices, _items: &[Item], logits: &[&[f32]]) -> Chosen {
        let probabilities = |row: &&[f32]| {
            let mut scores = row.to_vec();
            softmax(&mut scores, row.len());
            scores
        };
        let rows: Vec<Vec<f32>> = logits.iter().map(probabilities).collect();
        let scores = self.long.pool(&rows);
        Chosen { choice: largest(&scores), scores }
    }

    fn figures(&self, examples: &[Choices], answers: &[Chosen]) -> Figures {
        let mut figures = Figures::default();
        for (example, answer) in examples.iter().zip(answers) {
            if let Some(right) = example.right {
                figures.add("accuracy", f64::from(u8::from(answer.choice == right)), 1.0);
            }
        }
        figures
    }

    fn goal(&self) -> (&'static str, Better) {
        ("accuracy", Better::Higher)
    }

    fn findings(&self, examples: &[Choices], answers: &[Chosen]) -> Vec<Section> {
        let mut wrong: Vec<(&Choices, &Chosen, usize)> = examples
            .iter()
            .zip(answers)
            .filter_map(|(example, answer)| Some((example, answer, example.right?)))
            .filter(|(_, answer, right)| answer.choice != *right)
            .collect();
        wrong.sort_by(|a, b| b.1.scores[b.1.choice].total_cmp(&a.1.scores[a.1.choice]));
        let row = |(example, answer, right): &(&Choices, &Chosen, usize)| {
            vec![
                example.first.clone(),
                example.seconds[answer.choice].clone(),
                format!("{:.1} %", 100.0 * answer.scores[answer.choice]),
                example.seconds[*right].clone(),
            ]
        };
        let rows = wrong.iter().take(MISTAKES).map(row).collect();
        let head = ["text", "chosen", "probability", "right"].map(str::to_owned).to_vec();
        vec![Section {
            title: "The surest mistakes / 最自信的错误".to_owned(),
            body: Body::Table { head, rows },
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Tokenizer, Vocab};

    fn example(seconds: &[&str], right: Option<usize>) -> Choices {
        let seconds = seconds.iter().map(|&text| text.to_owned()).collect();
        Choices { first: "a".to_owned(), seconds, right, line: 3 }
    }

    fn items(example: &Choices) -> Result<Vec<Item>> {
        let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"];
        let tokenizer = Tokenizer::uncased(Vocab::from_tokens(tokens).unwrap()).unwrap();
        Choose::new(Long::new(8)).items(example, &mut tokenizer.encoder())
    }

    #[test]
    fn all_choices_are_one_item() {
        let items = items(&example(&["b", "c c"], Some(1))).unwrap();
        let ids: Vec<&[u32]> = items[0].sequences.iter().map(|sequence| &sequence.ids[..]).collect();
        assert_eq!(ids, [&[2, 5, 3, 6, 3][..], &[2, 5, 3, 7, 7, 3]]);
        assert_eq!((items.len(), &items[0].target), (1, &Target::Class(1)));
        assert!(self::items(&example(&["b"], Some(1))).unwrap_err().to_string().contains("line 3"));
    }

    #[test]
    fn the_loss_is_a_softmax_over_an_items_choices() {
        let task = Choose::new(Long::new(8));
        let (two, three) =
            (items(&example(&["b", "c"], Some(1))).unwrap(), items(&example(&["b"; 3], Some(0))).unwrap());
        let mut logits = [0.0, 0.0, 1.0, 1.0, 1.0];
        let loss = task.loss(&[&two[0], &three[0]], &mut logits, 1.0);
        assert!((loss - (2f64.ln() + 3f64.ln())).abs() < 1e-6);
        let wanted = [0.5, -0.5, -2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
        assert!(
            logits.iter().zip(wanted).all(|(x, wanted): (&f32, f32)| (x - wanted).abs() < 1e-6),
            "{logits:?}"
        );
    }

    #[test]
    fn the_likeliest_choice_is_the_answer() {
        let task = Choose::new(Long::new(8));
        let example = example(&["b", "c"], Some(1));
        let answer = task.answer(&example, &[], &[&[0.0, 2.0]]);
        assert_eq!(answer.choice, 1);
        assert_eq!(task.figures(std::slice::from_ref(&example), &[answer]).value("accuracy"), Some(1.0));
    }
}
