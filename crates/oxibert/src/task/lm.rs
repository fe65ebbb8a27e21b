//! Left to right: texts, the causal model, each token from those before it.

use std::path::Path;

use crate::model::causal::{Causal, Checkpoint, Config, TextBatch, Work, save};
use crate::model::{DropoutPlan, TokenLoss, Training};
use crate::nn::{Gradients, Layout, tensors};
use crate::progress::{Progress, Unit};
use crate::text::Tokenizer;
use crate::{Error, Result};

use super::teaching::{Speaker, TeachOptions, Teaching, losses};

/// A causal model that learns texts.
pub type Lm<'t> = Teaching<TextSpeaker<'t>>;

/// The causal model and its vocabulary.
pub struct TextSpeaker<'t> {
    model: Causal,
    tokenizer: &'t Tokenizer,
}

/// The texts that a causal model is shown, and the memory of a pass over them.
#[derive(Debug, Default)]
pub struct TextDesk {
    batch: TextBatch,
    work: Work,
}

impl<'t> Teaching<TextSpeaker<'t>> {
    /// Encodes the texts and checks that model and vocabulary fit each other. A text that is longer than the model's longest
    /// sequence is learned in several; empty ones are left out.
    pub fn new<T: AsRef<str> + Sync>(
        config: &Config,
        tokenizer: &'t Tokenizer,
        training: &[T],
        dev: &[T],
        options: TeachOptions,
    ) -> Result<Self> {
        let speaker = TextSpeaker::new(config, tokenizer)?;
        let [training, dev] = [training, dev].map(|texts| encode(texts, tokenizer, config));
        Self::with_examples(speaker, training, dev, options)
    }

    /// The model.
    pub fn model(&self) -> &Causal {
        &self.speaker.model
    }
}

/// How well a checkpoint's model foretells texts: each token from those before it, the end of a text too. The perplexity is
/// `loss.exp()`. Empty texts have no token; one that is longer than the model's longest sequence is read in several.
///
/// ```no_run
/// use oxibert::model::causal::Checkpoint;
/// use oxibert::task::lm::foretell;
/// use oxibert::text::Tokenizer;
///
/// let directory = "stories".as_ref();
/// let (checkpoint, tokenizer) = (Checkpoint::open(directory)?, Tokenizer::load(directory)?);
/// let told = foretell(&checkpoint, &tokenizer, &["Once upon a time"], &())?;
/// println!("perplexity {:.1} of {} tokens", told.loss.exp(), told.tokens);
/// # Ok::<(), oxibert::Error>(())
/// ```
pub fn foretell<T: AsRef<str> + Sync>(
    checkpoint: &Checkpoint,
    tokenizer: &Tokenizer,
    texts: &[T],
    progress: &dyn Progress,
) -> Result<TokenLoss> {
    let speaker = TextSpeaker::new(&checkpoint.config, tokenizer)?;
    let (_, params) = checkpoint.load()?;
    let examples = encode(texts, tokenizer, &checkpoint.config);
    progress.begin("foretelling", Some(examples.len() as u64), Unit::Items);
    let told = losses(&speaker, &examples, &params.values, &mut TextDesk::default(), progress);
    progress.end();
    Ok(told)
}

impl<'t> TextSpeaker<'t> {
    /// Checks that model and vocabulary fit each other.
    fn new(config: &Config, tokenizer: &'t Tokenizer) -> Result<Self> {
        let tokens = tokenizer.vocab().len();
        if tokens > config.vocab_size {
            let problem = format!(
                "the model has {}, but the tokenizer {tokens} tokens; set it to {tokens}",
                config.vocab_size
            );
            return Err(Error::setting("vocab_size", problem));
        }
        Ok(Self { model: Causal::new(config), tokenizer })
    }
}

impl Speaker for TextSpeaker<'_> {
    type Example = Vec<u32>;
    type Desk = TextDesk;

    fn layout(&self) -> &Layout {
        self.model.layout()
    }

    /// The last token is asked for, but not given.
    fn tokens(&self, ids: &Vec<u32>) -> usize {
        ids.len() - 1
    }

    fn width(&self) -> usize {
        self.model.config().n_embd
    }

    fn asked(&self, ids: &Vec<u32>) -> usize {
        ids.len() - 1
    }

    fn ids<'e>(&self, ids: &'e Vec<u32>) -> [&'e [u32]; 2] {
        [ids, &[]]
    }

    fn flops(&self, ids: &Vec<u32>) -> u64 {
        self.model.config().flops(ids.len() - 1)
    }

    fn show<'e>(&self, texts: impl Iterator<Item = &'e Vec<u32>>, desk: &mut TextDesk) {
        desk.batch.clear();
        texts.for_each(|ids| desk.batch.push(ids));
    }

    fn dropout(&self, seed: u64) -> DropoutPlan {
        self.model.dropout(seed)
    }

    fn gradients(
        &self,
        values: &[f32],
        gradients: &mut Gradients,
        training: Training,
        desk: &mut TextDesk,
    ) -> TokenLoss {
        self.model.gradients(values, gradients, &desk.batch, training, &mut desk.work)
    }

    fn evaluate(&self, values: &[f32], desk: &mut TextDesk) -> TokenLoss {
        self.model.evaluate(values, &desk.batch, 0.0, &mut desk.work)
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.model.initial(seed).values
    }

    fn save(&self, values: &[f32], directory: &Path) -> Result<()> {
        save(directory, self.model.config(), &tensors(self.model.layout(), values))?;
        self.tokenizer.save(directory)
    }

    fn load(&self, directory: &Path) -> Result<Vec<f32>> {
        Checkpoint::open(directory)?.load().map(|(_, params)| params.values)
    }
}

/// Texts as ids from their start to their end. A long one is cut so that every token is asked for once: each part begins with
/// the last token of the one before.
fn encode<T: AsRef<str> + Sync>(texts: &[T], tokenizer: &Tokenizer, config: &Config) -> Vec<Vec<u32>> {
    let mut parts = Vec::new();
    for mut ids in tokenizer.encode_batch(texts).into_iter().map(|encoding| encoding.ids) {
        let last = ids.len() - 1;
        if last < 2 {
            continue;
        }
        ids[0] = config.bos_token_id.unwrap_or(ids[0]);
        ids[last] = config.eos_token_id.unwrap_or(ids[last]);
        let begins = (0..last).step_by(config.n_positions);
        parts.extend(begins.map(|begin| ids[begin..=last.min(begin + config.n_positions)].to_vec()));
    }
    parts
}

#[cfg(test)]
mod tests;
