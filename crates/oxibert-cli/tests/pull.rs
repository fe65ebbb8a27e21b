//! `pull` and `--model NAME` against a hub of a few lines, on this machine; nothing else is contacted.

mod common;

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{NOWHERE, command, config, error, make_checkpoint, oxibert, stdout};
use oxibert::model::Checkpoint;
use oxibert::model::names;
use serde_json::{Value, json};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const NAME: &str = "team/tiny";
/// More than any test asks for.
const MOST_REQUESTS: usize = 100;

/// A hub with one model, whose files lie in a directory; it remembers what it was asked for.
struct FakeHub {
    endpoint: String,
    files: tempfile::TempDir,
    home: tempfile::TempDir,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeHub {
    /// `change` may break the model before it is served.
    fn with(change: impl FnOnce(&Path)) -> Self {
        let files = tempfile::tempdir().unwrap();
        make_checkpoint(files.path());
        change(files.path());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (directory, log) = (files.path().to_owned(), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().take(MOST_REQUESTS) {
                // A client that goes away is no failure of the test.
                let _ = stream.and_then(|stream| serve(stream, &directory, &log));
            }
        });
        Self { endpoint, files, home: tempfile::tempdir().unwrap(), asked }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        oxibert(arguments, &self.endpoint, self.home.path())
    }

    /// The files asked for, in order; each is asked for twice, first for its size.
    fn fetched(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let file = |path: &String| Some(path.split_once(COMMIT)?.1.trim_start_matches('/').to_owned());
        let mut files: Vec<String> = asked.iter().filter_map(file).collect();
        files.dedup();
        files
    }
}

/// The paths of all files below a directory.
fn files_below(directory: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&entry.path())?.iter().map(|file| format!("{name}/{file}")));
        } else {
            files.push(name);
        }
    }
    Ok(files)
}

/// Answers one request: the list of files, or (a part of) a file.
fn serve(mut stream: TcpStream, directory: &Path, log: &Mutex<Vec<String>>) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut start, mut one_byte, mut trusted) = (0, false, false);
    for line in lines {
        let line = line?.to_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            start = range.split('-').next().and_then(|start| start.parse().ok()).unwrap_or(0);
            one_byte = range == "0-0";
        }
        trusted |= line == "authorization: bearer key";
        if line.is_empty() {
            break;
        }
    }
    log.lock().unwrap().push(path.clone());
    let refuse = |mut stream: TcpStream, status: &str| {
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    if let Some(revision) = path.strip_prefix(&format!("/api/models/{NAME}/revision/")) {
        if ![COMMIT, "main"].contains(&revision) {
            return refuse(stream, "404 Not Found");
        }
        let siblings: Vec<Value> =
            files_below(directory)?.into_iter().map(|file| json!({ "rfilename": file })).collect();
        let body = json!({ "sha": COMMIT, "siblings": siblings }).to_string();
        let length = body.len();
        return write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    }
    if path.contains("/team/secret/") && !trusted {
        return refuse(stream, "401 Unauthorized");
    }
    if path.contains("/team/silent/") {
        // Longer than the client's patience, shorter than ours.
        thread::sleep(Duration::from_secs(4));
        return Ok(());
    }
    let Some(file) = path.strip_prefix(&format!("/{NAME}/resolve/{COMMIT}/")) else {
        return refuse(stream, "404 Not Found");
    };
    let Ok(content) = fs::read(directory.join(file)) else { return refuse(stream, "404 Not Found") };
    let end = if one_byte { 1 } else { content.len() };
    let (total, part) = (content.len(), &content[start..end]);
    let etag: String = file.chars().filter(char::is_ascii_alphanumeric).collect();
    write!(
        stream,
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{total}\r\n\
         Accept-Ranges: bytes\r\nETag: \"{etag}\"\r\nX-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n",
        part.len(),
        end - 1
    )?;
    // A server that breaks off in the middle of this file.
    if directory.join("break-off").exists() && file == "model.safetensors" && !one_byte {
        return stream.write_all(&part[..part.len() / 2]);
    }
    stream.write_all(part)
}

