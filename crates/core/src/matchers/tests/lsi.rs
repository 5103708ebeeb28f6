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
    let image = |row: Row<'_>| -> Vec<f64> {
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
            let q = image(Row { indices: &indices, values: &values });
            let found = matcher.scores(&counts, &query, None);
            for (j, found) in found.iter().enumerate() {
                let d = image(docs.row(j));
                let lengths = if cosine { (dot(&q, &q) * dot(&d, &d)).sqrt() } else { 1.0 };
                let expected = dot(&q, &d) / lengths;
                assert!((f64::from(*found) - expected).abs() < 1e-4, "{text} {j}: {expected}");
            }
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
            // The fifth document and the last query have no clicks, and so no image.
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
    assert!(error.to_string().contains("a weight above zero"), "{error}");
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
