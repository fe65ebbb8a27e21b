//! One request to the hub: watched, given up when nothing moves, and what it may end with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hf_hub::api::sync::ApiError;
use oxibert::progress::{Progress, Unit};

use crate::progress::Bars;

/// Draws the bar and shows that bytes come.
pub(super) struct Watch {
    pub(super) bars: Arc<Bars>,
    /// Counts up with every sign of life.
    pub(super) pulse: Arc<AtomicU64>,
    /// How large the hub says that the file is.
    pub(super) size: Arc<AtomicU64>,
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
pub(super) enum Problem {
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
pub(super) fn patiently<T: Send + 'static>(
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