fn directory(output: &Output) -> PathBuf {
    stdout(output).trim_end().into()
}

fn same_file(one: &Path, other: &Path) {
    assert_eq!(fs::read(one).unwrap(), fs::read(other).unwrap(), "{}", one.display());
}

#[test]
fn a_model_is_fetched_once_and_kept() {
    let hub = FakeHub::with(|files| fs::write(files.join("README.md"), "not needed").unwrap());
    let first = hub.run(&["pull", NAME]);
    let here = directory(&first);
    assert!(here.starts_with(hub.home.path()), "{}", here.display());
    assert!(String::from_utf8_lossy(&first.stderr).contains("team/tiny: 5 files"), "{first:?}");
    let files = ["config.json", "tokenizer_config.json", "vocab.txt", "tokenizer.json", "model.safetensors"];
    assert_eq!(hub.fetched(), files);
    files.iter().for_each(|file| same_file(&here.join(file), &hub.files.path().join(file)));
    assert_eq!(Checkpoint::open(&here).unwrap().config.hidden_size, 4);
    // Asked again, the hub only says that nothing is new; and without a hub the copy stands in.
    let asked = hub.asked.lock().unwrap().len();
    assert_eq!(directory(&hub.run(&["pull", NAME, "--quiet"])), here);
    assert_eq!(hub.asked.lock().unwrap().len(), asked + 1);
    let offline = oxibert(&["pull", NAME, "--json"], NOWHERE, hub.home.path());
    let json: Value = serde_json::from_str(&stdout(&offline)).unwrap();
    assert_eq!(json["directory"], here.to_str().unwrap());
    assert_eq!(json["files"].as_object().unwrap().len(), 5);
    assert!(String::from_utf8_lossy(&offline.stderr).contains("using the copy from before"), "{offline:?}");
    assert_eq!(directory(&oxibert(&["pull", NAME, "--revision", COMMIT], NOWHERE, hub.home.path())), here);
}

#[test]
fn a_copy_goes_where_it_is_wanted() {
    let hub = FakeHub::with(|_| {});
    let out = hub.home.path().join("mine");
    let place = out.to_str().unwrap();
    assert_eq!(directory(&hub.run(&["pull", NAME, "--out", place])), out);
    assert!(!fs::symlink_metadata(out.join("model.safetensors")).unwrap().is_symlink());
    let asked = hub.asked.lock().unwrap().len();
    assert!(error(&hub.run(&["pull", NAME, "--out", place])).contains("--force"));
    assert_eq!(hub.asked.lock().unwrap().len(), asked, "refused before anything is asked for");
}

#[test]
fn shards_come_with_their_index() {
    let hub = FakeHub::with(|files| {
        fs::rename(files.join("model.safetensors"), files.join("model-1-of-1.safetensors")).unwrap();
        let params = names::parameters(&config(), names::Parts::PRETRAINING);
        let map: serde_json::Map<String, Value> =
            params.iter().map(|param| (param.name.clone(), "model-1-of-1.safetensors".into())).collect();
        let index = json!({ "weight_map": map }).to_string();
        fs::write(files.join("model.safetensors.index.json"), index).unwrap();
        fs::write(files.join("pytorch_model.bin"), "the last resort, not needed").unwrap();
    });
    let here = directory(&hub.run(&["pull", NAME]));
    assert!(Checkpoint::open(&here).is_ok());
    assert!(
        hub.fetched().ends_with(&["model.safetensors.index.json".into(), "model-1-of-1.safetensors".into()])
    );
    assert_eq!(directory(&oxibert(&["pull", NAME], NOWHERE, hub.home.path())), here);
}

