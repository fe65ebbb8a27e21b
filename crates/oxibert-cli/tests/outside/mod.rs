//! The binary as a shell sees it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Exit code, standard output and standard error.
pub(crate) fn oxibert(directory: &Path, arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oxibert"))
        .args(arguments)
        .current_dir(directory)
        .env("COLUMNS", "100")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A run that is refused does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
