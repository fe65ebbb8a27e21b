//! The `oxibert` command.
fn main() {}
