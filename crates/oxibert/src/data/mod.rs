//! Text files in, finished files out: reading corpora of any size, preparing them for training, and writing atomically.

mod batch;
mod blocks;
mod corpus;
mod documents;
pub mod files;
pub mod labelled;
mod lines;
mod order;
mod pairs;
pub mod prepare;
pub mod pretrain;
pub mod shard;

pub(crate) use batch::by_budget;
pub use batch::{Batch, Targets};
pub use blocks::{BLOCK_BYTES, Block, Blocks};
pub use corpus::Corpus;
pub use documents::{Boundary, DocumentOptions, Documents, Format, Paragraph, Piece, Pieces};
pub use lines::{Line, Lines};
pub(crate) use order::Order;
pub use pairs::{Incomplete, Pair, Pairs};
