//! Several models, fused and made different: every score and every order computed by hand from
//! what each model alone says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::near::{cosine, embeddings};
use crate::world::{DOCUMENTS, QUERIES, Service, texts};

const MODELS: [&str; 2] = ["bm25", "pls"];

/// By id what every model says, in the order of [`MODELS`].
type Scores = BTreeMap<String, [f64; 2]>;

/// Every candidate of a search, best first: id and score; and what the models say of them.
fn search(service: &Service, more: &Value) -> (Vec<(String, f64)>, Scores) {
    let mut request = json!({ "models": MODELS, "k": 1000, "candidate_depth": 1000 });
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    let found = service.post("/search", &request);
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(found["candidates"], hits.len());
    let models = request["models"].as_array().unwrap();
    let (mut order, mut scores) = (Vec::new(), Scores::new());
    for (at, hit) in hits.iter().enumerate() {
        assert_eq!(hit["rank"], at + 1);
        let id = hit["id"].as_str().unwrap().to_owned();
        order.push((id.clone(), hit["score"].as_f64().unwrap()));
        if models.len() == MODELS.len() {
            scores.insert(id, MODELS.map(|model| hit["scores"][model].as_f64().unwrap()));
        }
    }
    (order, scores)
}

fn ids(order: &[(String, f64)]) -> Vec<&str> {
    order.iter().map(|(id, _)| id.as_str()).collect()
}

/// The best first; of equal ones the larger id, as in trec_eval.
fn sorted(mut order: Vec<(String, f64)>) -> Vec<(String, f64)> {
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
    order
}

/// (score − mean) / standard deviation over the candidates, weighed and added up.
fn z_score(scores: &Scores, weights: [f64; 2]) -> Vec<(String, f64)> {
    let n = scores.len() as f64;
    let column = |m: usize| scores.values().map(move |scores| scores[m]);
    let scale = [0, 1].map(|m| {
        let mean = column(m).sum::<f64>() / n;
        (mean, (column(m).map(|score| (score - mean).powi(2)).sum::<f64>() / n).sqrt())
    });
    let fused = |scores: &[f64; 2]| -> f64 {
        (0..2).map(|m| weights[m] * (scores[m] - scale[m].0) / scale[m].1).sum()
    };
    sorted(scores.iter().map(|(id, scores)| (id.clone(), fused(scores))).collect())
}

/// (score − least) / (most − least) over the candidates, weighed and added up.
fn min_max(scores: &Scores, weights: [f64; 2]) -> Vec<(String, f64)> {
    let column = |m: usize| scores.values().map(move |scores| scores[m]);
    let scale = [0, 1].map(|m| {
        let least = column(m).fold(f64::INFINITY, f64::min);
        (least, column(m).fold(f64::NEG_INFINITY, f64::max) - least)
    });
    let fused = |scores: &[f64; 2]| -> f64 {
        (0..2).map(|m| weights[m] * (scores[m] - scale[m].0) / scale[m].1).sum()
    };
    sorted(scores.iter().map(|(id, scores)| (id.clone(), fused(scores))).collect())
}

/// 1 / (constant + rank), weighed and added up. Equal scores share the best of their ranks; a
/// document without a word of the query has no rank in bm25.
fn rrf(scores: &Scores, weights: [f64; 2], constant: f64) -> Vec<(String, f64)> {
    let adds = |m: usize, score: f64| {
        if m == 0 && score == 0.0 {
            return 0.0;
        }
        let better = scores.values().filter(|other| other[m] > score).count();
        weights[m] / (constant + 1.0 + better as f64)
    };
    let fused = |scores: &[f64; 2]| adds(0, scores[0]) + adds(1, scores[1]);
    sorted(scores.iter().map(|(id, scores)| (id.clone(), fused(scores))).collect())
}

#[track_caller]
fn same(found: &[(String, f64)], expected: &[(String, f64)], named: &str) {
    assert_eq!(found.len(), expected.len(), "{named}");
    for (at, ((id, score), (expected_id, expected))) in found.iter().zip(expected).enumerate() {
        assert!((score - expected).abs() < 1e-9, "{named} rank {at}: {id} {score} {expected}");
        assert_eq!(id, expected_id, "{named} rank {at}: {score} {expected}");
    }
}

