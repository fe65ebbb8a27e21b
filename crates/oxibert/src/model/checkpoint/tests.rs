//! Tests of directories, of looking up tensors, and of what we write.

use std::fs;

use ::safetensors::SafeTensors;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::safetensors::tests::{file, parse};
use super::*;
use crate::model::config::Positions;
use crate::model::names::{self, MLM_BIAS, MLM_DECODER_BIAS, POSITION_EMBEDDINGS, Parts, SEGMENT_EMBEDDINGS};

fn small() -> Config {
    let sizes = Config::preset("tiny", 11).unwrap();
    Config {
        hidden_size: 4,
        num_attention_heads: 2,
        intermediate_size: 6,
        max_position_embeddings: 3,
        ..sizes
    }
}

/// Tensors whose every value is another.
fn numbered(params: &[names::Param]) -> Vec<Tensor<'_>> {
    let mut numbers = (1u16..).map(|number| 0.25 * f32::from(number));
    let mut tensor = |p: &'_ names::Param| numbers.by_ref().take(p.len()).collect::<Vec<_>>();
    params.iter().map(|p| Tensor::new(&p.name, &p.shape, tensor(p))).collect()
}

/// A saved checkpoint of all parts.
fn saved(config: &Config) -> (tempfile::TempDir, Checkpoint) {
    let directory = tempfile::tempdir().unwrap();
    let params = names::parameters(config, Parts::PRETRAINING);
    save(directory.path(), config, &numbered(&params)).unwrap();
    let checkpoint = Checkpoint::open(directory.path()).unwrap();
    (directory, checkpoint)
}

#[test]
fn what_does_not_fit_is_named() {
    let (_directory, checkpoint) = saved(&small());
    let weights = &checkpoint.weights;
    let check = |config: &Config| {
        weights.check(&names::parameters(config, Parts::PRETRAINING)).unwrap_err().to_string()
    };
    let wide = check(&Config { type_vocab_size: 3, ..small() });
    assert!(
        wide.ends_with(
            "token_type_embeddings.weight\" has the shape [2, 4], expected [3, 4] as config.json has it"
        ),
        "{wide}"
    );
    let deep = Config { num_hidden_layers: 3, ..small() };
    let refused = check(&deep);
    assert!(
        refused.contains("layer.2.attention.self.query.weight\" of shape [4, 4] and 15 more missing"),
        "{refused}"
    );
    assert_eq!(weights.missing(&names::parameters(&deep, Parts::default())).len(), 16);
    assert!(weights.tensor("nobody").unwrap_err().to_string().contains("no tensor \"nobody\" among the 46"));
    assert!(weights.read_into("nobody", &[1], &mut [0.0]).is_err());
    assert!(
        weights.read_into(MLM_BIAS, &[1], &mut [0.0]).unwrap_err().to_string().contains("[11], expected [1]")
    );
}

#[test]
fn integers_are_listed_but_no_weights() {
    let header =
        json!({ "embeddings.position_ids": { "dtype": "I64", "shape": [1, 2], "data_offsets": [0, 16] } });
    let weights = parse(file(&header, 16)).unwrap();
    assert_eq!(weights.shape("bert.embeddings.position_ids"), Some(&[1, 2][..]));
    assert_eq!(weights.tensors().count(), 0);
    let refused = weights.tensor("bert.embeddings.position_ids").unwrap_err().to_string();
    assert!(refused.contains("holds I64, expected F32"), "{refused}");
}

