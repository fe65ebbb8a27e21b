//! Where words go: results to standard output, remarks to standard error.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Standard output, buffered. Flush it at the end: an error then is still ours to tell.
pub(crate) fn results() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// A line for the person at the terminal.
pub(crate) fn remark(line: fmt::Arguments<'_>) {
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Whether the reader of our output went away, as `head` does.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
