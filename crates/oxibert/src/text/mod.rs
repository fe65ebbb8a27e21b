//! Text to token ids and back.

pub mod learn;
