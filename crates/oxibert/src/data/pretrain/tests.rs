//! The laws of sampling, on large samples.

use super::masking::MaskCounts;
use super::*;
use crate::data::{Batch, Targets};

const IDS: ExampleIds = ExampleIds { pad: Some(0), unk: 1, cls: 2, sep: 3, mask: 4, vocab_size: 1000 };
const FIRST_WORD: u32 = 5;

/// Documents whose tokens tell where they stood: no two sentences of different documents are alike.
fn documents(count: usize, sentences: usize) -> Shards {
    let mut random = Random::new(1, "test documents", 0);
    let document = |number: usize| -> Vec<Vec<(u32, bool)>> {
        let mut sentence = || {
            let length = random.between(4, 24) as usize;
            let mut token = |place| {
                let id = FIRST_WORD + (number as u32 * 7 + random.between(0, 6)) % 994;
                (id, place > 0 && random.chance(0.3))
            };
            (0..length).map(&mut token).collect()
        };
        (0..sentences).map(|_| sentence()).collect()
    };
    Shards::of_words(&(0..count).map(document).collect::<Vec<_>>())
}

fn examples(shards: &Shards, options: ExampleOptions) -> Examples<'_> {
    Examples::new(shards, (0..shards.documents() as u32).collect(), IDS, options).unwrap()
}

/// Every example of the first `epochs` epochs.
fn all(shards: &Shards, options: ExampleOptions, epochs: u64) -> (Vec<Example>, MaskCounts) {
    let examples = examples(shards, options);
    let mut counts = MaskCounts::default();
    let mut made = Vec::new();
    for number in 0..epochs {
        let epoch = examples.epoch(number);
        for index in 0..epoch.len() {
            let mut example = Example::default();
            counts.merge(examples.make(&epoch, index, &mut example));
            made.push(example);
        }
    }
    (made, counts)
}

/// Whether `found` of `all` is within five standard deviations of the share `p`.
fn is_share(found: u64, all: u64, p: f64) -> bool {
    let deviation = (p * (1.0 - p) / all as f64).sqrt();
    (found as f64 / all as f64 - p).abs() < 5.0 * deviation
}

fn original(example: &Example) -> Vec<u32> {
    let mut ids = example.ids.clone();
    for (&place, &label) in example.masked.iter().zip(&example.labels) {
        ids[place as usize] = label;
    }
    ids
}

#[test]
fn masking_has_berts_shares() {
    let shards = documents(300, 40);
    let (examples, counts) = all(&shards, ExampleOptions::default(), 3);
    assert!(examples.len() > 5000, "{}", examples.len());
    let share = counts.chosen as f64 / counts.tokens as f64;
    assert!((share - 0.15).abs() < 0.002, "{share}");
    assert!(is_share(counts.masked, counts.chosen, 0.8), "{counts:?}");
    assert!(is_share(counts.random, counts.chosen, 0.1), "{counts:?}");
    for example in &examples {
        let wanted = (0.15 * example.ids.len() as f64).round_ties_even().clamp(1.0, 20.0) as usize;
        assert_eq!(example.masked.len(), wanted, "of {} tokens", example.ids.len());
        assert!(example.masked.is_sorted_by(|a, b| a < b));
        assert!(example.labels.iter().all(|&label| label >= FIRST_WORD), "a special token is predicted");
    }
}

#[test]
fn every_place_is_equally_likely_to_be_masked() {
    let shards = documents(200, 40);
    let options = ExampleOptions { short_probability: 0.0, ..ExampleOptions::default() };
    let (examples, _) = all(&shards, options, 3);
    let full: Vec<&Example> = examples.iter().filter(|example| example.ids.len() == 128).collect();
    let hits = |range: std::ops::Range<u32>| -> u64 {
        full.iter().flat_map(|example| &example.masked).filter(|place| range.contains(place)).count() as u64
    };
    let total = hits(0..128);
    assert_eq!(hits(0..1), 0, "[CLS]");
    // 125 of 128 places are words; the middle has a [SEP] somewhere, so compare halves.
    assert!(is_share(hits(1..64), total, 0.5) || (hits(1..64) as f64 / total as f64 - 0.5).abs() < 0.01);
}

