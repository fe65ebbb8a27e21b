//! What is known to make pretraining fail, said before it is begun: the cause, and the way out.

use oxibert::data::shard::Prepared;

use super::summary::percent;

/// BERT's longest sequence, and the bucket of lengths from it on.
const LONG: (usize, &str) = (9, "512");

/// Whether `part` is more than `limit` percent of `whole`.
fn exceeds(part: u64, whole: u64, limit: u64) -> bool {
    u128::from(part) * 100 > u128::from(whole) * u128::from(limit)
}

/// A line for everything that looks wrong.
pub(super) fn warnings(made: &Prepared) -> Vec<String> {
    [duplicates(made), documents(made), unknown(made), long_sentences(made), forgotten(made), cut(made)]
        .into_iter()
        .flatten()
        .collect()
}

fn duplicates(made: &Prepared) -> Option<String> {
    let many = exceeds(made.duplicate_lines, made.lines, 30) && !made.duplicates_dropped;
    many.then(|| {
        let share = percent(made.duplicate_lines, made.lines);
        format!(
            "{share} of the lines have stood before, and a model learns them by heart; drop them with --dedup"
        )
    })
}

fn documents(made: &Prepared) -> Option<String> {
    if made.documents == 1 {
        return Some(
            "all text is one document, and next-sentence prediction takes its wrong answers from other documents; put a \
             blank line between documents, or pretrain with --objective mlm"
                .into(),
        );
    }
    exceeds(made.one_sentence_documents, made.documents, 50).then(|| {
        format!(
            "{} of the documents have one sentence, and with it no next sentence to predict; put related lines under each other \
             without blank lines, or use --documents file, or pretrain with --objective mlm",
            percent(made.one_sentence_documents, made.documents)
        )
    })
}

fn unknown(made: &Prepared) -> Option<String> {
    exceeds(made.unknown_tokens, made.tokens, 5).then(|| {
        format!(
            "{} of the tokens are [UNK]: the vocabulary is of another language or case; choose another (or --cased with \
             --vocab), or learn one from this text with `oxibert vocab`",
            percent(made.unknown_tokens, made.tokens)
        )
    })
}

fn long_sentences(made: &Prepared) -> Option<String> {
    let long: u64 = made.sentence_lengths.iter().skip(LONG.0).sum();
    exceeds(long, made.sentences, 1).then(|| {
        format!(
            "{} of the sentences have {} tokens or more, which no sequence holds, as lines without sentence ends do; break \
             such lines first (--sentences split does where there are sentence ends)",
            percent(long, made.sentences),
            LONG.1,
        )
    })
}

fn forgotten(made: &Prepared) -> Option<String> {
    made.duplicates_forgotten.then(|| {
        "there are more lines than are remembered, so later duplicates were not all seen; remove duplicates first if they \
         matter"
            .into()
    })
}

fn cut(made: &Prepared) -> Option<String> {
    (made.cut_documents > 0).then(|| {
        format!(
            "{} documents are longer than 16 million tokens and were cut into several",
            made.cut_documents
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Prepared {
        Prepared {
            documents: 10,
            one_sentence_documents: 5,
            sentences: 100,
            sentence_lengths: vec![0, 0, 0, 99, 0, 0, 0, 0, 0, 1],
            tokens: 1000,
            unknown_tokens: 50,
            lines: 100,
            duplicate_lines: 30,
            ..Prepared::default()
        }
    }

    #[test]
    fn what_is_just_good_enough_is_good() {
        assert_eq!(warnings(&good()), [""; 0]);
    }

    #[test]
    fn every_cause_has_its_way_out() {
        let cases = [
            (Prepared { duplicate_lines: 31, ..good() }, "31 % of the lines", "--dedup"),
            (Prepared { one_sentence_documents: 6, ..good() }, "60 % of the documents", "--documents file"),
            (Prepared { documents: 1, one_sentence_documents: 1, ..good() }, "one document", "blank line"),
            (Prepared { unknown_tokens: 51, ..good() }, "5.10 % of the tokens", "--cased"),
            (Prepared { sentence_lengths: vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], ..good() }, "512", "break"),
            (Prepared { duplicates_forgotten: true, ..good() }, "remembered", "remove duplicates"),
            (Prepared { cut_documents: 1, ..good() }, "16 million", "cut"),
        ];
        for (made, cause, way_out) in cases {
            let found = warnings(&made);
            assert!(found.len() == 1 && found[0].contains(cause) && found[0].contains(way_out), "{found:?}");
        }
        let dropped = Prepared { duplicate_lines: 90, duplicates_dropped: true, ..good() };
        assert_eq!(warnings(&dropped), [""; 0]);
    }
}
