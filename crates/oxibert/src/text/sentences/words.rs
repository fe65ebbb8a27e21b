//! The words that sentence splitting knows: abbreviations, words that open sentences, verbs of speech.
//!
//! The lists are short on purpose. An abbreviation is only worth its line where its dot would otherwise be taken
//! for a full stop, and shapes (`U.S.`, `J.`) are recognised without a list.

/// What the dot after a word may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abbreviation {
    /// A name or the rest of a comparison follows: `Mr.`, `e.g.`, `vs.` never end a sentence.
    Leads,
    /// A number follows: `No. 5`, `pp. 3`, `Fig. A`. Before anything else it is an ordinary word: `I said no.`
    Numbers,
    /// May stand at the end or before a name: `Inc.`, `U.S.`, `J.`; the next word decides.
    Either,
    /// Stands last: `etc.`, `p.m.` and `Calif.` before a capital end the sentence too.
    Closes,
}

const LEADS: &[&str] = &[
    "Mr", "Mrs", "Ms", "Messrs", "Mme", "Mmes", "Mlle", "Dr", "Drs", "Prof", "Rev", "Hon", "Gen", "Col",
    "Capt", "Cmdr", "Lt", "Sgt", "Cpl", "Pvt", "Pfc", "Maj", "Brig", "Adm", "Gov", "Sen", "Rep", "Pres",
    "Supt", "Insp", "Fr", "Msgr", "Mt", "Ft", "Mss", "vs", "Vs", "e.g", "i.e", "eg", "ie", "cf", "viz",
    "Gens", "Profs", "Sens", "Reps", "Revs", "Atty", "Asst", "ca",
];

const NUMBERS: &[&str] = &[
    "No", "Nos", "no", "nos", "Fig", "Figs", "fig", "figs", "Vol", "Vols", "vol", "vols", "p", "pp", "Pp",
    "pg", "Ch", "ch", "Chap", "Sec", "sec", "Sect", "Eq", "eq", "Eqs", "eqn", "eqns", "Ref", "Refs", "ref",
    "Rte", "Spec", "Art", "Par", "Pt", "pt", "Ex", "App", "Tab", "approx", "c", "ver", "Ver",
];

const EITHER: &[&str] = &[
    "St", "Sts", "Pl", "Sq", "Inc", "Ltd", "Co", "Cos", "Corp", "Bros", "Jr", "Sr", "Dept", "Univ", "Assn",
    "Assoc", "Inst", "Mfg", "Natl", "Intl", "Mon", "Tue", "Tues", "Wed", "Thu", "Thurs", "Fri", "Sat", "Sun",
    "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec", "ed", "eds",
    "trans", "Ed", "Eds", "Geo", "Wm", "Chas", "Jas", "Thos", "Jos", "Dist", "Ph.D", "Op", "op", "cit",
    "ibid",
];

/// Hardly ever before a name: lists, hours and years, addresses, American states, measures.
const CLOSES: &[&str] = &[
    "etc", "al", "Esq", "a.m", "p.m", "A.M", "P.M", "B.C", "A.D", "D.C", "Ave", "Blvd", "Rd", "Hwy", "Ala",
    "Ariz", "Ark", "Calif", "Colo", "Conn", "Del", "Fla", "Ga", "Ill", "Ind", "Kan", "Ky", "La", "Mass",
    "Md", "Mich", "Minn", "Mo", "Mont", "Neb", "Nev", "Okla", "Ont", "Ore", "Pa", "Penn", "Tenn", "Tex",
    "Va", "Vt", "Wash", "Wis", "Wyo", "lb", "lbs", "oz", "ft", "hr", "hrs", "min", "mins", "km", "kg", "cm",
    "mm", "sq", "cu", "mph",
];

/// After the hour or the place these go on with the sentence: 7 p.m. Sunday, Miami, Fla. Sept. 3, 9 a.m. EST.
const CALENDAR: &[&str] = &[
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Jan",
    "Feb",
    "March",
    "April",
    "June",
    "July",
    "Aug",
    "Sept",
    "Oct",
    "Nov",
    "Dec",
    "EST",
    "EDT",
    "CST",
    "CDT",
    "MST",
    "PST",
    "PDT",
    "GMT",
    "UTC",
    "BST",
    "ET",
    "PT",
];