#[test]
fn weights_change_scores_and_order_as_computed_by_hand() {
    let service = Service::start();
    let mut moved = [0; 3];
    for query in QUERIES {
        let (_, scores) = search(&service, &json!({ "query": query }));
        assert_eq!(scores.len(), DOCUMENTS, "all of them are candidates of pls");
        for weights in [[1.0, 1.0], [3.0, 0.5], [0.2, 2.0], [0.0, 1.0]] {
            let by_hand = |method: usize, weights: [f64; 2]| match method {
                0 => z_score(&scores, weights),
                1 => min_max(&scores, weights),
                _ => rrf(&scores, weights, 60.0),
            };
            for (at, method) in ["z_score", "min_max", "rrf"].into_iter().enumerate() {
                let fusion = json!({ "method": method,
                    "weights": { "bm25": weights[0], "pls": weights[1] } });
                let (found, _) = search(&service, &json!({ "query": query, "fusion": fusion }));
                let expected = by_hand(at, weights);
                same(&found, &expected, &format!("{query} {method} {weights:?}"));
                moved[at] += usize::from(ids(&expected) != ids(&by_hand(at, [1.0, 1.0])));
            }
        }
        // Standardised scores of equal weight, unless somebody says otherwise.
        let (found, _) = search(&service, &json!({ "query": query }));
        same(&found, &z_score(&scores, [1.0, 1.0]), query);
        // A model that is not named counts once.
        let fusion = json!({ "weights": { "pls": 2.5 } });
        let (found, _) = search(&service, &json!({ "query": query, "fusion": fusion }));
        same(&found, &z_score(&scores, [1.0, 2.5]), query);
    }
    assert!(moved.iter().all(|&moved| moved > QUERIES.len()), "weights matter: {moved:?}");
}

#[test]
fn the_rank_constant_changes_scores_and_order_as_computed_by_hand() {
    let service = Service::start();
    let mut moved = 0;
    for query in QUERIES {
        let (_, scores) = search(&service, &json!({ "query": query }));
        let usual = rrf(&scores, [1.0, 1.0], 60.0);
        let (found, _) =
            search(&service, &json!({ "query": query, "fusion": { "method": "rrf" } }));
        same(&found, &usual, query);
        for constant in [0.0, 1.0, 10.0, 1000.0] {
            let fusion = json!({ "method": "rrf", "rank_constant": constant });
            let (found, _) = search(&service, &json!({ "query": query, "fusion": fusion }));
            let expected = rrf(&scores, [1.0, 1.0], constant);
            same(&found, &expected, &format!("{query} {constant}"));
            moved += usize::from(ids(&expected) != ids(&usual));
        }
    }
    assert!(moved > QUERIES.len(), "the constant matters: {moved}");
}

/// Maximal marginal relevance, everything anew at every step.
fn mmr(order: &[(String, f64)], embeddings: &BTreeMap<&str, &[f64]>, lambda: f64) -> Vec<String> {
    let least = order.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    let most = order.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
    let mut rest = order.to_vec();
    let mut chosen: Vec<String> = Vec::new();
    while !rest.is_empty() {
        let worth = |(id, score): &(String, f64)| {
            let similar =
                chosen.iter().map(|other| cosine(embeddings[id.as_str()], embeddings[&other[..]]));
            let similar = similar.reduce(f64::max).unwrap_or(0.0);
            lambda * (score - least) / (most - least) - (1.0 - lambda) * similar
        };
        // The first of the best.
        let mut best = 0;
        for at in 1..rest.len() {
            if worth(&rest[at]) > worth(&rest[best]) + 1e-7 {
                best = at;
            }
        }
        chosen.push(rest.remove(best).0);
    }
    chosen
}

