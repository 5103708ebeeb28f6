//! What a request must hold to before the engine sees it. Each refusal names the field, what was
//! expected and what came.

use liken_engine::store::{fault_of_id, fault_of_judgment};
use serde_json::{Map, Value};

use super::types::{
    EmbedRequest, Event, ExplainRequest, FusionSpec, Judgment, RerankRequest, SearchRequest,
    SimilarRequest,
};
use crate::http::Limits;
use crate::problem::Problem;

type Checked = Result<(), Problem>;

/// The largest weight of a model: sums of scores stay finite.
const HEAVIEST: f64 = 1e6;

fn bad(detail: String) -> Checked {
    Err(Problem::bad(detail))
}

/// A search, apart from how many hits it asks for.
fn question(request: &SearchRequest, limits: &Limits) -> Checked {
    query("query", &request.query, limits)?;
    models(&request.models, limits)?;
    fusion(request.fusion.as_ref(), limits)?;
    if let Some(diversify) = &request.diversify
        && !(0.0..=1.0).contains(&diversify.lambda)
    {
        let lambda = diversify.lambda;
        return bad(format!("diversify.lambda is {lambda}: expected a number from 0 to 1"));
    }
    if let Some(depth) = request.candidate_depth {
        number("candidate_depth", depth, limits.candidate_depth)?;
    }
    request.filter.as_ref().map_or(Ok(()), numbers)?;
    ids("exclude_ids", &request.exclude_ids, limits)?;
    let fields = request.fields.as_ref().map_or(0, Vec::len);
    if fields > limits.ids {
        return bad(format!("{fields} fields: expected at most {}", limits.ids));
    }
    Ok(())
}

pub(super) fn search(request: &SearchRequest, limits: &Limits) -> Checked {
    question(request, limits)?;
    let k = request.k.unwrap_or(10);
    number("k", k, limits.hits)?;
    if request.explain && k > limits.explained {
        return bad(format!(
            "k is {k}: at most {} hits are explained at once; /explain explains any one",
            limits.explained
        ));
    }
    match request.offset.checked_add(k) {
        Some(last) if last <= limits.hits => Ok(()),
        _ => bad(format!(
            "offset {} and k {k} are together more than {}: expected less; a filter narrows \
             the search",
            request.offset, limits.hits
        )),
    }
}

pub(super) fn explain(request: &ExplainRequest, limits: &Limits) -> Checked {
    question(&request.search, limits)?;
    id("id", &request.id, limits)?;
    request.most.map_or(Ok(()), |most| number("most", most, limits.hits))
}

pub(super) fn rerank(request: &RerankRequest, limits: &Limits) -> Checked {
    query("query", &request.query, limits)?;
    models(&request.models, limits)?;
    fusion(request.fusion.as_ref(), limits)?;
    ids("ids", &request.ids, limits)?;
    documents(&request.documents, limits)?;
    together(request.ids.len() + request.documents.len(), "ids and documents", limits)?;
    request.k.map_or(Ok(()), |k| number("k", k, limits.ids))
}

pub(super) fn embed(request: &EmbedRequest, limits: &Limits) -> Checked {
    for (at, text) in request.queries.iter().enumerate() {
        // An empty text has an image, too: the origin.
        if text.len() > limits.query_bytes {
            return too_long(&format!("queries[{at}]"), text.len(), limits.query_bytes);
        }
    }
    ids("ids", &request.ids, limits)?;
    documents(&request.documents, limits)?;
    let n = request.queries.len() + request.ids.len() + request.documents.len();
    together(n, "queries, documents and ids", limits)
}

pub(super) fn similar(request: &SimilarRequest, limits: &Limits) -> Checked {
    let given = [&request.query, &request.id, &request.word];
    let n = given.iter().filter(|given| given.is_some()).count();
    if n != 1 {
        return bad(format!("expected one of query, id and word, and {n} of them came"));
    }
    if let Some(text) = &request.query {
        query("query", text, limits)?;
    }
    if let Some(text) = &request.id {
        id("id", text, limits)?;
    }
    if let Some(text) = &request.word {
        query("word", text, limits)?;
    }
    request.k.map_or(Ok(()), |k| number("k", k, limits.near))
}