/// Words that open sentences and are hardly ever the second part of a name: after `U.S.` they mean a new sentence.
const STARTERS: &[&str] = &[
    "A",
    "About",
    "According",
    "After",
    "All",
    "Although",
    "Among",
    "An",
    "And",
    "Another",
    "Any",
    "Are",
    "As",
    "At",
    "Because",
    "Before",
    "Besides",
    "Both",
    "But",
    "By",
    "Can",
    "Did",
    "Do",
    "Does",
    "During",
    "Each",
    "Even",
    "Every",
    "Finally",
    "First",
    "For",
    "From",
    "Had",
    "Has",
    "Have",
    "He",
    "Her",
    "Here",
    "His",
    "How",
    "Hence",
    "However",
    "I",
    "If",
    "In",
    "Indeed",
    "Instead",
    "Is",
    "It",
    "Its",
    "Last",
    "Later",
    "Let",
    "Like",
    "Many",
    "Maybe",
    "Meanwhile",
    "More",
    "Moreover",
    "Most",
    "Mr",
    "Mrs",
    "Ms",
    "My",
    "Neither",
    "Nevertheless",
    "No",
    "Nor",
    "Not",
    "Now",
    "Of",
    "On",
    "Once",
    "One",
    "Only",
    "Or",
    "Other",
    "Others",
    "Our",
    "Over",
    "Perhaps",
    "Several",
    "She",
    "Since",
    "So",
    "Some",
    "Sometimes",
    "Soon",
    "Still",
    "Such",
    "Suppose",
    "That",
    "The",
    "Their",
    "Then",
    "There",
    "Therefore",
    "These",
    "They",
    "This",
    "Those",
    "Though",
    "Through",
    "Thus",
    "To",
    "Today",
    "Two",
    "Under",
    "Until",
    "Upon",
    "Was",
    "We",
    "Were",
    "What",
    "When",
    "Whether",
    "Where",
    "Which",
    "While",
    "Who",
    "Why",
    "With",
    "Within",
    "Without",
    "Would",
    "Yes",
    "Yet",
    "You",
    "Your",
];

/// Verbs that attach a quotation to its speaker: "Stop!" Holmes cried.
const SPEECH: &[&str] = &[
    "said",
    "says",
    "asked",
    "asks",
    "cried",
    "replied",
    "answered",
    "shouted",
    "exclaimed",
    "whispered",
    "called",
    "added",
    "demanded",
    "inquired",
    "enquired",
    "muttered",
    "murmured",
    "repeated",
    "yelled",
    "screamed",
    "observed",
    "remarked",
    "returned",
    "ejaculated",
    "thought",
    "wondered",
    "began",
    "continued",
    "snapped",
    "roared",
];

/// Which abbreviation `word` is (without its last dot), if it is one. `loose` ignores case, for text without capitals.
pub(super) fn abbreviation(word: &str, loose: bool) -> Option<Abbreviation> {
    let loose = loose || (word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase()));
    let found = |list| contains(list, word, loose);
    if found(LEADS) {
        Some(Abbreviation::Leads)
    } else if found(NUMBERS) {
        Some(Abbreviation::Numbers)
    } else if found(CLOSES) {
        Some(Abbreviation::Closes)
    } else if found(EITHER) || is_initials(word) {
        Some(Abbreviation::Either)
    } else {
        None
    }
}

/// Whether a capitalised `word` opens a sentence rather than goes on with a name. `They'd` counts as `They`.
pub(super) fn is_starter(word: &str, loose: bool) -> bool {
    let stem = word.split(['\'', '’']).next().unwrap_or(word);
    contains(STARTERS, stem, loose)
}

/// Whether `word` is a day, a month or a time zone.
pub(super) fn is_calendar(word: &str) -> bool {
    CALENDAR.contains(&word)
}

/// Whether `word` is a verb of speech.
pub(super) fn is_speech(word: &str) -> bool {
    SPEECH.contains(&word)
}

/// Whether `word` numbers a heading or an item of a list: `1`, `2.3`, `IV`, `b`.
pub(super) fn is_enumerator(word: &str) -> bool {
    let digits =
        word.split('.').all(|part| (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()));
    let roman = (1..=5).contains(&word.len()) && word.bytes().all(|b| b"IVXLC".contains(&b));
    digits || roman || (word.len() == 1 && word.as_bytes()[0].is_ascii_alphabetic())
}

/// `J`, `U.S`, `p.m`, `J.R.R`: single letters with dots between them.
fn is_initials(word: &str) -> bool {
    word.split('.').all(|part| {
        let mut letters = part.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
    })
}

fn contains(list: &[&str], word: &str, loose: bool) -> bool {
    list.iter().any(|&entry| entry == word || (loose && entry.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_need_no_list() {
        for word in ["J", "U.S", "J.R.R", "É"] {
            assert_eq!(abbreviation(word, false), Some(Abbreviation::Either), "{word}");
        }
        for word in ["", "cat", "U.", ".5", "3.14", "ab.c"] {
            assert_eq!(abbreviation(word, false), None, "{word}");
        }
    }

    #[test]
    fn case_tells_the_month_from_the_verb() {
        assert_eq!(abbreviation("Mar", false), Some(Abbreviation::Either));
        assert_eq!(abbreviation("mar", false), None);
        assert_eq!(abbreviation("MR", false), Some(Abbreviation::Leads));
        assert_eq!(abbreviation("mr", true), Some(Abbreviation::Leads));
    }

    #[test]
    fn enumerators() {
        for word in ["1", "12", "2.3", "IV", "b", "A"] {
            assert!(is_enumerator(word), "{word}");
        }
        for word in ["", "1990", "ab", "1.", "第"] {
            assert!(!is_enumerator(word), "{word}");
        }
    }
}
