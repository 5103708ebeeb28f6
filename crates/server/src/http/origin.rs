//! Checks of the `Host` and `Origin` headers: the sites whose pages may send requests.
//!
//! A service on the loopback address is open to every program of the machine, and so to every
//! page in its browser; one without keys on another address is open to every page in a browser of
//! its network. Two checks keep foreign pages out: `Host` must name this service (otherwise
//! another site has made its name resolve to this address), and a request that changes something
//! must not come from a page of another site. Where others can reach the service, `Host` may be
//! an IP address, too: no site can make one resolve elsewhere. Where keys are needed, `Host` is
//! not checked: a request under a foreign name carries no key.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Method, Request, header};

use crate::problem::Problem;

/// The values of `Host` accepted besides the listed names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Hosts {
    /// All.
    #[default]
    Any,
    /// Names and addresses of this machine alone.
    Loopback,
    /// Those of [`Hosts::Loopback`], and all IP addresses.
    IpAddresses,
}

/// The callers that are accepted.
#[derive(Debug, Clone, Default)]
pub(super) struct Callers {
    pub hosts: Hosts,
    /// Further names of this service, in lower case.
    pub names: Vec<String>,
    /// Sites whose scripts may call the service.
    pub origins: Vec<String>,
}

impl Callers {
    /// The problem with a request, by its address and headers.
    pub(super) fn check<B>(&self, request: &Request<B>) -> Result<(), Problem> {
        let headers = request.headers();
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(Problem::bad("more than one Host header"));
        }
        let named = headers.get(header::HOST).map(HeaderValue::to_str);
        let host = match (request.uri().authority(), named) {
            (Some(authority), _) => Some(authority.as_str()),
            (None, Some(Ok(host))) => Some(host),
            (None, Some(Err(_))) => return Err(Problem::bad("the Host header is not plain text")),
            (None, None) => None,
        };
        if self.hosts != Hosts::Any {
            let host = host.ok_or_else(|| Problem::bad("the Host header is missing"))?;
            if !self.is_own(name_of(host)) {
                let own = match self.hosts {
                    Hosts::IpAddresses => "its IP address",
                    _ => "localhost",
                };
                return Err(Problem {
                    status: 421,
                    title: "Misdirected request",
                    detail: format!(
                        "this service answers to {own}, not to {host:?}; its operator can list \
                         the name (`host_names`)"
                    ),
                });
            }
        }
        let safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
        if safe || self.same_site(headers, host) {
            return Ok(());
        }
        Err(Problem {
            status: 403,
            title: "Forbidden",
            detail: "a page of another site may not change anything here; the operator of the \
                     service can list its origin (`cors`)"
                .into(),
        })
    }

    fn is_own(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let accepted = |ip: IpAddr| self.hosts == Hosts::IpAddresses || ip.is_loopback();
        name == "localhost"
            || name.ends_with(".localhost")
            || address.is_ok_and(accepted)
            || self.names.contains(&name)
    }

    fn same_site(&self, headers: &HeaderMap, host: Option<&str>) -> bool {
        // Scripts cannot set this header. Programs other than browsers send neither this nor an
        // origin; browsers send it where they trust the connection.
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        let Some(origin) = headers.get(header::ORIGIN) else {
            return !matches!(site, Some(b"cross-site" | b"same-site"));
        };
        if site == Some(b"same-origin") {
            return true;
        }
        let Ok(origin) = origin.to_str() else { return false };
        if self.origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let Some((_, authority)) = origin.split_once("://") else { return false };
        host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
            || self.names.contains(&name_of(authority).to_ascii_lowercase())
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => &host[..colon],
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(callers: &Callers, method: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri("/search");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        callers.check(&request.body(()).unwrap()).map_or_else(|problem| problem.status, |()| 200)
    }

    #[test]
    fn only_names_of_ours_on_loopback() {
        let names = vec!["search.example.org".to_owned()];
        let callers = Callers { hosts: Hosts::Loopback, names, ..Callers::default() };
        for good in [
            "localhost",
            "localhost:7700",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.1.2.3:80",
            "[::1]",
            "[::1]:7700",
            "search.example.org",
            "Search.Example.org:443",
            "liken.localhost",
        ] {
            assert_eq!(status(&callers, "GET", &[("host", good)]), 200, "{good}");
        }
        for bad in [
            "evil.example",
            "evil.example:7700",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
            "",
            "xsearch.example.org",
            "notlocalhost",
        ] {
            assert_eq!(status(&callers, "GET", &[("host", bad)]), 421, "{bad}");
        }
        assert_eq!(status(&callers, "GET", &[]), 400);
        assert_eq!(status(&callers, "GET", &[("host", "localhost"), ("host", "evil")]), 400);
        assert_eq!(status(&Callers::default(), "GET", &[("host", "evil.example")]), 200);
    }

    #[test]
    fn ip_addresses_are_accepted_where_others_reach_the_service() {
        let names = vec!["search.example.org".to_owned()];
        let callers = Callers { hosts: Hosts::IpAddresses, names, ..Callers::default() };
        for good in ["10.0.0.1:7700", "[fe80::1]:7700", "localhost:7700", "search.example.org"] {
            assert_eq!(status(&callers, "GET", &[("host", good)]), 200, "{good}");
        }
        for bad in ["evil.example:7700", "10.0.0.1.evil.example", "machine", "1.2.3", ""] {
            assert_eq!(status(&callers, "GET", &[("host", bad)]), 421, "{bad}");
        }
    }

    #[test]
    fn pages_of_other_sites_change_nothing() {
        let origins = vec!["https://shop.example".to_owned()];
        let callers = Callers { names: vec!["s.example".into()], origins, ..Callers::default() };
        let host = ("host", "10.0.0.1:7700");
        for good in ["http://10.0.0.1:7700", "https://shop.example", "https://s.example"] {
            assert_eq!(status(&callers, "POST", &[host, ("origin", good)]), 200, "{good}");
        }
        for bad in ["http://10.0.0.1:7701", "http://shop.example", "null", "https://evil.example"] {
            assert_eq!(status(&callers, "POST", &[host, ("origin", bad)]), 403, "{bad}");
            assert_eq!(status(&callers, "DELETE", &[host, ("origin", bad)]), 403, "{bad}");
            assert_eq!(status(&callers, "GET", &[host, ("origin", bad)]), 200, "{bad}");
        }
        assert_eq!(status(&callers, "POST", &[host]), 200);
        assert_eq!(status(&callers, "POST", &[host, ("sec-fetch-site", "cross-site")]), 403);
        let same = ("sec-fetch-site", "same-origin");
        assert_eq!(status(&callers, "POST", &[host, same]), 200);
        assert_eq!(status(&callers, "POST", &[host, same, ("origin", "null")]), 200);
    }
}
