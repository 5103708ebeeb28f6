//! Receiving a body: no longer than allowed, in time, and within the room that all bodies have.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::AppState;
use crate::problem::Problem;

/// Bytes of a refused body that are still received: a client that is sending does not listen
/// before it is done.
const HEARD_OUT: usize = 16 << 20;
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
        let patience = deadline.min(Instant::now() + state.next_chunk());
        let chunk = match timeout_at(patience, next(body)).await {
            Ok(None) => return Ok((bytes, room)),
            Ok(Some(Ok(chunk))) => chunk,
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
        if chunk.len() > most - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
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

/// The next chunk of a body; none at its end.
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
        while let Some(Ok(chunk)) = next(&mut body).await {
            heard += chunk.len();
            if heard > HEARD_OUT {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), all).await;
}