#[test]
fn pytorch_weights_are_the_last_resort() {
    let hub = FakeHub::with(|files| {
        fs::rename(files.join("model.safetensors"), files.join("pytorch_model.bin")).unwrap();
    });
    assert!(Checkpoint::open(&directory(&hub.run(&["pull", NAME]))).is_ok());
}

#[test]
fn tokens_need_no_weights() {
    let hub = FakeHub::with(|_| {});
    let text = hub.home.path().join("text");
    fs::write(&text, "unaff\n").unwrap();
    let arguments = ["tokenize", text.to_str().unwrap(), "--model", NAME, "--json"];
    let first = hub.run(&arguments);
    assert!(stdout(&first).starts_with("{\"ids\":[2,5,6,3]"));
    assert!(String::from_utf8_lossy(&first.stderr).contains("fetching it from"), "{first:?}");
    assert_eq!(hub.fetched(), ["tokenizer_config.json", "vocab.txt", "tokenizer.json"]);
    let again = oxibert(&arguments, NOWHERE, hub.home.path());
    assert_eq!((stdout(&again), again.stderr.len()), (stdout(&first), 0));
    // What is here is not fetched again, the rest is.
    directory(&hub.run(&["pull", NAME]));
    assert!(
        hub.fetched().ends_with(&["config.json".into(), "model.safetensors".into()]),
        "{:?}",
        hub.fetched()
    );
}

#[test]
fn converting_a_name_fetches_it() {
    let hub = FakeHub::with(|_| {});
    let out = hub.home.path().join("clean");
    stdout(&hub.run(&["convert", NAME, "--out", out.to_str().unwrap()]));
    same_file(&out.join("model.safetensors"), &hub.files.path().join("model.safetensors"));
}

#[test]
fn what_is_no_bert_is_refused_before_its_weights_are_fetched() {
    let hub = FakeHub::with(|files| {
        let text = fs::read_to_string(files.join("config.json")).unwrap();
        fs::write(files.join("config.json"), text.replace("\"bert\"", "\"roberta\"")).unwrap();
    });
    let refused = error(&hub.run(&["pull", NAME]));
    assert!(
        refused.contains("team/tiny/config.json: model_type is \"roberta\", expected \"bert\""),
        "{refused}"
    );
    assert_eq!(hub.fetched(), ["config.json"]);
}

#[test]
fn a_model_without_weights_or_configuration_is_refused() {
    let hub = FakeHub::with(|files| fs::remove_file(files.join("model.safetensors")).unwrap());
    let refused = error(&hub.run(&["pull", NAME]));
    assert!(
        refused.contains("no weights that oxibert reads") && refused.contains("pytorch_model.bin"),
        "{refused}"
    );
    fs::remove_file(hub.files.path().join("config.json")).unwrap();
    assert!(error(&hub.run(&["pull", NAME])).contains("no config.json"));
}

#[test]
fn names_that_the_hub_does_not_give_out() {
    let hub = FakeHub::with(|_| {});
    let refused = error(&hub.run(&["pull", "team/nobody"]));
    assert!(refused.contains("has no model team/nobody with a revision main; check both names"), "{refused}");
    assert!(error(&hub.run(&["pull", NAME, "--revision", "v9"])).contains("a revision v9"));
    assert!(error(&hub.run(&["pull", "team/secret"])).contains("set HF_TOKEN"));
    let asked = hub.asked.lock().unwrap().len();
    assert!(error(&hub.run(&["pull", "../x"])).contains("no model's name"));
    assert!(error(&hub.run(&["pull", NAME, "--revision", "../x"])).contains("is no revision"));
    assert!(error(&hub.run(&["tokenize", "--model", "./nobody"])).contains("there is no such directory"));
    assert_eq!(hub.asked.lock().unwrap().len(), asked, "no question for what cannot be a name");
}

