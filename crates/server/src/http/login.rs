//! The login: a form that asks for an API key, and a cookie that keeps it until the browser is
//! closed.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use liken_engine::types::Scope;
use maud::html;

use super::encoding::{encoded, pairs};
use super::keys::COOKIE;
use super::receive::read_body;
use super::respond::{bare_page, content, refuse};
use super::state::AppState;
use crate::problem::Problem;

/// The longest form that is read.
const LONGEST: usize = 8192;

/// `/login` and `/logout`.
pub(super) fn router() -> Router<AppState> {
    Router::new().route("/login", get(form).post(log_in)).route("/logout", post(log_out))
}

async fn form(uri: Uri) -> Response {
    let next = pairs(uri.query().unwrap_or_default()).ok().and_then(|pairs| value(pairs, "next"));
    page(None, &local(next))
}

async fn log_in(State(state): State<AppState>, request: Request) -> Result<Response, Problem> {
    let https = secure(request.headers());
    let form = read(request, &state).await?;
    let next = local(value(form.clone(), "next"));
    let key = value(form, "key").map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    match state.permit_key(key.clone(), Scope::Read).await {
        Err(problem) if problem.status == 401 => {
            let page = page(Some("This key is not known, or no longer valid."), &next);
            return Ok((StatusCode::FORBIDDEN, page).into_response());
        }
        permitted => permitted?,
    }
    let key = encoded(&key.unwrap_or_default());
    Ok(with_cookie(Redirect::to(&next).into_response(), &key, "", https))
}

async fn log_out(headers: HeaderMap) -> Response {
    let response = Redirect::to("/login").into_response();
    with_cookie(response, "", "; Max-Age=0", secure(&headers))
}

async fn read(request: Request, state: &AppState) -> Result<Vec<(String, String)>, Problem> {
    let media = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !media.is_some_and(|media| media.starts_with(b"application/x-www-form-urlencoded")) {
        return Err(Problem {
            status: 415,
            title: "Unsupported media type",
            detail: "expected a form (application/x-www-form-urlencoded) with the field key".into(),
        });
    }
    let (parts, body) = request.into_parts();
    let (bytes, _) = read_body(state, &parts.headers, body, LONGEST, state.deadline()).await?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Problem::bad("the form is not UTF-8"))?;
    pairs(text)
}

fn value(pairs: Vec<(String, String)>, name: &str) -> Option<String> {
    pairs.into_iter().find(|(given, _)| given == name).map(|(_, value)| value)
}

/// The path to go to after the login; `/` if `next` could lead to another site.
fn local(next: Option<String>) -> String {
    let ours = |path: &String| {
        path.starts_with('/')
            && !path.starts_with("//")
            && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    next.filter(ours).unwrap_or_else(|| "/".to_owned())
}

/// Whether the browser uses HTTPS, as a proxy in front says.
fn secure(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|value| value.as_bytes() == b"https")
}

fn with_cookie(mut response: Response, value: &str, more: &str, https: bool) -> Response {
    let secure = if https { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        Err(_) => refuse(Problem::internal("the key cannot be kept in a cookie")),
    }
}

fn page(wrong: Option<&str>, next: &str) -> Response {
    let form = html! {
        @if let Some(wrong) = wrong { p role="alert" { (wrong) } }
        form method="post" action="/login" {
            input type="hidden" name="next" value=(next);
            p {
                label for="key" { "API key" } " "
                input type="password" id="key" name="key" required autofocus
                    autocomplete="current-password";
            }
            p { button type="submit" { "Log in" } }
        }
    };
    content("text/html; charset=utf-8", bare_page("Log in", form).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        let local = |path: &str| local(Some(path.to_owned()));
        assert_eq!(local("/compare?a=b"), "/compare?a=b");
        for foreign in [
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "",
            "x",
            "/a\r\nb: c",
            "/\t/evil",
        ] {
            assert_eq!(local(foreign), "/", "{foreign:?}");
        }
    }
}
