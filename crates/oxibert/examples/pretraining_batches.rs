//! Writes the very batches that `oxibert pretrain` learns from, and those it is measured on, as JSON: so that another
//! program can be trained on the same examples (`bench/pretrain`).
//!
//! ```sh
//! cargo run --release -p oxibert --example pretraining_batches -- SHARDS 3000 32 128 > batches.json
//! ```

use std::io::{BufWriter, Write};
use std::path::Path;

use oxibert::data::pretrain::{BatchSize, ExampleIds, ExampleOptions, Examples, Feed, Position, hold_out};
use oxibert::data::shard::Shards;
use oxibert::data::{Batch, Targets};
use oxibert::text::Tokenizer;
use serde_json::{Value, json};

/// What `oxibert pretrain` takes unless it is told otherwise.
const HELD_OUT: f64 = 0.01;
const EVALUATION_SEQUENCES: usize = 512;
const EVALUATION_SEED: u64 = 0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, batches, size, length] = &arguments[..] else {
        return Err("expected: SHARDS BATCHES SEQUENCES LENGTH".into());
    };
    let directory = Path::new(directory);
    let (batches, size, length): (usize, usize, usize) = (batches.parse()?, size.parse()?, length.parse()?);
    let shards = Shards::open(directory)?;
    let tokenizer = Tokenizer::load(directory)?;
    let ids = ExampleIds::new(tokenizer.special(), tokenizer.vocab().len())?;
    let (training, held_out) = hold_out(shards.documents(), HELD_OUT);
    let options = ExampleOptions { length, ..ExampleOptions::default() };
    let measured = ExampleOptions { seed: EVALUATION_SEED, ..options.clone() };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut feed = Feed::new(Examples::new(&shards, training, ids, options)?, Position::default());
    write!(out, "{{\"vocab_size\": {}, \"training\": [", tokenizer.vocab().len())?;
    write_batches(&mut out, &mut feed, batches * size, size)?;
    let mut feed = Feed::new(Examples::new(&shards, held_out, ids, measured)?, Position::default());
    write!(out, "], \"held_out\": [")?;
    let sequences = feed.epoch_length().min(EVALUATION_SEQUENCES);
    write_batches(&mut out, &mut feed, sequences, size)?;
    writeln!(out, "]}}")?;
    Ok(out.flush()?)
}

fn write_batches(
    out: &mut impl Write,
    feed: &mut Feed<'_>,
    sequences: usize,
    size: usize,
) -> std::io::Result<()> {
    let (mut batch, mut targets) = (Batch::new(), Targets::default());
    for first in (0..sequences).step_by(size) {
        feed.next(BatchSize::Sequences(size.min(sequences - first)), &mut batch, &mut targets);
        let separator = if first == 0 { "" } else { ",\n" };
        write!(out, "{separator}{}", as_json(&batch, &targets))?;
    }
    Ok(())
}

/// Sequences, each with its segments, the places that are asked for, the tokens that stood there, and its class.
fn as_json(batch: &Batch, targets: &Targets) -> Value {
    let mut places = targets.masked.iter().zip(&targets.labels).peekable();
    let (mut ids, mut segments, mut masked, mut labels) = (vec![], vec![], vec![], vec![]);
    for ends in batch.offsets.windows(2) {
        ids.push(&batch.ids[ends[0]..ends[1]]);
        segments.push(&batch.segments[ends[0]..ends[1]]);
        let (mut its_places, mut its_labels) = (vec![], vec![]);
        while let Some((&place, &label)) = places.next_if(|(place, _)| (**place as usize) < ends[1]) {
            its_places.push(place as usize - ends[0]);
            its_labels.push(label);
        }
        masked.push(its_places);
        labels.push(its_labels);
    }
    json!({ "ids": ids, "segments": segments, "masked": masked, "labels": labels, "next": targets.next })
}
