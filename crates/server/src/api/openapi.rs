//! The OpenAPI document, made of the table of routes and the types that handlers read.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::body::BodySize;
use super::route::{ParameterKind, Route};
use crate::http::ProblemBody;

/// The OpenAPI document of a service with these routes.
pub(super) fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<ProblemBody>();
    let mut paths = Map::new();
    for route in routes {
        let path = route.path.replace("{*", "{");
        let method = route.method.as_str().to_lowercase();
        paths.entry(path).or_insert(Value::Null)[method] = operation(route, &mut generator);
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "liken",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Search over one index: retrieve, match, rank, diversify. Errors are \
                problem+json (RFC 9457) and say what was expected. Unknown fields and parameters \
                are refused.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "The request was refused; the body says why.",
                    "content": {"application/problem+json": {"schema": problem}},
                },
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "liken_key"},
            },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut operation = Map::new();
    let mut put = |name: &str, value: Value| operation.insert(name.to_owned(), value);
    put("operationId", json!(operation_id(route)));
    put("summary", json!(route.summary));
    let needs = match route.scope {
        Some(scope) => {
            format!("If the index has API keys, this needs one with the scope `{}`.", scope.name())
        }
        None => "No API key is needed.".to_owned(),
    };
    put("description", json!(format!("{}\n\n{needs}", route.description).trim_start()));
    let security = match route.scope {
        Some(_) => json!([{"bearer": []}, {"header": []}, {"cookie": []}]),
        None => json!([]),
    };
    put("security", security);
    let in_path = route.names().map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let in_query = route.parameters.iter().map(|parameter| {
        let schema = match parameter.kind {
            ParameterKind::Bool => json!({"type": "boolean", "default": false}),
            ParameterKind::Whole => json!({"type": "integer", "minimum": 0}),
            ParameterKind::Text => json!({"type": "string"}),
        };
        json!({
            "name": parameter.name, "in": "query", "required": false,
            "description": parameter.description, "schema": schema,
        })
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    if !parameters.is_empty() {
        put("parameters", Value::Array(parameters));
    }
    if let Some(body) = &route.body {
        let schema = (body.of.schema)(generator);
        let mut content = Map::new();
        let media = json!({"schema": schema, "example": example(body.example)});
        content.insert("application/json".into(), media);
        if body.size == BodySize::Bulk {
            let lines = json!({"schema": {"type": "string"}});
            content.insert("application/x-ndjson".into(), lines);
        }
        put("requestBody", json!({"required": true, "content": content}));
    }
    put("responses", responses(route, generator));
    Value::Object(operation)
}

fn responses(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let answer = &route.answer;
    let media = match &answer.of {
        Some(of) if answer.media == "application/json" => {
            json!({"schema": (of.schema)(generator), "example": example(answer.example)})
        }
        Some(of) => {
            // The schema of NDJSON describes a line.
            let line = (of.schema)(generator);
            json!({"schema": {"type": "string"}, "x-line-schema": line, "example": answer.example})
        }
        None => json!({"schema": {"type": "string"}, "example": answer.example}),
    };
    let content = json!({answer.media: media});
    let mut responses = Map::new();
    responses.insert("200".into(), json!({"description": "Success.", "content": content}));
    for (status, meaning) in answer.also {
        let response = json!({"description": meaning, "content": content});
        responses.insert(status.to_string(), response);
    }
    responses.insert("default".into(), json!({"$ref": "#/components/responses/Problem"}));
    Value::Object(responses)
}

/// `POST /models/{name}/activate` is `postModelsNameActivate`.
fn operation_id(route: &Route) -> String {
    let mut id = route.method.as_str().to_lowercase();
    for word in route.path.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut letters = word.chars();
        id.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        id.push_str(letters.as_str());
    }
    id
}

/// An example of the table; a test checks that all are JSON.
fn example(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
#[path = "openapi_tests.rs"]
mod tests;
