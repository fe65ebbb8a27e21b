//! Text files in, finished files out: reading corpora of any size and writing atomically.
pub mod files;
