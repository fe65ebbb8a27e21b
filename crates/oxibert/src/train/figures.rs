//! The numbers of a step or an evaluation: losses and accuracies, each a mean with its weight.

/// Named means, in the order in which they are shown.
///
/// ```
/// use oxibert::train::Figures;
///
/// let mut figures = Figures::default();
/// figures.add("mlm_accuracy", 3.0, 20.0);     // 3 of 20 tokens guessed right
/// let mut more = Figures::default();
/// more.add("mlm_accuracy", 5.0, 20.0);
/// figures.merge(&more);
/// assert_eq!(figures.value("mlm_accuracy"), Some(0.2));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures(Vec<Figure>);

/// A sum, and how many things it is the sum of.
#[derive(Debug, Clone, PartialEq)]
struct Figure {
    name: &'static str,
    sum: f64,
    weight: f64,
}

impl Figures {
    /// Adds `sum`, which is that of `weight` things, to the figure of this name. Things of weight 0 are no figure.
    pub fn add(&mut self, name: &'static str, sum: f64, weight: f64) {
        if weight == 0.0 {
            return;
        }
        match self.0.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => {
                figure.sum += sum;
                figure.weight += weight;
            }
            None => self.0.push(Figure { name, sum, weight }),
        }
    }

    /// Adds all figures of `other`.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|figure| self.add(figure.name, figure.sum, figure.weight));
    }

    /// The mean called `name`.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All means, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().map(|figure| (figure.name, figure.sum / figure.weight))
    }
}