#[test]
fn tokens_open_what_is_private() {
    let hub = FakeHub::with(|_| {});
    let pull = |token: &str| {
        let mut command = command(&["pull", "team/secret"], &hub.endpoint, hub.home.path());
        error(&command.env("HF_TOKEN", token).output().unwrap())
    };
    // Let in, one learns that it is not there.
    assert!(pull("key").contains("has no model team/secret"));
    assert!(pull("wrong").contains("wants a token"));
    assert!(pull("").contains("wants a token"));
    fs::write(hub.home.path().join("token"), "key\n").unwrap();
    assert!(pull("").contains("has no model team/secret"));
}

#[test]
fn a_hub_that_is_not_there_or_says_nothing() {
    let home = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for verb in [&["pull", NAME][..], &["tokenize", "--model", NAME]] {
        let refused = error(&oxibert(verb, &closed, home.path()));
        assert!(refused.contains(&format!("cannot reach {closed}: Connection refused")), "{refused}");
        assert!(refused.contains("check the network"), "{refused}");
    }
    let hub = FakeHub::with(|_| {});
    let refused = error(&hub.run(&["pull", "team/silent"]));
    assert!(refused.contains("said nothing for 2 s"), "{refused}");
}

#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    let hub = FakeHub::with(|files| fs::write(files.join("break-off"), "").unwrap());
    let refused = error(&hub.run(&["pull", NAME]));
    assert!(refused.contains("model.safetensors") && refused.contains("run again"), "{refused}");
    assert!(error(&oxibert(&["pull", NAME], NOWHERE, hub.home.path())).contains("cannot reach"));
    fs::remove_file(hub.files.path().join("break-off")).unwrap();
    let here = directory(&hub.run(&["pull", NAME]));
    same_file(&here.join("model.safetensors"), &hub.files.path().join("model.safetensors"));
}

