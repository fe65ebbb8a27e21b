//! Models of the Hugging Face hub: fetched once, kept in the cache that Hugging Face's libraries share.
//!
//! The `hf-hub` crate asks, fetches and keeps; here stands what to fetch, in which order, and what to say when it
//! fails. `settings` is what the environment says, `snapshot` what is in the cache, `request` one question
//! to the hub, `failure` what is said when it is not answered.

mod failure;
mod names;
mod request;
mod settings;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow, ensure};
use hf_hub::api::RepoInfo;
use hf_hub::api::sync::{Api, ApiBuilder};
use hf_hub::{Cache, Repo, RepoType};
use oxibert::infer::{MODULES_FILE, use_files};
use oxibert::model::checkpoint::{CONFIG_FILE, WEIGHT_FILES, shards};
use oxibert::progress::Progress;

use crate::output::remark;
use crate::progress::Bars;
use names::{is_name, is_revision};
use request::{Watch, patiently};
use settings::Settings;
use snapshot::{
    TOKENIZER, Want, check_config, check_size, is_complete, known_files, knows_use, note_absence,
};

/// The branch that is meant where nobody says another.
pub(crate) const MAIN: &str = "main";

/// A checkpoint: a directory or a weight file that is there, or a hub's model, which is fetched on demand.
pub(crate) fn resolve(name_or_path: &str) -> Result<PathBuf> {
    let path = Path::new(name_or_path);
    if path.exists() { Ok(path.to_owned()) } else { find(name_or_path, Want::Model) }
}

/// The directory of a tokenizer, for those who make tokens and need no weights.
pub(crate) fn resolve_tokenizer(name_or_dir: &str) -> Result<PathBuf> {
    let path = Path::new(name_or_dir);
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    ensure!(!path.exists(), "{name_or_dir}: it is a file; expected a checkpoint directory or a model's name");
    find(name_or_dir, Want::Tokenizer)
}

fn find(place: &str, want: Want) -> Result<PathBuf> {
    ensure!(
        is_name(place),
        "{place}: there is no such directory, and a model's name on the hub looks like google-bert/bert-base-uncased"
    );
    let hub = Hub::new(place, MAIN, false)?;
    match hub.cached(want) {
        Some(here) if want == Want::Tokenizer || hub.settings.offline || knows_use(&here) => Ok(here),
        Some(_) => Ok(hub.pull()?.directory),
        None => {
            hub.check_online()?;
            let endpoint = &hub.settings.endpoint;
            remark(format_args!("{place}: no such directory here, fetching it from {endpoint}"));
            let info = hub.info().map_err(|failure| failure.error)?;
            Ok(hub.fetch(&info, want)?.directory)
        }
    }
}

/// One model of a hub.
pub(crate) struct Hub {
    api: Api,
    cache: Cache,
    settings: Settings,
    name: String,
    revision: String,
    quiet: bool,
    bars: Arc<Bars>,
}

/// A model that is here now.
pub(crate) struct Fetched {
    pub(crate) directory: PathBuf,
    pub(crate) files: Vec<String>,
}

impl Hub {
    pub(crate) fn new(name: &str, revision: &str, quiet: bool) -> Result<Self> {
        ensure!(
            is_name(name),
            "{name:?} is no model's name; expected one such as google-bert/bert-base-uncased"
        );
        ensure!(is_revision(revision), "{revision:?} is no revision; expected a branch, a tag or a commit");
        let settings = Settings::read()?;
        let cache = Cache::new(settings.cache.clone());
        // No retries: hf-hub's would append to a half-fetched file from its start. A second run goes on where
        // the first one stopped.
        let builder = ApiBuilder::from_cache(cache.clone())
            .with_endpoint(settings.endpoint.clone())
            .with_token(settings.token.clone())
            .with_user_agent("oxibert", env!("CARGO_PKG_VERSION"));
        Ok(Self {
            api: builder.build()?,
            cache,
            settings,
            name: name.to_owned(),
            revision: revision.to_owned(),
            quiet,
            bars: Arc::new(Bars::new(quiet)),
        })
    }

