//! Models of the Hugging Face hub: fetched once, kept in the cache that Hugging Face's libraries share.
//!
//! The `hf-hub` crate asks, fetches and keeps; here stands what to fetch, in which order, and what to say when it
//! fails. `HF_ENDPOINT` names another hub, `HF_HOME` another cache, `HF_TOKEN` (or the token file of
//! `huggingface-cli login`) opens private models, `HF_HUB_DOWNLOAD_TIMEOUT` is how long a silent server is waited for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hf_hub::api::RepoInfo;
use hf_hub::api::sync::{Api, ApiBuilder, ApiError};
use hf_hub::{Cache, Repo, RepoType};
use oxibert::model::Config;
use oxibert::model::checkpoint::{CONFIG_FILE, WEIGHT_FILES, shards};
use oxibert::progress::{Progress, Unit};

use crate::output::remark;
use crate::progress::Bars;

/// The branch that is meant where nobody says another.
pub(crate) const MAIN: &str = "main";
const HUB: &str = "https://huggingface.co";
/// Seconds without a byte until we give up.
const PATIENCE: u64 = 30;
/// The switches first and the tokens last: a vocabulary without its switches would be read wrongly.
const TOKENIZER: [&str; 3] = ["tokenizer_config.json", "vocab.txt", "tokenizer.json"];

/// What is needed of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// To make tokens: no configuration and no weights.
    Tokenizer,
    /// All of it.
    Model,
}

/// The directory of a model: one that is there, or that of a hub's model, which is fetched on demand.
pub(crate) fn resolve(name_or_dir: &str) -> Result<PathBuf> {
    find(name_or_dir, Want::Model)
}

/// The same for those who make tokens and need no weights.
pub(crate) fn resolve_tokenizer(name_or_dir: &str) -> Result<PathBuf> {
    find(name_or_dir, Want::Tokenizer)
}

fn find(place: &str, want: Want) -> Result<PathBuf> {
    let path = Path::new(place);
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    ensure!(!path.exists(), "{place}: it is a file; expected a checkpoint directory or a model's name");
    ensure!(
        is_name(place),
        "{place}: there is no such directory, and a model's name on the hub looks like google-bert/bert-base-uncased"
    );
    let hub = Hub::new(place, MAIN, false)?;
    if let Some(directory) = hub.cached(want) {
        return Ok(directory);
    }
    remark(format_args!("{place}: no such directory here, fetching it from {}", hub.endpoint));
    let info = hub.info().map_err(|failure| failure.error)?;
    Ok(hub.fetch(&info, want)?.directory)
}

/// Whether it may be a hub's name, `org/name` or a bare name, and nothing that only a path can be.
fn is_name(name: &str) -> bool {
    let fine = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
            && !part.contains("..")
    };
    let file = [".txt", ".json", ".safetensors", ".bin"].iter().any(|ending| name.ends_with(ending));
    name.split('/').count() <= 2 && name.split('/').all(fine) && !file
}

/// A branch, a tag or a commit; no way out of the cache.
fn is_revision(revision: &str) -> bool {
    let fine = |part: &str| !part.is_empty() && !part.starts_with('.');
    revision.split('/').all(fine) && revision.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
}

/// One model of a hub.
pub(crate) struct Hub {
    api: Api,
    cache: Cache,
    endpoint: String,
    name: String,
    revision: String,
    bars: Arc<Bars>,
    patience: Duration,
}

/// A model that is here now.
pub(crate) struct Fetched {
    pub(crate) directory: PathBuf,
    pub(crate) files: Vec<String>,
}

/// Why the hub did not answer, and whether a copy from before may stand in.
struct Failure {
    error: anyhow::Error,
    unreachable: bool,
}

