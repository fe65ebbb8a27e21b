//! `oxibert demo`: everything that exists, on the embedded world, without any data.

mod finetuning;
mod gaps;
mod pretraining;
mod translation;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use oxibert::data::{Corpus, files};
use oxibert::text::learn::{LearnOptions, learn};
use oxibert::text::segment::Segmenter;
use oxibert::text::sentences::sentences;
use oxibert::text::{Compat, Encoding, Limit, LongText, Rules, Tokenizer, Vocab};
use oxibert::world::{Document, Genre, Language, World};
use serde::Serialize;

use crate::choices::Threads;
use crate::output::{remark, results};
use crate::progress::Bars;
use crate::table;
use crate::watchers::listen;

/// See everything work on a made-up world, without any data
///
/// A small world of people, places and events writes documents in English and Chinese; a vocabulary is learned from them,
/// texts become tokens, a tiny BERT is pretrained until it fills gaps and tells next sentences from others, it learns four tasks,
/// and a Transformer learns to translate, in two or three minutes on two cores. Corpus, vocabulary, shards, models and report.html
/// stay in the output directory, to play with.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxibert demo
  oxibert demo --out my-demo --seed 7
  oxibert demo --steps 100                          a quick look; the model has learned little
  oxibert fill 'The baker took the rolling pin and began to bake [MASK].' --model demo/model")]
pub(crate) struct Arguments {
    /// Where to write; an earlier demo there is replaced
    #[arg(long, value_name = "DIR", default_value = "demo")]
    out: PathBuf,
    /// Another seed is another world
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// How many steps the model is trained
    #[arg(long, value_name = "N", default_value_t = pretraining::STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Overwrite a directory that is no earlier demo
    #[arg(long)]
    force: bool,
    /// Nothing but, at the end, one JSON object of figures
    #[arg(long)]
    json: bool,
    /// No live lines while models are trained
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    threads: Threads,
}

/// What the model is asked at the end: hardly a world is without a baker.
const QUESTIONS: [&str; 2] =
    ["The baker took the rolling pin and began to bake [MASK].", "面包师拿起擀面杖，开始烤[MASK]包。"];
/// What the translator is asked.
const SENTENCE: &str = "The baker took the rolling pin and began to bake bread.";
const LANGUAGES: [Language; 2] = [Language::English, Language::Chinese];
const DOCUMENTS: u64 = 4000;
/// Less than the words of the corpus, so that the rare ones are spelled with pieces.
const VOCABULARY: usize = 1200;
const INDENT: &str = "   ";
/// The windows that show how a long text is cut.
const WINDOW: usize = 64;
const STRIDE: usize = 16;
/// The file by which a later demo knows that the directory is one.
const FIGURES: &str = "demo.json";

#[derive(Debug, Default, Serialize)]
struct Figures {
    documents: u64,
    sentences: usize,
    bytes: usize,
    sentences_found: f64,
    vocabulary: usize,
    unknown_share: f64,
    tokens_per_second: f64,
    /// Whether nobody stopped it; otherwise the model was not measured.
    complete: bool,
    pretraining_steps: u64,
    pretraining_seconds: f64,
    mlm_loss: Option<f64>,
    mlm_accuracy: Option<f64>,
    mlm_unigram_baseline: Option<f64>,
    nsp_accuracy: Option<f64>,
    /// By the task's name.
    tasks: BTreeMap<String, TaskFigures>,
    /// Of the translator, on sentences that it has never seen.
    bleu: Option<f64>,
    seconds: f64,
}

/// What a task came to.
#[derive(Debug, Serialize)]
struct TaskFigures {
    figure: &'static str,
    with: f64,
    without: f64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    arguments.threads.install()?;
    let force = arguments.force || arguments.out.join(FIGURES).exists();
    files::check_dir(&arguments.out, force)?;
    let mut out: Box<dyn Write> =
        if arguments.json { Box::new(std::io::sink()) } else { Box::new(results()) };
    let demo = Demo {
        world: World::new(arguments.seed),
        workdays: World::new(arguments.seed).only(Genre::Workday),
        seed: arguments.seed,
        steps: arguments.steps,
        quiet: arguments.json || arguments.quiet,
        stop: listen()?,
        out: &mut out,
        figures: Figures::default(),
    };
    let figures = demo.show(&arguments.out, force)?;
    if figures.complete {
        say_goodbye(&mut out, &arguments.out, &figures)?;
    } else {
        say_how_to_go_on(arguments, &figures);
    }
    out.flush()?;
    if arguments.json {
        let mut out = results();
        writeln!(out, "{}", serde_json::to_string(&figures)?)?;
        out.flush()?;
    }
    Ok(())
}

