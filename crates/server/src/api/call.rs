//! A call of a route: the request as a handler reads it, and its ways to answer.

use std::pin::Pin;

use axum::response::Response;
use liken_engine::Engine;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::body::{Media, Received};
use super::parse;
use crate::http::{AppState, HttpLimits, SearchedFor, WorkerPool, content, to_json};
use crate::problem::Problem;

/// The response of a handler, once it is ready.
pub(super) type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// A request with a valid key and a received body.
pub(super) struct Call {
    pub state: AppState,
    /// The values of the path's names in braces, decoded.
    pub names: Vec<String>,
    pub parameters: Vec<(String, String)>,
    pub body: Option<Received>,
    pub deadline: Instant,
}

impl Call {
    pub(super) fn limits(&self) -> &HttpLimits {
        self.state.limits()
    }

    /// The value of the first name in the path.
    pub(super) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// The query parameter `name`.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The query parameter `name` as a flag; false if it is missing.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name), Some("true" | "1" | ""))
    }

    /// The query parameter `name` as a whole number.
    pub(super) fn whole(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// The body and its format.
    pub(super) fn bytes(&self) -> (&[u8], Media) {
        self.body.as_ref().map_or((&[], Media::Json), |body| (body.bytes.as_slice(), body.media))
    }

    /// The body, a JSON object, as a `T`.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        parse::object(self.bytes().0)
    }

    /// Answers with the JSON of what `work` returns. The body is parsed and the answer is written
    /// on the same thread of `pool`.
    pub(super) fn ask<T: Serialize>(
        self,
        pool: WorkerPool,
        work: impl FnOnce(&Call, &Engine) -> Result<T, Problem> + Send + 'static,
    ) -> ResponseFuture {
        self.ask_bytes(pool, "application/json", |call, engine| to_json(&work(call, engine)?))
    }

    /// Answers with the bytes that `work` returns on a thread of `pool`.
    pub(super) fn ask_bytes(
        self,
        pool: WorkerPool,
        media: &'static str,
        work: impl FnOnce(&Call, &Engine) -> Result<Vec<u8>, Problem> + Send + 'static,
    ) -> ResponseFuture {
        Box::pin(async move {
            let (state, deadline) = (self.state.clone(), self.deadline);
            let work = move |engine: &Engine| work(&self, engine);
            Ok(content(media, state.run_until(pool, deadline, work).await?))
        })
    }

    /// Answers a search; `work` returns the answer and the text for the log.
    pub(super) fn search<T: Serialize>(
        self,
        work: impl FnOnce(&Call, &Engine) -> Result<(T, String), Problem> + Send + 'static,
    ) -> ResponseFuture {
        Box::pin(async move {
            let (state, deadline) = (self.state.clone(), self.deadline);
            let work = move |engine: &Engine| {
                let (answer, query) = work(&self, engine)?;
                Ok((to_json(&answer)?, query))
            };
            let (bytes, query) = state.run_until(WorkerPool::Search, deadline, work).await?;
            let mut response = content("application/json", bytes);
            response.extensions_mut().insert(SearchedFor(query));
            Ok(response)
        })
    }
}
