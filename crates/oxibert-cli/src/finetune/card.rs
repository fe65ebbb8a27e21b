//! The model card: what a fine-tuned model is, what it was made of, and how good it is.

use oxibert::text::LongText;
use oxibert::train::{Figures, Outcome};

use super::trial::Trial;
use crate::given;
use crate::tasks::Job;

/// README.md as the Hugging Face hub reads it.
pub(super) fn write<J: Job>(trial: &Trial<'_, J>, figures: &Figures, outcome: &Outcome) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text += &line;
        text.push('\n');
    };
    line(format!(
        "---\nlibrary_name: transformers\nbase_model: {}\ntags: [bert, oxibert]\n---\n",
        trial.base.name
    ));
    line(format!("# {}, fine-tuned to {}\n", trial.base.name, J::NAME));
    let data = &trial.data;
    line(format!(
        "Made with [oxibert](https://crates.io/crates/oxibert) {} from {} labelled examples; measured on {} others.\n",
        env!("CARGO_PKG_VERSION"),
        data.training.len(),
        data.dev.len()
    ));
    line("| figure | value |\n|---|---|".to_owned());
    figures.iter().for_each(|(name, value)| line(format!("| {name} | {value:.4} |")));
    line(format!("\n{} steps in {:.0} s. Settings:\n", outcome.step, outcome.seconds));
    line("| setting | value |\n|---|---|".to_owned());
    given::list(&trial.settings).into_iter().for_each(|(name, value)| line(format!("| {name} | {value} |")));
    line(format!("| max length | {} |", trial.long.max_length));
    let windows = matches!(trial.long.mode, LongText::Sliding { .. });
    let pooled = if windows { format!(", pooled by {}", trial.long.pool) } else { String::new() };
    line(format!("| longer texts | {}{pooled} |", trial.long.mode));
    line(format!("\n```sh\noxibert predict {} --model . < texts.txt\n```", J::NAME));
    text
}
