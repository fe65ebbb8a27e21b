//! The fast product against the plain one, at every border, and the same bits for any number of threads.

use super::*;
use crate::scalar;
use crate::testing::{assert_close, noise, on_threads};

const SIZES: [usize; 8] = [0, 1, 2, 7, 16, 17, 33, 50];

fn check(m: usize, k: usize, n: usize, form: &str, start: &str) {
    let (a, b) = (noise(m * k, 1), noise(k * n, 2));
    let (bias, old) = (noise(n, 3), noise(m * n, 4));
    let a = if form == "dw" { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
    let b = if form == "linear" { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
    let mut want = match start {
        "add" => old.clone(),
        "bias" => bias.iter().copied().cycle().take(m * n).collect(),
        _ => vec![0.0; m * n],
    };
    scalar::gemm(&mut want, a, b);
    let start = match start {
        "add" => Start::Add,
        "bias" => Start::Bias(&bias),
        _ => Start::Zero,
    };
    let mut out = old;
    gemm(MatMut::new(&mut out, m, n), a, b, start);
    assert_close(&out, &want, 2e-5, &format!("{form} [{m}, {k}] x [{k}, {n}] {start:?}"));
}

#[test]
fn equals_the_plain_product_at_every_border() {
    for m in SIZES {
        for n in SIZES {
            for k in [0, 1, 9, 64] {
                for form in ["linear", "dx", "dw"] {
                    check(m, k, n, form, "zero");
                    check(m, k, n, form, "add");
                    check(m, k, n, form, "bias");
                }
            }
        }
    }
}

#[test]
fn long_sums_cross_the_blocks_of_the_depth() {
    for k in [255, 256, 257, 600, 769] {
        for form in ["linear", "dx", "dw"] {
            check(203, k, 37, form, "bias");
            check(5, k, 130, form, "add");
        }
    }
}

#[test]
fn columns_inside_a_wider_buffer_are_left_alone() {
    let (a, b) = (noise(5 * 3, 1), noise(3 * 4, 2));
    let mut wide = vec![7.0; 5 * 8];
    let [_, right] = MatMut::split_columns::<2>(&mut wide, 4);
    gemm(right, Mat::new(&a, 5, 3), Mat::new(&b, 3, 4), Start::Zero);
    let mut want = vec![0.0; 20];
    scalar::gemm(&mut want, Mat::new(&a, 5, 3), Mat::new(&b, 3, 4));
    for (row, want) in wide.chunks_exact(8).zip(want.chunks_exact(4)) {
        assert_eq!(row[..4], [7.0; 4]);
        assert_close(&row[4..], want, 1e-5, "the right half");
    }
}

#[test]
fn packed_weights_and_any_batch_give_the_same_bits() {
    let (n, i, o) = (70, 300, 45);
    let (x, w, bias) = (noise(n * i, 1), noise(o * i, 2), noise(o, 3));
    let mut y = vec![0.0; n * o];
    linear(&x, &w, Some(&bias), i, &mut y);
    let packed = PackedWeight::new(&w, i);
    let mut again = vec![0.0; n * o];
    packed.linear(&x, Some(&bias), &mut again);
    assert_eq!(y, again);
    let mut one = vec![0.0; o];
    packed.linear(&x[9 * i..10 * i], Some(&bias), &mut one);
    assert_eq!(one, y[9 * o..10 * o]);
    in_bf16(true, || linear(&x, &w, Some(&bias), i, &mut y));
    PackedWeight::bf16(&w, i).linear(&x, Some(&bias), &mut again);
    assert_eq!(y, again);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (m, k, n) = (500, 300, 400);
    let (a, b) = (noise(m * k, 1), noise(k * n, 2));
    let product = |threads| {
        on_threads(threads, || {
            let mut out = vec![0.0; m * n];
            gemm(MatMut::new(&mut out, m, n), Mat::new(&a, k, m).t(), Mat::new(&b, k, n), Start::Zero);
            out
        })
    };
    let one = product(1);
    assert!(one == product(2) && one == product(3) && one == product(8));
}

/// A layer's three products in bfloat16, and the plain ones of rounded numbers.
fn check_bf16(m: usize, k: usize, n: usize) {
    let rounded = |len: usize, seed: u64| -> Vec<f32> {
        noise(len, seed).into_iter().map(|x| f32::from_bits(x.to_bits() & 0xFFFF_0000)).collect()
    };
    let (x, w, dy) = (rounded(m * k, 1), rounded(n * k, 2), rounded(m * n, 3));
    // What bfloat16 has no bits for must be rounded away: numbers a hair larger are multiplied.
    let hair = |x: &[f32]| -> Vec<f32> { x.iter().map(|x| x * (1.0 + 1e-4)).collect() };
    let [x_, w_, dy_] = [&x, &w, &dy].map(|x| hair(x));
    let bias = noise(n, 4);
    let (mut y, mut dx, mut dw) = (vec![0.0; m * n], vec![0.0; m * k], noise(n * k, 5));
    let mut want_y: Vec<f32> = bias.iter().copied().cycle().take(m * n).collect();
    let (mut want_dx, mut want_dw) = (vec![0.0; m * k], dw.clone());
    in_bf16(true, || {
        linear(&x_, &w_, Some(&bias), k, &mut y);
        linear_dx(&dy_, &w_, n, false, &mut dx);
        linear_dw(&dy_, &x_, k, true, &mut dw);
    });
    let (x, w, dy) = (Mat::new(&x, m, k), Mat::new(&w, n, k), Mat::new(&dy, m, n));
    scalar::gemm(&mut want_y, x, w.t());
    scalar::gemm(&mut want_dx, dy, w);
    scalar::gemm(&mut want_dw, dy.t(), x);
    for (name, got, want) in [("y", y, want_y), ("dx", dx, want_dx), ("dw", dw, want_dw)] {
        assert_close(&got, &want, 2e-5, &format!("{name} of [{m}, {k}] -> {n}"));
    }
}

#[test]
fn bfloat16_equals_the_plain_product_of_rounded_numbers() {
    for m in SIZES {
        for n in &SIZES[1..] {
            for k in [1, 2, 9, 64] {
                check_bf16(m, k, *n);
            }
        }
    }
    for k in [767, 768, 769, 1601] {
        check_bf16(203, k, 37);
        check_bf16(5, k, 130);
    }
}

#[test]
fn bfloat16_has_the_same_bits_for_any_number_of_threads() {
    let (m, k, n) = (500, 301, 400);
    let (x, w) = (noise(m * k, 1), noise(n * k, 2));
    let product = |threads| {
        on_threads(threads, || {
            let mut y = vec![0.0; m * n];
            in_bf16(true, || linear(&x, &w, None, k, &mut y));
            y
        })
    };
    let one = product(1);
    assert!(one == product(2) && one == product(3));
    let mut exact = vec![0.0; m * n];
    linear(&x, &w, None, k, &mut exact);
    assert!(one != exact);
}
