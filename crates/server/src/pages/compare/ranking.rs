//! A model's answers to judged queries, as a run like that of any other engine.

use std::collections::{HashMap, HashSet};

use liken::eval::trec::TrecRun;
use liken::matchers::Model;
use liken::ranking::{tie_rank, top_k};

use super::judged_queries::{JudgedQueries, JudgedQuery};

/// Documents kept of each ranking: what TREC's runs have, and more than any usual measure sees.
pub const DEPTH: usize = 1000;

/// Ranks the documents that `model` was trained with for every question; `report` is told how many
/// are done. Scores and order are those of `liken compare`.
pub fn rank(model: &Model, questions: &JudgedQueries, report: &dyn Fn(usize)) -> TrecRun {
    let n_own = model.about.counts.documents.min(model.counts.n_docs());
    let own = &model.counts.doc_ids[..n_own];
    let named: HashSet<&str> = questions
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
    for (done, question) in questions.queries.iter().enumerate() {
        report(done);
        let hits = if questions.judged_only {
            let docs = all(&question.judged);
            let scores = model.scores_of(&read(model, question), &docs);
            docs.into_iter().zip(scores).collect::<Vec<(u32, f32)>>()
        } else {
            let scores = model.scores(&read(model, question));
            let hits = top_k(&scores[..n_own], DEPTH, &ties, &all(&question.excluded));
            hits.into_iter().map(|hit| (hit.doc, hit.score)).collect()
        };
        let rows = hits.into_iter().filter(|(_, score)| score.is_finite());
        scored.extend(rows.map(|(doc, score)| {
            (question.id.as_str(), own[doc as usize].as_str(), f64::from(score))
        }));
    }
    TrecRun::new(model.about.name.clone(), scored)
}

/// The question as the model reads it, in training or new.
fn read(model: &Model, question: &JudgedQuery) -> liken::features::QueryTerms {
    model.counts.read_query_of(&question.id, &question.text)
}