/// What is wrong with an event, if anything is.
pub(super) fn event(event: &Event, limits: &Limits) -> Result<(), String> {
    let reason = |problem: Problem| problem.detail;
    query("query", &event.query, limits).map_err(reason)?;
    match event.kind.as_str() {
        "click" if event.id.is_none() => return Err("a click needs the id of its document".into()),
        "impression" if event.shown.is_empty() => {
            return Err("an impression needs the documents shown".into());
        }
        "click" | "impression" => {}
        other => return Err(format!("kind is {other:?}: expected click or impression")),
    }
    if let Some(text) = &event.id {
        id("id", text, limits).map_err(reason)?;
    }
    ids("shown", &event.shown, limits).map_err(reason)?;
    if event.rank == Some(0) {
        return Err("rank is 0: ranks are counted from 1".into());
    }
    if let Some(session) = &event.session {
        id("session", session, limits).map_err(reason)?;
    }
    // The year 9999 is far enough; mostly milliseconds were meant to be seconds.
    if let Some(time) = event.time
        && !(0.0..253_402_300_800.0).contains(&time)
    {
        return Err(format!("time is {time}: expected seconds since 1970"));
    }
    Ok(())
}

/// What is wrong with a judgment, if anything is.
pub(super) fn judgment(judgment: &Judgment, limits: &Limits) -> Result<(), String> {
    let reason = |problem: Problem| problem.detail;
    query("query", &judgment.query, limits).map_err(reason)?;
    id("id", &judgment.id, limits).map_err(reason)?;
    if let Some(fault) = fault_of_judgment(judgment) {
        return Err(fault);
    }
    match judgment.judge.as_deref() {
        None | Some("") => Ok(()),
        Some(judge) => id("judge", judge, limits).map_err(reason),
    }
}

/// Numbers of a filter are compared as those of documents are kept: with 53 bits.
fn numbers(filter: &Value) -> Checked {
    const LARGEST: u64 = 1 << 53;
    match filter {
        Value::Number(number) => {
            let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            match whole {
                Some(whole) if whole > LARGEST => bad(format!(
                    "filter: {number} is too large to be told from its neighbours: expected whole \
                     numbers up to {LARGEST}; keep longer ones as text"
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
    if text.trim().is_empty() {
        return bad(format!("{field} is empty: expected some words"));
    }
    if text.len() > limits.query_bytes {
        return too_long(field, text.len(), limits.query_bytes);
    }
    Ok(())
}

fn too_long(field: &str, len: usize, most: usize) -> Checked {
    bad(format!("{field} is {len} bytes long: expected at most {most}"))
}

/// A count that must be one at the least.
fn number(field: &str, value: usize, most: usize) -> Checked {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    bad(format!("{field} is {value}: expected a whole number from 1 to {most}"))
}

fn models(models: &[String], limits: &Limits) -> Checked {
    if models.len() > limits.models {
        return bad(format!("{} models: expected at most {}", models.len(), limits.models));
    }
    match models.iter().enumerate().find(|(at, name)| models[..*at].contains(name)) {
        Some((_, name)) => bad(format!("the model {name:?} is named twice")),
        None => Ok(()),
    }
}

fn fusion(fusion: Option<&FusionSpec>, limits: &Limits) -> Checked {
    let Some(fusion) = fusion else { return Ok(()) };
    if fusion.weights.len() > limits.models {
        let n = fusion.weights.len();
        return bad(format!("{n} weights: expected at most {}", limits.models));
    }
    for (name, weight) in &fusion.weights {
        if !(0.0..=HEAVIEST).contains(weight) {
            return bad(format!(
                "fusion.weights.{name} is {weight}: expected a number from 0 to {HEAVIEST}"
            ));
        }
    }
    match fusion.rank_constant {
        Some(constant) if !(constant.is_finite() && constant >= 0.0) => bad(format!(
            "fusion.rank_constant is {constant}: expected a number from 0 on, such as 60"
        )),
        _ => Ok(()),
    }
}

/// An id of a document: any text that is not empty, not long, and of one line.
pub(super) fn id(field: &str, id: &str, limits: &Limits) -> Checked {
    fault_of_id(id, limits.id_bytes).map_or(Ok(()), |fault| bad(format!("{field} {fault}")))
}

pub(super) fn ids(field: &str, ids: &[String], limits: &Limits) -> Checked {
    if ids.len() > limits.ids {
        return bad(format!("{} {field}: expected at most {}", ids.len(), limits.ids));
    }
    for (at, text) in ids.iter().enumerate() {
        if let Some(fault) = fault_of_id(text, limits.id_bytes) {
            return bad(format!("{field}[{at}] {fault}"));
        }
    }
    Ok(())
}

fn documents(documents: &[Map<String, Value>], limits: &Limits) -> Checked {
    // Their bodies are short enough, or they would not be here.
    if documents.len() > limits.ids {
        return bad(format!("{} documents: expected at most {}", documents.len(), limits.ids));
    }
    Ok(())
}

fn together(n: usize, what: &str, limits: &Limits) -> Checked {
    match n {
        0 => bad(format!("there are no {what}: expected at least one")),
        n if n > limits.ids => bad(format!("{n} {what}: expected at most {}", limits.ids)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
