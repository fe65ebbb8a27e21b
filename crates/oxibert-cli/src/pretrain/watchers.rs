//! Everyone who watches a run: metrics.jsonl, TensorBoard, the report and the live line.

use std::path::{Path, PathBuf};

use anyhow::Result;
use oxibert::data::shard::Shards;
use oxibert::train::{About, Baseline, Journal, Report, TensorBoard};

use super::Settings;
use crate::live::Live;

pub(super) struct Watchers {
    pub(super) journal: Journal,
    pub(super) tensorboard: TensorBoard,
    pub(super) report: Report,
    pub(super) live: Live,
}

/// What they need to know.
pub(super) struct Scene<'s> {
    /// The run's directory.
    pub(super) directory: &'s Path,
    pub(super) report: PathBuf,
    pub(super) title: &'s str,
    pub(super) settings: &'s Settings,
    pub(super) shards: &'s Shards,
    /// The share of held-out predictions that always guessing the most frequent token gets right.
    pub(super) baseline: Option<f64>,
    pub(super) quiet: bool,
}

impl Watchers {
    /// For a run from `step` on, which is absent for a new one.
    pub(super) fn new(scene: &Scene<'_>, step: Option<u64>) -> Result<Self> {
        let metrics = scene.directory.join("metrics.jsonl");
        let tensorboard = scene.directory.join("tensorboard");
        let about = scene.about();
        let live = Live::new(scene.quiet);
        Ok(match step {
            None => Self {
                journal: Journal::create(&metrics)?,
                tensorboard: TensorBoard::create(&tensorboard)?,
                report: Report::create(&scene.report, about)?,
                live,
            },
            Some(step) => Self {
                journal: Journal::resume(&metrics, step)?,
                tensorboard: TensorBoard::resume(&tensorboard, step)?,
                report: Report::resume(&scene.report, about, &metrics, step)?,
                live,
            },
        })
    }
}

impl Scene<'_> {
    fn about(&self) -> About {
        let baseline = |figure: &str, value: f64, label: &str| Baseline {
            figure: figure.to_owned(),
            value,
            label: label.to_owned(),
        };
        let mut baselines =
            vec![baseline("mlm_loss", self.shards.prepared().unigram_entropy, "unigram entropy / 一元熵")];
        baselines.extend(
            self.baseline.map(|share| {
                baseline("mlm_accuracy", share, "always the most frequent token / 总猜最常见词元")
            }),
        );
        let coin = "tossing a coin / 抛硬币";
        baselines.extend(["nsp_accuracy", "sop_accuracy"].map(|figure| baseline(figure, 0.5, coin)));
        About { title: self.title.to_owned(), settings: self.settings.list(), baselines }
    }
}
