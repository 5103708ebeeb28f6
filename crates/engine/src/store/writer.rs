//! The thread that writes: whatever waits goes to the disk together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::changes::last_change;
use super::space::Disk;
use super::{Result, StoreError, schema};

/// At most so many requests share a transaction, so that the first does not wait for long.
const MOST_TOGETHER: usize = 256;

/// What is written takes up to so many times its size: in the log of the database, in the
/// database itself, and in the text index, which takes it in later.
const TIMES: u64 = 3;

/// What a row takes besides its text, in its table and in indexes.
pub(super) const ROW: usize = 128;

/// Which part of the disk a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// What is free beyond the reserve, for so many bytes that are to be written.
    Usual(usize),
    /// All: it makes room, or it must be possible whatever happens.
    Reserve,
}

/// A request with its answer, whatever types they have.
trait Request: Send {
    fn room(&self) -> Room;
    /// Does the work, anew if it was done before, and keeps the outcome.
    fn apply(&mut self, connection: &Connection) -> Result<()>;
    /// Tells the outcome to whoever waits; `failed` if the work did not reach the disk.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

struct Waiting<T, F> {
    room: Room,
    work: F,
    outcome: Option<Result<T>>,
    reply: SyncSender<Result<T>>,
}

impl<T, F> Request for Waiting<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T> + Send,
{
    fn room(&self) -> Room {
        self.room
    }

    fn apply(&mut self, connection: &Connection) -> Result<()> {
        let outcome = (self.work)(connection);
        let told = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.outcome = Some(outcome);
        told
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        let outcome = match (failed, self.outcome) {
            (Some(error), _) => Err(error.on_write()),
            (None, Some(outcome)) => outcome.map_err(StoreError::on_write),
            (None, None) => Err(stopped()),
        };
        // Nobody may wait any more; what was written stays written.
        let _ = self.reply.send(outcome);
    }
}

/// The thread and the way to it.
pub(super) struct Writer {
    requests: Option<Sender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// What the thread and those who ask it both know.
struct Shared {
    disk: Disk,
    /// Whether the last write failed although the disk seemed to have room.
    failed: AtomicBool,
    /// The last change that the text index is known to have taken in.
    applied: AtomicU64,
}

impl Writer {
    /// Gives `connection` to a thread of its own.
    pub(super) fn start(connection: Connection, disk: Disk, most: Option<u64>) -> Self {
        let (requests, waiting) = channel();
        let (failed, applied) = (AtomicBool::new(false), AtomicU64::new(0));
        let shared = Arc::new(Shared { disk, failed, applied });
        let known = shared.clone();
        let thread = std::thread::spawn(move || {
            let limited = match most {
                Some(_) => schema::limit(&connection, most),
                None => Ok(()),
            };
            serve(&connection, &waiting, &known, limited.err());
        });
        Writer { requests: Some(requests), thread: Some(thread), shared }
    }

    /// Whether there is no room now, or the last write failed for a reason that only another
    /// write can find gone.
    pub(super) fn is_full(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed) || self.shared.disk.is_short()
    }

    /// Hears that the text index has taken all changes up to `applied` in.
    pub(super) fn applied(&self, applied: u64) {
        self.shared.applied.fetch_max(applied, Ordering::Relaxed);
    }

    /// Does `work` with whatever else waits, and returns when it is on disk.
    pub(super) fn run<T: Send + 'static>(
        &self,
        room: Room,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = sync_channel(1);
        let request = Box::new(Waiting { room, work, outcome: None, reply });
        let requests = self.requests.as_ref().ok_or_else(stopped)?;
        requests.send(request).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }
}

impl Drop for Writer {
    /// Waits for all that was asked.
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

/// Takes what waits, again and again, until nobody can ask any more.
fn serve(
    connection: &Connection,
    waiting: &Receiver<Box<dyn Request>>,
    shared: &Shared,
    unfit: Option<StoreError>,
) {
    // Bytes that the text index has yet to take in, each with the change that ends them.
    let mut behind: Vec<(u64, u64)> = Vec::new();
    let mut last = last_change(connection).unwrap_or(0);
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(MOST_TOGETHER - 1));
        if let Some(error) = &unfit {
            group.into_iter().for_each(|request| request.answer(Some(error.clone())));
            continue;
        }
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

/// The requests that there is room for, and how many bytes they write; the others are refused.
/// What was `planned` before needs room, too.
fn admit(group: Vec<Box<dyn Request>>, disk: &Disk, planned: u64) -> (Vec<Box<dyn Request>>, u64) {
    let free = disk.free();
    let (mut fit, mut bytes) = (Vec::with_capacity(group.len()), 0);
    for request in group {
        if let Room::Usual(more) = request.room() {
            let with = bytes + more as u64;
            if let Err(error) = disk.has_room(free, planned.saturating_add(with * TIMES)) {
                request.answer(Some(error));
                continue;
            }
            bytes = with;
        }
        fit.push(request);
    }
    (fit, bytes)
}

/// Writes a group, or, if it cannot be written together, each request alone.
fn write(connection: &Connection, mut group: Vec<Box<dyn Request>>, shared: &Shared) {
    // Whoever has an answer shall find the flag as the answer says.
    let error = match together(connection, &mut group) {
        Ok(()) => {
            shared.failed.store(false, Ordering::Relaxed);
            group.into_iter().for_each(|request| request.answer(None));
            return;
        }
        Err(error) => error,
    };
    if group.len() > 1 {
        // The whole transaction is undone. A large request must not take small ones with it.
        for request in group {
            write(connection, vec![request], shared);
        }
        return;
    }
    if matches!(error, StoreError::Full(_) | StoreError::Disk(_)) {
        // Where it is the disk that is full, looking at it says when it is not so any more.
        shared.disk.free();
        shared.failed.store(!shared.disk.is_short(), Ordering::Relaxed);
    }
    group.into_iter().for_each(|request| request.answer(Some(error.clone())));
}

/// Applies all requests of `group` in one transaction. Those that fail for reasons of their own
/// keep their error and leave nothing behind; an error here means that nothing was written.
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
    // Some errors end the transaction by themselves.
    if written.is_err() && !connection.is_autocommit() {
        run(connection, "ROLLBACK")?;
    }
    written
}

fn run(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
