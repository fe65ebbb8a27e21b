//! One vector register, by instruction set: the few operations that a matrix tile needs.

/// A register of `N` floats.
///
/// # Safety
/// Every operation needs a processor that has the type's instructions; pointers must be valid for `N` floats.
pub(crate) trait Lanes: Copy {
    /// Floats per register.
    const N: usize;

    unsafe fn zero() -> Self;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// `self * b + c`.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    unsafe fn add(self, b: Self) -> Self;

    /// The first `count` floats, at most `N`; zeros behind them. Only these must be valid.
    #[inline(always)]
    unsafe fn load_some(from: *const f32, count: usize) -> Self {
        let mut line = [0.0f32; WIDEST];
        // SAFETY: the caller vouches for the floats, here and below; no register is wider than the line.
        unsafe {
            line.as_mut_ptr().copy_from_nonoverlapping(from, count);
            Self::load(line.as_ptr())
        }
    }

    /// Stores the first `count` floats, at most `N`.
    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, count: usize) {
        let mut line = [0.0f32; WIDEST];
        // SAFETY: see `load_some`.
        unsafe {
            self.store(line.as_mut_ptr());
            to.copy_from_nonoverlapping(line.as_ptr(), count);
        }
    }
}

/// Floats of the widest register.
const WIDEST: usize = 16;

/// Four floats that any compiler target can add and multiply.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; 4]);

impl Lanes for Portable {
    const N: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([0.0; 4])
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller vouches for four floats; the read does not need alignment.
        Self(unsafe { from.cast::<[f32; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as in `load`.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] * b.0[i] + c.0[i]))
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + b.0[i]))
    }
}

/// Implements [`Lanes`] by a processor's own operations.
macro_rules! lanes {
    ($type:ty, $n:literal, $zero:expr, $splat:path, $load:path, $store:path, $fma:expr, $add:path $(, $more:item)*) => {
        impl Lanes for $type {
            const N: usize = $n;

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller vouches for the instruction set, here and below.
                unsafe { $zero }
            }
            #[inline(always)]
            unsafe fn splat(x: f32) -> Self {
                // SAFETY: see `zero`.
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: see `zero`; the caller vouches for the floats.
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: see `load`.
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: see `zero`.
                unsafe { $fma(self, b, c) }
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                // SAFETY: see `zero`.
                unsafe { $add(self, b) }
            }
            $($more)*
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Pairs;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;
    use std::mem::transmute;

    lanes!(
        __m256,
        8,
        _mm256_setzero_ps(),
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        |a, b, c| _mm256_fmadd_ps(a, b, c),
        _mm256_add_ps,
        #[inline(always)]
        unsafe fn load_some(from: *const f32, count: usize) -> Self {
            // SAFETY: see `load`.
            unsafe { _mm256_maskload_ps(from, first(count)) }
        },
        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, count: usize) {
            // SAFETY: see `load`.
            unsafe { _mm256_maskstore_ps(to, first(count), self) }
        }
    );

    /// The mask of the first `count` of eight floats.
    #[inline(always)]
    unsafe fn first(count: usize) -> __m256i {
        const MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: eight numbers from any place up to the eighth are inside.
        unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(8 - count.min(8)).cast()) }
    }

    lanes!(
        __m512,
        16,
        _mm512_setzero_ps(),
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        |a, b, c| _mm512_fmadd_ps(a, b, c),
        _mm512_add_ps,
        #[inline(always)]
        unsafe fn load_some(from: *const f32, count: usize) -> Self {
            // SAFETY: see `load`.
            unsafe { _mm512_maskz_loadu_ps(!(!0 << count) as u16, from) }
        },
        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, count: usize) {
            // SAFETY: see `load`.
            unsafe { _mm512_mask_storeu_ps(to, !(!0 << count) as u16, self) }
        }
    );

    /// Sixteen sums in f32; as a factor, the bits of sixteen pairs of bfloat16.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub(crate) struct Pairs(__m512);

    impl Lanes for Pairs {
        const N: usize = 16;

        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: the caller vouches for the instruction set, here and below.
            Self(unsafe { <__m512 as Lanes>::zero() })
        }
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            // SAFETY: see `zero`.
            Self(unsafe { <__m512 as Lanes>::splat(x) })
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: see `zero`; the caller vouches for the floats.
            Self(unsafe { <__m512 as Lanes>::load(from) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: see `load`.
            unsafe { Lanes::store(self.0, to) }
        }
        /// The products of both halves of each pair, added to `c`.
        #[inline(always)]
        unsafe fn mul_add(self, b: Self, c: Self) -> Self {
            // SAFETY: see `zero`; the types have the same bits.
            Self(unsafe {
                let (a, b) = (transmute::<__m512, __m512bh>(self.0), transmute::<__m512, __m512bh>(b.0));
                _mm512_dpbf16_ps(c.0, a, b)
            })
        }
        #[inline(always)]
        unsafe fn add(self, b: Self) -> Self {
            // SAFETY: see `zero`.
            Self(unsafe { Lanes::add(self.0, b.0) })
        }
        #[inline(always)]
        unsafe fn load_some(from: *const f32, count: usize) -> Self {
            // SAFETY: see `load`.
            Self(unsafe { <__m512 as Lanes>::load_some(from, count) })
        }
        #[inline(always)]
        unsafe fn store_some(self, to: *mut f32, count: usize) {
            // SAFETY: see `load`.
            unsafe { self.0.store_some(to, count) }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Lanes;
    use std::arch::aarch64::*;

    lanes!(
        float32x4_t,
        4,
        vdupq_n_f32(0.0),
        vdupq_n_f32,
        vld1q_f32,
        vst1q_f32,
        |a, b, c| vfmaq_f32(c, a, b),
        vaddq_f32
    );
}