#[test]
fn variety_changes_the_order_as_computed_by_hand() {
    let service = Service::start();
    let all: Vec<String> = (0..DOCUMENTS).map(|no| format!("d{no:02}")).collect();
    let embedded = service.post("/embed", &json!({ "ids": all }));
    let embeddings = embeddings(&embedded["ids"]);
    let embeddings: BTreeMap<&str, &[f64]> =
        all.iter().map(String::as_str).zip(embeddings.iter().map(Vec::as_slice)).collect();
    for (query, models) in
        QUERIES.into_iter().flat_map(|query| [&["pls"][..], &MODELS].map(|models| (query, models)))
    {
        let ask = |lambda: f64| json!({ "query": query, "models": models, "diversify": { "lambda": lambda } });
        let (plain, _) = search(&service, &json!({ "query": query, "models": models }));
        assert_eq!(search(&service, &ask(1.0)).0, plain, "all relevance");
        for lambda in [0.2, 0.5, 0.8] {
            let (found, _) = search(&service, &ask(lambda));
            let expected = mmr(&plain, &embeddings, lambda);
            assert_eq!(ids(&found), expected, "{query} {models:?} {lambda}");
            assert_ne!(ids(&found), ids(&plain), "{query} {models:?} {lambda}");
            assert_eq!(sorted(found), sorted(plain.clone()), "scores stay what they are");
            // A page is a part of that order.
            let mut page = ask(lambda);
            (page["k"], page["offset"], page["candidate_depth"]) =
                (3.into(), 2.into(), 1000.into());
            let page = service.post("/search", &page);
            assert_eq!(texts(&page["hits"], "id"), expected[2..5]);
        }
    }
}

#[test]
fn above_the_exact_limit_all_models_score_the_candidates_of_all() {
    let [exact, lists] = [None, Some(10)].map(Service::with);
    let neighbours = |service: &Service| {
        service.send("GET", "/models", None, None).json()[1]["neighbours"].clone()
    };
    assert_eq!(neighbours(&exact), "exact");
    assert_ne!(neighbours(&lists), "exact");
    let (mut alone, mut differ) = (0, 0);
    for query in QUERIES {
        let (_, truth) = search(&exact, &json!({ "query": query }));
        for depth in [2, 5, 9] {
            let ask = |models: &[&str]| json!({ "query": query, "models": models, "candidate_depth": depth });
            let mut candidates = BTreeSet::new();
            for (m, model) in MODELS.into_iter().enumerate() {
                let (proposed, _) = search(&lists, &ask(&[model]));
                assert!((1..=depth).contains(&proposed.len()), "{query} {model}: {proposed:?}");
                for (id, score) in &proposed {
                    assert!((score - truth[id][m]).abs() < 1e-9, "{query} {model} {id}");
                }
                candidates.extend(proposed.into_iter().map(|(id, _)| id));
            }
            alone += usize::from(candidates.len() > depth);
            let of = |id: &String| (id.clone(), truth[id]);
            let candidates: Scores = candidates.iter().map(of).collect();
            let expected = z_score(&candidates, [1.0, 1.0]);
            let (found, scores) = search(&lists, &ask(&MODELS));
            let named = format!("{query} {depth}");
            same(&found, &expected, &named);
            for (id, scores) in &scores {
                assert!((0..2).all(|m| (scores[m] - truth[id][m]).abs() < 1e-9), "{named} {id}");
            }
            let ask = |fusion: Value| json!({ "query": query, "candidate_depth": depth, "fusion": fusion });
            let weights = json!({ "method": "min_max", "weights": { "bm25": 0.3 } });
            let (found, _) = search(&lists, &ask(weights));
            same(&found, &min_max(&candidates, [0.3, 1.0]), &named);
            let ranks = json!({ "method": "rrf", "rank_constant": 3 });
            let (found, _) = search(&lists, &ask(ranks));
            same(&found, &rrf(&candidates, [1.0, 1.0], 3.0), &named);
            // Over all documents the same ones would have other scores.
            let whole: BTreeMap<String, f64> = z_score(&truth, [1.0, 1.0]).into_iter().collect();
            differ += usize::from(expected.iter().any(|(id, s)| (whole[id] - s).abs() > 0.1));
        }
    }
    assert!(alone > 6, "some candidates are of one model alone: {alone}");
    assert!(differ > 6, "{differ}");
}
