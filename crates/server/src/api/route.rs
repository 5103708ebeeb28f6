//! The declaration of a route, from which the router and the OpenAPI document are made.

use axum::http::Method;
use liken_engine::types::Scope;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::body::BodySize;
use super::call::{Call, ResponseFuture};
use super::items::OneOrMany;

pub(super) type Handler = fn(Call) -> ResponseFuture;

/// One method on one path.
pub(super) struct Route {
    pub method: Method,
    /// In the syntax of axum: `{name}` is one segment of the path, `{*name}` all the rest.
    pub path: &'static str,
    /// The scope that a key must have; no key is needed without one.
    pub scope: Option<Scope>,
    pub summary: &'static str,
    pub description: &'static str,
    /// Query parameters; others are refused.
    pub parameters: &'static [Parameter],
    pub body: Option<BodySpec>,
    pub answer: AnswerSpec,
    /// Whether it has the longer time-out: for bulk requests, and for loading models.
    pub long: bool,
    pub handler: Handler,
}

/// A query parameter.
pub(super) struct Parameter {
    pub name: &'static str,
    pub kind: ParameterKind,
    pub description: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterKind {
    Bool,
    Whole,
    Text,
}

/// The body of a request.
pub(super) struct BodySpec {
    pub of: TypeSpec,
    pub example: &'static str,
    pub size: BodySize,
}

impl BodySpec {
    fn of<T: JsonSchema + DeserializeOwned>(size: BodySize, example: &'static str) -> Self {
        BodySpec { of: TypeSpec::of::<T>(), example, size }
    }

    pub(super) fn small<T: JsonSchema + DeserializeOwned>(example: &'static str) -> Self {
        BodySpec::of::<T>(BodySize::Small, example)
    }

    pub(super) fn medium<T: JsonSchema + DeserializeOwned>(example: &'static str) -> Self {
        BodySpec::of::<T>(BodySize::Medium, example)
    }

    pub(super) fn bulk<T: JsonSchema + DeserializeOwned>(example: &'static str) -> Self {
        BodySpec::of::<OneOrMany<T>>(BodySize::Bulk, example)
    }
}

/// The body of a successful response.
pub(super) struct AnswerSpec {
    pub media: &'static str,
    /// The JSON, or a line of NDJSON; none for text.
    pub of: Option<TypeSpec>,
    pub example: &'static str,
    /// Other statuses with the same body, and their meaning.
    pub also: &'static [(u16, &'static str)],
}

impl AnswerSpec {
    pub(super) fn json<T: JsonSchema + DeserializeOwned>(example: &'static str) -> Self {
        let of = Some(TypeSpec::of::<T>());
        AnswerSpec { of, ..AnswerSpec::text("application/json", example) }
    }

    pub(super) fn text(media: &'static str, example: &'static str) -> Self {
        AnswerSpec { media, of: None, example, also: &[] }
    }
}

/// A type: its schema, and how tests read an example of it.
#[derive(Clone, Copy)]
pub(super) struct TypeSpec {
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are read in tests"))]
    pub read: fn(&str) -> Result<(), serde_json::Error>,
}

impl TypeSpec {
    pub(super) fn of<T: JsonSchema + DeserializeOwned>() -> Self {
        TypeSpec {
            schema: |generator| generator.subschema_for::<T>(),
            read: |example| serde_json::from_str::<T>(example).map(drop),
        }
    }
}

impl Route {
    /// `GET path`, without parameters or a body.
    pub(super) fn get(
        path: &'static str,
        scope: Option<Scope>,
        handler: Handler,
        answer: AnswerSpec,
    ) -> Self {
        Route {
            method: Method::GET,
            path,
            scope,
            summary: "",
            description: "",
            parameters: &[],
            body: None,
            answer,
            long: false,
            handler,
        }
    }

    /// `POST path` with a body.
    pub(super) fn post(
        path: &'static str,
        scope: Scope,
        handler: Handler,
        body: BodySpec,
        answer: AnswerSpec,
    ) -> Self {
        let method = Method::POST;
        Route { method, body: Some(body), ..Route::get(path, Some(scope), handler, answer) }
    }

    /// The names in braces, in the order of the path.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|segment| {
            let name = segment.strip_prefix('{')?.strip_suffix('}')?;
            Some(name.strip_prefix('*').unwrap_or(name))
        })
    }

    /// The values of the names in `path`, still encoded; none if the route does not match.
    pub(super) fn captured<'a>(&self, path: &'a str) -> Option<Vec<&'a str>> {
        let mut found = Vec::new();
        let mut rest = path.strip_prefix('/')?;
        let mut segments = self.path.strip_prefix('/')?.split('/').peekable();
        while let Some(segment) = segments.next() {
            if segment.starts_with("{*") {
                found.push(rest);
                return (!rest.is_empty()).then_some(found);
            }
            let (here, after) = match rest.split_once('/') {
                Some((here, after)) if segments.peek().is_some() => (here, after),
                None if segments.peek().is_none() => (rest, ""),
                _ => return None,
            };
            if segment.starts_with('{') && !here.is_empty() {
                found.push(here);
            } else if segment != here {
                return None;
            }
            rest = after;
        }
        Some(found)
    }
}
