//! Each matcher's numbers, by hand or from elsewhere; what they all must do is in `conformance`.

mod bilinear;
mod by_words;
mod conformance;
mod init;
mod lsi;
mod mpls;
mod neighbours;
mod plan;
mod published;
mod unseen;
mod validation;

use std::path::Path;

use super::*;
use crate::data::Dataset;
use crate::data::fixture::Fixture;
use crate::features::{Counts, Features, Featurizer, Preparation, Response, Weighted, Weighting};
use crate::linalg::{Centring, Panels, dot_f64};
use crate::sparse::{Csr, Row, explicit_c};
use crate::{Result, Run};

/// Documents (id, title), queries, and pairs (query, document, clicks).
fn dataset(
    path: &Path,
    docs: &[(&str, &str)],
    queries: &[&str],
    clicks: &[(u32, u32, f32)],
) -> Dataset {
    let documents: Vec<_> =
        docs.iter().map(|&(id, title)| (id, serde_json::json!({ "title": title }))).collect();
    Fixture { documents: &documents, queries, clicks, held_out: &[] }.open(path)
}

/// Three groups of queries and documents that share no word across the groups, nor between
/// the queries and the documents of a group: only clicks say what belongs together.
fn checkerboard(path: &Path) -> Dataset {
    let docs = [
        ("sun-1", "distance earth sun"),
        ("sun-2", "earth sun separation kilometres"),
        ("sun-3", "sun distance astronomical unit"),
        ("car-1", "automobile insurance policy"),
        ("car-2", "motor vehicle policy quote"),
        ("car-3", "vehicle insurance premium"),
        ("bp-1", "hypertension therapy"),
        ("bp-2", "hypertension medication therapy"),
        ("bp-3", "arterial hypertension guideline"),
    ];
    let queries = [
        "far away star",
        "star far",
        "miles to star",
        "cheap cover cars",
        "cars cover",
        "cover my cars",
        "blood pressure high",
        "high pressure",
        "pressure pills blood",
    ];
    let mut clicks = Vec::new();
    for group in 0..3 {
        for i in 0..3 {
            for j in 0..3 {
                // One pair of each query is left out, so that something is to be inferred.
                if (i + j) % 3 != 0 {
                    clicks.push((group * 3 + i, group * 3 + j, (4 + i + j) as f32));
                }
            }
        }
    }
    dataset(path, &docs, &queries, &clicks)
}

/// Forms of methods that are as different as methods are: a name, and what is set.
const FORMS: &[&str] = &[
    "ssi form=symmetric",
    "ssi form=diagonal",
    "ssi form=full",
    "ssi form=full identity=false diagonal=false",
    "ssi form=hash weights=1000",
    "ssi frequent=6 bins=2",
    "ssi frequent=6 bins=2 exact=true",
    "ssi frequent=6 bins=2 rare=true",
    "ssi learn_identity=true",
    "ssi negative=popularity",
    "ssi negative=bm25 hard=2",
    "svdfeature loss=logistic",
    "svdfeature loss=pairwise",
    "lsi_dt tfidf=0.5",
    "plsi tempering=1",
    "lda batch=4",
];

/// The parameters of a method or of one of its forms, with few dimensions.
fn small(form: &str) -> Params {
    let mut words = form.split(' ');
    let mut params = Params::named(words.next().unwrap()).unwrap();
    for (key, value) in words.map(|word| word.split_once('=').unwrap()) {
        params.set(key, value).unwrap();
    }
    if params.has_dim() {
        params.set("dim", "3").unwrap();
    }
    params
}

fn train(dataset: &Dataset, mix: &str) -> Trained {
    let mixture = Mixture::parse(mix.split(' ').next().unwrap()).unwrap();
    let params: Vec<Params> = match &mixture.parts[..] {
        [_] => vec![small(mix)],
        parts => parts.iter().map(|(_, name)| small(name)).collect(),
    };
    crate::training::train(dataset, &Preparation::default(), &mixture, &params, &Run::silent())
        .unwrap()
}

/// Every method and form.
fn alone() -> impl Iterator<Item = &'static str> {
    methods().map(|(name, _)| name).chain(FORMS.iter().copied())
}

/// The same, and some mixes.
fn every() -> Vec<String> {
    let mixes =
        ["pls+bm25", "0.3*rmls+0.7*bm25", "lsi_qd+lsi_dt", "0.5*ridge+0.5*bm25", "rrf:pls+bm25"];
    alone().chain(mixes).map(str::to_owned).collect()
}

