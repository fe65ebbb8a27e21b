//! The files of the tokenizer beside those of the `tokenizers` crate, and what is refused.

use super::*;

const TOKENS: [&str; 9] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "É", "好"];

fn tokenizer(rules: Rules) -> Tokenizer {
    Tokenizer::new(Vocab::from_tokens(TOKENS).unwrap(), rules).unwrap()
}

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let mut file = tokenizer(Rules::uncased(Compat::Hf)).to_json();
    change(&mut file);
    let bytes = serde_json::to_vec(&file).unwrap();
    Tokenizer::parse_json(&bytes, Path::new("tokenizer.json")).unwrap_err().to_string()
}

#[test]
fn saved_is_loaded_with_all_rules() {
    let uncased = Rules::uncased(Compat::Hf);
    for rules in [
        uncased,
        Rules::cased(Compat::Hf),
        Rules::uncased(Compat::Google),
        Rules { strip_accents: false, split_chinese: false, ..uncased },
        Rules { lowercase: false, ..uncased },
    ] {
        let directory = tempfile::tempdir().unwrap();
        tokenizer(rules).save(directory.path()).unwrap();
        assert_eq!(Tokenizer::load(directory.path()).unwrap().rules(), &rules);
        std::fs::remove_file(directory.path().join(TOKENIZER_JSON)).unwrap();
        let loaded = Tokenizer::load(directory.path()).unwrap();
        assert_eq!((loaded.rules(), loaded.vocab().len()), (&rules, TOKENS.len()));
    }
}

#[test]
fn hugging_face_loads_what_we_save() {
    let directory = tempfile::tempdir().unwrap();
    let ours = tokenizer(Rules::uncased(Compat::Hf));
    ours.save(directory.path()).unwrap();
    let theirs = tokenizers::Tokenizer::from_file(directory.path().join(TOKENIZER_JSON)).unwrap();
    let (first, second) = ("Unaff [MASK]", "好 x");
    let expected = theirs.encode((first, second), true).unwrap();
    let found = ours.encode_pair(first, second);
    assert_eq!(found.ids, expected.get_ids());
    assert_eq!(
        found.segments.iter().map(|&segment| segment.into()).collect::<Vec<u32>>(),
        expected.get_type_ids()
    );
    assert_eq!(ours.decode(&found.ids), theirs.decode(&found.ids, true).unwrap());
}

#[test]
fn we_load_what_hugging_face_saves() {
    let ours = tokenizer(Rules::cased(Compat::Hf));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(TOKENIZER_JSON);
    ours.save(directory.path()).unwrap();
    let mut theirs = tokenizers::Tokenizer::from_file(&path).unwrap();
    theirs.add_tokens([tokenizers::AddedToken::from("wordhoard", false)]).unwrap();
    theirs.save(&path, true).unwrap();
    let loaded = Tokenizer::load(directory.path()).unwrap();
    let text = "un WORDHOARD wordhoard [SEP]";
    assert_eq!(loaded.encode(text).ids, theirs.encode(text, true).unwrap().get_ids());
    assert_eq!(loaded.vocab().id("wordhoard"), Some(TOKENS.len() as u32));
}

#[test]
fn other_families_are_refused_by_name() {
    assert!(
        refusal(|file| file["model"]["type"] = "BPE".into())
            .starts_with("tokenizer.json: model.type is \"BPE\", expected WordPiece")
    );
    assert!(refusal(|file| file["normalizer"]["type"] = "Sequence".into()).contains("normalizer.type"));
    assert!(
        refusal(|file| file["pre_tokenizer"]["type"] = "Whitespace".into()).contains("pre_tokenizer.type")
    );
    assert!(
        refusal(|file| file["post_processor"]["single"][0]["SpecialToken"]["id"] = "<s>".into())
            .contains("<s>")
    );
    assert!(refusal(|file| *file = json!({})).contains("no \"model\""));
}

#[test]
fn ids_must_be_whole() {
    assert!(refusal(|file| file["model"]["vocab"]["un"] = 99.into()).contains("has id 99"));
    assert!(refusal(|file| file["model"]["vocab"]["un"] = 6.into()).contains("share the id 6"));
    assert!(refusal(|file| file["added_tokens"][0]["content"] = "[NEW]".into()).contains("added tokens"));
}

#[test]
fn a_directory_without_a_tokenizer_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let problem = Tokenizer::load(directory.path()).unwrap_err().to_string();
    assert!(problem.contains("no tokenizer.json and no vocab.txt"), "{problem}");
}

#[test]
fn the_longest_sequence_is_kept_where_it_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(CONFIG_JSON);
    let saved = |tokenizer: Tokenizer| {
        tokenizer.save(directory.path()).unwrap();
        let config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        (config["model_max_length"].clone(), Tokenizer::load(directory.path()).unwrap().max_length())
    };
    let uncased = || tokenizer(Rules::uncased(Compat::Hf));
    assert_eq!(saved(uncased()), (Value::Null, None));
    assert_eq!(saved(uncased().with_max_length(Some(128))), (128.into(), Some(128)));
    let other = Tokenizer::load(directory.path()).unwrap().with_rules(Rules::cased(Compat::Hf)).unwrap();
    assert_eq!(saved(other), (128.into(), Some(128)));
    std::fs::write(&path, r#"{"model_max_length": 1000000000000000019884624838656}"#).unwrap();
    assert_eq!(Tokenizer::load(directory.path()).unwrap().max_length(), None);
}
