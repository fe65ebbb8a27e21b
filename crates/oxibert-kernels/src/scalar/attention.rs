//! Attention, plainly: every score of every head.

use super::at;
use crate::attention::{Attention, KeyRows};
use crate::matrix::Mat;

/// The weights of one query, before and after dropout, and log sum exp.
struct Weights {
    plain: Vec<f64>,
    factors: Vec<f64>,
    lse: f64,
}

/// One query's place: its head, its token, its sequence's keys and how many of them it sees.
struct Query {
    head: usize,
    token: usize,
    first_key: usize,
    keys: usize,
    seen: usize,
}

/// All queries in the order of the weights: sequence, head, query.
fn queries(shape: &Attention<'_>) -> Vec<Query> {
    let mut all = Vec::new();
    for (q, k) in shape.q_offsets.windows(2).zip(shape.k_offsets.windows(2)) {
        let keys = k[1] - k[0];
        for head in 0..shape.heads {
            for token in q[0]..q[1] {
                let seen = if shape.causal { token - q[0] + 1 + keys - (q[1] - q[0]) } else { keys };
                all.push(Query { head, token, first_key: k[0], keys, seen });
            }
        }
    }
    all
}

fn weights(shape: &Attention<'_>, query: &Query, q: Mat<'_>, k: Mat<'_>) -> Weights {
    let d = shape.head_size;
    let columns = query.head * d..(query.head + 1) * d;
    let score = |j: usize| -> f64 {
        let product = |c| f64::from(at(q, query.token, c)) * f64::from(at(k, query.first_key + j, c));
        columns.clone().map(product).sum::<f64>() / (d as f64).sqrt()
    };
    let scores: Vec<f64> = (0..query.seen).map(score).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lse = max + scores.iter().map(|s| (s - max).exp()).sum::<f64>().ln();
    let mut plain: Vec<f64> = scores.iter().map(|s| (s - lse).exp()).collect();
    plain.resize(query.keys, 0.0);
    let mask = shape.dropout.row(query.head * q.rows + query.token);
    let factor = |j: usize| if shape.dropout.is_off() { 1.0 } else { f64::from(mask.factor(j as u32)) };
    Weights { plain, factors: (0..query.keys).map(factor).collect(), lse }
}

/// (out [N, A * D], lse [A, N], weights).
pub fn attention(shape: &Attention<'_>, [q, k, v]: [Mat<'_>; 3]) -> [Vec<f32>; 3] {
    let (mut out, mut lse) = (vec![0.0; q.rows * q.cols], vec![0.0; shape.heads * q.rows]);
    let mut kept = Vec::new();
    for query in queries(shape) {
        let w = weights(shape, &query, q, k);
        lse[query.head * q.rows + query.token] = w.lse as f32;
        for c in query.head * shape.head_size..(query.head + 1) * shape.head_size {
            let term = |j: usize| w.plain[j] * w.factors[j] * f64::from(at(v, query.first_key + j, c));
            out[query.token * q.cols + c] = (0..query.keys).map(term).sum::<f64>() as f32;
        }
        kept.extend(w.plain.iter().map(|p| *p as f32));
    }
    [out, lse, kept]
}

/// (dq, dk, dv) of [`attention`]; the formulas stand at [`crate::attention_backward`].
pub fn attention_backward(shape: &Attention<'_>, [q, k, v]: [Mat<'_>; 3], dout: &[f32]) -> [Vec<f32>; 3] {
    let width = q.cols;
    let (mut dq, mut dk) = (vec![0.0f64; q.rows * width], vec![0.0f64; k.rows * width]);
    let mut dv = vec![0.0f64; v.rows * width];
    for query in queries(shape) {
        let w = weights(shape, &query, q, k);
        let columns = query.head * shape.head_size..(query.head + 1) * shape.head_size;
        let d_out = |c: usize| f64::from(dout[query.token * width + c]);
        let dp = |j: usize| -> f64 {
            let dw: f64 = columns.clone().map(|c| d_out(c) * f64::from(at(v, query.first_key + j, c))).sum();
            w.factors[j] * dw
        };
        let dp: Vec<f64> = (0..query.keys).map(dp).collect();
        let delta: f64 = dp.iter().zip(&w.plain).map(|(dp, p)| dp * p).sum();
        for (j, dp) in dp.iter().enumerate() {
            let ds = w.plain[j] * (dp - delta) / (shape.head_size as f64).sqrt();
            let key = query.first_key + j;
            for c in columns.clone() {
                dv[key * width + c] += w.plain[j] * w.factors[j] * d_out(c);
                dq[query.token * width + c] += ds * f64::from(at(k, key, c));
                dk[key * width + c] += ds * f64::from(at(q, query.token, c));
            }
        }
    }
    [dq, dk, dv].map(|d| d.iter().map(|x| *x as f32).collect())
}

/// out [N, A * D] of queries that each attend to rows of their own.
pub fn attention_to_rows(shape: &KeyRows<'_>, [q, k, v]: [Mat<'_>; 3]) -> Vec<f32> {
    let size = q.cols / shape.heads;
    let mut out = vec![0.0; q.rows * q.cols];
    for (i, c) in (0..q.rows).flat_map(|i| (0..q.cols).map(move |c| (i, c))) {
        let columns = c / size * size..(c / size + 1) * size;
        let score = |row: &u32| -> f64 {
            let product = |c| f64::from(at(q, i, c)) * f64::from(at(k, *row as usize, c));
            columns.clone().map(product).sum::<f64>() / (size as f64).sqrt()
        };
        let weights: Vec<f64> = shape.of(i).iter().map(|row| score(row).exp()).collect();
        let terms = weights.iter().zip(shape.of(i)).map(|(w, row)| w * f64::from(at(v, *row as usize, c)));
        out[i * q.cols + c] =
            (terms.sum::<f64>() / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE)) as f32;
    }
    out
}