fn say_goodbye(out: &mut dyn Write, directory: &Path, figures: &Figures) -> Result<()> {
    let place = directory.display();
    writeln!(out, "\nDone in {:.0} s. The curves are in {place}/report.html. Go on with:", figures.seconds)?;
    for question in QUESTIONS {
        writeln!(out, "  oxibert fill '{question}' --model {place}/model")?;
    }
    if figures.bleu.is_some() {
        writeln!(out, "  echo '{SENTENCE}' | oxibert translate --model {place}/translator")?;
    }
    writeln!(out, "  oxibert tokenize {place}/corpus.txt --model {place}/vocab | less")?;
    writeln!(out, "  oxibert vocab YOUR_TEXT.txt --out my-vocab")?;
    Ok(())
}

fn say_how_to_go_on(arguments: &Arguments, figures: &Figures) {
    let place = arguments.out.display();
    remark(format_args!(
        "stopped after step {} of {}, saved. Corpus, vocabulary, shards and the model so far are in {place}. Go on with:\n  \
         oxibert pretrain {place}/shards --out {place}/model --resume",
        figures.pretraining_steps, arguments.steps
    ));
}

/// The file by which a later demo knows that the directory is one: written first, and again when all is known.
fn save_figures(out: &Path, figures: &Figures) -> Result<()> {
    Ok(files::save(&out.join(FIGURES), |file| Ok(serde_json::to_writer_pretty(file, figures)?))?)
}

fn save_text(out: &Path, force: bool, corpus: &str, tokenizer: &Tokenizer, figures: &Figures) -> Result<()> {
    files::save_dir(out, force, |directory| {
        files::save(&directory.join("corpus.txt"), |file| file.write_all(corpus.as_bytes()))?;
        files::save(&directory.join(FIGURES), |file| Ok(serde_json::to_writer_pretty(file, figures)?))?;
        tokenizer.save(&directory.join("vocab"))
    })?;
    Ok(())
}

/// What stands between two sentences.
fn blank(language: Language) -> &'static str {
    if language == Language::English { " " } else { "" }
}

/// The steps, told as they are done.
struct Demo<'o> {
    world: World,
    /// The same world, as the model reads it: in the genre that a tiny one can learn in two minutes.
    workdays: World,
    seed: u64,
    steps: u64,
    quiet: bool,
    /// Set when somebody wants it to end.
    stop: Arc<AtomicBool>,
    out: &'o mut dyn Write,
    figures: Figures,
}

