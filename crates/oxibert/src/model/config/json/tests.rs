//! Tests of reading and writing `config.json`.

use super::super::fields::LONGEST;
use super::*;
use serde_json::json;

/// As it stands in bert-base-uncased, with a key of nobody's.
fn base() -> Value {
    json!({
        "architectures": ["BertForMaskedLM"],
        "attention_probs_dropout_prob": 0.1,
        "gradient_checkpointing": false,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 768,
        "initializer_range": 0.02,
        "intermediate_size": 3072,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "model_type": "bert",
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        "transformers_version": "4.6.0.dev0",
        "type_vocab_size": 2,
        "use_cache": true,
        "vocab_size": 30522,
        "somebody's": { "own": [1, 2.5] },
    })
}

fn parse(value: &Value) -> Result<Config> {
    Config::parse(&serde_json::to_vec(value).unwrap(), Path::new("config.json"))
}

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let mut value = base();
    change(&mut value);
    parse(&value).unwrap_err().to_string()
}

#[test]
fn base_is_the_preset() {
    let config = parse(&base()).unwrap();
    let preset = Config::preset("base", 30522).unwrap();
    assert_eq!(
        config,
        Config { architectures: config.architectures.clone(), other: config.other.clone(), ..preset }
    );
    assert_eq!(config.architectures, ["BertForMaskedLM"]);
}

#[test]
fn every_key_survives_loading_and_saving() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    let mut value = base();
    value["id2label"] = json!({ "0": "bad", "1": "good", "2": 3 });
    value["label2id"] = json!({ "bad": 0, "good": 1, "3": 2 });
    value["problem_type"] = "single_label_classification".into();
    value["torch_dtype"] = "float16".into();
    let config = parse(&value).unwrap();
    assert_eq!((config.num_labels(), config.labels[1].as_str()), (3, "good"));
    config.save(&path).unwrap();
    assert_eq!(Config::load(&path).unwrap().to_json(), config.to_json());
    let saved: Map<String, Value> = read_object(&path).unwrap();
    for (key, found) in value.as_object().unwrap() {
        match key.as_str() {
            "torch_dtype" => assert_eq!(saved[key], "float32"),
            "id2label" => assert_eq!(saved[key]["2"], "3"),
            _ => assert_eq!(&saved[key], found, "{key}"),
        }
    }
}

#[test]
fn our_own_options_survive_too() {
    let mut value = base();
    value["position_embedding_type"] = "sinusoidal".into();
    value["tie_word_embeddings"] = false.into();
    value["pad_token_id"] = Value::Null;
    value["hidden_act"] = "gelu_pytorch_tanh".into();
    value[HEAD_ACT] = "relu".into();
    let config = parse(&value).unwrap();
    assert_eq!(config.position_embedding_type, Positions::Sinusoidal);
    assert_eq!((config.hidden_act, config.head_act), (Activation::GeluTanh, Activation::Relu));
    assert_eq!((config.tie_word_embeddings, config.pad_token_id), (false, None));
    let saved = serde_json::to_value(config.to_json()).unwrap();
    assert_eq!(saved["position_embedding_type"], "absolute", "transformers knows no sinusoids");
    let again = parse(&saved).unwrap();
    assert_eq!(Config { other: Map::new(), ..again }, Config { other: Map::new(), ..config });
}

#[test]
fn googles_own_config_is_read() {
    let mut value = base();
    for key in ["model_type", "layer_norm_eps", "pad_token_id", "position_embedding_type", "architectures"] {
        value.as_object_mut().unwrap().remove(key);
    }
    let config = parse(&value).unwrap();
    assert_eq!((config.layer_norm_eps, config.pad_token_id), (1e-12, Some(0)));
    assert_eq!(config.num_labels(), 2);
}

#[test]
fn what_we_cannot_honour_is_refused_by_name() {
    assert_eq!(
        refusal(|c| c["model_type"] = "roberta".into()),
        "config.json: model_type is \"roberta\", expected \"bert\": oxibert reads BERT models"
    );
    assert_eq!(
        refusal(|c| c["model_type"] = "marian".into()),
        "config.json: model_type is \"marian\", a Transformer, which `oxibert translate` reads; expected \"bert\""
    );
    assert!(
        refusal(|c| c["hidden_act"] = "silu".into()).contains("hidden_act is \"silu\", expected one of gelu")
    );
    assert!(refusal(|c| c["position_embedding_type"] = "relative_key".into()).contains("relative_key"));
    assert!(refusal(|c| c["is_decoder"] = true.into()).contains("is_decoder is true"));
    assert!(refusal(|c| c["hidden_size"] = "768".into()).contains("\"768\", expected a whole number"));
    assert!(refusal(|c| c["hidden_size"] = (-1).into()).contains("hidden_size is -1"));
    assert!(refusal(|c| c["hidden_size"] = 770.into()).contains("hidden_size: it is 770"));
    assert!(
        refusal(|c| drop(c.as_object_mut().unwrap().remove("vocab_size"))).contains("vocab_size is missing")
    );
    assert!(refusal(|c| c["id2label"] = json!({ "0": "a", "2": "b" })).contains("no label for 1"));
    assert!(refusal(|c| c["id2label"] = json!({ "0": [1] })).contains("[1]"));
    assert!(refusal(|c| c["hidden_act"] = "x".repeat(500).into()).len() < 300);
    assert!(refusal(|c| *c = json!([1])).contains("expected a JSON object"));
}

#[test]
fn a_file_that_is_no_config_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    assert!(Config::load(&path).unwrap_err().to_string().starts_with("cannot read"));
    std::fs::write(&path, "{\n  \"vocab_size\": ,").unwrap();
    assert!(Config::load(&path).unwrap_err().to_string().contains("config.json:2: expected a JSON object"));
    std::fs::write(&path, " ".repeat(LONGEST as usize + 1)).unwrap();
    assert!(Config::load(&path).unwrap_err().to_string().contains("longer than"));
}

proptest::proptest! {
    #[test]
    fn no_value_makes_it_panic(key in 0..20usize, text in "[-0-9.e\"\\[\\]{}a-z:,]{0,12}") {
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let mut config = base();
        let name = config.as_object().unwrap().keys().nth(key).unwrap().clone();
        config[name] = value;
        let _ = parse(&config);
    }
}
