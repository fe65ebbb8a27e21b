//! The library's one error type: every way a door can refuse what it is given.
//!
//! Doors (files, settings) return these; the rooms behind them trust what has passed.
//! Each message is one line that names the place, what is wrong and the way out; what the operating system
//! said is the error's `source`.

use std::io;
use std::path::{Path, PathBuf};

/// A result with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong at a door.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read a file.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The operating system refused to write a file.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file was read, but its content is not what it must be.
    #[error("{}{}: {problem}", path.display(), at_line(*line))]
    Content {
        /// The file.
        path: PathBuf,
        /// The line (counted from 1) where the file has lines.
        line: Option<usize>,
        /// What is wrong, what was expected, and the way out.
        problem: String,
    },
    /// A setting has a value that cannot work.
    #[error("{name}: {problem}")]
    Setting {
        /// The setting's name, as the caller knows it.
        name: &'static str,
        /// What is wrong, what was expected, and the way out.
        problem: String,
    },
    /// A training run could not save a checkpoint.
    #[error("the checkpoint of step {step} was not saved; {rescue}")]
    Unsaved {
        /// The step.
        step: u64,
        /// Which checkpoint there is instead, and the way on.
        rescue: String,
        /// What went wrong.
        source: Box<Error>,
    },
}

fn at_line(line: Option<usize>) -> String {
    line.map(|n| format!(":{n}")).unwrap_or_default()
}

impl Error {
    /// A refusal to read `path`.
    pub fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }

    /// A refusal to write `path`.
    pub fn write(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Write { path: path.into(), source }
    }

    /// Bad content in `path`, at `line` (from 1) where there is one.
    pub fn content(path: &Path, line: Option<usize>, problem: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), line, problem: problem.into() }
    }

    /// A setting that cannot work.
    pub fn setting(name: &'static str, problem: impl Into<String>) -> Self {
        Self::Setting { name, problem: problem.into() }
    }
}
