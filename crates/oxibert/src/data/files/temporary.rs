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

    /// What stands at `target`, moved to a hidden name: gone for readers at once, and from the disk with this value.
    pub(super) fn moved(target: &Path) -> io::Result<Self> {
        let (path, ()) = create(target, |at| match at.symlink_metadata() {
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(target, at),
        })?;
        Ok(Self { path, kept: false, _lock: None })
    }

    /// A second name of the file `from`, beside `target`. Some file systems have no second names.
    pub(super) fn link(from: &Path, target: &Path) -> io::Result<Self> {
        let (path, ()) = create(target, |at| fs::hard_link(from, at))?;
        Ok(Self { path, kept: false, _lock: None })
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
        let mut hidden = OsString::from(".");
        hidden.push(name);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        hidden.push(format!(".{}-{number}{ENDING}", std::process::id()));
        let path = parent_of(target).join(hidden);
        match make(&path) {
            // Of a process that had our number, or another host's on a shared disk.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
            made => return made.map(|made| (path, made)),
        }
    }
}

/// Some network file systems have no locks; then nobody gets one, and nothing is removed.
fn lock(handle: &File) {
    let _ = handle.try_lock();
}

/// Removes what killed writers of this name left. Whatever is in the way of that is in nobody else's.
fn remove_stale(directory: &Path, name: &OsStr) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if stands_for(&entry.file_name()) == Some(name.as_encoded_bytes()) {
            let _ = remove_if_stale(&entry.path(), YOUNG);
        }
    }
}

/// Removes what killed writers of any name left in a directory where nobody else begins to write meanwhile.
pub(crate) fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if stands_for(&entry.file_name()).is_some() {
            let _ = remove_if_stale(&entry.path(), Duration::ZERO);
        }
    }
}

/// Whether this is the hidden name of something unfinished.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    stands_for(name).is_some()
}

/// The `name` of `.name.PROCESS-NUMBER.tmp`.
fn stands_for(hidden: &OsStr) -> Option<&[u8]> {
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let middle = hidden.as_encoded_bytes().strip_prefix(b".")?.strip_suffix(ENDING.as_bytes())?;
    let dot = middle.iter().rposition(|&byte| byte == b'.')?;
    let (name, numbers) = (&middle[..dot], &middle[dot + 1..]);
    let dash = numbers.iter().position(|&byte| byte == b'-')?;
    (is_number(&numbers[..dash]) && is_number(&numbers[dash + 1..])).then_some(name)
}

fn remove_if_stale(path: &Path, age: Duration) -> io::Result<()> {
    let about = fs::symlink_metadata(path)?;
    let old = age.is_zero() || about.modified()?.elapsed().is_ok_and(|found| found > age);
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
