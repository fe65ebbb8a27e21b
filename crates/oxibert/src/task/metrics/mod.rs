//! How good answers are, as the official scorers of each task compute it.
//!
//! | what | figures | as computed by |
//! |---|---|---|
//! | classes | accuracy; F1, also macro and micro; Matthews' correlation | scikit-learn |
//! | several classes at once | accuracy of whole sets; micro and macro F1 | scikit-learn |
//! | certainty | calibration in ten bins | scikit-learn; the expected error of Guo et al., 2017 |
//! | a number | Pearson's and Spearman's correlation | SciPy |
//! | entities | precision, recall and F1 of whole entities, also of each kind | conlleval |
//! | translations | BLEU and chrF of a corpus | sacreBLEU |
//! | answer spans | exact match and F1 | SQuAD's evaluate-v2.0; cmrc2018_evaluate for Chinese |
//!
//! `figures.json` holds what those programs say about cases like those of real models; the tests compare.

mod answers;
mod calibration;
mod classes;
mod correlation;
mod counts;
mod entities;
mod multi_label;
#[cfg(test)]
mod tests;
pub mod translation;

pub use crate::data::labelled::{Span, spans};
pub use answers::{AnswerScore, Scorer, score_answer};
pub use calibration::{Bin, calibration, calibration_error};
pub use classes::Confusion;
pub use correlation::{pearson, spearman};
pub use counts::Counts;
pub use entities::Entities;
pub use multi_label::MultiLabel;
