//! The service over HTTP: who may ask, how much, and how long it may take; and the loop that
//! accepts connections. It knows nothing of what can be asked: [`Routes`] are given to it.
//!
//! ```text
//! connection   limits on number, heads, slow clients          serve.rs, places.rs, patient.rs
//! around       request id, problems, headers, log, counts     layers.rs, respond.rs
//! callers      Host and Origin                                origin.rs
//! CORS         only where origins are listed
//! keys         before a body is read                          keys.rs, login.rs
//! body         size, time                                     receive.rs
//! work         on blocking threads, so many at a time         work.rs
//! ```

mod encoding;
mod keys;
mod layers;
mod limits;
mod log;
mod login;
mod metrics;
mod origin;
mod patient;
mod places;
mod receive;
mod request_id;
mod respond;
mod router;
mod serve;
mod state;
mod trouble;
mod work;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use encoding::{decoded, encoded, pairs};
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
pub use trouble::Trouble;
pub use work::{Lane, Work};
