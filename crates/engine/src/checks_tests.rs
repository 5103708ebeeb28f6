use std::collections::BTreeMap;

use serde_json::{Map, json};

use super::*;
use crate::store::LONGEST_ID;
use crate::types::DiversifySpec;

fn limits() -> Limits {
    Limits {
        query_bytes: 20,
        hits: 100,
        ids: 5,
        models: 2,
        explained: 3,
        near: 7,
        ..Limits::default()
    }
}

fn good() -> SearchRequest {
    SearchRequest { query: "heart".into(), ..SearchRequest::default() }
}

fn reason(checked: Checked) -> String {
    match checked.unwrap_err() {
        Error::Invalid(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn searches_are_held_to_their_limits() {
    let limits = limits();
    let check = |request: SearchRequest| search(&request, &limits);
    assert_eq!(check(good()), Ok(()));
    assert_eq!(check(SearchRequest { k: Some(100), ..good() }), Ok(()));
    assert_eq!(check(SearchRequest { k: Some(60), offset: 40, ..good() }), Ok(()));
    let weights = |weight: f64| {
        let weights = BTreeMap::from([("rmls".to_owned(), weight)]);
        Some(FusionSpec { weights, ..FusionSpec::default() })
    };
    let constant = Some(FusionSpec { rank_constant: Some(-1.0), ..FusionSpec::default() });
    let lambda = |lambda: f64| Some(DiversifySpec { lambda });
    let bad = [
        (SearchRequest { query: " \t".into(), ..good() }, "query is empty"),
        (SearchRequest { query: "x".repeat(21), ..good() }, "21 bytes long"),
        (SearchRequest { k: Some(0), ..good() }, "k is 0: expected a whole number from 1 to 100"),
        (SearchRequest { k: Some(1_000_000_000), ..good() }, "k is 1000000000"),
        (SearchRequest { k: Some(60), offset: 41, ..good() }, "offset 41 and k 60"),
        (SearchRequest { k: Some(4), explain: true, ..good() }, "k is 4: expected at most 3 hits"),
        (SearchRequest { offset: usize::MAX, ..good() }, "offset"),
        (SearchRequest { candidate_depth: Some(0), ..good() }, "candidate_depth is 0"),
        (SearchRequest { candidate_depth: Some(usize::MAX), ..good() }, "candidate_depth"),
        (SearchRequest { models: vec!["a".into(); 3], ..good() }, "3 models"),
        (SearchRequest { models: vec!["a".into(); 2], ..good() }, "named twice"),
        (SearchRequest { exclude_ids: vec!["a".into(); 6], ..good() }, "6 exclude_ids"),
        (SearchRequest { exclude_ids: vec![String::new()], ..good() }, "exclude_ids[0] is empty"),
        (SearchRequest { fusion: weights(f64::NAN), ..good() }, "fusion.weights.rmls is NaN"),
        (SearchRequest { fusion: weights(f64::INFINITY), ..good() }, "is inf"),
        (SearchRequest { fusion: weights(-0.5), ..good() }, "is -0.5"),
        (SearchRequest { fusion: constant, ..good() }, "rank_constant is -1"),
        (SearchRequest { diversify: lambda(f64::NAN), ..good() }, "lambda is NaN"),
        (SearchRequest { diversify: lambda(1.5), ..good() }, "lambda is 1.5"),
    ];
    for (request, expected) in bad {
        let reason = reason(check(request.clone()));
        assert!(reason.contains(expected), "{reason}");
        // How many hits are asked for does not matter where one is explained.
        let explained = ExplainRequest { search: request, id: "a".into(), most: None };
        let about_k = expected.contains("k ") || expected == "offset";
        assert_eq!(explain(&explained, &limits).is_ok(), about_k, "{expected}");
    }
}

#[test]
fn filters_compare_what_can_be_told_apart() {
    let limits = limits();
    let filter = |filter: Value| {
        search(&SearchRequest { filter: Some(filter), ..good() }, &limits)
            .map_err(|e| e.to_string())
    };
    assert_eq!(filter(json!({"n": {"lte": 9007199254740992u64}, "m": 1e300})), Ok(()));
    for number in [json!(9007199254740993u64), json!(-9007199254740993i64), json!(u64::MAX)] {
        let nested = json!({"or": [{"a": "b"}, {"n": [1, number]}]});
        assert!(filter(nested).unwrap_err().contains("as text"), "{number}");
    }
}

#[test]
fn judgments_can_stand_in_qrels() {
    let limits = limits();
    let good = Judgment { query: "q".into(), id: "a".into(), grade: Some(100), judge: None };
    assert_eq!(judgment(&good, &limits), Ok(()));
    assert_eq!(judgment(&Judgment { grade: None, ..good.clone() }, &limits), Ok(()));
    for (wrong, expected) in [
        (Judgment { grade: Some(101), ..good.clone() }, "from 0 to 100"),
        (Judgment { id: "a b".into(), ..good.clone() }, "white space"),
        (Judgment { id: "a\u{85}".into(), ..good.clone() }, "control character"),
        (
            Judgment { judge: Some("x".repeat(LONGEST_ID + 1)), ..good.clone() },
            "judge is 513 bytes",
        ),
        (Judgment { query: " ".into(), ..good.clone() }, "query is empty"),
    ] {
        let reason = reason(judgment(&wrong, &limits));
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn reranking_needs_something_to_rank() {
    let limits = limits();
    let request = RerankRequest { query: "q".into(), ..RerankRequest::default() };
    assert!(reason(rerank(&request, &limits)).contains("no ids and documents"));
    let ids = vec!["a".to_owned(); 3];
    let documents = vec![Map::new(); 3];
    let both = RerankRequest { ids: ids.clone(), documents, ..request.clone() };
    assert!(reason(rerank(&both, &limits)).contains("6 ids and documents"));
    let none = RerankRequest { ids: ids.clone(), k: Some(0), ..request.clone() };
    assert!(reason(rerank(&none, &limits)).contains("k is 0"));
    assert_eq!(rerank(&RerankRequest { ids, ..request }, &limits), Ok(()));
}

#[test]
fn similar_is_to_one_thing() {
    let limits = limits();
    let word = SimilarRequest { word: Some("heart".into()), ..SimilarRequest::default() };
    assert_eq!(similar(&word, &limits), Ok(()));
    assert!(reason(similar(&SimilarRequest::default(), &limits)).contains("0 of them"));
    let two = SimilarRequest { id: Some("a".into()), ..word.clone() };
    assert!(reason(similar(&two, &limits)).contains("2 of them"));
    for (k, expected) in [(0, "k is 0"), (8, "from 1 to 7")] {
        let wrong = SimilarRequest { k: Some(k), ..word.clone() };
        assert!(reason(similar(&wrong, &limits)).contains(expected));
    }
}

#[test]
fn embeddings_of_nothing_are_refused() {
    let limits = limits();
    assert!(reason(embed(&EmbedRequest::default(), &limits)).contains("at least one"));
    let of = |text: &str| EmbedRequest { queries: vec![text.into()], ..EmbedRequest::default() };
    assert_eq!(embed(&of("heart"), &limits), Ok(()));
    assert!(reason(embed(&of(""), &limits)).contains("queries[0] is empty"));
    assert!(reason(embed(&of(&"x".repeat(21)), &limits)).contains("queries[0] is 21 bytes"));
}

#[test]
fn events_say_what_happened() {
    let limits = limits();
    let (kind, query, id) = ("click".to_owned(), "q".to_owned(), Some("a".to_owned()));
    let click = Event { kind, query, id, ..Event::default() };
    assert_eq!(event(&click, &limits), Ok(()));
    let bad = [
        (Event { kind: "tap".into(), ..click.clone() }, "kind is \"tap\""),
        (Event { kind: "impression".into(), ..click.clone() }, "shown is empty"),
        (
            Event { kind: "impression".into(), shown: vec!["a".into()], ..click.clone() },
            "expected none in an impression",
        ),
        (Event { id: None, ..click.clone() }, "needs the id"),
        (Event { query: String::new(), ..click.clone() }, "query is empty"),
        (Event { rank: Some(0), ..click.clone() }, "counted from 1"),
        (Event { time: Some(f64::NAN), ..click.clone() }, "seconds since 1970"),
        (Event { time: Some(1.7e12), ..click.clone() }, "seconds since 1970"),
        (Event { session: Some("x".repeat(LONGEST_ID + 1)), ..click.clone() }, "session"),
        (Event { id: Some("x".repeat(LONGEST_ID + 1)), ..click }, "id is 513 bytes long"),
    ];
    for (wrong, expected) in bad {
        let reason = reason(event(&wrong, &limits));
        assert!(reason.contains(expected), "{reason}");
    }
}
