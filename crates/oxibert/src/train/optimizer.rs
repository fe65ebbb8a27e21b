//! AdamW and LAMB over the arena, with the gradient's norm clipped.

mod state;
mod table;

use std::ops::Range;

use oxibert_kernels::{AdamW, adamw, lamb, zeros};

use crate::model::{Kind, Param};
use crate::nn::{Gradients, Layout};
use table::{Numbers, Table};

/// How a step is computed from the moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Adam with decoupled weight decay: BERT's own.
    #[default]
    AdamW,
    /// AdamW's step, scaled for each matrix and table to the length of its values ("Training BERT in 76 minutes"): for
    /// batches of thousands. Biases and LayerNorms take AdamW's step, as in Google's and NVIDIA's code.
    Lamb,
}

/// The optimizer's constants; the defaults are BERT's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimizerOptions {
    /// How a step is computed.
    pub algorithm: Algorithm,
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
            algorithm: Algorithm::AdamW,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-6,
            weight_decay: 0.01,
            bias_correction: true,
            clip: Some(1.0),
        }
    }
}

/// An optimizer with its moments.
#[derive(Debug, Clone)]
pub struct Optimizer {
    options: OptimizerOptions,
    layout: Layout,
    groups: Vec<Group>,
    tables: Vec<Table>,
    m: Vec<f32>,
    v: Vec<f32>,
    step: u64,
}

/// Parameters side by side that are treated alike in one call: a table, or one parameter where LAMB adapts it, else many.
#[derive(Debug, Clone)]
struct Group {
    range: Range<usize>,
    /// Matrices and tables do, biases and LayerNorms do not; the former are those that LAMB adapts.
    decays: bool,
    /// Their share of the learning rate.
    rate: f32,
    /// Whether it is one parameter, and no other joins it.
    alone: bool,
}

impl Optimizer {
    /// An optimizer at rest, for parameters of this layout.
    pub fn new(layout: &Layout, options: OptimizerOptions) -> Self {
        let (m, v) = (zeros(layout.len()), zeros(layout.len()));
        let groups = groups(layout, options.algorithm, |_| 1.0);
        let of_tables = layout.iter().filter(|(param, _)| param.kind == Kind::Embedding);
        let tables = of_tables.map(|(param, range)| Table::new(param, range)).collect();
        Self { options, layout: layout.clone(), groups, tables, m, v, step: 0 }
    }

    /// The optimizer with a share of the learning rate for each parameter; one of share 0 stays as it is.
    #[must_use]
    pub fn with_rates(mut self, rate: impl Fn(&Param) -> f32) -> Self {
        self.groups = groups(&self.layout, self.options.algorithm, rate);
        self
    }

    /// The parameters that it is for.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How many steps it has taken.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// One step at learning rate `lr`. Returns the gradient's norm before clipping; if that is no finite number, nothing
    /// was changed.
    pub fn step(&mut self, values: &mut [f32], gradients: &mut Gradients, lr: f32) -> f64 {
        self.step_scaled(values, gradients, lr, 1.0)
    }

    /// [`Optimizer::step`] with gradients that are `scale` times what is given: 1 / N where they are the sum of N batches'.
    /// The norm that is clipped and returned is that of the scaled ones.
    pub fn step_scaled(&mut self, values: &mut [f32], gradients: &mut Gradients, lr: f32, scale: f32) -> f64 {
        let norm = self.step_idly(values, gradients, lr, scale);
        self.settle(values);
        norm
    }

    /// [`Optimizer::step_scaled`], but rows of tables that have no gradient may take the step later: before they are read, somebody has to
    /// call [`Optimizer::settle_rows`] or [`Optimizer::settle`]. The bits do not depend on when that is done.
    pub(crate) fn step_idly(
        &mut self,
        values: &mut [f32],
        gradients: &mut Gradients,
        lr: f32,
        scale: f32,
    ) -> f64 {
        let norm = gradients.squared_norm().sqrt() * f64::from(scale);
        if !norm.is_finite() {
            return norm;
        }
        self.step += 1;
        let clipped = self.options.clip.filter(|&clip| norm > clip).map_or(1.0, |clip| clip / (norm + 1e-6));
        let gradient_scale = (f64::from(scale) * clipped) as f32;
        let (gradients, live) = gradients.read();
        for number in 0..self.groups.len() {
            let Group { range, decays, rate, .. } = self.groups[number].clone();
            let constants = self.constants(lr * rate, decays, gradient_scale);
            let Self { tables, m, v, .. } = self;
            let adapts = self.options.algorithm == Algorithm::Lamb && decays;
            if let Some(table) = tables.iter_mut().find(|table| table.range == range && !adapts) {
                table.step(&constants, live, gradients, &mut [values, m, v]);
                continue;
            }
            let (p, g) = (&mut values[range.clone()], &gradients[range.clone()]);
            let (m, v) = (&mut m[range.clone()], &mut v[range]);
            if adapts {
                lamb(&constants, p, g, m, v);
            } else {
                adamw(&constants, p, g, m, v);
            }
        }
        norm
    }

