//! Accepts and serves connections until the service is stopped.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use liken_engine::Engine;
use liken_engine::system::open_files;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::connections::{MAX_REJECTING, most_connections, reject};
use super::incidents::Incidents;
use super::layers::Peer;
use super::limits::HttpLimits;
use super::log::Log;
use super::origin::{Callers, Hosts};
use super::router::{Routes, build, cors};
use super::state::AppState;
use super::write_timeout::WriteTimeout;

/// The options of the service.
pub struct ServeOptions {
    /// The address to listen on; port 0 is any free one.
    pub addr: SocketAddr,
    /// The limits of requests.
    pub limits: HttpLimits,
    /// Sites whose scripts may call the API, such as `https://shop.example`.
    pub cors_origins: Vec<String>,
    /// Names of the service besides localhost, such as that of a proxy. The `Host` header must hold
    /// one of them if the service listens on the loopback address, or if it is open to others
    /// without keys; the latter accepts IP addresses, too.
    pub host_names: Vec<String>,
    /// Whether to listen on an address that others can reach although the index has no API keys.
    /// `Host` is then restricted to `host_names`: no foreign site can point its own name here and
    /// send requests from its visitors' browsers.
    pub allow_open: bool,
    /// The log of requests.
    pub log: Log,
    /// The incidents that `/ready` considers.
    pub incidents: Incidents,
    /// Further routes; [`crate::run()`] adds the API and the pages.
    pub routes: Routes,
    /// Called with the address once connections are accepted.
    pub listening: Option<Box<dyn FnOnce(SocketAddr) + Send>>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            addr: SocketAddr::from(([127, 0, 0, 1], 7700)),
            limits: HttpLimits::default(),
            cors_origins: Vec::new(),
            host_names: Vec::new(),
            allow_open: false,
            log: Log::none(),
            incidents: Incidents::default(),
            routes: Routes::default(),
            listening: None,
        }
    }
}

/// Serves `engine` until `shutdown` completes; running requests then have the grace period to
/// finish.
pub async fn serve(
    engine: Arc<Engine>,
    mut options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let log = std::mem::replace(&mut options.log, Log::none());
    let state = AppState::new(engine, options.limits.clone(), log);
    serve_state(state, options, shutdown).await
}

pub(super) async fn serve_state(
    state: AppState,
    options: ServeOptions,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let ServeOptions { addr, limits, cors_origins, host_names, incidents, .. } = options;
    let state = state.with_incidents(incidents);
    let wrong = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
    limits.check().map_err(wrong)?;
    let cors = cors(&cors_origins).map_err(wrong)?;
    let loopback = addr.ip().is_loopback();
    if !loopback && !options.allow_open {
        refuse_if_open(&state, addr).await?;
    }
    let hosts = match (loopback, options.allow_open) {
        (true, _) => Hosts::Loopback,
        (false, true) => Hosts::IpAddresses,
        (false, false) => Hosts::Any,
    };
    let names = host_names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let callers = Callers { hosts, names, origins: cors_origins };
    let router = build(state.clone(), options.routes, callers, cors);
    let listener = TcpListener::bind(addr).await.map_err(|error| cannot_listen(addr, &error))?;
    if let Some(listening) = options.listening {
        listening(listener.local_addr()?);
    }
    accept(listener, &state, &router, shutdown).await;
    Ok(())
}

/// Refuses to serve an index without keys to other machines.
async fn refuse_if_open(state: &AppState, addr: SocketAddr) -> io::Result<()> {
    let asked = state.clone();
    let open = tokio::task::spawn_blocking(move || asked.needs_no_key()).await;
    let open = open.map_err(io::Error::other)?.map_err(|p| io::Error::other(p.to_string()))?;
    if !open {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{} can be reached by others, and the index has no API keys\n  make a key, or listen on \
             127.0.0.1, or set `allow_open` if everybody may search and change it",
            addr.ip()
        ),
    ))
}

fn cannot_listen(addr: SocketAddr, error: &io::Error) -> io::Error {
    let port = addr.port();
    let help = match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another program listens there: stop it, or choose another port with `port`, such \
             as {}, or 0 for any that is free",
            port.checked_add(1).unwrap_or(7700)
        ),
        io::ErrorKind::PermissionDenied if port < 1024 => {
            "ports below 1024 are reserved to administrators: choose a larger one with `port`"
                .into()
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address: use 127.0.0.1 for this machine alone, 0.0.0.0 for \
             all interfaces"
                .into()
        }
        _ => error.to_string(),
    };
    io::Error::new(error.kind(), format!("cannot listen on {addr}: {help}"))
}

async fn accept(
    listener: TcpListener,
    state: &AppState,
    router: &Router,
    shutdown: impl Future<Output = ()>,
) {
    let limits = state.limits();
    let free = Arc::new(Semaphore::new(most_connections(limits.connections, open_files())));
    // Rejecting a client takes a connection, too; further clients wait in the backlog.
    let rejecting = Arc::new(Semaphore::new(MAX_REJECTING));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            // Removes connections that have ended.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Mostly too many open files, some of which will be closed soon.
                state.log().note(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let permit = match free.clone().try_acquire_owned() {
            Ok(permit) => permit,
            // Rejected, unless too many are being rejected: then it waits for either.
            Err(_) => tokio::select! {
                biased;
                () = &mut shutdown => break,
                Ok(permit) = free.clone().acquire_owned() => permit,
                Ok(rejection) = rejecting.clone().acquire_owned() => {
                    state.metrics().connection_refused();
                    connections.spawn(async move {
                        reject(stream).await;
                        drop(rejection);
                    });
                    continue;
                }
                else => continue,
            },
        };
        let serving = connection(stream, peer, state.clone(), router.clone(), graceful.watcher());
        connections.spawn(async move {
            serving.await;
            drop(permit);
        });
    }
    drop(listener);
    let grace = Duration::from_secs_f64(limits.grace_seconds);
    let ended = async {
        graceful.shutdown().await;
        while connections.join_next().await.is_some() {}
    };
    if tokio::time::timeout(grace, ended).await.is_err() {
        let note = format!("connections cut off at shutdown: {}", connections.len());
        state.log().note(&note);
        connections.shutdown().await;
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    state: AppState,
    router: Router,
    watcher: Watcher,
) {
    // Responses are written whole: waiting for more only costs time.
    let _ = stream.set_nodelay(true);
    let limits = state.limits();
    let _counted = state.metrics().connection();
    let stream = WriteTimeout::new(stream, Duration::from_secs_f64(limits.write_seconds));
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(request.map(Body::new))
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs_f64(limits.header_seconds))
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(64 << 10))
        .serve_connection(TokioIo::new(stream), service);
    // Errors are the client's: it disconnected, took too long, or does not speak HTTP.
    let _ = watcher.watch(serving).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hinders_listening_is_said_with_what_to_do() {
        let addr = SocketAddr::from(([127, 0, 0, 1], 7700));
        let error = |kind: io::ErrorKind| cannot_listen(addr, &kind.into()).to_string();
        let in_use = error(io::ErrorKind::AddrInUse);
        assert!(in_use.contains("127.0.0.1:7700") && in_use.contains("`port`"), "{in_use}");
        assert!(error(io::ErrorKind::AddrNotAvailable).contains("0.0.0.0"));
    }
}
