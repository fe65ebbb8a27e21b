//! Text to token ids and back, in the order of the pipeline:
//!
//! 1. [`rules`](Rules): which reference is followed, and its switches;
//! 2. `added`: special tokens are cut out of the text;
//! 3. `normalize`, `split`: what lies between becomes normalized words;
//! 4. `trie`: words become pieces of the vocabulary, in linear time;
//! 5. [`tokenizer`](Tokenizer): `[CLS]` and `[SEP]` around them; [`windows`](Limit): what is too long;
//! 6. `decode`: and back; [`spacing`](Spacing): the blanks that were lost on the way.
//!
//! `plain` is the slow twin of steps 3 and 4.
//!
//! Beside the pipeline: [`learn`] makes a vocabulary of text; [`sentences`] and [`segment`] (Chinese words), which pretraining needs;
//! [`familiar`](Familiar): whether texts look like others.

mod added;
mod decode;
mod encoding;
mod familiar;
pub mod learn;
mod normalize;
mod persist;
mod plain;
mod rules;
pub mod segment;
pub mod sentences;
mod spacing;
mod split;
mod tokenizer;
mod trie;
mod unicode;
mod unicode_tables;
mod vocab;
mod windows;
mod words;

pub use added::AddedToken;
pub use encoding::{Encoding, Padding, Rectangle};
pub use familiar::Familiar;
pub use normalize::Span;
pub use persist::TOKENIZER_FILES;
pub use rules::{Compat, Rules};
pub(crate) use spacing::join_sentences;
pub use spacing::{SPACING_FILE, Spacing};
pub use tokenizer::{Encoder, SpecialIds, Tokenizer, WindowEncodings};
pub use vocab::{CONTINUATION, SPECIAL_TOKENS, Vocab};
pub use windows::{Limit, LongText, Part, Truncation, Windows};
pub use words::Words;
