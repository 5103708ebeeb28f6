//! Documents: read, written, deleted.

use axum::http::StatusCode;
use axum::response::Response;
use liken::data::Document;
use liken_engine::{Engine, checks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::call::Call;
use super::items::{Items, items};
use super::types::Written;
use crate::http::{Limits, WorkerPool, content, to_json};
use crate::problem::Problem;

/// A document: an id and fields. A field is text, or a bag of counts (an object of numbers), or
/// anything else that is only kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct DocumentBody {
    /// Its id; `_id` is understood, too.
    #[serde(alias = "_id")]
    pub id: String,
    /// `title`, `body`, `url` and whatever else there is.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// The answer to `PUT /documents`: good documents are on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkWritten {
    /// What was written.
    #[serde(flatten)]
    pub written: Written,
    /// How many were refused, where the request is lenient.
    #[serde(default)]
    pub refused: usize,
    /// Some of those, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<BadLine>,
}

/// Why a document was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BadLine {
    /// Its line, or its place in the list, counted from one.
    pub line: usize,
    /// What is wrong with it.
    pub detail: String,
}

/// `POST /documents/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRequest {
    /// The ids of the documents that are to go.
    pub ids: Vec<String>,
}

pub(super) async fn get(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Store, |call, engine| Ok(engine.document(call.name())?)).await
}

pub(super) async fn put(call: Call) -> Result<Response, Problem> {
    write(call, |call, engine| {
        let limits = call.limits();
        let lenient = call.flag("lenient");
        let Items { good, bad, shown } =
            items(call, "document", lenient, |value, len| document(value, len, None, limits))?;
        let examples = shown.into_iter().map(|(line, detail)| BadLine { line, detail }).collect();
        let written = if good.is_empty() {
            Written { written: 0, replaced: 0, sequence: engine.status().written }
        } else {
            engine.upsert(good)?
        };
        Ok(BulkWritten { written, refused: bad, examples })
    })
    .await
}

pub(super) async fn put_one(call: Call) -> Result<Response, Problem> {
    write(call, |call, engine| {
        let (value, len) = (call.json()?, call.bytes().0.len());
        let document =
            document(value, len, Some(call.name()), call.limits()).map_err(Problem::bad)?;
        let written = engine.upsert(vec![document])?;
        Ok(BulkWritten { written, refused: 0, examples: Vec::new() })
    })
    .await
}

pub(super) async fn delete_one(call: Call) -> Result<Response, Problem> {
    write(call, |call, engine| {
        let written = engine.delete(&[call.name().to_owned()])?;
        Ok(BulkWritten { written, refused: 0, examples: Vec::new() })
    })
    .await
}

pub(super) async fn delete_many(call: Call) -> Result<Response, Problem> {
    write(call, |call, engine| {
        let DeleteRequest { ids } = call.json()?;
        checks::ids("ids", &ids, call.limits().documents)?;
        if ids.is_empty() {
            return Err(Problem::bad("ids is empty: expected at least one"));
        }
        let written = engine.delete(&ids)?;
        Ok(BulkWritten { written, refused: 0, examples: Vec::new() })
    })
    .await
}

/// Writes, and with `?wait=true` waits until search sees it; 202 if that takes too long.
async fn write(
    call: Call,
    work: impl FnOnce(&Call, &Engine) -> Result<BulkWritten, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let (state, deadline, wait) = (call.state.clone(), call.deadline, call.flag("wait"));
    let write = move |engine: &Engine| work(&call, engine);
    let written = state.run_until(WorkerPool::Store, deadline, write).await?;
    let mut status = StatusCode::OK;
    if wait {
        let sequence = written.written.sequence;
        let patience = deadline.saturating_duration_since(Instant::now());
        let patience = patience.min(state.limits().request());
        let seen = state.workers().run(WorkerPool::Wait, Instant::now() + patience, {
            let engine = state.engine().clone();
            move || Ok(engine.wait_for(sequence, patience))
        });
        // What is written stays written: no place to wait in is no failure.
        if seen.await != Ok(true) {
            status = StatusCode::ACCEPTED;
        }
    }
    let mut response = content("application/json", to_json(&written)?);
    *response.status_mut() = status;
    Ok(response)
}

/// A document, or what is wrong with it. `id` is the one that the address says.
fn document(
    value: Value,
    len: usize,
    id: Option<&str>,
    limits: &Limits,
) -> Result<Document, String> {
    let most = limits.document_bytes;
    if len > most {
        return Err(format!("the document is {len} bytes long: expected at most {most}"));
    }
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
    if let Some(id) = id
        && given != id
    {
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

    fn read(value: Value, id: Option<&str>) -> Result<Document, String> {
        document(value, 0, id, &Limits::default())
    }

    #[test]
    fn ids_are_found_and_fields_keep_their_order() {
        let read_id = |value| read(value, None).map(|document| document.id);
        assert_eq!(read_id(json!({"id": "a/b?c"})), Ok("a/b?c".to_owned()));
        assert_eq!(read_id(json!({"_id": "../x"})), Ok("../x".to_owned()));
        assert_eq!(read_id(json!({"id": 17})), Ok("17".to_owned()));
        let document = read(json!({"z": 1, "id": "a", "b": {"w": 2}, "a": null}), None).unwrap();
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
            let reason = read(value, None).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
        assert!(read(json!({"id": "a"}), Some("b")).unwrap_err().contains("in the address"));
        assert_eq!(read(json!({"title": "x"}), Some("b")).unwrap().id, "b");
        let small = Limits { document_bytes: 10, ..Limits::default() };
        assert!(document(json!({"id": "a"}), 11, None, &small).unwrap_err().contains("at most 10"));
    }
}
