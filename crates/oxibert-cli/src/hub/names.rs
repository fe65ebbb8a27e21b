//! Names of models and revisions, told from paths.

/// Whether it may be a hub's name, `org/name` or a bare name, and nothing that only a path can be.
pub(super) fn is_name(name: &str) -> bool {
    let fine = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
            && !part.contains("..")
    };
    let file = [".txt", ".json", ".safetensors", ".bin"].iter().any(|ending| name.ends_with(ending));
    name.split('/').count() <= 2 && name.split('/').all(fine) && !file
}

/// A branch, a tag or a commit; no way out of the cache.
pub(super) fn is_revision(revision: &str) -> bool {
    let fine = |part: &str| !part.is_empty() && !part.starts_with('.');
    revision.split('/').all(fine) && revision.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_paths() {
        for name in ["bert-base-uncased", "google-bert/bert-base-chinese", "a/b.c_d-1", "_x"] {
            assert!(is_name(name), "{name}");
        }
        for path in
            ["", "/", "a/", "/a", "./a", "../a", "a/b/c", "~/x", "a b", "vocab.txt", "x/m.bin", "a..b", "é"]
        {
            assert!(!is_name(path), "{path}");
        }
    }

    #[test]
    fn a_revision_does_not_lead_out_of_the_cache() {
        assert!(["main", "refs/pr/1", "v1.0"].iter().all(|revision| is_revision(revision)));
        assert!(["", "../x", "a/../b", "/a", "a//b", "a b"].iter().all(|revision| !is_revision(revision)));
    }
}
