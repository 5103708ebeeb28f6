//! Validation of requests: search, explain, re-rank, embed, similar, events and judgments. All that does
//! not depend on the index is checked here, and nowhere else. Names of models and rankers and the weights
//! of models are resolved against the index (`engine/resolve.rs`, `rankers.rs`), ids where they are
//! looked up (`rerank.rs`), filters where they are parsed (`text/filter.rs`). An error names the field,
//! what was expected and what came.

use serde_json::Value;

use crate::limits::{HITS, Limits};
use crate::store::{
    IMPRESSION, fault_of_event, fault_of_id, fault_of_ids, fault_of_judgment, fault_of_query,
};
use crate::types::{
    EmbedRequest, Event, ExplainRequest, FusionSpec, Judgment, RerankRequest, SearchRequest,
    SimilarRequest,
};
use crate::{Error, Result};

type Checked = Result<()>;

fn bad(message: String) -> Checked {
    Err(Error::Invalid(message))
}

fn none(fault: Option<String>) -> Checked {
    fault.map_or(Ok(()), bad)
}

/// All of a search but the number of hits.
fn query_and_options(request: &SearchRequest, limits: &Limits) -> Checked {
    query("query", &request.query, limits)?;
    models(&request.models, limits)?;
    fusion(request.fusion.as_ref(), limits)?;
    if let Some(diversify) = &request.diversify {
        lambda("diversify.lambda", diversify.lambda)?;
    }
    if let Some(depth) = request.candidate_depth {
        number("candidate_depth", depth, limits.candidate_depth)?;
    }
    request.filter.as_ref().map_or(Ok(()), numbers)?;
    ids("exclude_ids", &request.exclude_ids, limits.ids)?;
    at_most(request.fields.as_ref().map_or(0, Vec::len), "fields", limits.ids)
}

/// Checks a search.
pub fn search(request: &SearchRequest, limits: &Limits) -> Checked {
    query_and_options(request, limits)?;
    let k = request.k.unwrap_or(HITS);
    number("k", k, limits.hits)?;
    if request.explain && k > limits.explained {
        return bad(format!(
            "k is {k}: expected at most {} hits with explanations; any hit can be explained by itself",
            limits.explained
        ));
    }
    offset(request.offset, k, limits)
}

/// Checks the hits of a result page: `k` of them after the first `offset`.
pub fn offset(offset: usize, k: usize, limits: &Limits) -> Checked {
    if offset.saturating_add(k) <= limits.hits {
        return Ok(());
    }
    bad(format!(
        "offset {offset} and k {k} are together above {}: expected less; narrow the search with a filter",
        limits.hits
    ))
}

/// Checks λ, the weight of relevance against novelty.
pub fn lambda(field: &str, lambda: f64) -> Checked {
    if (0.0..=1.0).contains(&lambda) {
        return Ok(());
    }
    bad(format!("{field} is {lambda}: expected a number from 0 to 1"))
}

/// Checks a request to explain a score.
pub fn explain(request: &ExplainRequest, limits: &Limits) -> Checked {
    query_and_options(&request.search, limits)?;
    id("id", &request.id)?;
    request.most.map_or(Ok(()), |most| number("most", most, limits.hits))
}

/// Checks a request to re-rank given documents.
pub fn rerank(request: &RerankRequest, limits: &Limits) -> Checked {
    query("query", &request.query, limits)?;
    models(&request.models, limits)?;
    fusion(request.fusion.as_ref(), limits)?;
    ids("ids", &request.ids, limits.ids)?;
    total(request.ids.len() + request.documents.len(), "ids and documents", limits)?;
    request.k.map_or(Ok(()), |k| number("k", k, limits.ids))
}

/// Checks a request for embeddings.
pub fn embed(request: &EmbedRequest, limits: &Limits) -> Checked {
    for (at, text) in request.queries.iter().enumerate() {
        query(&format!("queries[{at}]"), text, limits)?;
    }
    ids("ids", &request.ids, limits.ids)?;
    let n = request.queries.len() + request.ids.len() + request.documents.len();
    total(n, "queries, documents and ids", limits)
}

