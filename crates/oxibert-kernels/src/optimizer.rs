//! The parameters' side: the gradient's norm, AdamW in one pass, LAMB in two.

use crate::arch::{fma, versions};
use crate::embedding::add_scaled;
use crate::loss::scale_shift;
use crate::parallel::{add_to, rows_per_piece};
use crate::profile::{Kernel, time};
use crate::team::each;

/// Rows that a thread takes at a time.
const ROWS_AT_ONCE: usize = 16;
/// Elements that stay in registers, or close by, while they take one step after the other.
const BLOCK: usize = 64;
/// Partial sums of the norm: their number does not depend on the threads.
const SUMS: usize = 256;

/// The sum of squares, in f64 and in one order.
pub fn squared_norm(x: &[f32]) -> f64 {
    let _time = time(Kernel::Optimizer);
    let step = x.len().div_ceil(SUMS).max(rows_per_piece(1));
    let mut sums = [0.0; SUMS];
    each(sums.iter_mut().zip(x.chunks(step)), |(sum, x)| *sum = squares(x));
    sums.iter().sum()
}

/// `x = 0`: gradients before a step.
pub fn clear(x: &mut [f32]) {
    let _time = time(Kernel::Optimizer);
    each(x.chunks_mut(rows_per_piece(1)), |x| x.fill(0.0));
}

/// `to += x`: the gradient of one half of a batch goes to that of the other.
pub fn add(to: &mut [f32], x: &[f32]) {
    let _time = time(Kernel::Optimizer);
    assert_eq!(to.len(), x.len(), "add shapes");
    let piece = rows_per_piece(1);
    each(to.chunks_mut(piece).zip(x.chunks(piece)), |(to, x)| add_to(to, x));
}

/// `x *= factor`.
pub fn scale(x: &mut [f32], factor: f32) {
    let _time = time(Kernel::Optimizer);
    each(x.chunks_mut(rows_per_piece(1)), |x| scale_shift(x, factor, 0.0));
}

/// `to += factor * x`.
pub fn axpy(to: &mut [f32], factor: f32, x: &[f32]) {
    let _time = time(Kernel::Optimizer);
    assert_eq!(to.len(), x.len(), "axpy shapes");
    let piece = rows_per_piece(1);
    each(to.chunks_mut(piece).zip(x.chunks(piece)), |(to, x)| add_scaled(to, x, factor));
}

/// One step of AdamW or LAMB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// The learning rate of this step.
    pub lr: f32,
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squares.
    pub beta2: f32,
    /// Added to the root.
    pub eps: f32,
    /// Decoupled: times `lr`, not part of the gradient. Callers give 0 for biases and norms.
    pub weight_decay: f32,
    /// The number of this step from 1, to correct the moments' start at zero; `None` as in Google's code.
    pub bias_correction: Option<u64>,
    /// Multiplies the gradients as they are read: 1, or less to clip their norm.
    pub gradient_scale: f32,
}

impl AdamW {
    /// `1 / (1 - beta^t)` for both moments.
    pub(crate) fn corrections(&self) -> [f64; 2] {
        let of = |beta: f32| {
            self.bias_correction.map_or(1.0, |step| 1.0 / (1.0 - f64::from(beta).powf(step as f64)))
        };
        [of(self.beta1), of(self.beta2)]
    }
}

/// `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr (c1 m / (sqrt(c2 v) + eps) + decay p)`.
pub fn adamw(step: &AdamW, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
    let _time = time(Kernel::Optimizer);
    assert!(p.len() == g.len() && p.len() == m.len() && p.len() == v.len(), "adamw shapes");
    let constants = Constants::new(step);
    let piece = rows_per_piece(4);
    let moments = m.chunks_mut(piece).zip(v.chunks_mut(piece));
    each(p.chunks_mut(piece).zip(g.chunks(piece)).zip(moments), |((p, g), (m, v))| {
        adamw_piece(&constants, p, g, m, v);
    });
}

/// A step of [`adamw`] without a gradient, ready for rows that take it later than others.
#[derive(Clone, Copy, Debug)]
pub struct IdleStep(Constants);

