//! The demo's last part: the original Transformer learns to translate the world's sentences.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Result;
use oxibert::data::Pair;
use oxibert::train::{Body, Report, Section};

use super::Demo;
use super::pretraining::STEPS;
use crate::choices::CommonFlags;
use crate::finetune::teach::translate::{Job, learn};
use crate::finetune::teach::{Flags, Verb};

/// Pairs to learn from, and pairs whose sentences are not among them.
const PAIRS: usize = 6000;
const UNSEEN: usize = 200;
/// Of the whole demo; a shorter one learns less here too. A third of a minute on two cores.
const TRANSLATION_STEPS: f64 = 250.0;
const TOKENS: usize = 2048;
const RATE: f64 = 4e-3;
/// Pairs that are looked through for unsaid ones, at most: a world may have no more to say.
const PATIENCE: usize = 20 * PAIRS;
/// Translations that are told.
const TOLD: usize = 3;

impl Demo<'_> {
    pub(super) fn translate(&mut self, vocab: &Path, out: &Path, report: &mut Report) -> Result<()> {
        let title = "A Transformer, encoder and decoder, learns to translate / 编码器加解码器：学习翻译";
        self.heading(11, title)?;
        writeln!(self.out, "   {PAIRS} pairs of sentences, English to Chinese, one vocabulary for both")?;
        self.out.flush()?;
        let steps = (TRANSLATION_STEPS * (self.steps as f64 / STEPS as f64).min(1.0)).ceil() as u64;
        let flags = Flags {
            steps: Some(steps),
            batch_tokens: Some(TOKENS),
            lr: Some(RATE),
            common: CommonFlags { dropout: Some(0.0), ..CommonFlags::default() },
            seed: Some(self.seed),
            ..Flags::default()
        };
        let job = Job { eval_pairs: UNSEEN, ..Job::default() };
        let verb = Verb::short("tiny", vocab, out, flags, self.quiet);
        let (training, unseen) = self.pairs();
        let (taught, samples) = learn(&job, &verb, &training, &unseen, &self.stop)?;
        let Some(bleu) = taught.figures.value("bleu") else {
            writeln!(self.out, "   stopped after step {}: not measured", taught.outcome.step)?;
            return Ok(());
        };
        self.figures.bleu = Some(bleu);
        let right = samples.iter().filter(|sample| sample.translation == sample.reference).count();
        writeln!(
            self.out,
            "   of {} new sentences: BLEU {bleu:.1}, {right} translated word for word as expected",
            samples.len()
        )?;
        for sample in samples.iter().take(TOLD) {
            writeln!(self.out, "   {}\n   → {}", sample.source, sample.translation)?;
        }
        let row = |sample: &oxibert::task::translate::Sample| {
            vec![sample.source.clone(), sample.translation.clone(), sample.reference.clone()]
        };
        let head =
            ["source / 原文", "translation / 译文", "reference / 参考译文"].map(str::to_owned).to_vec();
        let rows = samples.iter().take(4 * TOLD).map(row).collect();
        report.add(Section { title: title.to_owned(), body: Body::Table { head, rows } })?;
        Ok(())
    }

    /// Sentences of days of work in both languages: those to learn from, and others. The world says some things often, so what
    /// is measured must not have been said.
    fn pairs(&self) -> (Vec<Pair>, Vec<Pair>) {
        let mut all = (0..).map(|index| {
            let (source, target) = self.workdays.pair(index);
            Pair { source, target, line: index as usize + 1 }
        });
        let training: Vec<Pair> = all.by_ref().take(PAIRS).collect();
        let mut said: HashSet<String> = training.iter().map(|pair| pair.source.clone()).collect();
        let unseen =
            all.take(PATIENCE).filter(|pair| said.insert(pair.source.clone())).take(UNSEEN).collect();
        (training, unseen)
    }
}
