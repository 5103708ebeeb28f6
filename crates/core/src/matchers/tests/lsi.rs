//! LSI beside dense singular value decompositions of the matrices it is defined by.

use faer::Mat;

use super::*;
use crate::features::Featurizer;

/// The leading `dim` left and right singular vectors of a small matrix, and its values.
fn dense_svd(n_rows: usize, n_cols: usize, entry: impl Fn(usize, usize) -> f64) -> [Mat<f64>; 3] {
    let svd = Mat::from_fn(n_rows, n_cols, entry).thin_svd().unwrap();
    let n = n_rows.min(n_cols);
    let sigma = Mat::from_fn(n, 1, |k, _| svd.S().column_vector()[k]);
    [svd.U().to_owned(), sigma, svd.V().to_owned()]
}

fn counts(dataset: &Dataset) -> Counts {
    Counts::of(dataset, &Preparation::default(), &Run::silent()).unwrap()
}

fn fitted(counts: &Counts, params: &Params) -> Box<dyn Matcher> {
    params.fit(counts, None, &Run::silent()).unwrap().0
}

fn set(name: &str, pairs: &[(&str, &str)]) -> Params {
    let mut params = Params::named(name).unwrap();
    pairs.iter().for_each(|(key, value)| params.set(key, value).unwrap());
    params
}

#[test]
fn documents_and_terms_agree_with_a_dense_svd() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&checkerboard(&dir.path().join("d")));
    let features = Features { query_clicks: 0.0, doc_clicks: 0.0, ..Features::default() };
    let featurizer = Featurizer::new(&counts, &features).unwrap();
    let docs = featurizer.docs(&counts).unwrap();
    let (n_terms, n_docs, dim) = (counts.n_terms(), counts.n_docs(), 4);
    let [u, _, _] = dense_svd(n_terms, n_docs, |t, j| docs.row(j).get(t as u32).into());
    let embedding = |row: Row<'_>| -> Vec<f64> {
        (0..dim).map(|k| row.iter().map(|(t, x)| f64::from(x) * u[(t as usize, k)]).sum()).collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for (similarity, cosine) in [("cosine", true), ("dot", false)] {
        let params =
            set("lsi_dt", &[("dim", "4"), ("similarity", similarity), ("tolerance", "1e-6")]);
        let matcher = fitted(&counts, &params);
        for text in ["distance earth", "insurance policy sun", "vehicle"] {
            let query = counts.read_query(text);
            let (indices, values) = featurizer.query_terms(&counts, &query);
            let q = embedding(Row { indices: &indices, values: &values });
            let found = matcher.scores(&counts, &query, None);
            for (j, found) in found.iter().enumerate() {
                let d = embedding(docs.row(j));
                let lengths = if cosine { (dot(&q, &q) * dot(&d, &d)).sqrt() } else { 1.0 };
                let expected = dot(&q, &d) / lengths;
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{text} {j}: {expected}");
            }
        }
    }
}

/// Queries that share words with documents.
fn worded(path: &Path) -> Dataset {
    let docs = [
        ("sun-1", "distance earth sun"),
        ("sun-2", "earth sun separation kilometres"),
        ("car-1", "automobile insurance policy"),
        ("car-2", "motor vehicle policy quote"),
        ("mix", "insurance policy distance vehicle earth"),
    ];
    dataset(path, &docs, &["distance earth policy", "sun vehicle"], &[(0, 4, 1.0), (1, 3, 1.0)])
}