impl Hub {
    pub(crate) fn new(name: &str, revision: &str, quiet: bool) -> Result<Self> {
        ensure!(
            is_name(name),
            "{name:?} is no model's name; expected one such as google-bert/bert-base-uncased"
        );
        ensure!(is_revision(revision), "{revision:?} is no revision; expected a branch, a tag or a commit");
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| HUB.to_owned());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        let cache = cache()?;
        // No retries: hf-hub's would append to a half-fetched file from its start. A second run goes on where
        // the first one stopped.
        let builder = ApiBuilder::from_cache(cache.clone()).with_endpoint(endpoint.clone());
        let builder = match variable("HF_TOKEN") {
            Some(token) => builder.with_token(Some(token)),
            None => builder,
        };
        let api = builder.with_user_agent("oxibert", env!("CARGO_PKG_VERSION")).build()?;
        let patience = variable("HF_HUB_DOWNLOAD_TIMEOUT").and_then(|seconds| seconds.parse().ok());
        Ok(Self {
            api,
            cache,
            endpoint,
            name: name.to_owned(),
            revision: revision.to_owned(),
            bars: Arc::new(Bars::new(quiet)),
            patience: Duration::from_secs(patience.unwrap_or(PATIENCE).max(1)),
        })
    }

    /// Brings the model here as the hub has it now; without a hub, the copy from before stands in.
    pub(crate) fn pull(&self) -> Result<Fetched> {
        let failure = match self.info() {
            Ok(info) => return self.fetch(&info, Want::Model),
            Err(failure) => failure,
        };
        match self.cached(Want::Model).filter(|_| failure.unreachable) {
            Some(directory) => {
                remark(format_args!("note: {:#}; using the copy from before", failure.error));
                Ok(Fetched { files: known_files(&directory)?, directory })
            }
            None => Err(failure.error),
        }
    }

    fn repo(&self, revision: &str) -> Repo {
        Repo::with_revision(self.name.clone(), RepoType::Model, revision.to_owned())
    }

    /// The snapshot that is here already, if it has all that is wanted.
    fn cached(&self, want: Want) -> Option<PathBuf> {
        let kept = self.cache.repo(self.repo(&self.revision));
        let by_ref = |file: &str| kept.get(file).and_then(|path| path.parent().map(Path::to_owned));
        let by_commit = Some(kept.pointer_path(&self.revision));
        let snapshots = ["config.json", "tokenizer.json", "vocab.txt"].into_iter().filter_map(by_ref);
        snapshots.chain(by_commit).find(|directory| is_complete(directory, want))
    }

    /// The commit and the files of the model.
    fn info(&self) -> Result<RepoInfo, Failure> {
        let (api, repo) = (self.api.clone(), self.repo(&self.revision));
        let info = patiently(self.patience, &Arc::default(), move || api.repo(repo).info());
        let info = info.map_err(|problem| self.failure(problem, None))?;
        if is_revision(&info.sha) && !info.sha.contains('/') {
            return Ok(info);
        }
        let error = anyhow!("{} says that {} is at commit {:?}", self.endpoint, self.name, info.sha);
        Err(Failure { error, unreachable: false })
    }

    /// Fetches what is not here yet. The branch points to the new commit only when everything is there.
    fn fetch(&self, info: &RepoInfo, want: Want) -> Result<Fetched> {
        let directory = self.cache.repo(self.repo(&self.revision)).pointer_path(&info.sha);
        let has = |file: &&str| info.siblings.iter().any(|sibling| sibling.rfilename == *file);
        let tokenizer: Vec<&str> = TOKENIZER.into_iter().filter(has).collect();
        let mut files = Vec::new();
        let mut fetch = |file: &str| {
            files.push(file.to_owned());
            self.download(&info.sha, &directory, file)
        };
        let name = &self.name;
        if want == Want::Tokenizer {
            let enough = tokenizer.iter().any(|file| *file != TOKENIZER[0]);
            ensure!(enough, "{name} has no tokenizer.json and no vocab.txt on {}", self.endpoint);
            tokenizer.into_iter().try_for_each(|file| fetch(file).map(drop))?;
        } else {
            ensure!(has(&CONFIG_FILE), "{name} has no {CONFIG_FILE} on {}: it is no model", self.endpoint);
            check_config(name, &fetch(CONFIG_FILE)?)?;
            let weights = WEIGHT_FILES.into_iter().find(has).with_context(|| {
                let expected = WEIGHT_FILES.join(", ");
                format!(
                    "{name} has no weights that oxibert reads on {}; expected one of {expected}",
                    self.endpoint
                )
            })?;
            tokenizer.into_iter().try_for_each(|file| fetch(file).map(drop))?;
            let path = fetch(weights)?;
            if weights.ends_with(".index.json") {
                shards(&path)?.iter().try_for_each(|file| fetch(file).map(drop))?;
            }
        }
        self.cache.repo(self.repo(&self.revision)).create_ref(&info.sha)?;
        Ok(Fetched { directory, files })
    }

    fn download(&self, commit: &str, directory: &Path, file: &str) -> Result<PathBuf> {
        let kept = directory.join(file);
        if kept.exists() {
            return Ok(kept);
        }
        let watch = Watch { bars: Arc::clone(&self.bars), pulse: Arc::default(), size: Arc::default() };
        let (pulse, size) = (Arc::clone(&watch.pulse), Arc::clone(&watch.size));
        let (api, repo, name) = (self.api.clone(), self.repo(commit), file.to_owned());
        let path =
            patiently(self.patience, &pulse, move || api.repo(repo).download_with_progress(&name, watch));
        self.bars.end();
        let path = path.map_err(|problem| self.failure(problem, Some(file)).error)?;
        check_size(&path, size.load(Ordering::Relaxed))?;
        Ok(path)
    }

    /// What to tell, and the way out.
    fn failure(&self, problem: Problem, file: Option<&str>) -> Failure {
        let Self { endpoint, name, revision, .. } = self;
        let what = file.map_or_else(|| name.clone(), |file| format!("{name}/{file}"));
        let network = "check the network, HTTPS_PROXY and HF_ENDPOINT, or name a checkpoint directory";
        let (unreachable, message) = match problem {
            Problem::Silence => {
                (true, format!("{endpoint} said nothing for {} s; {network}", self.patience.as_secs()))
            }
            Problem::Panic => (false, format!("fetching {what} from {endpoint} broke off; is it a hub?")),
            Problem::Status(404) if file.is_none() => (
                false,
                format!(
                    "{endpoint} has no model {name} with a revision {revision}; check both names, \
                 or name a checkpoint directory"
                ),
            ),
            Problem::Status(401 | 403) => (
                false,
                format!(
                    "{endpoint} does not give out {what}: there is no such model, or it wants a token; \
                 check the name, or set HF_TOKEN"
                ),
            ),
            Problem::Status(416) | Problem::Api(ApiError::InvalidResume) => (
                false,
                format!(
                    "{what} is half fetched, and the rest does not fit; remove {} and run again",
                    self.cache.repo(self.repo(revision)).blob_path("*.part").display()
                ),
            ),
            Problem::Status(status) => (
                status == 429 || status >= 500,
                format!("{endpoint} answered {status} to the request for {what}; try again later"),
            ),
            Problem::Unreachable(reason) => (true, format!("cannot reach {endpoint}: {reason}; {network}")),
            Problem::Api(ApiError::LockAcquisition(lock)) => (
                false,
                format!("another process is fetching {what} ({}); wait for it and run again", lock.display()),
            ),
            Problem::Api(error) => (false, format!("fetching {what} from {endpoint}: {error}; run again")),
        };
        Failure { error: anyhow!(message), unreachable }
    }
}

