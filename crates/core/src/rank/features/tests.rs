//! Features by hand, and the ways to the same numbers.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Run;
use crate::data::Dataset;
use crate::data::fixture::{Fixture, many};
use crate::features::proximity::proximity;
use crate::features::{Counts, Preparation, QueryTerms};
use crate::matchers::{Bm25, Lm, Matcher, Vsm};
use crate::oracle::same_at_any_thread_count;

const WORDS: [&str; 6] = ["white", "house", "red", "paint", "door", "garden"];

fn counts_of(dir: &std::path::Path, documents: &[(&str, serde_json::Value)]) -> (Dataset, Counts) {
    let queries = ["white house", "red door", "paint the garden door", "zebra"];
    let clicks = [(0, 0, 3.0), (1, 1, 1.0), (1, 0, 1.0)];
    let fixture = Fixture { documents, queries: &queries, clicks: &clicks, held_out: &[] };
    let data = fixture.open(&dir.join("d"));
    let preparation = Preparation { positions: true, ..Preparation::default() };
    let counts = Counts::of(&data, &preparation, &Run::silent()).unwrap();
    (data, counts)
}

fn documents() -> Vec<(&'static str, serde_json::Value)> {
    vec![
        (
            "a",
            json!({ "title": "white house", "body": "a red door of the white house, painted white",
                "url": "http://a.com/x/y", "price": 5, "flag": true, "note": "none" }),
        ),
        ("b", json!({ "title": "red door", "body": "house white", "price": "7.5", "note": 3 })),
        ("c", json!({ "body": "garden" })),
    ]
}

fn extractor(data: &Dataset, counts: &Counts) -> Extractor {
    let fixed = StaticFeatures::of(data, counts, &Group::all(), &Run::silent()).unwrap();
    let source = Source::Fitted(Arc::new(Vsm::default().fit(counts).unwrap()));
    Extractor::new(&fixed, counts, vec![("cosine".into(), source)])
}

/// The value of a feature of a document.
fn value(extractor: &Extractor, counts: &Counts, text: &str, doc: u32, name: &str) -> f32 {
    let terms = counts.read_query(text);
    let question = FeatureQuery { terms: &terms, id: "", text };
    let at = extractor.features().iter().position(|about| about.name == name).unwrap();
    extractor.rows(counts, &question, &[doc])[at]
}

#[test]
fn features_are_what_their_names_say() {
    let dir = tempfile::tempdir().unwrap();
    let (data, counts) = counts_of(dir.path(), &documents());
    let extractor = extractor(&data, &counts);
    let of = |doc: u32, name: &str| value(&extractor, &counts, "white house", doc, name);
    let query = counts.read_query("white house");
    // Over all text they are the matchers themselves.
    let all = |matcher: &dyn Matcher| matcher.scores(&counts, &query, None);
    assert_eq!(of(1, "bm25(all)"), all(&Bm25::default().fit(&counts).unwrap())[1]);
    assert_eq!(of(1, "vsm(all)"), all(&Vsm::default().fit(&counts).unwrap())[1]);
    assert_eq!(of(1, "lm(all)"), all(&Lm::default().fit(&counts).unwrap())[1]);
    assert_eq!(of(0, "model(cosine)"), of(0, "vsm(all)"));
    let whole = Vsm::default().fit_field(&counts, &counts.docs).unwrap();
    assert!(whole == Vsm::default().fit(&counts).unwrap());
    // A title that is the query has the cosine 1.
    assert!((of(0, "vsm(title)") - 1.0).abs() < 1e-6);
    assert!(of(0, "bm25(title)") > 0.0 && of(1, "bm25(title)") == 0.0);
    assert!(of(2, "bm25(title)").is_nan() && of(2, "lm(title)").is_nan());
    // "a red door of the white house, painted white": stop words leave their places.
    let near = ["ordered(body)", "unordered(body)", "span(body)"].map(|name| of(0, name));
    assert_eq!(near, [1.0, 1.0, 2.0]);
    assert_eq!(["ordered(body)", "unordered(body)"].map(|name| of(1, name)), [0.0, 1.0]);
    assert_eq!((of(0, "ordered(all)"), of(0, "span(all)")), (2.0, 2.0));
    assert_eq!((of(1, "unordered(all)"), of(1, "span(all)")), (1.0, 2.0));
    assert!(of(2, "span(body)").is_nan() && of(2, "ordered(title)").is_nan());
    assert_eq!(
        (of(2, "length(body)"), of(2, "length(title)"), of(2, "query_length")),
        (1.0, 0.0, 2.0)
    );
    assert_eq!((of(0, "url_depth"), of(0, "field(price)"), of(1, "field(price)")), (2.0, 5.0, 7.5));
    assert!(of(1, "url_depth").is_nan() && of(2, "field(price)").is_nan());
    assert_eq!((of(0, "field(flag)"), of(0, "clicks")), (1.0, 5f32.ln()));
    // A field that holds a word is no column.
    assert!(!extractor.names().contains(&"field(note)".to_owned()));
    assert!(!extractor.names().contains(&"pagerank".to_owned()));
}

