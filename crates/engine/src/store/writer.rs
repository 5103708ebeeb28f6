//! The thread that writes: all queued requests share one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::space::Disk;
use super::sql::{execute, last_change};
use super::{Result, StoreError};

/// The most requests of a transaction, so that the first does not wait for long.
const MOST_TOGETHER: usize = 256;

/// The most disk space of a write, as a multiple of its size: in the write-ahead log, in the database, and later
/// in the text index.
const TIMES: u64 = 3;

/// The bytes that a row takes besides its text, in its table and in indexes.
pub(super) const ROW: usize = 128;

/// The disk space that a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// For this many bytes, the space beyond the reserve.
    Usual(usize),
    /// All of it: the request frees space, or must always be possible.
    Reserve,
}

/// A request with its answer, of any types.
trait Request: Send {
    fn space(&self) -> Space;
    /// Does the work, perhaps again, and keeps the outcome.
    fn apply(&mut self, connection: &Connection) -> Result<()>;
    /// Sends the outcome to the caller; `failed` if the work did not reach the disk.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

struct Queued<T, F> {
    space: Space,
    work: F,
    outcome: Option<Result<T>>,
    reply: SyncSender<Result<T>>,
}

impl<T, F> Request for Queued<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T> + Send,
{
    fn space(&self) -> Space {
        self.space
    }

    fn apply(&mut self, connection: &Connection) -> Result<()> {
        let outcome = (self.work)(connection);
        let result = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.outcome = Some(outcome);
        result
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        let outcome = match (failed, self.outcome) {
            (Some(error), _) => Err(error.on_write()),
            (None, Some(outcome)) => outcome.map_err(StoreError::on_write),
            (None, None) => Err(stopped()),
        };
        // The caller may have gone; the write is on disk all the same.
        let _ = self.reply.send(outcome);
    }
}

/// The thread and its queue.
pub(super) struct Writer {
    requests: Option<Sender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// State that the thread and its callers share.
struct Shared {
    disk: Disk,
    /// Whether the last write failed although the disk seemed to have space.
    failed: AtomicBool,
    /// The last change that the text index is known to have indexed.
    applied: AtomicU64,
}

impl Writer {
    /// Gives `connection` to a thread of its own.
    pub(super) fn start(connection: Connection, disk: Disk) -> Self {
        let (requests, queue) = channel();
        let (failed, applied) = (AtomicBool::new(false), AtomicU64::new(0));
        let shared = Arc::new(Shared { disk, failed, applied });
        let of_thread = shared.clone();
        let thread = std::thread::spawn(move || serve(&connection, &queue, &of_thread));
        Writer { requests: Some(requests), thread: Some(thread), shared }
    }

    /// Whether there is no disk space now, or the last write failed for a reason that only another
    /// write can show to be over.
    pub(super) fn is_full(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed) || self.shared.disk.is_short()
    }

    /// Notes that the text index has all changes up to `applied`.
    pub(super) fn applied(&self, applied: u64) {
        self.shared.applied.fetch_max(applied, Ordering::Relaxed);
    }

    /// Does `work` together with other queued requests; returns when it is on disk.
    pub(super) fn run<T: Send + 'static>(
        &self,
        space: Space,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = sync_channel(1);
        let request = Box::new(Queued { space, work, outcome: None, reply });
        let requests = self.requests.as_ref().ok_or_else(stopped)?;
        requests.send(request).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }
}

impl Drop for Writer {
    /// Waits for all queued requests.
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn stopped() -> StoreError {
    StoreError::Unusable("the thread that writes has ended; restart the service".into())
}

/// Serves the queue until its senders are gone.
fn serve(connection: &Connection, queue: &Receiver<Box<dyn Request>>, shared: &Shared) {
    // Bytes that the text index has yet to index, each with the last of their changes.
    let mut behind: Vec<(u64, u64)> = Vec::new();
    let mut last = last_change(connection).unwrap_or(0);
    while let Ok(first) = queue.recv() {
        let mut group = vec![first];
        group.extend(queue.try_iter().take(MOST_TOGETHER - 1));
        let applied = shared.applied.load(Ordering::Relaxed);
        behind.retain(|(seq, _)| *seq > applied);
        let planned = behind.iter().map(|(_, bytes)| bytes).sum();
        let (group, bytes) = admit(group, &shared.disk, planned);
        if !group.is_empty() {
            write(connection, group, shared);
        }
        let now = last_change(connection).unwrap_or(last);
        if now > last {
            behind.push((now, bytes));
            last = now;
        }
    }
}

/// The requests that there is disk space for, and how many bytes they write; the others are refused.
/// `planned` bytes are reserved for earlier ones.
fn admit(group: Vec<Box<dyn Request>>, disk: &Disk, planned: u64) -> (Vec<Box<dyn Request>>, u64) {
    let free = disk.free();
    let (mut fit, mut bytes) = (Vec::with_capacity(group.len()), 0);
    for request in group {
        if let Space::Usual(more) = request.space() {
            let with = bytes + more as u64;
            if let Err(error) = disk.check(free, planned.saturating_add(with * TIMES)) {
                request.answer(Some(error));
                continue;
            }
            bytes = with;
        }
        fit.push(request);
    }
    (fit, bytes)
}

/// Writes a group in one transaction or, if that fails, each request in its own.
fn write(connection: &Connection, mut group: Vec<Box<dyn Request>>, shared: &Shared) {
    // The flag is set before the answers are sent, so that callers see both agree.
    let error = match together(connection, &mut group) {
        Ok(()) => {
            shared.failed.store(false, Ordering::Relaxed);
            group.into_iter().for_each(|request| request.answer(None));
            return;
        }
        Err(error) => error,
    };
    if group.len() > 1 {
        // The whole transaction is rolled back. A large request must not fail small ones.
        for request in group {
            write(connection, vec![request], shared);
        }
        return;
    }
    if matches!(error, StoreError::Full(_) | StoreError::Disk(_)) {
        // If the disk is full, measuring it shows when that is over.
        shared.disk.free();
        shared.failed.store(!shared.disk.is_short(), Ordering::Relaxed);
    }
    group.into_iter().for_each(|request| request.answer(Some(error.clone())));
}

/// Applies all requests of `group` in one transaction. A request that fails for a reason of its own
/// keeps its error and is rolled back; an error here means that nothing was written.
fn together(connection: &Connection, group: &mut [Box<dyn Request>]) -> Result<()> {
    run(connection, "BEGIN IMMEDIATE")?;
    let written = (|| {
        for request in group.iter_mut() {
            run(connection, "SAVEPOINT request")?;
            match request.apply(connection) {
                Ok(()) => run(connection, "RELEASE request")?,
                Err(error @ (StoreError::Full(_) | StoreError::Disk(_))) => return Err(error),
                Err(error) if connection.is_autocommit() => return Err(error),
                Err(_) => {
                    run(connection, "ROLLBACK TO request")?;
                    run(connection, "RELEASE request")?;
                }
            }
        }
        run(connection, "COMMIT")
    })();
    // SQLite rolls some errors back itself.
    if written.is_err() && !connection.is_autocommit() {
        run(connection, "ROLLBACK")?;
    }
    written
}

fn run(connection: &Connection, sql: &str) -> Result<()> {
    execute(connection, sql, []).map(|_| ())
}
