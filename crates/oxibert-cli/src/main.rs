//! The `oxibert` command: one verb, one file.
//!
//! Results go to standard output, progress and remarks to standard error. Exit code 0 is done, 2 an error
//! that one line on standard error explains. A reader that goes away (`| head`) is no error.

mod bench;
mod choices;
mod convert;
mod demo;
mod embed;
mod evaluate;
mod fill;
mod finetune;
mod generate;
mod given;
mod hub;
mod inspect;
mod lines;
mod live;
mod numbers;
mod output;
mod predict;
mod prepare;
mod pretrain;
mod progress;
mod pull;
mod replace;
mod table;
mod tasks;
mod tokenize;
mod translate;
mod vocab;
mod watchers;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The whole of BERT on ordinary CPUs: from raw text to a served model.
#[derive(Parser)]
#[command(name = "oxibert", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Examples:
  oxibert demo                                      see everything work, without any data
  oxibert vocab corpus/*.txt --out my-vocab         learn a vocabulary
  echo 'Hello world' | oxibert tokenize --model my-vocab
  oxibert prepare corpus/*.txt --model my-vocab --out prepared
  oxibert pretrain prepared --out my-bert --time-budget 2h
  oxibert finetune classify --model my-bert --train train.tsv --out my-model
  oxibert predict classify --model my-model texts.txt
  oxibert inspect $(oxibert pull google-bert/bert-base-uncased)

`oxibert VERB --help` explains a verb.")]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::Arguments),
    Vocab(vocab::Arguments),
    Tokenize(tokenize::Arguments),
    Prepare(prepare::Arguments),
    Pretrain(Box<pretrain::Arguments>),
    Finetune(Box<finetune::Arguments>),
    Evaluate(evaluate::Arguments),
    Predict(predict::Arguments),
    Fill(fill::Arguments),
    Embed(embed::Arguments),
    Translate(translate::Arguments),
    Generate(generate::Arguments),
    Pull(pull::Arguments),
    Inspect(inspect::Arguments),
    Convert(convert::Arguments),
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let command = Command::parse();
    let done = match command.verb {
        Verb::Demo(arguments) => demo::run(&arguments),
        Verb::Vocab(arguments) => vocab::run(&arguments),
        Verb::Tokenize(arguments) => tokenize::run(&arguments),
        Verb::Prepare(arguments) => prepare::run(&arguments),
        Verb::Pretrain(arguments) => pretrain::run(&arguments),
        Verb::Finetune(arguments) => finetune::run(&arguments),
        Verb::Evaluate(arguments) => evaluate::run(&arguments),
        Verb::Predict(arguments) => predict::run(&arguments),
        Verb::Fill(arguments) => fill::run(&arguments),
        Verb::Embed(arguments) => embed::run(&arguments),
        Verb::Translate(arguments) => translate::run(&arguments),
        Verb::Generate(arguments) => generate::run(&arguments),
        Verb::Pull(arguments) => pull::run(&arguments),
        Verb::Inspect(arguments) => inspect::run(&arguments),
        Verb::Convert(arguments) => convert::run(&arguments),
        Verb::Bench(arguments) => bench::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::remark(format_args!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    /// Wider lines are broken, and a broken example cannot be copied.
    const WIDTH: usize = 98;

    #[test]
    fn examples_of_the_help_fit_their_lines() {
        fn check(command: &clap::Command, path: &str) -> usize {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines() {
                assert!(line.chars().count() <= WIDTH, "{path}: {line}");
            }
            let verbs = command.get_subcommands();
            let below: usize = verbs.map(|verb| check(verb, &format!("{path} {}", verb.get_name()))).sum();
            below + usize::from(!help.is_empty())
        }
        assert!(check(&Command::command(), "oxibert") > 16, "every verb has examples");
    }
}
