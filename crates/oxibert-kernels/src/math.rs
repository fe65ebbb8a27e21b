//! Elementary functions as straight-line arithmetic, so that a loop over them becomes vector code, and sums over
//! sixteen lanes in one fixed order.
//!
//! NaN stays NaN: comparisons are written so that it passes through the clamps.

use crate::arch::fma;

/// Partial sums of a reduction: wide enough for one AVX-512 or two AVX2 registers.
pub(crate) const LANES: usize = 16;

#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

#[inline(always)]
fn horner<const FMA: bool, const K: usize>(x: f32, coefficients: [f32; K]) -> f32 {
    let mut value = coefficients[0];
    for c in &coefficients[1..] {
        value = fma::<FMA>(value, x, *c);
    }
    value
}

/// `e^x` within 2 units in the last place; below -87.3 it stays at e^-87.3, the smallest normal number.
///
/// Cephes' polynomial on [-ln 2 / 2, ln 2 / 2], times a power of two that is put together from bits.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = clamp(x, -87.3, 88.3);
    let shifted = fma::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = fma::<FMA>(k, -0.693_359_4, x);
    let r = fma::<FMA>(k, 2.121_944_4e-4, r);
    let p = [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1];
    let p = fma::<FMA>(horner::<FMA, 6>(r, p), r * r, r + 1.0);
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// The natural logarithm of a positive normal number, within 2 units in the last place.
///
/// Cephes' polynomial on [sqrt(1/2), sqrt(2)], and the power of two that was taken off.
#[inline(always)]
pub(crate) fn ln<const FMA: bool>(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let power = (x.to_bits().wrapping_sub(SQRT_HALF) as i32) >> 23;
    let m = f32::from_bits(x.to_bits().wrapping_sub((power << 23) as u32)) - 1.0;
    let (e, m2) = (power as f32, m * m);
    let p = [
        7.037_683_6e-2,
        -1.151_461e-1,
        1.167_699_8e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_7e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ];
    let tail = fma::<FMA>(e, -2.121_944_4e-4, m2 * m * horner::<FMA, 9>(m, p));
    fma::<FMA>(e, 0.693_359_4, fma::<FMA>(-0.5, m2, tail) + m)
}

/// The error function within 5e-7 (a test states the bound); Eigen's and XLA's quotient of polynomials.
#[inline(always)]
pub(crate) fn erf<const FMA: bool>(x: f32) -> f32 {
    let x = clamp(x, -4.0, 4.0);
    let s = x * x;
    let above = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ];
    let below = [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329_2e-3, -1.426_473_9e-2];
    x * horner::<FMA, 7>(s, above) / horner::<FMA, 5>(s, below)
}

/// The hyperbolic tangent within 5e-7; Eigen's quotient of polynomials.
#[inline(always)]
pub(crate) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let x = clamp(x, -7.905_311, 7.905_311);
    let s = x * x;
    let above = [
        -2.760_768_5e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297_1e-8,
        1.485_722_4e-5,
        6.372_619_3e-4,
        4.893_524_6e-3,
    ];
    let below = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3];
    x * horner::<FMA, 7>(s, above) / horner::<FMA, 4>(s, below)
}

/// The lanes of a sum, added as a tree.
#[inline(always)]
pub(crate) fn total(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// `sum f(x)` in a fixed order.
#[inline(always)]
pub(crate) fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += f(*x);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane += f(*x);
    }
    total(lanes)
}

/// `sum x * y` in a fixed order.
#[inline(always)]
pub(crate) fn dot<const FMA: bool>(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let (x_rest, y_rest) = (xs.remainder(), ys.remainder());
    for (x, y) in xs.zip(ys) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane = fma::<FMA>(*x, *y, *lane);
        }
    }
    for ((lane, x), y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
        *lane = fma::<FMA>(*x, *y, *lane);
    }
    total(lanes)
}

/// The largest element; minus infinity if there is none.
#[inline(always)]
pub(crate) fn max(x: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, *x);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = larger(*lane, *x);
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;

    fn worst(low: f32, high: f32, f: impl Fn(f32) -> f32, truth: impl Fn(f64) -> f64) -> f64 {
        let steps = 200_000;
        let at = |i: i32| low + (high - low) * i as f32 / steps as f32;
        (0..=steps).map(at).map(|x| (f64::from(f(x)) - truth(f64::from(x))).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn erf_stays_within_half_a_millionth() {
        let with = worst(-6.0, 6.0, erf::<true>, scalar::erf);
        let without = worst(-6.0, 6.0, erf::<false>, scalar::erf);
        assert!(with < 5e-7 && without < 5e-7, "{with:e} {without:e}");
    }

    #[test]
    fn tanh_stays_within_half_a_millionth() {
        let error = worst(-12.0, 12.0, tanh::<true>, f64::tanh);
        assert!(error < 5e-7, "{error:e}");
    }

    #[test]
    fn ln_stays_within_two_units_in_the_last_place() {
        for i in 1..40_000 {
            let x = 1e-3 * (i as f32).powf(1.7);
            let want = f64::from(x).ln();
            for got in [ln::<true>(x), ln::<false>(x)] {
                let error = (f64::from(got) - want).abs();
                assert!(error <= 2.4e-7 * want.abs().max(0.1), "ln({x}): {got} {want}");
            }
        }
        assert_eq!(ln::<true>(1.0), 0.0);
    }

    #[test]
    fn exp_stays_within_two_units_in_the_last_place() {
        for i in -870..880 {
            let x = i as f32 / 10.0 + 0.013;
            let want = f64::from(x).exp();
            let error = (f64::from(exp::<true>(x)) - want).abs() / want;
            assert!(error < 2.4e-7, "exp({x}): {error:e}");
        }
        assert!(exp::<true>(-1000.0) < 2e-38 && exp::<true>(f32::NEG_INFINITY) < 2e-38);
    }

    #[test]
    fn nan_stays_nan() {
        assert!(
            exp::<true>(f32::NAN).is_nan()
                && erf::<true>(f32::NAN).is_nan()
                && tanh::<true>(f32::NAN).is_nan()
        );
    }
}
