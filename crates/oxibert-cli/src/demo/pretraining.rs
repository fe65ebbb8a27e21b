//! The demo's second half: a tiny BERT learns the world's language, and is asked about documents it has never seen.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use oxibert::data::prepare::{PrepareOptions, prepare};
use oxibert::data::shard::Shards;
use oxibert::data::{Corpus, DocumentOptions, Documents};
use oxibert::infer::Filler;
use oxibert::model::Config;
use oxibert::text::Tokenizer;
use oxibert::train::{Body, Every, Report, Section};
use oxibert::world::Language;

use super::{DOCUMENTS, Demo};
use crate::pretrain::{self, Flags, Options, Recipe, Trained};
use crate::progress::Bars;

/// About a minute and a half on two cores.
pub(super) const STEPS: u64 = 3000;
/// Small batches: a model that has learned nothing yet gets on by the number of steps, not by their exactness.
const BATCH: usize = 16;
/// Sentences of the world are short: pairs of this length hold some of each side.
const LENGTH: usize = 64;
const RATE: f64 = 1e-3;
/// So narrow a model begins better with larger numbers than BERT's 0.02.
const INITIAL_DEVIATION: f64 = 0.04;
const HELD_OUT: f64 = 0.02;
const EVALUATION_SEQUENCES: usize = 1000;
/// How many gaps are shown.
const GAPS: usize = 6;

