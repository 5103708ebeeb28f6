//! The pages in a real browser: headless Chromium, driven over the WebDriver protocol. The first
//! modules are the tools (a driver, a page, what can be checked on any page) with tests of their
//! own on pages that are known to be good or bad; the others are what a person does with the
//! service.
//!
//! `scripts/setup-browser.sh` installs what is needed; `LIKEN_NO_BROWSER=1` skips these tests.
//! Screenshots are left in `target/screenshots`.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "browser/checks.rs"]
mod checks;
#[path = "browser/chromium.rs"]
mod chromium;
#[path = "browser/compare.rs"]
mod compare;
#[path = "browser/driver.rs"]
mod driver;
#[path = "browser/element.rs"]
mod element;
#[path = "browser/focus.rs"]
mod focus;
#[path = "browser/frame.rs"]
mod frame;
#[path = "browser/harness.rs"]
mod harness;
#[path = "browser/hostile.rs"]
mod hostile;
#[path = "browser/judge.rs"]
mod judge;
#[path = "browser/search.rs"]
mod search;
#[path = "browser/served.rs"]
mod served;
#[path = "browser/service.rs"]
mod service;
#[path = "browser/views.rs"]
mod views;
