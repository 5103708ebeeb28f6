//! What a request must hold to, whatever the index: the one place where that is checked. Each
//! refusal names the field, what was expected and what came.

use serde_json::{Map, Value};

use crate::limits::{HITS, Limits};
use crate::store::{fault_of_event, fault_of_id, fault_of_ids, fault_of_judgment, fault_of_query};
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
    ids("exclude_ids", &request.exclude_ids, limits.ids)?;
    let fields = request.fields.as_ref().map_or(0, Vec::len);
    if fields > limits.ids {
        return bad(format!("{fields} fields: expected at most {}", limits.ids));
    }
    Ok(())
}

/// A search.
pub fn search(request: &SearchRequest, limits: &Limits) -> Checked {
    question(request, limits)?;
    let k = request.k.unwrap_or(HITS);
    number("k", k, limits.hits)?;
    if request.explain && k > limits.explained {
        return bad(format!(
            "k is {k}: at most {} hits are explained at once; any one can be explained by itself",
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

/// A request to explain a score.
pub fn explain(request: &ExplainRequest, limits: &Limits) -> Checked {
    question(&request.search, limits)?;
    id("id", &request.id)?;
    request.most.map_or(Ok(()), |most| number("most", most, limits.hits))
}

/// A request to re-rank given documents.
pub fn rerank(request: &RerankRequest, limits: &Limits) -> Checked {
    query("query", &request.query, limits)?;
    models(&request.models, limits)?;
    fusion(request.fusion.as_ref(), limits)?;
    ids("ids", &request.ids, limits.ids)?;
    documents(&request.documents, limits)?;
    together(request.ids.len() + request.documents.len(), "ids and documents", limits)?;
    request.k.map_or(Ok(()), |k| number("k", k, limits.ids))
}

/// A request for embeddings.
pub fn embed(request: &EmbedRequest, limits: &Limits) -> Checked {
    for (at, text) in request.queries.iter().enumerate() {
        query(&format!("queries[{at}]"), text, limits)?;
    }
    ids("ids", &request.ids, limits.ids)?;
    documents(&request.documents, limits)?;
    let n = request.queries.len() + request.ids.len() + request.documents.len();
    together(n, "queries, documents and ids", limits)
}

/// A request for nearest neighbours.
pub fn similar(request: &SimilarRequest, limits: &Limits) -> Checked {
    let given = [&request.query, &request.id, &request.word];
    let n = given.iter().filter(|given| given.is_some()).count();
    if n != 1 {
        return bad(format!("expected one of query, id and word, and {n} of them came"));
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

/// A click or an impression.
pub fn event(event: &Event, limits: &Limits) -> Checked {
    query("query", &event.query, limits)?;
    if event.kind == "impression" && event.shown.is_empty() {
        return bad("an impression needs the documents shown".into());
    }
    none(fault_of_event(event))
}

/// A grade.
pub fn judgment(judgment: &Judgment, limits: &Limits) -> Checked {
    query("query", &judgment.query, limits)?;
    none(fault_of_judgment(judgment))
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
    none(fault_of_query(field, text, limits.query_bytes))
}

/// A count that must be one at the least.
pub(crate) fn number(field: &str, value: usize, most: usize) -> Checked {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    bad(format!("{field} is {value}: expected a whole number from 1 to {most}"))
}

pub(crate) fn models(models: &[String], limits: &Limits) -> Checked {
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
        if !(0.0..=limits.weight).contains(weight) {
            let most = limits.weight;
            return bad(format!(
                "fusion.weights.{name} is {weight}: expected a number from 0 to {most}"
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
pub fn id(field: &str, id: &str) -> Checked {
    none(fault_of_id(field, id))
}

/// Ids of documents, no more than `most`.
pub fn ids(field: &str, ids: &[String], most: usize) -> Checked {
    if ids.len() > most {
        return bad(format!("{} {field}: expected at most {most}", ids.len()));
    }
    none(fault_of_ids(field, ids))
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
