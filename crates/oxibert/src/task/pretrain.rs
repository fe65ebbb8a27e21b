//! Pretraining: masked tokens and sentence pairs (section 3.1 of the paper).

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::pretrain::{
    BatchSize, ExampleIds, ExampleOptions, Examples, Feed, MaskCounts, Objective, Position, hold_out,
};
use crate::data::shard::Shards;
use crate::data::{Batch, Targets};
use crate::model::{Config, DropoutPlan, Keep, Losses, Pretraining, Work, checkpoint};
use crate::nn::{Gradients, Layout, tensors};
use crate::random::Random;
use crate::text::Tokenizer;
use crate::train::{Better, Doctor, Figures, Learner, MaskingShares, Moment, Pass, read_position};
use crate::{Error, Result};

/// Tokens of a batch that is only measured.
const EVALUATION_TOKENS: usize = 4096;
/// Held-out text is always masked like this, so that runs with other shares can be compared.
const EVALUATION_MASK_RATE: f64 = 0.15;
const EVALUATION_SEED: u64 = 0;
/// So many tokens before the shares of masked ones are judged.
const COUNTED_TOKENS: u64 = 50_000;

/// The part of a run that goes over sequences of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// The phase begins when this share of the run is done.
    pub begin: f64,
    /// The most tokens of a sequence.
    pub length: usize,
    /// How much goes into a batch.
    pub batch: BatchSize,
}

/// How the data are used.
#[derive(Debug, Clone, PartialEq)]
pub struct PretrainOptions {
    /// How examples are made; each phase has its own length.
    pub examples: ExampleOptions,
    /// One after the other; the first begins at 0.
    pub phases: Vec<Phase>,
    /// The share of documents that are held out for evaluation.
    pub held_out: f64,
    /// The most sequences of an evaluation.
    pub evaluation_sequences: usize,
    /// What the forward pass keeps for backward.
    pub keep: Keep,
}

impl PretrainOptions {
    fn examples_of(&self, phase: usize) -> ExampleOptions {
        ExampleOptions { length: self.phases[phase].length, ..self.examples.clone() }
    }
}

/// A model in pretraining.
pub struct Pretrain<'s> {
    model: Pretraining,
    tokenizer: &'s Tokenizer,
    shards: &'s Shards,
    options: PretrainOptions,
    training: Vec<u32>,
    ids: ExampleIds,
    phase: usize,
    feed: Feed<'s>,
    held_out: Vec<(Batch, Targets)>,
    batch: Batch,
    targets: Targets,
    work: Work,
}

/// Where a run stands in its data.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    phase: usize,
    position: Position,
}

impl<'s> Pretrain<'s> {
    /// Checks that model, vocabulary and data fit each other, and makes the held-out examples.
    pub fn new(
        config: &Config,
        tokenizer: &'s Tokenizer,
        shards: &'s Shards,
        options: PretrainOptions,
    ) -> Result<Self> {
        check(config, tokenizer, shards, &options)?;
        let ids = ExampleIds::new(tokenizer.special(), tokenizer.vocab().len())?;
        let (training, evaluation) = hold_out(shards.documents(), options.held_out);
        let feed = feed(shards, &training, ids, &options, 0, Position::default())?;
        let held_out = held_out_batches(shards, evaluation, ids, &options)?;
        Ok(Self {
            model: Pretraining::new(config),
            tokenizer,
            shards,
            training,
            ids,
            phase: 0,
            feed,
            held_out,
            options,
            batch: Batch::new(),
            targets: Targets::default(),
            work: Work::default(),
        })
    }

    /// The model.
    pub fn model(&self) -> &Pretraining {
        &self.model
    }

    /// The share of held-out predictions that are this token: what guessing it every time would get right.
    pub fn baseline(&self, token: u32) -> Option<f64> {
        let labels = || self.held_out.iter().flat_map(|(_, targets)| &targets.labels);
        let all = labels().count();
        (all > 0).then(|| labels().filter(|&&label| label == token).count() as f64 / all as f64)
    }

