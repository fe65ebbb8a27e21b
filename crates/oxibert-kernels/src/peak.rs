//! What this machine could do at best: the yardstick of `oxibert bench`.

use crate::arch::{Isa, isa};
use crate::gemm::Lanes;
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Sums that are independent of each other: enough to fill two multiply-add units of any latency up to six.
const CHAINS: usize = 12;
/// Multiply-adds per chain and round.
const ROUND: usize = 20_000;
/// Rounds between two looks at the clock, about a millisecond.
const MOMENT: usize = 20;

/// The processor as the kernels see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The instruction set of every kernel.
    pub isa: Isa,
    /// Threads of the current rayon pool.
    pub threads: usize,
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {} threads", std::env::consts::ARCH, self.isa, self.threads)
    }
}

/// The instruction set and the number of threads that the next kernel will use.
pub fn cpu() -> Cpu {
    Cpu { isa: isa(), threads: rayon::current_num_threads() }
}

/// Measures the multiply-add peak in GFLOP/s: every thread of the current pool computes in registers for `time`, and
/// its best moment counts, because other programs on the machine only take away.
pub fn measured_peak(time: Duration) -> f64 {
    rayon::broadcast(|_| {
        let (start, mut best) = (Instant::now(), 0.0f64);
        while start.elapsed() < time || best == 0.0 {
            let moment = Instant::now();
            let flops: u64 = (0..MOMENT).map(|_| round()).sum();
            best = best.max(flops as f64 / moment.elapsed().as_secs_f64() / 1e9);
        }
        best
    })
    .iter()
    .sum()
}

/// One round of the best instruction set; returns its floating-point operations.
fn round() -> u64 {
    match isa() {
        // SAFETY: `isa` names only what the processor has, here and below.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512() },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: see above.
        Isa::Avx2 => unsafe { avx2() },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: see above.
        Isa::Neon => unsafe { chains::<std::arch::aarch64::float32x4_t>() },
        // SAFETY: plain arithmetic.
        _ => unsafe { chains::<crate::gemm::Portable>() },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2() -> u64 {
    // SAFETY: the features are enabled on this function.
    unsafe { chains::<std::arch::x86_64::__m256>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512() -> u64 {
    // SAFETY: the features are enabled on this function.
    unsafe { chains::<std::arch::x86_64::__m512>() }
}

#[inline(always)]
unsafe fn chains<V: Lanes>() -> u64 {
    // SAFETY: the caller vouches for the instruction set; the buffer holds the widest register.
    unsafe {
        // Values that stay finite and that the compiler cannot know.
        let (factor, term) = (V::splat(black_box(0.999_9)), V::splat(black_box(1e-4)));
        let mut sums = [V::splat(black_box(1.0)); CHAINS];
        for _ in 0..ROUND {
            for sum in &mut sums {
                *sum = sum.mul_add(factor, term);
            }
        }
        let mut buffer = [0.0f32; 16];
        for sum in sums {
            sum.store(buffer.as_mut_ptr());
            black_box(&buffer);
        }
    }
    (2 * ROUND * CHAINS * V::N) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_is_positive_and_the_cpu_has_a_name() {
        assert!(measured_peak(Duration::from_millis(2)) > 0.1);
        assert!(cpu().to_string().contains("threads"));
    }
}
