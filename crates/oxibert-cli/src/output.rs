//! Where words go: results to standard output, remarks to standard error.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

/// Standard output, buffered. Flush it at the end: an error then is still ours to tell.
pub(crate) fn results() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// A line for the person at the terminal.
pub(crate) fn remark(line: fmt::Arguments<'_>) {
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(io::stderr(), "{line}");
}

/// What a model is called in a title: a hub's name, or the last two parts of a path.
pub(crate) fn short_name(model: &str) -> String {
    let mut parts: Vec<_> = Path::new(model).iter().map(|part| part.to_string_lossy()).collect();
    parts.retain(|part| part != "/");
    parts.split_off(parts.len().saturating_sub(2)).join("/")
}

/// Whether the reader of our output went away, as `head` does.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_have_the_end_of_a_path() {
        let cases = [
            ("tiny", "tiny"),
            ("google-bert/bert-base-uncased", "google-bert/bert-base-uncased"),
            ("/a/b/minilm/model", "minilm/model"),
            ("../runs/minilm/", "runs/minilm"),
            ("/model", "model"),
        ];
        cases.iter().for_each(|(model, expected)| assert_eq!(short_name(model), *expected));
    }
}