/// The corpus of the hand-worked scores: lengths 3, 2 and 1, so avgdl = 2 and N = 3.
fn apples(path: &Path) -> Dataset {
    let docs = [("0", "apple apple pear"), ("1", "pear plum"), ("2", "plum")];
    dataset(path, &docs, &["apple", "pear plum"], &[(0, 0, 1.0), (1, 1, 1.0)])
}

fn scores(dataset: &Dataset, params: &Params, text: &str) -> Vec<f32> {
    let counts = Counts::of(dataset, &Preparation::default(), &Run::silent()).unwrap();
    let (matcher, _) = params.fit(&counts, None, &Run::silent()).unwrap();
    matcher.scores(&counts, &counts.read_query(text), None)
}

fn close(found: &[f32], expected: &[f64]) {
    let near = |(&f, &e): (&f32, &f64)| (f64::from(f) - e).abs() < 1e-5;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{found:?} {expected:?}"
    );
}

#[test]
fn bm25_is_lucenes_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let data = apples(&dir.path().join("d"));
    let idf = |df: f64| (1.0 + (3.0 - df + 0.5) / (df + 0.5)).ln();
    // tf/(tf + 1.2·(0.25 + 0.75·|d|/2))
    let tf = |f: f64, length: f64| f / (f + 1.2 * (0.25 + 0.75 * length / 2.0));
    let bm25 = Params::named("bm25").unwrap();
    close(
        &scores(&data, &bm25, "apple pear"),
        &[idf(1.0) * tf(2.0, 3.0) + idf(2.0) * tf(1.0, 3.0), idf(2.0) * tf(1.0, 2.0), 0.0],
    );
    // A repeated query word counts again.
    close(
        &scores(&data, &bm25, "plum plum"),
        &[0.0, 2.0 * idf(2.0) * tf(1.0, 2.0), 2.0 * idf(2.0) * tf(1.0, 1.0)],
    );
    let mut fields = bm25.clone();
    fields.set("fields.title.weight", "2.0").unwrap();
    fields.set("fields.title.b", "0").unwrap();
    let flat = |f: f64| f / (f + 1.2);
    close(&scores(&data, &fields, "apple"), &[2.0 * idf(1.0) * flat(2.0), 0.0, 0.0]);
    fields.set("fields.anchor.k1", "1").unwrap();
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    let error = fields.fit(&counts, None, &Run::silent()).err().unwrap().to_string();
    assert!(error.contains("anchor") && error.contains("title"), "{error}");
}

