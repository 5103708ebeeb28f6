//! Responses: JSON, text, and problems (RFC 9457).
//!
//! A handler or layer that refuses a request puts a [`Problem`] into the extensions of the response;
//! the outermost layer, which knows the request's id, writes it out. So all refusals look alike.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// The content security policy: scripts, styles and images of this service alone, no frames, no
/// plug-ins. Text of documents cannot become script even if it gets past the escaping.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// The JSON of a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemBody {
    /// The kind of problem, for programs.
    pub r#type: String,
    /// The kind of problem, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The message: what was expected, what came, and what to do.
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

/// A response of `bytes` with the media type `media`.
pub(crate) fn content(media: &'static str, bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media))], Body::from(bytes)).into_response()
}

/// `value` as bytes of JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value)
        .map_err(|error| Problem::internal(format!("the answer cannot be written: {error}")))
}

/// A response with `value` as JSON.
pub fn json(value: &impl Serialize) -> Response {
    match to_json(value) {
        Ok(bytes) => content("application/json", bytes),
        Err(problem) => refuse(problem),
    }
}

/// A response that refuses a request: its problem is in its extensions.
pub fn refuse(problem: Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = status.into_response();
    let header = match problem.status {
        401 => Some((header::WWW_AUTHENTICATE, "Bearer realm=\"liken\"")),
        503 => Some((header::RETRY_AFTER, "1")),
        _ => None,
    };
    if let Some((name, value)) = header {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.extensions_mut().insert(problem);
    response
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        refuse(self)
    }
}

/// Writes out the problem of a response, if it has one: as a page for a browser, else as JSON.
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

/// A page without navigation, for clients that may see nothing of the index.
pub(super) fn bare_page(title: &str, body: Markup) -> String {
    html_page(title, html! {}, html! { main { h1 { (title) } (body) } }).into_string()
}

/// An HTML document; `head` is added to its head.
pub(crate) fn html_page(title: &str, head: Markup, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · liken" }
                link rel="icon" href="data:,";
                (head)
            }
            body { (body) }
        }
    }
}

/// Adds the security headers that a response does not set itself.
pub(super) fn secure(response: &mut Response) {
    let headers = response.headers_mut();
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    // From a page with no referrer, a browser sends forms with `Origin: null`, which cannot be told
    // from foreign ones.
    let page = media.is_some_and(|media| media.starts_with(b"text/html"));
    let referrer = if page { "same-origin" } else { "no-referrer" };
    let mut put = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::REFERRER_POLICY, referrer);
    // Pages, style sheets and scripts set their own.
    put(header::CACHE_CONTROL, "no-store");
}