impl IdleStep {
    /// This step.
    pub fn new(step: &AdamW) -> Self {
        Self(Constants::new(step))
    }
}

/// A row of a table that has steps to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleRow {
    /// Its number in the table.
    pub row: u32,
    /// The first of the steps that it has not taken.
    pub first: u32,
    /// Whether its moments may differ from zero; if not, it only decays.
    pub awake: bool,
}

/// Takes the steps that `rows`, in ascending order, of a table of `width` columns have not taken. The bits are those of [`adamw`] with
/// gradients of zero, whenever that is done.
pub fn adamw_idle(
    steps: &[IdleStep],
    width: usize,
    rows: &[IdleRow],
    p: &mut [f32],
    m: &mut [f32],
    v: &mut [f32],
) {
    let _time = time(Kernel::Optimizer);
    assert!(p.len() == m.len() && p.len() == v.len(), "adamw shapes");
    assert!(rows.windows(2).all(|pair| pair[0].row < pair[1].row), "rows in ascending order");
    let mut done = 0;
    let mut rest = [p, m, v];
    let groups = rows.chunks(ROWS_AT_ONCE).map(|group| {
        let place = |row: &IdleRow| row.row as usize * width;
        let (start, end) = (place(&group[0]), place(&group[group.len() - 1]) + width);
        let own = rest.each_mut().map(|x| {
            let (own, later) = std::mem::take(x).split_at_mut(end - done);
            *x = later;
            &mut own[start - done..]
        });
        done = end;
        (group, own)
    });
    each(groups, |(group, [p, m, v])| {
        for IdleRow { row, first, awake } in group {
            let start = (row - group[0].row) as usize * width;
            let own = start..start + width;
            let steps = &steps[*first as usize..];
            if *awake {
                idle_row(steps, &mut p[own.clone()], &mut m[own.clone()], &mut v[own]);
            } else {
                decayed_row(steps, &mut p[own]);
            }
        }
    });
}

/// One step of LAMB (You et al., 2019) for one parameter, whose elements share a rate; returns its trust ratio.
///
/// `u = c1 m / (sqrt(c2 v) + eps) + decay p; p -= lr (|p| / |u|) u`, the moments as in [`adamw`]. The ratio is 1 where either
/// norm is 0. Biases and norms are not for this: callers take [`adamw`], which is the same with the ratio 1.
pub fn lamb(step: &AdamW, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) -> f64 {
    let _time = time(Kernel::Optimizer);
    assert!(p.len() == g.len() && p.len() == m.len() && p.len() == v.len(), "lamb shapes");
    let constants = Constants::new(step);
    let [parameter, update] = lamb_norms(&constants, p, g, m, v);
    let ratio = if parameter > 0.0 && update > 0.0 { (parameter / update).sqrt() } else { 1.0 };
    let rate = (f64::from(step.lr) * ratio) as f32;
    let piece = rows_per_piece(3);
    each(p.chunks_mut(piece).zip(m.chunks(piece).zip(v.chunks(piece))), |(p, (m, v))| {
        lamb_step(&constants, rate, p, m, v);
    });
    ratio
}

/// Brings the moments up to date; the sums of squares of `p` and of its update, in one order.
fn lamb_norms(c: &Constants, p: &[f32], g: &[f32], m: &mut [f32], v: &mut [f32]) -> [f64; 2] {
    let piece = p.len().div_ceil(SUMS).max(rows_per_piece(4));
    let mut sums = [[0.0; 2]; SUMS];
    let moments = m.chunks_mut(piece).zip(v.chunks_mut(piece));
    let pieces = p.chunks(piece).zip(g.chunks(piece)).zip(moments);
    each(sums.iter_mut().zip(pieces), |(sums, ((p, g), (m, v)))| *sums = lamb_piece(c, p, g, m, v));
    sums.iter().fold([0.0; 2], |[p, u], sums| [p + sums[0], u + sums[1]])
}