#[test]
fn a_document_without_a_field_counts_neither_in_its_average_nor_in_its_n() {
    let documents = [
        ("0", serde_json::json!({ "title": "apple apple pear", "body": "pear plum" })),
        ("1", serde_json::json!({ "title": "pear", "body": "apple" })),
        ("2", serde_json::json!({ "body": "apple plum plum" })),
        // Stop words alone: the field is there, and empty all the same.
        ("3", serde_json::json!({ "title": "the of", "body": "apple" })),
        ("4", serde_json::json!({ "title": "", "body": "fig" })),
        // Not of training.
        ("5", serde_json::json!({ "title": "apple fig fig fig fig fig", "body": "pear" })),
    ];
    let clicks = [(0, 0, 1.0), (0, 1, 1.0)];
    let dir = tempfile::tempdir().unwrap();
    let data =
        Fixture { documents: &documents, queries: &["apple"], clicks: &clicks, held_out: &[5] }
            .open(&dir.path().join("d"));
    let idf = |n: f64, df: f64| (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
    let tf = |f: f64, length: f64, average: f64| f / (f + 1.2 * (0.25 + 0.75 * length / average));
    // Two of the five training documents have a title, of 3 and 1 words: N = 2, avgdl = 2.
    let title = |df: f64, f: f64, length: f64| idf(2.0, df) * tf(f, length, 2.0);
    let mut fields = Params::named("bm25").unwrap();
    fields.set("fields.title.weight", "1.0").unwrap();
    close(
        &scores(&data, &fields, "apple"),
        &[title(1.0, 2.0, 3.0), 0.0, 0.0, 0.0, 0.0, title(1.0, 1.0, 6.0)],
    );
    close(
        &scores(&data, &fields, "pear"),
        &[title(2.0, 1.0, 3.0), title(2.0, 1.0, 1.0), 0.0, 0.0, 0.0, 0.0],
    );
    // All five have a body, of 2, 1, 3, 1 and 1 words, and three of them say apple.
    let body = |f: f64, length: f64| idf(5.0, 3.0) * tf(f, length, 8.0 / 5.0);
    fields.set("fields.body.weight", "1.0").unwrap();
    close(
        &scores(&data, &fields, "apple"),
        &[
            title(1.0, 2.0, 3.0),
            body(1.0, 1.0),
            body(1.0, 3.0),
            body(1.0, 1.0),
            0.0,
            title(1.0, 1.0, 6.0),
        ],
    );
    // As one text every training document counts: 5, 2, 3, 1 and 1 words.
    let whole = |f: f64, length: f64| idf(5.0, 4.0) * tf(f, length, 12.0 / 5.0);
    close(
        &scores(&data, &Params::named("bm25").unwrap(), "apple"),
        &[whole(2.0, 5.0), whole(1.0, 2.0), whole(1.0, 3.0), whole(1.0, 1.0), 0.0, whole(1.0, 7.0)],
    );
}

#[test]
fn language_models_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let data = apples(&dir.path().join("d"));
    // The collection has six words: apple 2, pear 2, plum 2.
    let p = 2.0 / 6.0;
    let mut lm = Params::named("lm").unwrap();
    lm.set("mu", "10").unwrap();
    let gain = |f: f64| (1.0 + f / (10.0 * p)).ln();
    let length = |l: f64| (10.0f64 / (10.0 + l)).ln();
    // "zebra" is unknown to the collection and dropped from the query's length, too.
    close(
        &scores(&data, &lm, "apple pear zebra"),
        &[
            gain(2.0) + gain(1.0) + 2.0 * length(3.0),
            gain(1.0) + 2.0 * length(2.0),
            2.0 * length(1.0),
        ],
    );
    let jm = |f: f64, l: f64| (1.0 + 0.9 * f / l / (0.1 * p)).ln();
    close(
        &scores(&data, &Params::named("lm-jm").unwrap(), "pear"),
        &[jm(1.0, 3.0), jm(1.0, 2.0), 0.0],
    );
}

#[test]
fn vsm_is_the_cosine_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let data = apples(&dir.path().join("d"));
    let idf = |df: f64| (1.0f64 + 3.0 / df).ln();
    let (apple, pear) = ((1.0 + 2.0f64.ln()) * idf(1.0), idf(2.0));
    let query = (idf(1.0).powi(2) + idf(2.0).powi(2)).sqrt();
    let first = (idf(1.0) * apple + idf(2.0) * pear) / query / (apple * apple + pear * pear).sqrt();
    let second = idf(2.0) * pear / query / (2.0f64.sqrt() * idf(2.0));
    close(&scores(&data, &Params::named("vsm").unwrap(), "apple pear"), &[first, second, 0.0]);
}

#[test]
fn parameters_are_set_by_key_and_wrong_ones_refused() {
    let mut rmls = Params::named("rmls").unwrap();
    rmls.set("penalty", "relative").unwrap();
    rmls.set("features.doc_clicks", "0.5").unwrap();
    rmls.set("centring", "\"clicks\"").unwrap();
    let Params::Rmls(params) = &rmls else { unreachable!() };
    assert_eq!((params.penalty, params.centring), (Penalty::Relative, Centring::Clicks));
    assert_eq!(params.features.doc_clicks, 0.5);
    for (key, value) in [
        ("dimm", "3"),
        ("dim", "-1"),
        ("dim", "0"),
        ("penalty", "l3"),
        ("features", "1"),
        ("rho_x", "1"),
        ("features.colour", "1"),
        ("dim.x", "1"),
    ] {
        let mut wrong = rmls.clone();
        assert!(wrong.set(key, value).and_then(|()| wrong.check()).is_err(), "{key}={value}");
    }
    let message = rmls.set("dimm", "3").unwrap_err().to_string();
    assert!(message.contains("dimm") && message.contains("dim"), "{message}");
}

#[test]
fn every_parameter_is_described_and_can_be_set_to_its_default() {
    for (name, _) in methods() {
        let params = Params::named(name).unwrap();
        for doc in params.docs() {
            assert!(!doc.about.is_empty(), "{name} {}", doc.key);
            if doc.default != "none" && doc.default != "{}" {
                params.clone().set(&doc.key, &doc.default).unwrap();
            }
        }
    }
    assert!(preparation_docs().iter().any(|doc| doc.key == "preparation.analyzer.language"));
}

