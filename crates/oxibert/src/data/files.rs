//! Finished files out: a reader never sees a half-written file or directory.
//!
//! Everything is written under a temporary name in the same place, flushed to the disk, and then renamed.
//! A kill at any moment leaves the old state or the new one (and perhaps a hidden `.name.….tmp` beside it).

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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
        let (temporary, file) = Temporary::create(&path, |at| File::create_new(at))?;
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
        drop(file); // Windows renames only closed files.
        fs::rename(&temporary.path, &self.path)?;
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

/// The temporary directory: beside `path`, or inside it where only `path` itself is writable (a mounted volume).
fn stage(path: &Path) -> io::Result<Temporary> {
    fs::create_dir_all(parent_of(path))?;
    let beside = Temporary::create(path, |at| fs::create_dir(at));
    match beside {
        Err(e) if e.kind() == ErrorKind::PermissionDenied && path.is_dir() => {
            Temporary::create(&path.join("new"), |at| fs::create_dir(at))
        }
        other => other,
    }
    .map(|(temporary, ())| temporary)
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

/// A file or directory that vanishes again unless it is kept.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    /// Makes something new, with `make`, under a hidden name beside `target`.
    fn create<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Self, T)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "the path has no file name"))?;
        loop {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            let path = parent_of(target).join(hidden);
            match make(&path) {
                // Left behind by a killed process that had our number, or another host's on a shared disk.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                made => return made.map(|made| (Self { path, kept: false }, made)),
            }
        }
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing can be done about a failure here, and the error that led here matters more.
            let _ = fs::remove_file(&self.path).or_else(|_| fs::remove_dir_all(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The error and what the system said, as the command line shows them.
    fn whole_message(result: Result<()>) -> String {
        let error = result.unwrap_err();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    }

    fn fill(names: &[&str]) -> impl Fn(&Path) -> Result<()> {
        move |at| {
            for name in names {
                save(&at.join(name), |out| out.write_all(b"new"))?;
            }
            Ok(())
        }
    }

    #[test]
    fn a_saved_file_is_whole_and_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/vocab.txt");
        save(&path, |out| out.write_all(b"one")).unwrap();
        save(&path, |out| out.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(path.parent().unwrap()), ["vocab.txt"]);
    }

    #[test]
    fn a_failed_save_leaves_the_old_file_and_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vocab.txt");
        save(&path, |out| out.write_all(b"old")).unwrap();
        let failed = save(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(whole_message(failed).ends_with("vocab.txt: the disk is full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["vocab.txt"]);
    }

    #[test]
    fn a_panic_leaves_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vocab.txt");
        std::panic::catch_unwind(|| save(&path, |_| panic!("bug"))).unwrap_err();
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_directory_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(whole_message(save(dir.path(), |_| Ok(()))).contains("it is a directory"));
    }

    #[cfg(unix)]
    #[test]
    fn links_modes_and_devices_survive() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        save(&file, |out| out.write_all(b"old")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        save(&link, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        save(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_directory_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/model");
        let failed = save_dir(&path, false, |at| {
            fill(&["half"])(at)?;
            assert!(!path.exists());
            Err::<(), _>(Error::setting("seed", "bad"))
        });
        assert!(failed.is_err());
        assert!(names(path.parent().unwrap()).is_empty());
        save_dir(&path, false, fill(&["a", "sub/b"])).unwrap();
        assert_eq!(names(&path), ["a", "sub"]);
        assert_eq!(names(path.parent().unwrap()), ["model"]);
    }

    #[test]
    fn an_empty_directory_is_free_and_a_full_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model");
        fs::create_dir(&path).unwrap();
        save_dir(&path, false, fill(&["a"])).unwrap();
        let refused = save_dir(&path, false, |_| -> Result<()> { panic!("must not start") }).unwrap_err();
        assert!(refused.to_string().contains("--force"), "{refused}");
        let on_a_file = save_dir(&path.join("a"), true, fill(&["x"])).unwrap_err();
        assert!(on_a_file.to_string().contains("a file stands"), "{on_a_file}");
    }

    #[test]
    fn force_replaces_namesakes_and_leaves_foreign_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), "old").unwrap();
        fs::write(path.join("mine"), "mine").unwrap();
        save_dir(&path, true, fill(&["a", "sub/b"])).unwrap();
        assert_eq!(names(&path), ["a", "mine", "sub"]);
        assert_eq!(fs::read(path.join("a")).unwrap(), b"new");
        assert_eq!(fs::read(path.join("mine")).unwrap(), b"mine");
        assert_eq!(names(dir.path()), ["model"]);
    }
}
