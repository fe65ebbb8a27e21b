//! A text or a pair of texts to a class, to any number of classes, or to a number.

mod findings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use oxibert_kernels::{cross_entropy, softmax};
use serde_json::Value;

use super::long::largest;
use super::metrics::{Confusion, MultiLabel, pearson, spearman};
use super::{Head, Item, Long, Target, Task};
use crate::data::labelled::TextExample;
use crate::model::Config;
use crate::text::{Encoder, Truncation};
use crate::train::{Better, Figures, Section};
use crate::{Error, Result};

/// Our own key in `config.json`: whether texts come in pairs.
const PAIRS: &str = "oxibert_pairs";
/// From this probability on, a class of several holds.
const HOLDS: f32 = 0.5;

/// What is said about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of the classes.
    Single,
    /// Any number of them.
    Multi,
    /// A number.
    Regression,
}

impl Kind {
    /// What `transformers` calls it.
    fn problem_type(self) -> &'static str {
        match self {
            Self::Single => "single_label_classification",
            Self::Multi => "multi_label_classification",
            Self::Regression => "regression",
        }
    }
}

/// Classification.
#[derive(Debug, Clone, PartialEq)]
pub struct Classify {
    kind: Kind,
    labels: Vec<String>,
    /// A weight for each class in the loss.
    weights: Vec<f32>,
    /// Whether texts come in pairs, where that is known.
    pairs: Option<bool>,
    long: Long,
}

/// What the model says about a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    /// The classes that hold: one, any number of them, none where a number is asked for.
    pub classes: Vec<usize>,
    /// Each class's probability; the number itself where one is asked for.
    pub scores: Vec<f32>,
}

impl Classify {
    /// Finds the labels in training data: numbers in their order, words in the alphabet's. `balanced` weighs classes by how
    /// rare they are. What a person should know is said in the second part.
    pub fn learn(
        examples: &[TextExample],
        kind: Kind,
        balanced: bool,
        long: Long,
    ) -> Result<(Self, Vec<String>)> {
        let mut counts: BTreeMap<Name, usize> = BTreeMap::new();
        if kind == Kind::Regression {
            examples.iter().try_for_each(|example| number(example).map(drop))?;
        } else {
            let labels = examples.iter().flat_map(|example| &example.labels);
            labels.for_each(|label| *counts.entry(Name::of(label)).or_default() += 1);
            check_counts(&counts, kind)?;
        }
        let labels: Vec<String> = counts.keys().map(|name| name.text.clone()).collect();
        let mean = examples.len() as f32 / labels.len().max(1) as f32;
        let weight = |&count: &usize| if balanced { mean / count as f32 } else { 1.0 };
        let weights = counts.values().map(weight).collect();
        let notes = counts.iter().filter(|(_, count)| **count == 1).map(|(name, _)| {
            format!("the class {:?} has a single example: it can hardly be learned", name.text)
        });
        let pairs = Some(examples.iter().any(|example| example.texts.len() > 1));
        Ok((Self { kind, weights, pairs, long, labels }, notes.collect()))
    }

    /// The task of a checkpoint that was fine-tuned for it.
    pub fn of(config: &Config, long: Long) -> Self {
        let outputs = config.num_labels();
        let kind = match config.problem_type.as_deref() {
            Some("multi_label_classification") => Kind::Multi,
            Some("regression") => Kind::Regression,
            None if outputs == 1 => Kind::Regression,
            _ => Kind::Single,
        };
        let named = |number: usize| format!("LABEL_{number}");
        let labels =
            if config.labels.is_empty() { (0..outputs).map(named).collect() } else { config.labels.clone() };
        let pairs = config.other.get(PAIRS).and_then(Value::as_bool);
        Self { kind, weights: vec![1.0; labels.len()], pairs, labels, long }
    }

    /// What is said.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the model was fine-tuned on pairs of texts, where it says so.
    pub fn pairs(&self) -> Option<bool> {
        self.pairs
    }