#[test]
fn pairs_are_half_and_half_and_say_the_truth() {
    let shards = documents(400, 60);
    let (examples, _) = all(&shards, ExampleOptions { short_probability: 0.0, ..Default::default() }, 3);
    let random = examples.iter().filter(|example| example.next == Some(1)).count() as u64;
    // A document's last sentence alone always gets a random partner: a little more than half.
    let share = random as f64 / examples.len() as f64;
    assert!((0.5..0.56).contains(&share), "{share}");
    // Every document has seven tokens of its own, shared with few others: its band.
    let band =
        |ids: &[u32]| ids.iter().map(|id| (id - FIRST_WORD) / 7).collect::<std::collections::BTreeSet<_>>();
    for example in &examples {
        let ids = original(example);
        let middle = ids.iter().position(|&id| id == IDS.sep).unwrap();
        let (first, second) = (&ids[1..middle], &ids[middle + 1..ids.len() - 1]);
        assert!(!first.is_empty() && !second.is_empty());
        if example.next == Some(0) {
            assert!(band(first).len() == 1 && band(first) == band(second));
        }
    }
    let strangers = |example: &&Example| {
        let ids = original(example);
        let middle = ids.iter().position(|&id| id == IDS.sep).unwrap();
        band(&ids[1..middle]).is_disjoint(&band(&ids[middle + 1..ids.len() - 1]))
    };
    let apart = examples.iter().filter(|example| example.next == Some(1)).filter(strangers).count() as u64;
    assert!(
        apart as f64 > 0.95 * random as f64,
        "{apart} of {random} random pairs are of different documents"
    );
}

#[test]
fn lengths_keep_the_limit_and_some_are_short() {
    let shards = documents(400, 60);
    let (examples, _) = all(&shards, ExampleOptions::default(), 2);
    assert!(examples.iter().all(|example| (5..=128).contains(&example.ids.len())));
    let full =
        examples.iter().filter(|example| example.ids.len() == 128).count() as f64 / examples.len() as f64;
    // Short documents give more examples each, so their share of examples is above a tenth.
    assert!((0.5..0.95).contains(&full), "{full}");
    let (long, _) = all(&shards, ExampleOptions { short_probability: 0.0, ..Default::default() }, 1);
    let full = long.iter().filter(|example| example.ids.len() == 128).count() as f64 / long.len() as f64;
    assert!(full > 0.8, "{full}");
    for example in &examples {
        // A token that was replaced at random may be any, [SEP] too.
        let first_end = original(example).iter().position(|&id| id == IDS.sep).unwrap();
        assert!(example.segments[..=first_end].iter().all(|&segment| segment == 0));
        assert!(example.segments[first_end + 1..].iter().all(|&segment| segment == 1));
        assert_eq!(example.ids.last(), Some(&IDS.sep));
    }
}

#[test]
fn words_are_masked_whole() {
    let shards = documents(100, 40);
    let options = ExampleOptions { whole_word: true, ..Default::default() };
    let (examples, counts) = all(&shards, options, 2);
    let mut pieces = 0;
    for example in &examples {
        let chosen = |place: usize| example.masked.binary_search(&(place as u32)).is_ok();
        let original = original(example);
        for place in 1..example.ids.len() {
            if example.continues[place]
                && !IDS.is_special(original[place - 1])
                && !IDS.is_special(original[place])
            {
                assert_eq!(chosen(place), chosen(place - 1), "a word is torn at {place}");
                pieces += usize::from(chosen(place));
            }
        }
        assert!(example.masked.len() <= 20);
    }
    assert!(pieces > 1000, "only {pieces} pieces of longer words were masked");
    let share = counts.chosen as f64 / counts.tokens as f64;
    assert!((0.135..0.152).contains(&share), "{share}");
    assert!(is_share(counts.masked, counts.chosen, 0.8), "80 % are drawn per token, also within words");
}

#[test]
fn ngrams_are_runs_of_neighbours() {
    let shards = documents(100, 40);
    let runs = |ngram| {
        let (examples, counts) = all(&shards, ExampleOptions { ngram, ..Default::default() }, 2);
        let neighbours: usize = examples
            .iter()
            .map(|example| example.masked.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count())
            .sum();
        assert!((counts.chosen as f64 / counts.tokens as f64 - 0.15).abs() < 0.005, "{counts:?}");
        neighbours as f64 / counts.chosen as f64
    };
    let (single, triple) = (runs(1), runs(3));
    assert!(single < 0.2 && triple > 0.35, "{single} {triple}");
}

#[test]
fn a_higher_rate_masks_more() {
    let shards = documents(100, 40);
    let (_, counts) = all(&shards, ExampleOptions { mask_rate: 0.3, ..Default::default() }, 1);
    let share = counts.chosen as f64 / counts.tokens as f64;
    assert!((share - 0.3).abs() < 0.005, "{share}");
    let (few, _) = all(&shards, ExampleOptions { max_predictions: Some(3), ..Default::default() }, 1);
    assert!(few.iter().all(|example| example.masked.len() <= 3));
}