#[test]
fn weights_that_are_not_finite_are_named() {
    let config = small();
    let params = names::parameters(&config, Parts::default());
    for bad in [f32::NAN, f32::NEG_INFINITY] {
        let directory = tempfile::tempdir().unwrap();
        let mut tensors = numbered(&params);
        tensors[1].data.to_mut()[5] = bad;
        tensors[1].data.to_mut()[7] = bad;
        save(directory.path(), &config, &tensors).unwrap();
        let weights = Weights::open(directory.path()).unwrap();
        assert!(weights.check(&params).is_ok());
        let refused = weights.check_finite(&params).unwrap_err().to_string();
        let expected =
            format!("position_embeddings.weight\": 2 of 12 values are not finite, the first is {bad} at 5");
        assert!(refused.contains(&expected), "{refused}");
        assert!(weights.check_finite(&params[2..]).is_ok());
    }
}

#[test]
fn a_round_trip_is_equal_to_the_bit_and_borrowed() {
    let config = small();
    let params = names::parameters(&config, Parts::PRETRAINING);
    let (directory, checkpoint) = saved(&config);
    assert_eq!(checkpoint.config, Config { other: checkpoint.config.other.clone(), ..config });
    let tensors: Vec<_> = checkpoint.weights.tensors().collect::<Result<_>>().unwrap();
    for tensor in &tensors {
        assert!(matches!(tensor.data, Cow::Borrowed(_)), "{}", tensor.name);
        let expected = numbered(&params).into_iter().find(|t| t.name == tensor.name).unwrap();
        assert_eq!((&tensor.shape, &tensor.data), (&expected.shape, &expected.data));
    }
    let before = fs::read(directory.path().join(WEIGHTS_FILE)).unwrap();
    let again = tempfile::tempdir().unwrap();
    save(again.path(), &checkpoint.config, &tensors).unwrap();
    for name in [WEIGHTS_FILE, CONFIG_FILE] {
        let paths = [&directory, &again].map(|d| d.path().join(name));
        assert_eq!(fs::read(&paths[0]).unwrap(), fs::read(&paths[1]).unwrap(), "{name}");
    }
    let theirs = SafeTensors::deserialize(&before).unwrap();
    assert_eq!(theirs.len(), params.len());
    let (_, metadata) = SafeTensors::read_metadata(&before).unwrap();
    assert_eq!(metadata.metadata().as_ref().unwrap()["format"], "pt");
}

#[test]
fn weights_in_memory_are_those_of_the_file() {
    let (_directory, checkpoint) = saved(&small());
    let tensors: Vec<_> = checkpoint.weights.tensors().collect::<Result<_>>().unwrap();
    let memory = Weights::of(&tensors).unwrap();
    assert_eq!(memory.tensors().collect::<Result<Vec<_>>>().unwrap(), tensors);
    assert!(matches!(memory.tensor(MLM_BIAS).unwrap().data, Cow::Borrowed(_)), "used where they lie");
}

#[test]
fn names_without_prefix_and_of_old_are_found() {
    let info = |at: usize| json!({ "dtype": "F32", "shape": [1], "data_offsets": [at, at + 4] });
    let header = json!({
        "embeddings.LayerNorm.gamma": info(0),
        "bert.embeddings.LayerNorm.beta": info(4),
        "cls.predictions.decoder.bias": info(8),
    });
    let weights = parse(file(&header, 12)).unwrap();
    assert!(weights.contains("bert.embeddings.LayerNorm.weight"));
    assert!(weights.contains("bert.embeddings.LayerNorm.bias"));
    assert_eq!(weights.shape(MLM_BIAS), Some(&[1][..]), "one bias, two names");
}

#[test]
fn transformers_finds_what_it_expects() {
    let untied = Config { tie_word_embeddings: false, ..small() };
    let (_directory, checkpoint) = saved(&untied);
    assert!(checkpoint.weights.names().any(|name| name == MLM_BIAS));
    let bias = |name| checkpoint.weights.tensor(name).unwrap().data;
    assert_eq!(bias(MLM_BIAS), bias(MLM_DECODER_BIAS));
    let fixed = Config { position_embedding_type: Positions::Sinusoidal, ..small() };
    let (_directory, checkpoint) = saved(&fixed);
    assert_eq!(checkpoint.config.position_embedding_type, Positions::Sinusoidal);
    let table = checkpoint.weights.tensor(POSITION_EMBEDDINGS).unwrap();
    assert_eq!(table.data[..], crate::model::sinusoids(3, 4));
}

