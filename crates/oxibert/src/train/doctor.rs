//! Looks at a run as an experienced colleague would, and says in words what is wrong, what that usually means and what
//! helps.
//!
//! Every text has two lines, the second the first in Chinese. An ailment is told once, and again only after it was cured
//! and came back. A healthy run hears nothing: every threshold has a distance to what noise does.

mod masking;
mod past;
mod signs;
#[cfg(test)]
mod tests;
mod words;

pub use self::masking::MaskingShares;

use self::signs::{Median, Recent};
use super::{Begin, Evaluation, Event, Step};

/// Numbers that are averaged before a trend is read from them; single ones are noise.
const WINDOW: usize = 10;
/// Masked-token loss leaves the plateau of the unigram entropy late: after some hundred steps in small models, some
/// thousand in large ones. Before a fifth of the run, and these bounds, nothing is said about learning too slowly.
const PATIENCE: (f64, u64, u64) = (0.2, 1_000, 10_000);
/// A model that has learned nothing but frequencies is within some percent of their entropy; one that reads the context
/// falls under it by far. Between the two shares nothing is said.
const STUCK: (f64, f64) = (0.97, 0.95);
/// The two classes are drawn evenly, so that guessing is 50 %. What learns is above 60 % soon.
const COIN: (f64, f64) = (0.53, 0.55);
/// The masked-token loss must have fallen by this before the other task is blamed.
const LEARNING: f64 = 0.9;
/// Norms swing by a factor of ten in healthy runs.
const EXPLODED: (f64, f64) = (100.0, 10.0);
/// So many norms before their median means anything.
const NORMS: usize = 20;
/// Far above the best: a quarter and half a nat. Noise and a new epoch stay under one of the two.
const RISEN: (f64, f64) = (1.25, 0.5);
/// A schedule may have one step at rate zero at either end.
const RESTS: u32 = 3;
/// The end of the run, where a decayed rate may be zero.
const NEARLY_DONE: f64 = 0.99;
/// Evaluations in a row that must be worse than the best, and by how much, while training got better by as much.
const WORSE: (usize, f64) = (3, 0.02);

/// What the doctor may be told beforehand.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DoctorOptions {
    /// The entropy of the training data's token frequencies, in nats: what a model without eyes for the context reaches
    /// as `mlm_loss`.
    pub unigram_entropy: Option<f64>,
}

/// What can be wrong; each is told once per outbreak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ailment {
    NotFinite,
    Exploding,
    Rising,
    Stuck,
    Coin,
    NoRate,
    Overfitting,
    Masking,
}

/// A look at one ailment. Between well and sick, nothing changes.
enum Finding {
    Sick(String),
    Well,
    Unclear,
}

/// Watches a run's figures for what usually goes wrong. It knows `loss`, `mlm_loss`, `nsp_accuracy` and `sop_accuracy`;
/// whatever of these a run does not have is not examined.
///
/// ```
/// use oxibert::train::{Doctor, DoctorOptions, Event, Figures, Step};
///
/// let mut figures = Figures::default();
/// figures.add("loss", f64::NAN, 1.0);
/// let step = Step { step: 7, progress: 0.1, epoch: 0.0, lr: 1e-4, gradient_norm: 1.0, figures: &figures, tokens: 0,
///     flops: 0, seconds: 1.0, elapsed: 7.0 };
/// let mut doctor = Doctor::new(DoctorOptions::default());
/// assert_eq!(doctor.examine(&Event::Step(step.clone())).len(), 1);
/// assert!(doctor.examine(&Event::Step(step)).is_empty());      // said already
/// ```
#[derive(Debug, Clone)]
pub struct Doctor {
    options: DoctorOptions,
    sick: Vec<Ailment>,
    /// Steps that must be taken before learning can be called slow.
    patience: u64,
    norms: Median,
    rests: u32,
    /// The part of the run that `loss` is of.
    part: usize,
    loss: Recent,
    mlm_loss: Recent,
    /// Accuracy of the task with two sentences.
    pairs: Recent,
    /// The best held-out loss, and the training loss at that time.
    best: Option<(f64, f64)>,
    worse: usize,
}

impl Doctor {
    /// A doctor who has seen nothing yet.
    pub fn new(options: DoctorOptions) -> Self {
        Self {
            options,
            sick: Vec::new(),
            patience: PATIENCE.1,
            norms: Median::default(),
            rests: 0,
            part: 0,
            loss: Recent::default(),
            mlm_loss: Recent::default(),
            pairs: Recent::default(),
            best: None,
            worse: 0,
        }
    }

    /// Looks at an event; returns what is newly wrong, to be told to the watchers as [`Event::Warning`].
    pub fn examine(&mut self, event: &Event<'_>) -> Vec<String> {
        match event {
            Event::Begin(begin) => self.begin(begin),
            Event::Step(step) => return self.step(step),
            Event::Log(step) => return self.logged(step),
            Event::Evaluation(evaluation) => return self.evaluated(evaluation).into_iter().collect(),
            _ => {}
        }
        Vec::new()
    }

    /// Says to which part of the run the next figures belong. Another part has other examples, such as longer ones: its loss
    /// may begin higher without anything being wrong.
    pub fn enter_part(&mut self, part: usize) {
        if part != self.part {
            (self.part, self.loss) = (part, Recent::default());
        }
    }

    /// Compares the shares of masked tokens that a run really has with those it was asked for.
    pub fn examine_masking(&mut self, wanted: &MaskingShares, real: &MaskingShares) -> Option<String> {
        let finding = match masking::differences(wanted, real) {
            None => Finding::Well,
            Some(seen) => Finding::Sick(words::masking(&seen)),
        };
        self.conclude(Ailment::Masking, finding)
    }

