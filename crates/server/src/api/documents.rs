//! Reads, writes and deletes documents.

use axum::http::StatusCode;
use liken::data::Document;
use liken_engine::{Engine, checks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::call::{Call, ResponseFuture};
use super::items::{Items, fits, items};
use super::types::Written;
use crate::http::{WorkerPool, content, to_json};
use crate::problem::Problem;

/// A document: an id and fields. A field is text, or a bag of counts (an object of numbers), or
/// anything else, which is only stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct DocumentBody {
    /// Its id; `_id` is accepted, too.
    #[serde(alias = "_id")]
    pub id: String,
    /// `title`, `body`, `url` and any others.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// The answer to writes of documents: the valid ones are on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkWritten {
    /// Counts of the written documents.
    #[serde(flatten)]
    pub written: Written,
    /// The number of invalid documents; above 0 only where the request is lenient.
    #[serde(default)]
    pub refused: usize,
    /// Some of the invalid documents, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<BadLine>,
}

impl From<Written> for BulkWritten {
    fn from(written: Written) -> Self {
        BulkWritten { written, refused: 0, examples: Vec::new() }
    }
}

/// An invalid document of a bulk request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BadLine {
    /// Its line, or its position in the list, from 1.
    pub line: usize,
    /// Reason for the refusal.
    pub detail: String,
}

/// `POST /documents/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    /// The ids of the documents to delete.
    pub ids: Vec<String>,
}

pub(super) fn get(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Store, |call, engine| Ok(engine.document(call.name())?))
}

pub(super) fn put(call: Call) -> ResponseFuture {
    write(call, |call, engine| {
        let read = |value| document(value, None);
        let Items { valid, invalid, described } =
            items(call, "document", call.flag("lenient"), read)?;
        let written = if valid.is_empty() {
            Written { written: 0, replaced: 0, sequence: engine.status().written }
        } else {
            engine.upsert(valid)?
        };
        let examples = described.into_iter().map(|(line, detail)| BadLine { line, detail });
        Ok(BulkWritten { written, refused: invalid, examples: examples.collect() })
    })
}

pub(super) fn put_one(call: Call) -> ResponseFuture {
    write(call, |call, engine| {
        let value = call.json()?;
        let document = fits("document", call.bytes().0.len(), call.limits())
            .and_then(|()| document(value, Some(call.name())))
            .map_err(Problem::bad)?;
        Ok(engine.upsert(vec![document])?.into())
    })
}

pub(super) fn delete_one(call: Call) -> ResponseFuture {
    write(call, |call, engine| Ok(engine.delete(&[call.name().to_owned()])?.into()))
}

pub(super) fn delete_many(call: Call) -> ResponseFuture {
    write(call, |call, engine| {
        let DeleteRequest { ids } = call.json()?;
        checks::ids("ids", &ids, call.limits().documents)?;
        if ids.is_empty() {
            return Err(Problem::bad("ids is empty: expected at least one"));
        }
        Ok(engine.delete(&ids)?.into())
    })
}

/// Writes, and with `?wait=true` waits until search sees the change; 202 if that takes too long.
fn write(
    call: Call,
    work: impl FnOnce(&Call, &Engine) -> Result<BulkWritten, Problem> + Send + 'static,
) -> ResponseFuture {
    Box::pin(async move {
        let (state, deadline, wait) = (call.state.clone(), call.deadline, call.flag("wait"));
        let write = move |engine: &Engine| work(&call, engine);
        let written = state.run_until(WorkerPool::Store, deadline, write).await?;
        let mut response = content("application/json", to_json(&written)?);
        if wait {
            let sequence = written.written.sequence;
            let max_wait = deadline.saturating_duration_since(Instant::now());
            let max_wait = max_wait.min(state.limits().request());
            let wait = move |engine: &Engine| Ok(engine.wait_for(sequence, max_wait));
            let seen = state.run_until(WorkerPool::Wait, Instant::now() + max_wait, wait);
            // The documents are on disk: if the pool is full, that is no failure either.
            if seen.await != Ok(true) {
                *response.status_mut() = StatusCode::ACCEPTED;
            }
        }
        Ok(response)
    })
}

/// The document in `value`, or what is wrong with it. `id` is the id in the path.
fn document(value: Value, id: Option<&str>) -> Result<Document, String> {
    let Value::Object(mut fields) = value else {
        return Err(format!("expected an object with an id, not {}", kind(&value)));
    };
    let given = match (fields.shift_remove("id"), fields.shift_remove("_id")) {
        (Some(_), Some(_)) => return Err("both id and _id are given: expected one".into()),
        (given, None) | (None, given) => given,
    };
    let given = match (given, id) {
        (Some(Value::String(given)), _) => given,
        // Tables often number their rows.
        (Some(Value::Number(number)), _) if number.is_u64() || number.is_i64() => {
            number.to_string()
        }
        (Some(other), _) => return Err(format!("the id is {}: expected text", kind(&other))),
        (None, Some(id)) => id.to_owned(),
        (None, None) => return Err("the id is missing".into()),
    };
    if let Some(id) = id.filter(|id| *id != given) {
        return Err(format!("the id is {given:?} in the body and {id:?} in the address"));
    }
    checks::id("id", &given).map_err(|error| error.to_string())?;
    Ok(Document { id: given, fields })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_found_and_fields_keep_their_order() {
        let read_id = |value| document(value, None).map(|document| document.id);
        assert_eq!(read_id(json!({"id": "a/b?c"})), Ok("a/b?c".to_owned()));
        assert_eq!(read_id(json!({"_id": "../x"})), Ok("../x".to_owned()));
        assert_eq!(read_id(json!({"id": 17})), Ok("17".to_owned()));
        let document =
            document(json!({"z": 1, "id": "a", "b": {"w": 2}, "a": null}), None).unwrap();
        let fields: Vec<&str> = document.fields.keys().map(String::as_str).collect();
        assert_eq!(fields, ["z", "b", "a"]);
    }

    #[test]
    fn what_is_wrong_with_a_document_is_said() {
        for (value, expected) in [
            (json!([1]), "not a list"),
            (json!({"title": "x"}), "the id is missing"),
            (json!({"id": "a", "_id": "a"}), "both id and _id"),
            (json!({"id": null}), "the id is null"),
            (json!({"id": 1.5}), "the id is a number"),
            (json!({"id": ""}), "id is empty"),
            (json!({"id": "x".repeat(2000)}), "2000 bytes long"),
        ] {
            let reason = document(value, None).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
        assert!(document(json!({"id": "a"}), Some("b")).unwrap_err().contains("in the address"));
        assert_eq!(document(json!({"title": "x"}), Some("b")).unwrap().id, "b");
    }
}
