//! Serves an open engine: a blocking interface over the asynchronous service.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use liken_engine::Engine;

use crate::http::{Routes, ServeOptions, serve};
use crate::pages;

/// The time between two checks of the wish to stop, or of the engine's other owners.
const POLL: Duration = Duration::from_millis(50);
/// The longest time for which background work goes on at shutdown.
const GRACE: Duration = Duration::from_secs(5);
/// The most attempts to close the index at shutdown, one per [`POLL`].
const CLOSE_ATTEMPTS: usize = 100;

/// The routes of the API and the pages for the index in `folder`.
pub fn routes(folder: &Path) -> Routes {
    let jobs = Arc::new(pages::page_jobs::PageJobs::new(folder));
    Routes { api: crate::api::router(), pages: pages::router(jobs), open: pages::assets() }
}

/// Serves `engine` with its API and pages until `stop` returns true; running requests are finished.
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
            tokio::time::sleep(POLL).await;
        }
    }));
    // Running work must not keep the process alive for ever.
    runtime.shutdown_timeout(GRACE);
    // The thread that applies changes may hold the engine for a moment: if it were the last owner,
    // the process could end before the database is closed.
    for _ in 0..CLOSE_ATTEMPTS {
        match Arc::try_unwrap(last) {
            Ok(_) => break,
            Err(held) => last = held,
        }
        std::thread::sleep(POLL);
    }
    served
}
