//! `oxibert translate`: texts in another language.

mod attention;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use oxibert::data::Corpus;
use oxibert::data::files::NewFile;
use oxibert::infer::{DecodeOptions, Translation, Translator};
use oxibert::progress::{Progress, Unit};
use serde::Serialize;

use crate::choices::{Threads, directory, inputs, note_bf16, note_case};
use crate::lines;
use crate::output::{remark, results};
use crate::progress::{Bars, Within, has_room};
use attention::Page;

/// Texts in another language: a line for a line
///
/// As many lines come out as went in, in their order, while the rest is still under way; an empty line stays empty. A line
/// that is too long for the model is cut between sentences, and that is told at the end. A translation depends neither on
/// the other lines nor on the number of threads.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'Hello, how are you?' | oxibert translate --model en-de
  oxibert translate news.en.gz --model en-de --beam 1 > news.de
  oxibert translate news.en --model en-de --n-best 3     number, score, text of three translations
  oxibert translate - --model en-de --json --attention page.html < news.en")]
pub(crate) struct Arguments {
    /// Text files, plain, gzip or zstd; - is standard input, which is also the default
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A checkpoint directory of `oxibert finetune translate`, or of a MarianMTModel with a WordPiece vocabulary
    #[arg(long, value_name = "DIR")]
    model: String,
    #[command(flatten)]
    search: Search,
    /// How many translations of each line, the best first; more than one are told with line number and score
    #[arg(long, value_name = "N", default_value_t = 1)]
    n_best: usize,
    /// One JSON object per line, {"text": …, "translations": [{"text": …, "score": …}, …], "parts": …}
    #[arg(long)]
    json: bool,
    /// Write a page for a browser that shows what each word of the translation looked at
    #[arg(long, value_name = "FILE")]
    attention: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// No progress bar and no remarks
    #[arg(long)]
    quiet: bool,
}

/// How translations are looked for.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Hypotheses that are followed at a time; 1 always takes the likeliest next token
    #[arg(long, value_name = "N", default_value_t = 4)]
    beam: usize,
    /// How much longer translations are preferred, 0 or more
    #[arg(long, value_name = "ALPHA", default_value_t = 0.6)]
    length_penalty: f64,
    /// The most tokens of a translation [default: those of its source, and 50]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Give up hypotheses whose log-probability is so much below the best's, and those that ended ones have left behind. 3 saves a
    /// quarter of the work and hardly ever changes a translation; inf follows all
    #[arg(long, value_name = "NATS", default_value_t = f64::INFINITY)]
    prune: f64,
    /// Multiply in bfloat16, add in f32: less time on processors with AMX or AMD's AVX512-BF16
    #[arg(long)]
    bf16: bool,
}

impl Search {
    /// The options, checked.
    pub(crate) fn options(&self, n_best: usize) -> Result<DecodeOptions> {
        let Self { beam, length_penalty, max_length, prune, bf16: _ } = *self;
        let options = DecodeOptions { beam, length_penalty, max_length, n_best, prune };
        options.check()?;
        Ok(options)
    }

    /// The model that looks for them.
    pub(crate) fn open(&self, model: &str, quiet: bool) -> Result<Translator> {
        note_bf16(self.bf16, quiet);
        let translator = Translator::open(directory(model)?)?;
        Ok(if self.bf16 { translator.in_bf16() } else { translator })
    }
}

/// Lines that are translated together, at most: enough to fill batches, few enough not to wait for.
const CHUNK_LINES: usize = 256;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = arguments.search.options(arguments.n_best)?;
    arguments.threads.install()?;
    let translator = arguments.search.open(&arguments.model, arguments.quiet)?;
    if !arguments.quiet {
        note_case(translator.tokenizer());
    }
    let files = inputs(&arguments.files);
    let corpus = Corpus::open(&files)?;
    // A page that cannot be written is told before the work, not after it.
    let file = arguments.attention.as_deref().map(NewFile::create).transpose()?;
    let drawn = has_room(arguments.quiet, false);
    let bars = Bars::new(!drawn);
    bars.begin("translating", drawn.then(|| lines::count(&corpus)).flatten(), Unit::Items);
    let page = file.is_some().then(|| Page::new(&format!("Attention of {}", arguments.model)));
    let (json, out) = (arguments.json, results());
    let mut job = Job { translator: &translator, options, json, page, seen: Seen::default(), out };
    let done = lines::texts(&files, CHUNK_LINES, |texts| job.some(&texts, &Within(&bars)));
    bars.end();
    done?;
    if let (Some(mut file), Some(page)) = (file, job.page) {
        file.write_all(page.finish().as_bytes())?;
        file.finish()?;
    }
    if !arguments.quiet {
        job.seen.tell(translator.model().config().max_position_embeddings);
    }
    Ok(())
}

