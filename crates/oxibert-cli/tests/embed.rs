//! `oxibert embed` from outside, with a tiny model of random weights.

mod outside;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use outside::oxibert;
use oxibert::model::names::{self, Parts};
use oxibert::model::{Config, checkpoint};
use oxibert::nn::{Layout, Params};
use oxibert::text::{SPECIAL_TOKENS, Tokenizer, Vocab};

const WIDTH: usize = 32;

fn write_model(directory: &Path, spoil: impl FnOnce(&mut Params)) {
    let vocab = Vocab::from_tokens(SPECIAL_TOKENS.iter().chain(&["a", "b", "c", "好"])).unwrap();
    let config = Config {
        hidden_size: WIDTH,
        num_attention_heads: 2,
        intermediate_size: 64,
        max_position_embeddings: 8,
        ..Config::preset("tiny", vocab.len()).unwrap()
    };
    let mut params = Params::new(Layout::new(names::parameters(&config, Parts::default())), &config, 1);
    spoil(&mut params);
    checkpoint::save(directory, &config, &params.tensors()).unwrap();
    Tokenizer::uncased(vocab).unwrap().save(directory).unwrap();
}

/// Exit code, standard output and standard error.
fn run(directory: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    oxibert(directory, &[&["embed", "--model", "."], arguments].concat(), input.as_bytes())
}

fn rows(json_lines: &str) -> Vec<Vec<f32>> {
    let row = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        serde_json::from_value(object["embedding"].clone()).unwrap()
    };
    json_lines.lines().map(row).collect()
}

#[test]
fn json_and_npy_hold_the_same_bits_whatever_the_company() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write_model(at, |_| ());
    let lines: Vec<String> = (0..9000).map(|i| ["a", "b", "好", ""][i % 4].repeat(1 + i % 3)).collect();
    let (code, json, error) = run(at, &["--json", "-"], &(lines.join("\n") + "\n"));
    assert_eq!((code, &*error), (0, ""));
    let all = rows(&json);
    assert_eq!(all.len(), lines.len());
    let (_, alone, _) = run(at, &["--json", "--threads", "1"], &format!("{}\n", lines[2]));
    assert!(rows(&alone)[0] == all[2] && rows(&alone)[0] == all[2 + 12 * 700]);

    fs::write(at.join("lines.txt"), lines.join("\n") + "\n").unwrap();
    let (code, summary, _) = run(at, &["lines.txt", "--out", "deep/vectors.npy"], "");
    assert!(code == 0 && summary.starts_with("9000 vectors of 32 numbers in "), "{summary}");
    let bytes = fs::read(at.join("deep/vectors.npy")).unwrap();
    assert!(String::from_utf8_lossy(&bytes[..128]).contains("'shape': (9000, 32), }"));
    let numbers = bytes[128..].chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
    assert!(numbers.eq(all.into_iter().flatten()));
}

#[test]
fn an_empty_input_is_an_empty_array() {
    let directory = tempfile::tempdir().unwrap();
    write_model(directory.path(), |_| ());
    assert_eq!(run(directory.path(), &["--json"], ""), (0, String::new(), String::new()));
    let (code, summary, _) = run(directory.path(), &["--out", "v.npy", "--json"], "");
    assert!(code == 0 && summary.starts_with(r#"{"texts":0,"size":32,"long_texts":0,"#), "{summary}");
    assert_eq!(fs::read(directory.path().join("v.npy")).unwrap().len(), 128);
}

#[test]
fn long_texts_are_told() {
    let directory = tempfile::tempdir().unwrap();
    write_model(directory.path(), |_| ());
    let input = "a\na b c a b c a\na a a a a a a a a\n";
    let note = |arguments: &[&str]| run(directory.path(), arguments, input).2;
    assert_eq!(note(&[]), "note: 2 texts were longer than 8 tokens and were cut (--long head)\n");
    assert_eq!(
        note(&["--max-length", "10"]),
        "error: max-length: 10 is too long: the model has 8 positions; `oxibert convert --positions` widens it\n"
    );
    let sliding = note(&["--long", "sliding", "--stride", "1"]);
    assert_eq!(
        sliding,
        "note: 2 texts were longer than 8 tokens and were read in several windows (--long sliding)\n"
    );
    assert_eq!(note(&["--quiet"]), "");
    let (code, shown, _) = run(directory.path(), &["--normalize"], "a 好\n");
    assert!(code == 0 && shown.trim_end().ends_with("… [32]  length 1.0000  a 好"), "{shown}");
}

#[test]
fn what_cannot_work_is_refused_with_code_2() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write_model(at, |params| params.values[0] = f32::NAN);
    fs::create_dir(at.join("empty")).unwrap();
    let refusal = |arguments: &[&str]| {
        let (code, out, error) = run(at, arguments, "a\n[PAD]\n");
        assert_eq!((code, &*out), (2, ""), "{error}");
        error
    };
    assert!(refusal(&["--json"]).contains("bert.embeddings.word_embeddings.weight"));
    refusal(&["--out", "sick.npy"]);
    assert!(
        !at.join("sick.npy").exists() && fs::read_dir(at).unwrap().count() == 6,
        "nothing half-written stays"
    );
    assert!(refusal(&["--out", "vectors.txt"]).contains(".npy or .parquet"));
    #[cfg(not(feature = "parquet"))]
    assert!(refusal(&["--out", "vectors.parquet"]).contains("--features parquet"));
    assert!(refusal(&["--stride", "3"]).contains("--long sliding"));
    assert!(refusal(&["--pooling", "pooler"]).contains("no pooler"));
    assert!(refusal(&["--pooling", "first"]).contains("mean, cls, pooler, max"));
    assert!(refusal(&["--layer", "9"]).contains("layer: 9"));
    assert!(refusal(&["no-such-file.txt"]).contains("no-such-file.txt"));
}

/// The files of a directory whose names end so.
fn files_like(directory: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().unwrap().ends_with(ending)).collect()
}

#[cfg(unix)]
#[test]
fn a_run_that_is_ended_leaves_no_half_file_and_the_next_run_no_rest() {
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, SystemTime};
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write_model(at, |_| {});
    let mut child = Command::new(env!("CARGO_BIN_EXE_oxibert"))
        .args(["embed", "--model", ".", "--out", "v.npy"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    while files_like(at, ".tmp").is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it waits for its input");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Not SIGINT, which shells let programs in the background ignore.
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(!at.join("v.npy").exists());
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(&files_like(at, ".tmp")[0]).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(run(at, &["--out", "v.npy", "--quiet"], "a\n").0, 0);
    assert!(at.join("v.npy").exists() && files_like(at, ".tmp").is_empty());
}