    /// Begins the phase that `progress` belongs to, if it has not begun.
    fn enter_phase(&mut self, progress: f64) -> Result<()> {
        let phase = self.options.phases.iter().rposition(|phase| progress >= phase.begin).unwrap_or(0);
        if phase != self.phase {
            self.begin_phase(phase, Position::default())?;
        }
        Ok(())
    }

    fn begin_phase(&mut self, phase: usize, position: Position) -> Result<()> {
        self.feed = feed(self.shards, &self.training, self.ids, &self.options, phase, position)?;
        self.phase = phase;
        Ok(())
    }
}

impl Learner for Pretrain<'_> {
    fn layout(&self) -> &Layout {
        self.model.layout()
    }

    fn gradients(&mut self, values: &[f32], gradients: &mut Gradients, moment: Moment) -> Pass {
        self.enter_phase(moment.progress).expect("what is refused does not depend on the phase");
        let begin = Instant::now();
        self.feed.next(self.options.phases[self.phase].batch, &mut self.batch, &mut self.targets);
        let data_seconds = begin.elapsed().as_secs_f64();
        let seed = Random::new(self.options.examples.seed, "dropout", moment.pass).bits();
        let dropout = DropoutPlan::new(self.model.config(), seed);
        let Self { model, batch, targets, work, options, .. } = self;
        let losses = model.gradients(values, gradients, batch, targets, dropout, options.keep, work);
        let mut figures = Figures::default();
        add(&mut figures, &losses, batch, targets, options.examples.objective);
        // Backward takes twice as many as forward.
        let (tokens, flops) =
            (batch.tokens() as u64, 3 * model.config().flops_of_pretraining(batch, targets));
        Pass { figures, tokens, flops, data_seconds }
    }

    fn evaluate(&mut self, values: &[f32]) -> Option<Figures> {
        let mut figures = Figures::default();
        for (batch, targets) in &self.held_out {
            let losses = self.model.evaluate(values, batch, targets, &mut self.work);
            add(&mut figures, &losses, batch, targets, self.options.examples.objective);
        }
        let perplexity = figures.value("mlm_loss")?.exp();
        figures.add("mlm_perplexity", perplexity, 1.0);
        Some(figures)
    }

    fn goal(&self) -> (&'static str, Better) {
        ("loss", Better::Lower)
    }

    fn epochs(&self) -> f64 {
        self.feed.epochs()
    }

    fn position(&self) -> Value {
        let place = Place { phase: self.phase, position: self.feed.position() };
        serde_json::to_value(place).expect("numbers")
    }

    fn seek(&mut self, position: &Value) -> Result<()> {
        let place: Place = read_position(position)?;
        if place.phase >= self.options.phases.len() {
            return Err(Error::setting("position", format!("phase {} does not exist", place.phase)));
        }
        self.begin_phase(place.phase, place.position)
    }

    /// Budgets round the share of chosen tokens a little down in short sequences, and words that do not fit are passed over.
    fn consult(&self, doctor: &mut Doctor) -> Option<String> {
        doctor.enter_part(self.phase);
        let MaskCounts { tokens, chosen, masked, random } = self.feed.counts();
        if tokens < COUNTED_TOKENS {
            return None;
        }
        let of_chosen = |count: u64| count as f64 / chosen.max(1) as f64;
        let options = self.options.examples_of(self.phase);
        let most = options.most_predictions() as f64 / options.length as f64;
        let wanted = MaskingShares {
            chosen: options.mask_rate.min(most),
            masked: 0.8,
            random: 0.1,
            kept: 0.1,
            tokens: 0,
        };
        let real = MaskingShares {
            chosen: chosen as f64 / tokens as f64,
            masked: of_chosen(masked),
            random: of_chosen(random),
            kept: 1.0 - of_chosen(masked) - of_chosen(random),
            tokens,
        };
        doctor.examine_masking(&wanted, &real)
    }

    fn save(&self, values: &[f32], directory: &Path) -> Result<()> {
        checkpoint::save(directory, self.model.config(), &tensors(self.model.layout(), values))?;
        self.tokenizer.save(directory)
    }
}

