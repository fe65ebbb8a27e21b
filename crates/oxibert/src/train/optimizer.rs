//! AdamW over the arena, with the gradient's norm clipped.

use std::ops::Range;

use oxibert_kernels::{AdamW, adamw, squared_norm, zeros};

use crate::nn::Layout;

/// The optimizer's constants; the defaults are BERT's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimizerOptions {
    /// Decay of the mean of gradients.
    pub beta1: f32,
    /// Decay of the mean of squares.
    pub beta2: f32,
    /// Added to the root of the mean of squares.
    pub eps: f32,
    /// Decoupled weight decay, times the learning rate; biases and LayerNorms are left out.
    pub weight_decay: f32,
    /// Corrects the moments' start at zero, as Hugging Face does; Google's code does not. Fine-tuning on little data is
    /// unstable without it.
    pub bias_correction: bool,
    /// The largest norm that the gradient may have; it is scaled down to it.
    pub clip: Option<f64>,
}

impl Default for OptimizerOptions {
    fn default() -> Self {
        Self {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-6,
            weight_decay: 0.01,
            bias_correction: true,
            clip: Some(1.0),
        }
    }
}

/// AdamW with its moments.
#[derive(Debug, Clone)]
pub struct Optimizer {
    options: OptimizerOptions,
    /// Neighbouring parameters of one decay, as one range.
    ranges: Vec<(Range<usize>, bool)>,
    m: Vec<f32>,
    v: Vec<f32>,
    step: u64,
}

impl Optimizer {
    /// An optimizer at rest, for parameters of this layout.
    pub fn new(layout: &Layout, options: OptimizerOptions) -> Self {
        let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
        for (param, range) in layout.iter() {
            let decays = param.kind.decays();
            match ranges.last_mut() {
                Some((last, same)) if *same == decays => last.end = range.end,
                _ => ranges.push((range, decays)),
            }
        }
        Self { options, ranges, m: zeros(layout.len()), v: zeros(layout.len()), step: 0 }
    }

    /// One step at learning rate `lr`. Returns the gradient's norm before clipping.
    pub fn step(&mut self, values: &mut [f32], gradients: &[f32], lr: f32) -> f64 {
        let norm = squared_norm(gradients).sqrt();
        let OptimizerOptions { beta1, beta2, eps, weight_decay, bias_correction, clip } = self.options;
        self.step += 1;
        let gradient_scale =
            clip.filter(|&clip| norm > clip).map_or(1.0, |clip| (clip / (norm + 1e-6)) as f32);
        for (range, decays) in &self.ranges {
            let constants = AdamW {
                lr,
                beta1,
                beta2,
                eps,
                weight_decay: if *decays { weight_decay } else { 0.0 },
                bias_correction: bias_correction.then_some(self.step),
                gradient_scale,
            };
            let (m, v) = (&mut self.m[range.clone()], &mut self.v[range.clone()]);
            adamw(&constants, &mut values[range.clone()], &gradients[range.clone()], m, v);
        }
        norm
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;
    use crate::model::names::{Parts, parameters};

    #[test]
    fn neighbours_of_one_decay_are_one_range_and_cover_all() {
        let config = Config::preset("tiny", 20).unwrap();
        let layout = Layout::new(parameters(&config, Parts::PRETRAINING));
        let optimizer = Optimizer::new(&layout, OptimizerOptions::default());
        assert!(
            optimizer
                .ranges
                .windows(2)
                .all(|pair| pair[0].0.end == pair[1].0.start && pair[0].1 != pair[1].1)
        );
        assert_eq!(optimizer.ranges.last().unwrap().0.end, layout.len());
    }
}