    /// Brings the model here as the hub has it now; without a hub, the copy from before stands in.
    pub(crate) fn pull(&self) -> Result<Fetched> {
        if let Err(offline) = self.check_online() {
            let directory = self.cached(Want::Model).ok_or(offline)?;
            if !self.quiet {
                remark(format_args!("note: HF_HUB_OFFLINE is set; using the copy from before"));
            }
            return Ok(Fetched { files: known_files(&directory)?, directory });
        }
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

    /// Refuses to ask where the user said not to.
    fn check_online(&self) -> Result<()> {
        let (name, revision, place) = (&self.name, &self.revision, self.settings.cache.display());
        ensure!(
            !self.settings.offline,
            "{name} ({revision}) is not whole in the cache {place}, and HF_HUB_OFFLINE says not to fetch it; \
             unset HF_HUB_OFFLINE, or name a checkpoint directory"
        );
        Ok(())
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
    fn info(&self) -> Result<RepoInfo, failure::Failure> {
        let (api, repo) = (self.api.clone(), self.repo(&self.revision));
        let info = patiently(self.settings.patience, &Arc::default(), move || api.repo(repo).info());
        let info = info.map_err(|problem| self.failure(problem, None))?;
        if is_revision(&info.sha) && !info.sha.contains('/') {
            return Ok(info);
        }
        let error = anyhow!("{} says that {} is at commit {:?}", self.settings.endpoint, self.name, info.sha);
        Err(failure::Failure { error, unreachable: false })
    }

    /// Fetches what is not here yet. The branch points to the new commit only when everything is there.
    fn fetch(&self, info: &RepoInfo, want: Want) -> Result<Fetched> {
        let kept = self.cache.repo(self.repo(&self.revision));
        let mut fetch = Fetch { hub: self, info, directory: kept.pointer_path(&info.sha), files: Vec::new() };
        match want {
            Want::Tokenizer => fetch.tokenizer()?,
            Want::Model => fetch.model()?,
        }
        kept.create_ref(&info.sha)?;
        Ok(Fetched { directory: fetch.directory, files: fetch.files })
    }

    fn download(&self, commit: &str, directory: &Path, file: &str) -> Result<PathBuf> {
        let kept = directory.join(file);
        if kept.exists() {
            return Ok(kept);
        }
        let watch = Watch { bars: Arc::clone(&self.bars), pulse: Arc::default(), size: Arc::default() };
        let (pulse, size) = (Arc::clone(&watch.pulse), Arc::clone(&watch.size));
        let (api, repo, name) = (self.api.clone(), self.repo(commit), file.to_owned());
        let path = patiently(self.settings.patience, &pulse, move || {
            api.repo(repo).download_with_progress(&name, watch)
        });
        self.bars.end();
        let path = path.map_err(|problem| self.failure(problem, Some(file)).error)?;
        check_size(&path, size.load(Ordering::Relaxed))?;
        Ok(path)
    }
}

/// The files of one commit, on their way.
struct Fetch<'a> {
    hub: &'a Hub,
    info: &'a RepoInfo,
    directory: PathBuf,
    files: Vec<String>,
}

impl Fetch<'_> {
    fn tokenizer(&mut self) -> Result<()> {
        let Hub { name, settings, .. } = self.hub;
        let enough = TOKENIZER[1..].iter().any(|file| self.has(file));
        ensure!(enough, "{name} has no tokenizer.json and no vocab.txt on {}", settings.endpoint);
        TOKENIZER.iter().try_for_each(|file| self.file_if_any(file))
    }

    fn model(&mut self) -> Result<()> {
        let Hub { name, settings, .. } = self.hub;
        let endpoint = &settings.endpoint;
        ensure!(self.has(CONFIG_FILE), "{name} has no {CONFIG_FILE} on {endpoint}: it is no model");
        check_config(name, &self.file(CONFIG_FILE)?)?;
        let weights = WEIGHT_FILES.into_iter().find(|file| self.has(file)).with_context(|| {
            let expected = WEIGHT_FILES.join(", ");
            format!("{name} has no weights that oxibert reads on {endpoint}; expected one of {expected}")
        })?;
        TOKENIZER.iter().try_for_each(|file| self.file_if_any(file))?;
        self.use_files()?;
        let path = self.file(weights)?;
        if weights.ends_with(".index.json") {
            shards(&path)?.iter().try_for_each(|file| self.file(file).map(drop))?;
        }
        Ok(())
    }

    /// How the model wants to be used; its first file says where the others are.
    fn use_files(&mut self) -> Result<()> {
        if self.has(MODULES_FILE) {
            self.file(MODULES_FILE)?;
        } else {
            note_absence(&self.directory);
        }
        let others = use_files(&self.directory)?;
        others.iter().filter(|file| *file != MODULES_FILE).try_for_each(|file| self.file_if_any(file))
    }

    fn has(&self, file: &str) -> bool {
        self.info.siblings.iter().any(|sibling| sibling.rfilename == file)
    }

    fn file_if_any(&mut self, file: &str) -> Result<()> {
        if self.has(file) { self.file(file).map(drop) } else { Ok(()) }
    }

    fn file(&mut self, file: &str) -> Result<PathBuf> {
        self.files.push(file.to_owned());
        self.hub.download(&self.info.sha, &self.directory, file)
    }
}
