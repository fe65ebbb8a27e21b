//! Speed of every kernel at BERT-base's shapes (8 sequences of 128 tokens), against the machine's measured peak.
//!
//! `cargo bench -p oxibert-kernels` runs all; a word after `--` picks the kernels whose names contain it. The number of
//! threads is rayon's (`RAYON_NUM_THREADS`). Best of several runs: other work on the machine only slows it down.

#![allow(clippy::print_stdout)]

use oxibert_kernels::*;
use std::time::{Duration, Instant};

const N: usize = 1024;
const H: usize = 768;
const I: usize = 3072;
const V: usize = 30522;

struct Bench {
    filter: Option<String>,
    peak: f64,
}

impl Bench {
    fn wanted(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|f| name.contains(f.as_str()))
    }

    /// The best time of one call.
    fn best(&self, mut f: impl FnMut()) -> f64 {
        f();
        let (begin, mut best) = (Instant::now(), f64::MAX);
        while begin.elapsed() < Duration::from_millis(200) {
            let start = Instant::now();
            f();
            best = best.min(start.elapsed().as_secs_f64());
        }
        best
    }

    fn flops(&self, name: &str, flops: usize, f: impl FnMut()) {
        if self.wanted(name) {
            let time = self.best(f);
            let speed = flops as f64 / time / 1e9;
            let share = 100.0 * speed / self.peak;
            println!("{name:<34} {:9.3} ms  {speed:7.1} GFLOP/s  {share:3.0} % of peak", time * 1e3);
        }
    }

    fn bytes(&self, name: &str, floats: usize, f: impl FnMut()) {
        if self.wanted(name) {
            let time = self.best(f);
            println!("{name:<34} {:9.3} ms  {:7.1} GB/s", time * 1e3, 4.0 * floats as f64 / time / 1e9);
        }
    }
}

