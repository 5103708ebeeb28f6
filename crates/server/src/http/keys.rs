//! Who may do what: API keys in headers, or in the cookie that the login page sets.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use liken_engine::types::Scope;

use super::encoding::decoded;
use super::state::AppState;
use super::worker_pools::WorkerPool;
use crate::problem::Problem;

/// The cookie of people who use the pages.
pub(super) const COOKIE: &str = "liken_key";

/// The longest key that is looked up.
const LONGEST: usize = 512;

/// Whether a key may do what needs a scope.
pub(super) type Allows = dyn Fn(Option<&str>, Scope) -> Result<bool, Problem> + Send + Sync;

/// Looks keys up.
pub(super) struct Keys {
    allows: Arc<Allows>,
}

impl Keys {
    pub(super) fn new(allows: Box<Allows>) -> Self {
        Keys { allows: allows.into() }
    }

    /// Whether everybody may do everything: the index has no keys.
    pub(super) fn open(&self) -> Result<bool, Problem> {
        (self.allows)(None, Scope::Admin)
    }

    pub(super) async fn permit(
        &self,
        state: &AppState,
        headers: &HeaderMap,
        scope: Scope,
    ) -> Result<(), Problem> {
        let key = key_of(headers)?;
        self.allowed(state, key, scope).await
    }

    /// The problem, unless `key` may do what needs `scope`.
    pub(super) async fn allowed(
        &self,
        state: &AppState,
        key: Option<String>,
        scope: Scope,
    ) -> Result<(), Problem> {
        if state.engine().is_open() {
            return Ok(());
        }
        let allows = self.allows.clone();
        let look_up = move || {
            let key = key.as_deref();
            if allows(key, scope)? {
                return Ok(());
            }
            let name = scope.name();
            if key.is_none() {
                return Err(unauthorized(format!(
                    "this needs an API key with the scope {name}: send it as `Authorization: \
                     Bearer KEY` or as `X-API-Key: KEY`"
                )));
            }
            if scope > Scope::Read && allows(key, Scope::Read)? {
                return Err(Problem {
                    status: 403,
                    title: "Forbidden",
                    detail: format!("this key's scope is too small: this needs {name}"),
                });
            }
            Err(unauthorized("this key is not known, or no longer valid".into()))
        };
        state.workers().run(WorkerPool::Light, state.deadline(), look_up).await
    }
}

fn unauthorized(detail: String) -> Problem {
    Problem { status: 401, title: "Unauthorized", detail }
}

/// The key that a request carries: of the headers the more explicit one first.
fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let unreadable = || unauthorized("the API key is not plain text".into());
    let key = if let Some(value) = headers.get("x-api-key") {
        Some(value.to_str().map_err(|_| unreadable())?.trim().to_owned())
    } else if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().map_err(|_| unreadable())?;
        let bearer = value.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
        // Another scheme is for somebody else, such as a proxy in front.
        bearer.map(|(_, key)| key.trim().to_owned()).or_else(|| cookie(headers))
    } else {
        cookie(headers)
    };
    if key.as_ref().is_some_and(|key| key.len() > LONGEST) {
        return Err(unauthorized("this key is not known, or no longer valid".into()));
    }
    Ok(key.filter(|key| !key.is_empty()))
}

/// The key in the cookie; one that cannot be read counts as none, since nobody wrote it by hand.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).into_iter();
    let mut pieces = cookies.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(';'));
    let value = pieces.find_map(|piece| {
        let (name, value) = piece.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    })?;
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