#[test]
fn shards_are_one_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let shard = |name: &str| {
        let header = json!({ name: { "dtype": "F32", "shape": [1], "data_offsets": [0, 4] } });
        file(&header, 4)
    };
    let index = |map: Value| {
        fs::write(at("model.safetensors.index.json"), json!({ "weight_map": map }).to_string()).unwrap();
        Weights::open(directory.path())
    };
    fs::write(at("one.safetensors"), shard("pooler.dense.bias")).unwrap();
    fs::write(at("two.safetensors"), shard("b")).unwrap();
    let map = |b: &str| json!({ "pooler.dense.bias": "one.safetensors", "b": b });
    let weights = index(map("two.safetensors")).unwrap();
    assert_eq!(shards(weights.path()).unwrap(), ["one.safetensors", "two.safetensors"]);
    assert_eq!(weights.names().collect::<Vec<_>>(), ["b", "bert.pooler.dense.bias"]);
    assert_eq!(weights.tensor("b").unwrap().data[..], [0.0]);
    let refused = |map: Value| index(map).unwrap_err().to_string();
    assert!(refused(map("one.safetensors")).contains("\"b\" should be in one.safetensors, but is not"));
    assert!(refused(map("three.safetensors")).contains("cannot read"));
    assert!(refused(map("../two.safetensors")).contains("expected the name of a file beside the index"));
    assert!(refused(map("/etc/passwd")).contains("beside the index"));
    assert!(refused(json!({ "b": 1 })).contains("\"b\" is in 1, expected the name of a file"));
    assert!(refused(Value::Null).contains("no \"weight_map\""));
}

#[test]
fn directories_say_what_they_lack() {
    let directory = tempfile::tempdir().unwrap();
    let open = |path: &Path| Checkpoint::open(path).unwrap_err().to_string();
    assert!(open(directory.path()).contains("config.json"));
    small().save(&directory.path().join(CONFIG_FILE)).unwrap();
    assert!(open(directory.path()).contains("no weights in it; expected one of model.safetensors,"));
    assert!(open(&directory.path().join("other.safetensors")).starts_with("cannot read"));
    let (directory, _) = saved(&small());
    let renamed = directory.path().join("model.fp32.safetensors");
    fs::rename(directory.path().join(WEIGHTS_FILE), &renamed).unwrap();
    assert_eq!(Checkpoint::open(&renamed).unwrap().weights.path(), renamed);
}

#[test]
fn a_wider_model_keeps_its_rows() {
    let (directory, checkpoint) = saved(&small());
    let (config, tensors) = checkpoint.widen(8, 4).unwrap();
    assert_eq!((config.max_position_embeddings, config.type_vocab_size), (8, 4));
    let wide = tempfile::tempdir().unwrap();
    save(wide.path(), &config, &tensors).unwrap();
    let wide = Checkpoint::open(wide.path()).unwrap();
    wide.weights.check(&names::parameters(&wide.config, Parts::PRETRAINING)).unwrap();
    let rows = |from: &Checkpoint, name: &str| {
        from.weights.tensor(name).unwrap().data.chunks(4).map(<[f32]>::to_vec).collect::<Vec<_>>()
    };
    let (old, new) = (rows(&checkpoint, POSITION_EMBEDDINGS), rows(&wide, POSITION_EMBEDDINGS));
    assert_eq!(new, [0, 1, 2, 0, 1, 2, 0, 1].map(|row: usize| old[row].clone()));
    let (old, new) = (rows(&checkpoint, SEGMENT_EMBEDDINGS), rows(&wide, SEGMENT_EMBEDDINGS));
    assert_eq!(new, [0, 1, 0, 0].map(|row: usize| old[row].clone()));
    let refused = checkpoint.widen(2, 4).unwrap_err().to_string();
    assert_eq!(refused, "positions: 2 asked for, but the model has 3; expected at least as many");
    drop(directory);
}

