//! The demo's second half: a tiny BERT learns the world's language, and is asked about documents it has never seen.

use std::path::Path;

use anyhow::{Context, Result};
use oxibert::data::prepare::{PrepareOptions, prepare};
use oxibert::data::shard::Shards;
use oxibert::data::{Corpus, DocumentOptions, Documents};
use oxibert::model::Config;
use oxibert::text::Tokenizer;
use oxibert::train::Every;

use super::Demo;
use crate::choices::CommonFlags;
use crate::pretrain::{self, Flags, Options, Recipe, Settings, Trained};
use crate::progress::Bars;

/// About a minute and a half on two cores.
pub(super) const STEPS: u64 = 3000;
const BATCH: usize = 32;
/// A sentence of a day's work on each side, seldom more.
const LENGTH: usize = 32;
/// In the last tenth, as BERT was made: short sequences are cheap, but teach nothing about later positions, which the tasks
/// need.
const LONG_LENGTH: usize = 96;
const LONG_SHARE: f64 = 0.1;
const RATE: f64 = 3e-3;
/// A rate as high as this must be reached slowly.
const WARMUP: f64 = 0.1;
/// Adam's memory of squares is short, so that the rate can be high while gradients shrink quickly.
const BETA2: f32 = 0.98;
/// Many narrow heads, where the published tiny model has two wide ones: to tell next sentences from others a head must find
/// words of one sentence again in the other, and of eight one comes upon that early, with any seed.
const HEADS: usize = 8;
/// So narrow a model begins better with larger numbers than BERT's 0.02.
const INITIAL_DEVIATION: f64 = 0.04;
const HELD_OUT: f64 = 0.1;
const EVALUATION_SEQUENCES: usize = 1500;

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

    /// The model's shape, and how it is trained.
    fn recipe(&self, tokenizer: &Tokenizer) -> Result<(Config, Settings)> {
        let mut config = Config {
            initializer_range: INITIAL_DEVIATION,
            num_attention_heads: HEADS,
            ..Config::preset("tiny", tokenizer.vocab().len())?
        };
        let flags = Flags {
            steps: Some(self.steps),
            batch: Some(BATCH),
            length: Some(LENGTH),
            long_length: Some(LONG_LENGTH),
            long_share: Some(LONG_SHARE),
            lr: Some(RATE),
            warmup: Some(WARMUP),
            beta2: Some(BETA2),
            common: CommonFlags { dropout: Some(0.0), ..CommonFlags::default() },
            held_out: Some(HELD_OUT),
            seed: Some(self.seed),
            ..Flags::default()
        };
        let settings = flags.decide(config.hidden_size, false)?;
        settings.apply(&mut config)?;
        Ok((config, settings))
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
        let (config, settings) = self.recipe(tokenizer)?;
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
        let trained = pretrain::train(start, shards, tokenizer, &options, &self.stop)?;
        self.figures.complete = trained.outcome.complete;
        self.figures.pretraining_steps = trained.outcome.step;
        self.figures.pretraining_seconds = trained.outcome.seconds;
        if trained.outcome.complete {
            self.tell(&trained)?;
        }
        Ok(trained)
    }

    fn tell(&mut self, trained: &Trained) -> Result<()> {
        let evaluation = trained.outcome.evaluation.as_ref().context("documents were held out")?;
        self.figures.mlm_loss = evaluation.value("mlm_loss");
        self.figures.mlm_accuracy = evaluation.value("mlm_accuracy");
        self.figures.mlm_unigram_baseline = trained.baseline;
        self.figures.nsp_accuracy = evaluation.value("nsp_accuracy");
        let percent = |share: Option<f64>| 100.0 * share.unwrap_or(f64::NAN);
        writeln!(self.out, "   on documents that it has never seen / 在没见过的文档上:")?;
        writeln!(
            self.out,
            "   masked words right   {:5.1} %   (always the most frequent token: {:.1} %)",
            percent(self.figures.mlm_accuracy),
            percent(self.figures.mlm_unigram_baseline)
        )?;
        writeln!(
            self.out,
            "   next sentence right  {:5.1} %   (tossing a coin: 50 %; the literature reports 97 - 98 %)",
            percent(self.figures.nsp_accuracy)
        )?;
        Ok(())
    }
}