    /// The classes' names, in the order of the scores.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Labels of these examples that the model does not know, each once, with how often they come.
    pub fn unknown_labels<'e>(&self, examples: &'e [TextExample]) -> Vec<(&'e str, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        if self.kind != Kind::Regression {
            let labels = examples.iter().flat_map(|example| &example.labels);
            let unknown = labels.filter(|label| self.class(label).is_none());
            unknown.for_each(|label| *counts.entry(label).or_default() += 1);
        }
        counts.into_iter().collect()
    }

    fn class(&self, label: &str) -> Option<usize> {
        self.labels.iter().position(|known| known == label)
    }

    fn target(&self, example: &TextExample) -> Target {
        let first = example.labels.first();
        match self.kind {
            Kind::Single => {
                let class = first.and_then(|label| self.class(label));
                class.map_or(Target::Unknown, |class| Target::Class(class as u32))
            }
            Kind::Regression => number(example).map_or(Target::Unknown, Target::Value),
            Kind::Multi => {
                let holds = |label: &String| f32::from(u8::from(example.labels.contains(label)));
                Target::Classes(self.labels.iter().map(holds).collect())
            }
        }
    }

    /// The classes that hold, by these probabilities.
    fn decide(&self, scores: &[f32]) -> Vec<usize> {
        match self.kind {
            Kind::Single => vec![largest(scores)],
            Kind::Multi => (0..scores.len()).filter(|&class| scores[class] >= HOLDS).collect(),
            Kind::Regression => Vec::new(),
        }
    }

    /// Answers and meanings as a confusion matrix; labels that training did not have are one more class.
    fn confusion(&self, examples: &[TextExample], answers: &[Classified]) -> Confusion {
        let labelled = examples.iter().zip(answers).filter(|(example, _)| !example.labels.is_empty());
        let pairs = labelled.map(|(example, answer)| {
            let meant = self.class(&example.labels[0]).unwrap_or(self.labels.len());
            (answer.classes[0] as u32, meant as u32)
        });
        let (answered, meant): (Vec<u32>, Vec<u32>) = pairs.unzip();
        Confusion::new(self.labels.len() + 1, &answered, &meant)
    }

    fn single_figures(&self, examples: &[TextExample], answers: &[Classified]) -> Figures {
        let confusion = self.confusion(examples, answers);
        let mut figures = Figures::default();
        figures.add("accuracy", confusion.accuracy(), 1.0);
        if self.labels.len() == 2 {
            figures.add("f1", confusion.f1(1), 1.0);
        }
        figures.add("macro_f1", confusion.macro_f1(), 1.0);
        figures.add("matthews", confusion.matthews(), 1.0);
        figures
    }

    fn multi_figures(&self, examples: &[TextExample], answers: &[Classified]) -> Figures {
        let mut counts = MultiLabel::new(self.labels.len());
        for (example, answer) in examples.iter().zip(answers) {
            let meant: Vec<usize> = example.labels.iter().filter_map(|label| self.class(label)).collect();
            counts.add(&answer.classes, &meant);
        }
        let mut figures = Figures::default();
        figures.add("accuracy", counts.accuracy(), 1.0);
        figures.add("f1", counts.micro_f1(), 1.0);
        figures.add("macro_f1", counts.macro_f1(), 1.0);
        figures
    }

    fn regression_figures(examples: &[TextExample], answers: &[Classified]) -> Figures {
        let pairs = examples.iter().zip(answers);
        let known = pairs.filter_map(|(example, answer)| {
            Some((f64::from(answer.scores[0]), f64::from(number(example).ok()?)))
        });
        let (answered, meant): (Vec<f64>, Vec<f64>) = known.unzip();
        let mut figures = Figures::default();
        figures.add("pearson", pearson(&answered, &meant), 1.0);
        figures.add("spearman", spearman(&answered, &meant), 1.0);
        let squares: f64 = answered.iter().zip(&meant).map(|(a, b)| (a - b) * (a - b)).sum();
        figures.add("mean_squared_error", squares, answered.len() as f64);
        figures
    }
}

impl Task for Classify {
    type Example = TextExample;
    type Answer = Classified;

    fn head(&self) -> Head {
        Head::Sequence(if self.kind == Kind::Regression { 1 } else { self.labels.len() })
    }

    fn configure(&self, config: &mut Config) {
        config.architectures = vec!["BertForSequenceClassification".to_owned()];
        config.problem_type = Some(self.kind.problem_type().to_owned());
        config.other.remove("num_labels");
        config.other.extend(self.pairs.map(|pairs| (PAIRS.to_owned(), pairs.into())));
        // One output has the name that `transformers` gives it: the file says so how many there are.
        config.labels =
            if self.kind == Kind::Regression { vec!["LABEL_0".to_owned()] } else { self.labels.clone() };
    }

    fn items(&self, example: &TextExample, encoder: &mut Encoder<'_>) -> Result<Vec<Item>> {
        let texts: Vec<&str> = example.texts.iter().map(String::as_str).collect();
        let target = self.target(example);
        let windows = encoder.windows(&texts, &self.long.limit(Truncation::LongestFirst), true)?;
        Ok(windows.map(|window| Item { sequences: vec![window], target: target.clone() }).collect())
    }

