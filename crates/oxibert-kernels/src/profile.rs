//! Where the time goes: a stopwatch per kind of kernel, for `oxibert bench`.
//!
//! Switched off, a kernel pays one relaxed load. Switched on, the time between entering and leaving a kernel is added to
//! its kind, as the caller sees it: a kernel's own threads do not count apart. All callers of the process share the
//! stopwatches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Matrix products and the gradients of their biases.
    Linear,
    /// Attention; its own matrix products count here.
    Attention,
    /// Residual, dropout and LayerNorm.
    LayerNorm,
    /// GELU, ReLU, tanh, and the bias gradients that fall out there.
    Activation,
    /// Rows of tables, and rows that a head chose.
    Embedding,
    /// Dropout alone.
    Dropout,
    /// Softmax and cross-entropy.
    Loss,
    /// The gradient's norm and AdamW.
    Optimizer,
}

impl Kernel {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Linear,
        Self::Attention,
        Self::LayerNorm,
        Self::Activation,
        Self::Embedding,
        Self::Dropout,
        Self::Loss,
        Self::Optimizer,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Attention => "attention",
            Self::LayerNorm => "layer_norm",
            Self::Activation => "activation",
            Self::Embedding => "embedding",
            Self::Dropout => "dropout",
            Self::Loss => "loss",
            Self::Optimizer => "optimizer",
        }
    }
}

static ON: AtomicBool = AtomicBool::new(false);
static NANOS: [AtomicU64; Kernel::ALL.len()] = [const { AtomicU64::new(0) }; Kernel::ALL.len()];

/// Sets all stopwatches to zero and switches them on.
pub fn start() {
    NANOS.iter().for_each(|nanos| nanos.store(0, Relaxed));
    ON.store(true, Relaxed);
}

/// Switches the stopwatches off; the time that each kind of kernel took since [`start`].
pub fn stop() -> [(Kernel, Duration); Kernel::ALL.len()] {
    ON.store(false, Relaxed);
    Kernel::ALL.map(|kernel| (kernel, Duration::from_nanos(NANOS[kernel as usize].load(Relaxed))))
}

/// Runs until it is dropped.
pub(crate) struct Stopwatch(Option<(Kernel, Instant)>);

/// The first line of a kernel: `let _time = time(Kernel::Loss);`
#[inline]
pub(crate) fn time(kernel: Kernel) -> Stopwatch {
    Stopwatch(ON.load(Relaxed).then(|| (kernel, Instant::now())))
}

impl Drop for Stopwatch {
    #[inline]
    fn drop(&mut self) {
        if let Some((kernel, start)) = self.0 {
            NANOS[kernel as usize].fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
        }
    }
}