#[test]
fn widening_makes_sinusoids_anew() {
    let (_directory, checkpoint) =
        saved(&Config { position_embedding_type: Positions::Sinusoidal, ..small() });
    let (config, tensors) = checkpoint.widen(9, 2).unwrap();
    let wide = tempfile::tempdir().unwrap();
    save(wide.path(), &config, &tensors).unwrap();
    let table = Weights::open(wide.path()).unwrap();
    assert_eq!(table.tensor(POSITION_EMBEDDINGS).unwrap().data[..], crate::model::sinusoids(9, 4));
}

proptest! {
    #[test]
    fn any_tensors_survive(
        shapes in prop::collection::btree_map("[a-zé.\"\\\\ ]{1,8}", prop::collection::vec(0..4usize, 0..4), 0..6),
        seed in any::<u32>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let bits = |i: usize| f32::from_bits(seed.wrapping_mul(i as u32 + 1).rotate_left(7));
        let tensor = |(name, shape): (&String, &Vec<usize>)| {
            let data: Vec<f32> = (0..shape.iter().product()).map(bits).collect();
            Tensor::new(name.clone(), shape.clone(), data)
        };
        let tensors: Vec<_> = shapes.iter().map(tensor).collect();
        save(directory.path(), &small(), &tensors).unwrap();
        let bytes = fs::read(directory.path().join(WEIGHTS_FILE)).unwrap();
        let theirs = SafeTensors::deserialize(&bytes).unwrap();
        prop_assert_eq!(theirs.len(), tensors.len());
        let ours = Weights::open(directory.path()).unwrap();
        for tensor in &tensors {
            let name = names::canonical(&tensor.name);
            let found = ours.tensor(&name).unwrap();
            let bits = |data: &[f32]| data.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(&found.shape, &tensor.shape);
            prop_assert_eq!(bits(&found.data), bits(&tensor.data));
            let view = theirs.tensor(&tensor.name).unwrap();
            prop_assert_eq!(view.shape(), &*tensor.shape);
            prop_assert_eq!(view.data(), tensor.data.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
        }
    }
}

#[test]
fn layers_behind_the_last_are_no_silent_loss() {
    let (directory, _) = saved(&small());
    Config { num_hidden_layers: 1, ..small() }.save(&directory.path().join(CONFIG_FILE)).unwrap();
    let refused = Checkpoint::open(directory.path()).unwrap_err().to_string();
    assert!(refused.contains("layer.1.attention.output.LayerNorm.bias"), "{refused}");
    assert!(refused.contains("num_hidden_layers in config.json is 1"), "{refused}");
}

#[test]
fn weights_under_another_name_are_pointed_at() {
    let (directory, _) = saved(&small());
    let at = |name: &str| directory.path().join(name);
    fs::rename(at(WEIGHTS_FILE), at("model.fp16.safetensors")).unwrap();
    let refused = Checkpoint::open(directory.path()).unwrap_err().to_string();
    assert!(
        refused.contains("no weights in it") && refused.contains("model.fp16.safetensors, name"),
        "{refused}"
    );
    assert!(Checkpoint::open(&at("model.fp16.safetensors")).is_ok());
    fs::write(at("model.fp16.safetensors"), "# A model\n").unwrap();
    let refused = Checkpoint::open(&at("model.fp16.safetensors")).unwrap_err().to_string();
    assert!(refused.contains("it begins with the text \"# A mode\""), "{refused}");
    fs::remove_file(at("model.fp16.safetensors")).unwrap();
    let refused = Checkpoint::open(directory.path()).unwrap_err().to_string();
    assert!(refused.ends_with("pytorch_model.bin.index.json"), "{refused}");
}
