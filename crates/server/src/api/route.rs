//! What a route is: everything that the router and the OpenAPI document need to know of it.

use std::pin::Pin;

use axum::http::Method;
use axum::response::Response;
use liken_engine::types::Scope;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::call::Call;
use crate::problem::Problem;

/// What a handler returns.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// One method on one path.
pub(super) struct Route {
    pub method: Method,
    /// As axum writes it: `{name}` is a piece of the path, `{*name}` all the rest of it.
    pub path: &'static str,
    /// What a key must allow; none is needed if there is none.
    pub scope: Option<Scope>,
    pub summary: &'static str,
    pub description: &'static str,
    /// Names after the question mark; others are refused.
    pub parameters: &'static [Parameter],
    pub body: Option<BodyOf>,
    pub answer: AnswerOf,
    /// Whether it may take long: much is brought, or a model is loaded.
    pub long: bool,
    pub handler: fn(Call) -> Answer,
}

/// Something after the question mark.
pub(super) struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    pub description: &'static str,
}

/// What a parameter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Whole,
    Text,
}

/// What a request's body holds.
pub(super) struct BodyOf {
    pub of: TypeOf,
    pub example: &'static str,
    pub size: Size,
}

/// How much a body may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// A question.
    Question,
    /// A question that brings documents, or one document.
    Some,
    /// One, a list, or NDJSON, which may be longer.
    Many,
}

/// What an answer holds.
pub(super) struct AnswerOf {
    pub media: &'static str,
    /// What a line holds in NDJSON; none for text.
    pub of: Option<TypeOf>,
    pub example: &'static str,
    /// Other statuses that bring the same, with what they mean.
    pub also: &'static [(u16, &'static str)],
}

/// A type, as the document describes it and as an example is read.
#[derive(Clone, Copy)]
pub(super) struct TypeOf {
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// The problem with an example.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are read in tests"))]
    pub read: fn(&str) -> Result<(), serde_json::Error>,
}

impl TypeOf {
    pub(super) const fn new<T: JsonSchema + DeserializeOwned>() -> Self {
        TypeOf { schema: schema_of::<T>, read: read::<T> }
    }
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn read<T: DeserializeOwned>(example: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<T>(example).map(drop)
}

impl Route {
    /// The names in braces, in the path's order.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|piece| {
            let name = piece.strip_prefix('{')?.strip_suffix('}')?;
            Some(name.strip_prefix('*').unwrap_or(name))
        })
    }

    /// What stands for the names in `path`, still encoded; none if it is no path of this route.
    pub(super) fn captured<'a>(&self, path: &'a str) -> Option<Vec<&'a str>> {
        let mut found = Vec::new();
        let mut rest = path.strip_prefix('/')?;
        let mut pieces = self.path.strip_prefix('/')?.split('/').peekable();
        while let Some(piece) = pieces.next() {
            if piece.starts_with("{*") {
                found.push(rest);
                return (!rest.is_empty()).then_some(found);
            }
            let (here, after) = match rest.split_once('/') {
                Some((here, after)) if pieces.peek().is_some() => (here, after),
                None if pieces.peek().is_none() => (rest, ""),
                _ => return None,
            };
            if piece.starts_with('{') && !here.is_empty() {
                found.push(here);
            } else if piece != here {
                return None;
            }
            rest = after;
        }
        Some(found)
    }
}
