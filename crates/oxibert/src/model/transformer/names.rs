//! Every parameter of a Transformer: its name, its shape and what it is. Written once, here.
//!
//! The names are those of `transformers`' MarianMTModel. Pre-norm's last LayerNorms, which Marian lacks, are called as in
//! mBART.

use super::Config;
use crate::model::names::{Block, Kind, List, Param};

/// The one table of shared embeddings.
pub const SHARED: &str = "model.shared.weight";
/// The source's own table, where it is not shared.
pub const SOURCE_EMBEDDINGS: &str = "model.encoder.embed_tokens.weight";
/// The target's own table, where it is not shared.
pub const TARGET_EMBEDDINGS: &str = "model.decoder.embed_tokens.weight";
/// The output projection, where it is neither's.
pub const OUTPUT: &str = "lm_head.weight";
/// A constant that is added to the logits; all zeros in models that we train.
pub const LOGITS_BIAS: &str = "final_logits_bias";

/// The parts of a block.
pub(super) const SELF_ATTENTION: &str = "self_attn";
pub(super) const CROSS_ATTENTION: &str = "encoder_attn";
pub(super) const FEED_FORWARD: [&str; 2] = ["fc1", "fc2"];
pub(super) const SELF_NORM: &str = "self_attn_layer_norm";
pub(super) const CROSS_NORM: &str = "encoder_attn_layer_norm";
pub(super) const FEED_FORWARD_NORM: &str = "final_layer_norm";
/// The parts of attention: queries, keys and values in the order in which they lie side by side.
pub(super) const PROJECTIONS: [&str; 3] = ["q_proj", "k_proj", "v_proj"];
pub(super) const ATTENTION_OUTPUT: &str = "out_proj";

/// One of the two towers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Encoder,
    Decoder,
}

impl Side {
    /// The name of a part of the block of this number.
    pub(super) fn at(self, layer: usize, part: &str) -> String {
        format!("{}.layers.{layer}.{part}", self.name())
    }

    /// The LayerNorm behind the last pre-norm block.
    pub(super) fn last_norm(self) -> String {
        format!("{}.layer_norm", self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Encoder => "model.encoder",
            Self::Decoder => "model.decoder",
        }
    }

    fn block(self, layer: usize) -> Block {
        match self {
            Self::Encoder => Block::Layer(layer),
            Self::Decoder => Block::Decoder(layer),
        }
    }

    pub(super) fn layers(self, config: &Config) -> usize {
        match self {
            Self::Encoder => config.encoder_layers,
            Self::Decoder => config.decoder_layers,
        }
    }

    fn inner(self, config: &Config) -> usize {
        match self {
            Self::Encoder => config.encoder_ffn_dim,
            Self::Decoder => config.decoder_ffn_dim,
        }
    }

    /// The table that this side's tokens are looked up in.
    pub(super) fn embeddings(self, config: &Config) -> &'static str {
        match self {
            _ if config.share_encoder_decoder_embeddings => SHARED,
            Self::Encoder => SOURCE_EMBEDDINGS,
            Self::Decoder => TARGET_EMBEDDINGS,
        }
    }
}

/// The matrix of the output projection.
pub(super) fn output(config: &Config) -> &'static str {
    if config.tie_word_embeddings { Side::Decoder.embeddings(config) } else { OUTPUT }
}

/// All parameters of `config`, in the order of the forward pass; the logits' constant among them if `bias`.
pub fn parameters(config: &Config, bias: bool) -> Vec<Param> {
    let mut list = List::new(config.d_model);
    let table = |list: &mut List, block, name, rows| {
        list.push(block, Kind::Embedding, name, &[rows, config.d_model]);
    };
    table(&mut list, Block::Embeddings, Side::Encoder.embeddings(config), config.vocab_size);
    if !config.share_encoder_decoder_embeddings {
        table(&mut list, Block::Embeddings, TARGET_EMBEDDINGS, config.decoder_vocab_size);
    }
    for side in [Side::Encoder, Side::Decoder] {
        (0..side.layers(config)).for_each(|layer| block(&mut list, config, side, layer));
        if config.normalize_before {
            list.layer_norm(Block::Output, &side.last_norm());
        }
    }
    if !config.tie_word_embeddings {
        table(&mut list, Block::Output, OUTPUT, config.decoder_vocab_size);
    }
    if bias {
        list.push(Block::Output, Kind::Bias, LOGITS_BIAS, &[1, config.decoder_vocab_size]);
    }
    list.params
}

fn block(list: &mut List, config: &Config, side: Side, layer: usize) {
    let (block, at) = (side.block(layer), |part: &str| side.at(layer, part));
    let attention = |list: &mut List, name: &str, norm: &str| {
        list.squares(block, PROJECTIONS.map(|part| at(&format!("{name}.{part}"))));
        list.square(block, &at(&format!("{name}.{ATTENTION_OUTPUT}")));
        list.layer_norm(block, &at(norm));
    };
    attention(list, SELF_ATTENTION, SELF_NORM);
    if side == Side::Decoder {
        attention(list, CROSS_ATTENTION, CROSS_NORM);
    }
    let inner = side.inner(config);
    list.linear(block, &at(FEED_FORWARD[0]), inner, config.d_model);
    list.linear(block, &at(FEED_FORWARD[1]), config.d_model, inner);
    list.layer_norm(block, &at(FEED_FORWARD_NORM));
}

/// The names under which a shared table stands in files that hold it once, or once for each of its uses.
pub(in crate::model) fn aliases(name: &str) -> Option<&'static [&'static str]> {
    match name {
        SHARED => Some(&[SOURCE_EMBEDDINGS, TARGET_EMBEDDINGS, OUTPUT]),
        TARGET_EMBEDDINGS => Some(&[OUTPUT]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::tests::special;
    use super::*;
    use crate::model::names;

    #[test]
    fn names_stand_once_and_tell_their_block() {
        let base = Config::preset("tiny", 100, special()).unwrap();
        for (shared, tied, before) in [(true, true, false), (false, true, true), (false, false, false)] {
            let config = Config {
                share_encoder_decoder_embeddings: shared,
                tie_word_embeddings: tied,
                normalize_before: before,
                ..base.clone()
            };
            let params = parameters(&config, true);
            let unique: HashSet<&str> = params.iter().map(|param| &*param.name).collect();
            assert_eq!(unique.len(), params.len());
            assert!(params.iter().all(|param| names::canonical(&param.name) == param.name));
            assert!(params.iter().all(|param| names::block(&param.name) == Some(param.block)));
            let tables = 1 + usize::from(!shared) + usize::from(!tied);
            assert_eq!(params.iter().filter(|param| param.kind == Kind::Embedding).count(), tables);
            // 16 of an encoder block, 26 of a decoder block.
            assert_eq!(params.len(), tables + 2 * (16 + 26) + 4 * usize::from(before) + 1);
        }
    }

    #[test]
    fn base_has_the_papers_size() {
        let base = Config::preset("base", 37_000, special()).unwrap();
        let count: usize = parameters(&base, false).iter().map(Param::len).sum();
        // Table 3 of the paper says 65 million.
        assert_eq!(count, 63_082_496);
    }
}
