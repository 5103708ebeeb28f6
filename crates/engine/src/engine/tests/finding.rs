//! What is found, in which order, and why.

use super::served::Retrieval;
use super::*;

#[test]
fn scores_are_those_of_the_model() {
    let engines = in_every_way(&["bm25", "pls", "walk"]);
    for (engine, name) in
        engines.iter().flat_map(|engine| ["bm25", "pls", "walk"].map(|name| (engine, name)))
    {
        let model = Model::open(&made().join(name)).unwrap();
        for text in ["car insurance", "heart attack", "far sun", "cheap house"] {
            let found = engine.search(&ask(text, &[name])).unwrap();
            let query = model.read_query(text).unwrap();
            let expected: Vec<(String, f64)> = model
                .search(&query, 10)
                .into_iter()
                .filter(|hit| hit.score != 0.0)
                .map(|hit| (model.counts.doc_ids[hit.doc as usize].clone(), f64::from(hit.score)))
                .collect();
            let shown: Vec<(String, f64)> =
                found.hits.iter().map(|hit| (hit.id.clone(), hit.score)).collect();
            let shown: Vec<_> = shown.into_iter().filter(|(_, score)| *score != 0.0).collect();
            assert_eq!(shown, expected, "{name}: {text}");
            assert_eq!(found.models[0].name, name);
        }
    }
}

#[test]
fn every_document_is_scored_up_to_exact_below_and_not_above() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let building = building(made(), &["bm25", "pls"], &path);
    let exact_below = Some(DOCUMENTS.len() + 8);
    IndexBuilder { exact_below, ..building }.run(&Run::silent()).unwrap();
    let engine = Engine::open(&path, Settings::default()).unwrap();
    let exhaustive = || {
        let state = engine.state();
        [0, 1].map(|model| {
            matches!(engine.retrieval(&state, &state.models[model]), Retrieval::Exhaustive)
        })
    };
    // Of equal documents, an exact search takes those with the largest ids, and the text index those
    // that were added first.
    let equal = (0..8).map(|n| document(&format!("equal{n}"), "red planet")).collect();
    seen(&engine, engine.upsert(equal).unwrap());
    let request = SearchRequest { candidate_depth: Some(3), ..ask("planet", &["bm25"]) };
    let best = ["equal7", "equal6", "equal5"];
    assert_eq!(exhaustive(), [true; 2]);
    assert_eq!(ids(&engine.search(&request).unwrap()), best);
    seen(&engine, engine.upsert(vec![document("one more", "something else")]).unwrap());
    assert_eq!(exhaustive(), [false; 2]);
    assert_ne!(ids(&engine.search(&request).unwrap()), best);
    seen(&engine, engine.delete(&["one more".into()]).unwrap());
    assert_eq!(exhaustive(), [true; 2]);
    assert_eq!(ids(&engine.search(&request).unwrap()), best);
}

#[test]
fn pages_are_parts_of_one_order_and_explanations_add_up() {
    let engine = small();
    for method in [FusionMethod::ZScore, FusionMethod::MinMax, FusionMethod::Rrf] {
        let mut request = ask("car insurance far", &["bm25", "pls"]);
        request.fusion = Some(FusionSpec { method, ..FusionSpec::default() });
        request.explain = true;
        let whole = engine.search(&request).unwrap();
        assert!(whole.hits.len() > 4);
        for hit in &whole.hits {
            let why = hit.explanation.as_ref().unwrap();
            assert!((why.score - hit.score).abs() < 1e-12, "{why:?}");
            let adds: f64 = why.models.iter().map(|model| model.contribution).sum();
            assert!((adds - hit.score).abs() < 1e-12);
            for model in &why.models {
                assert_eq!(hit.scores[&model.model.name], model.score);
                for part in &model.parts {
                    let lines: f64 = part.contributions.iter().map(|line| line.value).sum();
                    assert!((lines + part.rest - part.score).abs() < 1e-9);
                }
            }
        }
        for offset in 0..whole.hits.len() {
            let page = SearchRequest { offset, k: Some(2), ..request.clone() };
            let page = engine.search(&page).unwrap();
            assert_eq!(page.hits[..], whole.hits[offset..(offset + 2).min(whole.hits.len())]);
        }
    }
}

