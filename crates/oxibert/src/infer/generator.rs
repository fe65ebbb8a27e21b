//! Going on with texts: `oxibert generate`.

use std::path::Path;

use crate::data::{Batch, by_budget};
use crate::model::Param;
use crate::model::causal::{Causal, Checkpoint, GenerateOptions, Work, generate};
use crate::nn::frozen::Frozen;
use crate::progress::{Progress, Unit};
use crate::text::Tokenizer;
use crate::{Error, Result};

/// Tokens of the texts that are gone on with at a time.
const BATCH_TOKENS: usize = 1024;

/// A causal model and its tokenizer, ready to go on with texts. It can be shared between threads.
///
/// ```no_run
/// use oxibert::infer::{GenerateOptions, Generator};
///
/// let generator = Generator::open("stories".as_ref())?;
/// println!("{}", generator.generate(&["Once upon a time"], &GenerateOptions::greedy(), &())?[0]);
/// # Ok::<(), oxibert::Error>(())
/// ```
#[derive(Debug)]
pub struct Generator {
    model: Causal,
    numbers: Frozen,
    tokenizer: Tokenizer,
}

impl Generator {
    /// Opens a checkpoint directory: a GPT2LMHeadModel with a WordPiece tokenizer.
    pub fn open(directory: &Path) -> Result<Self> {
        Self::new(Checkpoint::open(directory)?, Tokenizer::load(directory)?)
    }

    /// The generator of an opened model.
    pub fn new(checkpoint: Checkpoint, tokenizer: Tokenizer) -> Result<Self> {
        let Checkpoint { config, weights } = checkpoint;
        let (tokens, rows) = (tokenizer.vocab().len(), config.vocab_size);
        if tokens > rows {
            let problem = format!("it has {tokens} tokens, but the model has {rows}; take the model's own");
            return Err(Error::setting("tokenizer", problem));
        }
        let model = Causal::new(&config);
        let numbers = Frozen::new(weights, model.layout().clone())?;
        Ok(Self { model, numbers, tokenizer })
    }

    /// The model.
    pub fn model(&self) -> &Causal {
        &self.model
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// What each text goes on with, in the order of the texts, with the blank before it where one belongs. An empty text is a
    /// beginning like any other.
    ///
    /// It does not depend on which texts are gone on with together, nor on the number of threads.
    pub fn generate<T: AsRef<str>>(
        &self,
        texts: &[T],
        options: &GenerateOptions,
        progress: &dyn Progress,
    ) -> Result<Vec<String>> {
        options.check()?;
        let given =
            texts.iter().map(|text| self.given(text.as_ref(), options)).collect::<Result<Vec<_>>>()?;
        let mut work = Work::default();
        let mut said = Vec::with_capacity(texts.len());
        progress.begin("generating", Some(texts.len() as u64), Unit::Items);
        for run in by_budget(&given, BATCH_TOKENS, Vec::len) {
            let found = generate(&self.model, &self.numbers, run, options, &mut work);
            let found = found.map_err(|error| self.explain(error));
            if found.is_err() {
                progress.end();
            }
            said.extend(run.iter().zip(found?).map(|(given, ids)| self.added(given, &ids)));
            progress.advance(run.len() as u64);
        }
        progress.end();
        Ok(said)
    }

    /// What `ids` add to the text of `given`: the end of a word, or words of their own.
    fn added(&self, given: &[u32], ids: &[u32]) -> String {
        let [before, whole] = [given.to_vec(), [given, ids].concat()].map(|ids| self.tokenizer.decode(&ids));
        match whole.strip_prefix(&before) {
            Some(added) => added.to_owned(),
            None => format!(" {}", self.tokenizer.decode(ids)),
        }
    }

    /// A text's tokens behind `[CLS]`, shorter than the longest sequence.
    fn given(&self, text: &str, options: &GenerateOptions) -> Result<Vec<u32>> {
        let config = self.model.config();
        let start = config.bos_token_id.unwrap_or(self.tokenizer.special().cls);
        let ids = [&[start], &self.tokenizer.encoder().pieces(text).ids[..]].concat();
        let most = options.max_length.unwrap_or(usize::MAX).min(config.n_positions);
        if ids.len() >= most {
            let problem = format!(
                "a text has {} tokens with [CLS], but a sequence has at most {most}; give less of it or allow more",
                ids.len()
            );
            return Err(Error::setting("text", problem));
        }
        let mut batch = Batch::new();
        batch.push_ids(&ids);
        self.model.check(&batch).map(|()| ids)
    }

    /// Explains an output that is no number by the tensor that is sick, if one is.
    fn explain(&self, error: Error) -> Error {
        let params: Vec<Param> = self.model.layout().iter().map(|(param, _)| param.clone()).collect();
        self.numbers.weights().check_finite(&params).err().unwrap_or(error)
    }
}

#[cfg(test)]
mod tests;
