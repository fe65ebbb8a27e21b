//! The shares of masked tokens: what was asked for, and what a run really has.

/// So far from the wanted share before anything is said: one point of all tokens, three of the masked ones. Whole-word
/// masking and short texts cause less.
const TOLERANCE: (f64, f64) = (0.01, 0.03);
/// Standard deviations that a counted share may be off by chance; beyond 4 is one case in 16 000.
const DEVIATIONS: f64 = 4.0;

/// How tokens are masked: the share of tokens that are chosen, and what becomes of the chosen ones. Shares of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaskingShares {
    /// Tokens that the model must guess; BERT's is 0.15.
    pub chosen: f64,
    /// Of those, hidden behind `[MASK]`; BERT's is 0.8.
    pub masked: f64,
    /// Of those, replaced by a random token; BERT's is 0.1.
    pub random: f64,
    /// Of those, left as they are; BERT's is 0.1.
    pub kept: f64,
    /// The number of tokens that these shares are counted from; 0 where they are settings.
    pub tokens: u64,
}

/// The shares that are off: name, wanted, real.
pub(super) fn differences(wanted: &MaskingShares, real: &MaskingShares) -> Option<Vec<Difference>> {
    if real.tokens == 0 {
        return None;
    }
    let chosen = real.tokens as f64 * real.chosen;
    let off = |share: f64, real: f64, tolerance: f64, count: f64| {
        let chance = (share * (1.0 - share) / count.max(1.0)).sqrt();
        (real - share).abs() > tolerance + DEVIATIONS * chance
    };
    let all = [
        ("chosen", "选中", wanted.chosen, real.chosen, TOLERANCE.0, real.tokens as f64),
        ("[MASK]", "[MASK]", wanted.masked, real.masked, TOLERANCE.1, chosen),
        ("random", "随机", wanted.random, real.random, TOLERANCE.1, chosen),
        ("kept", "保留", wanted.kept, real.kept, TOLERANCE.1, chosen),
    ];
    let seen: Vec<_> = all
        .into_iter()
        .filter(|&(_, _, wanted, real, tolerance, count)| off(wanted, real, tolerance, count))
        .map(|(name, chinese, wanted, real, ..)| Difference { name, chinese, wanted, real })
        .collect();
    (!seen.is_empty()).then_some(seen)
}

/// A share that is not what it was meant to be.
pub(super) struct Difference {
    pub(super) name: &'static str,
    pub(super) chinese: &'static str,
    pub(super) wanted: f64,
    pub(super) real: f64,
}
