//! Request ids, which name a request in its response, in its problem and in the log.

use axum::http::{HeaderMap, HeaderName};

/// The header of request ids, in requests and responses.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub String);

impl RequestId {
    /// The client's own id, if it is short and plain; a new one otherwise.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(HEADER).and_then(|value| value.to_str().ok());
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        match given {
            Some(id) if (1..=64).contains(&id.len()) && id.chars().all(plain) => {
                RequestId(id.to_owned())
            }
            _ => RequestId(random()),
        }
    }
}

fn random() -> String {
    let mut bytes = [0u8; 12];
    // Without randomness ids repeat, which does no harm.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(value: &[u8]) -> String {
        let value = HeaderValue::from_bytes(value).unwrap();
        RequestId::of(&HeaderMap::from_iter([(HEADER, value)])).0
    }

    #[test]
    fn plain_ids_are_kept_and_others_replaced() {
        assert_eq!(of(b"a-B_9.z"), "a-B_9.z");
        assert_eq!(of(&[b'x'; 64]), "x".repeat(64));
        for strange in [&b""[..], b"a b", b"a\"b", b"<script>", b"\xff", &[b'x'; 65]] {
            let id = of(strange);
            assert!(id.len() == 24 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
        }
        assert_ne!(RequestId::of(&HeaderMap::new()), RequestId::of(&HeaderMap::new()));
    }
}