fn lamb_piece(c: &Constants, p: &[f32], g: &[f32], m: &mut [f32], v: &mut [f32]) -> [f64; 2] {
    const PART: usize = 1024;
    let mut room = [0.0; PART];
    let mut sums = [0.0; 2];
    let moments = m.chunks_mut(PART).zip(v.chunks_mut(PART));
    for ((p, g), (m, v)) in p.chunks(PART).zip(g.chunks(PART)).zip(moments) {
        let u = &mut room[..p.len()];
        lamb_update(c, p, g, m, v, u);
        sums[0] += squares(p);
        sums[1] += squares(u);
    }
    sums
}

/// [`AdamW`] with what is the same for all elements computed once.
#[derive(Clone, Copy, Debug)]
struct Constants {
    keep: f32,
    rate: f32,
    correction: f32,
    root: f32,
    step: AdamW,
}

impl Constants {
    fn new(step: &AdamW) -> Self {
        let [c1, c2] = step.corrections();
        Self {
            keep: 1.0 - step.lr * step.weight_decay,
            rate: (f64::from(step.lr) * c1) as f32,
            correction: c1 as f32,
            root: c2.sqrt() as f32,
            step: *step,
        }
    }

    /// AdamW's step of an element.
    #[inline(always)]
    fn adam<const FMA: bool>(&self, p: &mut f32, g: f32, m: &mut f32, v: &mut f32) {
        let AdamW { beta1, beta2, eps, gradient_scale, .. } = self.step;
        let g = g * gradient_scale;
        *m = fma::<FMA>(beta1, *m, (1.0 - beta1) * g);
        *v = fma::<FMA>(beta2, *v, (1.0 - beta2) * g * g);
        *p = fma::<FMA>(self.keep, *p, -self.rate * *m / fma::<FMA>(v.sqrt(), self.root, eps));
    }

    /// LAMB's update of an element before its rate: computed twice, because that is cheaper than keeping it.
    #[inline(always)]
    fn update<const FMA: bool>(&self, p: f32, m: f32, v: f32) -> f32 {
        let adam = self.correction * m / fma::<FMA>(v.sqrt(), self.root, self.step.eps);
        fma::<FMA>(self.step.weight_decay, p, adam)
    }
}

