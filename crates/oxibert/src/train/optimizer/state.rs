//! The optimizer's state on the disk, bit for bit: `optimizer.safetensors`.
//!
//! Two tensors for every parameter, named as PyTorch names Adam's state: `exp_avg.<parameter>`, the mean of gradients, and
//! `exp_avg_sq.<parameter>`, the mean of squares. The number of steps stands in the header's metadata: as a tensor it would
//! be a float, which cannot count beyond 2^24.

use std::collections::HashSet;
use std::path::Path;

use super::{Optimizer, OptimizerOptions};
use crate::model::Weights;
use crate::model::checkpoint::{Dtype, Tensor, save_tensors};
use crate::nn::Layout;
use crate::{Error, Result};

const MEAN: &str = "exp_avg";
const SQUARES: &str = "exp_avg_sq";
const STEP: &str = "step";

impl Optimizer {
    /// Writes moments and step, atomically.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut tensors = Vec::new();
        for (moment, values) in [(MEAN, &self.m), (SQUARES, &self.v)] {
            for (param, range) in self.layout.iter() {
                let name = format!("{moment}.{}", param.name);
                tensors.push(Tensor::new(name, param.shape.clone(), &values[range]));
            }
        }
        save_tensors(path, &tensors, &[(STEP, self.step.to_string())])
    }

    /// Reads what [`Optimizer::save`] wrote. A file that belongs to other parameters is refused, naming the first that
    /// does not fit.
    pub fn load(path: &Path, layout: &Layout, options: OptimizerOptions) -> Result<Self> {
        let weights = Weights::open(path)?;
        let mut optimizer = Self::new(layout, options);
        let mut known = HashSet::new();
        for (moment, values) in [(MEAN, &mut optimizer.m), (SQUARES, &mut optimizer.v)] {
            for (param, range) in layout.iter() {
                let name = format!("{moment}.{}", param.name);
                weights.read_into(&name, &param.shape, &mut values[range])?;
                known.insert(name);
            }
        }
        check_exact(&weights, &known)?;
        optimizer.step = step(&weights)?;
        let Self { tables, m, v, .. } = &mut optimizer;
        for table in tables {
            table.wake_by(m);
            table.wake_by(v);
        }
        Ok(optimizer)
    }
}

/// Refuses tensors of other parameters, and numbers that were rounded.
fn check_exact(weights: &Weights, known: &HashSet<String>) -> Result<()> {
    for name in weights.names() {
        let problem = match weights.dtype(name) {
            _ if !known.contains(name) => {
                format!(
                    "tensor {name:?} belongs to no parameter of this model; expected the optimizer of the same model"
                )
            }
            Some(Dtype::F32) | None => continue,
            Some(dtype) => format!("tensor {name:?} holds {}, expected F32 as it was saved", dtype.name()),
        };
        return Err(Error::content(weights.path(), None, problem));
    }
    Ok(())
}

fn step(weights: &Weights) -> Result<u64> {
    let metadata = weights.metadata()?;
    let found = metadata.get(STEP).map(String::as_str);
    found.and_then(|found| found.parse().ok()).ok_or_else(|| {
        let problem = match found {
            Some(found) => format!("its metadata say that the step is {found:?}; expected a number"),
            None => "its metadata have no step; expected an optimizer's state".to_owned(),
        };
        Error::content(weights.path(), None, problem)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::names::{Block, Kind, Param};
    use crate::nn::Gradients;
    use crate::train::Algorithm;

    fn layout(shapes: &[Vec<usize>]) -> Layout {
        let param = |(number, shape): (usize, &Vec<usize>)| Param {
            name: format!("bert.encoder.layer.{number}.output.LayerNorm.weight"),
            shape: shape.clone(),
            block: Block::Layer(number),
            kind: if number % 2 == 0 { Kind::Weight } else { Kind::NormWeight },
        };
        Layout::new(shapes.iter().enumerate().map(param).collect())
    }

    fn saved(optimizer: &Optimizer) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("optimizer.safetensors");
        optimizer.save(&path).unwrap();
        (directory, path)
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    proptest! {
        #[test]
        fn what_is_saved_comes_back_bit_for_bit(
            shapes in prop::collection::vec(prop::collection::vec(0usize..4, 1..3), 0..5),
            seed in any::<u64>(),
            step in any::<u64>(),
        ) {
            let layout = layout(&shapes);
            let mut optimizer = Optimizer::new(&layout, OptimizerOptions::default());
            let mut random = crate::random::Random::new(seed, "any bits", 0);
            let mut any = || f32::from_bits(random.below(1 << 32) as u32);
            optimizer.m.fill_with(&mut any);
            optimizer.v.fill_with(&mut any);
            optimizer.step = step;
            let (_directory, path) = saved(&optimizer);
            let loaded = Optimizer::load(&path, &layout, OptimizerOptions::default()).unwrap();
            prop_assert_eq!(bits(&loaded.m), bits(&optimizer.m));
            prop_assert_eq!(bits(&loaded.v), bits(&optimizer.v));
            prop_assert_eq!(loaded.steps(), step);
        }
    }

    #[test]
    fn ten_steps_are_five_and_five_more() {
        let layout = layout(&[vec![3, 5], vec![5], vec![2, 2]]);
        let gradient = |step: usize| {
            let values = (0..layout.len()).map(|i| ((i * 7 + step * 13) as f32).sin()).collect();
            Gradients::from_values(&layout, values)
        };
        for algorithm in [Algorithm::AdamW, Algorithm::Lamb] {
            let options = OptimizerOptions { algorithm, ..OptimizerOptions::default() };
            let mut straight = Optimizer::new(&layout, options);
            let mut values = vec![0.5; layout.len()];
            (0..5).for_each(|step| _ = straight.step(&mut values, &mut gradient(step), 1e-2));
            let (_directory, path) = saved(&straight);
            let mut resumed = Optimizer::load(&path, &layout, options).unwrap();
            let mut resumed_values = values.clone();
            for step in 5..10 {
                straight.step(&mut values, &mut gradient(step), 1e-2);
                resumed.step(&mut resumed_values, &mut gradient(step), 1e-2);
            }
            assert_eq!(bits(&values), bits(&resumed_values));
            assert_eq!(resumed.steps(), 10);
        }
    }

    #[test]
    fn the_state_of_another_model_is_refused_by_name() {
        let ours = layout(&[vec![3], vec![2, 2]]);
        let (_directory, path) = saved(&Optimizer::new(&ours, OptimizerOptions::default()));
        let refused = |shapes: &[Vec<usize>]| {
            Optimizer::load(&path, &layout(shapes), OptimizerOptions::default()).unwrap_err().to_string()
        };
        assert!(
            refused(&[vec![3], vec![4]]).contains("layer.1.output.LayerNorm.weight\" has the shape [2, 2]")
        );
        assert!(refused(&[vec![3]]).contains("layer.1.output.LayerNorm.weight\" belongs to no parameter"));
        assert!(
            refused(&[vec![3], vec![2, 2], vec![1]]).contains("no tensor \"exp_avg.bert.encoder.layer.2.")
        );
        let model = path.with_file_name("model.safetensors");
        save_tensors(&model, &[], &[]).unwrap();
        let no_optimizer = Optimizer::load(&model, &layout(&[]), OptimizerOptions::default()).unwrap_err();
        assert!(no_optimizer.to_string().contains("no step"), "{no_optimizer}");
    }
}
