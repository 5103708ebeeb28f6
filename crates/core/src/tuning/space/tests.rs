//! What a space takes, draws and refuses, and what the space of every method must have.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::matchers::Params;
use crate::tuning::tests::method_base;

#[test]
fn keys_vary_in_the_order_that_shares_most() {
    let (_, base) = method_base("rmls+bm25", None);
    let space = "bm25.k1 = [1.0, 2.0]\nrmls.dim = [2, 3]\nrmls.features.doc_clicks = [0.0, 1.0]\n\
                 preparation.min_df = [1, 2]\nrmls.response = \"raw\"\n";
    let space = Space::parse(space, &base).unwrap();
    let keys: Vec<&str> = space.keys.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        ["preparation.min_df", "rmls.features.doc_clicks", "rmls.response", "rmls.dim", "bm25.k1"]
    );
    let grid = space.grid().unwrap();
    assert_eq!(grid.len(), 16);
    let changes = |key: usize| grid.windows(2).filter(|pair| pair[0][key] != pair[1][key]).count();
    assert_eq!([0, 1, 2, 3, 4].map(changes), [1, 3, 0, 7, 15]);
}

#[test]
fn a_space_takes_lists_and_ranges_of_keys_that_exist() {
    let (_, base) = method_base("rmls", None);
    let text = "dim = { min = 10, max = 20, int = true }\n\
                features.doc_clicks = { min = 0.01, max = 1.0, log = true }\n\
                preparation.analyzer.char_ngrams = [{ min = 3, max = 4 }, { min = 2, max = 5 }]\n";
    let space = Space::parse(text, &base).unwrap();
    let mut dims = BTreeSet::new();
    for stream in 0..300 {
        let drawn = space.draw(&mut Random::new(1, stream));
        assert_eq!(drawn, space.draw(&mut Random::new(1, stream)));
        let setting = base.with(&drawn).unwrap();
        let Params::Rmls(rmls) = &setting.models[0].1 else { panic!("rmls it is") };
        dims.insert(rmls.dim);
        assert!((0.01..=1.0).contains(&rmls.features.doc_clicks));
        assert!(setting.preparation.analyzer.char_ngrams.is_some());
    }
    assert_eq!(dims.into_iter().collect::<Vec<_>>(), (10..=20).collect::<Vec<_>>());
    for (text, words) in [
        ("dim = ", "not TOML"),
        ("", "no key"),
        ("colour = [1]", "unknown field `colour`"),
        ("dim = [\"many\"]", "dim = \"many\""),
        ("dim = [3, -1]", "dim = -1"),
        ("dim = []", "at least one value"),
        ("dim = { min = 9, max = 3, int = true }", "min ≤ max"),
        ("dim = { min = 0, max = 3, log = true, int = true }", "0 < min"),
        ("dim = { min = 0.5, max = 3, int = true }", "whole numbers"),
        ("dim = { min = 1, max = 3 }", "dim: expected a whole number: add int = true"),
        ("dim = { min = 1, max = 3, step = 1 }", "dim: step"),
        ("dim = { min = 1, max = 3, int = 1 }", "dim: int"),
        ("dim.x = [1]", "dim.x = 1"),
        ("rho_x = { values = [0.1], when = { rho_x = 0.1 } }", "another key than rho_x"),
        (
            "rho_x = { values = [0.1], when = { penalty = \"relative\" } }",
            "expected a key of this space",
        ),
        ("rho_x = { values = [0.1], when = 3 }", "rho_x: when = 3: expected a table"),
        ("rho_x = { values = [0.1], min = 1 }", "either values = [ … ] or a range"),
        ("rho_x = { value = [0.1], when = { penalty = 1 } }", "expected values = [ … ]"),
        ("bm25.k1 = [1]", "unknown field `bm25`"),
    ] {
        let error = Space::parse(text, &base).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    assert!(space.grid().unwrap_err().to_string().contains("a grid needs a list"));
    let (_, mix) = method_base("rmls+bm25", None);
    let error = Space::parse("dim = [3]", &mix).unwrap_err().to_string();
    assert!(error.contains("rmls.dim"), "{error}");
}

#[test]
fn a_key_varies_where_its_condition_is_met() {
    for (method, prefix) in [("rmls", ""), ("rmls+bm25", "rmls.")] {
        let (_, base) = method_base(method, None);
        let text = format!(
            "{prefix}penalty = [\"none\", \"relative\"]\n\
             {prefix}rho_x = {{ values = [0.2, 0.3], when = {{ penalty = \"relative\" }} }}\n"
        );
        let space = Space::parse(&text, &base).unwrap();
        let met = |setting: &[(String, Value)]| {
            let varies = setting[1].1 != json!(0.1);
            assert_eq!(varies, setting[0].1 == "relative", "{setting:?}");
            base.with(setting).unwrap().check().unwrap();
            varies
        };
        for setting in space.grid().unwrap() {
            met(&setting);
        }
        let drawn: Vec<bool> =
            (0..20).map(|stream| met(&space.draw(&mut Random::new(1, stream)))).collect();
        assert!(drawn.contains(&true) && drawn.contains(&false));
        assert!(space.to_json().to_string().contains("\"when\""));
    }
    // A key whose own condition is not met meets none.
    let (_, base) = method_base("association", None);
    let text = "depth = [\"half\", \"one\"]\n\
        x_power = { values = [0.5], when = { depth = \"one\" } }\n\
        y_power = { values = [0.75], when = { x_power = 0.5 } }";
    let grid = Space::parse(text, &base).unwrap().grid().unwrap();
    let powers: Vec<[&Value; 3]> = grid.iter().map(|s| [&s[0].1, &s[1].1, &s[2].1]).collect();
    assert_eq!(
        powers,
        [[&json!("half"), &json!(1.0), &Value::Null], [&json!("one"), &json!(0.5), &json!(0.75)],]
    );
}

#[test]
fn a_condition_may_name_a_key_of_another_table() {
    for (method, text) in [
        (
            "rmls",
            "start = ['random', 'spectral']\n\
             features.doc_clicks = { values = [0.3, 0.5], when = { start = 'random' } }",
        ),
        (
            "rmls",
            "features.query_clicks = [0.0, 0.3]\n\
             seed = { values = [2, 3], when = { features.query_clicks = 0.3 } }",
        ),
        (
            "rmls",
            "features.query_clicks = [0.0, 0.3]\n\
             features.doc_clicks = { values = [0.3, 0.5], when = { query_clicks = 0.3 } }",
        ),
        (
            "rmls+bm25",
            "rmls.start = ['random', 'spectral']\n\
             bm25.k1 = { values = [0.5, 0.9], when = { rmls.start = 'random' } }",
        ),
    ] {
        let (_, base) = method_base(method, None);
        let grid = Space::parse(text, &base).unwrap().grid().unwrap();
        let distinct: BTreeSet<String> =
            grid.iter().map(|setting| format!("{setting:?}")).collect();
        // Where the condition is not met, both values are the default.
        assert_eq!((grid.len(), distinct.len()), (4, 3), "{text}");
    }
}

#[test]
fn the_space_of_rmls_leaves_every_penalty() {
    for penalty in [
        "penalty = 'relative'\nrho_x = 0.3",
        "penalty = 'absolute'\nbeta = 0.001",
        "penalty = 'bound'\nlambda_x = 2.0",
    ] {
        let (_, mut base) = method_base("rmls", None);
        base.models[0].1.merge(&toml::from_str(penalty).unwrap()).unwrap();
        let space = Space::built_in(&base).unwrap();
        for stream in 0..50 {
            let setting = base.with(&space.draw(&mut Random::new(1, stream))).unwrap();
            setting.check().unwrap();
        }
    }
}

/// The keys that the space of every method must have: what its paper tunes, and what else decides.
/// Early stopping tunes the epochs of `ssi` and `svdfeature`.
const TUNED: &[(&str, &str)] = &[
    ("bm25", "k1 b"),
    ("vsm", ""),
    ("lm", "mu"),
    ("lm-dirichlet", "mu"),
    ("lm-jm", "lambda"),
    ("dependence", "ordered unordered mu mu_pairs window"),
    ("pls", "CLICKS dim sigma"),
    ("lsi", "dim tfidf"),
    ("lsi_dt", "dim tfidf"),
    ("lsi_qd", "response dim sigma"),
    ("mpls", "weighting response dim kinds alpha sigma"),
    ("rmls", "CLICKS dim start sweeps penalty rho_x rho_y beta gamma theta_x theta_y"),
    ("association", "CLICKS depth x_power y_power"),
    ("square", "CLICKS dim lambda_x lambda_y"),
    ("ssi", "dim rate init_scale identity_weight negative"),
    (
        "svdfeature",
        "features.query_clicks features.doc_clicks response dim loss negatives rate lambda",
    ),
    ("rlsi", "dim lambda1 lambda2"),
    ("grlsi", "dim class_dim lambda1 lambda2"),
    ("crlsi", "dim lambda1 lambda2"),
    ("nmf", "dim"),
    ("gnmf", "dim class_dim"),
    ("cnmf", "dim"),
    ("plsi", "dim tempering"),
    ("lda", "dim alpha eta"),
    ("walk", "steps"),
    ("translation", "response b iterations null_words collection"),
    ("bltm", "response dim iterations alpha beta document collection"),
    ("vpcg", "response iterations terms"),
    ("knn", "response power neighbours unit_clicks"),
    ("clicked", "response k1 b weight clicked_k1 clicked_b"),
    ("feedback", "first k query_weight doc_clicks"),
    ("expansion", "documents weight"),
    ("rm3", "documents terms original mu"),
    ("ridge", "features.query_clicks weighting response lambda"),
];

/// What methods that learn from weighted clicks and their features have in common.
const CLICKS: &str = "features.query_clicks features.doc_clicks weighting response";

#[test]
fn every_method_has_a_space_of_values_it_takes() {
    for (name, _) in crate::matchers::methods() {
        let (_, base) = method_base(name, None);
        let space = Space::built_in(&base).unwrap();
        let required = TUNED.iter().find(|(known, _)| *known == name);
        let required = required.unwrap_or_else(|| panic!("{name} is not in the table"));
        let required = required.1.replace("CLICKS", CLICKS);
        for key in required.split_whitespace() {
            assert!(space.keys.iter().any(|(known, _)| known == key), "{name} lacks {key}");
        }
        let docs = base.models[0].1.docs();
        for (key, _) in &space.keys {
            assert!(docs.iter().any(|doc| doc.key == *key), "{name} has no parameter {key}");
        }
        assert_eq!(space.keys.is_empty(), required.is_empty(), "{name}");
        for stream in 0..50 {
            let setting = base.with(&space.draw(&mut Random::new(1, stream))).unwrap();
            setting.check().unwrap();
        }
    }
    // What has no maps has no dimensions to try.
    let (_, mut full) = method_base("ssi", None);
    full.models[0].1.set("form", "full").unwrap();
    let space = Space::built_in(&full).unwrap();
    assert!(space.keys.iter().map(|(key, _)| key).eq(["rate", "identity_weight", "negative"]));
    let (_, mix) = method_base("pls+bm25", None);
    let keys = Space::built_in(&mix).unwrap().keys;
    assert!(keys.iter().any(|(key, _)| key == "pls.dim"));
    assert!(keys.iter().any(|(key, _)| key == "bm25.k1"));
}