    fn loss(&self, items: &[&Item], logits: &mut [f32], scale: f32) -> f64 {
        let rows = logits.chunks_exact_mut(self.head().outputs());
        rows.zip(items).map(|(row, item)| self.row_loss(&item.target, row, scale)).sum()
    }

    fn answer(&self, _example: &TextExample, _items: &[Item], logits: &[&[f32]]) -> Classified {
        let rows: Vec<Vec<f32>> = logits.iter().map(|row| self.scores(row)).collect();
        let scores = match self.kind {
            Kind::Single => self.long.pool(&rows),
            Kind::Multi | Kind::Regression => self.long.pool_each(&rows),
        };
        Classified { classes: self.decide(&scores), scores }
    }

    fn figures(&self, examples: &[TextExample], answers: &[Classified]) -> Figures {
        match self.kind {
            Kind::Single => self.single_figures(examples, answers),
            Kind::Multi => self.multi_figures(examples, answers),
            Kind::Regression => Self::regression_figures(examples, answers),
        }
    }

    fn goal(&self) -> (&'static str, Better) {
        match self.kind {
            Kind::Single => ("accuracy", Better::Higher),
            Kind::Multi => ("f1", Better::Higher),
            Kind::Regression => ("spearman", Better::Higher),
        }
    }

    fn findings(&self, examples: &[TextExample], answers: &[Classified]) -> Vec<Section> {
        self.sections(examples, answers)
    }
}

impl Classify {
    /// One row's loss; the row becomes its gradient times `scale`.
    ///
    /// A class: cross-entropy times the class's weight. Several: the mean of `-t log σ(x) - (1 - t) log σ(-x)`, with the
    /// gradient `(σ(x) - t) / C`. A number: `(x - t)²`, with the gradient `2 (x - t)`.
    fn row_loss(&self, target: &Target, row: &mut [f32], scale: f32) -> f64 {
        match target {
            Target::Class(class) => {
                let weight = self.weights[*class as usize];
                f64::from(weight) * cross_entropy(row, &[*class], 0.0, scale * weight).loss
            }
            Target::Classes(holds) => {
                let classes = holds.len() as f32;
                let loss = holds.iter().zip(&*row).map(|(&t, &x)| f64::from(binary_loss(x, t))).sum::<f64>();
                if scale != 0.0 {
                    row.iter_mut().zip(holds).for_each(|(x, t)| *x = scale * (sigmoid(*x) - t) / classes);
                }
                loss / f64::from(classes)
            }
            Target::Value(value) => {
                let distance = row[0] - value;
                if scale != 0.0 {
                    row[0] = scale * 2.0 * distance;
                }
                f64::from(distance * distance)
            }
            other => unreachable!("{other:?} is no target of a class"),
        }
    }

    /// Logits as probabilities, or as the number that they are.
    fn scores(&self, logits: &[f32]) -> Vec<f32> {
        let mut scores = logits.to_vec();
        match self.kind {
            Kind::Single => softmax(&mut scores, logits.len()),
            Kind::Multi => scores.iter_mut().for_each(|x| *x = sigmoid(*x)),
            Kind::Regression => {}
        }
        scores
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// `-t log σ(x) - (1 - t) log σ(-x)`, without overflow.
fn binary_loss(x: f32, t: f32) -> f32 {
    x.max(0.0) - x * t + (-x.abs()).exp().ln_1p()
}

/// A label as a key: numbers sort as numbers, before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    word: bool,
    number: i64,
    text: String,
}

impl Name {
    fn of(label: &str) -> Self {
        let number = label.parse::<i64>().ok();
        Self { word: number.is_none(), number: number.unwrap_or(0), text: label.to_owned() }
    }
}

fn check_counts(counts: &BTreeMap<Name, usize>, kind: Kind) -> Result<()> {
    let least = if kind == Kind::Multi { 1 } else { 2 };
    if counts.len() >= least {
        return Ok(());
    }
    let found: Vec<&str> = counts.keys().map(|name| name.text.as_str()).collect();
    let problem = format!(
        "{} in the training data ({found:?}), expected {least} or more; is this the column with the labels (--label)?",
        if found.len() == 1 { "a single class".to_owned() } else { format!("{} classes", found.len()) }
    );
    Err(Error::setting("label", problem))
}

/// The number that an example is labelled with.
fn number(example: &TextExample) -> Result<f32> {
    let label = example.labels.first().map_or("", String::as_str);
    label.trim().parse::<f32>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
        let problem = format!("line {}: {label:?} is no number, which --regression needs", example.line);
        Error::setting("label", problem)
    })
}
