//! Answers as an engine would give them, for tests of pages.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::judge::{JudgeView, Offered};
use super::pool::{JudgeAsk, pooled};
use super::search::{ColumnView, ModelInfo, SearchView};
use crate::api::types::*;

/// What must never come out as markup.
pub const HOSTILE: &str = "<script>alert('x')</script>\"'><img src=x onerror=alert(1)>&amp;";

pub fn model(name: &str) -> ModelRef {
    ModelRef { name: name.into(), version: "3f9a1c2e".into() }
}

fn part(method: &str, lexical: bool, lines: &[(&str, &str, f64)], rest: f64) -> PartExplanation {
    let lines: Vec<Contribution> = lines
        .iter()
        .map(|&(query, doc, value)| Contribution { query: query.into(), doc: doc.into(), value })
        .collect();
    let score = lines.iter().map(|line| line.value).sum::<f64>() + rest;
    let n_rest = if rest == 0.0 { 0 } else { 118 };
    PartExplanation {
        method: method.into(),
        lexical,
        weight: 1.0,
        score,
        adds: score,
        lines,
        n_rest,
        rest,
    }
}

fn of_parts(id: &str, name: &str, parts: Vec<PartExplanation>, shared: &[&str]) -> ExplainResponse {
    let score: f64 = parts.iter().map(|part| part.adds).sum();
    let how = "its score as it is".into();
    ExplainResponse {
        id: id.into(),
        score,
        models: vec![ModelExplanation { model: model(name), score, adds: score, how, parts }],
        ranker: None,
        shared_words: shared.iter().map(|&word| word.to_owned()).collect(),
    }
}

/// The explanation of a learnt model.
pub fn latent(id: &str, lines: &[(&str, &str, f64)], shared: &[&str]) -> ExplainResponse {
    let rest = if lines.is_empty() { 0.0 } else { 0.0625 };
    of_parts(id, "rmls", vec![part("rmls", false, lines, rest)], shared)
}

/// The explanation of a model that counts words.
pub fn lexical(id: &str, lines: &[(&str, f64)], shared: &[&str]) -> ExplainResponse {
    let lines: Vec<(&str, &str, f64)> = lines.iter().map(|&(w, v)| (w, w, v)).collect();
    of_parts(id, "bm25", vec![part("bm25", true, &lines, 0.0)], shared)
}

/// Two models fused by standardised scores.
pub fn fused(a: &ExplainResponse, b: &ExplainResponse) -> ExplainResponse {
    let mut models: Vec<ModelExplanation> = Vec::new();
    for (answer, weight, mean, deviation) in [(a, 1.0, 4.25, 2.5), (b, 1.0, 0.5, 0.75)] {
        for own in &answer.models {
            let mut own = own.clone();
            own.adds = weight * (own.score - mean) / deviation;
            own.how = format!("{weight} × (score − mean {mean}) / deviation {deviation}");
            models.push(own);
        }
    }
    let mut shared = a.shared_words.clone();
    shared.extend(b.shared_words.iter().filter(|w| !a.shared_words.contains(w)).cloned());
    ExplainResponse {
        id: a.id.clone(),
        score: models.iter().map(|m| m.adds).sum(),
        models,
        ranker: None,
        shared_words: shared,
    }
}

/// A ranker on top.
pub fn ranked(mut answer: ExplainResponse) -> ExplainResponse {
    let features: Vec<FeatureContribution> = (0..20)
        .map(|i| FeatureContribution {
            name: ["bm25", "rmls", "clicks", "title_length"]
                .get(i)
                .map_or_else(|| format!("feature_{i}"), |n| n.to_string()),
            value: if i == 3 { None } else { Some(1.5 * i as f32) },
            adds: (if i % 3 == 1 { -1.0 } else { 1.0 }) * 2.0 / (i + 1) as f64,
        })
        .collect();
    let score = 0.25 + features.iter().map(|f| f.adds).sum::<f64>();
    answer.score = score;
    answer.ranker = Some(RankerExplanation { ranker: "mart".into(), score, base: 0.25, features });
    answer
}

const DOCUMENTS: [(&str, &str, &str); 8] = [
    (
        "MED-118",
        "Cardiac infarction after long-term exposure to air pollution",
        "Background: particulate matter has been linked with cardiac events. We followed 12,000 adults over ten years and recorded every myocardial infarction and every stroke.",
    ),
    (
        "MED-2301",
        "Aspirin and the prevention of heart attack",
        "Low-dose aspirin halves the risk of a first heart attack in men over fifty, but the benefit must be weighed against bleeding.",
    ),
    (
        "MED-77",
        "Diet, cholesterol and coronary disease",
        "Plant-based diets lower cholesterol. In this trial coronary lesions became smaller in most of those who kept to the diet.",
    ),
    (
        "https://example.org/a?b=c&d=e#f",
        "What to do in a heart attack",
        "Call for help at once. Chew an aspirin unless you are allergic to it; heart attack symptoms include pain in chest, arm or jaw.",
    ),
    (
        "MED-9",
        "Blood thinners compared",
        "Anticoagulants and antiplatelet drugs prevent clots in different ways.",
    ),
    (
        "MED-5012",
        "Panic attack or heart trouble?",
        "The symptoms of a panic attack resemble those of the heart; a simple test tells them apart.",
    ),
    (
        "MED-44",
        "Exercise after myocardial infarction",
        "Supervised exercise improves survival. Patients started walking four weeks after the event.",
    ),
    (
        "MED-1000",
        "Stroke: first aid",
        "Time is brain: a short guide to recognising a stroke and to acting on it.",
    ),
];

