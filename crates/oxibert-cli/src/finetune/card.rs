//! The model card: what a fine-tuned model is, what it was made of, and how good it is.

use oxibert::text::LongText;
use oxibert::train::{Figures, Outcome};

use super::trial::Trial;
use crate::given;
use crate::numbers;
use crate::output::short_name;
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
        serde_json::Value::from(trial.base.name.as_str()) // quoted: a path may hold what YAML takes for its own
    ));
    line(format!("# {}, fine-tuned to {}\n", short_name(&trial.base.name), J::NAME));
    let data = &trial.data;
    line(format!(
        "Made with [oxibert](https://crates.io/crates/oxibert) {} from {} labelled examples; measured on {} others.\n",
        env!("CARGO_PKG_VERSION"),
        data.training.len(),
        data.dev.len()
    ));
    // A file's name need not be UTF-8, and nobody shall lose a run by that.
    let given = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    line(format!("```sh\n{}\n```\n", command(given)));
    line("| figure | value |\n|---|---|".to_owned());
    figures.iter().for_each(|(name, value)| line(format!("| {name} | {value:.4} |")));
    line(format!("\n{} in {:.0} s. Settings:\n", numbers::steps(outcome.step), outcome.seconds));
    line("| setting | value |\n|---|---|".to_owned());
    given::list(&trial.settings).into_iter().for_each(|(name, value)| line(format!("| {name} | {value} |")));
    line(format!("| max length | {} |", trial.long.max_length));
    let windows = matches!(trial.long.mode, LongText::Sliding { .. });
    let pooled = if windows { format!(", pooled by {}", trial.long.pool) } else { String::new() };
    line(format!("| longer texts | {}{pooled} |", trial.long.mode));
    line(format!("\nTo ask it:\n\n```sh\noxibert predict {} --model . < texts.txt\n```", J::NAME));
    text
}

/// A command of ours as one types it: which data, which flags.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=+,:@".contains(c);
    let quoted = |argument: String| match !argument.is_empty() && argument.chars().all(plain) {
        true => argument,
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    };
    arguments.map(quoted).fold("oxibert".to_owned(), |line, argument| line + " " + &argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let given = ["finetune", "tag", "--train", "my data/it's.txt", "--lr", "5e-5", ""].map(str::to_owned);
        let typed = r"oxibert finetune tag --train 'my data/it'\''s.txt' --lr 5e-5 ''";
        assert_eq!(command(given.into_iter()), typed);
    }
}
