//! The body of a call: its media type is checked, and its size limited.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::http::{AppState, drain, read_body};
use crate::problem::Problem;

/// The size limit of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodySize {
    /// A query.
    Small,
    /// A query with documents, or one document.
    Medium,
    /// One item, a list, or NDJSON, which may be longer.
    Bulk,
}

/// The format of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    /// NDJSON: one JSON value per line.
    Lines,
}

/// A whole body. It counts towards the memory of all bodies until it is dropped.
pub(super) struct Received {
    pub bytes: Vec<u8>,
    pub media: Media,
    _memory: Option<OwnedSemaphorePermit>,
}

/// The format of a body by its headers.
fn media(headers: &HeaderMap, size: BodySize) -> Result<Media, Problem> {
    let bulk = size == BodySize::Bulk;
    let expected =
        if bulk { "application/json or application/x-ndjson" } else { "application/json" };
    let wrong = |came: String| Problem {
        status: 415,
        title: "Unsupported media type",
        detail: format!("expected a body of type {expected}, {came}"),
    };
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return Err(wrong("uncompressed, without Content-Encoding".into()));
    }
    let Some(given) = headers.get(header::CONTENT_TYPE) else {
        return Err(wrong("but the Content-Type header is missing".into()));
    };
    let Ok(given) = given.to_str() else {
        return Err(wrong("but the Content-Type header is not plain text".into()));
    };
    let mut parameters = given.split(';').map(str::trim);
    let name = parameters.next().unwrap_or_default().to_ascii_lowercase();
    for parameter in parameters {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = value.trim().trim_matches('"');
        let utf8 =
            ["utf-8", "utf8", "us-ascii"].iter().any(|name| value.eq_ignore_ascii_case(name));
        if key.trim().eq_ignore_ascii_case("charset") && !utf8 {
            return Err(wrong(format!("in UTF-8, not in {value:?}")));
        }
    }
    match name.as_str() {
        "application/json" => Ok(Media::Json),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" if bulk => {
            Ok(Media::Lines)
        }
        _ => Err(wrong(format!("not {given:?}"))),
    }
}

/// Receives a body until `deadline`.
pub(super) async fn receive(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
    size: BodySize,
    deadline: Instant,
) -> Result<Received, Problem> {
    let media = match media(headers, size) {
        Ok(media) => media,
        Err(problem) => {
            drain(headers, body).await;
            return Err(problem);
        }
    };
    let limits = state.limits();
    let most = match (size, media) {
        (BodySize::Small, _) => limits.question_bytes,
        (BodySize::Bulk, Media::Lines) => limits.bulk_bytes,
        _ => limits.body_bytes,
    };
    let read = read_body(state, headers, body, most, deadline).await;
    let (bytes, memory) = read.map_err(|mut problem| {
        if problem.status == 413 {
            problem.detail.push_str(match media {
                _ if size != BodySize::Bulk => ": ask for less at a time",
                Media::Lines => ": send it in several requests",
                Media::Json => ": send it in several requests, or as application/x-ndjson",
            });
        }
        problem
    })?;
    Ok(Received { bytes, media, _memory: memory })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(media_type: &str, size: BodySize) -> Result<Media, u16> {
        let value = HeaderValue::from_str(media_type).unwrap();
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, value)]);
        media(&headers, size).map_err(|problem| problem.status)
    }

    #[test]
    fn only_types_that_a_foreign_form_cannot_send() {
        assert_eq!(of("application/json", BodySize::Small), Ok(Media::Json));
        assert_eq!(of("Application/JSON; charset=UTF-8", BodySize::Small), Ok(Media::Json));
        assert_eq!(of("application/x-ndjson", BodySize::Bulk), Ok(Media::Lines));
        for wrong in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=latin1",
            "application/jsonx",
            "application/x-ndjson",
            "",
        ] {
            assert_eq!(of(wrong, BodySize::Small), Err(415), "{wrong}");
        }
        assert_eq!(media(&HeaderMap::new(), BodySize::Bulk).unwrap_err().status, 415);
    }
}
