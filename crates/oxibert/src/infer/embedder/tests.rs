//! A tiny model with random weights: what holds for any model.

use std::sync::Mutex;

use super::*;
use crate::model::names::{self, Parts};
use crate::model::{Config, Inspection, checkpoint};
use crate::nn::{Layout, Params};
use crate::text::{SPECIAL_TOKENS, Vocab};

const LAYERS: usize = 2;

/// Writes a model into `directory`; `spoil` may change its weights before.
fn write_model(directory: &Path, spoil: impl FnOnce(&mut Params)) {
    let words = ["a", "b", "c", "d", "##a", "##b", "##c", "##d", "好", "."];
    let vocab = Vocab::from_tokens(SPECIAL_TOKENS.iter().chain(&words)).unwrap();
    let config = Config {
        hidden_size: 32,
        num_attention_heads: 2,
        intermediate_size: 64,
        num_hidden_layers: LAYERS,
        max_position_embeddings: 20,
        initializer_range: 0.5,
        ..Config::preset("tiny", vocab.len()).unwrap()
    };
    let parts = Parts { pooler: true, ..Parts::default() };
    let mut params = Params::new(Layout::new(names::parameters(&config, parts)), &config, 7);
    spoil(&mut params);
    checkpoint::save(directory, &config, &params.tensors()).unwrap();
    Tokenizer::uncased(vocab).unwrap().save(directory).unwrap();
}

fn embedder() -> (tempfile::TempDir, Embedder) {
    let directory = tempfile::tempdir().unwrap();
    write_model(directory.path(), |_| ());
    let embedder = Embedder::open(directory.path()).unwrap();
    (directory, embedder)
}

/// Texts of all lengths, so many that they need several batches.
fn texts() -> Vec<String> {
    let text =
        |i: usize| (0..i * 7 % 31).map(|j| ["a", "bc", "好", "dab", "."][(i + j) % 5]).collect::<Vec<_>>();
    (0..300).map(|i| text(i).join(" ")).collect()
}

fn every_option(embedder: &Embedder) -> Vec<EmbedOptions> {
    let base = embedder.options();
    let poolings = [Pooling::Mean, Pooling::Cls, Pooling::Pooler, Pooling::Max];
    let longs = [LongText::Head, LongText::Tail, LongText::HeadTail, LongText::Sliding { stride: Some(3) }];
    let mut all = Vec::new();
    for pooling in poolings {
        all.extend(longs.map(|long| EmbedOptions { pooling, long, ..base }));
    }
    all.push(EmbedOptions { layer: Some(1), normalize: true, max_length: 9, ..base });
    all
}

#[test]
fn company_and_threads_leave_no_trace_in_the_bits() {
    let (_directory, embedder) = embedder();
    let texts = texts();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for options in every_option(&embedder) {
        let one = pool(1).install(|| embedder.embed(&texts, &options, &()).unwrap());
        let two = pool(2).install(|| embedder.embed(&texts, &options, &()).unwrap());
        assert!(one == two, "{options:?}: threads");
        for (text, row) in texts.iter().zip(one.rows()).step_by(11) {
            let alone = embedder.embed(&[text], &options, &()).unwrap();
            assert!(alone.values == row, "{options:?}: {text:?} alone");
        }
    }
}

#[test]
fn a_vector_is_the_pooled_output_of_its_layer() {
    let (_directory, embedder) = embedder();
    let encoding = embedder.tokenizer().encode("a bc .");
    let batch = Batch::of([&encoding]);
    let mut inspection = Inspection::default();
    embedder.bert().hidden(&batch, &mut BertWork::default(), Some(&mut inspection));
    for (layer, hidden) in inspection.hidden_states.iter().enumerate() {
        let options = EmbedOptions { layer: Some(layer), pooling: Pooling::Cls, ..embedder.options() };
        let found = embedder.embed(&["a bc ."], &options, &()).unwrap();
        assert_eq!(found.values, hidden[..found.width], "layer {layer}");
    }
    let mean = embedder.embed(&["a bc ."], &embedder.options(), &()).unwrap();
    let last = inspection.hidden_states.last().unwrap();
    let first_component: f32 = last.iter().step_by(mean.width).sum::<f32>() / encoding.len() as f32;
    assert!((mean.values[0] - first_component).abs() < 1e-6);
}