#[test]
fn an_explanation_says_what_keeps_a_document_out() {
    let engine = small();
    let notes = |search: &SearchRequest, id: &str| {
        let request = ExplainRequest { search: search.clone(), id: id.into(), most: None };
        engine.explain(&request).unwrap().notes.join("; ")
    };
    let mut search = ask("car insurance", &["bm25"]);
    assert_eq!(notes(&search, "home"), "");
    search.candidate_depth = Some(1);
    let best = engine.search(&search).unwrap().hits[0].id.clone();
    assert_eq!(notes(&search, &best), "");
    let other = if best == "home" { "loan" } else { "home" };
    assert!(notes(&search, other).contains("not among the 1 candidates"));
    search.filter = Some(json!({"topic": "space"}));
    assert!(notes(&search, "home").contains("the filter"));
}

#[test]
fn filters_phrases_and_exclusions_hold_for_every_model() {
    let engines = in_every_way(&["bm25", "pls"]);
    let asked = [&["bm25"][..], &["pls"], &["bm25", "pls"]];
    for (engine, models) in engines.iter().flat_map(|engine| asked.map(|models| (engine, models))) {
        let mut request = ask("car insurance", models);
        request.filter = Some(json!({"topic": "money", "year": {"gte": 2000}}));
        let found = engine.search(&request).unwrap();
        assert!(!found.hits.is_empty());
        assert!(ids(&found).iter().all(|id| ["home", "loan"].contains(id)), "{found:?}");
        request.exclude_ids = vec!["home".into(), "nobody".into()];
        assert_eq!(ids(&engine.search(&request).unwrap()), ["loan"]);
        let found = engine.search(&ask("\"automobile policies\" insurance", models)).unwrap();
        assert_eq!(ids(&found), ["cars"], "{models:?}: {found:?}");
        let nothing = engine.search(&ask("\"houses of insurance\"", models)).unwrap();
        assert!(nothing.hits.is_empty() && !nothing.notes.is_empty());
    }
}

#[test]
fn bad_requests_say_what_is_wrong() {
    let engine = small();
    let good = ask("car", &["bm25", "pls"]);
    let weights = |weight: f64| {
        let weights = [("pls".to_owned(), weight)].into();
        Some(FusionSpec { weights, ..FusionSpec::default() })
    };
    for (wrong, says) in [
        (SearchRequest { query: "  ".into(), ..good.clone() }, "query"),
        (SearchRequest { query: "a".repeat(5000), ..good.clone() }, "4096"),
        (SearchRequest { k: Some(0), ..good.clone() }, "k is 0"),
        (SearchRequest { k: Some(1_000_000_000), ..good.clone() }, "10000"),
        (SearchRequest { offset: usize::MAX, ..good.clone() }, "offset"),
        (SearchRequest { candidate_depth: Some(0), ..good.clone() }, "candidate_depth"),
        (SearchRequest { models: vec!["nobody".into()], ..good.clone() }, "bm25, pls"),
        (SearchRequest { models: vec!["pls".into(), "pls".into()], ..good.clone() }, "twice"),
        (
            SearchRequest { fusion: weights(f64::NAN), ..good.clone() },
            "is NaN: expected a number from 0 to",
        ),
        (
            SearchRequest { fusion: weights(-1.0), ..good.clone() },
            "is -1: expected a number from 0 to",
        ),
        (
            SearchRequest { diversify: Some(DiversifySpec { lambda: 2.0 }), ..good.clone() },
            "from 0 to 1",
        ),
        (SearchRequest { filter: Some(json!({"year": {"above": 3}})), ..good.clone() }, "filter"),
    ] {
        let problem = engine.search(&wrong).unwrap_err();
        assert!(matches!(problem, Error::Invalid(_)), "{problem}");
        assert!(problem.to_string().contains(says), "{says}: {problem}");
    }
}
