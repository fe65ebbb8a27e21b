//! Which instructions this processor has: found once at run time, so that one binary is fast everywhere.
//!
//! Element-wise kernels are written as plain loops inside `versions!`, which compiles the same body once per
//! instruction set and picks one when called; matrix products pick their tile in `gemm::micro`.

use std::fmt;
use std::sync::OnceLock;

/// An instruction set that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What the target guarantees (SSE2 on x86-64), without fused multiply-add.
    Baseline,
    /// 128-bit vectors of 64-bit ARM.
    Neon,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline",
            Self::Neon => "NEON",
            Self::Avx2 => "AVX2+FMA",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// The instruction set that every kernel of this process uses.
///
/// The environment variable `OXIBERT_ISA` (`baseline`, `avx2`, or `avx512`, which is without [`amx`]) lowers it, to test or to compare; it
/// never raises it.
pub(crate) fn isa() -> Isa {
    static CHOSEN: OnceLock<Isa> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let limit = match std::env::var("OXIBERT_ISA").as_deref() {
            Ok("baseline") => Isa::Baseline,
            Ok("avx2") => Isa::Avx2,
            _ => Isa::Avx512,
        };
        detect().min(limit)
    })
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
        return Isa::Baseline;
    }
    let wide = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    if wide { Isa::Avx512 } else { Isa::Avx2 }
}

#[cfg(target_arch = "aarch64")]
fn detect() -> Isa {
    Isa::Neon
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detect() -> Isa {
    Isa::Baseline
}

/// Whether Intel made the processor.
pub(crate) fn intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let name = std::arch::x86_64::__cpuid(0);
        [name.ebx, name.edx, name.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether products of bfloat16 may use AMX: its registers are large, and Linux wants to be asked for them.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) fn amx() -> bool {
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};
    /// `arch_prctl`'s request for a part of the processor's state, and the number of AMX's registers among these.
    const ARCH_REQ_XCOMP_PERM: libc::c_int = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    /// Leaf 7 tells in EDX: AMX-BF16 and AMX-TILE.
    const BF16_AND_TILE: u32 = 1 << 22 | 1 << 24;

    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let wanted = isa() == Isa::Avx512 && is_x86_feature_detected!("avx512bf16");
        let lowered = std::env::var("OXIBERT_ISA").is_ok_and(|isa| isa == "avx512");
        let has = __get_cpuid_max(0).0 >= 7 && __cpuid_count(7, 0).edx & BF16_AND_TILE == BF16_AND_TILE;
        // SAFETY: the call asks for a permission and touches no memory.
        let ask = || unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) };
        wanted && !lowered && has && ask() == 0
    })
}

/// `a * b + c`, in one rounding where `FMA` says that the instruction exists (a library call otherwise: very slow).
#[inline(always)]
pub(crate) fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Compiles one loop for every instruction set; the body may use the constant `FMA`.
macro_rules! versions {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, clippy::extra_unused_type_parameters)]
            fn plain<const FMA: bool>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                plain::<true>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                plain::<true>($($arg),*)
            }

            match $crate::arch::isa() {
                // SAFETY: `isa` returns this value only where the processor has these features.
                #[cfg(target_arch = "x86_64")]
                $crate::arch::Isa::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::arch::Isa::Avx2 => unsafe { avx2($($arg),*) },
                $crate::arch::Isa::Neon => plain::<{ cfg!(target_arch = "aarch64") }>($($arg),*),
                _ => plain::<false>($($arg),*),
            }
        }
    )*};
}
pub(crate) use versions;
