//! "Did you mean": the known name nearest to a misspelt one.

/// The name among `known` that `typed` is most likely meant to be: the fewest letters are missing, too
/// many, wrong or swapped, at most a third of them; whether letters are capital does not count.
pub fn closest<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let typed = typed.to_lowercase();
    let most = (typed.chars().count() / 3).max(1);
    let distance = |name: &str| strsim::osa_distance(&typed, &name.to_lowercase());
    known
        .into_iter()
        .map(|name| (distance(name), name))
        // A name of one letter is near every other.
        .filter(|&(edits, name)| edits <= most && edits < name.chars().count())
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, name)| name)
}

/// `advice` after the question whether one of `known` was meant, if one is near.
pub fn did_you_mean<'k>(
    typed: &str,
    known: impl IntoIterator<Item = &'k str>,
    advice: &str,
) -> String {
    match closest(typed, known) {
        Some(name) => format!("did you mean {name}? {advice}"),
        None => advice.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["bm25", "rmls", "lm", "lm-jm", "lambdamart", "p"];
        for (typed, meant) in [
            ("rlms", Some("rmls")),
            ("RMLS", Some("rmls")),
            ("bm52", Some("bm25")),
            ("lambda_mart", Some("lambdamart")),
            ("lmjm", Some("lm-jm")),
            ("l", Some("lm")),
            ("word2vec", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(closest(typed, known), meant, "{typed}");
        }
        assert_eq!(
            did_you_mean("rlms", known, "there are six"),
            "did you mean rmls? there are six"
        );
        assert_eq!(did_you_mean("elephant", known, "there are six"), "there are six");
    }
}