#[test]
fn a_known_query_and_its_text_give_the_same_rows() {
    let dir = tempfile::tempdir().unwrap();
    let (data, counts) = counts_of(dir.path(), &documents());
    let extractor = extractor(&data, &counts);
    for (i, text) in counts.query_texts.iter().enumerate() {
        let known = counts.query(i);
        let new = QueryTerms { known: None, ..counts.read_query(text) };
        let rows = |terms: &QueryTerms| {
            let question = FeatureQuery { terms, id: "", text };
            extractor
                .rows(&counts, &question, &[2, 0])
                .iter()
                .map(|v| v.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(&known), rows(&new), "{text}");
    }
}

#[test]
fn a_model_in_the_place_of_a_lexical_one_and_models_that_number_otherwise() {
    use crate::matchers::{Mixture, Params};
    let dir = tempfile::tempdir().unwrap();
    let (data, counts) = counts_of(dir.path(), &documents());
    let fixed =
        StaticFeatures::of(&data, &counts, &[Group::Bm25, Group::Models], &Run::silent()).unwrap();
    let fewer: Vec<_> = documents().into_iter().rev().take(2).collect();
    let dir = tempfile::tempdir().unwrap();
    let (other, _) =
        counts_of(dir.path(), &[fewer.clone(), vec![("z", json!({ "title": "z" }))]].concat());
    let train = |data: &Dataset| {
        let mix = Mixture::parse("bm25").unwrap();
        let params = [Params::named("bm25").unwrap()];
        crate::training::train(data, &Preparation::default(), &mix, &params, &Run::silent())
            .unwrap()
            .model
    };
    let here = Source::opened(train(&data), &counts);
    let there = Source::opened(train(&other), &counts);
    assert_eq!((here.unknown(), there.unknown()), (0, 1));
    let scores = train(&other);
    let expected = scores.scores(&scores.counts.read_query("red garden"));
    let sources = vec![("bm25".to_owned(), here), ("other".to_owned(), there)];
    let extractor = Extractor::new(&fixed, &counts, sources);
    let bm25 = |about: &&FeatureInfo| about.name == "bm25(all)";
    assert_eq!(extractor.features().iter().find(bm25).unwrap().model.as_deref(), Some("bm25"));
    let of = |doc: u32| value(&extractor, &counts, "red garden", doc, "model(other)");
    assert!(of(0).is_nan());
    assert_eq!((of(1), of(2)), (expected[1], expected[0]));
}

#[test]
fn pagerank_is_the_share_of_a_walker_who_follows_links() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [documents(), vec![("d", json!({ "title": "red" }))]].concat();
    let (data, counts) = counts_of(dir.path(), &documents);
    let links = [(0, 1, 1.0), (0, 2, 3.0), (1, 2, 1.0), (2, 0, 1.0)];
    let links = crate::sparse::Csr::from_triplets(4, 4, links.to_vec()).unwrap();
    let mut counts = counts.with_clicks(links).unwrap();
    counts.stored.own_documents = vec![0, 1, 2, 3];
    let fixed = StaticFeatures::of(&data, &counts, &[Group::Clicks], &Run::silent()).unwrap();
    let extractor = Extractor::new(&fixed, &counts, Vec::new());
    // By the dense matrix of the walk; from d there is no link, so one goes anywhere.
    let walk = [
        [0.0, 0.0, 1.0, 0.25],
        [0.25, 0.0, 0.0, 0.25],
        [0.75, 1.0, 0.0, 0.25],
        [0.0, 0.0, 0.0, 0.25],
    ];
    let mut share = [0.25f64; 4];
    for _ in 0..1000 {
        let step = |row: [f64; 4]| row.iter().zip(share).map(|(p, s)| p * s).sum::<f64>();
        share = walk.map(|row| 0.85 * step(row) + 0.15 / 4.0);
    }
    for (doc, share) in (0..4).zip(share) {
        let found = f64::from(value(&extractor, &counts, "red", doc, "pagerank"));
        assert!((found - (4.0 * share).ln()).abs() < 1e-3, "{found} {share}");
    }
}

