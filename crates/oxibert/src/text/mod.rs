//! Text to token ids and back.

pub mod segment;
pub mod sentences;