/// An environment variable that says something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The cache of Hugging Face's libraries.
fn cache() -> Result<Cache> {
    let home = variable("HF_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cache").join("huggingface")));
    let home = home.context("there is no home directory to keep models in; set HF_HOME to a directory")?;
    Ok(Cache::new(home.join("hub")))
}

fn is_complete(directory: &Path, want: Want) -> bool {
    let has = |file: &str| directory.join(file).exists();
    if want == Want::Tokenizer {
        return TOKENIZER[1..].iter().any(|file| has(file));
    }
    let Some(weights) = WEIGHT_FILES.into_iter().find(|file| has(file)) else { return false };
    let all_shards =
        || shards(&directory.join(weights)).is_ok_and(|files| files.iter().all(|file| has(file)));
    has(CONFIG_FILE) && (!weights.ends_with(".index.json") || all_shards())
}

/// The files of a snapshot that a checkpoint consists of.
fn known_files(directory: &Path) -> Result<Vec<String>> {
    let here = |file: &&str| directory.join(file).exists();
    let weights = WEIGHT_FILES.into_iter().find(here);
    let mut files: Vec<String> =
        [CONFIG_FILE].into_iter().chain(TOKENIZER).filter(here).chain(weights).map(str::to_owned).collect();
    if let Some(index) = weights.filter(|file| file.ends_with(".index.json")) {
        files.extend(shards(&directory.join(index))?);
    }
    Ok(files)
}

