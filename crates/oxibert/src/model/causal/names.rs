//! Every parameter of a causal model: its name, its shape and what it is. Written once, here. The names are those of
//! `transformers`' GPT2LMHeadModel.

use super::Config;
use crate::model::names::{Block, Kind, List, Param};

/// The token embedding's name: the tied output projection is this table too.
pub const WORD_EMBEDDINGS: &str = "transformer.wte.weight";
/// The position table's name.
pub const POSITION_EMBEDDINGS: &str = "transformer.wpe.weight";
/// The LayerNorm behind the last block.
pub const LAST_NORM: &str = "transformer.ln_f";
/// The output projection, where it is not tied.
pub const OUTPUT: &str = "lm_head.weight";

/// The parts of a block.
pub(super) const ATTENTION_NORM: &str = "ln_1";
pub(super) const ATTENTION: [&str; 2] = ["attn.c_attn", "attn.c_proj"];
pub(super) const FEED_FORWARD_NORM: &str = "ln_2";
pub(super) const FEED_FORWARD: [&str; 2] = ["mlp.c_fc", "mlp.c_proj"];

/// The name of a part of the block of this number.
pub(super) fn at(layer: usize, part: &str) -> String {
    format!("transformer.h.{layer}.{part}")
}

/// Whether a parameter is the matrix that ends a sub-layer: those begin smaller the more of them there are.
pub(super) fn ends_a_sub_layer(name: &str) -> bool {
    [ATTENTION[1], FEED_FORWARD[1]].iter().any(|part| name.ends_with(&format!("{part}.weight")))
}

/// All parameters of `config`, in the order of the forward pass.
pub fn parameters(config: &Config) -> Vec<Param> {
    let (hidden, inner) = (config.n_embd, config.inner());
    let mut list = List::new(hidden);
    list.push(Block::Embeddings, Kind::Embedding, WORD_EMBEDDINGS, &[config.vocab_size, hidden]);
    list.push(Block::Embeddings, Kind::Embedding, POSITION_EMBEDDINGS, &[config.n_positions, hidden]);
    for layer in 0..config.n_layer {
        let block = Block::Decoder(layer);
        list.layer_norm(block, &at(layer, ATTENTION_NORM));
        list.transposed(block, &at(layer, ATTENTION[0]), 3 * hidden, hidden);
        list.transposed(block, &at(layer, ATTENTION[1]), hidden, hidden);
        list.layer_norm(block, &at(layer, FEED_FORWARD_NORM));
        list.transposed(block, &at(layer, FEED_FORWARD[0]), inner, hidden);
        list.transposed(block, &at(layer, FEED_FORWARD[1]), hidden, inner);
    }
    list.layer_norm(Block::Output, LAST_NORM);
    if !config.tie_word_embeddings {
        list.push(Block::Output, Kind::Embedding, OUTPUT, &[config.vocab_size, hidden]);
    }
    list.params
}

/// The name under which a tied table may stand, too.
pub(in crate::model) fn aliases(name: &str) -> Option<&'static [&'static str]> {
    (name == WORD_EMBEDDINGS).then_some(&[OUTPUT])
}