#[test]
fn the_cosine_of_tfidf_is_mixed_in_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&worded(&dir.path().join("d")));
    let lsi = fitted(&counts, &set("lsi_dt", &[("dim", "2")]));
    let tfidf = fitted(&counts, &set("vsm", &[]));
    let query = counts.query(0);
    let (a, b) = (lsi.scores(&counts, &query, None), tfidf.scores(&counts, &query, None));
    let expected = |weight: f32| -> Vec<f32> {
        a.iter().zip(&b).map(|(a, b)| (1.0 - weight) * a + weight * b).collect()
    };
    let apart = |found: &[f32], expected: &[f32]| -> f32 {
        found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).sum()
    };
    assert!(apart(&a, &b) > 0.1, "{a:?} {b:?}");
    for weight in ["0", "0.3", "1"] {
        let mixed = fitted(&counts, &set("lsi_dt", &[("dim", "2"), ("tfidf", weight)]));
        let found = mixed.scores(&counts, &query, None);
        assert!(apart(&found, &expected(weight.parse().unwrap())) < 1e-5, "{weight}");
        assert_eq!(mixed.scores(&counts, &query, Some(&[4, 0])), [found[4], found[0]]);
        let sum: f64 = mixed.contributions(&counts, &query, 4).iter().map(|line| line.value).sum();
        assert!((sum - f64::from(found[4])).abs() < 1e-5, "{weight}");
    }

    // A scorer that likes 0.7 best.
    let scorer = |score: &Score<'_>| -f64::from(apart(&score(0, None), &expected(0.7)));
    let tuned = set("lsi_dt", &[("dim", "2"), ("tfidf", "tuned")]);
    assert!(tuned.validated() && !set("lsi_dt", &[("tfidf", "0.5")]).validated());
    let (mixed, _) = tuned.fit(&counts, Some(&scorer), &Run::silent()).unwrap();
    assert!(apart(&mixed.scores(&counts, &query, None), &expected(0.7)) < 1e-5);
    let Err(error) = tuned.fit(&counts, None, &Run::silent()) else { panic!("tuned by nothing") };
    assert!(error.to_string().contains("there is no validation data"), "{error}");
    let wrong = set("lsi_dt", &[("tfidf", "1.5")]).check().unwrap_err().to_string();
    assert!(wrong.contains("tfidf = 1.5"), "{wrong}");
}

#[test]
fn the_weight_of_tfidf_is_kept_with_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let data = worded(&dir.path().join("d"));
    let mixture = Mixture::parse("lsi").unwrap();
    for weight in ["0.4", "tuned"] {
        let params = [set("lsi", &[("dim", "2"), ("tfidf", weight)])];
        let prepared = Preparation::default();
        let trained =
            crate::training::train(&data, &prepared, &mixture, &params, &Run::silent()).unwrap();
        let path = dir.path().join(weight);
        trained.save(&path, false, std::time::Duration::ZERO).unwrap();
        let loaded = Model::open(&path).unwrap();
        for text in ["distance vehicle", "insurance sun"] {
            let before = trained.model.scores(&trained.model.read_query(text).unwrap());
            let after = loaded.scores(&loaded.read_query(text).unwrap());
            assert!(before.iter().any(|&score| score != 0.0));
            assert_eq!(before, after, "{weight}");
        }
    }
}

#[test]
fn documents_alone_are_enough_and_held_out_ones_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [("a", "red apple"), ("b", "green apple tree"), ("c", "blue sky tree")];
    let plain = dataset(&dir.path().join("p"), &docs, &["apple"], &[]);
    let model = train(&plain, "lsi_dt").model;
    let scores = model.scores(&model.read_query("red").unwrap());
    assert!(scores[0] > 0.5 && scores[0] > scores[2], "{scores:?}");

    let documents: Vec<_> = docs
        .iter()
        .chain([&("late", "apple sky sky")])
        .map(|&(id, title)| (id, serde_json::json!({ "title": title })))
        .collect();
    let fixture =
        Fixture { documents: &documents, queries: &["apple"], clicks: &[], held_out: &[3] };
    let held_out = fixture.open(&dir.path().join("h"));
    let with = train(&held_out, "lsi_dt").model;
    for text in ["red", "apple sky", "tree"] {
        let found = with.scores(&with.read_query(text).unwrap());
        let expected = model.scores(&model.read_query(text).unwrap());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-4, "{text}: {found} for {expected}");
        }
    }
}

