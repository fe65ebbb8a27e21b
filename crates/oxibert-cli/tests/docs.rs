//! Runs every console block of the README and the guide, and compares what it prints.
//!
//! A line that begins with `$ ` is given to bash; the lines behind it are what must come out (standard output and
//! error together). `[..]` stands for anything within a line, a line `...` for any lines, and a last line `? 2` for that
//! exit code. The blocks of a page share one fresh directory; a page that speaks of `toy-bert` finds that model in it. With `OXIBERT_UPDATE=1` the pages are rewritten instead.

mod toy;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_console_block_prints_what_it_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("README.zh-CN.md")];
    pages.extend(markdown_below(&root.join("docs")));
    let mut commands = 0;
    let failures: Vec<String> = pages.iter().filter_map(|page| run_page(page, &mut commands)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(commands > 10, "only {commands} commands found: are the pages there?");
}

fn markdown_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs the blocks of a page; what differs, if anything.
fn run_page(page: &Path, commands: &mut usize) -> Option<String> {
    let text = fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let directory = tempfile::tempdir().unwrap();
    if text.contains("toy-bert") {
        toy::save(&directory.path().join("toy-bert"));
    }
    let (mut rewritten, mut failures) = (String::new(), String::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        rewritten += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        while let Some(line) = lines.next_if(|line| *line != "```") {
            let command =
                line.strip_prefix("$ ").unwrap_or_else(|| panic!("{}: {line:?} has no $", page.display()));
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| *line != "```" && !line.starts_with("$ ")) {
                expected.push(line);
            }
            let found = run(command, directory.path());
            *commands += 1;
            if !matches(&expected, &found) {
                failures += &format!(
                    "{}: $ {command}\n--- expected\n{}\n--- found\n{}\n",
                    page.display(),
                    expected.join("\n"),
                    found.join("\n")
                );
            }
            let kept = if matches(&expected, &found) { expected.join("\n") } else { found.join("\n") };
            rewritten += &format!("$ {command}\n{kept}{}", if kept.is_empty() { "" } else { "\n" });
        }
    }
    if std::env::var_os("OXIBERT_UPDATE").is_some() {
        fs::write(page, rewritten).unwrap();
        return None;
    }
    (!failures.is_empty()).then_some(failures)
}

fn run(command: &str, directory: &Path) -> Vec<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_oxibert")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; set -o pipefail; {command}")])
        .current_dir(directory)
        .env("PATH", path)
        .env("COLUMNS", "100")
        // No page may depend on the network or on what the reader has fetched before.
        .env("HF_ENDPOINT", "http://127.0.0.1:9")
        .env("HF_HOME", directory.join("hub"))
        .env_remove("HF_HUB_CACHE")
        .env_remove("HF_HUB_OFFLINE")
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    let mut lines: Vec<String> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_owned()).collect();
    if let Some(code) = output.status.code().filter(|code| *code != 0) {
        lines.push(format!("? {code}"));
    }
    lines
}

fn matches(expected: &[&str], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((&"...", rest)) => (0..=found.len()).any(|skipped| matches(rest, &found[skipped..])),
        Some((line, rest)) => {
            found.first().is_some_and(|first| line_matches(line.trim_end(), first))
                && matches(rest, &found[1..])
        }
    }
}

fn line_matches(expected: &str, found: &str) -> bool {
    match expected.split_once("[..]") {
        None => expected == found,
        Some((before, after)) => found.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| line_matches(after, &rest[at..]))
        }),
    }
}

#[test]
fn the_comparison_can_fail() {
    let found = ["a 1 b".to_owned(), "c".to_owned()];
    assert!(
        matches(&["a [..] b", "c"], &found) && matches(&["...", "c"], &found) && matches(&["..."], &found)
    );
    assert!(!matches(&["a [..] x", "c"], &found) && !matches(&["a 1 b"], &found) && !matches(&["c"], &found));
}
