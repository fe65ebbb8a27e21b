use super::*;

fn config() -> Config {
    Config::preset("tiny", 100).unwrap()
}

fn load(text: &str, train: bool) -> Result<Workload> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ids.json");
    fs::write(&path, text).unwrap();
    Workload::load(&path, &config(), train)
}

fn refusal(text: &str, train: bool) -> String {
    let error = load(text, train).err().expect("refused");
    format!("{error:#}")
}

#[test]
fn sequences_are_batched_longest_first_and_know_their_place() {
    let ids = vec![vec![1; 300]; 20].into_iter().chain([vec![2; 400]]).collect::<Vec<_>>();
    let workload = load(&serde_json::to_string(&ids).unwrap(), false).unwrap();
    assert_eq!((workload.sequences(), workload.tokens(), workload.batches.len()), (21, 6400, 2));
    assert_eq!((workload.numbers[0], workload.numbers[1]), (20, 0));
    assert!(workload.batches.iter().all(|batch| batch.tokens() <= BATCH_TOKENS));
}

#[test]
fn batches_of_a_file_stay_and_their_places_become_places_of_the_batch() {
    let text = r#"{"batches": [{"ids": [[2, 7, 3], [2, 8, 9, 3]], "masked": [[1], [1, 2]], "labels": [[5], [6, 7]],
        "next": [0, 1]}, {"ids": [[2, 3]], "next": [1]}]}"#;
    let workload = load(text, true).unwrap();
    assert_eq!(workload.targets[0].masked, [1, 4, 5]);
    assert_eq!(workload.targets[0].labels, [5, 6, 7]);
    assert_eq!((workload.batches.len(), workload.largest()), (2, 0));
    let config = config();
    let masked = 3 * config.mlm_flops_per_token();
    let of =
        |number: usize| config.flops_of_pretraining(&workload.batches[number], &workload.targets[number]);
    assert_eq!(workload.training_flops(&config), 3 * (of(0) + of(1)));
    assert!(of(0) + of(1) < workload.forward_flops(&config) + masked, "the last block reads some rows only");
}

#[test]
fn what_is_wrong_is_said() {
    assert!(refusal("[]", false).contains("no sequence"));
    assert!(refusal("[[1, 2], []]", false).contains("sequence 1 has no tokens"));
    assert!(refusal("[[100]]", false).contains("token id 100"));
    assert!(refusal("{\"ids\": [[1]]}", false).contains("batches"));
    assert!(refusal("{\"batches\": [{\"ids\": [[1]]}]}", true).contains("batch 0: --train needs"));
    let one = |rest: &str| refusal(&format!("{{\"batches\": [{{\"ids\": [[1, 2]], {rest}}}]}}"), true);
    assert!(one("\"next\": [2]").contains("expected 0 or 1"));
    assert!(one("\"next\": [0, 1]").contains("next: 2 entries, expected one for each of 1 sequences"));
    assert!(one("\"masked\": [[1]]").contains("together"));
    assert!(one("\"masked\": [[1]], \"labels\": [[]]").contains("a label for every masked place"));
    assert!(one("\"masked\": [[2]], \"labels\": [[0]]").contains("behind its sequence's end"));
    assert!(one("\"masked\": [[1]], \"labels\": [[100]]").contains("labels: token id 100"));
}
