//! Gaps in new documents: a word is hidden that can be known, and the model says what it would put there.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::Result;
use oxibert::infer::Filler;
use oxibert::text::{Encoding, Tokenizer};
use oxibert::train::{Body, Report, Section};
use oxibert::world::{Language, World};

use super::{DOCUMENTS, Demo, LANGUAGES, blank};

/// How many gaps are shown.
const GAPS: u64 = 6;
/// The documents that tell what is said everywhere from what one document is about.
const SAMPLE: u64 = 200;
/// The gaps take turns with so many words of their documents.
const TOPICS: usize = 3;

impl Demo<'_> {
    /// Gaps in documents beyond the corpus, and what the model would put there.
    pub(super) fn fill_gaps(&mut self, model: &Path, report: &mut Report) -> Result<()> {
        self.heading(9, "It fills gaps in new documents / 在新文档里填空")?;
        let filler = Filler::open(model)?;
        let everyday = LANGUAGES.map(|language| Everyday::new(&self.workdays, language, filler.tokenizer()));
        let mut rows = Vec::new();
        for number in 0..GAPS {
            let which = number as usize % LANGUAGES.len();
            let sentences = self.workdays.document(LANGUAGES[which], DOCUMENTS + number).sentences;
            let gaps = everyday[which].gaps(filler.tokenizer(), &sentences, blank(LANGUAGES[which]));
            let Some(Gap { text, answer }) = gaps.into_iter().take(TOPICS).cycle().nth(number as usize)
            else {
                continue;
            };
            let masks = filler.fill(&text, 3)?;
            let guesses: Vec<String> = masks[0]
                .candidates
                .iter()
                .map(|guess| format!("{} {:.0} %", guess.token, 100.0 * guess.probability))
                .collect();
            writeln!(self.out, "   {text}\n      {}   (it was: {answer})", guesses.join("   "))?;
            rows.push(vec![text, guesses.join(", "), answer]);
        }
        let head = ["text / 文本", "guesses / 猜测", "it was / 原词"].map(str::to_owned).to_vec();
        report.add(Section {
            title: "Gaps in new documents / 新文档填空".to_owned(),
            body: Body::Table { head, rows },
        })?;
        Ok(())
    }
}

/// A text with one word hidden.
#[derive(Debug, Clone)]
struct Gap {
    text: String,
    answer: String,
}

/// In how many documents of a sample each token stands.
struct Everyday {
    documents: HashMap<u32, u32>,
}

impl Everyday {
    fn new(world: &World, language: Language, tokenizer: &Tokenizer) -> Self {
        let mut documents = HashMap::new();
        for index in 0..SAMPLE {
            let text = world.document(language, index).sentences.join("\n");
            let tokens: HashSet<u32> = tokenizer.encode(&text).ids.into_iter().collect();
            tokens.into_iter().for_each(|id| *documents.entry(id).or_insert(0) += 1);
        }
        Self { documents }
    }

    /// How much a document is about a token: it stands in many of its sentences and in few other documents (tf-idf).
    fn weight(&self, id: u32, sentences: &[Encoding]) -> f64 {
        let here = sentences.iter().filter(|sentence| sentence.ids.contains(&id)).count() as f64;
        let elsewhere = 1 + self.documents.get(&id).copied().unwrap_or(0);
        here * (SAMPLE as f64 / f64::from(elsewhere)).ln()
    }

    /// Two sentences in a row, with a word of the second hidden that also stands in the first: something that can be known.
    /// One gap for each such word, those first that the document is about.
    fn gaps(&self, tokenizer: &Tokenizer, sentences: &[String], blank: &str) -> Vec<Gap> {
        let encoded: Vec<Encoding> = sentences.iter().map(|sentence| tokenizer.encode(sentence)).collect();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (number, pair) in encoded.windows(2).enumerate() {
            for place in 1..pair[1].len() - 1 {
                let id = pair[1].ids[place];
                let known = pair[0].ids.contains(&id);
                if known && is_word(tokenizer, &pair[1], place, &sentences[number + 1]) && seen.insert(id) {
                    let gap = hide(&pair[1], place, &sentences[number], &sentences[number + 1], blank);
                    found.push((self.weight(id, &encoded), gap));
                }
            }
        }
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        found.into_iter().map(|(_, gap)| gap).collect()
    }
}

/// Whether the token at `place` is a whole word of letters, and one that the vocabulary has.
fn is_word(tokenizer: &Tokenizer, encoding: &Encoding, place: usize, sentence: &str) -> bool {
    let continues = |place: usize| tokenizer.continues_word(encoding.ids[place]);
    let letters = || sentence[encoding.spans[place].range()].chars().all(char::is_alphabetic);
    let unknown = encoding.ids[place] == tokenizer.special().unk;
    !unknown && !continues(place) && !continues(place + 1) && letters()
}

fn hide(encoding: &Encoding, place: usize, first: &str, second: &str, blank: &str) -> Gap {
    let span = encoding.spans[place].range();
    let (before, after) = (&second[..span.start], &second[span.end..]);
    Gap { text: format!("{first}{blank}{before}[MASK]{after}"), answer: second[span].to_owned() }
}

#[cfg(test)]
mod tests {
    use oxibert::text::{SPECIAL_TOKENS, Vocab};
    use oxibert::world::Genre;

    use super::*;

    /// A tokenizer that knows every English word of some documents.
    fn tokenizer(world: &World) -> Tokenizer {
        let mut words: Vec<String> = [",", ".", "?", "!", "\"", "'", "-"].map(str::to_owned).to_vec();
        for index in 0..SAMPLE {
            let text = world.document(Language::English, index).sentences.join(" ").to_lowercase();
            words.extend(text.split(|letter: char| !letter.is_ascii_alphabetic()).map(str::to_owned));
        }
        words.retain(|word| !word.is_empty());
        words.sort();
        words.dedup();
        let special = SPECIAL_TOKENS.iter().map(|&token| token.to_owned());
        Tokenizer::uncased(Vocab::from_tokens(special.chain(words)).unwrap()).unwrap()
    }

    #[test]
    fn what_a_document_is_about_is_hidden() {
        let world = World::new(42).only(Genre::Workday);
        let tokenizer = tokenizer(&world);
        let everyday = Everyday::new(&world, Language::English, &tokenizer);
        for index in 0..SAMPLE {
            let sentences = world.document(Language::English, index).sentences;
            let gaps = everyday.gaps(&tokenizer, &sentences, " ");
            let Gap { text, answer } = &gaps[0];
            let (before, after) = text.split_once("[MASK]").unwrap();
            assert!(before.to_lowercase().contains(&answer.to_lowercase()), "{answer} in {text}");
            assert!(sentences.join(" ").contains(&format!("{before}{answer}{after}")), "{text}");
            let here = sentences.iter().filter(|sentence| sentence.contains(answer.as_str())).count();
            assert!(
                here >= 3 && !["the", "and", "to"].contains(&answer.as_str()),
                "{answer} in {sentences:?}"
            );
        }
    }
}
