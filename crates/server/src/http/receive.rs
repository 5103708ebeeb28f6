//! Receives bodies: within their size limit, in time, and within the memory of all bodies.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::AppState;
use crate::problem::Problem;

/// Bytes of a refused body that are still received: a client reads no response while it sends.
const MOST_DRAINED: usize = 16 << 20;
/// The lowest rate of a body, in bytes per second, once it has taken [`SLOW_SECONDS`].
const LOWEST_RATE: usize = 1 << 10;
const SLOW_SECONDS: usize = 10;

/// All bytes of a body, at most `most`, with the permit that counts them towards the memory of all
/// bodies. A refused body is drained.
pub(crate) async fn read_body(
    state: &AppState,
    headers: &HeaderMap,
    mut body: Body,
    most: usize,
    deadline: Instant,
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Problem> {
    let read = read_chunks(state, headers, &mut body, most, deadline).await;
    // A client that was too slow has had its time.
    if read.as_ref().is_err_and(|problem| problem.status != 408) {
        drain(headers, body).await;
    }
    read
}

async fn read_chunks(
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
    let slow = |detail: String| Problem { status: 408, title: "Request time-out", detail };
    let promised = headers.get(header::CONTENT_LENGTH).map(HeaderValue::to_str);
    let promised = promised.and_then(|length| length.ok()?.parse::<usize>().ok());
    if promised.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(promised.unwrap_or(0).min(64 << 10));
    let mut memory: Option<OwnedSemaphorePermit> = None;
    let started = Instant::now();
    loop {
        let end = deadline.min(state.deadline());
        let chunk = match timeout_at(end, next(body)).await {
            Ok(None) => return Ok((bytes, memory)),
            Ok(Some(chunk)) => {
                chunk.map_err(|error| Problem::bad(format!("the body broke off: {error}")))?
            }
            Err(_) => {
                let came = bytes.len();
                return Err(slow(format!(
                    "the body did not arrive within the time-out: {came} bytes did"
                )));
            }
        };
        if chunk.len() > most - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
        // A client that sends a byte now and then would occupy a connection for long.
        let seconds = started.elapsed().as_secs() as usize;
        if seconds >= SLOW_SECONDS && bytes.len() < seconds * LOWEST_RATE {
            let came = bytes.len();
            return Err(slow(format!(
                "the body comes too slowly: {came} bytes in {seconds} seconds, expected \
                 {LOWEST_RATE} or more per second"
            )));
        }
        reserve(state, &mut memory, bytes.len())?;
    }
}

/// Extends `memory` to `len` bytes. Small bodies need none: connections are limited, too.
fn reserve(
    state: &AppState,
    memory: &mut Option<OwnedSemaphorePermit>,
    len: usize,
) -> Result<(), Problem> {
    let needed = len >> 10;
    let have = memory.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    if needed < 64 || needed <= have {
        return Ok(());
    }
    let more = u32::try_from(needed - have).unwrap_or(u32::MAX);
    let Ok(more) = state.bodies().clone().try_acquire_many_owned(more) else {
        return Err(Problem::unavailable(
            "clients send too much at the same time: try again later",
        ));
    };
    match memory {
        Some(memory) => memory.merge(more),
        None => *memory = Some(more),
    }
    Ok(())
}

/// The next chunk of a body; none at its end.
async fn next(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            // A frame without data holds trailers, which are not used.
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Receives and drops the rest of a refused body, within limits, so that the client gets to read
/// the response. Does nothing if the client waits for permission to send.
pub(crate) async fn drain(headers: &HeaderMap, mut body: Body) {
    if headers.contains_key(header::EXPECT) || body.is_end_stream() {
        return;
    }
    let all = async {
        let mut drained = 0;
        while let Some(Ok(chunk)) = next(&mut body).await {
            drained += chunk.len();
            if drained > MOST_DRAINED {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), all).await;
}
