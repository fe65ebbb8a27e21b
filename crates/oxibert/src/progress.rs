//! How long work reports where it is, without knowing who looks.
//!
//! The library calls a [`Progress`]; the command line draws bars with it, a server may log it, and `()`
//! is silent.

/// What a stage counts, so that whoever shows it can write `12.3 MiB` or `12 300`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes on disk.
    Bytes,
    /// Things: tokens, lines, steps.
    Items,
}

/// Someone who watches long work. One stage runs at a time; `advance` may come from many threads.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use oxibert::progress::{Progress, Unit};
///
/// #[derive(Default)]
/// struct Total(AtomicU64);
///
/// impl Progress for Total {
///     fn begin(&self, _stage: &str, _total: Option<u64>, _unit: Unit) {}
///     fn advance(&self, n: u64) {
///         self.0.fetch_add(n, Ordering::Relaxed);
///     }
///     fn end(&self) {}
/// }
///
/// let total = Total::default();
/// let watcher: &dyn Progress = &total;
/// watcher.begin("reading", Some(10), Unit::Bytes);
/// watcher.advance(10);
/// watcher.end();
/// assert_eq!(total.0.into_inner(), 10);
/// ```
pub trait Progress: Sync {
    /// A stage begins; `total` is absent where it cannot be known (standard input).
    fn begin(&self, stage: &str, total: Option<u64>, unit: Unit);

    /// `n` more units of the stage are done.
    fn advance(&self, n: u64);

    /// The stage is over, also where it stopped short of its total.
    fn end(&self);
}

/// Nobody watches.
impl Progress for () {
    fn begin(&self, _stage: &str, _total: Option<u64>, _unit: Unit) {}
    fn advance(&self, _n: u64) {}
    fn end(&self) {}
}
