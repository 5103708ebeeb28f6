//! The service as its clients see it: a small index on a port of its own, asked over HTTP. Every
//! answer is held to the OpenAPI document.

#![allow(missing_docs, clippy::unwrap_used)]

mod access;
mod declared;
mod fusing;
mod near;
#[path = "../../../engine/src/testing.rs"]
mod testing;
mod topics;
mod uploads;
mod world;
