//! bfloat16: rounding, and pairs of them in the place of one f32.

use crate::arch::versions;
use crate::matrix::Mat;

/// The pairs of `b` [depth, lines] as a matrix of half the depth, whose neighbours in memory are those of `b`; zeros fill up `places`.
pub(super) fn pairs<'r>(b: Mat<'_>, places: usize, room: &'r mut [f32]) -> Mat<'r> {
    let some = b.rows.div_ceil(2);
    if b.row_stride == 1 {
        for (line, to) in room.chunks_exact_mut(places).enumerate() {
            let (to, beyond) = to.split_at_mut(some);
            narrow(&b.data[line * b.col_stride..][..b.rows], to);
            beyond.fill(0.0);
        }
        return Mat::new(room, b.cols, places).t();
    }
    assert_eq!(b.col_stride, 1, "rows or columns lie side by side");
    let line = |k: usize| if k < b.rows { &b.data[k * b.row_stride..][..b.cols] } else { &[] };
    let (room_of_some, beyond) = room.split_at_mut(some * b.cols);
    for (place, to) in room_of_some.chunks_exact_mut(b.cols).enumerate() {
        join(line(2 * place), line(2 * place + 1), to);
    }
    beyond.fill(0.0);
    Mat::new(room, places, b.cols)
}

/// Neighbours become pairs; the last may be alone.
fn narrow(from: &[f32], to: &mut [f32]) {
    let done = x86::narrow(from, to);
    let (twos, rest) = from[2 * done..].as_chunks::<2>();
    twos.iter().zip(&mut to[done..]).for_each(|([even, odd], to)| *to = pair(*even, *odd));
    if let ([alone], Some(to)) = (rest, to.last_mut()) {
        *to = pair(*alone, 0.0);
    }
}

/// Two lines become one of pairs; the second may be missing.
fn join(even: &[f32], odd: &[f32], to: &mut [f32]) {
    if odd.is_empty() {
        return even.iter().zip(to).for_each(|(even, to)| *to = pair(*even, 0.0));
    }
    let done = x86::join(even, odd, to);
    let rest = even[done..].iter().zip(&odd[done..]).zip(&mut to[done..]);
    rest.for_each(|((even, odd), to)| *to = pair(*even, *odd));
}

versions! {
    /// Rounds numbers and leaves them f32.
    pub(super) fn round(x: &mut [f32]) {
        x.iter_mut().for_each(|x| *x = f32::from_bits(bfloat16(*x) << 16));
    }
}

/// Two bfloat16 in the bits of one f32.
#[inline(always)]
fn pair(even: f32, odd: f32) -> f32 {
    f32::from_bits(bfloat16(even) | (bfloat16(odd) << 16))
}

/// The nearest bfloat16; of two that are equally near, the even one. What is no number stays none.
#[inline(always)]
fn bfloat16(x: f32) -> u32 {
    let bits = x.to_bits();
    let nearest = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) >> 16;
    if x.is_nan() { (bits >> 16) | 0x40 } else { nearest }
}

/// The same by the processor's own conversion, sixteen pairs at a time; how many were made.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::form::has_bf16;
    use std::arch::x86_64::*;
    use std::mem::transmute;

    const PAIRS: usize = 16;

    pub(super) fn narrow(from: &[f32], to: &mut [f32]) -> usize {
        assert!(has_bf16() && from.len() <= 2 * to.len());
        // SAFETY: the processor has the instructions, and the lengths were checked.
        unsafe { narrow_all(from, to) }
    }

    pub(super) fn join(even: &[f32], odd: &[f32], to: &mut [f32]) -> usize {
        assert!(has_bf16() && even.len() == odd.len() && even.len() == to.len());
        // SAFETY: as above.
        unsafe { join_all(even, odd, to) }
    }

    /// # Safety
    /// `to` must have room for half of `from`.
    #[target_feature(enable = "avx512f,avx512bf16")]
    unsafe fn narrow_all(from: &[f32], to: &mut [f32]) -> usize {
        let done = from.len() / (2 * PAIRS) * PAIRS;
        for at in (0..done).step_by(PAIRS) {
            // SAFETY: the caller vouches for the lengths.
            unsafe {
                let from = from.as_ptr().add(2 * at);
                let (low, high) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(PAIRS)));
                let pairs = transmute::<__m512bh, __m512>(_mm512_cvtne2ps_pbh(high, low));
                _mm512_storeu_ps(to.as_mut_ptr().add(at), pairs);
            }
        }
        done
    }

    /// # Safety
    /// The three must be equally long.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn join_all(even: &[f32], odd: &[f32], to: &mut [f32]) -> usize {
        // The conversion puts all even ones before all odd ones; this brings each to its partner.
        let order: [u16; 32] = std::array::from_fn(|at| (at / 2 + at % 2 * PAIRS) as u16);
        let done = to.len() / PAIRS * PAIRS;
        for at in (0..done).step_by(PAIRS) {
            // SAFETY: the caller vouches for the lengths.
            unsafe {
                let order = transmute::<[u16; 32], __m512i>(order);
                let (low, high) =
                    (_mm512_loadu_ps(even.as_ptr().add(at)), _mm512_loadu_ps(odd.as_ptr().add(at)));
                let halves = transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
                let pairs = transmute::<__m512i, __m512>(_mm512_permutexvar_epi16(order, halves));
                _mm512_storeu_ps(to.as_mut_ptr().add(at), pairs);
            }
        }
        done
    }
}

/// No other processor has a tile for pairs.
#[cfg(not(target_arch = "x86_64"))]
mod x86 {
    pub(super) fn narrow(_: &[f32], _: &mut [f32]) -> usize {
        0
    }

    pub(super) fn join(_: &[f32], _: &[f32], _: &mut [f32]) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::form::has_bf16;
    use super::*;

    fn rounded(x: f32) -> f32 {
        f32::from_bits(bfloat16(x) << 16)
    }

    #[test]
    fn numbers_become_the_nearest_with_eight_bits() {
        let step = 2f32.powi(-7);
        for (x, want) in [
            (0.0, 0.0),
            (-1.0, -1.0),
            (1.0 + 0.5 * step, 1.0),
            (1.0 + 0.51 * step, 1.0 + step),
            (1.0 + 1.5 * step, 1.0 + 2.0 * step),
            (-3.0 - 2.0 * step, -3.015_625),
            (f32::MAX, f32::INFINITY),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
        ] {
            assert_eq!(rounded(x), want, "{x}");
        }
        assert!(rounded(f32::from_bits(0x7F80_0001)).is_nan() && rounded(f32::NAN).is_nan());
    }

    #[test]
    fn pairs_are_the_plain_ones() {
        if !has_bf16() {
            return; // nothing makes pairs here
        }
        let noise = crate::testing::noise(2 * 70, 3);
        for len in [1, 2, 15, 16, 17, 31, 32, 33, 70] {
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let (even, odd) = (&noise[..len], &noise[70..70 + len]);
            let mut joined = vec![0.0; len];
            join(even, odd, &mut joined);
            let want: Vec<f32> = even.iter().zip(odd).map(|(even, odd)| pair(*even, *odd)).collect();
            assert_eq!(bits(&joined), bits(&want));
            let mut narrowed = vec![0.0; len.div_ceil(2)];
            narrow(even, &mut narrowed);
            let two = |two: &[f32]| pair(two[0], two.get(1).copied().unwrap_or(0.0));
            assert_eq!(bits(&narrowed), bits(&even.chunks(2).map(two).collect::<Vec<_>>()));
        }
    }
}
