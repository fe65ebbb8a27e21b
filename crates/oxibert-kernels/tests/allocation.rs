//! Once warm, no kernel allocates: a training step's memory is what the caller set up.

mod counting;

use counting::allocations;
use oxibert_kernels::*;
const N: usize = 70;
const H: usize = 48;
const OFFSETS: [usize; 3] = [0, 50, 70];

/// Buffers of one small step.
struct Step {
    x: Vec<f32>,
    w: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    dw: Vec<f32>,
    h: [Vec<f32>; 4],
    n: [Vec<f32>; 2],
    qkv: [Vec<f32>; 2],
    lse: Vec<f32>,
    packed: PackedWeight,
}

impl Step {
    fn new() -> Self {
        let w = vec![0.1; H * H];
        Self {
            x: vec![0.1; N * H],
            packed: PackedWeight::new(&w, H),
            w,
            y: vec![0.1; N * H],
            z: vec![0.1; N * H],
            dw: vec![0.1; H * H],
            h: [const { Vec::new() }; 4].map(|_: Vec<f32>| vec![0.1; H]),
            n: [const { Vec::new() }; 2].map(|_: Vec<f32>| vec![0.1; N]),
            qkv: [const { Vec::new() }; 2].map(|_: Vec<f32>| vec![0.1; N * 3 * H]),
            lse: vec![0.0; N * 4],
        }
    }

    fn run(&mut self) {
        let Self { x, w, y, z, dw, h: [a, b, c, d], n: [mean, rstd], qkv, lse, packed } = self;
        let dropout = Dropout::new(0.1, 1, 1);
        linear(x, w, Some(a), H, y);
        packed.linear(x, Some(a), z);
        linear_dx(y, w, H, true, z);
        linear_dw(y, x, H, true, dw);
        bias_gradient(y, a);
        activation(Activation::Gelu, y, z);
        activation_backward(Activation::Gelu, y, z, Some(a));
        let norm = Norm { gamma: a, beta: b, eps: 1e-12 };
        add_layer_norm(x, Some(z), dropout, norm, y, Moments { mean, rstd });
        let given = NormBackward { sum: x, gamma: a, mean, rstd, dropout, skip: None };
        let gradients = NormGradients { dgamma: c, dbeta: d, dbias: None };
        add_layer_norm_backward(given, y, Some(z), gradients);
        let (q_offsets, k_offsets) = (&OFFSETS[..], &OFFSETS[..]);
        let shape = Attention { heads: 4, head_size: H / 4, q_offsets, k_offsets, causal: true, dropout };
        let [fused, dfused] = qkv;
        let [q, k, v] = [0, 1, 2].map(|part| Mat::columns(fused, 3 * H, part * H, H));
        attention(&shape, [q, k, v], MatMut::new(y, N, H), lse, None);
        attention_backward(
            &shape,
            AttentionBackward { q, k, v, lse, dout: Mat::new(x, N, H) },
            MatMut::split_columns(dfused, H),
        );
        cross_entropy(z, &[1; N], 0.1, 1.0);
        squared_norm(z);
        embed(&[Lookup { table: w, ids: &[3; N], scale: 1.0 }], H, y);
        embed_backward(y, &[3; N], 1.0, H, dw);
    }
}

#[test]
fn nothing_is_allocated_once_warm() {
    let mut step = Step::new();
    // One thread: with more, which of them is warm depends on which took which task.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread pool");
    let allocations = pool.install(|| {
        assert!(allocations(|| step.run()) > 0, "the allocator counts");
        step.run();
        allocations(|| step.run())
    });
    assert_eq!(allocations, 0);
}