/// Refuses what does not fit, before anything is trained.
fn check(config: &Config, tokenizer: &Tokenizer, shards: &Shards, options: &PretrainOptions) -> Result<()> {
    let tokens = tokenizer.vocab().len();
    if tokenizer.vocab().fingerprint() != shards.prepared().vocab_fingerprint {
        let problem =
            "the shards were made with another vocabulary than the one beside them; prepare the text again";
        return Err(Error::setting("data", problem));
    }
    if config.vocab_size < tokens {
        let problem = format!(
            "the configuration has {}, but the data's vocabulary has {tokens} tokens; set it to {tokens}, or prepare the data \
             with the model's own vocabulary",
            config.vocab_size
        );
        return Err(Error::setting("vocab_size", problem));
    }
    let longest = options.phases.iter().map(|phase| phase.length).max().unwrap_or(0);
    if longest > config.max_position_embeddings {
        let problem = format!(
            "{longest} tokens, but the model has {} positions; choose a shorter one or a configuration with more",
            config.max_position_embeddings
        );
        return Err(Error::setting("length", problem));
    }
    if options.examples.objective.has_pairs() && config.type_vocab_size < 2 {
        let problem =
            "it is 1, but sentence pairs need 2; choose the objective mlm or a configuration with 2";
        return Err(Error::setting("type_vocab_size", problem));
    }
    if shards.documents() == 0 {
        return Err(Error::setting("data", "no documents in them"));
    }
    Ok(())
}

/// The feed of a phase, checked to give examples.
fn feed<'s>(
    shards: &'s Shards,
    training: &[u32],
    ids: ExampleIds,
    options: &PretrainOptions,
    phase: usize,
    position: Position,
) -> Result<Feed<'s>> {
    let examples = options.examples_of(phase);
    let feed = Feed::new(Examples::new(shards, training.to_vec(), ids, examples)?, position);
    if feed.epoch_length() == 0 {
        let problem = "not one example in them: every document has a single sentence, which has no order; choose the \
                       objective mlm+nsp or mlm";
        return Err(Error::setting("data", problem));
    }
    Ok(feed)
}

/// The same examples at every evaluation, made as in the first phase.
fn held_out_batches(
    shards: &Shards,
    documents: Vec<u32>,
    ids: ExampleIds,
    options: &PretrainOptions,
) -> Result<Vec<(Batch, Targets)>> {
    let examples = ExampleOptions {
        length: options.phases[0].length,
        mask_rate: EVALUATION_MASK_RATE,
        max_predictions: None,
        whole_word: false,
        ngram: 1,
        static_copies: None,
        seed: EVALUATION_SEED,
        ..options.examples.clone()
    };
    let mut batches = Vec::new();
    if documents.is_empty() {
        return Ok(batches);
    }
    let mut feed = Feed::new(Examples::new(shards, documents, ids, examples)?, Position::default());
    let mut left = feed.epoch_length().min(options.evaluation_sequences);
    while left > 0 {
        let (mut batch, mut targets) = (Batch::new(), Targets::default());
        let length = options.phases[0].length;
        feed.next(
            BatchSize::Sequences(left.min((EVALUATION_TOKENS / length).max(1))),
            &mut batch,
            &mut targets,
        );
        left -= batch.sequences();
        batches.push((batch, targets));
    }
    Ok(batches)
}

fn add(figures: &mut Figures, losses: &Losses, batch: &Batch, targets: &Targets, objective: Objective) {
    let (masked, pairs) = (targets.masked.len() as f64, targets.next.len() as f64);
    let (loss, accuracy) = match objective {
        Objective::Sop => ("sop_loss", "sop_accuracy"),
        _ => ("nsp_loss", "nsp_accuracy"),
    };
    figures.add("loss", losses.total() * batch.sequences() as f64, batch.sequences() as f64);
    figures.add("mlm_loss", losses.mlm * masked, masked);
    figures.add("mlm_accuracy", losses.mlm_correct as f64, masked);
    figures.add(loss, losses.nsp * pairs, pairs);
    figures.add(accuracy, losses.nsp_correct as f64, pairs);
}