/// Makes a sentence encoder of the model: the vector of `[CLS]`, of length 1.
fn make_sentence_encoder(files: &Path) {
    let module = |path: &str, kind: &str| json!({ "path": path, "type": format!("sentence_transformers.models.{kind}") });
    let modules = json!([module("", "Transformer"), module("first", "Pooling"), module("2", "Normalize")]);
    fs::write(files.join("modules.json"), modules.to_string()).unwrap();
    fs::create_dir(files.join("first")).unwrap();
    fs::write(files.join("first/config.json"), r#"{"pooling_mode": "cls"}"#).unwrap();
    fs::write(files.join("sentence_bert_config.json"), r#"{"max_seq_length": 3}"#).unwrap();
}

fn embed(hub: &FakeHub, model: &str, endpoint: &str) -> (String, String) {
    let text = hub.home.path().join("text");
    fs::write(&text, "un\n").unwrap();
    let output =
        oxibert(&["embed", text.to_str().unwrap(), "--model", model, "--json"], endpoint, hub.home.path());
    (stdout(&output), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_sentence_encoder_brings_the_word_on_its_use() {
    let hub = FakeHub::with(make_sentence_encoder);
    let (by_name, _) = embed(&hub, NAME, &hub.endpoint);
    assert_eq!(by_name, embed(&hub, hub.files.path().to_str().unwrap(), NOWHERE).0);
    let fetched = hub.fetched();
    for file in ["modules.json", "first/config.json", "sentence_bert_config.json"] {
        assert!(fetched.iter().any(|name| name == file), "{file} in {fetched:?}");
    }
    assert_eq!(embed(&hub, NAME, NOWHERE), (by_name, String::new()));
    let json = stdout(&oxibert(&["pull", NAME, "--json"], NOWHERE, hub.home.path()));
    assert!(json.contains("first/config.json"), "{json}");
    let copy = hub.home.path().join("copy");
    stdout(&hub.run(&["pull", NAME, "--out", copy.to_str().unwrap()]));
    assert!(copy.join("first/config.json").exists());
}

/// transformers fetches a model into the shared cache without the files of sentence-transformers.
#[test]
fn a_copy_of_others_is_completed_before_it_makes_vectors() {
    let hub = FakeHub::with(make_sentence_encoder);
    let here = directory(&hub.run(&["pull", NAME]));
    let (right, _) = embed(&hub, NAME, NOWHERE);
    fs::remove_file(here.join("modules.json")).unwrap();
    fs::remove_dir_all(here.join("first")).unwrap();
    let (mean, note) = embed(&hub, NAME, NOWHERE);
    assert!(mean != right && note.contains("using the copy from before"), "{note}");
    assert_eq!(embed(&hub, NAME, &hub.endpoint), (right.clone(), String::new()));
    assert_eq!(embed(&hub, NAME, NOWHERE), (right, String::new()));
    // A model that has no word on its use is asked for it once.
    let plain = FakeHub::with(|_| {});
    directory(&plain.run(&["pull", NAME]));
    assert_eq!(embed(&plain, NAME, NOWHERE).1, "");
}

#[test]
fn fill_takes_a_name_too() {
    let hub = FakeHub::with(|_| {});
    let filled = hub.run(&["fill", "[MASK]", "--model", NAME, "--json"]);
    assert!(stdout(&filled).contains("\"masks\""), "{filled:?}");
}

#[test]
fn offline_means_the_cache_alone() {
    let hub = FakeHub::with(|_| {});
    let offline = |arguments: &[&str], value: &str| {
        let mut command = command(arguments, &hub.endpoint, hub.home.path());
        command.env("HF_HUB_OFFLINE", value).output().unwrap()
    };
    for verb in [&["pull", NAME][..], &["tokenize", "--model", NAME], &["fill", "[MASK]", "--model", NAME]] {
        let refused = error(&offline(verb, "1"));
        assert!(refused.contains("team/tiny (main) is not whole in the cache"), "{refused}");
        assert!(refused.contains("unset HF_HUB_OFFLINE, or name a checkpoint directory"), "{refused}");
    }
    assert!(hub.asked.lock().unwrap().is_empty(), "nothing is asked for");
    let here = directory(&offline(&["pull", NAME], "0"));
    let asked = hub.asked.lock().unwrap().len();
    let again = offline(&["pull", NAME], "TRUE");
    assert_eq!(directory(&again), here);
    assert!(String::from_utf8_lossy(&again.stderr).contains("HF_HUB_OFFLINE is set"), "{again:?}");
    assert!(offline(&["pull", NAME, "--quiet"], "1").stderr.is_empty());
    stdout(&offline(&["fill", "[MASK]", "--model", NAME], "yes"));
    assert_eq!(hub.asked.lock().unwrap().len(), asked);
}

#[test]
fn the_cache_may_lie_elsewhere_and_the_token_stays_at_home() {
    let hub = FakeHub::with(|_| {});
    let elsewhere = tempfile::tempdir().unwrap();
    let pull = |name: &str| {
        let mut command = command(&["pull", name], &hub.endpoint, hub.home.path());
        command.env("HF_HUB_CACHE", elsewhere.path().join("models")).output().unwrap()
    };
    assert!(directory(&pull(NAME)).starts_with(elsewhere.path().join("models").join("models--team--tiny")));
    assert!(!hub.home.path().join("hub").exists());
    fs::write(hub.home.path().join("token"), "key\n").unwrap();
    assert!(error(&pull("team/secret")).contains("has no model team/secret"), "let in");
}

#[test]
fn old_weights_do_not_stand_before_new_ones() {
    let hub = FakeHub::with(|files| {
        fs::rename(files.join("model.safetensors"), files.join("pytorch_model.bin")).unwrap();
    });
    let out = hub.home.path().join("mine");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("model.safetensors"), "of another model").unwrap();
    let pulled = hub.run(&["pull", NAME, "--out", out.to_str().unwrap(), "--force"]);
    assert!(String::from_utf8_lossy(&pulled.stderr).contains("removed model.safetensors"), "{pulled:?}");
    assert!(Checkpoint::open(&directory(&pulled)).is_ok());
}