#[test]
fn a_pool_is_the_best_of_every_matcher_with_the_same_features() {
    let dir = tempfile::tempdir().unwrap();
    let (data, counts) = counts_of(dir.path(), &documents());
    let extractor = extractor(&data, &counts);
    let ties = crate::ranking::tie_rank(&counts.doc_ids);
    let pool = |text: &str, depth: usize, excluded: &[u32]| {
        let terms = counts.read_query(text);
        let question = FeatureQuery { terms: &terms, id: "", text };
        let (docs, values) = extractor.pool(&counts, &question, depth, &ties, excluded);
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&values), bits(&extractor.rows(&counts, &question, &docs)));
        docs
    };
    assert_eq!(pool("white house", 9, &[]), [0, 1]);
    assert_eq!(pool("white house", 9, &[0]), [1]);
    assert_eq!(pool("white garden", 1, &[]).len(), 1);
    assert!(pool("zebra", 9, &[]).is_empty());
}

#[test]
fn rows_are_the_same_bits_at_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    // Queries are asked 64 at a time.
    let data = many(&dir.path().join("d"), 200);
    let preparation = Preparation { positions: true, ..Preparation::default() };
    let counts = Counts::of(&data, &preparation, &Run::silent()).unwrap();
    let extractor = extractor(&data, &counts);
    let queries: Vec<u32> = (0..200).collect();
    same_at_any_thread_count(|| {
        let ask = |_: usize| QueryDocs::Best { depth: 9, excluded: &[] };
        let rows = extract(&extractor, &counts, &queries, ask, &Run::silent());
        let rows = rows.unwrap();
        assert!(rows.len() == 200 && rows.iter().map(|rows| rows.docs.len()).sum::<usize>() > 900);
        rows.iter().flat_map(|rows| rows.values.iter().map(|v| v.to_bits())).collect::<Vec<_>>()
    });
}

#[test]
fn candidates_are_text() {
    for text in ["judged", "top:5"] {
        assert_eq!(text.parse::<RowSelection>().unwrap().to_string(), text);
    }
    for text in ["", "all", "top", "top:0", "top:x", "judged:5"] {
        assert!(text.parse::<RowSelection>().is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Field by field and then joined, or all at once: pairs add up, and the shortest span is the
    /// shortest of any field.
    #[test]
    fn proximity_by_field_is_proximity_of_all(
        title in prop::collection::vec(0usize..6, 0..8),
        body in prop::collection::vec(0usize..6, 0..16),
        query in prop::collection::vec(0usize..6, 1..5),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let text = |words: &[usize]| words.iter().map(|&w| WORDS[w]).collect::<Vec<_>>().join(" ");
        let documents = [
            ("a", json!({ "title": text(&title), "body": text(&body) })),
            ("b", json!({ "title": WORDS.join(" "), "body": "white" })),
        ];
        let (data, counts) = counts_of(dir.path(), &documents);
        let extractor = extractor(&data, &counts);
        let query = text(&query);
        let sequence = counts.read_query(&query).sequence;
        let expected = proximity(counts.positions.as_ref().unwrap(), &sequence, 0, 8);
        let of = |name: &str| value(&extractor, &counts, &query, 0, name);
        if title.is_empty() && body.is_empty() {
            prop_assert!(of("ordered(all)").is_nan());
        } else {
            prop_assert_eq!(of("ordered(all)"), expected.ordered as f32);
            prop_assert_eq!(of("unordered(all)"), expected.unordered as f32);
            let span = expected.span.map(|span| span as f32);
            prop_assert_eq!(Some(of("span(all)")).filter(|span| !span.is_nan()), span);
        }
    }
}
