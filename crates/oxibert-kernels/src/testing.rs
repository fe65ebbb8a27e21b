//! What the kernels' tests share.

/// `len` reproducible numbers between -1 and 1.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..len + 8).map(|_| next()).skip(8).collect()
}

/// Runs `f` in a pool of its own.
pub(crate) fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool").install(f)
}

/// Every element within `tolerance`, absolute for small numbers and relative for large ones.
#[track_caller]
pub(crate) fn assert_close(got: &[f32], want: &[f32], tolerance: f32, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}: lengths");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let bound = tolerance * w.abs().max(1.0);
        assert!((g - w).abs() <= bound, "{what}: element {i} is {g}, expected {w}");
    }
}

/// Checks the gradient `dx` of `loss` at `x` by central differences, at some of the elements.
#[track_caller]
pub(crate) fn assert_gradient(x: &[f32], dx: &[f32], what: &str, mut loss: impl FnMut(&[f32]) -> f64) {
    const STEP: f32 = 4e-3;
    let mut probe = x.to_vec();
    for i in (0..x.len()).step_by((x.len() / 40).max(1)) {
        probe[i] = x[i] + STEP;
        let above = loss(&probe);
        probe[i] = x[i] - STEP;
        let below = loss(&probe);
        probe[i] = x[i];
        let want = (above - below) / f64::from(2.0 * STEP);
        let bound = 4e-3 * want.abs().max(1.0);
        assert!(
            (f64::from(dx[i]) - want).abs() < bound,
            "{what}: d[{i}] is {}, differences say {want}",
            dx[i]
        );
    }
}

/// `sum(x * weights)` in f64: a loss whose gradient is `weights`.
pub(crate) fn dot(x: &[f32], weights: &[f32]) -> f64 {
    x.iter().zip(weights).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum()
}