    fn begin(&mut self, begin: &Begin<'_>) {
        let (share, least, most) = PATIENCE;
        let steps = begin.steps.map_or(least, |steps| (steps as f64 * share) as u64);
        self.patience = steps.clamp(least, most);
    }

    fn step(&mut self, step: &Step<'_>) -> Vec<String> {
        let loss = step.figures.value("loss").unwrap_or(0.0);
        let norm = step.gradient_norm;
        let finite = if loss.is_finite() && norm.is_finite() {
            Finding::Well
        } else {
            Finding::Sick(words::not_finite(step.step, loss, norm))
        };
        let (exploding, no_rate) = (self.explodes(step), self.rests(step));
        let findings =
            [(Ailment::NotFinite, finite), (Ailment::Exploding, exploding), (Ailment::NoRate, no_rate)];
        findings.into_iter().filter_map(|(ailment, finding)| self.conclude(ailment, finding)).collect()
    }

    fn explodes(&mut self, step: &Step<'_>) -> Finding {
        let norm = step.gradient_norm;
        if !norm.is_finite() {
            return Finding::Unclear; // Said by another finding.
        }
        let median = self.norms.value().filter(|median| *median > 0.0 && self.norms.len() >= NORMS);
        self.norms.add(norm);
        match median {
            Some(median) if norm > EXPLODED.0 * median => {
                Finding::Sick(words::exploding(step.step, norm, median))
            }
            Some(median) if norm < EXPLODED.1 * median => Finding::Well,
            _ => Finding::Unclear,
        }
    }

    fn rests(&mut self, step: &Step<'_>) -> Finding {
        self.rests = if step.lr == 0.0 && step.progress < NEARLY_DONE { self.rests + 1 } else { 0 };
        match self.rests {
            0 => Finding::Well,
            rests if rests >= RESTS => Finding::Sick(words::no_rate(step.step, step.progress)),
            _ => Finding::Unclear,
        }
    }

    fn logged(&mut self, step: &Step<'_>) -> Vec<String> {
        let figure = |name| step.figures.value(name).filter(|value| value.is_finite());
        self.loss.add(figure("loss"));
        self.mlm_loss.add(figure("mlm_loss"));
        self.pairs.add(figure("nsp_accuracy").or_else(|| figure("sop_accuracy")));
        let findings = [
            (Ailment::Rising, self.rises(step.step)),
            (Ailment::Stuck, self.is_stuck(step.step)),
            (Ailment::Coin, self.tosses(step.step)),
        ];
        findings.into_iter().filter_map(|(ailment, finding)| self.conclude(ailment, finding)).collect()
    }

    fn rises(&self, step: u64) -> Finding {
        let (Some(loss), Some(best)) = (self.loss.mean(), self.loss.best()) else { return Finding::Unclear };
        if loss > RISEN.0 * best + RISEN.1 {
            Finding::Sick(words::rising(step, loss, best))
        } else if loss < RISEN.0 * best {
            Finding::Well
        } else {
            Finding::Unclear
        }
    }

    fn is_stuck(&self, step: u64) -> Finding {
        let (Some(entropy), Some(loss)) = (self.options.unigram_entropy, self.mlm_loss.mean()) else {
            return Finding::Unclear;
        };
        if self.sick.contains(&Ailment::Rising) {
            return Finding::Unclear; // It came back to the plateau, and has been told why.
        }
        if loss < STUCK.1 * entropy {
            Finding::Well
        } else if loss > STUCK.0 * entropy && step >= self.patience {
            Finding::Sick(words::stuck(step, loss, entropy))
        } else {
            Finding::Unclear
        }
    }

    fn tosses(&self, step: u64) -> Finding {
        let (Some(accuracy), Some(loss)) = (self.pairs.mean(), self.mlm_loss.mean()) else {
            return Finding::Unclear;
        };
        // After a restart the first loss is no longer that of an untrained model; the entropy is a mark that stays.
        let start = self.options.unigram_entropy.or(self.mlm_loss.first());
        let learns = start.is_some_and(|start| loss < LEARNING * start);
        if accuracy > COIN.1 {
            Finding::Well
        } else if accuracy < COIN.0 && learns && step >= self.patience {
            Finding::Sick(words::coin(step, accuracy, loss))
        } else {
            Finding::Unclear
        }
    }

    fn evaluated(&mut self, evaluation: &Evaluation<'_>) -> Option<String> {
        let held_out = evaluation.figures.value("loss").filter(|loss| loss.is_finite())?;
        let training = self.loss.mean()?;
        let (best, then) = match self.best {
            Some(best) if held_out >= best.0 => best,
            _ => *self.best.insert((held_out, training)),
        };
        let (times, share) = WORSE;
        let worse = held_out > best * (1.0 + share) && training < then * (1.0 - share);
        self.worse = if worse { self.worse + 1 } else { 0 };
        let finding = match self.worse {
            0 => Finding::Well,
            worse if worse >= times => {
                Finding::Sick(words::overfitting(evaluation.step, (best, held_out), (then, training)))
            }
            _ => Finding::Unclear,
        };
        self.conclude(Ailment::Overfitting, finding)
    }

    /// Keeps who is sick; returns what must be said.
    fn conclude(&mut self, ailment: Ailment, finding: Finding) -> Option<String> {
        match finding {
            Finding::Sick(text) if !self.sick.contains(&ailment) => {
                self.sick.push(ailment);
                Some(text)
            }
            Finding::Well => {
                self.sick.retain(|known| *known != ailment);
                None
            }
            _ => None,
        }
    }
}
