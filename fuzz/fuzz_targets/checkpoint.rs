//! Any bytes as a weight file (safetensors or PyTorch's zip) or as a config.json are refused or read without a panic.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use oxibert::model::{Bert, Config, Weights};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(config) = Config::parse(bytes, Path::new("config.json")) {
        config.check().unwrap();
        assert!(config.head_size() > 0);
        let again = serde_json::to_vec(&config.to_json()).unwrap();
        let again = Config::parse(&again, Path::new("config.json")).unwrap();
        assert_eq!((again.vocab_size, &again.labels), (config.vocab_size, &config.labels));
    }
    let Ok(weights) = Weights::parse(bytes.to_vec(), Path::new("model.safetensors")) else { return };
    for name in weights.names() {
        let shape = weights.shape(name).unwrap();
        if let Ok(tensor) = weights.tensor(name) {
            assert_eq!((&*tensor.shape, tensor.data.len()), (shape, shape.iter().product()));
            let mut copy = vec![0.0; tensor.data.len()];
            weights.read_into(name, shape, &mut copy).unwrap();
            assert!(copy.iter().zip(&*tensor.data).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
    // Hardly ever a whole model, but the refusals are tried.
    let _ = Bert::new(Config::preset("tiny", 8).unwrap(), weights);
});
