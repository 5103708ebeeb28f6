//! The pages in a real browser: headless Chromium, driven over the WebDriver protocol. The first
//! modules are the tools (a driver, a page, what can be checked on any page) with tests of their
//! own on pages that are known to be good or bad; the others are what a person does with the
//! service.
//!
//! `scripts/setup-browser.sh` installs what is needed; `LIKEN_NO_BROWSER=1` skips these tests.
//! Screenshots are left in `target/screenshots`.

#![allow(missing_docs, clippy::unwrap_used)]

mod checks;
mod chromium;
mod compare;
mod driver;
mod element;
mod focus;
mod frame;
mod harness;
mod hostile;
mod judge;
mod search;
mod served;
mod service;
mod views;