impl Demo<'_> {
    /// All steps, and the files they leave.
    fn show(mut self, out: &Path, force: bool) -> Result<Figures> {
        let start = Instant::now();
        let corpus = self.write_corpus()?;
        self.split_sentences()?;
        let tokenizer = self.learn_vocabulary(&corpus)?;
        self.tokenize(&tokenizer)?;
        self.slide(&tokenizer)?;
        self.encode_all(&tokenizer, &corpus)?;
        save_text(out, force, &corpus, &tokenizer, &self.figures)?;
        let shards = self.prepare(&corpus, &tokenizer, &out.join("shards"))?;
        let model = out.join("model");
        let mut trained = self.pretrain(&shards, &tokenizer, &model, &out.join("report.html"))?;
        if self.figures.complete {
            self.fill_gaps(&model, &mut trained.report)?;
            self.finetune(&model, &out.join("tasks"), &mut trained.report)?;
            if !self.is_stopped() {
                self.translate(&out.join("vocab"), &out.join("translator"), &mut trained.report)?;
            }
        }
        self.figures.seconds = start.elapsed().as_secs_f64();
        save_figures(out, &self.figures)?;
        Ok(self.figures)
    }

    /// Whether somebody wants it to end.
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn heading(&mut self, number: usize, title: &str) -> Result<()> {
        Ok(writeln!(self.out, "\n{number}. {title}")?)
    }

    fn write_corpus(&mut self) -> Result<String> {
        self.heading(1, "A made-up world writes a corpus / 一个虚构的世界写出语料")?;
        let mut bytes = Vec::new();
        self.workdays.write_corpus(&LANGUAGES, DOCUMENTS / LANGUAGES.len() as u64, &mut bytes)?;
        let corpus = String::from_utf8(bytes)?;
        self.figures.documents = DOCUMENTS;
        self.figures.bytes = corpus.len();
        self.figures.sentences = corpus.lines().filter(|line| !line.is_empty()).count();
        for language in LANGUAGES {
            let Document { title, sentences, .. } = self.workdays.document(language, 0);
            writeln!(self.out, "   {title}: {} …", sentences[..3].join(blank(language)))?;
        }
        let megabytes = corpus.len() as f64 / 1e6;
        writeln!(
            self.out,
            "   {DOCUMENTS} documents, {} sentences, {megabytes:.1} MB: a day's work each, the simplest of the world's {} genres,\n   \
             which a tiny model can learn in two minutes / 只取最简单的体裁“一天的工作”，很小的模型两分钟就能学会",
            self.figures.sentences,
            Genre::ALL.len()
        )?;
        Ok(corpus)
    }

    /// Documents of all genres joined into paragraphs, and split again: how many sentences come out as they went in.
    fn split_sentences(&mut self) -> Result<()> {
        self.heading(2, "Paragraphs become sentences, Chinese becomes words / 分句与分词")?;
        let (mut found, mut all) = (0, 0);
        for language in LANGUAGES {
            for index in 0..200 {
                let written = self.world.document(language, index).sentences;
                let paragraph = written.join(blank(language));
                let split: std::collections::HashSet<&str> = sentences(&paragraph).collect();
                found += written.iter().filter(|sentence| split.contains(sentence.as_str())).count();
                all += written.len();
            }
        }
        self.figures.sentences_found = found as f64 / all as f64;
        writeln!(self.out, "   {found} of {all} sentences of all genres found again")?;
        let sentence = &self.world.document(Language::Chinese, 0).sentences[0];
        writeln!(self.out, "   {}", Segmenter::new().words(sentence).join(" / "))?;
        Ok(())
    }

    fn learn_vocabulary(&mut self, corpus: &str) -> Result<Tokenizer> {
        self.heading(3, "A vocabulary is learned / 学习词表")?;
        let rules = Rules::uncased(Compat::Hf);
        let options = LearnOptions { size: VOCABULARY, ..LearnOptions::default() };
        let start = Instant::now();
        let corpus = Corpus::from_text("the world's corpus", corpus);
        let learned = learn(&corpus, rules, &options, &Bars::new(false))?;
        let seconds = start.elapsed().as_secs_f64();
        self.figures.vocabulary = learned.tokens.len();
        let seen = learned.statistics;
        writeln!(
            self.out,
            "   {} tokens of {} different words and {} characters, in {seconds:.2} s",
            learned.tokens.len(),
            seen.unique_words,
            seen.alphabet
        )?;
        let merged = &learned.tokens[learned.tokens.len() - seen.merges..];
        writeln!(self.out, "   the first pieces it joined: {}", merged[..12.min(merged.len())].join("  "))?;
        Ok(Tokenizer::new(Vocab::from_tokens(&learned.tokens)?, rules)?)
    }

    fn tokenize(&mut self, tokenizer: &Tokenizer) -> Result<()> {
        self.heading(4, "Text becomes tokens / 文本变成词元")?;
        for language in LANGUAGES {
            let sentence = self.workdays.document(language, 0).sentences.swap_remove(1);
            let encoding = tokenizer.encode(&sentence);
            let rows = table::of_encoding(tokenizer, &[&sentence], &encoding);
            let mut drawn = Vec::new();
            table::write(&rows, table::width().saturating_sub(INDENT.len()), &mut drawn)?;
            let between = if language == Language::English { "" } else { "\n" };
            writeln!(self.out, "{between}{INDENT}{sentence}\n")?;
            let lines = String::from_utf8(drawn)?;
            lines
                .lines()
                .try_for_each(|line| writeln!(self.out, "{}", format!("{INDENT}{line}").trim_end()))?;
        }
        Ok(())
    }

    fn slide(&mut self, tokenizer: &Tokenizer) -> Result<()> {
        self.heading(5, "A text that is too long, in sliding windows / 长文本的滑动窗口")?;
        let text = self.workdays.document(Language::English, 1).sentences.join(" ");
        let limit = Limit { long: LongText::Sliding { stride: Some(STRIDE) }, ..Limit::new(WINDOW) };
        let mut encoder = tokenizer.encoder();
        writeln!(
            self.out,
            "   {} tokens, windows of {WINDOW} that share {STRIDE}:",
            encoder.pieces(&text).len()
        )?;
        for window in encoder.windows(&[&text], &limit, true)? {
            let shown = |span: &oxibert::text::Span| &text[span.range()];
            let (first, last) = (&window.spans[1], &window.spans[window.len() - 2]);
            writeln!(
                self.out,
                "   {:>3} tokens, from {:?} to {:?}",
                window.len(),
                shown(first),
                shown(last)
            )?;
        }
        Ok(())
    }

    fn encode_all(&mut self, tokenizer: &Tokenizer, corpus: &str) -> Result<()> {
        self.heading(6, "The whole corpus is encoded / 编码全部语料")?;
        let texts: Vec<&str> = corpus.lines().filter(|line| !line.is_empty()).collect();
        let start = Instant::now();
        let encodings = tokenizer.encode_batch(&texts);
        let seconds = start.elapsed().as_secs_f64();
        let tokens: usize = encodings.iter().map(Encoding::len).sum();
        let unk = tokenizer.special().unk;
        let unknown = encodings.iter().flat_map(|text| &text.ids).filter(|&&id| id == unk).count();
        self.figures.tokens_per_second = tokens as f64 / seconds;
        self.figures.unknown_share = unknown as f64 / tokens as f64;
        let speed = self.figures.tokens_per_second / 1e6;
        writeln!(self.out, "   {tokens} tokens, {unknown} of them [UNK], {speed:.1} million tokens/s")?;
        Ok(())
    }
}
