//! Finished files out: a reader never sees a half-written file or directory.
//!
//! Everything is written under a temporary name in the same place, flushed to the disk, and then renamed.
//! A kill at any moment leaves the old state or the new one (and perhaps a hidden `.name.….tmp` beside it, which the
//! next writer of that name removes).

mod temporary;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use self::temporary::Temporary;
pub(crate) use self::temporary::{is_temporary, remove_leftovers};
use crate::{Error, Result};

/// Writes a file atomically: whoever opens `path` sees the old content or all of the new.
///
/// Missing parent directories are created. What is not a regular file (a pipe, `/dev/null`) is written
/// directly, because renaming over it would replace the device itself.
///
/// ```
/// use std::io::Write;
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("vocab.txt");
/// oxibert::data::files::save(&path, |out| out.write_all(b"[PAD]\n"))?;
/// assert_eq!(std::fs::read(&path)?, b"[PAD]\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    replace(path, write).map_err(|source| Error::write(path, source))
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut new = NewFile::begin(path)?;
    write(&mut new.out)?;
    new.install()
}

/// A file that is being written, for writers that go on for long: it takes its place with [`NewFile::finish`], and
/// without it vanishes.
///
/// ```
/// use std::io::{Seek, SeekFrom, Write};
/// use oxibert::data::files::NewFile;
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("numbers");
/// let mut file = NewFile::create(&path)?;
/// file.write_all(b"? numbers")?;
/// file.seek(SeekFrom::Start(0))?;
/// file.write_all(b"7")?;
/// assert!(!path.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"7 numbers");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    out: BufWriter<File>,
    /// Absent where the file is written directly.
    temporary: Option<Temporary>,
    permissions: Option<fs::Permissions>,
}

impl NewFile {
    /// Begins a file that will stand at `path`, under the rules of [`save`].
    pub fn create(path: &Path) -> Result<Self> {
        Self::begin(path).map_err(|source| Error::write(path, source))
    }

    fn begin(path: &Path) -> io::Result<Self> {
        let old = fs::metadata(path).ok();
        if let Some(old) = &old {
            if old.is_dir() {
                return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory; name a file in it"));
            }
            if !old.is_file() {
                let out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
                return Ok(Self { path: path.to_owned(), out, temporary: None, permissions: None });
            }
        }
        // A link keeps pointing where it did; the file behind it is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        fs::create_dir_all(parent_of(&path))?;
        let (temporary, file) = Temporary::file(&path)?;
        let out = BufWriter::with_capacity(1 << 16, file);
        let permissions = old.map(|old| old.permissions());
        Ok(Self { path, out, temporary: Some(temporary), permissions })
    }

    /// The file is complete: it is flushed to the disk and takes its place.
    pub fn finish(self) -> Result<()> {
        let path = self.path.clone();
        self.install().map_err(|source| Error::write(path, source))
    }

    fn install(mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(temporary) = self.temporary else { return Ok(()) };
        let file = self.out.into_inner().map_err(|e| e.into_error())?;
        if let Some(permissions) = self.permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        if cfg!(windows) {
            drop(file); // Windows renames only closed files.
            fs::rename(&temporary.path, &self.path)?;
        } else {
            fs::rename(&temporary.path, &self.path)?; // Under the file's lock, which ends with it.
        }
        temporary.keep();
        sync_directory(parent_of(&self.path))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// Refuses a directory that [`save_dir`] would refuse, so that long work can fail before it starts.
pub fn check_dir(path: &Path, force: bool) -> Result<()> {
    let refuse = |problem: &str| Err(Error::content(path, None, problem));
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(empty) if empty || force => Ok(()),
        Ok(_) => refuse("it already exists and is not empty; choose another place or overwrite with --force"),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            refuse("a file stands where a directory must go; choose another place")
        }
        Err(e) => Err(Error::write(path, e)),
    }
}

