//! A forward pass in lanes: a thread takes some whole sequences through all layers and meets the others at the end only.
//!
//! Threads that share every kernel wait for the slowest after each of them, some hundred times in a pass. Sequences do not
//! need each other, and a row's bits do not depend on the rows beside it, so a large batch can be cut above the layers
//! instead. There are more lanes than threads: whoever is done first takes the next.

use oxibert_kernels::{side_by_side, threads};

use super::encoder::Encoder;
use super::pass::{DropoutPlan, Keep};
use super::tower::Activations;
use crate::data::Batch;
use crate::nn::{Numbers, fit};

/// Tokens of a lane at least: fewer rows do not pay for walking through all matrices.
const LEAST: usize = 256;
/// Wider matrices do not fit into the caches that lanes would read them from side by side: BERT-base, 8 x 128 tokens, was a
/// tenth slower in lanes, while MiniLM (384) gained.
pub(crate) const WIDEST: usize = 512;
/// Lanes for each thread: a thread that is held up leaves one to the others.
const PER_THREAD: usize = 2;

/// The memory of forward passes, reused from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    output: Vec<f32>,
}

#[derive(Debug, Default)]
struct Lane {
    batch: Batch,
    activations: Activations,
}

impl Lanes {
    /// The memory of a pass that is not cut.
    pub(crate) fn whole(&mut self) -> &mut Activations {
        self.reserve(1);
        &mut self.lanes[0].activations
    }

    fn reserve(&mut self, count: usize) {
        if self.lanes.len() < count {
            self.lanes.resize_with(count, Lane::default);
        }
    }

    /// Ids to the last layer's output [N, H]: the bits of [`Encoder::forward`].
    pub(crate) fn forward<N: Numbers + ?Sized>(
        &mut self,
        encoder: &Encoder,
        numbers: &N,
        batch: &Batch,
    ) -> &[f32] {
        let pass = |batch: &Batch, activations| -> &[f32] {
            encoder.forward(numbers, batch, DropoutPlan::OFF, Keep::Nothing, activations, None)
        };
        let cuts = cut(&batch.offsets, (threads() * PER_THREAD).min(batch.tokens() / LEAST));
        if threads() == 1 || cuts.len() <= 2 || encoder.hidden() > WIDEST {
            return encoder.forward(numbers, batch, DropoutPlan::OFF, Keep::Nothing, self.whole(), None);
        }
        self.reserve(cuts.len() - 1);
        let width = encoder.hidden();
        let mut rest = fit(&mut self.output, batch.tokens() * width);
        let mut parts = Vec::with_capacity(cuts.len() - 1);
        for (lane, ends) in self.lanes.iter_mut().zip(cuts.windows(2)) {
            batch.copy_part(ends[0]..ends[1], &mut lane.batch);
            let (own, after) = rest.split_at_mut(lane.batch.tokens() * width);
            parts.push((lane, own));
            rest = after;
        }
        side_by_side(parts.into_iter(), |(lane, output)| {
            output.copy_from_slice(pass(&lane.batch, &mut lane.activations));
        });
        &self.output[..batch.tokens() * width]
    }
}

/// Where lanes begin and the last ends, as numbers of sequences: about equally many tokens in each.
fn cut(offsets: &[usize], count: usize) -> Vec<usize> {
    let (tokens, sequences) = (offsets[offsets.len() - 1], offsets.len() - 1);
    let border = |lane: usize| {
        let wanted = lane * tokens / count.max(1);
        offsets.partition_point(|&offset| offset < wanted).min(sequences)
    };
    let mut cuts: Vec<usize> = (0..count.max(1)).map(border).collect();
    cuts.push(sequences);
    cuts.dedup();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::BertWork;
    use crate::model::{Bert, Config, Parts, Weights, names};
    use crate::nn::{Layout, Params};
    use crate::random::Random;

    #[test]
    fn lanes_hold_all_sequences_and_about_as_many_tokens() {
        assert_eq!(cut(&[0, 10, 20, 30, 40], 2), [0, 2, 4]);
        assert_eq!(cut(&[0, 100, 101, 102, 103], 2), [0, 1, 4]);
        assert_eq!(cut(&[0, 5], 3), [0, 1]);
        assert_eq!(cut(&[0, 5], 0), [0, 1]);
    }

    #[test]
    fn lanes_change_no_bit() {
        let config = Config::preset("tiny", 50).unwrap();
        let layout = Layout::new(names::parameters(&config, Parts::default()));
        let params = Params::new(layout, &config, 3);
        let bert = Bert::new(config, Weights::of(&params.tensors()).unwrap()).unwrap();
        let mut random = Random::new(9, "lanes", 0);
        let mut batch = Batch::new();
        for _ in 0..40 {
            let ids: Vec<u32> = (0..random.between(3, 90)).map(|_| random.between(1, 49)).collect();
            batch.push(&ids, &vec![0; ids.len()]);
        }
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bert.hidden(&batch, &mut BertWork::default(), None).to_vec())
        };
        let alone = on(1);
        assert!(batch.tokens() > 4 * LEAST, "enough for lanes");
        for threads in [2, 3, 5] {
            assert!(on(threads) == alone, "{threads} threads");
        }
    }
}
