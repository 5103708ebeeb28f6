//! Answers: JSON, text, and problems (RFC 9457).
//!
//! Whoever refuses a request leaves a [`Problem`] in the response's extensions; the outermost
//! layer, which knows the request's id, writes it out. So all refusals look alike, wherever they
//! come from.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// Scripts, styles and embeddings of our own only; no frames, no plug-ins, nothing from elsewhere. Text of
/// documents can therefore not become script even if it should get past the escaping.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// A problem as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemBody {
    /// The kind of problem, for programs.
    pub r#type: String,
    /// The kind of problem, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was expected, what came, and what to do.
    pub detail: String,
    /// The request's id, as in the `x-request-id` header and in the log.
    pub instance: String,
}

impl ProblemBody {
    fn new(problem: &Problem, request_id: &str) -> Self {
        let kind = problem.title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        ProblemBody {
            r#type: format!("urn:liken:problem:{kind}"),
            title: problem.title.to_owned(),
            status: problem.status,
            detail: problem.detail.clone(),
            instance: request_id.to_owned(),
        }
    }
}

/// A response of `bytes` that are of type `media`.
pub(crate) fn content(media: &'static str, bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media))], Body::from(bytes)).into_response()
}

/// `value` as bytes of JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value)
        .map_err(|error| Problem::internal(format!("the answer cannot be written: {error}")))
}

/// A response that says `value`.
pub fn json(value: &impl Serialize) -> Response {
    match to_json(value) {
        Ok(bytes) => content("application/json", bytes),
        Err(problem) => refuse(problem),
    }
}

/// A response that refuses; see the head of this module.
pub fn refuse(problem: Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = status.into_response();
    let headers = response.headers_mut();
    match problem.status {
        401 => {
            let value = HeaderValue::from_static("Bearer realm=\"liken\"");
            headers.insert(header::WWW_AUTHENTICATE, value);
        }
        503 => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response.extensions_mut().insert(problem);
    response
}

/// Pages may answer with problems as they are.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        refuse(self)
    }
}

/// Writes out the problem of a response, if it has one: as a page for a browser, as JSON for all
/// others.
pub(super) fn write_out(response: &mut Response, request_id: &str, page: bool) -> Option<Problem> {
    let problem = response.extensions_mut().remove::<Problem>()?;
    let (media, bytes) = if page {
        ("text/html; charset=utf-8", problem_page(&problem, request_id).into_bytes())
    } else {
        // A struct of strings and a number can always be written.
        let body = to_json(&ProblemBody::new(&problem, request_id)).unwrap_or_default();
        ("application/problem+json", body)
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    *response.body_mut() = Body::from(bytes);
    Some(problem)
}

fn problem_page(problem: &Problem, request_id: &str) -> String {
    bare_page(
        problem.title,
        html! {
            p { (problem.detail) }
            p { a href="/" { "Back to search" } }
            p { small { "Request " (request_id) } }
        },
    )
}

/// A page for those who may see nothing of the index.
pub(super) fn bare_page(title: &str, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – liken" }
                link rel="icon" href="data:,";
            }
            body { main { h1 { (title) } (body) } }
        }
    };
    page.into_string()
}

/// Headers that keep a browser from doing with an answer what it is not meant for.
pub(super) fn secure(response: &mut Response) {
    let headers = response.headers_mut();
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    // From a page without any referrer, a browser sends forms with `Origin: null`, and we could
    // not tell our own forms from those of others.
    let page = media.is_some_and(|media| media.starts_with(b"text/html"));
    let referrer = if page { "same-origin" } else { "no-referrer" };
    let mut put = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::REFERRER_POLICY, referrer);
    // Style sheets and scripts say for themselves how long they may be kept.
    put(header::CACHE_CONTROL, "no-store");
}
