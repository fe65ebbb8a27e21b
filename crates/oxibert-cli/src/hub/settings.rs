//! The environment variables of Hugging Face's own tools.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

const HUB: &str = "https://huggingface.co";
/// Seconds without a byte until we give up.
const PATIENCE: u64 = 30;

/// What the environment says.
pub(super) struct Settings {
    /// `HF_ENDPOINT`: the hub, without a slash at its end.
    pub(super) endpoint: String,
    /// `HF_HUB_CACHE`, or `hub` in `HF_HOME`: where models are kept.
    pub(super) cache: PathBuf,
    /// `HF_TOKEN`, or the token file of `huggingface-cli login`.
    pub(super) token: Option<String>,
    /// `HF_HUB_OFFLINE`: nothing is asked for.
    pub(super) offline: bool,
    /// `HF_HUB_DOWNLOAD_TIMEOUT`.
    pub(super) patience: Duration,
}

impl Settings {
    pub(super) fn read() -> Result<Self> {
        let home = home();
        let cache = variable("HF_HUB_CACHE").map(PathBuf::from);
        let cache = cache.or_else(|| Some(home.as_ref()?.join("hub"))).context(
            "there is no home directory to keep models in; set HF_HOME or HF_HUB_CACHE to a directory",
        )?;
        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| HUB.to_owned());
        let patience = variable("HF_HUB_DOWNLOAD_TIMEOUT").and_then(|seconds| seconds.parse().ok());
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache,
            token: variable("HF_TOKEN").or_else(|| said(fs::read_to_string(home?.join("token")).ok())),
            offline: variable("HF_HUB_OFFLINE").is_some_and(|value| is_true(&value)),
            patience: Duration::from_secs(patience.unwrap_or(PATIENCE).max(1)),
        })
    }
}

/// `HF_HOME`, or `huggingface` among the user's caches.
fn home() -> Option<PathBuf> {
    let caches = || {
        let given = variable("XDG_CACHE_HOME").map(PathBuf::from);
        given.or_else(|| env::home_dir().map(|home| home.join(".cache")))
    };
    variable("HF_HOME").map(PathBuf::from).or_else(|| caches().map(|caches| caches.join("huggingface")))
}

/// An environment variable that says something.
fn variable(name: &str) -> Option<String> {
    said(env::var(name).ok())
}

fn said(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The words that huggingface_hub takes for yes.
fn is_true(value: &str) -> bool {
    ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no() {
        assert!(["1", "true", "Yes", "ON"].into_iter().all(is_true));
        assert!(["0", "false", "no", "2"].into_iter().all(|value| !is_true(value)));
    }
}
