//! HTTP: accepts connections, checks callers, keys and limits, logs and counts. It knows no route
//! of its own but the login: it is given [`Routes`].
//!
//! ```text
//! connection   limits on number, heads, slow clients            serve.rs, connections.rs, write_timeout.rs
//! outermost    request id, problems, headers, log, metrics      layers.rs, respond.rs
//! callers      Host and Origin                                  origin.rs
//! CORS         only where origins are listed                    router.rs
//! keys         before the body is read                          keys.rs, login.rs
//! body         size, time                                       receive.rs
//! work         in worker pools, with one bounded queue          worker_pools.rs
//! ```

mod connections;
mod encoding;
mod incidents;
mod keys;
mod layers;
mod limits;
mod log;
mod login;
mod metrics;
mod origin;
mod receive;
mod request_id;
mod respond;
mod router;
mod serve;
mod state;
mod worker_pools;
mod write_timeout;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use encoding::{decoded, encoded, pairs};
pub use incidents::Incidents;
pub use layers::SearchedFor;
pub use limits::HttpLimits;
pub use log::{Log, LogFormat};
pub use metrics::Metrics;
pub(crate) use receive::{drain, read_body};
pub use request_id::RequestId;
pub use respond::{ProblemBody, json, refuse};
pub(crate) use respond::{content, html_page, to_json};
pub use router::Routes;
pub use serve::{ServeOptions, serve};
pub use state::AppState;
pub use worker_pools::{WorkerPool, WorkerPools};
