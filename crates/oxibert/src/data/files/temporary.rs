//! Hidden names for what is being written, and the end of those that killed writers left.
//!
//! A writer holds a lock on its temporary file or directory; the lock ends with the process, whatever ends that. So a
//! temporary without a lock has no writer.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::parent_of;

/// A writer has locked its temporary long before this.
const YOUNG: Duration = Duration::from_secs(10);
const ENDING: &str = ".tmp";

/// A file or directory that vanishes again unless it is kept.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) path: PathBuf,
    kept: bool,
    /// Of a directory; a file is locked by the handle that it is written with.
    _lock: Option<File>,
}

impl Temporary {
    /// An empty file beside `target`, locked.
    pub(super) fn file(target: &Path) -> io::Result<(Self, File)> {
        let (path, file) = create(target, |at| File::create_new(at))?;
        lock(&file);
        Ok((Self { path, kept: false, _lock: None }, file))
    }

    /// An empty directory beside `target`, locked.
    pub(super) fn directory(target: &Path) -> io::Result<Self> {
        let (path, ()) = create(target, |at| fs::create_dir(at))?;
        // Windows opens no directories; there, nothing is locked and nothing removed.
        let handle = File::open(&path).ok();
        handle.iter().for_each(lock);
        Ok(Self { path, kept: false, _lock: handle })
    }

    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing can be done about a failure here, and the error that led here matters more.
            let _ = remove(&self.path);
        }
    }
}

/// Makes something new, with `make`, under a hidden name beside `target`.
fn create<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "the path has no file name"))?;
    remove_stale(parent_of(target), name);
    loop {
        let mut hidden = beginning(name);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        hidden.push(format!("{}-{number}{ENDING}", std::process::id()));
        let path = parent_of(target).join(hidden);
        match make(&path) {
            // Of a process that had our number, or another host's on a shared disk.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
            made => return made.map(|made| (path, made)),
        }
    }
}

fn beginning(name: &OsStr) -> OsString {
    let mut beginning = OsString::from(".");
    beginning.push(name);
    beginning.push(".");
    beginning
}

/// Some network file systems have no locks; then nobody gets one, and nothing is removed.
fn lock(handle: &File) {
    let _ = handle.try_lock();
}

/// Removes what killed writers of this name left. Whatever is in the way of that is in nobody else's.
fn remove_stale(directory: &Path, name: &OsStr) {
    let beginning = beginning(name);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if is_ours(&entry.file_name(), &beginning) {
            let _ = remove_if_stale(&entry.path());
        }
    }
}

/// `.name.PROCESS-NUMBER.tmp`, and nothing else.
fn is_ours(name: &OsStr, beginning: &OsStr) -> bool {
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let rest = name.as_encoded_bytes().strip_prefix(beginning.as_encoded_bytes());
    let middle = rest.and_then(|rest| rest.strip_suffix(ENDING.as_bytes()));
    middle.is_some_and(|middle| match middle.iter().position(|&byte| byte == b'-') {
        Some(dash) => is_number(&middle[..dash]) && is_number(&middle[dash + 1..]),
        None => false,
    })
}

fn remove_if_stale(path: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(path)?;
    let old = about.modified()?.elapsed().is_ok_and(|age| age > YOUNG);
    if !old || about.is_symlink() {
        return Ok(());
    }
    let handle = File::open(path)?;
    match handle.try_lock() {
        Ok(()) => remove(path),
        Err(_) => Ok(()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|_| fs::remove_dir_all(path))
}
