//! The service over HTTP: who may ask, how much, and how long it may take; and the loop that
//! accepts connections. It knows nothing of what can be asked: [`Routes`] are given to it.
//!
//! ```text
//! connection   limits on number, heads, slow clients          serve.rs, connections.rs, write_timeout.rs
//! around       request id, problems, headers, log, counts     layers.rs, respond.rs
//! callers      Host and Origin                                origin.rs
//! CORS         only where origins are listed
//! keys         before a body is read                          keys.rs, login.rs
//! body         size, time                                     receive.rs
//! work         in worker pools, with one bounded queue        worker_pools.rs
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
pub use limits::Limits;
pub use log::{Log, LogFormat};
pub use metrics::Metrics;
pub(crate) use receive::{gather, hear_out};
pub use request_id::RequestId;
pub(crate) use respond::{POLICY, content, to_json};
pub use respond::{ProblemBody, json, refuse};
pub use router::Routes;
pub use serve::{ServeOptions, serve};
pub use state::AppState;
pub use worker_pools::{WorkerPool, WorkerPools};
