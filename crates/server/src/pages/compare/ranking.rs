//! The ranking of a model for judged queries, as a run.

use std::collections::{HashMap, HashSet};

use liken::eval::trec::TrecRun;
use liken::matchers::Model;
use liken::ranking::{tie_rank, top_k};

use crate::pages::judged_queries::{DEPTH, JudgedQueries, JudgedQuery};

/// Ranks the documents that `model` was trained on for every query, with the scores and the order of
/// [`liken::eval::compare`]. Calls `report` with the number of queries done.
pub fn rank(model: &Model, judged: &JudgedQueries, report: &dyn Fn(usize)) -> TrecRun {
    let n_own = model.about.counts.documents.min(model.counts.n_docs());
    let own = &model.counts.doc_ids[..n_own];
    let named: HashSet<&str> = judged
        .queries
        .iter()
        .flat_map(|query| query.judged.iter().chain(&query.excluded))
        .map(String::as_str)
        .collect();
    let numbers: HashMap<&str, u32> = own
        .iter()
        .zip(0..)
        .map(|(id, number)| (id.as_str(), number))
        .filter(|(id, _)| named.contains(id))
        .collect();
    let all = |ids: &[String]| -> Vec<u32> {
        let mut found: Vec<u32> =
            ids.iter().filter_map(|id| numbers.get(id.as_str()).copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let ties = tie_rank(own);
    let mut scored: Vec<(&str, &str, f64)> = Vec::new();
    for (done, query) in judged.queries.iter().enumerate() {
        report(done);
        let hits = if judged.judged_only {
            let docs = all(&query.judged);
            let scores = model.scores_of(&read(model, query), &docs);
            docs.into_iter().zip(scores).collect::<Vec<(u32, f32)>>()
        } else {
            let scores = model.scores(&read(model, query));
            let hits = top_k(&scores[..n_own], DEPTH, &ties, &all(&query.excluded));
            hits.into_iter().map(|hit| (hit.doc, hit.score)).collect()
        };
        let rows = hits.into_iter().filter(|(_, score)| score.is_finite());
        scored.extend(
            rows.map(|(doc, score)| {
                (query.id.as_str(), own[doc as usize].as_str(), f64::from(score))
            }),
        );
    }
    TrecRun::new(model.about.name.clone(), scored)
}

/// The terms of the query, known from training or folded in.
fn read(model: &Model, query: &JudgedQuery) -> liken::features::QueryTerms {
    model.counts.read_query_of(&query.id, &query.text)
}
