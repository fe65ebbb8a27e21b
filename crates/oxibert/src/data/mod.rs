//! Text files in, finished files out: reading corpora of any size and writing atomically.

mod batch;
mod blocks;
mod corpus;
pub mod files;
mod lines;

pub use batch::{Batch, Targets};
pub use blocks::{BLOCK_BYTES, Block, Blocks};
pub use corpus::Corpus;
pub use lines::{Line, Lines};