versions! {
    fn squares(x: &[f32]) -> f64 {
        let mut lanes = [0.0f64; 16];
        let chunks = x.chunks_exact(16);
        let rest = chunks.remainder();
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *lane += f64::from(*x) * f64::from(*x);
            }
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            *lane += f64::from(*x) * f64::from(*x);
        }
        lanes.iter().sum()
    }

    fn adamw_piece(c: &Constants, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) {
        for (((p, g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
            c.adam::<FMA>(p, *g, m, v);
        }
    }

    /// Steps without a gradient.
    fn idle_row(steps: &[IdleStep], p: &mut [f32], m: &mut [f32], v: &mut [f32]) {
        let moments = m.chunks_mut(BLOCK).zip(v.chunks_mut(BLOCK));
        for (p, (m, v)) in p.chunks_mut(BLOCK).zip(moments) {
            for IdleStep(c) in steps {
                for ((p, m), v) in p.iter_mut().zip(m.iter_mut()).zip(v.iter_mut()) {
                    c.adam::<FMA>(p, 0.0, m, v);
                }
            }
        }
    }

    /// The same where both moments are zero.
    fn decayed_row(steps: &[IdleStep], p: &mut [f32]) {
        for p in p.chunks_mut(BLOCK) {
            for IdleStep(c) in steps {
                p.iter_mut().for_each(|p| *p *= c.keep);
            }
        }
    }

    fn lamb_update(c: &Constants, p: &[f32], g: &[f32], m: &mut [f32], v: &mut [f32], u: &mut [f32]) {
        let AdamW { beta1, beta2, gradient_scale, .. } = c.step;
        let (new1, new2) = (1.0 - beta1, 1.0 - beta2);
        for ((((p, g), m), v), u) in p.iter().zip(g).zip(m).zip(v).zip(u) {
            let g = *g * gradient_scale;
            *m = fma::<FMA>(beta1, *m, new1 * g);
            *v = fma::<FMA>(beta2, *v, new2 * g * g);
            *u = c.update::<FMA>(*p, *m, *v);
        }
    }

    fn lamb_step(c: &Constants, rate: f32, p: &mut [f32], m: &[f32], v: &[f32]) {
        for ((p, m), v) in p.iter_mut().zip(m).zip(v) {
            *p = fma::<FMA>(-rate, c.update::<FMA>(*p, *m, *v), *p);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar;
    use crate::testing::{assert_close, noise, on_threads};

    const STEP: AdamW = AdamW {
        lr: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-6,
        weight_decay: 0.01,
        bias_correction: None,
        gradient_scale: 0.5,
    };

    type StepFn = fn(&AdamW, &mut [f32], &[f32], &mut [f32], &mut [f32]) -> f64;

    fn adamw_ratio(step: &AdamW, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) -> f64 {
        adamw(step, p, g, m, v);
        1.0
    }

    fn plain_adamw_ratio(step: &AdamW, p: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32]) -> f64 {
        scalar::adamw(step, p, g, m, v);
        1.0
    }

    /// Parameters and moments after ten steps, and the last trust ratio.
    fn ten_steps(kernel: StepFn, len: usize, corrected: bool) -> ([Vec<f32>; 3], f64) {
        let mut state = [noise(len, 1), vec![0.0; len], vec![0.0; len]];
        let mut ratio = 0.0;
        for t in 1..=10 {
            let step = AdamW { bias_correction: corrected.then_some(t), ..STEP };
            let [p, m, v] = &mut state;
            ratio = kernel(&step, p, &noise(len, 10 + t), m, v);
        }
        (state, ratio)
    }

    #[test]
    fn ten_steps_equal_the_plain_forms() {
        let pairs: [(StepFn, StepFn); 2] = [(adamw_ratio, plain_adamw_ratio), (lamb, scalar::lamb)];
        for (fast, plain) in pairs {
            for len in [0, 1, 15, 16, 1023, 5000, 100_003] {
                for corrected in [false, true] {
                    let (fast, ratio) = ten_steps(fast, len, corrected);
                    let (plain, plain_ratio) = ten_steps(plain, len, corrected);
                    for (fast, plain) in fast.iter().zip(&plain) {
                        assert_close(fast, plain, 1e-6, &format!("{len} elements, corrected {corrected}"));
                    }
                    assert!((ratio / plain_ratio - 1.0).abs() < 1e-5, "{ratio} {plain_ratio}");
                }
            }
        }
    }

    /// Rows that have a gradient now and then, if ever, and take the steps between later, some of them in turn, all of them at last.
    #[test]
    fn idle_rows_take_their_steps_later() {
        for (rows, width) in [(0, 4), (1, 1), (7, 3), (1000, 37), (40, 130)] {
            let has_gradient = |row: usize, t: u64| row % 5 < 2 && (row as u64 + t).is_multiple_of(4);
            let mut start = noise(rows * width, 99);
            start.iter_mut().step_by(11).for_each(|p| *p = -0.0);
            let [mut all, mut late] =
                [0; 2].map(|_| [start.clone(), vec![0.0; start.len()], vec![0.0; start.len()]]);
            let mut idle = Vec::new();
            let mut taken = vec![(0u32, false); rows];
            for t in 1..=10 {
                let step = AdamW { bias_correction: Some(t), ..STEP };
                let mut g = noise(rows * width, t);
                g.chunks_exact_mut(width)
                    .enumerate()
                    .filter(|(row, _)| !has_gradient(*row, t))
                    .for_each(|(_, g)| g.fill(0.0));
                let [p, m, v] = &mut all;
                adamw(&step, p, &g, m, v);
                let [p, m, v] = &mut late;
                catch_up(&idle, width, &mut taken, |row| has_gradient(row, t) || row % 7 == 0, [p, m, v]);
                for row in (0..rows).filter(|&row| has_gradient(row, t)) {
                    let own = row * width..(row + 1) * width;
                    adamw(&step, &mut p[own.clone()], &g[own.clone()], &mut m[own.clone()], &mut v[own]);
                    taken[row] = (idle.len() as u32 + 1, true);
                }
                idle.push(IdleStep::new(&step));
            }
            let [p, m, v] = &mut late;
            catch_up(&idle, width, &mut taken, |_| true, [p, m, v]);
            let bits =
                |state: [Vec<f32>; 3]| state.map(|x| x.into_iter().map(f32::to_bits).collect::<Vec<_>>());
            assert_eq!(bits(late), bits(all), "{rows} rows of {width}");
        }
    }

    fn catch_up(
        steps: &[IdleStep],
        width: usize,
        taken: &mut [(u32, bool)],
        wanted: impl Fn(usize) -> bool,
        [p, m, v]: [&mut Vec<f32>; 3],
    ) {
        let rows = taken.iter_mut().enumerate().filter(|(row, _)| wanted(*row));
        let rows: Vec<IdleRow> = rows
            .map(|(row, (taken, awake))| {
                let first = std::mem::replace(taken, steps.len() as u32);
                IdleRow { row: row as u32, first, awake: *awake }
            })
            .collect();
        on_threads(3, || adamw_idle(steps, width, &rows, p, m, v));
    }

    /// The first corrected step is `sign(g)`: `u = [1 + 0.03, -1 + 0.04]` and `|p| = 5`.
    #[test]
    fn lamb_is_the_papers_on_two_numbers() {
        let step = AdamW { bias_correction: Some(1), eps: 0.0, ..STEP };
        let (mut p, mut m, mut v) = ([3.0, 4.0], [0.0; 2], [0.0; 2]);
        let ratio = lamb(&step, &mut p, &[0.5, -7.0], &mut m, &mut v);
        assert!((ratio - 5.0 / 1.03f64.hypot(0.96)).abs() < 1e-5, "{ratio}");
        let rate = 1e-3 * ratio as f32;
        assert_close(&p, &[3.0 - rate * 1.03, 4.0 + rate * 0.96], 1e-6, "parameters");
    }

    #[test]
    fn lamb_trusts_where_a_norm_is_zero() {
        let (mut m, mut v) = ([0.0; 3], [0.0; 3]);
        let mut zeros = [0.0; 3];
        assert_eq!(lamb(&STEP, &mut zeros, &[1.0, 2.0, 3.0], &mut m, &mut v), 1.0);
        assert!(zeros.iter().all(|&p| p < 0.0), "parameters at zero can leave it");
        let still = AdamW { weight_decay: 0.0, ..STEP };
        let (mut p, mut m, mut v) = ([1.0, 2.0, 3.0], [0.0; 3], [0.0; 3]);
        assert_eq!(lamb(&still, &mut p, &[0.0; 3], &mut m, &mut v), 1.0);
        assert_eq!(p, [1.0, 2.0, 3.0]);
    }

    #[test]
    fn threads_do_not_show() {
        for len in [70_001, 1_200_003] {
            let bits = |threads| {
                let (state, ratio) = on_threads(threads, || ten_steps(lamb, len, true));
                (state.map(|x| x.into_iter().map(f32::to_bits).collect::<Vec<_>>()), ratio.to_bits())
            };
            let one = bits(1);
            assert!(one == bits(2) && one == bits(5), "{len} elements");
        }
    }

    #[test]
    fn norm_scale_and_axpy_equal_the_plain_forms() {
        for len in [0, 1, 17, 100_003] {
            let x = noise(len, 1);
            let want = scalar::squared_norm(&x);
            assert!((squared_norm(&x) - want).abs() <= 1e-12 * want.max(1.0));
            let mut y = noise(len, 2);
            let mut expected = y.clone();
            scalar::axpy(&mut expected, 0.3, &x);
            scalar::scale(&mut expected, 0.7);
            axpy(&mut y, 0.3, &x);
            scale(&mut y, 0.7);
            assert_close(&y, &expected, 1e-6, "axpy, scale");
        }
    }

    #[test]
    fn the_norm_has_one_order() {
        let x = noise(5_000_000, 3);
        let bits = |threads| on_threads(threads, || squared_norm(&x).to_bits());
        assert!(bits(1) == bits(2) && bits(1) == bits(5));
    }
}