#[test]
fn features_are_weighted_as_the_papers_say() {
    let dir = tempfile::tempdir().unwrap();
    let data = apples(&dir.path().join("d"));
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    let features = Features { query_clicks: 1.0, doc_clicks: 0.5, ..Features::default() };
    let featurizer = Featurizer::new(&counts, &features).unwrap();
    let (x, y) = (featurizer.queries(&counts).unwrap(), featurizer.docs(&counts).unwrap());
    assert_eq!((x.n_cols(), y.n_cols()), (3 + 3, 3 + 2));
    for row in x.rows().chain(y.rows()) {
        assert!((row.norm() - 1.0).abs() < 1e-6);
    }
    // "apple" clicked document 0: two kinds of equal weight.
    assert!(
        (x.row(0).get(0) - 0.5f32.sqrt()).abs() < 1e-6
            && (x.row(0).get(3) - 0.5f32.sqrt()).abs() < 1e-6
    );
    // Document 0: words of norm 1 beside a click feature of norm 1/2.
    assert!((y.row(0).get(3) - 0.5 / 1.25f32.sqrt()).abs() < 1e-6);
    let data = Weighted::of(&counts, &featurizer, Weighting::Mean, Response::Log).unwrap();
    // n_x = 2 queries with n_i = 1 document each, one click: ln 2 / 2.
    assert!((data.r.row(0).get(0) - 2.0f32.ln() / 2.0).abs() < 1e-6);
    assert_eq!(
        (Response::Log.of(-3.0), Response::Binary.of(-3.0), Response::Raw.of(-3.0)),
        (-(4.0f32.ln()), -1.0, -3.0)
    );
}

#[test]
fn numbers_beyond_all_use_are_refused_with_their_range() {
    let large = usize::MAX.to_string();
    for (name, _) in methods() {
        let params = Params::named(name).unwrap();
        for key in ["dim", "oversample", "iterations", "sweeps", "steps", "keep"] {
            if params.docs().iter().any(|doc| doc.key == key) {
                let mut wrong = params.clone();
                // What TOML cannot read as a number is a number all the same.
                let number: serde_json::Number = large.parse().unwrap();
                wrong.merge(&serde_json::Map::from_iter([(key.into(), number.into())])).unwrap();
                let message = wrong.check().unwrap_err().to_string();
                let words = [&format!("{key} = {large}"), "at most"];
                assert!(words.iter().all(|word| message.contains(*word)), "{name}: {message}");
            }
        }
    }
}

#[test]
fn parameters_that_would_be_ignored_are_refused() {
    for (method, settings, words) in [
        ("rmls", &[("rho_x", "0.3")][..], "rho_x = 0.3: expected 0.1, or penalty = \"relative\""),
        ("rmls", &[("penalty", "bound"), ("rho_y", "0")], "penalty = \"relative\""),
        ("rmls", &[("lambda_x", "2")], "lambda_x = 2: expected 3, or penalty = \"bound\""),
        ("rmls", &[("penalty", "relative"), ("lambda_y", "2")], "penalty = \"bound\""),
        ("rmls", &[("start", "random"), ("tolerance", "-1")], "tolerance = -1"),
        ("mpls", &[("kinds", "word"), ("alpha", "tuned")], "kinds = \"com\""),
        ("mpls", &[("kinds", "conca"), ("alpha", "tuned")], "kinds = \"com\""),
        (
            "mpls",
            &[("features.unit_kinds", "false"), ("features.unit_rows", "false")],
            "features.unit_kinds = false",
        ),
    ] {
        let mut params = Params::named(method).unwrap();
        settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
        let message = params.check().unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    for (method, settings) in [
        ("rmls", &[("penalty", "relative"), ("rho_x", "0.3")][..]),
        ("rmls", &[("penalty", "bound"), ("lambda_y", "2")]),
        ("mpls", &[("alpha", "tuned"), ("features.unit_kinds", "false")]),
        ("mpls", &[("kinds", "word"), ("features.unit_kinds", "false")]),
    ] {
        let mut params = Params::named(method).unwrap();
        settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
        params.check().unwrap();
    }
}
