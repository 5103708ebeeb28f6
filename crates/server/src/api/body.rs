//! The body of a call: of a type that we read, and no longer than such a call may have.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::route::Size;
use crate::http::{AppState, gather, hear_out};
use crate::problem::Problem;

/// What a body is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    /// One JSON value per line.
    Lines,
}

/// A whole body. It counts towards what all bodies may take until it is dropped.
pub(super) struct Received {
    pub bytes: Vec<u8>,
    pub media: Media,
    _room: Option<OwnedSemaphorePermit>,
}

/// The type of a body by its headers.
pub(super) fn media(headers: &HeaderMap, size: Size) -> Result<Media, Problem> {
    let many = size == Size::Many;
    let expected =
        if many { "application/json or application/x-ndjson" } else { "application/json" };
    let wrong = |came: String| Problem {
        status: 415,
        title: "Unsupported media type",
        detail: format!("expected a body of type {expected}, {came}"),
    };
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return Err(wrong("as it is, without Content-Encoding".into()));
    }
    let Some(given) = headers.get(header::CONTENT_TYPE) else {
        return Err(wrong("but the Content-Type header is missing".into()));
    };
    let Ok(given) = given.to_str() else {
        return Err(wrong("but the Content-Type header is not plain text".into()));
    };
    let mut pieces = given.split(';').map(str::trim);
    let name = pieces.next().unwrap_or_default().to_ascii_lowercase();
    for parameter in pieces {
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
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" if many => {
            Ok(Media::Lines)
        }
        _ => Err(wrong(format!("not {given:?}"))),
    }
}

/// Receives a body until `deadline`.
pub(super) async fn receive(
    state: &AppState,
    headers: &HeaderMap,
    mut body: Body,
    size: Size,
    deadline: Instant,
) -> Result<Received, Problem> {
    let received = match media(headers, size) {
        Ok(media) => take(state, headers, &mut body, media, size, deadline).await,
        Err(problem) => Err(problem),
    };
    if let Err(problem) = &received
        && problem.status != 408
    {
        hear_out(headers, body).await;
    }
    received
}

async fn take(
    state: &AppState,
    headers: &HeaderMap,
    body: &mut Body,
    media: Media,
    size: Size,
    deadline: Instant,
) -> Result<Received, Problem> {
    let limits = state.limits();
    let most = match (size, media) {
        (Size::Question, _) => limits.question_bytes,
        (Size::Many, Media::Lines) => limits.bulk_bytes,
        _ => limits.body_bytes,
    };
    let gathered = gather(state, headers, body, most, deadline).await;
    let (bytes, room) = gathered.map_err(|mut problem| {
        if problem.status == 413 {
            problem.detail.push_str(match media {
                _ if size != Size::Many => ": ask for less at a time",
                Media::Lines => ": send it in several requests",
                Media::Json => ": send it in several requests, or as application/x-ndjson",
            });
        }
        problem
    })?;
    Ok(Received { bytes, media, _room: room })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(media_type: &str, size: Size) -> Result<Media, u16> {
        let value = HeaderValue::from_str(media_type).unwrap();
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, value)]);
        media(&headers, size).map_err(|problem| problem.status)
    }

    #[test]
    fn only_types_that_a_foreign_form_cannot_send() {
        assert_eq!(of("application/json", Size::Question), Ok(Media::Json));
        assert_eq!(of("Application/JSON; charset=UTF-8", Size::Question), Ok(Media::Json));
        assert_eq!(of("application/x-ndjson", Size::Many), Ok(Media::Lines));
        for wrong in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=latin1",
            "application/jsonx",
            "application/x-ndjson",
            "",
        ] {
            assert_eq!(of(wrong, Size::Question), Err(415), "{wrong}");
        }
        assert_eq!(media(&HeaderMap::new(), Size::Many).unwrap_err().status, 415);
    }
}
