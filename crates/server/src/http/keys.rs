//! API keys: in headers, or in the cookie that the login page sets.

use axum::http::{HeaderMap, header};
use liken_engine::types::Scope;

use super::encoding::decoded;
use crate::problem::Problem;

/// The cookie that keeps the key of a browser.
pub(super) const COOKIE: &str = "liken_key";

/// The longest key that is looked up.
const LONGEST: usize = 512;

/// Whether a key has a scope; without a key, whether the index is open to all.
pub(super) type Allows = dyn Fn(Option<&str>, Scope) -> Result<bool, Problem> + Send + Sync;

/// The problem with `key`, unless it has `scope`.
pub(super) fn check(allows: &Allows, key: Option<&str>, scope: Scope) -> Result<(), Problem> {
    if allows(key, scope)? {
        return Ok(());
    }
    let name = scope.name();
    if key.is_none() {
        return Err(unauthorized(format!(
            "this needs an API key with the scope {name}: send it as `Authorization: Bearer KEY` \
             or as `X-API-Key: KEY`"
        )));
    }
    if scope > Scope::Read && allows(key, Scope::Read)? {
        let detail = format!("this key's scope is too small: this needs {name}");
        return Err(Problem { status: 403, title: "Forbidden", detail });
    }
    Err(unauthorized(UNKNOWN.into()))
}

const UNKNOWN: &str = "this key is not known, or no longer valid";

fn unauthorized(detail: String) -> Problem {
    Problem { status: 401, title: "Unauthorized", detail }
}

/// The key of a request: `X-API-Key` goes before `Authorization`, and both before the cookie.
pub(super) fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let unreadable = |_| unauthorized("the API key is not plain text".into());
    let key = if let Some(value) = headers.get("x-api-key") {
        Some(value.to_str().map_err(unreadable)?.trim().to_owned())
    } else if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().map_err(unreadable)?;
        let bearer = value.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
        // Another scheme is for somebody else, such as a proxy in front.
        bearer.map(|(_, key)| key.trim().to_owned()).or_else(|| cookie(headers))
    } else {
        cookie(headers)
    };
    if key.as_ref().is_some_and(|key| key.len() > LONGEST) {
        return Err(unauthorized(UNKNOWN.into()));
    }
    Ok(key.filter(|key| !key.is_empty()))
}

/// The key in the cookie; one that cannot be decoded counts as none, since no person wrote it.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).into_iter();
    let mut pairs = cookies.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(';'));
    let value = pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))?;
    decoded(value, false).ok()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn key(headers: &[(&'static str, &str)]) -> Result<Option<String>, u16> {
        let pairs = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        key_of(&pairs.collect()).map_err(|problem| problem.status)
    }

    #[test]
    fn keys_are_found_where_they_may_be() {
        let some = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(key(&[]), Ok(None));
        assert_eq!(key(&[("authorization", "Bearer abc")]), some("abc"));
        assert_eq!(key(&[("authorization", "bearer  abc ")]), some("abc"));
        assert_eq!(key(&[("x-api-key", "abc")]), some("abc"));
        assert_eq!(key(&[("cookie", "a=b; liken_key=x%2Fy; c=d")]), some("x/y"));
        assert_eq!(key(&[("cookie", "liken_key2=x")]), Ok(None));
        assert_eq!(key(&[("x-api-key", "one"), ("cookie", "liken_key=two")]), some("one"));
        assert_eq!(key(&[("authorization", "Basic abc")]), Ok(None));
        assert_eq!(key(&[("authorization", "Basic abc"), ("cookie", "liken_key=x")]), some("x"));
        assert_eq!(key(&[("authorization", "Bearer")]), Ok(None));
        assert_eq!(key(&[("x-api-key", &"x".repeat(10_000))]), Err(401));
    }
}
