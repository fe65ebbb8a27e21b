//! Tags of entities: which scheme a file uses, and all of them as BIO.
//!
//! | scheme | begins | goes on | ends | alone |
//! |---|---|---|---|---|
//! | IOB1 | `I-`, or `B-` right behind another of its kind | `I-` | `I-` | `I-` |
//! | BIO | `B-` | `I-` | `I-` | `B-` |
//! | BIOES (BILOU, BMES) | `B-` | `I-` (`M-`) | `E-` (`L-`) | `S-` (`U-`) |

/// An entity: its kind, and its first token and the one behind its last.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Span {
    /// What it is: `PER`, `LOC`, …
    pub kind: String,
    /// Its first token.
    pub start: usize,
    /// The token behind its last.
    pub end: usize,
}

/// The entities of a tagged sentence, as conlleval finds them. Tags of every scheme are understood: an entity begins at `B-`
/// or `S-`, and where a tag goes on with a kind that did not go before; it ends after `E-` and `S-`.
///
/// ```
/// use oxibert::data::labelled::spans;
///
/// let found = spans(&["B-PER", "I-PER", "O", "I-LOC"]);
/// assert_eq!((found[0].start, found[0].end, found[1].kind.as_str()), (0, 2, "LOC"));
/// ```
pub fn spans<T: AsRef<str>>(tags: &[T]) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    let mut open = false;
    for (place, tag) in tags.iter().enumerate() {
        let Some((prefix, kind)) = parts(tag.as_ref()) else {
            open = false;
            continue;
        };
        match found.last_mut() {
            Some(span) if open && !matches!(prefix, b'B' | b'S' | b'U') && span.kind == kind => {
                span.end = place + 1
            }
            _ => found.push(Span { kind: kind.to_owned(), start: place, end: place + 1 }),
        }
        open = !matches!(prefix, b'E' | b'S' | b'L' | b'U');
    }
    found
}

/// A tag's prefix and its kind; none of `O`, and of what is no tag of an entity.
fn parts(tag: &str) -> Option<(u8, &str)> {
    let (prefix, kind) = tag.split_once('-')?;
    match prefix.as_bytes() {
        &[prefix @ (b'B' | b'I' | b'E' | b'S' | b'L' | b'U' | b'M')] if !kind.is_empty() => {
            Some((prefix, kind))
        }
        _ => None,
    }
}

/// How a file marks entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Iob1,
    Bio,
    Bioes,
    /// Not at all: tags without prefixes, as parts of speech have them.
    Plain,
}

/// The scheme of all sentences' tags, or the sentence and the place of one that fits none.
pub(super) fn recognise(sentences: &[&[String]]) -> Result<Scheme, (usize, usize)> {
    let mut odd = None;
    let (mut marked, mut bioes) = (false, false);
    // Entities behind something else: those that begin with I-, and those that begin with B-.
    let (mut inside, mut begun) = (0, 0);
    for (number, tags) in sentences.iter().enumerate() {
        let mut before = None;
        for (place, tag) in tags.iter().enumerate() {
            let now = parts(tag);
            let same_kind = before.is_some_and(|(_, kind)| now.is_some_and(|(_, now)| now == kind));
            match now {
                Some((b'I', _)) => inside += usize::from(!same_kind),
                Some((b'B', _)) => begun += usize::from(!same_kind),
                Some(_) => bioes = true,
                None if tag != "O" && odd.is_none() => odd = Some((number, place)),
                None => {}
            }
            marked |= now.is_some();
            before = now;
        }
    }
    match odd {
        Some(place) if marked => Err(place),
        Some(_) => Ok(Scheme::Plain),
        None if bioes => Ok(Scheme::Bioes),
        // Slips are forgiven: CoNLL-2003 itself has two.
        None if inside > begun => Ok(Scheme::Iob1),
        None => Ok(Scheme::Bio),
    }
}

/// The BIO tags of so many words with these entities.
pub(super) fn bio(spans: &[Span], words: usize) -> Vec<String> {
    let mut tags = vec!["O".to_owned(); words];
    for span in spans {
        tags[span.start] = format!("B-{}", span.kind);
        tags[span.start + 1..span.end].fill(format!("I-{}", span.kind));
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tags: &[&str]) -> Vec<String> {
        spans(tags).iter().map(|span| format!("{} {}..{}", span.kind, span.start, span.end)).collect()
    }

    fn scheme(sentences: &[&str]) -> Result<Scheme, (usize, usize)> {
        let tags: Vec<Vec<String>> =
            sentences.iter().map(|tags| tags.split(' ').map(str::to_owned).collect()).collect();
        recognise(&tags.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn entities_of_all_schemes_are_found() {
        assert_eq!(shown(&["I-PER", "I-PER", "B-PER", "O"]), ["PER 0..2", "PER 2..3"], "IOB1");
        assert_eq!(shown(&["B-LOC", "I-LOC", "O", "B-PER"]), ["LOC 0..2", "PER 3..4"], "BIO");
        assert_eq!(
            shown(&["B-LOC", "E-LOC", "S-PER", "S-PER"]),
            ["LOC 0..2", "PER 2..3", "PER 3..4"],
            "BIOES"
        );
        assert_eq!(
            shown(&["B-LOC", "M-LOC", "L-LOC", "U-LOC", "I-LOC"]),
            ["LOC 0..3", "LOC 3..4", "LOC 4..5"]
        );
        assert_eq!(
            shown(&["B-LOC", "I-PER", "E-PER", "I-PER"]),
            ["LOC 0..1", "PER 1..3", "PER 3..4"],
            "broken"
        );
        assert_eq!(shown(&["B-a-b", "I-a-b"]), ["a-b 0..2"], "a kind may have a hyphen");
        assert!(shown(&["O", "O", "-", "B-", "NN"]).is_empty());
    }

    #[test]
    fn schemes_are_recognised_over_all_sentences() {
        assert_eq!(scheme(&["O I-PER I-PER", "I-LOC B-LOC I-ORG"]), Ok(Scheme::Iob1));
        assert_eq!(scheme(&["I-PER O I-PER", "O B-LOC I-ORG"]), Ok(Scheme::Iob1), "a slip");
        assert_eq!(scheme(&["O B-PER I-PER", "O B-LOC I-ORG"]), Ok(Scheme::Bio), "a slip");
        assert_eq!(scheme(&["B-PER I-PER O", "B-LOC B-LOC"]), Ok(Scheme::Bio));
        assert_eq!(scheme(&["B-PER I-PER O", "S-LOC"]), Ok(Scheme::Bioes));
        assert_eq!(scheme(&["O O"]), Ok(Scheme::Bio));
        assert_eq!(scheme(&["NN VB", "NN"]), Ok(Scheme::Plain));
        assert_eq!(scheme(&["O B-PER", "O PER"]), Err((1, 1)));
    }

    #[test]
    fn bio_is_one_writing_for_all() {
        for tags in [["I-A", "I-A", "B-A", "I-B"], ["B-A", "E-A", "S-A", "S-B"], ["B-A", "I-A", "B-A", "B-B"]]
        {
            assert_eq!(bio(&spans(&tags), 4), ["B-A", "I-A", "B-A", "B-B"]);
        }
    }
}
