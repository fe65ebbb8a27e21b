//! What is said when the hub does not give what it was asked for.

use anyhow::anyhow;
use hf_hub::api::sync::ApiError;

use super::Hub;
use super::request::Problem;

/// Why the hub did not answer, and whether a copy from before may stand in.
pub(super) struct Failure {
    pub(super) error: anyhow::Error,
    pub(super) unreachable: bool,
}

impl Hub {
    /// What to tell, and the way out.
    pub(super) fn failure(&self, problem: Problem, file: Option<&str>) -> Failure {
        let Self { settings, name, revision, .. } = self;
        let (endpoint, patience) = (&settings.endpoint, settings.patience.as_secs());
        let what = file.map_or_else(|| name.clone(), |file| format!("{name}/{file}"));
        let network = "check the network, HTTPS_PROXY and HF_ENDPOINT, or name a checkpoint directory";
        let (unreachable, message) = match problem {
            Problem::Silence => (true, format!("{endpoint} said nothing for {patience} s; {network}")),
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