#[test]
fn windows_are_joined_by_their_tokens() {
    let (_directory, embedder) = embedder();
    let long = LongText::Sliding { stride: Some(1) };
    let options = EmbedOptions { max_length: 6, long, ..embedder.options() };
    let found = embedder.embed(&["a b c d a b"], &options, &()).unwrap();
    assert_eq!(found.long_texts, 1);
    let windows = embedder.embed(&["a b c d", "d a b"], &options, &()).unwrap();
    let rows: Vec<_> = windows.rows().collect();
    for (i, value) in found.values.iter().enumerate() {
        let expected = (6.0 * rows[0][i] + 5.0 * rows[1][i]) / 11.0;
        assert!((value - expected).abs() < 1e-6, "{value} {expected}");
    }
    let options = EmbedOptions { pooling: Pooling::Max, ..options };
    let found = embedder.embed(&["a b c d a b"], &options, &()).unwrap();
    let windows = embedder.embed(&["a b c d", "d a b"], &options, &()).unwrap();
    let rows: Vec<_> = windows.rows().collect();
    assert!(found.values.iter().enumerate().all(|(i, value)| *value == rows[0][i].max(rows[1][i])));
}

#[test]
fn long_texts_are_counted_and_empty_ones_embedded() {
    let (_directory, embedder) = embedder();
    assert_eq!(embedder.options().max_length, 20);
    let texts = ["", "a ".repeat(18).leak(), "a ".repeat(19).leak(), "a ".repeat(500).leak()];
    let found = embedder.embed(&texts, &embedder.options(), &()).unwrap();
    assert_eq!((found.long_texts, found.rows().len()), (2, 4));
    let rows: Vec<_> = found.rows().collect();
    assert!(rows[1] == rows[2] && rows[1] == rows[3] && rows[0] != rows[1]);
    assert!(embedder.embed::<&str>(&[], &embedder.options(), &()).unwrap().values.is_empty());
}

#[test]
fn every_text_is_reported_once() {
    struct Count(Mutex<(Option<u64>, u64)>);
    impl Progress for Count {
        fn begin(&self, _stage: &str, total: Option<u64>, _unit: Unit) {
            self.0.lock().unwrap().0 = total;
        }
        fn advance(&self, n: u64) {
            self.0.lock().unwrap().1 += n;
        }
        fn end(&self) {}
    }
    let (_directory, embedder) = embedder();
    let count = Count(Mutex::default());
    let options = EmbedOptions { long: LongText::Sliding { stride: None }, ..embedder.options() };
    embedder.embed(&texts(), &options, &count).unwrap();
    assert_eq!(*count.0.lock().unwrap(), (Some(300), 300));
}

#[test]
fn options_that_cannot_work_are_refused() {
    let (_directory, embedder) = embedder();
    let base = embedder.options();
    let refusal = |options: EmbedOptions| embedder.embed(&["a"], &options, &()).unwrap_err().to_string();
    assert!(refusal(EmbedOptions { layer: Some(3), ..base }).starts_with("layer: 3 is too large"));
    assert!(refusal(EmbedOptions { max_length: 21, ..base }).contains("20 positions"));
    assert!(refusal(EmbedOptions { max_length: 2, ..base }).contains("too short"));
    assert!(
        refusal(EmbedOptions { layer: Some(1), pooling: Pooling::Pooler, ..base }).contains("last layer")
    );
    let long = LongText::Sliding { stride: Some(18) };
    assert!(refusal(EmbedOptions { long, ..base }).starts_with("stride: 18"));
}

#[test]
fn a_sick_tensor_is_named() {
    for pooling in [Pooling::Mean, Pooling::Max] {
        let directory = tempfile::tempdir().unwrap();
        let name = "bert.encoder.layer.1.output.dense.bias";
        write_model(directory.path(), |params| {
            let range = params.layout.range(name).unwrap();
            params.values[range][5] = f32::NAN;
        });
        let embedder = Embedder::open(directory.path()).unwrap();
        let options = EmbedOptions { pooling, ..embedder.options() };
        let error = embedder.embed(&["a b"], &options, &()).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn the_directory_says_how_it_wants_to_be_used() {
    let (directory, _) = embedder();
    let write = |name: &str, content: &str| std::fs::write(directory.path().join(name), content).unwrap();
    write("modules.json", r#"[{"path": "", "type": "x.Pooling"}, {"path": "n", "type": "x.Normalize"}]"#);
    write("sentence_bert_config.json", r#"{"max_seq_length": 12}"#);
    // The Pooling module's own directory is the checkpoint's here, whose config.json says nothing of pooling.
    let options = Embedder::open(directory.path()).unwrap().options();
    assert_eq!((options.pooling, options.normalize, options.max_length), (Pooling::Mean, true, 12));
    write("sentence_bert_config.json", r#"{"max_seq_length": 1200}"#);
    assert_eq!(Embedder::open(directory.path()).unwrap().options().max_length, 20);
}
