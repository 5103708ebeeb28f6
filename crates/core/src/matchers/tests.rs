//! What every matcher must do, and each one's numbers by hand or from elsewhere.

mod bilinear;
mod init;
mod lsi;
mod mpls;
mod newcomers;

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

fn small(name: &str) -> Params {
    let mut params = Params::named(name).unwrap();
    if params.has_dim() {
        params.set("dim", "3").unwrap();
    }
    params
}

fn train(dataset: &Dataset, mix: &str) -> Trained {
    let mixture = Mixture::parse(mix).unwrap();
    let params: Vec<Params> = mixture.parts.iter().map(|(_, name)| small(name)).collect();
    crate::training::train(dataset, &Preparation::default(), &mixture, &params, &Run::silent())
        .unwrap()
}

const EVERY: [&str; 15] = [
    "vsm",
    "bm25",
    "lm",
    "lm-jm",
    "pls",
    "rmls",
    "lsi_dt",
    "lsi_qd",
    "mpls",
    "square",
    "ridge",
    "pls+bm25",
    "0.3*rmls+0.7*bm25",
    "lsi_qd+lsi_dt",
    "0.5*ridge+0.5*bm25",
];

#[test]
fn learnt_matchers_solve_the_checkerboard_and_lexical_ones_cannot() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in ["pls", "rmls", "square", "ridge"] {
        let model = train(&dataset, name).model;
        for (i, query) in model.counts.query_texts.clone().iter().enumerate() {
            let hits = model.search(&model.read_query(query).unwrap(), 3);
            let mut found: Vec<u32> = hits.iter().map(|hit| hit.doc / 3).collect();
            found.dedup();
            assert_eq!(found, [i as u32 / 3], "{name} {query}");
        }
        // A query nobody asked before, and words in another order.
        let hits = model.search(&model.read_query("high blood").unwrap(), 1);
        assert_eq!(hits[0].doc / 3, 2, "{name}");
    }
    let bm25 = train(&dataset, "bm25").model;
    assert_eq!(bm25.search(&bm25.read_query("star far").unwrap(), 1)[0].score, 0.0);
}

#[test]
fn scores_are_the_same_bits_one_by_one_in_a_batch_and_after_loading() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in EVERY {
        let trained = train(&dataset, name);
        let path = dir.path().join(name.replace('*', "x"));
        trained.save(&path, false, std::time::Duration::ZERO).unwrap();
        let (model, loaded) = (&trained.model, Model::open(&path).unwrap());
        for text in ["star far", "hypertension pressure cars", "distance insurance"] {
            let query = model.read_query(text).unwrap();
            let before = model.scores(&query);
            assert!(before.iter().all(|score| score.is_finite()), "{name}");
            assert_eq!(before, loaded.scores(&loaded.read_query(text).unwrap()), "{name}");
            for part in &model.parts {
                let all = part.matcher.scores(&model.counts, &query, None);
                let some = part.matcher.scores(&model.counts, &query, Some(&[7, 2, 5]));
                assert_eq!(some, [all[7], all[2], all[5]], "{name}");
            }
        }
    }
}

#[test]
fn models_are_the_same_files_at_any_thread_count() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    let identity = |threads: usize, name: &str| {
        let path = dir.path().join(format!("{threads}"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train(&dataset, name).save(&path, true, std::time::Duration::ZERO))
            .unwrap();
        crate::file::Folder::<ModelAbout>::open(&path, crate::file::FolderKind::Model)
            .unwrap()
            .identity()
    };
    for name in EVERY {
        let one = identity(1, name);
        assert_eq!((&one, &one), (&identity(2, name), &identity(7, name)), "{name}");
    }
}

#[test]
fn explanations_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in EVERY {
        let model = train(&dataset, name).model;
        for (text, doc) in [("star far", 1), ("hypertension pressure", 7), ("star sun", 4)] {
            let all = model.explain(text, doc, usize::MAX).unwrap();
            let few = model.explain(text, doc, 2).unwrap();
            let sum: f64 = all.parts.iter().map(|part| part.adds).sum();
            assert!((sum - all.score).abs() < 1e-5, "{name}: {sum} {}", all.score);
            for (all, few) in all.parts.iter().zip(&few.parts) {
                // Every pair is shown, so what is left is rounding.
                assert!(all.rest.abs() < 1e-4 && all.n_rest == 0, "{name}: {all:?}");
                let shown: f64 = few.lines.iter().map(|line| line.value).sum();
                assert!((shown + few.rest - few.score).abs() < 1e-9, "{name}");
                if let Some((mean, deviation)) = few.standard {
                    let expected = if deviation > 0.0 {
                        few.weight * (few.score - mean) / deviation
                    } else {
                        0.0
                    };
                    assert!((few.adds - expected).abs() < 1e-4, "{name}: {few:?}");
                }
            }
        }
    }
}

#[test]
fn permuting_the_documents_permutes_the_scores() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [("a", "red apple"), ("b", "green apple tree"), ("c", "blue sky")];
    let clicks = [(0, 0, 5.0), (0, 1, 2.0), (1, 2, 4.0), (1, 1, 1.0)];
    let turned: Vec<_> = docs.iter().rev().copied().collect();
    let turned_clicks: Vec<_> = clicks.iter().map(|&(q, d, c)| (q, 2 - d, c)).collect();
    let plain = dataset(&dir.path().join("p"), &docs, &["fruit", "heaven above"], &clicks);
    let turned =
        dataset(&dir.path().join("t"), &turned, &["fruit", "heaven above"], &turned_clicks);
    for name in ["vsm", "bm25", "lm", "lm-jm", "pls", "square", "ridge"] {
        let (a, b) = (train(&plain, name).model, train(&turned, name).model);
        for text in ["fruit", "apple heaven"] {
            let forward = a.scores(&a.read_query(text).unwrap());
            let mut backward = b.scores(&b.read_query(text).unwrap());
            backward.reverse();
            for (x, y) in forward.iter().zip(&backward) {
                assert!((x - y).abs() < 1e-4, "{name}: {forward:?} {backward:?}");
            }
        }
    }
}

#[test]
fn a_query_of_stop_words_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let model = train(&checkerboard(&dir.path().join("d")), "bm25").model;
    let message = model.read_query("the of").unwrap_err().to_string();
    assert!(message.contains("analyses to nothing") && message.contains("stop words"), "{message}");
    let message = model.read_query("zebra").unwrap_err().to_string();
    assert!(message.contains("does not know zebra"), "{message}");
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