struct Job<'a, W: Write> {
    translator: &'a Translator,
    options: DecodeOptions,
    json: bool,
    page: Option<Page>,
    seen: Seen,
    out: W,
}

impl<W: Write> Job<'_, W> {
    fn some(&mut self, texts: &[String], progress: &dyn Progress) -> Result<()> {
        let found = self.translator.translate(texts, &self.options, progress)?;
        for (text, translations) in texts.iter().zip(&found) {
            self.seen.note(self.translator, text, translations);
            self.write(text, translations)?;
            self.draw(text, translations)?;
        }
        // Whoever waits for the lines has them now.
        Ok(self.out.flush()?)
    }

    fn write(&mut self, text: &str, translations: &[Translation]) -> Result<()> {
        if self.json {
            serde_json::to_writer(&mut self.out, &JsonLine::of(text, translations))?;
            writeln!(self.out)?;
        } else if self.options.n_best == 1 {
            writeln!(self.out, "{}", best(translations).map_or("", |best| best.text.as_str()))?;
        } else {
            for Translation { text, score, .. } in translations {
                writeln!(self.out, "{}\t{score:.4}\t{text}", self.seen.lines)?;
            }
        }
        Ok(())
    }

    /// Adds the best translation to the page.
    fn draw(&mut self, text: &str, translations: &[Translation]) -> Result<()> {
        let (Some(page), Some(best)) = (&mut self.page, best(translations)) else { return Ok(()) };
        match best.parts {
            0 => {}
            1 if !page.is_full() => {
                let alignment = self.translator.alignment(text, &best.tokens)?;
                page.add(text, &best.text, &alignment);
            }
            _ => page.leave_out(),
        }
        Ok(())
    }
}

/// The best of a text's translations.
pub(crate) fn best(translations: &[Translation]) -> Option<&Translation> {
    translations.first()
}

/// The machine-readable form of a translated line.
#[derive(Serialize)]
struct JsonLine<'a> {
    text: &'a str,
    translations: Vec<JsonTranslation<'a>>,
    parts: usize,
}

#[derive(Serialize)]
struct JsonTranslation<'a> {
    text: &'a str,
    score: f64,
}

impl<'a> JsonLine<'a> {
    fn of(text: &'a str, translations: &'a [Translation]) -> Self {
        let parts = best(translations).map_or(0, |best| best.parts);
        let json = |one: &'a Translation| JsonTranslation { text: &one.text, score: one.score };
        Self { text, translations: translations.iter().map(json).collect(), parts }
    }
}

/// What went by.
#[derive(Default)]
struct Seen {
    lines: usize,
    long: Remarkable,
    unknown: Remarkable,
}

/// Lines that a person should know of: how many, and the first.
#[derive(Default)]
struct Remarkable {
    count: usize,
    first: usize,
}

impl Remarkable {
    fn add(&mut self, line: usize) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }

    /// `line 7 was`, `3 lines (the first is line 7) were`
    fn were(&self) -> String {
        match self.count {
            1 => format!("line {} was", self.first),
            count => format!("{count} lines (the first is line {}) were", self.first),
        }
    }
}

impl Seen {
    fn note(&mut self, translator: &Translator, text: &str, translations: &[Translation]) {
        self.lines += 1;
        if best(translations).is_some_and(|best| best.parts > 1) {
            self.long.add(self.lines);
        }
        if is_unknown(translator, text) {
            self.unknown.add(self.lines);
        }
    }

    fn tell(&self, longest: usize) {
        if self.long.count > 0 {
            let were = self.long.were();
            remark(format_args!(
                "note: {were} longer than the model's {longest} tokens and translated sentence by sentence"
            ));
        }
        if self.unknown.count > 0 {
            let were = self.unknown.were();
            remark(format_args!(
                "note: {were} written in characters that the model does not know; do not trust the translation"
            ));
        }
    }
}

/// Whether most of a text is `[UNK]` to the model: another script, or another language altogether.
fn is_unknown(translator: &Translator, text: &str) -> bool {
    let tokenizer = translator.tokenizer();
    let ids = tokenizer.encode(text).ids;
    let unknown = ids.iter().filter(|&&id| id == tokenizer.special().unk).count();
    // [CLS] and [SEP] are always known.
    2 * unknown > ids.len().saturating_sub(2)
}
