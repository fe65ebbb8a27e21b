//! Attention against its plain form, differences, threads, padding-free batches and the causal limit.

use super::*;
use crate::scalar;
use crate::testing::{assert_close, assert_gradient, dot, noise, on_threads};

struct Case {
    heads: usize,
    head_size: usize,
    q_offsets: Vec<usize>,
    k_offsets: Vec<usize>,
    causal: bool,
    rate: f32,
}

/// Offsets of sequences of these lengths.
fn offsets(lengths: &[usize]) -> Vec<usize> {
    let mut all = vec![0];
    for length in lengths {
        all.push(all[all.len() - 1] + length);
    }
    all
}

impl Case {
    fn new(heads: usize, head_size: usize, q: &[usize], k: &[usize], causal: bool, rate: f32) -> Self {
        Self { heads, head_size, q_offsets: offsets(q), k_offsets: offsets(k), causal, rate }
    }

    fn shape(&self) -> Attention<'_> {
        let dropout = if self.rate > 0.0 { Dropout::new(self.rate, 3, 4) } else { Dropout::OFF };
        let Self { heads, head_size, causal, .. } = *self;
        let (q_offsets, k_offsets) = (&self.q_offsets[..], &self.k_offsets[..]);
        Attention { heads, head_size, q_offsets, k_offsets, causal, dropout }
    }

    fn width(&self) -> usize {
        self.heads * self.head_size
    }

    fn tokens(&self) -> [usize; 2] {
        [&self.q_offsets, &self.k_offsets].map(|o| o.last().copied().unwrap_or(0))
    }

    fn operands(&self) -> [Vec<f32>; 3] {
        let [n_q, n_k] = self.tokens();
        [noise(n_q * self.width(), 1), noise(n_k * self.width(), 2), noise(n_k * self.width(), 3)]
    }

    fn mats<'a>(&self, operands: &'a [Vec<f32>; 3]) -> [Mat<'a>; 3] {
        let [n_q, n_k] = self.tokens();
        let [q, k, v] = operands;
        [(q, n_q), (k, n_k), (v, n_k)].map(|(x, n)| Mat::new(x, n, self.width()))
    }

    /// (out, lse, weights)
    fn forward(&self, operands: &[Vec<f32>; 3]) -> [Vec<f32>; 3] {
        let [n_q, _] = self.tokens();
        let shape = self.shape();
        let (mut out, mut lse) = (vec![9.0; n_q * self.width()], vec![9.0; n_q * self.heads]);
        let mut weights = vec![9.0; shape.weights_len()];
        let target = MatMut::new(&mut out, n_q, self.width());
        attention(&shape, self.mats(operands), target, &mut lse, Some(&mut weights));
        [out, lse, weights]
    }

    fn backward(&self, operands: &[Vec<f32>; 3], dout: &[f32]) -> [Vec<f32>; 3] {
        let [n_q, n_k] = self.tokens();
        let [_, lse, _] = self.forward(operands);
        let [q, k, v] = self.mats(operands);
        let dout = Mat::new(dout, n_q, self.width());
        let mut gradients = [n_q, n_k, n_k].map(|n| vec![9.0; n * self.width()]);
        let [dq, dk, dv] = &mut gradients;
        let targets = [(dq, n_q), (dk, n_k), (dv, n_k)].map(|(x, n)| MatMut::new(x, n, self.width()));
        attention_backward(&self.shape(), AttentionBackward { q, k, v, lse: &lse, dout }, targets);
        gradients
    }
}

fn cases() -> Vec<Case> {
    let long = [3, 140, 1];
    vec![
        Case::new(2, 4, &[], &[], false, 0.0),
        Case::new(1, 1, &[1], &[1], false, 0.0),
        Case::new(2, 5, &[3, 0, 7], &[3, 0, 7], false, 0.0),
        Case::new(2, 5, &[3, 1, 7], &[3, 1, 7], true, 0.3),
        Case::new(3, 16, &[4, 9], &[17, 2], false, 0.3),
        Case::new(1, 8, &[1, 2, 0], &[6, 5, 2], true, 0.0),
        Case::new(2, 8, &[2], &[0], false, 0.0),
        Case::new(2, 32, &long, &long, false, 0.1),
        Case::new(1, 32, &long, &long, true, 0.1),
        Case::new(1, 32, &[70, 1], &[700, 800], true, 0.1),
        Case::new(2, 64, &[70, 20], &[700, 21], false, 0.0),
    ]
}