#[test]
fn masked_language_alone_uses_every_token_once() {
    let shards = documents(50, 30);
    let options = ExampleOptions { objective: Objective::Mlm, short_probability: 0.0, ..Default::default() };
    let (examples, _) = all(&shards, options, 1);
    let mut seen: Vec<u32> = examples.iter().flat_map(original).filter(|&id| !IDS.is_special(id)).collect();
    let mut written = Vec::new();
    for number in 0..shards.documents() {
        let document = shards.document(number);
        (0..document.sentences())
            .for_each(|sentence| document.append(sentence, &mut written, &mut Vec::new()));
    }
    seen.sort_unstable();
    written.sort_unstable();
    assert!(seen == written, "{} tokens seen, {} written", seen.len(), written.len());
    assert!(examples.iter().all(|example| example.next.is_none() && example.ids.len() <= 128));
}

#[test]
fn sentence_order_swaps_half_of_the_pairs() {
    let shards = documents(200, 60);
    let options = ExampleOptions { objective: Objective::Sop, ..Default::default() };
    let (examples, _) = all(&shards, options, 3);
    let swapped = examples.iter().filter(|example| example.next == Some(1)).count() as u64;
    assert!(is_share(swapped, examples.len() as u64, 0.5), "{swapped} of {}", examples.len());
}

#[test]
fn examples_depend_on_seed_and_epoch_alone() {
    let shards = documents(60, 30);
    let of = |options: ExampleOptions, epoch: u64| {
        let examples = examples(&shards, options);
        let made = examples.epoch(epoch);
        let mut example = Example::default();
        (0..made.len())
            .map(|index| {
                examples.make(&made, index, &mut example);
                example.clone()
            })
            .collect::<Vec<_>>()
    };
    let plain = ExampleOptions::default();
    assert!(of(plain.clone(), 1) == of(plain.clone(), 1));
    assert!(of(plain.clone(), 0) != of(plain.clone(), 1));
    assert!(of(plain.clone(), 0) != of(ExampleOptions { seed: 7, ..plain.clone() }, 0));
    let threads = |count| rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
    assert!(threads(1).install(|| of(plain.clone(), 3)) == threads(4).install(|| of(plain.clone(), 3)));
    // Static masking: the examples of epoch 0 come again in epoch 2, in another order.
    let fixed = ExampleOptions { static_copies: Some(2), ..plain };
    let sorted = |mut examples: Vec<Example>| {
        examples.sort_by(|a, b| a.ids.cmp(&b.ids));
        examples
    };
    let (first, third) = (of(fixed.clone(), 0), of(fixed.clone(), 2));
    assert!(first != third && sorted(first.clone()) == sorted(third));
    assert!(sorted(first) != sorted(of(fixed, 1)));
}

#[test]
fn a_feed_goes_on_where_another_stopped() {
    let shards = documents(20, 10);
    let (mut batch, mut targets) = (Batch::new(), Targets::default());
    for size in [BatchSize::Sequences(7), BatchSize::Tokens(600)] {
        let make = |position| Feed::new(examples(&shards, ExampleOptions::default()), position);
        let mut whole = make(Position::default());
        for _ in 0..40 {
            let position = whole.position();
            whole.next(size, &mut batch, &mut targets);
            let (mut again, mut its_targets) = (Batch::new(), Targets::default());
            make(position).next(size, &mut again, &mut its_targets);
            assert!(again == batch && its_targets == targets);
            match size {
                BatchSize::Sequences(count) => assert_eq!(batch.sequences(), count),
                BatchSize::Tokens(most) => assert!((most - 128..=most).contains(&batch.tokens())),
            }
        }
        assert!(whole.position().epoch > 1, "{:?}", whole.position());
    }
}

#[test]
fn some_documents_are_held_out_and_always_the_same() {
    let (training, held_out) = hold_out(1000, 0.02);
    assert_eq!((training.len(), held_out.len()), (980, 20));
    assert!(held_out.iter().all(|number| !training.contains(number)));
    assert_eq!(hold_out(1000, 0.02), (training, held_out));
    assert_eq!(hold_out(10, 0.0).1.len(), 0);
    assert_eq!([4, 3, 0].map(|documents| hold_out(documents, 0.01).1.len()), [2, 0, 0]);
    assert_eq!([4, 3, 0].map(|documents| hold_out(documents, 0.99).0.len()), [2, 3, 0]);
}

#[test]
fn what_cannot_work_is_refused() {
    let shards = documents(1, 5);
    let refused = |options| Examples::new(&shards, vec![0], IDS, options).unwrap_err().to_string();
    assert!(refused(ExampleOptions::default()).contains("blank lines"));
    assert!(refused(ExampleOptions { mask_rate: 0.0, ..Default::default() }).contains("mask rate"));
    assert!(refused(ExampleOptions { length: 3, ..Default::default() }).contains("at least 8"));
    assert!(refused(ExampleOptions { ngram: 0, ..Default::default() }).contains("n-gram"));
}