/// Refuses what is no BERT while only its configuration has been fetched.
fn check_config(name: &str, path: &Path) -> Result<()> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Config::parse(&bytes, &Path::new(name).join(CONFIG_FILE))?;
    Ok(())
}

/// Refuses, and forgets, weights that are shorter or longer than the hub said. (Small files may come compressed, and
/// whoever parses them notices.)
fn check_size(path: &Path, expected: u64) -> Result<()> {
    let found = fs::metadata(path)?.len();
    let binary = path.extension().is_some_and(|extension| extension == "safetensors" || extension == "bin");
    if found == expected || !binary {
        return Ok(());
    }
    let behind = fs::canonicalize(path)?;
    fs::remove_file(path)?;
    // On systems without links the two are one.
    let _ = fs::remove_file(behind);
    bail!("{}: {found} bytes came, expected {expected}; run again", path.display())
}

/// Draws the bar and shows that bytes come.
struct Watch {
    bars: Arc<Bars>,
    pulse: Arc<AtomicU64>,
    size: Arc<AtomicU64>,
}

impl hf_hub::api::Progress for Watch {
    fn init(&mut self, size: usize, filename: &str) {
        self.size.store(size as u64, Ordering::Relaxed);
        self.pulse.fetch_add(1, Ordering::Relaxed);
        self.bars.end();
        self.bars.begin(filename, Some(size as u64), Unit::Bytes);
    }

    fn update(&mut self, size: usize) {
        self.pulse.fetch_add(1, Ordering::Relaxed);
        self.bars.advance(size as u64);
    }

    fn finish(&mut self) {}
}

/// Ways in which a request fails.
enum Problem {
    Silence,
    Panic,
    Status(u16),
    Unreachable(String),
    Api(ApiError),
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        let ApiError::RequestError(request) = error else { return Self::Api(error) };
        match *request {
            ureq::Error::StatusCode(status) => Self::Status(status),
            ureq::Error::Io(source) => Self::Unreachable(source.to_string()),
            ureq::Error::HostNotFound => Self::Unreachable("the host is not known".to_owned()),
            ureq::Error::ConnectionFailed => Self::Unreachable("the connection failed".to_owned()),
            other => Self::Api(ApiError::RequestError(Box::new(other))),
        }
    }
}

/// Does `work` on a thread of its own and gives it up when `pulse` stands still: hf-hub sets no time limit.
fn patiently<T: Send + 'static>(
    patience: Duration,
    pulse: &Arc<AtomicU64>,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, Problem> {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    loop {
        let before = pulse.load(Ordering::Relaxed);
        match result.recv_timeout(patience) {
            Ok(result) => return result.map_err(Problem::from),
            Err(RecvTimeoutError::Timeout) if pulse.load(Ordering::Relaxed) != before => {}
            Err(RecvTimeoutError::Timeout) => return Err(Problem::Silence),
            Err(RecvTimeoutError::Disconnected) => return Err(Problem::Panic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_paths() {
        for name in ["bert-base-uncased", "google-bert/bert-base-chinese", "a/b.c_d-1", "_x"] {
            assert!(is_name(name), "{name}");
        }
        for path in
            ["", "/", "a/", "/a", "./a", "../a", "a/b/c", "~/x", "a b", "vocab.txt", "x/m.bin", "a..b", "é"]
        {
            assert!(!is_name(path), "{path}");
        }
    }

    #[test]
    fn a_revision_does_not_lead_out_of_the_cache() {
        assert!(["main", "refs/pr/1", "v1.0"].iter().all(|revision| is_revision(revision)));
        assert!(["", "../x", "a/../b", "/a", "a//b", "a b"].iter().all(|revision| !is_revision(revision)));
    }

    #[test]
    fn work_that_stands_still_is_given_up() {
        let silent = || {
            thread::sleep(Duration::from_secs(5));
            Ok(())
        };
        let patience = Duration::from_millis(20);
        assert!(matches!(patiently(patience, &Arc::default(), silent), Err(Problem::Silence)));
        let pulse = Arc::new(AtomicU64::new(0));
        let beating = Arc::clone(&pulse);
        let slow = move || {
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(10));
                beating.fetch_add(1, Ordering::Relaxed);
            }
            Ok(7)
        };
        assert!(matches!(patiently(Duration::from_millis(100), &pulse, slow), Ok(7)));
    }
}
