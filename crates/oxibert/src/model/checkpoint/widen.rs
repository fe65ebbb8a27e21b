//! More positions and more segments than a checkpoint was trained with: `convert --positions N --segments K`.

use std::borrow::Cow;

use super::{Checkpoint, Tensor};
use crate::model::config::{Config, Positions};
use crate::model::names::{POSITION_EMBEDDINGS, SEGMENT_EMBEDDINGS};
use crate::{Error, Result};

impl Checkpoint {
    /// The same model for sequences of up to `positions` tokens and texts of `segments` segments.
    ///
    /// Old rows stay as they are, so that old inputs give the same outputs to the bit. New positions repeat the
    /// old ones from the start (position 512 of a BERT gets the row of position 0): neighbours stay neighbours,
    /// which is what attention reads from them; Longformer was made from RoBERTa this way. New segments get
    /// the row of segment 0, the one that every text has trained. Both are starting points for more training.
    ///
    /// All other tensors, also those of parts that we do not know, come along unchanged.
    pub fn widen(&self, positions: usize, segments: usize) -> Result<(Config, Vec<Tensor<'_>>)> {
        let config =
            Config { max_position_embeddings: positions, type_vocab_size: segments, ..self.config.clone() };
        config.check()?;
        check("positions", self.config.max_position_embeddings, positions)?;
        check("segments", self.config.type_vocab_size, segments)?;
        let mut tensors = self.weights.tensors().collect::<Result<Vec<_>>>()?;
        // The table of sinusoids is made anew when the checkpoint is saved.
        if config.position_embedding_type == Positions::Sinusoidal {
            tensors.retain(|tensor| tensor.name != POSITION_EMBEDDINGS);
        }
        for tensor in &mut tensors {
            match &*tensor.name {
                POSITION_EMBEDDINGS => {
                    self.add_rows(tensor, self.config.max_position_embeddings, positions, |row, old| {
                        row % old
                    })?
                }
                SEGMENT_EMBEDDINGS => {
                    self.add_rows(tensor, self.config.type_vocab_size, segments, |_, _| 0)?
                }
                _ => {}
            }
        }
        Ok((config, tensors))
    }

    /// Gives a table `rows` rows; a new one is a copy of the old row that `pick` chooses.
    fn add_rows(
        &self,
        tensor: &mut Tensor<'_>,
        old: usize,
        rows: usize,
        pick: impl Fn(usize, usize) -> usize,
    ) -> Result<()> {
        let width = self.config.hidden_size;
        if *tensor.shape != [old, width] {
            let problem = format!(
                "tensor {:?} has the shape {:?}, expected {:?} as config.json has it",
                tensor.name,
                tensor.shape,
                [old, width]
            );
            return Err(Error::content(self.weights.path(), None, problem));
        }
        let mut data = Vec::with_capacity(rows * width);
        data.extend_from_slice(&tensor.data);
        for row in old..rows {
            let from = pick(row, old) * width;
            data.extend_from_within(from..from + width);
        }
        tensor.shape = Cow::Owned(vec![rows, width]);
        tensor.data = Cow::Owned(data);
        Ok(())
    }
}

fn check(name: &'static str, old: usize, new: usize) -> Result<()> {
    if new >= old {
        return Ok(());
    }
    Err(Error::setting(name, format!("{new} asked for, but the model has {old}; expected at least as many")))
}
