//! What the tests of several verbs share: the binary, and a tiny checkpoint.

use std::path::Path;
use std::process::{Command, Output};

use oxibert::model::checkpoint::{self, Tensor};
use oxibert::model::{Config, Parts, names};
use oxibert::text::{Tokenizer, Vocab};

/// The command, sure not to meet the real hub, the user's cache or a proxy.
pub(crate) fn command(arguments: &[&str], endpoint: &str, home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxibert"));
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(proxy).env_remove(proxy.to_lowercase());
    }
    command.args(arguments).env("HF_ENDPOINT", endpoint).env("HF_HOME", home).env_remove("HF_TOKEN");
    command.env("HF_HUB_DOWNLOAD_TIMEOUT", "2").env_remove("HF_HUB_CACHE").env_remove("HF_HUB_OFFLINE");
    command
}

pub(crate) fn oxibert(arguments: &[&str], endpoint: &str, home: &Path) -> Output {
    command(arguments, endpoint, home).output().unwrap()
}

/// Nobody listens there: port 0 is none.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:0";

pub(crate) fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one line that an error must be.
pub(crate) fn error(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let line = said.lines().last().unwrap_or_default().to_owned();
    assert!(line.starts_with("error: "), "{said}");
    line
}

pub(crate) const TOKENS: [&str; 8] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "好"];

pub(crate) fn config() -> Config {
    Config {
        hidden_size: 4,
        num_attention_heads: 2,
        intermediate_size: 6,
        max_position_embeddings: 3,
        ..Config::preset("tiny", TOKENS.len()).unwrap()
    }
}

/// A checkpoint for pretraining with a tokenizer. Its values have at most eight digits in base two, so that
/// every number type holds them.
pub(crate) fn make_checkpoint(directory: &Path) {
    let params = names::parameters(&config(), Parts::PRETRAINING);
    let mut numbers = (1u8..=255).cycle().map(|number| 0.25 * f32::from(number));
    let mut values = |n: usize| numbers.by_ref().take(n).collect::<Vec<_>>();
    let tensors: Vec<_> = params.iter().map(|p| Tensor::new(&p.name, &p.shape, values(p.len()))).collect();
    checkpoint::save(directory, &config(), &tensors).unwrap();
    Tokenizer::uncased(Vocab::from_tokens(TOKENS).unwrap()).unwrap().save(directory).unwrap();
}