fn noise(len: usize) -> Vec<f32> {
    let mut state = 0x9E37_79B9u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

fn products(bench: &Bench) {
    for (n, i, o) in [(N, H, H), (N, H, I), (N, I, H), (4096, 256, 1024), (160, H, V), (16, H, H)] {
        let name = |form: &str| format!("{form} [{n}, {i}] -> {o}");
        if !["linear", "packed", "dx", "dw"].iter().any(|form| bench.wanted(&name(form))) {
            continue;
        }
        let (x, w, bias, mut y) = (noise(n * i), noise(o * i), noise(o), noise(n * o));
        let (mut dx, mut dw) = (noise(n * i), noise(o * i));
        let flops = 2 * n * i * o;
        bench.flops(&name("linear"), flops, || linear(&x, &w, Some(&bias), i, &mut y));
        let packed = PackedWeight::new(&w, i);
        bench.flops(&name("packed"), flops, || packed.linear(&x, Some(&bias), &mut y));
        bench.flops(&name("dx"), flops, || linear_dx(&y, &w, o, false, &mut dx));
        bench.flops(&name("dw"), flops, || linear_dw(&y, &x, i, false, &mut dw));
        in_bf16(true, || {
            bench.flops(&name("bf16 linear"), flops, || linear(&x, &w, Some(&bias), i, &mut y));
            bench.flops(&name("bf16 dx"), flops, || linear_dx(&y, &w, o, false, &mut dx));
            bench.flops(&name("bf16 dw"), flops, || linear_dw(&y, &x, i, false, &mut dw));
        });
    }
}

fn layers(bench: &Bench) {
    let (z, mut y, mut dbias) = (noise(N * I), noise(N * I), vec![0.0; I]);
    for f in [Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
        bench.bytes(&format!("{f:?} [1024, 3072]"), 2 * N * I, || activation(f, &z, &mut y));
        let name = format!("{f:?} backward [1024, 3072]");
        // Repeated products with the slope would end in denormal numbers; a zero gradient does not.
        y.fill(0.0);
        bench.bytes(&name, 3 * N * I, || activation_backward(f, &z, &mut y, Some(&mut dbias)));
    }
    bench.bytes("bias gradient [1024, 3072]", N * I, || bias_gradient(&z, &mut dbias));
    bench.bytes("dropout [1024, 3072]", 2 * N * I, || dropout(&mut y, I, Dropout::new(0.1, 1, 1)));
    norms(bench);
    let (table, ids, mut out) =
        (noise(V * H), (0..N as u32).map(|i| i * 29).collect::<Vec<_>>(), noise(N * H));
    let lookups = [Lookup { table: &table, ids: &ids, scale: 1.0 }; 3];
    bench.bytes("embed [1024, 768] of 3 tables", 4 * N * H, || embed(&lookups, H, &mut out));
    let mut dtable = vec![0.0; V * H];
    bench.bytes("embed backward [1024, 768]", 3 * N * H, || embed_backward(&out, &ids, 1.0, H, &mut dtable));
    let labels: Vec<u32> = (0..160).collect();
    let mut logits = noise(160 * V);
    bench.bytes("cross entropy [160, 30522]", 2 * 160 * V, || {
        cross_entropy(&mut logits, &labels, 0.0, 1.0);
    });
}

fn norms(bench: &Bench) {
    let (gamma, beta, residual) = (noise(H), noise(H), noise(N * H));
    let (mut x, mut y, mut mean, mut rstd) = (noise(N * H), noise(N * H), vec![0.0; N], vec![0.0; N]);
    let norm = Norm { gamma: &gamma, beta: &beta, eps: 1e-12 };
    for (name, dropout) in [("", Dropout::OFF), (" with dropout", Dropout::new(0.1, 1, 2))] {
        bench.bytes(&format!("add layer norm{name} [1024, 768]"), 4 * N * H, || {
            let moments = Moments { mean: &mut mean, rstd: &mut rstd };
            add_layer_norm(&mut x, Some(&residual), dropout, norm, &mut y, moments);
        });
        let (mut d, mut dx) = (noise(N * H), noise(N * H));
        let (mut dgamma, mut dbeta) = (vec![0.0; H], vec![0.0; H]);
        let (sum, gamma) = (&residual, &gamma);
        bench.bytes(&format!("layer norm backward{name}"), 4 * N * H, || {
            let given = NormBackward { sum, gamma, mean: &mean, rstd: &rstd, dropout, skip: None };
            let gradients = NormGradients { dgamma: &mut dgamma, dbeta: &mut dbeta, dbias: None };
            add_layer_norm_backward(given, &mut d, Some(&mut dx), gradients);
        });
    }
}

fn attentions(bench: &Bench) {
    for (sequences, length, rate) in [(8, 128, 0.0), (8, 128, 0.1), (2, 512, 0.0), (32, 32, 0.0)] {
        let n = sequences * length;
        let offsets: Vec<usize> = (0..=sequences).map(|s| s * length).collect();
        let dropout = if rate > 0.0 { Dropout::new(rate, 1, 1) } else { Dropout::OFF };
        let (q_offsets, k_offsets) = (&offsets[..], &offsets[..]);
        let shape = Attention { heads: 12, head_size: 64, q_offsets, k_offsets, causal: false, dropout };
        let (qkv, dout) = (noise(n * 3 * H), noise(n * H));
        let (mut out, mut lse, mut dqkv) = (noise(n * H), vec![0.0; 12 * n], noise(n * 3 * H));
        let [q, k, v] = [0, 1, 2].map(|part| Mat::columns(&qkv, 3 * H, part * H, H));
        let product = 2 * n * length * H;
        let name = format!("{sequences} x {length}, dropout {rate}");
        bench.flops(&format!("attention {name}"), 2 * product, || {
            attention(&shape, [q, k, v], MatMut::new(&mut out, n, H), &mut lse, None);
        });
        let given = AttentionBackward { q, k, v, lse: &lse, dout: Mat::new(&dout, n, H) };
        bench.flops(&format!("attention backward {name}"), 5 * product, || {
            attention_backward(&shape, given, MatMut::split_columns(&mut dqkv, H));
        });
    }
}

fn optimizer(bench: &Bench) {
    let len = 16 << 20;
    let (mut p, g, mut m, mut v) = (noise(len), noise(len), vec![0.0; len], vec![0.0; len]);
    let step = AdamW {
        lr: 1e-4,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-6,
        weight_decay: 0.01,
        bias_correction: Some(1),
        gradient_scale: 1.0,
    };
    bench.bytes("adamw, 16 Mi parameters", 7 * len, || adamw(&step, &mut p, &g, &mut m, &mut v));
    bench.bytes("squared norm, 16 Mi parameters", len, || {
        std::hint::black_box(squared_norm(&g));
    });
}

fn main() {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let peak = measured_peak(Duration::from_millis(200));
    println!("{}; peak {peak:.0} GFLOP/s", cpu());
    let bench = Bench { filter, peak };
    products(&bench);
    attentions(&bench);
    layers(&bench);
    optimizer(&bench);
}
