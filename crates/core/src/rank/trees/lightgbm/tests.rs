use proptest::prelude::*;

use super::*;

/// Models that LightGBM 4.7 learnt of made-up rows, and what it says of some: features, score, and
/// contributions. LightGBM says of a forest what its trees say on average, but adds up contributions:
/// here they are divided by the number of trees.
const MODELS: [(&str, &str); 3] = [
    (include_str!("categories.txt"), include_str!("categories.tsv")),
    (include_str!("zeros.txt"), include_str!("zeros.tsv")),
    (include_str!("forest.txt"), include_str!("forest.tsv")),
];

fn parse(text: &str) -> Result<LightGbm> {
    LightGbm::parse(text, Path::new("model.txt"))
}

#[test]
fn scores_and_contributions_are_lightgbms() {
    for (model, rows) in MODELS {
        let model = parse(model).unwrap();
        assert_eq!(model.names, ["bm25", "clicks", "site", "depth", "flag"]);
        for line in rows.lines() {
            let numbers: Vec<f64> = line.split('\t').map(|word| word.parse().unwrap()).collect();
            let row: Vec<f32> = numbers[..5].iter().map(|&value| value as f32).collect();
            assert!((model.trees.score(&row) - numbers[5]).abs() < 1e-12, "{line}");
            let contributions = model.trees.contributions(&row);
            for (found, expected) in contributions.iter().zip(&numbers[6..]) {
                assert!((found - expected).abs() < 1e-12, "{line}: {contributions:?}");
            }
        }
        let importance = model.trees.importance(5);
        assert!(importance[0].splits > 0 && importance[0].gain > 0.0);
    }
}

#[test]
fn a_tree_without_splits_is_a_number() {
    let head =
        "tree\nnum_class=1\nnum_tree_per_iteration=1\nfeature_names=\nobjective=binary sigmoid:1\n";
    let tree = "Tree=0\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nleaf_value=0.25\n\nend of trees\n";
    let model = parse(&format!("{head}{tree}")).unwrap();
    assert_eq!((model.trees.score(&[]), model.objective.as_str()), (0.25, "binary sigmoid:1"));
    let none = parse(&format!("{head}\r\nend of trees\r\n")).unwrap();
    assert_eq!(none.trees.score(&[]), 0.0);
}

#[test]
fn what_cannot_be_scored_is_refused_with_its_line() {
    let model = MODELS[0].0;
    for (from, to, expected) in [
        ("tree\n", "treee\n", "model.txt:1: expected the word tree"),
        ("num_class=1", "num_class=3", "model.txt:3: expected num_class=1"),
        ("feature_names", "names", "model.txt:1: expected feature_names"),
        ("is_linear=0", "is_linear=1", "model.txt:29: expected leaves that are numbers"),
        ("end of trees", "end", "model.txt:96: expected the line \"end of trees\""),
        ("left_child=2 4 -1", "left_child=2 4 x", "model.txt:19: expected numbers in left_child"),
        ("left_child=2 4 -1", "left_child=2 4", "model.txt:19: expected 5 numbers"),
        ("left_child=2 4 -1", "left_child=2 0 -1", "model.txt:12: expected a tree"),
        ("split_feature=0 2", "split_feature=0 7", "model.txt:15: expected features below 5"),
        ("decision_type=2", "decision_type=14", "model.txt:18: expected decision types"),
        (
            "cat_boundaries=0 2\n",
            "cat_boundaries=0 4294967295\n",
            "model.txt:28: expected 4294967295",
        ),
        ("num_leaves=6", "num_leaves=0", "model.txt:"),
        ("num_cat=1", "num_cat=18446744073709551615", "model.txt:27: expected"),
        ("leaf_count=200", "leaf_count=-1", "model.txt:23: expected numbers in leaf_count"),
        ("leaf_value=-0.268", "leaf_value=inf -0.268", "model.txt:21: expected 6 numbers"),
    ] {
        assert!(model.contains(from), "{from}");
        let error = parse(&model.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    assert!(parse("").is_err());
    assert!(LightGbm::read(Path::new("/no/such/file")).is_err());
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic(
        which in 0usize..3, at in any::<prop::sample::Index>(), with in "[-0-9 =.a-z\n]{0,4}",
        row in prop::collection::vec(any::<f32>(), 0..6),
    ) {
        let mut text = MODELS[which].0.to_owned();
        let at = at.index(text.len());
        text.replace_range(at..at + 1, &with);
        if let Ok(model) = parse(&text) {
            model.trees.score(&row);
            model.trees.contributions(&row);
        }
    }
}

#[test]
fn thresholds_are_rounded_with_the_values() {
    // As LightGBM cuts between 0.71 and 0.73: 0.72 goes left, and does so in 32 bits.
    let cut = 0.72f64.next_up();
    assert!(f64::from(0.72f32) > cut && f64::from(0.72f32) <= in_single(cut));
    assert!(f64::from(0.73f32) > in_single(cut));
    // Between neighbours in 32 bits the upper one goes right.
    let (low, high) = (0.1f32, 0.1f32.next_up());
    let middle = ((f64::from(low) + f64::from(high)) / 2.0).next_up();
    assert!(f64::from(low) <= in_single(middle) && f64::from(high) > in_single(middle));
    assert_eq!(in_single(1e300), f64::INFINITY);
    assert_eq!(in_single(0.5), 0.5);
}
