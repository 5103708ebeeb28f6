//! Receiving a body: no longer than allowed, in time, and of a type that we read.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::route::Size;
use crate::http::AppState;
use crate::problem::Problem;

/// Bytes of a refused body that are still received: a client that is sending does not listen
/// before it is done.
const HEARD_OUT: usize = 16 << 20;

/// What a body is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    /// One JSON value a line.
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

/// A body must come with so many bytes a second, once so many seconds are over.
const SLOWEST: usize = 1 << 10;
const SLOW_SECONDS: usize = 10;

/// All bytes of a body, at most so many, and the room that they take among all bodies.
pub(crate) async fn gather(
    state: &AppState,
    headers: &HeaderMap,
    body: &mut Body,
    most: usize,
    deadline: Instant,
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Problem> {
    let too_large = || Problem {
        status: 413,
        title: "Too large",
        detail: format!("the body is longer than {most} bytes"),
    };
    let promised = headers.get(header::CONTENT_LENGTH).map(HeaderValue::to_str);
    let promised = promised.and_then(|length| length.ok()?.parse::<usize>().ok());
    if promised.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(promised.unwrap_or(0).min(64 << 10));
    let mut room: Option<OwnedSemaphorePermit> = None;
    let started = Instant::now();
    loop {
        let patience = deadline.min(Instant::now() + state.next_piece());
        let piece = match timeout_at(patience, next(body)).await {
            Ok(None) => return Ok((bytes, room)),
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => {
                return Err(Problem::bad(format!("the body broke off: {error}")));
            }
            Err(_) => {
                let came = bytes.len();
                let detail =
                    format!("the body did not arrive within the time-out: {came} bytes did");
                return Err(Problem { status: 408, title: "Request time-out", detail });
            }
        };
        if piece.len() > most - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(&piece);
        // Who sends a byte now and then would keep a connection from others for long.
        let seconds = started.elapsed().as_secs() as usize;
        if seconds >= SLOW_SECONDS && bytes.len() < seconds * SLOWEST {
            let came = bytes.len();
            let detail = format!(
                "the body comes too slowly: {came} bytes in {seconds} seconds, expected {SLOWEST} \
                 a second or more"
            );
            return Err(Problem { status: 408, title: "Request time-out", detail });
        }
        make_room(state, &mut room, bytes.len())?;
    }
}

/// Takes room for `len` bytes. Small bodies need none: connections are counted, too.
fn make_room(
    state: &AppState,
    room: &mut Option<OwnedSemaphorePermit>,
    len: usize,
) -> Result<(), Problem> {
    let needed = len >> 10;
    let have = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    if needed < 64 || needed <= have {
        return Ok(());
    }
    let more = u32::try_from(needed - have).unwrap_or(u32::MAX);
    let Ok(more) = state.bodies().clone().try_acquire_many_owned(more) else {
        return Err(Problem::unavailable(
            "too much is being sent at the same time: try again later",
        ));
    };
    match room {
        Some(room) => room.merge(more),
        None => *room = Some(more),
    }
    Ok(())
}

/// The next piece of a body; none at its end.
async fn next(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            // What is no data are trailers, which nobody needs.
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Receives and forgets a little more of a body that was refused, so that the client gets to
/// read why. Not if it waits for us to say that it may send.
pub(crate) async fn hear_out(headers: &HeaderMap, mut body: Body) {
    if headers.contains_key(header::EXPECT) || body.is_end_stream() {
        return;
    }
    let all = async {
        let mut heard = 0;
        while let Some(Ok(piece)) = next(&mut body).await {
            heard += piece.len();
            if heard > HEARD_OUT {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), all).await;
}

#[cfg(test)]
mod tests {
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