#[test]
fn forward_equals_the_plain_form() {
    for (i, case) in cases().iter().enumerate() {
        let operands = case.operands();
        let got = case.forward(&operands);
        let want = scalar::attention(&case.shape(), case.mats(&operands));
        let [lse, want_lse] = [&got[1], &want[1]].map(|l| l.iter().map(|x| x.max(-1e9)).collect::<Vec<_>>());
        assert_close(&got[0], &want[0], 1e-5, &format!("case {i}: out"));
        assert_close(&lse, &want_lse, 1e-5, &format!("case {i}: lse"));
        assert_close(&got[2], &want[2], 1e-5, &format!("case {i}: weights"));
    }
}

#[test]
fn backward_equals_the_plain_form() {
    for (i, case) in cases().iter().enumerate() {
        let operands = case.operands();
        let dout = noise(case.tokens()[0] * case.width(), 7);
        let got = case.backward(&operands, &dout);
        let want = scalar::attention_backward(&case.shape(), case.mats(&operands), &dout);
        for (name, (got, want)) in ["dq", "dk", "dv"].iter().zip(got.iter().zip(&want)) {
            assert_close(got, want, 2e-5, &format!("case {i}: {name}"));
        }
    }
}

#[test]
fn backward_agrees_with_differences() {
    for case in [Case::new(2, 4, &[3, 5], &[3, 5], true, 0.3), Case::new(2, 4, &[3, 5], &[6, 2], false, 0.3)]
    {
        let operands = case.operands();
        let dout = noise(case.tokens()[0] * case.width(), 7);
        let gradients = case.backward(&operands, &dout);
        for part in 0..3 {
            assert_gradient(&operands[part], &gradients[part], ["dq", "dk", "dv"][part], |x| {
                let mut probe = operands.clone();
                probe[part] = x.to_vec();
                dot(&scalar::attention(&case.shape(), case.mats(&probe))[0], &dout)
            });
        }
    }
}

#[test]
fn works_inside_one_fused_buffer() {
    let case = Case::new(2, 8, &[5, 9], &[5, 9], false, 0.0);
    let operands = case.operands();
    let (n, h) = (14, case.width());
    let mut qkv = vec![0.0; n * 3 * h];
    for (part, x) in operands.iter().enumerate() {
        for (row, x) in x.chunks_exact(h).enumerate() {
            qkv[row * 3 * h + part * h..][..h].copy_from_slice(x);
        }
    }
    let [q, k, v] = [0, 1, 2].map(|part| Mat::columns(&qkv, 3 * h, part * h, h));
    let (mut out, mut lse) = (vec![0.0; n * h], vec![0.0; 2 * n]);
    attention(&case.shape(), [q, k, v], MatMut::new(&mut out, n, h), &mut lse, None);
    assert_eq!(out, case.forward(&operands)[0]);
    let dout = noise(n * h, 7);
    let mut dqkv = vec![0.0; n * 3 * h];
    let given = AttentionBackward { q, k, v, lse: &lse, dout: Mat::new(&dout, n, h) };
    attention_backward(&case.shape(), given, MatMut::split_columns(&mut dqkv, h));
    let want = case.backward(&operands, &dout);
    for (row, d) in dqkv.chunks_exact(3 * h).enumerate() {
        for (part, want) in want.iter().enumerate() {
            assert_eq!(d[part * h..][..h], want[row * h..][..h]);
        }
    }
}

#[test]
fn a_sequence_gives_the_same_bits_alone_and_in_a_batch() {
    let both = Case::new(2, 8, &[6, 11], &[6, 11], false, 0.0);
    let operands = both.operands();
    let alone = Case::new(2, 8, &[11], &[11], false, 0.0);
    let second = operands.clone().map(|x| x[6 * 16..].to_vec());
    assert_eq!(alone.forward(&second)[0], both.forward(&operands)[0][6 * 16..]);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let case = Case::new(3, 16, &[30, 200, 5], &[30, 200, 5], false, 0.1);
    let operands = case.operands();
    let dout = noise(235 * 48, 7);
    let run = |threads| on_threads(threads, || (case.forward(&operands), case.backward(&operands, &dout)));
    assert!(run(1) == run(2) && run(1) == run(5));
}