/// Checks a request for nearest neighbours.
pub fn similar(request: &SimilarRequest, limits: &Limits) -> Checked {
    let given = [&request.query, &request.id, &request.word];
    let n = given.iter().filter(|given| given.is_some()).count();
    if n != 1 {
        return bad(format!("expected exactly one of query, id and word, found {n} of them"));
    }
    if let Some(text) = &request.query {
        query("query", text, limits)?;
    }
    if let Some(text) = &request.id {
        id("id", text)?;
    }
    if let Some(text) = &request.word {
        query("word", text, limits)?;
    }
    request.k.map_or(Ok(()), |k| number("k", k, limits.near))
}

/// Checks a click or an impression.
pub fn event(event: &Event, limits: &Limits) -> Checked {
    query("query", &event.query, limits)?;
    if event.kind == IMPRESSION && event.shown.is_empty() {
        return bad("shown is empty: expected the documents of the impression".into());
    }
    none(fault_of_event(event))
}

/// Checks a grade.
pub fn judgment(judgment: &Judgment, limits: &Limits) -> Checked {
    query("query", &judgment.query, limits)?;
    none(fault_of_judgment(judgment))
}

/// Numbers of a filter are compared like those of documents: with 53 bits.
fn numbers(filter: &Value) -> Checked {
    const LARGEST: u64 = 1 << 53;
    match filter {
        Value::Number(number) => {
            let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            match whole {
                Some(whole) if whole > LARGEST => bad(format!(
                    "filter: {number} is too large to be exact: expected whole numbers up to \
                     {LARGEST}; store longer ones as text"
                )),
                _ => Ok(()),
            }
        }
        Value::Array(values) => values.iter().try_for_each(numbers),
        Value::Object(fields) => fields.values().try_for_each(numbers),
        _ => Ok(()),
    }
}

fn query(field: &str, text: &str, limits: &Limits) -> Checked {
    none(fault_of_query(field, text, limits.query_bytes))
}

/// A count from 1 to `most`.
pub fn number(field: &str, value: usize, most: usize) -> Checked {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    bad(format!("{field} is {value}: expected a whole number from 1 to {most}"))
}

pub(crate) fn models(models: &[String], limits: &Limits) -> Checked {
    at_most(models.len(), "models", limits.models)?;
    match models.iter().enumerate().find(|(at, name)| models[..*at].contains(name)) {
        Some((_, name)) => bad(format!("models: {name:?} is named twice")),
        None => Ok(()),
    }
}

fn fusion(fusion: Option<&FusionSpec>, limits: &Limits) -> Checked {
    let Some(fusion) = fusion else { return Ok(()) };
    at_most(fusion.weights.len(), "weights", limits.models)?;
    for (name, weight) in &fusion.weights {
        if !(0.0..=limits.weight).contains(weight) {
            let most = limits.weight;
            return bad(format!(
                "fusion.weights.{name} is {weight}: expected a number from 0 to {most}"
            ));
        }
    }
    match fusion.rank_constant {
        Some(constant) if !(constant.is_finite() && constant >= 0.0) => {
            bad(format!("fusion.rank_constant is {constant}: expected a number ≥ 0, such as 60"))
        }
        _ => Ok(()),
    }
}

/// Checks an id: any text that is not empty, not too long, and without control characters.
pub fn id(field: &str, id: &str) -> Checked {
    none(fault_of_id(field, id))
}

/// Checks ids, at most `most` of them.
pub fn ids(field: &str, ids: &[String], most: usize) -> Checked {
    at_most(ids.len(), field, most)?;
    none(fault_of_ids(field, ids))
}

fn at_most(n: usize, items: &str, most: usize) -> Checked {
    if n > most { bad(format!("{n} {items}: expected at most {most}")) } else { Ok(()) }
}

fn total(n: usize, items: &str, limits: &Limits) -> Checked {
    match n {
        0 => bad(format!("no {items}: expected at least one")),
        n => at_most(n, items, limits.ids),
    }
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
