//! The service as its clients see it: a small index on a port of its own, asked over HTTP. Every
//! answer is held to the OpenAPI document.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "service/access.rs"]
mod access;
#[path = "service/declared.rs"]
mod declared;
#[path = "service/fusing.rs"]
mod fusing;
#[path = "service/near.rs"]
mod near;
#[path = "service/topics.rs"]
mod topics;
#[path = "service/uploads.rs"]
mod uploads;
#[path = "service/world.rs"]
mod world;
