//! `oxibert evaluate translate`: BLEU and chrF of a model's translations beside references.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use oxibert::data::{Incomplete, Pairs, files};
use oxibert::task::metrics::translation::{Bleu, Tokenization, bleu, chrf};
use serde_json::json;

use crate::choices::Manner;
use crate::output::{remark, results};
use crate::progress::Bars;
use crate::translate::{Search, best};

/// How good translations are beside references: BLEU and chrF, equal to sacreBLEU's
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert evaluate translate --model en-es --data test.tsv
  oxibert evaluate translate --model en-de --data test.en test.de --json
  oxibert evaluate translate --model en-zh --data test.tsv --beam 1 --out translations.txt

The figures are those of `sacrebleu` with its defaults, for Chinese with `--tokenize zh`.")]
pub(crate) struct Arguments {
    /// A checkpoint directory of `oxibert finetune translate`, or of a MarianMTModel with a WordPiece vocabulary
    #[arg(long, value_name = "DIR")]
    model: String,
    /// Sources and references: a file of lines `source TAB reference`, or two files of aligned lines
    #[arg(long, value_name = "FILE", num_args = 1..=2, required = true)]
    data: Vec<PathBuf>,
    #[command(flatten)]
    search: Search,
    /// How sentences are cut into words, 13a or zh [default: zh if the references are Chinese, or else 13a]
    #[arg(long, value_name = "HOW")]
    tokenize: Option<Tokenization>,
    /// Write the translations to a file, a line each
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    manner: Manner,
}

/// Below this BLEU nearly nothing agrees.
const NOTHING: f64 = 2.0;
/// From so many pairs on that says something.
const SEVERAL: usize = 20;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = arguments.search.options(1)?;
    arguments.manner.threads.install()?;
    let Pairs { pairs, notes, .. } = Pairs::load(&arguments.data, Incomplete::Keep)?;
    let note = |text: &str| {
        if !arguments.manner.quiet {
            remark(format_args!("note: {text}"));
        }
    };
    notes.iter().for_each(|text| note(text));
    let translator = arguments.search.open(&arguments.model, arguments.manner.quiet)?;
    let begin = Instant::now();
    let sources: Vec<&str> = pairs.iter().map(|pair| pair.source.as_str()).collect();
    let found = translator.translate(&sources, &options, &Bars::new(arguments.manner.quiet))?;
    let seconds = begin.elapsed().as_secs_f64();
    let hypotheses: Vec<&str> =
        found.iter().map(|all| best(all).map_or("", |best| best.text.as_str())).collect();
    let references: Vec<&str> = pairs.iter().map(|pair| pair.target.as_str()).collect();
    if let Some(path) = &arguments.out {
        files::save(path, |file| hypotheses.iter().try_for_each(|text| writeln!(file, "{text}")))?;
    }
    let tokenization = arguments.tokenize.unwrap_or_else(|| Tokenization::suited_to(&references));
    let bleu = bleu(&hypotheses, &references, tokenization);
    if bleu.score < NOTHING && pairs.len() >= SEVERAL {
        note("hardly a word is right; are these the model's two languages, in its direction?");
    }
    let figures =
        Figures { bleu, chrf: chrf(&hypotheses, &references), tokenization, count: pairs.len(), seconds };
    figures.write(arguments.manner.json)
}

struct Figures {
    bleu: Bleu,
    chrf: f64,
    tokenization: Tokenization,
    count: usize,
    seconds: f64,
}

impl Figures {
    fn write(&self, as_json: bool) -> Result<()> {
        let Self { bleu, chrf, tokenization, count, seconds } = self;
        let mut out = results();
        if as_json {
            let all = json!({
                "bleu": bleu.score, "chrf": chrf, "count": count, "seconds": seconds,
                "tokenize": tokenization.to_string(), "precisions": bleu.precisions,
                "brevity_penalty": bleu.brevity_penalty,
            });
            writeln!(out, "{all}")?;
        } else {
            let [one, two, three, four] = bleu.precisions;
            writeln!(
                out,
                "BLEU   {:6.2}   {tokenization}; of one to four words {one:.1}, {two:.1}, {three:.1}, {four:.1} % right; \
                 brevity penalty {:.3}",
                bleu.score, bleu.brevity_penalty
            )?;
            writeln!(out, "chrF   {chrf:6.2}")?;
            writeln!(out, "pairs  {count:>6}   in {seconds:.1} s")?;
        }
        Ok(out.flush()?)
    }
}