/// Writes a directory as a whole: `fill` gets an empty temporary directory, which then takes the place of `path`.
///
/// `path` must not exist or be empty, unless `force`: then each new file replaces its namesake atomically and files
/// of other names stay. On error (or a kill) `path` is as it was. Missing parent directories are created.
///
/// ```
/// use oxibert::data::files::save_dir;
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("model");
/// let write = |at: &std::path::Path| Ok(std::fs::write(at.join("config.json"), "{}").unwrap());
/// save_dir(&path, false, write)?;
/// assert!(path.join("config.json").exists());
/// assert!(save_dir(&path, false, write).unwrap_err().to_string().contains("--force"));
/// save_dir(&path, true, write)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_dir<T>(path: &Path, force: bool, fill: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    check_dir(path, force)?;
    let refused = |source| Error::write(path, source);
    // `.` and links name an existing directory that has a parent and a name of its own.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let staged = stage(&path).map_err(refused)?;
    let filled = fill(&staged.path)?;
    sync_tree(&staged.path).and_then(|()| install(staged, &path)).map_err(refused)?;
    Ok(filled)
}

/// Fills a temporary directory beside `path`, flushes it to the disk and shows it to `take`; then it vanishes.
pub(crate) fn with_temporary_dir(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<()>,
    take: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let refused = |source| Error::write(path, source);
    let staged = stage(path).map_err(refused)?;
    fill(&staged.path)?;
    sync_tree(&staged.path).map_err(refused)?;
    take(&staged.path)
}

/// Removes a directory with all that is in it; readers see all of it or nothing.
pub(crate) fn remove_dir(path: &Path) -> Result<()> {
    let moved = Temporary::moved(path).map_err(|source| Error::write(path, source))?;
    // Before anything in it goes: a power cut must not bring half of it back.
    sync_directory(parent_of(path)).map_err(|source| Error::write(path, source))?;
    drop(moved);
    Ok(())
}

/// Gives a directory another name in the same place, where nothing stands.
pub(crate) fn rename_dir(from: &Path, to: &Path) -> Result<()> {
    let renamed = fs::rename(from, to).and_then(|()| sync_directory(parent_of(to)));
    renamed.map_err(|source| Error::write(to, source))
}

/// Puts the finished file `from` at `to` as well, atomically: as a second name of it, or as a copy where that cannot be.
pub(crate) fn link(from: &Path, to: &Path) -> Result<()> {
    let linked = || {
        fs::create_dir_all(parent_of(to))?;
        // Where both names are of one file already, renaming does nothing; what it leaves goes with `second`.
        let second = Temporary::link(from, to)?;
        fs::rename(&second.path, to)?;
        sync_directory(parent_of(to))
    };
    let copied = || replace(to, |out| io::copy(&mut File::open(from)?, out).map(|_| ()));
    linked().or_else(|_: io::Error| copied()).map_err(|source| Error::write(to, source))
}

/// The temporary directory: beside `path`, or inside it where only `path` itself is writable (a mounted volume).
fn stage(path: &Path) -> io::Result<Temporary> {
    fs::create_dir_all(parent_of(path))?;
    match Temporary::directory(path) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied && path.is_dir() => {
            Temporary::directory(&path.join("new"))
        }
        other => other,
    }
}

fn install(staged: Temporary, path: &Path) -> io::Result<()> {
    let vacant = fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
    if vacant {
        #[cfg(windows)]
        let _ = fs::remove_dir(path); // Windows does not rename over an empty directory.
        match fs::rename(&staged.path, path) {
            // A mount point cannot be replaced; its content can.
            Err(e) if matches!(e.kind(), ErrorKind::ResourceBusy | ErrorKind::CrossesDevices) => {}
            Err(e) => return Err(e),
            Ok(()) => {
                staged.keep();
                return sync_directory(parent_of(path));
            }
        }
    }
    move_files(&staged.path, path)
}

fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut entries = fs::read_dir(from)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            move_files(&old, &new)?;
        } else {
            match fs::rename(&old, &new) {
                Err(e) if e.kind() == ErrorKind::CrossesDevices => {
                    replace(&new, |out| io::copy(&mut File::open(&old)?, out).map(|_| ()))?;
                }
                other => other?,
            }
        }
    }
    sync_directory(to)
}

fn sync_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            // Opened for writing because Windows flushes only writable handles.
            OpenOptions::new().append(true).open(entry.path())?.sync_all()?;
        }
    }
    sync_directory(directory)
}

/// Makes a rename survive a power cut. Some network file systems cannot, and say so: then there is no more to do.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(directory)?.sync_all() {
        Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(e),
        _ => Ok(()),
    }
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