impl Demo<'_> {
    /// Tokens as pretraining reads them.
    pub(super) fn prepare(&mut self, corpus: &str, tokenizer: &Tokenizer, out: &Path) -> Result<Shards> {
        self.heading(7, "Documents become shards / 文档变成分片")?;
        let documents = Documents::of_corpus(
            Corpus::from_text("the world's corpus", corpus),
            &DocumentOptions::default(),
        )?;
        let prepared =
            prepare(&documents, tokenizer, &PrepareOptions::default(), out, true, &Bars::new(false))?;
        writeln!(
            self.out,
            "   {} documents, {} sentences, {} tokens; a model that only knew how frequent each is would have a loss of {:.2}",
            prepared.documents, prepared.sentences, prepared.tokens, prepared.unigram_entropy
        )?;
        Ok(Shards::open(out)?)
    }

    /// The training itself; Ctrl-C stops it early.
    pub(super) fn pretrain(
        &mut self,
        shards: &Shards,
        tokenizer: &Tokenizer,
        out: &Path,
        report: &Path,
    ) -> Result<Trained> {
        self.heading(8, "A tiny BERT is pretrained: masked words, next sentences / 预训练一个很小的 BERT")?;
        self.out.flush()?;
        let mut config = Config {
            initializer_range: INITIAL_DEVIATION,
            ..Config::preset("tiny", tokenizer.vocab().len())?
        };
        let flags = Flags {
            steps: Some(self.steps),
            batch: Some(BATCH),
            length: Some(LENGTH),
            lr: Some(RATE),
            dropout: Some(0.0),
            held_out: Some(HELD_OUT),
            seed: Some(self.seed),
            ..Flags::default()
        };
        let settings = flags.decide(config.hidden_size, false)?;
        settings.apply(&mut config)?;
        let start =
            Recipe::new("tiny", None, &config, settings, shards).begin(out, true, None, shards, tokenizer)?;
        let options = Options {
            quiet: self.quiet,
            save_every: Every::Share(0.5),
            evaluate_every: Every::Share(0.1),
            evaluation_sequences: EVALUATION_SEQUENCES,
            log_every: 10,
            keep: 1,
            report: Some(report.to_owned()),
        };
        let stop = Arc::new(AtomicBool::new(false));
        pretrain::listen(&stop)?;
        let trained = pretrain::train(start, shards, tokenizer, &options, &stop)?;
        if !trained.outcome.complete {
            bail!("stopped at step {}; run the demo again to see the rest", trained.outcome.step);
        }
        self.tell(&trained)?;
        Ok(trained)
    }

    fn tell(&mut self, trained: &Trained) -> Result<()> {
        let evaluation = trained.outcome.evaluation.as_ref().context("documents were held out")?;
        let value = |name: &str| evaluation.value(name).unwrap_or(f64::NAN);
        let baseline = trained.baseline.unwrap_or(f64::NAN);
        self.figures.pretraining_steps = trained.outcome.step;
        self.figures.pretraining_seconds = trained.outcome.seconds;
        self.figures.mlm_loss = value("mlm_loss");
        self.figures.mlm_accuracy = value("mlm_accuracy");
        self.figures.mlm_unigram_baseline = baseline;
        self.figures.nsp_accuracy = value("nsp_accuracy");
        writeln!(self.out, "   on documents that it has never seen / 在没见过的文档上:")?;
        writeln!(
            self.out,
            "   masked words right   {:5.1} %   (always the most frequent token: {:.1} %)",
            100.0 * self.figures.mlm_accuracy,
            100.0 * baseline
        )?;
        writeln!(
            self.out,
            "   next sentence right  {:5.1} %   (tossing a coin: 50 %; the literature reports 97 - 98 %)",
            100.0 * self.figures.nsp_accuracy
        )?;
        Ok(())
    }

    /// Gaps in new documents, and what the model would put there.
    pub(super) fn fill_gaps(&mut self, model: &Path, report: &mut Report) -> Result<()> {
        self.heading(9, "It fills gaps in new documents / 在新文档里填空")?;
        let filler = Filler::open(model)?;
        let mut rows = Vec::new();
        for number in 0..GAPS as u64 {
            let language = if number % 2 == 0 { Language::English } else { Language::Chinese };
            let document = self.world.document(language, DOCUMENTS + number);
            let Some((text, answer)) = gap(filler.tokenizer(), &document.sentences, language) else {
                continue;
            };
            let masks = filler.fill(&text, 3)?;
            let guesses: Vec<String> = masks[0]
                .candidates
                .iter()
                .map(|guess| format!("{} {:.0} %", guess.token, 100.0 * guess.probability))
                .collect();
            writeln!(self.out, "   {text}\n      {}   (it was: {answer})", guesses.join("   "))?;
            rows.push(vec![text, guesses.join(", "), answer]);
        }
        let head = ["text / 文本", "guesses / 猜测", "it was / 原词"].map(str::to_owned).to_vec();
        report.add(Section {
            title: "Gaps in new documents / 新文档填空".to_owned(),
            body: Body::Table { head, rows },
        })?;
        Ok(())
    }
}

/// Two sentences in a row, with a word of the second hidden that also stands in the first: something that can be known.
fn gap(tokenizer: &Tokenizer, sentences: &[String], language: Language) -> Option<(String, String)> {
    let blank = if language == Language::English { " " } else { "" };
    sentences.windows(2).skip(1).find_map(|pair| {
        let (first, second) = (tokenizer.encode(&pair[0]), tokenizer.encode(&pair[1]));
        let known = |id: u32| first.ids.contains(&id) && id > tokenizer.special().mask.unwrap_or(0);
        let inner = 1..second.len() - 1;
        // A word of one piece and some length: a name, a thing.
        let place = inner.rev().find(|&place| {
            let continued = second.ids.get(place + 1).is_some_and(|&next| tokenizer.continues_word(next));
            let long = second.spans[place].range().len() >= 5 || language == Language::Chinese;
            let letters = pair[1][second.spans[place].range()].chars().all(char::is_alphabetic);
            known(second.ids[place])
                && !continued
                && !tokenizer.continues_word(second.ids[place])
                && long
                && letters
        })?;
        let span = second.spans[place].range();
        let answer = pair[1][span.clone()].to_owned();
        let masked = format!("{}[MASK]{}", &pair[1][..span.start], &pair[1][span.end..]);
        Some((format!("{}{blank}{masked}", pair[0]), answer))
    })
}
