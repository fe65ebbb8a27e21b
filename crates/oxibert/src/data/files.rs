//! placeholder
use crate::Result;
use std::io::{self, Write};
use std::path::Path;
pub(crate) fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut v = Vec::new();
    write(&mut v).and_then(|()| std::fs::write(path, v)).map_err(|e| crate::Error::write(path, e))
}
