//! The limit on open connections, and the answer to a client beyond it.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// The answer when all connections are taken.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\n\
    content-length: 160\r\n\r\n\
    {\"type\":\"urn:liken:problem:not-available-now\",\"title\":\"Not available now\",\
    \"status\":503,\"detail\":\"too many connections are open: try again later\",\"instance\":\"-\"}";

/// The most connections that are rejected at a time; further ones wait in the backlog.
pub(super) const MAX_REJECTING: usize = 16;

/// The most connections: `wanted`, but at most half of the `files` that the process may open. The
/// other half is for the index, the database and the log, so that a search never lacks one.
pub(super) fn most_connections(wanted: usize, files: Option<usize>) -> usize {
    let fit = files.map_or(usize::MAX, |files| (files / 2).saturating_sub(MAX_REJECTING).max(1));
    wanted.min(fit).min(Semaphore::MAX_PERMITS)
}

/// Answers 503, then reads for a moment: closing a connection with unread bytes resets it, and the
/// client would not see the reason.
pub(super) async fn reject(mut stream: TcpStream) {
    let answer = async {
        stream.write_all(BUSY).await?;
        stream.shutdown().await?;
        let mut rest = [0; 1024];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(Duration::from_millis(500), answer).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_answer_is_as_long_as_it_says() {
        let text = std::str::from_utf8(BUSY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        assert_eq!(length.unwrap().parse(), Ok(body.len()));
        let body: crate::http::ProblemBody = serde_json::from_str(body).unwrap();
        assert_eq!(body.status, 503);
    }

    #[test]
    fn connections_leave_files_to_the_index() {
        assert_eq!(most_connections(1024, None), 1024);
        assert_eq!(most_connections(1024, Some(1 << 16)), 1024);
        for files in 1..5000 {
            let most = most_connections(1024, Some(files));
            assert!((1..=1024).contains(&most));
            assert!(most == 1 || most + MAX_REJECTING <= files / 2, "{most} of {files}");
        }
        assert_eq!(most_connections(1024, Some(1024)), 496);
    }
}