fn document(n: usize) -> (String, Map<String, Value>) {
    let (id, title, body) = DOCUMENTS[n];
    let fields = json!({"title": title, "body": body, "url": if n.is_multiple_of(2) { "https://example.org/" } else { "javascript:alert(1)" }});
    (id.into(), fields.as_object().cloned().unwrap_or_default())
}

/// Pieces of a text with words marked.
pub fn pieces(text: &str, marked: &[&str]) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for word in text.split_inclusive(' ') {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is = marked.contains(&bare.as_str());
        match out.last_mut().filter(|last| last.marked == is && !is) {
            Some(last) => last.text.push_str(word),
            None => out.push(Piece { text: word.into(), marked: is }),
        }
    }
    out
}

fn hit(rank: usize, n: usize, explanation: ExplainResponse) -> Hit {
    let (id, document) = document(n);
    let body = document["body"].as_str().unwrap_or_default();
    let mut highlights = BTreeMap::new();
    highlights.insert("body".to_owned(), pieces(body, &["heart", "attack", "aspirin"]));
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

/// Why document `n` has its score under the learnt model.
pub fn latent_of(n: usize) -> ExplainResponse {
    let id = DOCUMENTS[n].0;
    match n {
        0 | 6 => latent(
            id,
            &[
                ("heart", "cardiac", 0.84),
                ("attack", "infarction", 0.62),
                ("heart", "myocardial", 0.58),
                ("aspirin", "stroke", 0.21),
                ("attack", "stroke", 0.18),
                ("heart", "pollution", -0.12),
                ("aspirin", "event", 0.09),
                ("aspirin", "adult", -0.04),
                ("heart", "stroke", 0.31),
                ("attack", "risk", 0.07),
                ("attack", "exposure", 0.02),
                ("aspirin", "clicked for “prevent heart attack”", 0.44),
            ],
            &[],
        ),
        2 => latent(
            id,
            &[
                ("heart", "coronary", 0.71),
                ("heart", "cholesterol", 0.52),
                ("aspirin", "cholesterol", 0.13),
            ],
            &[],
        ),
        4 => latent(id, &[("aspirin", "anticoagulant", 0.66), ("aspirin", "clot", 0.51)], &[]),
        7 => latent(id, &[("attack", "stroke", 0.41), ("aspirin", "stroke", 0.2)], &[]),
        _ => latent(
            id,
            &[
                ("heart", "heart", 0.9 - 0.1 * n as f64),
                ("attack", "attack", 0.5),
                ("aspirin", "pain", 0.12),
            ],
            &["heart", "attack"],
        ),
    }
}

fn lexical_of(n: usize) -> ExplainResponse {
    let id = DOCUMENTS[n].0;
    match n {
        1 => lexical(
            id,
            &[("aspirin", 5.1), ("attack", 2.75), ("heart", 2.2)],
            &["aspirin", "attack", "heart"],
        ),
        3 => lexical(
            id,
            &[("aspirin", 4.4), ("attack", 2.9), ("heart", 2.1)],
            &["aspirin", "attack", "heart"],
        ),
        5 => lexical(id, &[("attack", 3.1), ("heart", 1.9)], &["attack", "heart"]),
        _ => lexical(id, &[], &[]),
    }
}

pub fn models() -> Vec<ModelInfo> {
    vec![
        ModelInfo { name: "bm25".into(), method: "bm25".into(), lexical: true, from_clicks: false },
        ModelInfo { name: "rmls".into(), method: "rmls".into(), lexical: false, from_clicks: true },
    ]
}

fn column(name: &str, answer: SearchResponse, more: &[&str]) -> ColumnView {
    let models = name.split('+').map(str::to_owned).collect();
    let mut first: Vec<String> = answer.hits.iter().map(|hit| hit.id.clone()).collect();
    first.extend(more.iter().map(|&id| id.to_owned()));
    ColumnView { name: name.into(), models, answer: Ok(answer), first }
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
        ask: Ask {
            query: "aspirin heart attack zzyzx".into(),
            columns: vec!["bm25".into(), "rmls".into(), "bm25+rmls".into()],
            ..Ask::default()
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
                    .insert("body".into(), vec![Piece { text: HOSTILE.into(), marked: true }]);
                if let Some(explanation) = &mut hit.explanation {
                    poison(explanation);
                }
            }
        }
    }
    view
}

/// Hostile text wherever an explanation has text.
pub fn poison(explanation: &mut ExplainResponse) {
    explanation.shared_words.push(HOSTILE.into());
    for model in &mut explanation.models {
        model.model.name = HOSTILE.into();
        model.how = HOSTILE.into();
        for part in &mut model.parts {
            part.method = HOSTILE.into();
            for line in &mut part.lines {
                line.query = HOSTILE.into();
                line.doc.push_str(HOSTILE);
            }
        }
    }
    if let Some(ranker) = &mut explanation.ranker {
        ranker.ranker = HOSTILE.into();
        for feature in &mut ranker.features {
            feature.name.push_str(HOSTILE);
        }
    }
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
        .map(|(i, q)| Offered { query: q.to_string(), judged: if i == 0 { 12 } else { 0 } })
        .collect();
    JudgeView {
        pool: pooled(&query, found, &grades.iter().collect::<Vec<_>>(), "Ann"),
        ask: JudgeAsk { query, judge: "Ann".into(), ..JudgeAsk::default() },
        models: 2,
        failed: Vec::new(),
        offered,
        total: 3,
    }
}