    /// All rows take the steps that they have missed.
    pub(crate) fn settle(&mut self, values: &mut [f32]) {
        let Self { tables, m, v, .. } = self;
        let mut numbers: Numbers<'_> = [values, m, v];
        tables.iter_mut().for_each(|table| table.settle(&mut numbers));
    }

    /// The rows that have a part of these places of the arena take the steps that they have missed.
    pub(crate) fn settle_rows(&mut self, values: &mut [f32], places: &[Range<usize>]) {
        let Self { tables, m, v, .. } = self;
        let mut numbers: Numbers<'_> = [values, m, v];
        tables.iter_mut().for_each(|table| table.catch_up(places, &mut numbers));
    }

    fn constants(&self, lr: f32, decays: bool, gradient_scale: f32) -> AdamW {
        let OptimizerOptions { beta1, beta2, eps, weight_decay, bias_correction, .. } = self.options;
        AdamW {
            lr,
            beta1,
            beta2,
            eps,
            weight_decay: if decays { weight_decay } else { 0.0 },
            bias_correction: bias_correction.then_some(self.step),
            gradient_scale,
        }
    }
}

fn groups(layout: &Layout, algorithm: Algorithm, rate: impl Fn(&Param) -> f32) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (param, range) in layout.iter() {
        let (decays, rate) = (param.kind.decays(), rate(param));
        let alone = param.kind == Kind::Embedding || (algorithm == Algorithm::Lamb && decays);
        let alike = |last: &Group| {
            last.decays == decays && last.rate == rate && last.range.end == range.start && !last.alone
        };
        match groups.last_mut() {
            _ if rate == 0.0 => {}
            Some(last) if alike(last) && !alone => last.range.end = range.end,
            _ => groups.push(Group { range, decays, rate, alone }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::{Parts, parameters};
    use crate::model::{Block, Config};

    const BOTH: [Algorithm; 2] = [Algorithm::AdamW, Algorithm::Lamb];

    fn layout() -> Layout {
        Layout::new(parameters(&Config::preset("tiny", 20).unwrap(), Parts::PRETRAINING))
    }

    fn optimizer(layout: &Layout, algorithm: Algorithm) -> Optimizer {
        Optimizer::new(layout, OptimizerOptions { algorithm, ..OptimizerOptions::default() })
    }

    fn wave(len: usize, pace: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * pace).sin() * 0.1).collect()
    }

    fn waving(layout: &Layout) -> Gradients {
        Gradients::from_values(layout, wave(layout.len(), 0.11))
    }

    #[test]
    fn neighbours_of_one_decay_are_one_group_and_cover_all() {
        let layout = layout();
        let groups = groups(&layout, Algorithm::AdamW, |_| 1.0);
        let alternate = |pair: &[Group]| {
            let apart = pair[0].decays != pair[1].decays || pair[0].alone || pair[1].alone;
            pair[0].range.end == pair[1].range.start && apart
        };
        assert!(groups.windows(2).all(alternate));
        let tables = layout.iter().filter(|(param, _)| param.kind == Kind::Embedding).count();
        assert_eq!(groups.iter().filter(|group| group.alone).count(), tables);
        assert_eq!(groups.last().unwrap().range.end, layout.len());
    }

    #[test]
    fn parameters_have_rates_of_their_own() {
        let layout = layout();
        let rate = |param: &Param| match param.block {
            Block::Embeddings => 0.0,
            Block::Layer(0) => 0.5,
            _ => 1.0,
        };
        let (start, mut gradients) = (wave(layout.len(), 0.37), waving(&layout));
        let [mut plain, mut rated] = [start.clone(), start.clone()];
        optimizer(&layout, Algorithm::AdamW).step(&mut plain, &mut gradients, 1e-3);
        optimizer(&layout, Algorithm::AdamW).with_rates(rate).step(&mut rated, &mut gradients, 1e-3);
        for (param, range) in layout.iter() {
            for place in range {
                let wanted = start[place] + rate(param) * (plain[place] - start[place]);
                assert!((rated[place] - wanted).abs() < 1e-7, "{}", param.name);
            }
        }
    }

    /// Rows that are named now and then take the steps between later, and after a restart too: the bits of an optimizer that was given
    /// every row in every step.
    #[test]
    fn rows_without_a_gradient_take_their_steps_later() {
        const NAMED: [[u32; 2]; 6] = [[3, 7], [3, 3], [8, 7], [0, 19], [3, 19], [1, 2]];
        let layout = layout();
        let (param, range) = layout.iter().find(|(param, _)| param.kind == Kind::Embedding).unwrap();
        let (place, width) = (layout.place(&param.name, 1), param.shape[1]);
        let row = |id: &u32| range.start + *id as usize * width..range.start + (*id as usize + 1) * width;
        for (algorithm, restart) in [(Algorithm::AdamW, 7), (Algorithm::AdamW, 4), (Algorithm::Lamb, 4)] {
            let [mut late, mut all] =
                [0; 2].map(|_| (optimizer(&layout, algorithm), wave(layout.len(), 0.37)));
            let mut gradients = Gradients::new(&layout);
            for (number, ids) in NAMED.iter().enumerate() {
                if number == restart {
                    restart_settled(&mut late, &layout);
                }
                late.0.settle_rows(&mut late.1, &ids.each_ref().map(row));
                ids.iter()
                    .for_each(|id| assert!(late.1[row(id)] == all.1[row(id)], "row {id} of step {number}"));
                gradients.begin();
                let table = gradients.rows(&place, width, ids);
                ids.iter().for_each(|&id| table[id as usize * width..][..width].fill(0.1));
                let mut dense = Gradients::from_values(&layout, gradients.values().to_vec());
                late.0.step_idly(&mut late.1, &mut gradients, 1e-2 / (1.0 + number as f32), 1.0);
                all.0.step(&mut all.1, &mut dense, 1e-2 / (1.0 + number as f32));
            }
            assert_eq!(late.1 == all.1, algorithm == Algorithm::Lamb, "rows of AdamW are late");
            late.0.settle(&mut late.1);
            assert!(late.1 == all.1 && late.0.m == all.0.m && late.0.v == all.0.v);
        }
    }

    fn restart_settled((optimizer, values): &mut (Optimizer, Vec<f32>), layout: &Layout) {
        optimizer.settle(values);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("optimizer.safetensors");
        optimizer.save(&path).unwrap();
        *optimizer = Optimizer::load(&path, layout, optimizer.options).unwrap();
        let awake = &optimizer.tables[0].awake;
        assert!(awake[3] && !awake[4], "rows that had a gradient are known by their moments");
    }

    #[test]
    fn lamb_has_every_matrix_and_table_alone() {
        let layout = layout();
        let groups = groups(&layout, Algorithm::Lamb, |_| 1.0);
        let alone: Vec<_> =
            groups.iter().filter(|group| group.decays).map(|group| group.range.clone()).collect();
        let matrices: Vec<_> =
            layout.iter().filter(|(param, _)| param.kind.decays()).map(|(_, range)| range).collect();
        assert_eq!(alone, matrices);
        assert!(groups.windows(2).all(|pair| pair[0].range.end == pair[1].range.start));
        assert_eq!(groups.last().unwrap().range.end, layout.len());
    }

    #[test]
    fn lamb_scales_matrices_and_leaves_biases_to_adamw() {
        let layout = layout();
        let start = wave(layout.len(), 0.37);
        let mut gradients = waving(&layout);
        let [by_adamw, by_lamb] = BOTH.map(|algorithm| {
            let mut values = start.clone();
            optimizer(&layout, algorithm).step(&mut values, &mut gradients, 1e-3);
            values
        });
        for (param, range) in layout.iter() {
            let same = by_adamw[range.clone()] == by_lamb[range];
            assert_eq!(same, !param.kind.decays(), "{}", param.name);
        }
    }

    #[test]
    fn the_sum_of_batches_is_scaled_before_it_is_clipped() {
        let layout = layout();
        let mean = wave(layout.len(), 0.11);
        let sum: Vec<f32> = mean.iter().map(|g| 4.0 * g).collect(); // Exact, as is the quarter.
        let [mut mean, mut sum] = [mean, sum].map(|gradients| Gradients::from_values(&layout, gradients));
        for algorithm in BOTH {
            let mut states = [optimizer(&layout, algorithm), optimizer(&layout, algorithm)];
            let mut values = [wave(layout.len(), 0.37), wave(layout.len(), 0.37)];
            let plain = states[0].step(&mut values[0], &mut mean, 1e-3);
            let scaled = states[1].step_scaled(&mut values[1], &mut sum, 1e-3, 0.25);
            assert!(plain > 1.0, "it is clipped");
            assert!((plain / scaled - 1.0).abs() < 1e-12);
            for (a, b) in values[0].iter().zip(&values[1]) {
                assert!((a - b).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn a_gradient_that_is_no_number_changes_nothing() {
        let layout = layout();
        for algorithm in BOTH {
            for poison in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut optimizer = optimizer(&layout, algorithm);
                let mut values = wave(layout.len(), 0.37);
                optimizer.step(&mut values, &mut waving(&layout), 1e-3);
                let (before, state) = (values.clone(), optimizer.clone());
                let mut gradients = wave(layout.len(), 0.11);
                gradients[layout.len() / 2] = poison;
                let mut gradients = Gradients::from_values(&layout, gradients);
                assert!(!optimizer.step(&mut values, &mut gradients, 1e-3).is_finite());
                assert_eq!(values, before);
                assert_eq!((&optimizer.m, &optimizer.v, optimizer.steps()), (&state.m, &state.v, 1));
            }
        }
    }
}
