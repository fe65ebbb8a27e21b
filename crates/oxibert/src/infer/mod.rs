//! What people ask a trained model for, text in and answers out.

mod fill;

pub use fill::{Candidate, Filler, Mask};
