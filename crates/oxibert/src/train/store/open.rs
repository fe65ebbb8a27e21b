//! The doors of a run's directory: a new run, a run that goes on, and the lock that keeps others out.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use super::{Store, checkpoints, entries};
use crate::data::files;
use crate::{Error, Result};

const LOCK_FILE: &str = ".lock";

impl Store {
    /// A directory for a new run. It must not exist or hold nothing, unless `force`: then the checkpoints and the best
    /// model of the run that was there go, and files that are no run's stay.
    pub fn create(directory: &Path, force: bool) -> Result<Self> {
        check(directory, force)?;
        let refused = |source| Error::write(directory, source);
        fs::create_dir_all(checkpoints(directory)).map_err(refused)?;
        let store = Self::lock(directory)?;
        // Behind the lock: a run that is still going on keeps what it has.
        let old = store.entries()?;
        if !old.is_empty() && store.best().is_dir() {
            files::remove_dir(&store.best())?;
        }
        old.iter().rev().try_for_each(|entry| files::remove_dir(&entry.path))?;
        Ok(store)
    }

    /// The directory of a run that shall go on.
    pub fn open(directory: &Path) -> Result<Self> {
        if !checkpoints(directory).is_dir() {
            let problem =
                "no training run is in it; name the directory of one, or start one without --resume";
            return Err(Error::content(directory, None, problem));
        }
        Self::lock(directory)
    }

    /// The lock ends with the process, whatever ends that; the file stays, because removing it would let two runs hold
    /// the lock of two files of one name.
    fn lock(directory: &Path) -> Result<Self> {
        let path = directory.join(LOCK_FILE);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|source| Error::write(path, source))?;
        let lock = match file.try_lock() {
            Ok(()) => Some(file),
            Err(TryLockError::WouldBlock) => {
                let problem = "another run is training into it; wait for its end or choose another place";
                return Err(Error::content(directory, None, problem));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(_)) => None,
        };
        Ok(Self { directory: directory.to_owned(), good: BTreeSet::new(), _lock: lock })
    }
}

/// Refuses a place that is not free.
fn check(directory: &Path, force: bool) -> Result<()> {
    let refuse = |problem: String| Err(Error::content(directory, None, problem));
    let listed = match fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return refuse("a file stands where a directory must go; choose another place".to_owned());
        }
        Err(error) => return Err(Error::read(directory, error)),
    };
    if force {
        return Ok(());
    }
    if let Some(last) = entries(&checkpoints(directory))?.first() {
        return refuse(format!(
            "a training run is in it, up to step {}; go on with --resume, choose another place, or begin anew with \
             --force, which removes its checkpoints",
            last.step
        ));
    }
    let is_foreign = |entry: &fs::DirEntry| !is_ours(entry);
    match listed.flatten().find(is_foreign) {
        None => Ok(()),
        Some(foreign) => refuse(format!(
            "it already exists and holds {:?}; choose another place, or use it all the same with --force",
            foreign.file_name()
        )),
    }
}

/// What a run leaves that was killed before its first checkpoint.
fn is_ours(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let is_empty = |mut listed: fs::ReadDir| {
        listed.all(|entry| entry.is_ok_and(|e| files::is_temporary(&e.file_name())))
    };
    name == LOCK_FILE
        || files::is_temporary(&name)
        || (name == "checkpoints" && fs::read_dir(entry.path()).is_ok_and(is_empty))
}
