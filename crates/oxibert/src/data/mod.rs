//! Text files in, finished files out: reading corpora of any size and writing atomically.

mod batch;
mod blocks;
mod corpus;
pub mod files;
mod lines;
pub mod shard;

pub use batch::Batch;
pub use blocks::{BLOCK_BYTES, Block, Blocks};
pub use corpus::Corpus;
pub use lines::{Line, Lines};
