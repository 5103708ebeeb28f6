//! From an open engine to a service: what the command line calls, which knows nothing of
//! asynchronous code.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use liken_engine::Engine;

use crate::http::{Routes, ServeOptions, serve};
use crate::pages;

/// How often it is asked whether to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long work that nobody waits for may go on at the end.
const GRACE: Duration = Duration::from_secs(5);
/// How often it is tried to close the index at the end.
const CLOSING: usize = 100;

/// The API and the pages of the index in `folder`.
pub fn routes(folder: &Path) -> Routes {
    let jobs = Arc::new(pages::page_jobs::PageJobs::new(folder));
    Routes { api: crate::api::router(), pages: pages::router(jobs), open: pages::assets() }
}

/// Serves `engine` with its API and pages until `stop` says so; requests that run are finished.
pub fn run(
    engine: Arc<Engine>,
    mut options: ServeOptions,
    stop: impl Fn() -> bool + Send + 'static,
) -> io::Result<()> {
    let (given, own) = (options.routes, routes(engine.folder()));
    options.routes = Routes {
        api: given.api.merge(own.api),
        pages: given.pages.merge(own.pages),
        open: given.open.merge(own.open),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut last = Arc::clone(&engine);
    let served = runtime.block_on(serve(engine, options, async move {
        while !stop() {
            tokio::time::sleep(LOOK).await;
        }
    }));
    // Work that is under way may not hold the process for ever.
    runtime.shutdown_timeout(GRACE);
    // Whoever applies changes may hold it for a moment: if that thread were the last to let go, the
    // process could end before the database is closed.
    for _ in 0..CLOSING {
        match Arc::try_unwrap(last) {
            Ok(_) => break,
            Err(held) => last = held,
        }
        std::thread::sleep(LOOK);
    }
    served
}