#[test]
fn clicks_agree_with_a_dense_svd() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [("a", "one"), ("b", "two"), ("c", "three"), ("d", "four"), ("e", "five")];
    let queries = ["one", "two", "three", "four", "five", "six"];
    let clicks: Vec<(u32, u32, f32)> = (0..5u32)
        .flat_map(|i| (0..4u32).map(move |j| (i, j, ((3 * i + 5 * j) % 7) as f32)))
        .filter(|&(_, _, clicks)| clicks > 0.0)
        .collect();
    let counts = counts(&dataset(&dir.path().join("d"), &docs, &queries, &clicks));
    let response = |i: usize, j: usize| f64::from(counts.clicks.row(i).get(j as u32)).ln_1p();
    let [u, sigma, v] = dense_svd(6, 5, response);
    for power in ["0", "0.5", "1"] {
        let params = set("lsi_qd", &[("dim", "2"), ("sigma", power), ("tolerance", "1e-6")]);
        let matcher = fitted(&counts, &params);
        let power: f64 = power.parse().unwrap();
        for i in 0..6 {
            let found = matcher.scores(&counts, &counts.query(i), None);
            for (j, found) in found.iter().enumerate() {
                let expected: f64 =
                    (0..2).map(|k| u[(i, k)] * v[(j, k)] * sigma[(k, 0)].powf(power)).sum();
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{i} {j}: {found} {expected}");
            }
            // The fifth document and the last query have no clicks, and so no embedding.
            assert_eq!(found[4], 0.0);
        }
        assert!(matcher.scores(&counts, &counts.query(5), None).iter().all(|&s| s == 0.0));
        assert!(
            matcher.scores(&counts, &counts.read_query("one two"), None).iter().all(|&s| s == 0.0)
        );
    }
}

#[test]
fn negative_clicks_are_no_part_of_what_is_factorised() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [("a", "one"), ("b", "two"), ("c", "three"), ("d", "four")];
    let queries = ["one", "two", "three", "four", "five"];
    // The last document and the last query are disliked alone.
    let signed: [[f32; 4]; 5] = [
        [3.0, -4.0, 0.0, -1.0],
        [-2.0, 5.0, 1.0, 0.0],
        [0.0, -6.0, 2.0, -3.0],
        [1.0, 2.0, -5.0, 0.0],
        [-1.0, 0.0, -2.0, -4.0],
    ];
    let clicks: Vec<(u32, u32, f32)> = (0u32..)
        .zip(&signed)
        .flat_map(|(i, row)| (0u32..).zip(row).map(move |(j, &clicks)| (i, j, clicks)))
        .filter(|&(_, _, clicks)| clicks != 0.0)
        .collect();
    let counts = counts(&dataset(&dir.path().join("d"), &docs, &queries, &clicks));
    let full = [("dim", "4"), ("sigma", "1"), ("response", "raw"), ("tolerance", "1e-6")];
    let matcher = fitted(&counts, &set("lsi_qd", &full));
    for (i, row) in signed.iter().enumerate() {
        let found = matcher.scores(&counts, &counts.query(i), None);
        for (found, clicks) in found.iter().zip(row) {
            assert!((found - clicks.max(0.0)).abs() < 1e-3, "{i}: {found} for {clicks}");
        }
    }

    let disliked = dataset(&dir.path().join("n"), &docs, &queries, &[(0, 1, -2.0), (1, 1, -1.0)]);
    let disliked = Counts::of(&disliked, &Preparation::default(), &Run::silent()).unwrap();
    let Err(error) = small("lsi_qd").fit(&disliked, None, &Run::silent()) else {
        panic!("lsi_qd learnt from dislikes alone")
    };
    assert!(error.to_string().contains("weights above zero"), "{error}");
}

#[test]
fn clicks_are_needed_where_they_are_all_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&dataset(&dir.path().join("d"), &[("a", "red apple")], &["apple"], &[]));
    for name in ["lsi_qd", "mpls"] {
        let Err(error) = small(name).fit(&counts, None, &Run::silent()) else {
            panic!("{name} learnt from nothing")
        };
        assert!(error.to_string().contains("no training clicks"), "{error}");
    }
}
