//! Figures that say how good a model's answers are, one file per kind of answer.

pub mod translation;
