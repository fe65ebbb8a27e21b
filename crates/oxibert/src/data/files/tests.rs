//! Whole or not at all: files, directories, and what killed writers left.

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

/// What a killed writer leaves has not been touched for a while.
fn age(path: &Path) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    File::open(path).unwrap().set_modified(long_ago).unwrap();
}

#[cfg(unix)]
#[test]
fn what_a_killed_writer_left_goes_with_the_next_save() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at(".model.123-0.tmp"), "half").unwrap();
    fs::create_dir(at(".model.124-7.tmp")).unwrap();
    fs::write(at(".model.124-7.tmp/half"), "half").unwrap();
    let not_ours = [".model.tmp", ".model.1-x.tmp", ".model.1-.tmp", ".other.1-1.tmp", "model.1-1.tmp"];
    not_ours.iter().for_each(|name| fs::write(at(name), "theirs").unwrap());
    fs::write(at(".model.125-0.tmp"), "just begun").unwrap();
    not_ours.iter().chain(&[".model.123-0.tmp", ".model.124-7.tmp"]).for_each(|name| age(&at(name)));
    save(&at("model"), |out| out.write_all(b"whole")).unwrap();
    let mut expected = [&not_ours[..], &[".model.125-0.tmp", "model"]].concat();
    expected.sort_unstable();
    assert_eq!(names(dir.path()), expected);
}

#[cfg(unix)]
#[test]
fn a_writer_that_lives_keeps_its_temporary() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model");
    let mut slow = NewFile::create(&path).unwrap();
    slow.write_all(b"slow").unwrap();
    age(&dir.path().join(&names(dir.path())[0]));
    save(&path, |out| out.write_all(b"fast")).unwrap();
    slow.finish().unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(dir.path())), (b"slow".to_vec(), vec!["model".to_owned()]));
    let directory = dir.path().join("directory");
    save_dir(&directory, false, |at| {
        age(at);
        save_dir(&directory, false, fill(&["fast"]))?;
        assert!(at.exists());
        Ok(())
    })
    .unwrap();
    assert_eq!(names(&directory), ["fast"]);
}

#[test]
fn a_linked_file_is_replaced_as_a_whole_however_often() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new, to) = (dir.path().join("old"), dir.path().join("new"), dir.path().join("there/file"));
    fs::write(&old, "old").unwrap();
    fs::write(&new, "new").unwrap();
    for (from, content) in [(&old, "old"), (&new, "new"), (&new, "new"), (&old, "old")] {
        link(from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), content);
        assert_eq!(names(to.parent().unwrap()), ["file"]);
    }
    assert!(link(&dir.path().join("missing"), &to).is_err());
    assert_eq!((fs::read_to_string(&to).unwrap().as_str(), names(to.parent().unwrap()).len()), ("old", 1));
}

#[test]
fn a_removed_directory_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model");
    save_dir(&path, false, fill(&["a", "sub/b"])).unwrap();
    remove_dir(&path).unwrap();
    assert!(names(dir.path()).is_empty());
    assert!(remove_dir(&path).is_err());
}

#[cfg(unix)]
#[test]
fn leftovers_of_any_name_go_and_those_of_the_living_stay() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at(".step-1.9-1.tmp")).unwrap();
    fs::write(at(".step-1.9-1.tmp/half"), "half").unwrap();
    fs::write(at(".a.b.9-2.tmp"), "half").unwrap();
    [".hidden", ".x.tmp", "step.9-1.tmp"].iter().for_each(|name| fs::write(at(name), "theirs").unwrap());
    let alive = NewFile::create(&at("alive")).unwrap();
    remove_leftovers(dir.path());
    assert_eq!(names(dir.path()).len(), 4);
    alive.finish().unwrap();
    assert_eq!(names(dir.path()), [".hidden", ".x.tmp", "alive", "step.9-1.tmp"]);
}
