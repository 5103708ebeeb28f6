//! A connection of HTTP/1.1 that stays open: one request, one answer, and the next.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where requests go.
pub struct Target {
    address: String,
    path: String,
}

impl Target {
    /// Of `http://HOST:PORT/PATH`.
    pub fn of(url: &str) -> Result<Self, String> {
        let expected = || format!("expected http://HOST:PORT/PATH, got {url:?}");
        let (address, path) = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .filter(|(address, _)| address.contains(':'))
            .ok_or_else(expected)?;
        Ok(Target { address: address.into(), path: format!("/{path}") })
    }

    /// A request with this body, as it goes over the wire.
    pub fn request(&self, body: &str) -> Vec<u8> {
        let Target { address, path } = self;
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// A connection, opened when it is first needed.
pub struct Connection<'a> {
    target: &'a Target,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

impl<'a> Connection<'a> {
    pub fn new(target: &'a Target) -> Self {
        Connection { target, stream: None, buffer: Vec::with_capacity(1 << 16) }
    }

    /// Sends a request; the body of the answer, or why there is none. After an error the connection
    /// is of no use.
    pub async fn ask(&mut self, request: &[u8]) -> Result<&[u8], String> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect(&self.target.address)
                    .await
                    .map_err(|error| format!("connecting: {error}"))?;
                stream.set_nodelay(true).map_err(|error| error.to_string())?;
                none.insert(stream)
            }
        };
        stream.write_all(request).await.map_err(|error| format!("sending: {error}"))?;
        self.buffer.clear();
        let mut head: Option<Head> = None;
        loop {
            if let Some(head) = &head
                && self.buffer.len() >= head.end
            {
                break;
            }
            let read = stream.read_buf(&mut self.buffer).await;
            match read.map_err(|error| format!("receiving: {error}"))? {
                0 => return Err("the service closed the connection before its answer".into()),
                _ if head.is_none() => head = Head::of(&self.buffer)?,
                _ => {}
            }
        }
        let Some(Head { status, start, end, close }) = head else {
            return Err("an answer without a head".into());
        };
        if self.buffer.len() > end {
            return Err("more bytes than the answer announced".into());
        }
        if close {
            self.stream = None;
        }
        let body = &self.buffer[start..end];
        match status {
            200 => Ok(body),
            _ => {
                Err(format!("{status}: {}", String::from_utf8_lossy(&body[..body.len().min(300)])))
            }
        }
    }
}

/// What the head of an answer says.
#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    /// Where the body begins.
    start: usize,
    /// Where it ends.
    end: usize,
    /// Whether the service closes the connection.
    close: bool,
}

impl Head {
    /// The head at the beginning of `bytes`; nothing while it has not all come.
    fn of(bytes: &[u8]) -> Result<Option<Self>, String> {
        let Some(length) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&bytes[..length]).map_err(|_| "a head that is no text")?;
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|status| status.parse().ok())
            .ok_or(format!("expected HTTP/1.1 and a status, got {first:?}"))?;
        let (mut announced, mut close) = (None, false);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                announced = value.trim().parse::<usize>().ok();
            } else if name.eq_ignore_ascii_case("connection") {
                close = value.trim().eq_ignore_ascii_case("close");
            }
        }
        let start = length + 4;
        let announced = announced.ok_or("an answer without content-length")?;
        Ok(Some(Head { status, start, end: start + announced, close }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_whole_or_not_at_all() {
        let bytes = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\nConnection: close\r\n\r\n{}";
        let start = bytes.len() - 2;
        let head = Head { status: 200, start, end: bytes.len(), close: true };
        assert_eq!(Head::of(bytes), Ok(Some(head)));
        for n in 0..start {
            assert_eq!(Head::of(&bytes[..n]), Ok(None));
        }
        assert!(Head::of(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(Head::of(b"no\r\n\r\n").is_err());
    }

    #[test]
    fn urls_need_a_port_and_a_path() {
        let target = Target::of("http://127.0.0.1:80/search").unwrap();
        let request = String::from_utf8(target.request("{\"ä\":1}")).unwrap();
        assert!(request.starts_with("POST /search HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"));
        assert!(request.contains("Content-Length: 8\r\n"));
        for url in ["https://a:1/b", "http://a/b", "a:1/b", "http://a:1"] {
            assert!(Target::of(url).is_err(), "{url}");
        }
    }
}
