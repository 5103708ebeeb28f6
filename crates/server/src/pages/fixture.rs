//! Answers as an engine would give them, for tests of pages.

mod documents;
mod explained;

use std::collections::BTreeMap;

use super::judge::{JudgeView, QueryToJudge};
use super::pool::{JudgeParams, pooled};
use super::search_params::SearchParams;
use super::search_view::{ColumnView, ModelInfo, SearchView};
use crate::api::types::*;
use documents::document;
use explained::lexical_of;
pub use explained::{fused, latent, latent_of, lexical, poison, ranked};

/// Text that must be escaped wherever a page shows it.
pub const HOSTILE: &str = "<script>alert('x')</script>\"'><img src=x onerror=alert(1)>&amp;";

pub fn model(name: &str) -> ModelRef {
    ModelRef { name: name.into(), version: "3f9a1c2e".into() }
}

/// Fragments of a text with words marked.
pub fn fragments(text: &str, marked: &[&str]) -> Vec<Fragment> {
    let mut out: Vec<Fragment> = Vec::new();
    for word in text.split_inclusive(' ') {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is = marked.contains(&bare.as_str());
        match out.last_mut().filter(|last| last.marked == is && !is) {
            Some(last) => last.text.push_str(word),
            None => out.push(Fragment { text: word.into(), marked: is }),
        }
    }
    out
}

fn hit(rank: usize, n: usize, explanation: ExplainResponse) -> Hit {
    let (id, document) = document(n);
    let body = document["body"].as_str().unwrap_or_default();
    let mut highlights = BTreeMap::new();
    highlights.insert("body".to_owned(), fragments(body, &["heart", "attack", "aspirin"]));
    let scores = explanation.models.iter().map(|m| (m.model.name.clone(), m.score)).collect();
    Hit {
        rank,
        id,
        score: explanation.score,
        scores,
        document,
        highlights,
        explanation: Some(explanation),
        features: BTreeMap::new(),
    }
}

fn response(models: &[&str], hits: Vec<Hit>) -> SearchResponse {
    SearchResponse {
        query: "aspirin heart attack zzyzx".into(),
        unknown_words: vec!["zzyzx".into()],
        models: models.iter().map(|name| model(name)).collect(),
        ranker: None,
        fusion: None,
        candidate_depth: 200,
        candidates: 173,
        offset: 0,
        hits,
        notes: Vec::new(),
        took_ms: 2.4,
    }
}

pub fn models() -> Vec<ModelInfo> {
    vec![
        ModelInfo { name: "bm25".into(), lexical: true, from_clicks: false },
        ModelInfo { name: "rmls".into(), lexical: false, from_clicks: true },
    ]
}

fn column(name: &str, answer: SearchResponse, more: &[&str]) -> ColumnView {
    let mut first: Vec<String> = answer.hits.iter().map(|hit| hit.id.clone()).collect();
    first.extend(more.iter().map(|&id| id.to_owned()));
    ColumnView { name: name.into(), answer: Ok(answer), first }
}

/// A search of three columns.
pub fn view() -> SearchView {
    let number = |list: &[usize], of: &dyn Fn(usize) -> ExplainResponse| -> Vec<Hit> {
        list.iter().enumerate().map(|(i, &n)| hit(i + 1, n, of(n))).collect()
    };
    let both = |n: usize| fused(&lexical_of(n), &latent_of(n));
    let columns = vec![
        column(
            "bm25",
            response(&["bm25"], number(&[1, 3, 5], &lexical_of)),
            &["MED-9", "x1", "x2"],
        ),
        column("rmls", response(&["rmls"], number(&[0, 1, 2, 4, 5, 6, 7], &latent_of)), &["x3"]),
        column(
            "bm25+rmls",
            response(&["bm25", "rmls"], number(&[1, 0, 3, 5, 4], &both)),
            &["MED-77"],
        ),
    ];
    SearchView {
        ask: SearchParams {
            query: "aspirin heart attack zzyzx".into(),
            columns: vec!["bm25".into(), "rmls".into(), "bm25+rmls".into()],
            ..SearchParams::default()
        },
        models: models(),
        columns,
        examples: Vec::new(),
        documents: 3633,
        rankers: vec!["mart".into()],
    }
}

/// The page before the first query.
pub fn welcome() -> SearchView {
    let mut view = view();
    view.ask.query.clear();
    view.columns.clear();
    view.examples = [
        "heart attack",
        "vitamin d deficiency",
        "how to lower cholesterol",
        "omega 3",
        "is coffee good for you",
    ]
    .map(str::to_owned)
    .to_vec();
    view
}

/// The search with hostile text wherever a user or a document can put text.
pub fn hostile() -> SearchView {
    let mut view = view();
    view.ask.query = HOSTILE.into();
    view.ask.filter = HOSTILE.into();
    view.ask.ranker = HOSTILE.into();
    view.examples = vec![HOSTILE.into()];
    view.models[0].name = HOSTILE.into();
    view.columns[0].name = HOSTILE.into();
    view.ask.columns[0] = HOSTILE.into();
    for column in &mut view.columns {
        if let Ok(answer) = &mut column.answer {
            answer.unknown_words = vec![HOSTILE.into()];
            answer.notes = vec![HOSTILE.into()];
            for hit in &mut answer.hits {
                hit.id = HOSTILE.into();
                for (_, value) in hit.document.iter_mut() {
                    *value = HOSTILE.into();
                }
                hit.highlights
                    .insert("body".into(), vec![Fragment { text: HOSTILE.into(), marked: true }]);
                if let Some(explanation) = &mut hit.explanation {
                    poison(explanation);
                }
            }
        }
    }
    view
}

/// A query with some grades.
pub fn judging() -> JudgeView {
    let search = view();
    let found: Vec<Hit> = search.columns.into_iter().flat_map(|c| c.answer.unwrap().hits).collect();
    let grade = |id: &str, grade: u8, judge: &str| Judgment {
        query: search.ask.query.clone(),
        id: id.into(),
        grade: Some(grade),
        judge: Some(judge.into()),
    };
    let grades =
        [grade("MED-118", 3, "Ann"), grade("MED-77", 1, "Ann"), grade("MED-118", 2, "Bob")];
    let query = search.ask.query.clone();
    let offered = ["heart attack", "omega 3", "is coffee good for you"]
        .iter()
        .enumerate()
        .map(|(i, q)| QueryToJudge { query: q.to_string(), judged: if i == 0 { 12 } else { 0 } })
        .collect();
    JudgeView {
        pool: pooled(&query, found, &grades.iter().collect::<Vec<_>>(), "Ann"),
        ask: JudgeParams { query, judge: "Ann".into(), ..JudgeParams::default() },
        failed: Vec::new(),
        offered,
        total: 3,
    }
}
